# SPDX-License-Identifier: MIT
# cmake -DCXX=<compiler> -DCXX_FLAGS=<flags> -DINCLUDE_DIR=<folder> -DHEADERS=<file> [-DCASE=<name> [-DSTANDARD=20]]
#   -P run.cmake
# Without a case it precompiles the headers, for C++17.

separate_arguments(flags NATIVE_COMMAND "${CXX_FLAGS}")
set(ENV{LC_ALL} C) # the words are English
if(NOT STANDARD)
  set(STANDARD 17)
endif()
set(compile "${CXX}" ${flags} "-std=c++${STANDARD}" -Wall -Wextra -Werror -Wno-unused -Wunused-result "-I${INCLUDE_DIR}")
if(NOT CASE)
  execute_process(COMMAND ${compile} -x c++-header "${HEADERS}" -o "${HEADERS}.gch" COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()
list(APPEND compile -fsyntax-only -include "${HEADERS}" "-D${CASE}")
if(STANDARD EQUAL 17)
  list(APPEND compile -Winvalid-pch)
endif()

set(file "${CMAKE_CURRENT_LIST_DIR}/cases.cpp")
file(STRINGS "${file}" expected REGEX "^// ${CASE}: ." LIMIT_COUNT 1)
string(REGEX REPLACE "^// ${CASE}: " "" expected "${expected}")
if(NOT expected)
  message(FATAL_ERROR "cases.cpp has no line `// ${CASE}: words`")
endif()

execute_process(COMMAND ${compile} -DCONTROL "${file}" RESULT_VARIABLE result
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The control does not compile:\n${output}")
endif()

execute_process(COMMAND ${compile} "${file}" RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "It compiles, and must not.")
endif()
string(REGEX MATCH "error: [^\n]*" error "${output}")
if(NOT error MATCHES "${expected}")
  message(FATAL_ERROR "The first error does not match \"${expected}\":\n${output}")
endif()
