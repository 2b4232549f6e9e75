// SPDX-License-Identifier: MIT
// Compiled with -ffast-math, with which comparisons do not find infinities and NaNs. They are made
// of their bits here, and found by them.
#include <cstdint>
#include <cstring>
#include <string>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace values_test {

using namespace tenon;

namespace {

// Read at run time, so that the compiler knows nothing of them.
volatile uint64_t infinity_bits = 0x7ff0000000000000u;
volatile uint64_t nan_bits = 0x7ff8000000000000u;

double number(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint64_t bits(double value) {
  uint64_t found;
  std::memcpy(&found, &value, sizeof found);
  return found;
}
bool is_nan(double value) { return bits(value) << 1 > infinity_bits << 1; }
double infinity() { return number(infinity_bits); }
double minus_infinity() { return number(infinity_bits | uint64_t{1} << 63); }
double nan() { return number(nan_bits); }

}  // namespace

static_assert(__FAST_MATH__, "this program must be built with -ffast-math");

// A promise of docs/guarantees.md.
TEST_CASE("-ffast-math: what does not fit is refused, also where it would become infinite") {
  const auto large = tenon::try_full({2}, 1e6, ScalarType::Half);
  CHECK(large.error() == Error::InvalidArgument);
  CHECK(std::string(large.message()) == "try_full: the value 1000000 does not fit Half");
  CHECK(tenon::try_full({2}, 1e300).error() == Error::InvalidArgument);
  CHECK(tenon::try_full({2}, infinity()).ok());
  CHECK(tenon::try_full({2}, nan()).ok());
  for (double value : {infinity(), minus_infinity(), nan()}) {
    const tenon::Scalar scalar(value);
    CHECK(!scalar.fits<int64_t>());
    CHECK(!scalar.fits<uint8_t>());
    CHECK(!scalar.fits<bool>());
    CHECK(scalar.fits<double>());
    CHECK(scalar.fits<Half>());
    CHECK(!tenon::Scalar(tenon::complex<double>(1, value)).fits<double>());
  }
  CHECK(!tenon::Scalar(1e6).fits<Half>());
  CHECK(!tenon::Scalar(infinity()).fits<tenon::Float8_e4m3fn>());  // which would make it NaN
}

TEST_CASE("-ffast-math: a range without an end is refused, and says so") {
  CHECK_ERROR(Error::InvalidArgument, "the distance from 0 to inf is not finite",
              tenon::arange(infinity()));
  CHECK_ERROR(Error::InvalidArgument, "from -inf to 2", tenon::arange(minus_infinity(), 2.0));
  CHECK_ERROR(Error::InvalidArgument, "step nan does", tenon::arange(0, 2, nan()));
}

// A promise of docs/guarantees.md.
TEST_CASE("-ffast-math: random numbers without finite bounds are refused, and nothing is written") {
  const auto t = tenon::ones({2});
  for (double value : {infinity(), minus_infinity(), nan()}) {
    CHECK(tenon::try_uniform(0, value, {2}).error() == Error::InvalidArgument);
    CHECK(tenon::try_uniform(value, 0, {2}).error() == Error::InvalidArgument);
    CHECK(tenon::try_normal(0, value, {2}).error() == Error::InvalidArgument);
    CHECK(tenon::try_normal(value, 1, {2}).error() == Error::InvalidArgument);
    CHECK(tenon::uniform_(t, 0, value) == Error::InvalidArgument);
    CHECK(tenon::normal_(t, value, 1) == Error::InvalidArgument);
  }
  CHECK(t->const_data_ptr<float>()[0] == 1);
  CHECK(t->const_data_ptr<float>()[1] == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("-ffast-math: infinities and NaN are printed as what they are") {
  const auto t = tenon::make_tensor_ptr({1.5, infinity(), minus_infinity(), nan()});
  CHECK(tests::contains(tenon::to_string(t), "1.5"));
  CHECK(tests::contains(tenon::to_string(t), " inf"));
  CHECK(tests::contains(tenon::to_string(t), "-inf"));
  CHECK(tests::contains(tenon::to_string(t), "nan"));
}

TEST_CASE("-ffast-math: a NaN stays one in small floats") {
  CHECK((Half(nan()).x & 0x7fff) > 0x7c00);
  CHECK((tenon::BFloat16(nan()).x & 0x7fff) > 0x7f80);
  CHECK((tenon::Float8_e5m2(nan()).x & 0x7f) > 0x7c);
  CHECK((tenon::Float8_e4m3fn(nan()).x & 0x7f) == 0x7f);
  CHECK(Half(infinity()).x == 0x7c00);
}

TEST_CASE("-ffast-math: equal, allclose and min_max find infinities and NaN") {
  for (const tenon::ScalarType type : {ScalarType::Double, ScalarType::Float, ScalarType::Half}) {
    const auto all = tenon::full({1000}, 1.5, type);
    const auto other = tenon::clone_tensor_ptr(all);
    const auto set = [&](const tenon::TensorPtr& t, double value) {
      tenon::check(tenon::fill_(tenon::narrow(t, 0, 700, 1), value));
    };
    CHECK(tenon::equal(all, other));
    CHECK(tenon::allclose(all, other));
    set(other, nan());
    CHECK_FALSE(tenon::equal(all, other));
    CHECK_FALSE(tenon::equal(other, other));
    CHECK_FALSE(tenon::allclose(all, other));
    CHECK_FALSE(tenon::allclose(other, all, 1, 1));
    CHECK_FALSE(tenon::allclose(other, other));
    CHECK(tenon::allclose(other, other, 0, 0, true));
    CHECK(is_nan(tenon::min_max(other).min.to<double>()));
    set(other, infinity());
    CHECK(tenon::equal(other, other));
    CHECK(tenon::allclose(other, other));
    CHECK_FALSE(tenon::allclose(all, other, 1, 1));
    CHECK_FALSE(tenon::allclose(other, all, 1, 1));
    CHECK(bits(tenon::min_max(other).max.to<double>()) == bits(infinity()));
    CHECK(tenon::min_max(other).min.to<double>() == 1.5);
    set(all, minus_infinity());
    CHECK_FALSE(tenon::equal(all, other));
    CHECK_FALSE(tenon::allclose(all, other));
    CHECK(bits(tenon::min_max(all).min.to<double>()) == bits(minus_infinity()));
  }
}

}  // namespace values_test
