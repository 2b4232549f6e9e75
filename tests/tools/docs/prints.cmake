# SPDX-License-Identifier: MIT
# Runs PROGRAM and requires that it prints what its page shows, the text of the file PRINTED.
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ "${PRINTED}" expected)
if(NOT result EQUAL 0 OR NOT output STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}.\nprinted:\n${output}\nthe page shows:\n${expected}")
endif()
