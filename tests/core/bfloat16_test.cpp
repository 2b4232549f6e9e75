// SPDX-License-Identifier: MIT
// Values written out; small_float_test.cpp compares every pattern with the format's definition.
#include "tenon/core/bfloat16.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

TEST_CASE("bfloat16: values have the upper half of a float's bits, rounded once, ties to even") {
  const struct {
    double value;
    int bits;
  } rows[] = {
      {0.0, 0x0000},        {-0.0, 0x8000},     {1.0, 0x3f80},      {-2.0, 0xc000},
      {3.140625, 0x4049},   {0x1p-126, 0x0080}, {0x1p-133, 0x0001}, {0x1p-134, 0x0000},
      {257.0, 0x4380},      {259.0, 0x4382},    {257.001, 0x4381},  {0x1.fep127, 0x7f7f},
      {0x1.ffp127, 0x7f80}, {-1e300, 0xff80},   {0x1.01p0, 0x3f80}, {0x1.0100000001p0, 0x3f81}};
  for (const auto& row : rows) {
    INFO(row.value);
    CHECK(BFloat16(row.value).x == row.bits);
  }
  CHECK(BFloat16(static_cast<float>(0x1.0100000001p0)).x == 0x3f80);
  CHECK(static_cast<float>(BFloat16(0x807f, BFloat16::from_bits())) == -std::ldexp(127.0f, -133));
  CHECK(std::isnan(static_cast<float>(BFloat16(0xff81, BFloat16::from_bits()))));
}
