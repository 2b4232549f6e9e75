// SPDX-License-Identifier: MIT
// Values written out; small_float_test.cpp compares every pattern with the formats' definitions.
#include "tenon/core/float8.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

struct Row {
  double value;
  int e5m2, e4m3fn, e5m2fnuz, e4m3fnuz;  // the codes
};
const Row kRows[] = {
    {0.0, 0x00, 0x00, 0x00, 0x00},     {-0.0, 0x80, 0x80, 0x00, 0x00},
    {1.0, 0x3c, 0x38, 0x40, 0x40},     {-1e-30, 0x80, 0x80, 0x00, 0x00},
    {17.0, 0x4c, 0x58, 0x50, 0x60},    {240.0, 0x5c, 0x77, 0x60, 0x7f},
    {0x1p-9, 0x18, 0x01, 0x1c, 0x02},  {0x1p-16, 0x01, 0x00, 0x02, 0x00},
    {248.0, 0x5c, 0x78, 0x60, 0x80},   {464.0, 0x5f, 0x7e, 0x63, 0x80},
    {465.0, 0x5f, 0x7f, 0x63, 0x80},   {57344.0, 0x7b, 0x7f, 0x7f, 0x80},
    {61440.0, 0x7c, 0x7f, 0x80, 0x80}, {-kInfinity, 0xfc, 0xff, 0x80, 0x80},
};

}  // namespace

TEST_CASE("float8: each format's codes of zeros, small and large values, ties and overflow") {
  for (const Row& row : kRows) {
    INFO(row.value);
    CHECK(Float8_e5m2(row.value).x == row.e5m2);
    CHECK(Float8_e4m3fn(row.value).x == row.e4m3fn);
    CHECK(Float8_e5m2fnuz(row.value).x == row.e5m2fnuz);
    CHECK(Float8_e4m3fnuz(row.value).x == row.e4m3fnuz);
  }
  const double above = 17 + 0x1p-40;  // a tie in float
  CHECK(Float8_e4m3fn(above).x == 0x59);
  CHECK(Float8_e4m3fn(static_cast<float>(above)).x == 0x58);
}
