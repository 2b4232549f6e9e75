# SPDX-License-Identifier: MIT
# The body of a test whose partner is missing; see partners.cmake.
if(REQUIRED)
  message(FATAL_ERROR "${REASON} (TENON_REQUIRE_PARTNERS is on)")
endif()
message(STATUS "tenon: skipped: ${REASON}")
