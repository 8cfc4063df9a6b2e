# Installs the targets, moves the folder, makes it read-only and runs some of them without environment: what a fuzzing service does.
# cmake -DBUILD=build folder -DTARGETS=a,b -P installed_test.cmake
set(work ${BUILD}/installed_test)
set(moved ${work}/moved)
execute_process(COMMAND chmod -R u+w ${work} OUTPUT_QUIET ERROR_QUIET)
file(REMOVE_RECURSE ${work})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${work}/installed ${moved})
file(MAKE_DIRECTORY ${work}/findings)
execute_process(COMMAND chmod -R a-w ${moved} COMMAND_ERROR_IS_FATAL ANY)

string(REPLACE "," ";" targets "${TARGETS}")
foreach(target ${targets})
  execute_process(
    COMMAND env -i ${moved}/${target} -runs=300 -seed=1 -artifact_prefix=${work}/findings/
    WORKING_DIRECTORY ${moved}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0 OR NOT output MATCHES "Done 300 runs")
    string(CONCAT failures "${failures}" "${target}: exit ${code}\n${output}\n")
  endif()
endforeach()

execute_process(COMMAND chmod -R u+w ${moved})
file(REMOVE_RECURSE ${work})
if(failures)
  message(FATAL_ERROR "Expected every installed target to run from a moved, read-only folder without environment, found:\n${failures}")
endif()
