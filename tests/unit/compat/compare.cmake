# SPDX-License-Identifier: MIT
# Runs OURS and THEIRS with ARGUMENTS and requires the same output, of which there must be some.
foreach(side OURS THEIRS)
  execute_process(COMMAND "${${side}}" ${ARGUMENTS} OUTPUT_VARIABLE ${side}_OUTPUT ERROR_VARIABLE ${side}_ERRORS
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${${side}} ended with ${result}: ${${side}_ERRORS}")
  endif()
endforeach()
if(THEIRS_OUTPUT STREQUAL "" OR NOT OURS_OUTPUT STREQUAL THEIRS_OUTPUT)
  message(FATAL_ERROR "The outputs differ.\nours:\n${OURS_OUTPUT}\ntheirs:\n${THEIRS_OUTPUT}")
endif()
