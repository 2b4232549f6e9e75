# SPDX-License-Identifier: MIT
# Inside another project tenon brings its library: no tests, examples, partners or install rules, and none of the
# options that are for working on tenon itself.
get_property(targets DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
get_property(folders DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
get_property(tests DIRECTORY "${TENON_SOURCE_DIR}" PROPERTY TESTS)
if(NOT targets STREQUAL "tenon" OR folders OR tests)
  message(FATAL_ERROR "Inside another project tenon makes the targets \"${targets}\", "
                      "the folders \"${folders}\", the tests \"${tests}\"")
endif()
get_property(options DIRECTORY PROPERTY CACHE_VARIABLES)
list(FILTER options INCLUDE REGEX "^TENON_")
list(REMOVE_ITEM options TENON_SOURCE_DIR)
list(SORT options)
set(expected TENON_ATEN TENON_COMPILED TENON_EXECUTORCH TENON_EXECUTORCH_DIR TENON_INSTALL TENON_LIBTORCH_DIR)
if(NOT options STREQUAL "${expected}")
  message(FATAL_ERROR "Inside another project tenon has the options \"${options}\"")
endif()
