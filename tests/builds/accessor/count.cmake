# SPDX-License-Identifier: MIT
# Counts the instructions of the functions in LOOPS with VALGRIND, and requires of each accessor
# loop at most 1.02 times those of the pointer loop with the same strides.

function(count loop result)
  execute_process(
    COMMAND "${VALGRIND}" --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=${loop}
            "${LOOPS}" ${loop}
    ERROR_VARIABLE report RESULT_VARIABLE failed)
  # Fewer instructions than elements would be those of an empty function.
  if(failed OR NOT report MATCHES "Collected : ([0-9][0-9][0-9][0-9][0-9][0-9]+)")
    message(FATAL_ERROR "counting ${loop} failed (${failed}):\n${report}")
  endif()
  set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

set(worse)
foreach(rank 2d 4d)
  count(pointer_${rank} pointer)
  math(EXPR limit "${pointer} * 102 / 100")
  foreach(form brackets call rows)
    count(${form}_${rank} accessor)
    message(STATUS "${form}_${rank}: ${accessor} instructions, a pointer loop: ${pointer}")
    if(accessor GREATER limit)
      list(APPEND worse ${form}_${rank})
    endif()
  endforeach()
endforeach()
# Not comparable: its strides are constants.
count(pointer_dense dense)
message(STATUS "pointer_dense: ${dense} instructions, without strides")

if(worse)
  message(FATAL_ERROR "more than 1.02 times the instructions of a pointer loop: ${worse}")
endif()
