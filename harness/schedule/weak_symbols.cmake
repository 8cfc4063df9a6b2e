# Fails if a library defines a weak symbol: cmake -DNM=... -DLIBRARY=... -P weak_symbols.cmake
execute_process(COMMAND ${NM} --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" weak "${symbols}")
if(weak)
  list(JOIN weak "\n" lines)
  message(FATAL_ERROR "Expected no weak symbol in ${LIBRARY}, found:\n${lines}\nGive the function internal linkage, or write it out.")
endif()
