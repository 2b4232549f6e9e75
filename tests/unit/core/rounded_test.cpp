// SPDX-License-Identifier: MIT
#include "tenon/core/float_bits.h"

#include <cfloat>

#include "support/catch.h"

namespace rounded_test {

using namespace tenon::detail;

TEST_CASE("rounded: a NaN keeps its sign and its leading bits") {
  CHECK(double_bits(widen(float_from_bits(0xff812345u))) ==
        (0xfff8000000000000u | uint64_t{0x12345} << 29));
  CHECK(float_bits(narrow(double_from_bits(0xfff0000020000001u))) == 0xffc00001u);
  CHECK(double_bits(widen(-0.0f)) == uint64_t{1} << 63);
  CHECK(narrow(1e300) == std::numeric_limits<float>::infinity());
  CHECK(narrow(1 + DBL_EPSILON) == 1.0f);
}

TEST_CASE("rounded: a product is rounded before it is added to") {
  const float a = 1 + FLT_EPSILON;  // a * a is 1 + 2 epsilon, and epsilon^2 that is lost
  CHECK(multiply(a, a) + -1.0f == 2 * FLT_EPSILON);
  const double b = 1 + DBL_EPSILON;
  CHECK(multiply(b, b) + -1.0 == 2 * DBL_EPSILON);
  CHECK(divide(1.0f, 3.0f) == 0.333333343f);
  CHECK(divide(1.0, 3.0) == 0.33333333333333331);
  CHECK(square_root(2.0f) == 1.41421354f);
  CHECK(square_root(2.0) == 1.4142135623730951);
}

}  // namespace rounded_test
