# Configures the tree, builds no more than one target, and installs: both installs must say what to do, and copy nothing.
# cmake -DSOURCE=tree -DBUILD=build folder -DSANITIZER=s -DGENERATOR=g -DCC=c -DCXX=c++ -DOBJCOPY=o -DDLPACK=folder -P check_built_test.cmake
set(work ${BUILD}/check_built_test)
file(REMOVE_RECURSE ${work})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/tree -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
                        -DCMAKE_CXX_COMPILER=${CXX} -DHANDOFF_SANITIZER=${SANITIZER} -DHANDOFF_OBJCOPY=${OBJCOPY}
                        -DHANDOFF_DLPACK_INCLUDE=${DLPACK} -DHANDOFF_TESTS=OFF
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/tree --target handoff_case OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

function(expect_refusal command)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${work}/tree --prefix ${work}/installed ${ARGN}
                  RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE output)
  string(FIND "${output}" "\n    ${command}\n" told)  # on a line of its own, which CMake does not break
  if(code EQUAL 0 OR told EQUAL -1)
    message(FATAL_ERROR "Expected a refusal with the command '${command}', found exit code ${code}:\n${output}")
  endif()
  if(EXISTS ${work}/installed)
    message(FATAL_ERROR "Expected nothing to be installed, found ${work}/installed")
  endif()
endfunction()

expect_refusal("cmake --build ${work}/tree")
expect_refusal("cmake --build ${work}/tree --target handoff_package" --component package)
file(REMOVE_RECURSE ${work})
