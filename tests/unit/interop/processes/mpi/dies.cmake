# SPDX-License-Identifier: MIT
# Runs MPIRUN with N processes of PROGRAM, of which rank 1 dies in CASE: mpirun ends by itself, and not well.
execute_process(COMMAND "${MPIRUN}" -n ${N} "${PROGRAM}" ${CASE} TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
message("${output}")
if(NOT output MATCHES "rank 1 dies")
  message(FATAL_ERROR "rank 1 did not get that far: ${result}")
elseif(result EQUAL 0)
  message(FATAL_ERROR "mpirun says that all went well")
elseif(result MATCHES "timeout")
  message(FATAL_ERROR "the other ranks did not end")
endif()
