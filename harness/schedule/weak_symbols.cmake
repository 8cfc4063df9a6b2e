# Fails if a library defines a weak symbol: cmake -DNM=... -DLIBRARY=... -P weak_symbols.cmake
execute_process(COMMAND ${NM} --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" weak "${symbols}")
# What code has through which an exception may pass: a pointer, the same in every copy, and the way to std::terminate.
list(FILTER weak EXCLUDE REGEX " (DW\\.ref\\.__gxx_personality_v0|__clang_call_terminate)$")
if(weak)
  list(JOIN weak "\n" lines)
  message(FATAL_ERROR "Expected no weak symbol in ${LIBRARY}, found:\n${lines}\nGive the function internal linkage, or write it out.")
endif()
