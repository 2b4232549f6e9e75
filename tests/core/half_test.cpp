// SPDX-License-Identifier: MIT
#include "tenon/core/half.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

namespace {
float decoded(int bits) { return Half(static_cast<uint16_t>(bits), Half::from_bits()); }
}  // namespace

TEST_CASE("half: values have the bits of IEEE binary16") {
  CHECK(Half(0.0f).x == 0x0000);
  CHECK(Half(-0.0f).x == 0x8000);
  CHECK(Half(1.0f).x == 0x3c00);
  CHECK(Half(-2.0f).x == 0xc000);
  CHECK(Half(0.5f).x == 0x3800);
  CHECK(Half(1.0f / 3).x == 0x3555);
  CHECK(Half(65504.0f).x == 0x7bff);
  CHECK(Half(std::ldexp(1.0f, -14)).x == 0x0400);  // the smallest normal
  CHECK(Half(std::ldexp(1.0f, -15)).x == 0x0200);
  CHECK(Half(std::ldexp(1.0f, -24)).x == 0x0001);  // the smallest subnormal
}

TEST_CASE("half: bits decode to their values") {
  CHECK(decoded(0x3c00) == 1.0f);
  CHECK(decoded(0x3c01) == 1.0f + 1.0f / 1024);
  CHECK(decoded(0xc500) == -5.0f);
  CHECK(decoded(0x7bff) == 65504.0f);
  CHECK(decoded(0x03ff) == std::ldexp(1023.0f, -24));
  CHECK(decoded(0x8001) == -std::ldexp(1.0f, -24));
  CHECK(decoded(0x7c00) == std::numeric_limits<float>::infinity());
  CHECK(decoded(0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(decoded(0x7e00)));
  CHECK(std::isnan(decoded(0x7c01)));
  CHECK(std::signbit(decoded(0x8000)));
}

TEST_CASE("half: ties round to even, everything else to the nearest") {
  CHECK(Half(2049.0f).x == Half(2048.0f).x);
  CHECK(Half(2051.0f).x == Half(2052.0f).x);
  CHECK(Half(2049.0f).x == 0x6800);
  CHECK(Half(2051.0f).x == 0x6802);
  CHECK(Half(2049.1f).x == 0x6801);
  CHECK(Half(-2049.0f).x == 0xe800);
  CHECK(Half(std::ldexp(1.0f, -25)).x == 0x0000);
  CHECK(Half(std::ldexp(3.0f, -25)).x == 0x0002);
}

TEST_CASE("half: a double is rounded once") {
  // 1 + 2^-11 is the middle of 1 and 1 + 2^-10; in float the 2^-40 is lost, and the tie goes to 1.
  const double x = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  CHECK(Half(x).x == 0x3c01);
  CHECK(Half(static_cast<float>(x)).x == 0x3c00);
  CHECK(Half(-x).x == 0xbc01);
}

TEST_CASE("half: 65520 and more is infinity") {
  CHECK(Half(65519.996f).x == 0x7bff);
  CHECK(Half(65520.0f).x == 0x7c00);
  CHECK(Half(-65520.0f).x == 0xfc00);
  CHECK(Half(1e6).x == 0x7c00);
  CHECK(Half(std::numeric_limits<double>::infinity()).x == 0x7c00);
  CHECK(Half(std::numeric_limits<float>::quiet_NaN()).x == 0x7e00);
}

TEST_CASE("half: the limits are those of binary16") {
  using Limits = std::numeric_limits<Half>;
  CHECK(Limits::max().x == 0x7bff);
  CHECK(Limits::lowest().x == 0xfbff);
  CHECK(Limits::min().x == 0x0400);
  CHECK(Limits::denorm_min().x == 0x0001);
  CHECK(Limits::epsilon().x == 0x1400);  // 2^-10
  CHECK(Limits::infinity().x == 0x7c00);
  CHECK(Limits::quiet_NaN().x == 0x7e00);
  CHECK(int{Limits::digits} == 11);
}
