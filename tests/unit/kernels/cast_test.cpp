// SPDX-License-Identifier: MIT
#include "tenon/kernels/cast.h"

#include <cmath>
#include <complex>
#include <tuple>

#include "support/catch.h"

namespace cast_test {

using namespace tenon;
using tenon::detail::load_scalar;
using tenon::detail::store_scalar;

namespace {

template <class T>
ScalarType type_of() {
  return tenon::CppTypeToScalarType<T>::value;
}

// Stores the value as `type` and reads the element's bytes as a T.
template <class T>
T stored(ScalarType type, const Scalar& value) {
  unsigned char bytes[16] = {};
  CHECK(store_scalar(type, value, bytes) == Error::Ok);
  T result;
  std::memcpy(&result, bytes, sizeof result);
  return result;
}

Error try_store(ScalarType type, const Scalar& value) {
  unsigned char bytes[16];
  return store_scalar(type, value, bytes);
}

}  // namespace

TEST_CASE("cast: load_scalar reads an element of every type as its value") {
  const auto loaded = [](auto element) {
    return load_scalar(type_of<decltype(element)>(), &element);
  };
  const std::pair<Scalar, double> rows[] = {{loaded(uint8_t{200}), 200},
                                            {loaded(int8_t{-100}), -100},
                                            {loaded(uint16_t{60000}), 60000},
                                            {loaded(Half(1.5f)), 1.5},
                                            {loaded(0.1), 0.1},
                                            {loaded(tenon::Float8_e4m3fn(448)), 448},
                                            {loaded(tenon::Float8_e4m3fnuz(240)), 240}};
  for (const auto& [scalar, value] : rows) CHECK(scalar.to<double>() == value);
  CHECK(loaded(INT64_MIN).to<int64_t>() == INT64_MIN);
  CHECK(loaded(UINT64_MAX).to<uint64_t>() == UINT64_MAX);
  CHECK(loaded(true).isBoolean());
  using C = std::complex<double>;
  CHECK(loaded(tenon::complex<float>(1, -2)).template to<C>() == C(1, -2));
  CHECK(loaded(tenon::complex<Half>(Half(1.5f), Half(2.0f))).template to<C>() == C(1.5, 2));
}

TEST_CASE("cast: store_scalar writes a value that the type keeps") {
  CHECK(stored<int64_t>(ScalarType::Long, INT64_MIN) == INT64_MIN);
  CHECK(stored<uint64_t>(ScalarType::UInt64, UINT64_MAX) == UINT64_MAX);
  CHECK(stored<unsigned char>(ScalarType::Bool, true) == 1);
  CHECK(stored<unsigned char>(ScalarType::Bool, 0) == 0);
  CHECK(stored<float>(ScalarType::Float, 42) == 42.0f);
  CHECK(stored<float>(ScalarType::Float, UINT64_MAX) == 18446744073709551616.0f);
  CHECK(stored<uint16_t>(ScalarType::Half, 1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(stored<uint16_t>(ScalarType::BFloat16, (int64_t{1} << 62) + (int64_t{1} << 54) + 1) ==
        0x5e81);
  CHECK(stored<uint8_t>(ScalarType::Float8_e4m3fn, 464) == 0x7e);
  CHECK(stored<tenon::complex<float>>(ScalarType::ComplexFloat, 3) == tenon::complex<float>(3, 0));
  CHECK(stored<tenon::complex<double>>(ScalarType::ComplexDouble, std::complex<double>(1, -2)) ==
        tenon::complex<double>(1, -2));
}

TEST_CASE("cast: store_scalar keeps NaN and infinity where the type has them") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(stored<uint16_t>(ScalarType::Half, -infinity) == 0xfc00);
  CHECK(stored<uint8_t>(ScalarType::Float8_e5m2, infinity) == 0x7c);
  CHECK(stored<uint8_t>(ScalarType::Float8_e4m3fnuz, nan) == 0x80);
}

TEST_CASE("cast: store_scalar refuses a value that the type cannot keep, and names both") {
  const std::tuple<ScalarType, Scalar, const char*> rows[] = {
      {ScalarType::Byte, 300, "the value 300 does not fit Byte"},
      {ScalarType::UInt64, -1, "the value -1 does not fit UInt64"},
      {ScalarType::Long, UINT64_MAX, "the value 18446744073709551615 does not fit Long"},
      {ScalarType::Half, 65520, "the value 65520 does not fit Half"},
      {ScalarType::ComplexFloat, std::complex<double>(0, 1e300), "does not fit ComplexFloat"},
      {ScalarType::Float8_e4m3fn, std::numeric_limits<double>::infinity(),
       "the value inf does not fit Float8_e4m3fn"}};
  for (const auto& [type, value, words] : rows) {
    CHECK_RETURNS(Error::InvalidArgument, words, try_store(type, value));
  }
}

TEST_CASE(
    "cast: store_scalar refuses a kind that canCast forbids, even where the value would fit") {
  for (ScalarType type :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long,
        ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64, ScalarType::Bool}) {
    CHECK_RETURNS(Error::InvalidType,
                  "the floating value 1 cannot be cast to " + std::string(toString(type)),
                  try_store(type, 1.0));
    CHECK_RETURNS(Error::InvalidType, "the complex value 1 + 0i cannot be cast",
                  try_store(type, std::complex<double>(1, 0)));
  }
  CHECK_RETURNS(Error::InvalidType, "Undefined is not an element type",
                try_store(ScalarType::Undefined, 1));
  CHECK_RETURNS(Error::InvalidType, "Undefined (12) is not an element type",
                try_store(static_cast<ScalarType>(12), 1));
}

}  // namespace cast_test
