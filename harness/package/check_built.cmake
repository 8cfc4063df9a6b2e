# An install of what is not built would stop in the middle and leave half of it behind. The rules below are the first that are run: they
# look for every file that the others will copy. There are two installs: of the targets (no component), and of the component package.

add_library(handoff_must_be_built INTERFACE)  # holds the files of each install, named while the tree is read

# handoff_must_be_built(targets|package FILE...): files, or generator expressions for them.
function(handoff_must_be_built install)
  set_property(TARGET handoff_must_be_built APPEND PROPERTY HANDOFF_${install} ${ARGN})
endfunction()

function(handoff_check_built install command)
  set(files $<TARGET_GENEX_EVAL:handoff_must_be_built,$<TARGET_PROPERTY:handoff_must_be_built,HANDOFF_${install}>>)
  install(CODE "
    set(files \"${files}\")
    set(missing)
    foreach(file IN LISTS files)
      if(NOT EXISTS \"\${file}\")
        list(APPEND missing \"\${file}\")
      endif()
    endforeach()
    list(LENGTH missing count)
    if(count)
      list(GET missing 0 first)
      message(FATAL_ERROR \"Expected every file that is installed to be built, found \${first} missing (\${count} in all). \"
                          \"Nothing has been installed; build first:\\n  ${command}\")
    endif()" ${ARGN})
endfunction()

handoff_check_built(targets "cmake --build ${CMAKE_BINARY_DIR}")
handoff_check_built(package "cmake --build ${CMAKE_BINARY_DIR} --target handoff_package" COMPONENT package EXCLUDE_FROM_ALL)
