# cmake -P: writes TB_OUTPUT from build_stamp.h.in. Runs at each build, since the commit changes
# without a new configuration; an unchanged file is left alone, so that nothing is built anew.
# safe.directory: a checkout that belongs to another user still has a commit.
set(git git --no-optional-locks -c safe.directory=* -C ${TB_SOURCE})
set(TB_COMMIT unknown)
set(TB_DIRTY false)
if(EXISTS ${TB_SOURCE}/.git)
  execute_process(COMMAND ${git} rev-parse --short=10 HEAD RESULT_VARIABLE failed
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(TB_COMMIT ${commit})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(TB_DIRTY true)
    endif()
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_stamp.h.in ${TB_OUTPUT} @ONLY)
