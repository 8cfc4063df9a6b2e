# What a build needs before anything is compiled: the fuzzing engine, a private copy of the sanitizer's runtime, DLPack's header, CPython.
#
# Three kinds of code (see README.md): uninstrumented (scheduler, oracles), harness (sanitizer, no coverage), subject (sanitizer and
# coverage). Everything that runs is linked with a private copy of the sanitizer's runtime in which its access functions bear another
# name, so that ours (harness/schedule/accesses.S) are called first. The functions for each kind are in kinds.cmake.

get_filename_component(handoff_root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/kinds.cmake)

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

if(NOT handoff_clang AND NOT HANDOFF_SANITIZER STREQUAL "none")
  message(FATAL_ERROR "Expected clang for HANDOFF_SANITIZER=${HANDOFF_SANITIZER}, found ${CMAKE_CXX_COMPILER}: set CMAKE_C_COMPILER and "
    "CMAKE_CXX_COMPILER. Other compilers build programs that replay, without a sanitizer (HANDOFF_SANITIZER=none).")
elseif(HANDOFF_SANITIZER STREQUAL "none" AND NOT PROJECT_IS_TOP_LEVEL)
  message(WARNING "HANDOFF_SANITIZER is none: targets replay cases, for a debugger, and notice neither data races nor uses of freed "
    "memory. Set it to thread or address, with clang, to search.")
endif()

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

handoff_keep_settings()

# --- What is looked for ----------------------------------------------------------------------------------------------------------------------

if(HANDOFF_TESTS)
  find_package(GTest REQUIRED)
endif()

# handoff_dlpack: the header's folder.
if(HANDOFF_SUBJECTS)
  add_library(handoff_dlpack INTERFACE)
  find_path(handoff_dlpack_dir dlpack/dlpack.h HINTS ${HANDOFF_DLPACK_INCLUDE} NO_CACHE)
  if(NOT handoff_dlpack_dir)
    message(FATAL_ERROR "Expected dlpack/dlpack.h, 1.0 or newer: run scripts/handoff setup, or set HANDOFF_DLPACK_INCLUDE to its folder.")
  endif()
  target_include_directories(handoff_dlpack SYSTEM INTERFACE ${handoff_dlpack_dir})
endif()

# handoff_cpython: a free-threaded CPython built with the same sanitizer. Without one, its targets are left out, and this says so.
set(handoff_have_python OFF)
if(HANDOFF_PYTHON_MANIFEST)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HANDOFF_PYTHON_MANIFEST})
  file(READ ${HANDOFF_PYTHON_MANIFEST} manifest)
  include(${CMAKE_CURRENT_LIST_DIR}/python/cpython.cmake)
  set(handoff_have_python ON)
elseif(HANDOFF_SUBJECTS AND NOT HANDOFF_SANITIZER STREQUAL "none")
  message(STATUS "No HANDOFF_PYTHON_MANIFEST: targets inside CPython are left out. scripts/handoff build sets it.")
endif()
