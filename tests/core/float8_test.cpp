// SPDX-License-Identifier: MIT
#include "tenon/core/float8.h"

#include <cmath>

#include "support/catch.h"

using namespace tenon;

namespace {
const float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
float decoded(int bits) {
  return T(static_cast<uint8_t>(bits), T::from_bits());
}
}  // namespace

TEST_CASE("float8: 1, the largest, the smallest normal and the smallest value of each type") {
  CHECK(Float8_e5m2(1.0f).x == 0x3c);
  CHECK(Float8_e5m2(57344.0f).x == 0x7b);
  CHECK(Float8_e5m2(std::ldexp(1.0f, -14)).x == 0x04);
  CHECK(Float8_e5m2(std::ldexp(1.0f, -16)).x == 0x01);

  CHECK(Float8_e4m3fn(1.0f).x == 0x38);
  CHECK(Float8_e4m3fn(448.0f).x == 0x7e);
  CHECK(Float8_e4m3fn(std::ldexp(1.0f, -6)).x == 0x08);
  CHECK(Float8_e4m3fn(std::ldexp(1.0f, -9)).x == 0x01);

  CHECK(Float8_e5m2fnuz(1.0f).x == 0x40);
  CHECK(Float8_e5m2fnuz(57344.0f).x == 0x7f);
  CHECK(Float8_e5m2fnuz(std::ldexp(1.0f, -15)).x == 0x04);
  CHECK(Float8_e5m2fnuz(std::ldexp(1.0f, -17)).x == 0x01);

  CHECK(Float8_e4m3fnuz(1.0f).x == 0x40);
  CHECK(Float8_e4m3fnuz(240.0f).x == 0x7f);
  CHECK(Float8_e4m3fnuz(std::ldexp(1.0f, -7)).x == 0x08);
  CHECK(Float8_e4m3fnuz(std::ldexp(1.0f, -10)).x == 0x01);
}

TEST_CASE("float8: bits decode to their values") {
  CHECK(decoded<Float8_e5m2>(0x3d) == 1.25f);
  CHECK(decoded<Float8_e5m2>(0xfb) == -57344.0f);
  CHECK(decoded<Float8_e4m3fn>(0x39) == 1.125f);
  CHECK(decoded<Float8_e4m3fn>(0xfe) == -448.0f);
  CHECK(decoded<Float8_e5m2fnuz>(0x41) == 1.25f);
  CHECK(decoded<Float8_e5m2fnuz>(0xff) == -57344.0f);
  CHECK(decoded<Float8_e4m3fnuz>(0x41) == 1.125f);
  CHECK(decoded<Float8_e4m3fnuz>(0xff) == -240.0f);
}

TEST_CASE("float8: e5m2 overflows to infinity and keeps infinities and NaN") {
  CHECK(Float8_e5m2(61439.0f).x == 0x7b);
  CHECK(Float8_e5m2(61440.0f).x == 0x7c);  // the tie goes to the even pattern, infinity's
  CHECK(Float8_e5m2(-1e30f).x == 0xfc);
  CHECK(Float8_e5m2(kInfinity).x == 0x7c);
  CHECK(Float8_e5m2(-kInfinity).x == 0xfc);
  CHECK(Float8_e5m2(kNaN).x == 0x7e);
  CHECK(decoded<Float8_e5m2>(0x7c) == kInfinity);
  CHECK(decoded<Float8_e5m2>(0xfc) == -kInfinity);
  for (int bits : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}) {
    CHECK(std::isnan(decoded<Float8_e5m2>(bits)));
  }
}

TEST_CASE("float8: e4m3fn overflows to NaN, which is all ones below the sign") {
  CHECK(Float8_e4m3fn(464.0f).x == 0x7e);  // the tie goes to the even 448
  CHECK(Float8_e4m3fn(std::nextafter(464.0f, kInfinity)).x == 0x7f);
  CHECK(Float8_e4m3fn(-1e30f).x == 0xff);
  CHECK(Float8_e4m3fn(kInfinity).x == 0x7f);
  CHECK(Float8_e4m3fn(-kInfinity).x == 0xff);
  CHECK(Float8_e4m3fn(kNaN).x == 0x7f);
  CHECK(std::isnan(decoded<Float8_e4m3fn>(0x7f)));
  CHECK(std::isnan(decoded<Float8_e4m3fn>(0xff)));
  CHECK(decoded<Float8_e4m3fn>(0x78) == 256.0f);  // infinity's pattern, were there one
}

TEST_CASE("float8: the fnuz types overflow to their only NaN and have one zero") {
  CHECK(Float8_e5m2fnuz(61439.0f).x == 0x7f);
  CHECK(Float8_e5m2fnuz(61440.0f).x == 0x80);
  CHECK(Float8_e4m3fnuz(247.9f).x == 0x7f);
  CHECK(Float8_e4m3fnuz(248.0f).x == 0x80);
  for (float value : {-1e30f, 1e30f, kInfinity, -kInfinity, kNaN, -kNaN}) {
    CHECK(Float8_e5m2fnuz(value).x == 0x80);
    CHECK(Float8_e4m3fnuz(value).x == 0x80);
  }
  CHECK(std::isnan(decoded<Float8_e5m2fnuz>(0x80)));
  CHECK(std::isnan(decoded<Float8_e4m3fnuz>(0x80)));
  for (float value : {0.0f, -0.0f, 1e-30f, -1e-30f}) {
    CHECK(Float8_e5m2fnuz(value).x == 0x00);
    CHECK(Float8_e4m3fnuz(value).x == 0x00);
  }
  CHECK(Float8_e5m2(-0.0f).x == 0x80);
  CHECK(Float8_e4m3fn(-0.0f).x == 0x80);
}

TEST_CASE("float8: ties round to even") {
  CHECK(Float8_e4m3fn(17.0f).x == Float8_e4m3fn(16.0f).x);
  CHECK(Float8_e4m3fn(19.0f).x == Float8_e4m3fn(20.0f).x);
  CHECK(Float8_e4m3fn(17.0f).x == 0x58);
  CHECK(Float8_e4m3fn(19.0f).x == 0x5a);
  CHECK(Float8_e5m2(9.0f).x == 0x48);
  CHECK(Float8_e5m2(11.0f).x == 0x4a);
}

TEST_CASE("float8: a double is rounded once") {
  const double x = 17 + std::ldexp(1.0, -40);
  CHECK(Float8_e4m3fn(x).x == 0x59);
  CHECK(Float8_e4m3fn(static_cast<float>(x)).x == 0x58);
}

TEST_CASE("float8: the limits are those of each format") {
  CHECK(std::numeric_limits<Float8_e5m2>::max().x == 0x7b);
  CHECK(std::numeric_limits<Float8_e4m3fn>::max().x == 0x7e);
  CHECK(std::numeric_limits<Float8_e5m2fnuz>::max().x == 0x7f);
  CHECK(std::numeric_limits<Float8_e4m3fnuz>::max().x == 0x7f);
  CHECK(std::numeric_limits<Float8_e5m2>::lowest().x == 0xfb);
  CHECK(std::numeric_limits<Float8_e4m3fnuz>::lowest().x == 0xff);
  CHECK(std::numeric_limits<Float8_e5m2>::epsilon().x == 0x34);      // 2^-2
  CHECK(std::numeric_limits<Float8_e4m3fn>::epsilon().x == 0x20);    // 2^-3
  CHECK(std::numeric_limits<Float8_e5m2fnuz>::epsilon().x == 0x38);  // 2^-2
  CHECK(std::numeric_limits<Float8_e4m3fnuz>::epsilon().x == 0x28);  // 2^-3
  CHECK(std::numeric_limits<Float8_e5m2>::has_infinity);
  CHECK_FALSE(std::numeric_limits<Float8_e4m3fn>::has_infinity);
  CHECK_FALSE(std::numeric_limits<Float8_e5m2fnuz>::has_infinity);
  CHECK_FALSE(std::numeric_limits<Float8_e4m3fnuz>::has_infinity);
}
