// SPDX-License-Identifier: MIT
#include "tenon/core/optional_index.h"

#include <cstdint>

#include "support/catch.h"

using tenon::none;
using tenon::OptionalIndex;

TEST_CASE("OptionalIndex: none has no value, and gives the other") {
  constexpr OptionalIndex index = none;
  STATIC_REQUIRE_FALSE(index.has_value());
  STATIC_REQUIRE(index.value_or(7) == 7);
}

TEST_CASE("OptionalIndex: an integer is a value, 0 and negative ones too") {
  constexpr OptionalIndex zero = 0;
  STATIC_REQUIRE(zero.has_value());
  STATIC_REQUIRE(zero.value_or(7) == 0);
  constexpr OptionalIndex last = -1;
  STATIC_REQUIRE(last.has_value());
  STATIC_REQUIRE(last.value_or(7) == -1);
  constexpr OptionalIndex large = INT64_MAX;
  STATIC_REQUIRE(large.value_or(0) == INT64_MAX);
}

TEST_CASE("OptionalIndex: copies have the value") {
  const OptionalIndex index = 3;
  OptionalIndex copy = none;
  CHECK_FALSE(copy.has_value());
  copy = index;
  CHECK(copy.value_or(0) == 3);
}
