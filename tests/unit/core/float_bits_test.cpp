// SPDX-License-Identifier: MIT
#include "tenon/core/float_bits.h"

#include <cfloat>

#include "support/catch.h"

namespace float_bits_test {

using tenon::detail::float_bits;
using tenon::detail::is_finite;
using tenon::detail::is_nan;

TEST_CASE("float bits: a number is finite, infinite or NaN, whatever its sign") {
  for (double sign : {1.0, -1.0}) {
    for (double value : {0.0, DBL_MIN / 4, 1.0, DBL_MAX}) {
      CHECK(is_finite(sign * value));
      CHECK(!is_nan(sign * value));
    }
    const double infinity = sign * std::numeric_limits<double>::infinity();
    CHECK(!is_finite(infinity));
    CHECK(!is_nan(infinity));
    for (double nan :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::signaling_NaN()}) {
      CHECK(!is_finite(sign < 0 ? -nan : nan));
      CHECK(is_nan(sign < 0 ? -nan : nan));
    }
  }
}

}  // namespace float_bits_test
