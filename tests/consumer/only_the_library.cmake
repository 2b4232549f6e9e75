# SPDX-License-Identifier: MIT
# Inside another project tenon brings its library: no tests, examples, options or install rules.
get_property(targets DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
get_property(folders DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
get_property(tests DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY TESTS)
foreach(option BUILD_TESTS BUILD_EXAMPLES BUILD_BENCHMARKS INSTALL)
  if(TENON_${option})
    message(FATAL_ERROR "TENON_${option} is on inside another project")
  endif()
endforeach()
if(NOT targets STREQUAL "tenon" OR folders OR tests)
  message(FATAL_ERROR "Inside another project tenon makes the targets \"${targets}\", "
                      "the folders \"${folders}\", the tests \"${tests}\"")
endif()
