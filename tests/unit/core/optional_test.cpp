// SPDX-License-Identifier: MIT
#include "tenon/core/result.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace optional_test {

using namespace tenon;

TEST_CASE("OptionalIndex: none has no value, any integer is one, 0 and negative ones too") {
  constexpr OptionalIndex index = none;
  STATIC_REQUIRE_FALSE(index.has_value());
  STATIC_REQUIRE(index.value_or(7) == 7);
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    OptionalIndex copy = none;
    copy = OptionalIndex(value);
    CHECK(copy.has_value());
    CHECK(copy.value_or(7) == value);
  }
  // What int64_t cannot hold is the lowest, which is no size and no axis.
  constexpr OptionalIndex wrapped = uint64_t{2} - 3;
  CHECK(wrapped.value_or(0) == INT64_MIN);
  STATIC_REQUIRE(std::is_convertible_v<size_t, OptionalIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, OptionalIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<bool, OptionalIndex>);
}

}  // namespace optional_test
