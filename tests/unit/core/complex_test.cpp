// SPDX-License-Identifier: MIT
#include "tenon/core/numbers.h"

#include <complex>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace complex_test {

using namespace tenon;

TEST_CASE("complex: the imaginary part is 0 unless given, equal means both parts are equal") {
  constexpr complex<double> z(1.5, -2.5);
  STATIC_REQUIRE(z.real() == 1.5);
  STATIC_REQUIRE(z.imag() == -2.5);
  const complex<float> real = 3.0f;
  CHECK(real == complex<float>(3, 0));
  CHECK_FALSE(complex<float>(1, 2) != complex<float>(1, 2));
  CHECK(complex<float>(1, 2) != complex<float>(1, 3));
  CHECK(complex<float>(1, 2) != complex<float>(0, 2));
}

TEST_CASE("complex: the bytes are those of std::complex") {
  STATIC_REQUIRE(sizeof(complex<float>) == 8);
  STATIC_REQUIRE(sizeof(complex<double>) == 16);
  STATIC_REQUIRE(sizeof(complex<Half>) == 4);
  STATIC_REQUIRE(alignof(complex<float>) == alignof(std::complex<float>));
  STATIC_REQUIRE(alignof(complex<double>) == alignof(std::complex<double>));
  STATIC_REQUIRE(std::is_trivially_copyable_v<complex<float>>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<complex<double>>);
  STATIC_REQUIRE(std::is_standard_layout_v<complex<double>>);

  const std::complex<double> theirs(1.25, -7);
  complex<double> ours;
  std::memcpy(static_cast<void*>(&ours), &theirs, sizeof ours);
  CHECK(ours == complex<double>(1.25, -7));
}

TEST_CASE("complex: it converts from and to std::complex, implicitly and by a cast") {
  const complex<double> wider = std::complex<float>(0.5f, -0.25f);
  CHECK(wider == complex<double>(0.5, -0.25));
  // 0.1 rounded to float is this double, by hand from its bits 0x3dcccccd.
  const auto narrower = static_cast<complex<float>>(std::complex<double>(0.1, 3));
  CHECK(static_cast<double>(narrower.real()) == 13421773.0 / 134217728.0);
  const std::complex<double> theirs = complex<float>(0.5f, -0.25f);
  CHECK(theirs == std::complex<double>(0.5, -0.25));
  CHECK(static_cast<std::complex<float>>(complex<double>(3, 4)) == std::complex<float>(3, 4));
}

TEST_CASE("complex: one precision converts to another, part by part") {
  const complex<double> wide = complex<Half>(Half(1.5f), Half(-2.0f));
  CHECK(wide == complex<double>(1.5, -2));
  // 2049 lies between Half's 2048 and 2050 and rounds to the even 2048; 1e6 is beyond its range.
  const complex<Half> narrow = complex<double>(2049, 1e6);
  CHECK(narrow.real().x == 0x6800);
  CHECK(narrow.imag().x == 0x7c00);
}

TEST_CASE("complex: what has no real() and imag() does not convert") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<complex<float>, float>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<complex<float>, std::string>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::string, complex<float>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<const char*, complex<float>>);
}

}  // namespace complex_test
