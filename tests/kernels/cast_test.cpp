// SPDX-License-Identifier: MIT
#include "tenon/kernels/cast.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/kernels/convert.h"

using namespace tenon;
using tenon::detail::cast_elements;
using tenon::detail::load_scalar;
using tenon::detail::store_scalar;

namespace {

template <class T>
ScalarType type_of() {
  return tenon::CppTypeToScalarType<T>::value;
}

// Every element's conversion; convert_values_test.cpp has all types against a reference.
template <class To, class From>
std::vector<To> cast(const std::vector<From>& values, CastMode mode) {
  std::vector<To> out(values.size());
  cast_elements(type_of<To>(), out.data(), type_of<From>(), values.data(),
                static_cast<int64_t>(values.size()), mode);
  return out;
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

TEST_CASE("cast: integers wrap into integers, but for Saturate, which clamps them") {
  const std::vector<int32_t> values = {300, -1, 256, -129, 70000};
  for (CastMode mode : {CastMode::Checked, CastMode::Truncate}) {
    CHECK(cast<uint8_t>(values, mode) == std::vector<uint8_t>{44, 255, 0, 127, 112});
    CHECK(cast<uint64_t>(values, mode)[1] == UINT64_MAX);
  }
  CHECK(cast<uint8_t>(values, CastMode::Saturate) == std::vector<uint8_t>{255, 0, 255, 0, 255});
  CHECK(cast<int8_t>(values, CastMode::Saturate) == std::vector<int8_t>{127, -1, 127, -128, 127});
  CHECK(cast<uint64_t>(values, CastMode::Saturate)[1] == 0);
  CHECK(cast<int64_t>(std::vector<uint64_t>{UINT64_MAX, 5}, CastMode::Saturate) ==
        std::vector<int64_t>{INT64_MAX, 5});
}

TEST_CASE("cast: floating values become integers cut off, or rounded to even, of the nearest end") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0.5, 1.5, -2.5, 2.7, -0.9, 1e300, -infinity, nan};
  CHECK(cast<int32_t>(values, CastMode::Truncate) ==
        std::vector<int32_t>{0, 1, -2, 2, 0, INT32_MAX, INT32_MIN, 0});
  CHECK(cast<int32_t>(values, CastMode::Saturate) ==
        std::vector<int32_t>{0, 2, -2, 3, -1, INT32_MAX, INT32_MIN, 0});
  CHECK(cast<uint64_t>(values, CastMode::Saturate) ==
        std::vector<uint64_t>{0, 2, 0, 3, 0, UINT64_MAX, 0, 0});
  CHECK(cast<int64_t>(std::vector<double>{0x1p53 + 2, -0x1p63, 0x1p63}, CastMode::Truncate) ==
        std::vector<int64_t>{(int64_t{1} << 53) + 2, INT64_MIN, INT64_MAX});
}

TEST_CASE("cast: Saturate keeps floating values and the parts of complex ones finite") {
  const double infinity = std::numeric_limits<double>::infinity();
  const float largest = std::numeric_limits<float>::max();
  const std::vector<double> values = {1e300, -infinity, 0.1};
  CHECK(cast<float>(values, CastMode::Saturate) == std::vector<float>{largest, -largest, 0.1f});
  CHECK(cast<float>(values, CastMode::Truncate) ==
        std::vector<float>{std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(), 0.1f});
  using Complex = tenon::complex<float>;
  CHECK(cast<Complex>(std::vector<tenon::complex<double>>{{1e300, -infinity}, {1, 2}},
                      CastMode::Saturate) == std::vector<Complex>{{largest, -largest}, {1, 2}});
  CHECK(std::isnan(cast<float>(std::vector<double>{std::nan("")}, CastMode::Saturate)[0]));
}

TEST_CASE("cast: the imaginary part is dropped, but makes a Bool true") {
  const std::vector<tenon::complex<float>> values = {{0, 0}, {0, 3}, {2.5f, 0}, {-7, 1}};
  for (CastMode mode : {CastMode::Truncate, CastMode::Saturate}) {
    CHECK(cast<int32_t>(values, mode) == std::vector<int32_t>{0, 0, 2, -7});
    CHECK(cast<float>(values, mode) == std::vector<float>{0, 0, 2.5f, -7});
    uint8_t bools[4];
    cast_elements(ScalarType::Bool, bools, ScalarType::ComplexFloat, values.data(), 4, mode);
    CHECK(std::vector<uint8_t>(bools, bools + 4) == std::vector<uint8_t>{0, 1, 1, 1});
  }
}

TEST_CASE("cast: a double becomes Half, and a 64-bit integer BFloat16, with one rounding") {
  const std::vector<double> doubles = {1 + 0x1p-11 + 0x1p-40};
  CHECK(cast<Half>(doubles, CastMode::Checked)[0].x == 0x3c01);
  const std::vector<int64_t> ints = {(int64_t{1} << 62) + (int64_t{1} << 54) + 1};
  CHECK(cast<BFloat16>(ints, CastMode::Checked)[0].x == 0x5e81);
  const std::vector<uint64_t> unsigned_ints = {(uint64_t{1} << 63) + (uint64_t{1} << 55) + 1};
  CHECK(cast<BFloat16>(unsigned_ints, CastMode::Checked)[0].x == 0x5f01);
}

TEST_CASE("cast: any byte but 0 is a true Bool") {
  const unsigned char in[] = {0, 1, 2, 128, 255};
  int32_t ints[5];
  cast_elements(ScalarType::Int, ints, ScalarType::Bool, in, 5, CastMode::Checked);
  for (int i = 0; i < 5; ++i) {
    INFO("byte " << int{in[i]});
    CHECK(ints[i] == (i == 0 ? 0 : 1));
    CHECK(load_scalar(ScalarType::Bool, in + i).isBoolean());
    CHECK(load_scalar(ScalarType::Bool, in + i).to<int>() == (i == 0 ? 0 : 1));
  }
}

TEST_CASE("cast: runs of every length are cast whole, and nothing beyond them") {
  int wrong = 0;
  for (int64_t count : {0, 1, 63, 64, 65, 127, 128, 129, 300}) {
    std::vector<int16_t> in(300);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int16_t>(i * 37 - 5000);
    std::vector<double> out(301, 0.5);
    cast_elements(ScalarType::Double, out.data(), ScalarType::Short, in.data(), count,
                  CastMode::Checked);
    for (size_t i = 0; i < out.size(); ++i) {
      const double expected = static_cast<int64_t>(i) < count ? static_cast<double>(in[i]) : 0.5;
      if (out[i] != expected) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("cast: modes have names") {
  CHECK(std::string(toString(CastMode::Checked)) == "Checked");
  CHECK(std::string(toString(CastMode::Truncate)) == "Truncate");
  CHECK(std::string(toString(CastMode::Saturate)) == "Saturate");
}

TEST_CASE("cast: load_scalar reads an element of every type as its value") {
  const auto loaded = [](auto element) {
    return load_scalar(type_of<decltype(element)>(), &element);
  };
  CHECK(loaded(uint8_t{200}).template to<int>() == 200);
  CHECK(loaded(int8_t{-100}).template to<int>() == -100);
  CHECK(loaded(int16_t{-30000}).template to<int>() == -30000);
  CHECK(loaded(int32_t{-2000000000}).template to<int>() == -2000000000);
  CHECK(loaded(INT64_MIN).template to<int64_t>() == INT64_MIN);
  CHECK(loaded(uint16_t{60000}).template to<int>() == 60000);
  CHECK(loaded(uint32_t{4000000000}).template to<int64_t>() == 4000000000);
  CHECK(loaded(UINT64_MAX).template to<uint64_t>() == UINT64_MAX);
  CHECK(loaded(true).isBoolean());
  CHECK(loaded(Half(1.5f)).template to<double>() == 1.5);
  CHECK(loaded(BFloat16(-3.0f)).template to<double>() == -3.0);
  CHECK(loaded(2.5f).template to<double>() == 2.5);
  CHECK(loaded(0.1).template to<double>() == 0.1);
  CHECK(loaded(tenon::Float8_e4m3fn(448)).template to<double>() == 448.0);
  CHECK(loaded(tenon::Float8_e5m2(-0.25f)).template to<double>() == -0.25);
  CHECK(loaded(tenon::Float8_e4m3fnuz(240)).template to<double>() == 240.0);
  CHECK(loaded(tenon::Float8_e5m2fnuz(3)).template to<double>() == 3.0);
  using C = std::complex<double>;
  CHECK(loaded(tenon::complex<float>(1, -2)).template to<C>() == C(1, -2));
  CHECK(loaded(tenon::complex<double>(0.1, 2)).template to<C>() == C(0.1, 2));
  CHECK(loaded(tenon::complex<Half>(Half(1.5f), Half(2.0f))).template to<C>() == C(1.5, 2));
}

TEST_CASE("cast: store_scalar writes a value that the type keeps") {
  CHECK(stored<uint8_t>(ScalarType::Byte, 255) == 255);
  CHECK(stored<int8_t>(ScalarType::Char, -128) == -128);
  CHECK(stored<int64_t>(ScalarType::Long, INT64_MIN) == INT64_MIN);
  CHECK(stored<int64_t>(ScalarType::Long, uint64_t{INT64_MAX}) == INT64_MAX);
  CHECK(stored<uint64_t>(ScalarType::UInt64, UINT64_MAX) == UINT64_MAX);
  CHECK(stored<int32_t>(ScalarType::Int, true) == 1);
  CHECK(stored<unsigned char>(ScalarType::Bool, true) == 1);
  CHECK(stored<unsigned char>(ScalarType::Bool, 1) == 1);
  CHECK(stored<unsigned char>(ScalarType::Bool, 0) == 0);
  CHECK(stored<float>(ScalarType::Float, 42) == 42.0f);
  CHECK(stored<float>(ScalarType::Float, 0.1) == 0.1f);
  CHECK(stored<float>(ScalarType::Float, UINT64_MAX) == 18446744073709551616.0f);
  CHECK(stored<double>(ScalarType::Double, -2.5) == -2.5);
  CHECK(stored<uint16_t>(ScalarType::Half, 1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(stored<uint16_t>(ScalarType::BFloat16, (int64_t{1} << 62) + (int64_t{1} << 54) + 1) ==
        0x5e81);
  CHECK(stored<uint8_t>(ScalarType::Float8_e4m3fn, 464) == 0x7e);
  CHECK(stored<tenon::complex<float>>(ScalarType::ComplexFloat, 3) == tenon::complex<float>(3, 0));
  CHECK(stored<tenon::complex<double>>(ScalarType::ComplexDouble, std::complex<double>(1, -2)) ==
        tenon::complex<double>(1, -2));
  CHECK(stored<tenon::complex<float>>(ScalarType::ComplexFloat, 0.5) ==
        tenon::complex<float>(0.5f, 0));
}

TEST_CASE("cast: store_scalar keeps NaN and infinity where the type has them") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(stored<float>(ScalarType::Float, nan)));
  CHECK(stored<uint16_t>(ScalarType::Half, -infinity) == 0xfc00);
  CHECK(stored<uint8_t>(ScalarType::Float8_e5m2, infinity) == 0x7c);
  CHECK(stored<uint8_t>(ScalarType::Float8_e4m3fnuz, nan) == 0x80);
  CHECK_RETURNS(Error::InvalidArgument, "the value inf does not fit Float8_e4m3fn",
                try_store(ScalarType::Float8_e4m3fn, infinity));
}

TEST_CASE("cast: store_scalar refuses a value that the type cannot keep, and names both") {
  CHECK_RETURNS(Error::InvalidArgument, "the value 300 does not fit Byte",
                try_store(ScalarType::Byte, 300));
  CHECK_RETURNS(Error::InvalidArgument, "the value -1 does not fit UInt64",
                try_store(ScalarType::UInt64, -1));
  CHECK_RETURNS(Error::InvalidArgument, "the value 18446744073709551615 does not fit Long",
                try_store(ScalarType::Long, UINT64_MAX));
  CHECK_RETURNS(Error::InvalidArgument, "the value 2 does not fit Bool",
                try_store(ScalarType::Bool, 2));
  CHECK_RETURNS(Error::InvalidArgument, "the value 65520 does not fit Half",
                try_store(ScalarType::Half, 65520));
  CHECK_RETURNS(Error::InvalidArgument, "the value 1e300 does not fit Float",
                try_store(ScalarType::Float, 1e300));
  CHECK_RETURNS(Error::InvalidArgument, "does not fit ComplexFloat",
                try_store(ScalarType::ComplexFloat, std::complex<double>(0, 1e300)));
  CHECK_RETURNS(Error::InvalidArgument, "does not fit Float8_e4m3fn",
                try_store(ScalarType::Float8_e4m3fn, 465));
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
  CHECK_RETURNS(Error::InvalidType, "the complex value 1 - 2i cannot be cast to Float",
                try_store(ScalarType::Float, std::complex<float>(1, -2)));
  CHECK_RETURNS(Error::InvalidType, "Undefined is not an element type",
                try_store(ScalarType::Undefined, 1));
  CHECK_RETURNS(Error::InvalidType, "Undefined (12) is not an element type",
                try_store(static_cast<ScalarType>(12), 1));
}
