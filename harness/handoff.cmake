# How libraries, tests and targets are compiled and linked.
#
# Three kinds of code (see README.md): uninstrumented (scheduler, oracles), harness (sanitizer, no coverage), subject (sanitizer and
# coverage). Everything that runs is linked with a private copy of the sanitizer's runtime in which its access functions bear another
# name, so that ours (harness/schedule/accesses.S) are called first.

find_package(Threads REQUIRED)

# --- Flags -----------------------------------------------------------------------------------------------------------------------------

set(handoff_clang OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(handoff_clang ON)
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

# --- The sanitizer's runtime, with its access functions renamed ----------------------------------------------------------------------------

set(handoff_access_points OFF)
if(handoff_clang AND NOT HANDOFF_SANITIZER STREQUAL "none" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(handoff_access_points ON)
endif()

# Asks the compiler's own link line for the runtime archives that `flags` bring in, so that nothing depends on a version or a layout.
function(handoff_find_runtime result_archives result_symbol_lists)
  set(empty ${CMAKE_BINARY_DIR}/empty.o)
  file(WRITE ${CMAKE_BINARY_DIR}/empty.cc "")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} -c ${CMAKE_BINARY_DIR}/empty.cc -o ${empty})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} "-###" ${empty} ERROR_VARIABLE line OUTPUT_QUIET)
  string(REGEX MATCHALL "\"[^\"]*libclang_rt\\.[^\"]*\\.a\"" archives "${line}")
  string(REGEX MATCHALL "\"--dynamic-list=[^\"]*libclang_rt\\.[^\"]*\\.syms\"" lists "${line}")
  string(REPLACE "\"" "" archives "${archives}")
  string(REPLACE "\"" "" lists "${lists}")
  list(REMOVE_DUPLICATES archives)
  list(REMOVE_DUPLICATES lists)
  set(${result_archives} ${archives} PARENT_SCOPE)
  set(${result_symbol_lists} ${lists} PARENT_SCOPE)
endfunction()

set(handoff_fuzzer_engine)
if(handoff_clang AND NOT HANDOFF_SANITIZER STREQUAL "none")
  if(DEFINED ENV{LIB_FUZZING_ENGINE} AND NOT "$ENV{LIB_FUZZING_ENGINE}" MATCHES "^-fsanitize=fuzzer$")
    set(handoff_fuzzer_engine $ENV{LIB_FUZZING_ENGINE})
  else()
    # By hand: -fno-sanitize-link-runtime, which keeps the original runtime out, keeps libFuzzer out as well.
    handoff_find_runtime(handoff_fuzzer_archives unused -fsanitize=fuzzer)
    list(FILTER handoff_fuzzer_archives INCLUDE REGEX "fuzzer")
    set(handoff_fuzzer_engine ${handoff_fuzzer_archives})
  endif()
  if(NOT handoff_fuzzer_engine)
    message(FATAL_ERROR "Expected libFuzzer beside ${CMAKE_CXX_COMPILER}: install the runtime package (libclang-rt-N-dev) of this version.")
  endif()
endif()

if(handoff_access_points)
  set(handoff_runtime_dir ${CMAKE_BINARY_DIR}/runtime)
  set(handoff_access_list ${CMAKE_CURRENT_LIST_DIR}/schedule/accesses_${HANDOFF_SANITIZER}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${handoff_access_list})
  file(STRINGS ${handoff_access_list} handoff_access_names)
  set(hooks "")
  set(renames "")
  foreach(name ${handoff_access_names})
    string(APPEND hooks "HOOK ${name}\n")
    string(APPEND renames "${name} __handoff_real_${name}\n")
  endforeach()
  # The allocator and the collector of CPython go past our functions: 97 % of the traffic of starting a Python thread, and none of ours.
  set(handoff_access_renames ${handoff_runtime_dir}/accesses.txt)
  file(GENERATE OUTPUT ${handoff_access_renames} CONTENT "${renames}")
  # TSan's guards of function-local statics wait inside the runtime: waits_once.cc models that wait.
  foreach(name __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort)
    string(APPEND renames "${name} __handoff_real_${name}\n")
  endforeach()
  set(handoff_runtime_renames ${handoff_runtime_dir}/runtime.txt)
  file(GENERATE OUTPUT ${handoff_runtime_renames} CONTENT "${renames}")
  file(GENERATE OUTPUT ${handoff_runtime_dir}/access_names.inc CONTENT "${hooks}")

  get_filename_component(compiler_dir ${CMAKE_CXX_COMPILER} REALPATH)
  get_filename_component(compiler_dir ${compiler_dir} DIRECTORY)
  find_program(HANDOFF_OBJCOPY NAMES llvm-objcopy HINTS ${compiler_dir} NO_CMAKE_FIND_ROOT_PATH)
  find_program(HANDOFF_OBJCOPY NAMES llvm-objcopy llvm-objcopy-22 llvm-objcopy-21 llvm-objcopy-20 llvm-objcopy-19 objcopy REQUIRED)
  handoff_find_runtime(handoff_runtime_archives handoff_runtime_symbols -fsanitize=${HANDOFF_SANITIZER})
  if(NOT handoff_runtime_archives)
    message(FATAL_ERROR "Expected the ${HANDOFF_SANITIZER} sanitizer's runtime beside ${CMAKE_CXX_COMPILER}: install the runtime package "
                        "(libclang-rt-N-dev) of this version.")
  endif()
  set(handoff_private_archives)
  foreach(archive ${handoff_runtime_archives})
    get_filename_component(base ${archive} NAME)
    set(private ${handoff_runtime_dir}/${base})
    add_custom_command(
      OUTPUT ${private}
      COMMAND ${HANDOFF_OBJCOPY} --redefine-syms=${handoff_runtime_renames} ${archive} ${private}
      DEPENDS ${archive} ${handoff_access_list} ${handoff_runtime_renames}
      VERBATIM)
    list(APPEND handoff_private_archives ${private})
  endforeach()
  add_custom_target(handoff_private_runtime DEPENDS ${handoff_private_archives})
endif()

# Links the sanitizer's runtime into an executable, and exports its symbols to modules that are loaded later.
function(handoff_link_runtime name)
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
    add_dependencies(${name} handoff_private_runtime)
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
  cmake_parse_arguments(arg "" "" "SRCS;SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SRCS} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LIBS})
  target_compile_options(${name} PRIVATE ${handoff_warnings})
endfunction()

# handoff_uninstrumented_library(NAME SRCS FILE... [LIBS LIBRARY...]): no sanitizer, no coverage, and no weak symbols, since an inlined
# library template could resolve to another file's instrumented copy and blind ThreadSanitizer (law 1). A test looks for them with nm.
function(handoff_uninstrumented_library name)
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
      -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/schedule/weak_symbols.cmake)
  endif()
endfunction()

# handoff_harness_library(NAME SRCS FILE... [LIBS LIBRARY...]): the target's sanitizer, no coverage.
function(handoff_harness_library name)
  handoff_library(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${handoff_sanitize} ${handoff_no_coverage})
endfunction()

# handoff_subject_library(NAME SRCS FILE... [LIBS LIBRARY...]): sanitizer and coverage.
function(handoff_subject_library name)
  handoff_library(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${handoff_sanitize} ${handoff_coverage})
endfunction()

# handoff_module(NAME SRCS FILE...): a shared module that a target loads at run time, from its own folder.
function(handoff_module name)
  cmake_parse_arguments(arg "" "" "SRCS;LIBS" ${ARGN})
  add_library(${name} MODULE ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${handoff_warnings} ${handoff_sanitize} ${handoff_coverage})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  install(TARGETS ${name} LIBRARY DESTINATION .)
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
  set_property(TEST ${name} PROPERTY WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
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
endfunction()

# handoff_target(NAME SRCS FILE... [LIBS LIBRARY...]): a fuzz target, build/<preset>/fuzz/NAME. With a sanitizer it is a libFuzzer binary;
# without, a program that replays files.
function(handoff_target name)
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
  install(TARGETS ${name} RUNTIME DESTINATION .)
  handoff_install_seeds(${name})
endfunction()

# --- What is looked for ----------------------------------------------------------------------------------------------------------------------

if(HANDOFF_TESTS)
  find_package(GTest REQUIRED)
endif()

# handoff_dlpack: the header's folder.
add_library(handoff_dlpack INTERFACE)
find_path(handoff_dlpack_dir dlpack/dlpack.h HINTS ${HANDOFF_DLPACK_INCLUDE} NO_CACHE)
if(NOT handoff_dlpack_dir)
  message(FATAL_ERROR "Expected dlpack/dlpack.h, 1.0 or newer: run scripts/handoff setup, or set HANDOFF_DLPACK_INCLUDE to its folder.")
endif()
target_include_directories(handoff_dlpack SYSTEM INTERFACE ${handoff_dlpack_dir})

# handoff_cpython: a free-threaded CPython built with the same sanitizer. Without one, its targets are left out, and this says so.
set(handoff_have_python OFF)
if(HANDOFF_PYTHON_MANIFEST)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HANDOFF_PYTHON_MANIFEST})
  file(READ ${HANDOFF_PYTHON_MANIFEST} manifest)
  include(${CMAKE_CURRENT_LIST_DIR}/python/cpython.cmake)
  set(handoff_have_python ON)
elseif(NOT HANDOFF_SANITIZER STREQUAL "none")
  message(STATUS "No HANDOFF_PYTHON_MANIFEST: targets inside CPython are left out. scripts/handoff build sets it.")
endif()
