# SPDX-License-Identifier: MIT
# Runs PROGRAM with MODEL and requires the output of OTHER with the model that is a C++ function, and ExecuTorch's codes
# for NO_IMAGES, a file of another shape, and for a model that is not there.

# run(<expected code> <variable> <command>...)
function(run code output)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE log RESULT_VARIABLE result)
  if(NOT result EQUAL code)
    message(FATAL_ERROR "${ARGN} ended with ${result}, expected ${code}:\n${log}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

run(0 found "${PROGRAM}" "${MODEL}")
run(0 expected "${OTHER}" digits.lambda)
if(NOT expected MATCHES "image 0: 0, score 3\\.09\n.*\nimage 1796: 8, score 2\\.82\n$" OR NOT found STREQUAL expected)
  message(FATAL_ERROR "The outputs differ.\nfound:\n${found}\nexpected:\n${expected}")
endif()
run(18 nothing "${PROGRAM}" "${MODEL}" "${NO_IMAGES}")  # InvalidArgument
if(EXISTS "${MODEL}")
  run(34 nothing "${PROGRAM}" "no_folder/${MODEL}")  # AccessFailed
endif()
