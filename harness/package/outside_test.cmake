# Builds a copy of the example project against this tree (add_subdirectory) and against the installed package (find_package), and runs it:
# the safe version must be silent, the twin must be found.
# cmake -DSOURCE=tree -DBUILD=build folder -DSANITIZER=s -DGENERATOR=g -DCC=c -DCXX=c++ -DOBJCOPY=llvm-objcopy -P outside_test.cmake
set(work ${BUILD}/outside_test)
file(REMOVE_RECURSE ${work})
file(COPY ${SOURCE}/harness/subjects/example DESTINATION ${work})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component package --prefix ${work}/installed
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${work}/installed ${work}/moved)

# Runs one step; what it prints is shown if its exit code is another one.
function(expect wanted)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${work} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL wanted)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nExpected exit code ${wanted}, found ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(check way)
  set(folder ${work}/${way})
  set(binary ${folder}/fuzz/example_box)
  set(seeds ${work}/example/corpus/example_box/seed)
  expect(0 ${CMAKE_COMMAND} -S example -B ${folder} -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
           -DHANDOFF_OBJCOPY=${OBJCOPY} -DCMAKE_CXX_FLAGS=-O0 ${ARGN})
  expect(0 ${CMAKE_COMMAND} --build ${folder} --target example_box)
  file(MAKE_DIRECTORY ${folder}/found)
  expect(0 ${binary} -runs=2000 -seed=1 -artifact_prefix=${folder}/found/)
  expect(0 ${binary} -artifact_prefix=${folder}/found/ ${seeds}/last_two.txt)
  expect(77 env HANDOFF_TWIN=count_read_again ${binary} -runs=100000 -seed=1 -artifact_prefix=${folder}/found/)
  expect(77 env HANDOFF_TWIN=count_read_again ${binary} -artifact_prefix=${folder}/found/ ${seeds}/last_two.txt)
  # The commands that it prints are run as they stand: WHY's finds the switch, TEST's makes a text case of it.
  if(NOT output MATCHES "pass:\n  (HANDOFF_WHY=1 HANDOFF_TWIN=[^\n]*)\n" OR NOT output MATCHES "TEST\n  ([^\n]*)\n  ([^\n]*)\n")
    message(FATAL_ERROR "Expected commands for a target outside of the tree, found:\n${output}")
  endif()
  set(keep "${CMAKE_MATCH_1} && ${CMAKE_MATCH_2}")
  string(REGEX MATCH "HANDOFF_WHY=1[^\n]*" why "${output}")
  expect(77 sh -c "${why}")
  if(NOT output MATCHES "WHY\n  (It passes if|No single switch)")
    message(FATAL_ERROR "Expected an answer under WHY, found:\n${output}")
  endif()
  expect(77 sh -c "${keep}")
  # Under ThreadSanitizer the second thread's unordered look at `emptied_` is noticed before the oracle is asked.
  if(NOT output MATCHES "kind: +(double-delete|data-race)")
    message(FATAL_ERROR "Expected a double-delete or a data-race, found:\n${output}")
  endif()
endfunction()

check(package -DCMAKE_PREFIX_PATH=${work}/moved)
check(subdirectory -DHANDOFF_FOLDER=${SOURCE} -DHANDOFF_SANITIZER=${SANITIZER})
file(REMOVE_RECURSE ${work})
