# SPDX-License-Identifier: MIT
# One program three times: importing the module, including the headers, and both in one file. Each has a file, compiled
# as C++17, that includes them.
add_library(headers STATIC "${CMAKE_CURRENT_LIST_DIR}/headers.cpp")
target_link_libraries(headers PRIVATE tenon::tenon)
foreach(program imports includes both)
  add_executable(${program} "${CMAKE_CURRENT_LIST_DIR}/program.cpp")
  target_link_libraries(${program} PRIVATE headers tenon::tenon)
  if(NOT program STREQUAL "includes")
    target_compile_definitions(${program} PRIVATE IMPORTS)
    target_link_libraries(${program} PRIVATE tenon::module)
  endif()
  if(NOT program STREQUAL "imports")
    target_compile_definitions(${program} PRIVATE INCLUDES)
  endif()
endforeach()
