// SPDX-License-Identifier: MIT
#include "tenon/core/scalar.h"

#include <cmath>
#include <complex>

#include "support/catch.h"

namespace scalar_test {

using namespace tenon;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kTwo63 = 9223372036854775808.0;
const double kTwo64 = 18446744073709551616.0;

// With everything inlined, the compiler converts the constant itself, and g++ then saturates: what
// is beyond the range would look like the largest integer.
[[gnu::flatten]] bool two63_fits_int64() { return Scalar(9223372036854775808.0).fits<int64_t>(); }
[[gnu::flatten]] bool two64_fits_uint64() {
  return Scalar(18446744073709551616.0).fits<uint64_t>();
}

std::string text_of(const Scalar& value) {
  char buffer[64];
  detail::Message message(buffer, sizeof buffer);
  append(message, value);
  return buffer;
}

}  // namespace

TEST_CASE("scalar: it knows its kind, and its type") {
  const std::complex<float> c(1, 2);
  const struct {
    Scalar value;
    char kind;  // b: Bool, i: integral, f: floating, c: complex
    ScalarType type;
  } rows[] = {{Scalar(), 'i', ScalarType::Long},
              {true, 'b', ScalarType::Bool},
              {int8_t{1}, 'i', ScalarType::Long},
              {uint32_t{1}, 'i', ScalarType::Long},
              {INT64_MIN, 'i', ScalarType::Long},
              {uint64_t{INT64_MAX}, 'i', ScalarType::Long},
              {uint64_t{INT64_MAX} + 1, 'i', ScalarType::UInt64},
              {UINT64_MAX, 'i', ScalarType::UInt64},
              {1.0f, 'f', ScalarType::Double},
              {Half(1.0f), 'f', ScalarType::Double},
              {c, 'c', ScalarType::ComplexDouble},
              {complex<float>(1, 0), 'c', ScalarType::ComplexDouble}};
  for (const auto& row : rows) {
    INFO(text_of(row.value));
    CHECK(row.value.isBoolean() == (row.kind == 'b'));
    CHECK(row.value.isIntegral(false) == (row.kind == 'i'));
    CHECK(row.value.isIntegral(true) == (row.kind == 'i' || row.kind == 'b'));
    CHECK(row.value.isFloatingPoint() == (row.kind == 'f'));
    CHECK(row.value.isComplex() == (row.kind == 'c'));
    CHECK(row.value.type() == row.type);
  }
  CHECK(Scalar().to<int>() == 0);
}

TEST_CASE("scalar: the limits of the 64-bit types are exact") {
  CHECK(Scalar(INT64_MIN).to<int64_t>() == INT64_MIN);
  CHECK(Scalar(INT64_MAX).to<int64_t>() == INT64_MAX);
  CHECK(Scalar(UINT64_MAX).to<uint64_t>() == UINT64_MAX);
  CHECK(Scalar(INT64_MAX).to<uint64_t>() == uint64_t{INT64_MAX});
  CHECK(Scalar(uint64_t{INT64_MAX}).to<int64_t>() == INT64_MAX);
  CHECK_FALSE(Scalar(uint64_t{INT64_MAX} + 1).fits<int64_t>());
  CHECK_FALSE(Scalar(UINT64_MAX).fits<int64_t>());
  CHECK_FALSE(Scalar(-1).fits<uint64_t>());
  CHECK_FALSE(Scalar(INT64_MIN).fits<uint64_t>());
  CHECK(Scalar((int64_t{1} << 53) + 1).to<int64_t>() == 9007199254740993);

  CHECK(Scalar(-kTwo63).to<int64_t>() == INT64_MIN);
  CHECK_FALSE(Scalar(kTwo63).fits<int64_t>());
  CHECK(Scalar(std::nextafter(kTwo63, 0.0)).to<int64_t>() == 9223372036854774784);
  CHECK_FALSE(Scalar(std::nextafter(-kTwo63, -kInfinity)).fits<int64_t>());
  CHECK(Scalar(kTwo63).to<uint64_t>() == uint64_t{1} << 63);
  CHECK_FALSE(Scalar(kTwo64).fits<uint64_t>());
  CHECK(Scalar(std::nextafter(kTwo64, 0.0)).to<uint64_t>() == UINT64_MAX - 2047);
  CHECK_FALSE(Scalar(-1.0).fits<uint64_t>());
  CHECK_FALSE(two63_fits_int64());
  CHECK_FALSE(two64_fits_uint64());
}

TEST_CASE("scalar: a fraction, NaN or infinity is no integer") {
  for (double value : {0.5, -0.5, 1e-300, 1.0000001, 254.5, kNaN, kInfinity, -kInfinity, 1e300}) {
    INFO("value " << value);
    CHECK_FALSE(Scalar(value).fits<uint8_t>());
    CHECK_FALSE(Scalar(value).fits<int32_t>());
    CHECK_FALSE(Scalar(value).fits<int64_t>());
    CHECK_FALSE(Scalar(value).fits<uint64_t>());
    CHECK_FALSE(Scalar(value).fits<bool>());
  }
  CHECK(Scalar(-0.0).to<uint8_t>() == 0);
  CHECK(Scalar(255.0).to<uint8_t>() == 255);
}

TEST_CASE("scalar: only 0 and 1 are truth values") {
  for (const Scalar& one : {Scalar(1), Scalar(true), Scalar(1.0), Scalar(complex<double>(1, 0))}) {
    CHECK(one.to<bool>());
    CHECK(one.to<int8_t>() == 1);
    CHECK(one.to<float>() == 1.0f);
  }
  CHECK_FALSE(Scalar(0).to<bool>());
  CHECK_FALSE(Scalar(-0.0).to<bool>());
  for (const Scalar& other :
       {Scalar(2), Scalar(-1), Scalar(UINT64_MAX), Scalar(0.5), Scalar(complex<double>(1, 1))}) {
    CHECK_FALSE(other.fits<bool>());
  }
}

TEST_CASE("scalar: rounding to a shorter floating type is fine, becoming infinite is not") {
  CHECK(Scalar(0.1).to<float>() == 0.1f);
  CHECK(Scalar(UINT64_MAX).to<double>() == kTwo64);
  CHECK(Scalar(1e-300).to<float>() == 0.0f);
  CHECK(Scalar(65519).to<Half>().x == 0x7bff);
  CHECK_FALSE(Scalar(65520).fits<Half>());
  CHECK_FALSE(Scalar(1e300).fits<float>());
  CHECK_FALSE(Scalar(-1e300).fits<BFloat16>());
  CHECK(Scalar(464).to<Float8_e4m3fn>().x == 0x7e);
  CHECK_FALSE(Scalar(465).fits<Float8_e4m3fn>());
  CHECK(Scalar(INT64_MIN).to<float>() == -9223372036854775808.0f);
}

TEST_CASE("scalar: NaN and infinity fit where the type has them") {
  CHECK(std::isnan(Scalar(kNaN).to<float>()));
  CHECK(Scalar(kInfinity).to<float>() == std::numeric_limits<float>::infinity());
  CHECK(Scalar(kNaN).to<Float8_e4m3fn>().x == 0x7f);
  CHECK(Scalar(kNaN).to<Float8_e5m2fnuz>().x == 0x80);
  CHECK_FALSE(Scalar(kInfinity).fits<Float8_e4m3fn>());
  CHECK_FALSE(Scalar(-kInfinity).fits<Float8_e4m3fnuz>());
}

TEST_CASE("scalar: a complex number fits a real type only without an imaginary part") {
  const Scalar real = std::complex<double>(7, 0);
  CHECK(real.to<int>() == 7);
  CHECK(real.to<double>() == 7.0);
  CHECK(real.to<std::complex<float>>() == std::complex<float>(7, 0));
  const Scalar both = std::complex<double>(7, -2);
  CHECK_FALSE(both.fits<int>());
  CHECK_FALSE(both.fits<double>());
  CHECK(both.to<std::complex<double>>() == std::complex<double>(7, -2));
  CHECK(both.to<complex<Half>>().imag().x == 0xc000);
  CHECK_FALSE(Scalar(std::complex<double>(1, 1e300)).fits<std::complex<float>>());
  CHECK_FALSE(Scalar(std::complex<double>(1e300, 1)).fits<std::complex<float>>());
  CHECK_FALSE(Scalar(std::complex<double>(0, kNaN)).fits<double>());
}

TEST_CASE("scalar: to() names the value, as it was given, and the type that it does not fit") {
  const std::complex<double> c(-1.5, -0.5);
  RAISES(InvalidArgument, "Scalar::to: 300 does not fit Byte", Scalar(300).to<uint8_t>());
  RAISES(InvalidArgument, "0.5 does not fit Long", Scalar(0.5).to<int64_t>());
  RAISES(InvalidArgument, "18446744073709551615 does not fit Long",
         Scalar(UINT64_MAX).to<int64_t>());
  RAISES(InvalidArgument, "-1.5 - 0.5i does not fit Float", Scalar(c).to<float>());
  RAISES(InvalidArgument, "nan does not fit Bool", Scalar(kNaN).to<bool>());
  CHECK(text_of(true) == "true");
  CHECK(text_of(INT64_MIN) == "-9223372036854775808");
  CHECK(text_of(std::complex<double>(1, 2)) == "1 + 2i");
}

TEST_CASE("scalar: keeps() tells rounding from loss") {
  const struct {
    Scalar after, before;
    bool kept;
  } rows[] = {{3, 3.0, true},
              {3.0, 3, true},
              {3, 3.5, false},
              {-1, UINT64_MAX, false},  // the same 64 bits
              {UINT64_MAX, -1, false},
              {0.3, 0.25, true},
              {kInfinity, 1.0, false},
              {kNaN, 1.0, false},
              {kNaN, kNaN, true},
              {kNaN, kInfinity, false},
              {-kInfinity, kInfinity, false},
              {kInfinity, kInfinity, true}};
  for (const auto& row : rows) {
    INFO(text_of(row.after) << " for " << text_of(row.before));
    CHECK(row.after.keeps(row.before) == row.kept);
  }
}

}  // namespace scalar_test
