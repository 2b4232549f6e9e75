# SPDX-License-Identifier: MIT
# For a test: fails unless the PROGRAM, run by EMULATOR, prints the checksum that DESKTOP prints for the files in DATA.
execute_process(COMMAND ${DESKTOP} ${DATA} OUTPUT_VARIABLE expected COMMAND_ERROR_IS_FATAL ANY)
# QEMU gives what is printed by semihosting to stderr.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} ERROR_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${printed}" "${expected}" at)
if(at EQUAL -1 OR NOT expected MATCHES "checksum of all scores: [0-9]+\n$")
  message(FATAL_ERROR "The desktop printed:\n${expected}\n${PROGRAM} printed:\n${printed}")
endif()
