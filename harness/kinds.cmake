# Kinds of code, how each is compiled, and how what runs is linked. Shared by this tree, by projects that add it as a subdirectory, and by
# the installed package (handoffConfig.cmake).

# --- Flags -----------------------------------------------------------------------------------------------------------------------------

set(handoff_clang OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(handoff_clang ON)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "Expected clang 19 or newer, found ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}: name a newer one in "
                        "CMAKE_CXX_COMPILER and CMAKE_C_COMPILER; 'scripts/handoff doctor' says which one set-up has installed.")
  endif()
endif()

set(handoff_warnings -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor)
if(HANDOFF_WERROR)
  list(APPEND handoff_warnings -Werror)
endif()

set(handoff_sanitize)
if(HANDOFF_SANITIZER STREQUAL "thread")
  set(handoff_sanitize -fsanitize=thread)
elseif(HANDOFF_SANITIZER STREQUAL "address")
  set(handoff_sanitize -fsanitize=address)
  if(handoff_clang)
    # Every access is a call, read-modify-writes included, so that it can be a scheduling point.
    list(APPEND handoff_sanitize "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0" "SHELL:-mllvm -asan-opt=0")
  endif()
endif()

if(handoff_sanitize)
  # A call in place of a return takes its caller's frame away, and with it the line that a report should name.
  list(APPEND handoff_sanitize -fno-optimize-sibling-calls)
endif()

set(handoff_coverage)
set(handoff_uninstrumented -fno-sanitize=all)
if(handoff_clang)
  if(NOT HANDOFF_SANITIZER STREQUAL "none")
    set(handoff_coverage -fsanitize=fuzzer-no-link)
  endif()
  set(handoff_no_coverage -fno-sanitize=fuzzer-no-link -fno-profile-instr-generate -fno-coverage-mapping)
  list(APPEND handoff_uninstrumented ${handoff_no_coverage})
endif()

# Line coverage of the subjects (scripts/handoff coverage). The counters lie in a file that is mapped into memory and shared with every
# forked child: children leave by _exit, and nothing of theirs is lost.
set(handoff_line_coverage)
if(HANDOFF_COVERAGE)
  if(NOT handoff_clang)
    message(FATAL_ERROR "HANDOFF_COVERAGE: expected clang, found ${CMAKE_CXX_COMPILER_ID}; leave it off or choose another compiler.")
  endif()
  set(handoff_line_coverage -fprofile-instr-generate -fcoverage-mapping "SHELL:-mllvm -runtime-counter-relocation")
  list(APPEND handoff_coverage ${handoff_line_coverage})
endif()

# --- Settings ------------------------------------------------------------------------------------------------------------------------------

# The functions below are called from other projects' folders too, where our variables do not reach: they are kept as global properties.
set(handoff_settings HANDOFF_SANITIZER handoff_root handoff_warnings handoff_sanitize handoff_coverage handoff_no_coverage
    handoff_uninstrumented handoff_line_coverage handoff_access_points handoff_private_archives handoff_runtime_symbols
    handoff_fuzzer_engine)
set_property(GLOBAL PROPERTY handoff_settings ${handoff_settings})

# To be called when all of them are known.
function(handoff_keep_settings)
  foreach(setting ${handoff_settings})
    set_property(GLOBAL PROPERTY ${setting} "${${setting}}")
  endforeach()
endfunction()

# Sets them in the calling function. `handoff_own`: whether it was called for a folder of ours.
macro(handoff_recall_settings)
  get_property(handoff_settings GLOBAL PROPERTY handoff_settings)
  foreach(setting ${handoff_settings})
    get_property(${setting} GLOBAL PROPERTY ${setting})
  endforeach()
  set(handoff_own OFF)
  if(PROJECT_SOURCE_DIR STREQUAL handoff_root)
    set(handoff_own ON)
  else()
    set(handoff_warnings)  # a matter of taste, and other people's code
  endif()
endmacro()

# --- Linking -------------------------------------------------------------------------------------------------------------------------------

# Links the sanitizer's runtime into an executable, and exports its symbols to modules that are loaded later.
function(handoff_link_runtime name)
  handoff_recall_settings()
  find_package(Threads REQUIRED)  # once a folder of the calling project
  target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  if(HANDOFF_COVERAGE)
    target_link_options(${name} PRIVATE -fprofile-instr-generate)
  endif()
  # Whole, else the linker leaves out those of our stand-ins (pthread_mutex_lock, ...) for which the runtime has a weak definition.
  add_dependencies(${name} handoff_schedule)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:handoff_schedule>)
  target_link_options(${name} PRIVATE -rdynamic "LINKER:--whole-archive,$<TARGET_FILE:handoff_schedule>,--no-whole-archive")
  if(HANDOFF_SANITIZER STREQUAL "none")
    return()
  endif()
  target_link_options(${name} PRIVATE -fsanitize=${HANDOFF_SANITIZER})
  if(handoff_access_points)
    if(TARGET handoff_private_runtime)  # in an installed package it is there already
      add_dependencies(${name} handoff_private_runtime)
    endif()
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${handoff_private_archives})
    # The C++ part (operator new and delete) only as far as the program does not bring its own.
    set(whole ${handoff_private_archives})
    list(FILTER whole EXCLUDE REGEX "_cxx")
    set(on_demand ${handoff_private_archives})
    list(FILTER on_demand INCLUDE REGEX "_cxx")
    list(JOIN whole "," archives)
    target_link_options(${name} PRIVATE -fno-sanitize-link-runtime "LINKER:--whole-archive,${archives},--no-whole-archive")
    foreach(list ${handoff_runtime_symbols})
      target_link_options(${name} PRIVATE "LINKER:${list}")
    endforeach()
    target_link_libraries(${name} PRIVATE ${on_demand} rt m resolv)
  endif()
endfunction()

# --- Kinds of code -------------------------------------------------------------------------------------------------------------------------

function(handoff_library name)
  handoff_recall_settings()
  cmake_parse_arguments(arg "" "" "SRCS;SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SRCS} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${handoff_root}> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${arg_LIBS})
  target_compile_options(${name} PRIVATE ${handoff_warnings})
endfunction()

# handoff_uninstrumented_library(NAME SRCS FILE... [LIBS LIBRARY...]): no sanitizer, no coverage, and no weak symbols, since an inlined
# library template could resolve to another file's instrumented copy and blind ThreadSanitizer (law 1). A test looks for them with nm.
function(handoff_uninstrumented_library name)
  handoff_recall_settings()
  handoff_library(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${handoff_uninstrumented} -O2 -fno-exceptions $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  target_compile_options(${name} PRIVATE -UNDEBUG -ffunction-sections)
  if(handoff_access_points)
    target_compile_definitions(${name} PRIVATE HANDOFF_ACCESS_POINTS=1)
  else()
    target_compile_definitions(${name} PRIVATE HANDOFF_ACCESS_POINTS=0)
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/subjects/")
    target_compile_options(${name} PRIVATE ${handoff_line_coverage})
  endif()
  if(HANDOFF_TESTS AND handoff_clang)
    find_program(HANDOFF_NM NAMES llvm-nm nm HINTS ${compiler_dir} REQUIRED)
    add_test(NAME ${name}_has_no_weak_symbols COMMAND ${CMAKE_COMMAND} -DNM=${HANDOFF_NM} -DLIBRARY=$<TARGET_FILE:${name}>
      -P ${handoff_root}/harness/schedule/weak_symbols.cmake)
  endif()
endfunction()

# handoff_harness_library(NAME SRCS FILE... [LIBS LIBRARY...]): the target's sanitizer, no coverage.
function(handoff_harness_library name)
  handoff_recall_settings()
  handoff_library(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${handoff_sanitize} ${handoff_no_coverage})
endfunction()

# handoff_subject_library(NAME SRCS FILE... [LIBS LIBRARY...]): sanitizer and coverage.
function(handoff_subject_library name)
  handoff_recall_settings()
  handoff_library(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${handoff_sanitize} ${handoff_coverage})
endfunction()

# handoff_module(NAME SRCS FILE...): a shared module that a target loads at run time, from its own folder.
function(handoff_module name)
  handoff_recall_settings()
  cmake_parse_arguments(arg "" "" "SRCS;LIBS" ${ARGN})
  add_library(${name} MODULE ${arg_SRCS})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE ${handoff_root})
  target_compile_options(${name} PRIVATE ${handoff_warnings} ${handoff_sanitize} ${handoff_coverage})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(handoff_own)
    install(TARGETS ${name} LIBRARY DESTINATION .)
    handoff_must_be_built(targets $<TARGET_FILE:${name}>)
  endif()
endfunction()

# handoff_test(NAME SRCS FILE... [LIBS LIBRARY...]): a GoogleTest program, registered under its name.
function(handoff_test name)
  if(NOT HANDOFF_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SRCS;SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SRCS} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${handoff_warnings} ${handoff_sanitize})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} handoff_schedule GTest::gtest GTest::gtest_main)
  handoff_link_runtime(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_property(TEST ${name} PROPERTY WORKING_DIRECTORY ${handoff_root})
endfunction()

# Packs corpus/NAME/{seed,regression} the way fuzzing services want it: NAME_seed_corpus.zip, flat, beside the target.
function(handoff_install_seeds name)
  file(GLOB seeds CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/corpus/${name}/seed/* ${PROJECT_SOURCE_DIR}/corpus/${name}/regression/*)
  if(NOT seeds)
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/seeds/${name})
  set(zip ${CMAKE_BINARY_DIR}/seeds/${name}_seed_corpus.zip)
  add_custom_command(
    OUTPUT ${zip}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy ${seeds} ${folder}
    COMMAND ${CMAKE_COMMAND} -E chdir ${folder} ${CMAKE_COMMAND} -E tar cf ${zip} --format=zip .
    DEPENDS ${seeds}
    VERBATIM)
  add_custom_target(${name}_seeds ALL DEPENDS ${zip})
  install(FILES ${zip} DESTINATION .)
  handoff_must_be_built(targets ${zip})
endfunction()

# handoff_target(NAME SRCS FILE... [LIBS LIBRARY...]): a fuzz target, build/<preset>/fuzz/NAME. With a sanitizer it is a libFuzzer binary;
# without, a program that replays files.
function(handoff_target name)
  handoff_recall_settings()
  cmake_parse_arguments(arg "" "" "SRCS;SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SRCS} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${handoff_warnings} ${handoff_sanitize} ${handoff_coverage})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  if(handoff_fuzzer_engine)
    target_link_libraries(${name} PRIVATE handoff_run_fuzzer ${arg_LIBS} ${handoff_fuzzer_engine})
  else()
    target_link_libraries(${name} PRIVATE handoff_run_replay ${arg_LIBS})
  endif()
  handoff_link_runtime(${name})
  if(handoff_own)
    install(TARGETS ${name} RUNTIME DESTINATION .)
    handoff_must_be_built(targets $<TARGET_FILE:${name}>)
    handoff_install_seeds(${name})
  else()
    target_link_options(${name} PRIVATE LINKER:--defsym=handoff_outside_of_tree=1)  # publish.cc: our verbs do not know it
  endif()
endfunction()

