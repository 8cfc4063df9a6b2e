# Renames the sanitizer's access functions in object files: cmake -DOBJCOPY=... -DRENAMES=... "-DMEMBERS=a.o;b.o" -P unhook.cmake
foreach(member ${MEMBERS})
  execute_process(COMMAND ${OBJCOPY} --redefine-syms=${RENAMES} ${member} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
