// SPDX-License-Identifier: MIT
// Values written out; small_float_test.cpp compares every pattern with the format's definition.
#include "tenon/core/half.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

TEST_CASE("half: values have the bits of IEEE binary16, rounded once, ties to even") {
  const struct {
    double value;
    int bits;
  } rows[] = {{0.0, 0x0000},       {-0.0, 0x8000},      {1.0, 0x3c00},
              {-2.0, 0xc000},      {1.0 / 3, 0x3555},   {65504.0, 0x7bff},
              {0x1p-14, 0x0400},   {0x1p-24, 0x0001},   {0x1p-25, 0x0000},
              {2049.0, 0x6800},    {2051.0, 0x6802},    {2049.1, 0x6801},
              {65519.996, 0x7bff}, {65520.0, 0x7c00},   {-65520.0, 0xfc00},
              {1e300, 0x7c00},     {0x1.002p0, 0x3c00}, {0x1.00200000008p0, 0x3c01}};
  for (const auto& row : rows) {
    INFO(row.value);
    CHECK(Half(row.value).x == row.bits);
  }
  // In float the last one is a tie.
  CHECK(Half(static_cast<float>(0x1.00200000008p0)).x == 0x3c00);
  CHECK(static_cast<float>(Half(0x03ff, Half::from_bits())) == std::ldexp(1023.0f, -24));
  CHECK(std::isnan(static_cast<float>(Half(0x7c01, Half::from_bits()))));
}
