# handoff_cpython: the free-threaded interpreter that HANDOFF_PYTHON_MANIFEST describes. Included by harness/handoff.cmake, which has read
# the file into `manifest`; paths in it are relative to it.
get_filename_component(python_root ${HANDOFF_PYTHON_MANIFEST} DIRECTORY)
string(JSON python_archive GET "${manifest}" archive)
string(JSON python_include GET "${manifest}" include)
string(JSON python_home GET "${manifest}" home)
string(JSON python_sanitizer GET "${manifest}" sanitizer)
string(JSON python_lib_count LENGTH "${manifest}" libs)
string(JSON python_member_count LENGTH "${manifest}" unhooked_members)
if(NOT python_sanitizer STREQUAL HANDOFF_SANITIZER)
  message(FATAL_ERROR "Expected a CPython built with the ${HANDOFF_SANITIZER} sanitizer, found one built with ${python_sanitizer}: run "
                      "scripts/handoff build, which picks the right one.")
endif()

set(python_library ${python_root}/${python_archive})
if(handoff_access_points)
  # The allocator's and the collector's accesses are no points: their members of the archive call the sanitizer past our functions.
  get_filename_component(archive_name ${python_archive} NAME)
  set(python_private ${handoff_runtime_dir}/${archive_name})
  find_program(HANDOFF_AR NAMES llvm-ar HINTS ${compiler_dir})
  find_program(HANDOFF_AR NAMES llvm-ar ar REQUIRED)
  set(members)
  math(EXPR last "${python_member_count} - 1")
  foreach(i RANGE ${last})
    string(JSON member GET "${manifest}" unhooked_members ${i})
    list(APPEND members ${member})
  endforeach()
  add_custom_command(
    OUTPUT ${python_private}
    COMMAND ${CMAKE_COMMAND} -E copy ${python_library} ${python_private}
    COMMAND ${HANDOFF_AR} x ${python_private} ${members}
    COMMAND ${CMAKE_COMMAND} -DOBJCOPY=${HANDOFF_OBJCOPY} -DRENAMES=${handoff_access_renames} "-DMEMBERS=${members}"
            -P ${CMAKE_CURRENT_LIST_DIR}/unhook.cmake
    COMMAND ${HANDOFF_AR} r ${python_private} ${members}
    DEPENDS ${python_library} ${handoff_access_renames}
    WORKING_DIRECTORY ${handoff_runtime_dir}
    VERBATIM)
  add_custom_target(handoff_private_python DEPENDS ${python_private})
  set(python_library ${python_private})
endif()

add_library(handoff_cpython INTERFACE)
target_include_directories(handoff_cpython SYSTEM INTERFACE ${python_root}/${python_include})
get_filename_component(python_home ${python_root}/${python_home} ABSOLUTE)
target_compile_definitions(handoff_cpython INTERFACE HANDOFF_PYTHON_HOME="${python_home}")
target_link_libraries(handoff_cpython INTERFACE ${python_library})
math(EXPR last "${python_lib_count} - 1")
foreach(i RANGE ${last})
  string(JSON lib GET "${manifest}" libs ${i})
  target_link_libraries(handoff_cpython INTERFACE ${lib})
endforeach()
if(handoff_access_points)
  add_dependencies(handoff_cpython handoff_private_python)
endif()

# Beside an installed target lies the interpreter's standard library, where embed.cc looks first: the folder can be moved.
if(PROJECT_IS_TOP_LEVEL)
  string(JSON python_stdlib GET "${manifest}" stdlib)
  get_filename_component(python_stdlib_parent ${python_stdlib} DIRECTORY)
  install(DIRECTORY ${python_root}/${python_stdlib} DESTINATION python/${python_stdlib_parent} USE_SOURCE_PERMISSIONS)
endif()
