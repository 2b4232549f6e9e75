// SPDX-License-Identifier: MIT
#include "tenon/core/bfloat16.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

namespace {
float decoded(int bits) { return BFloat16(static_cast<uint16_t>(bits), BFloat16::from_bits()); }
}  // namespace

TEST_CASE("bfloat16: values have the upper half of the float's bits") {
  CHECK(BFloat16(0.0f).x == 0x0000);
  CHECK(BFloat16(-0.0f).x == 0x8000);
  CHECK(BFloat16(1.0f).x == 0x3f80);
  CHECK(BFloat16(-2.0f).x == 0xc000);
  CHECK(BFloat16(3.140625f).x == 0x4049);
  CHECK(BFloat16(std::ldexp(1.0f, -126)).x == 0x0080);  // the smallest normal, also float's
  CHECK(BFloat16(std::ldexp(1.0f, -133)).x == 0x0001);  // the smallest subnormal
  CHECK(BFloat16(std::ldexp(255.0f, 120)).x == 0x7f7f);
}

TEST_CASE("bfloat16: bits decode to their values") {
  CHECK(decoded(0x3f81) == 1.0f + 1.0f / 128);
  CHECK(decoded(0x7f7f) == std::ldexp(255.0f, 120));
  CHECK(decoded(0x0001) == std::ldexp(1.0f, -133));
  CHECK(decoded(0x807f) == -std::ldexp(127.0f, -133));
  CHECK(decoded(0x7f80) == std::numeric_limits<float>::infinity());
  CHECK(decoded(0xff80) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(decoded(0x7fc0)));
  CHECK(std::isnan(decoded(0xff81)));
  CHECK(std::signbit(decoded(0x8000)));
}

TEST_CASE("bfloat16: ties round to even, everything else to the nearest") {
  CHECK(BFloat16(257.0f).x == 0x4380);  // between 256 and 258
  CHECK(BFloat16(259.0f).x == 0x4382);  // between 258 and 260
  CHECK(BFloat16(257.001f).x == 0x4381);
  CHECK(BFloat16(-257.0f).x == 0xc380);
  CHECK(BFloat16(3.14159265f).x == 0x4049);
  CHECK(BFloat16(std::ldexp(1.0f, -134)).x == 0x0000);
  CHECK(BFloat16(std::ldexp(3.0f, -134)).x == 0x0002);
}

TEST_CASE("bfloat16: a double and a 64-bit integer are rounded once") {
  // 1 + 2^-8 is the middle of 1 and 1 + 2^-7; float loses the 2^-40.
  const double x = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  CHECK(BFloat16(x).x == 0x3f81);
  CHECK(BFloat16(static_cast<float>(x)).x == 0x3f80);
  // 2^62 + 2^54 is the middle of 2^62 and 2^62 + 2^55; float and double lose the 1.
  const int64_t i = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  CHECK(BFloat16(i).x == 0x5e81);
  CHECK(BFloat16(-i).x == 0xde81);
  CHECK(BFloat16(static_cast<double>(i)).x == 0x5e80);
}

TEST_CASE("bfloat16: what is beyond the largest value by half a step is infinity") {
  CHECK(BFloat16(std::ldexp(511.0f, 119)).x == 0x7f80);
  CHECK(BFloat16(std::nextafter(std::ldexp(511.0f, 119), 0.0f)).x == 0x7f7f);
  CHECK(BFloat16(std::numeric_limits<float>::max()).x == 0x7f80);
  CHECK(BFloat16(-1e300).x == 0xff80);
  CHECK(BFloat16(std::numeric_limits<float>::infinity()).x == 0x7f80);
  CHECK(BFloat16(std::numeric_limits<float>::quiet_NaN()).x == 0x7fc0);
}

TEST_CASE("bfloat16: the limits are those of the format") {
  using Limits = std::numeric_limits<BFloat16>;
  CHECK(Limits::max().x == 0x7f7f);
  CHECK(Limits::lowest().x == 0xff7f);
  CHECK(Limits::min().x == 0x0080);
  CHECK(Limits::denorm_min().x == 0x0001);
  CHECK(Limits::epsilon().x == 0x3c00);  // 2^-7
  CHECK(Limits::infinity().x == 0x7f80);
  CHECK(Limits::quiet_NaN().x == 0x7fc0);
  CHECK(int{Limits::digits} == 8);
}
