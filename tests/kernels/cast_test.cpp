// SPDX-License-Identifier: MIT
#include "tenon/kernels/cast.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.h"

using tenon::BFloat16;
using tenon::Error;
using tenon::Half;
using tenon::Scalar;
using tenon::ScalarType;
using tenon::detail::cast_elements;
using tenon::detail::IsComplexLike;
using tenon::detail::IsSmallFloat;
using tenon::detail::load_scalar;
using tenon::detail::store_scalar;

namespace {

// The reference: what one C++ conversion of the value itself gives, written out per kind.
template <class To, class From>
To converted(From value) {
  if constexpr (IsComplexLike<To>::value && IsComplexLike<From>::value) {
    using Part = typename To::value_type;
    return To(converted<Part>(value.real()), converted<Part>(value.imag()));
  } else if constexpr (IsComplexLike<To>::value) {
    using Part = typename To::value_type;
    return To(converted<Part>(value), Part(0.0f));
  } else if constexpr (IsSmallFloat<From>::value) {
    return static_cast<To>(static_cast<float>(value));  // exact
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
bool is_nan(T value) {
  return std::isnan(static_cast<double>(value));
}

// The same bytes, or both NaN: a conversion may choose a NaN's payload.
template <class T>
bool same(T a, T b) {
  if constexpr (IsComplexLike<T>::value) {
    return same(a.real(), b.real()) && same(a.imag(), b.imag());
  } else {
    return std::memcmp(&a, &b, sizeof a) == 0 || (is_nan(a) && is_nan(b));
  }
}

// Values at which a conversion may go wrong: limits, neighbours of what 53, 24, 11 and 8 bits hold,
// ties, subnormals, overflow of each format, NaN and infinity.
template <class T>
std::vector<T> special_values() {
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    values = {false, true, true, false};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (int64_t v : {int64_t{0},
                      int64_t{1},
                      int64_t{-1},
                      int64_t{127},
                      int64_t{128},
                      int64_t{-128},
                      int64_t{255},
                      int64_t{256},
                      int64_t{257},
                      int64_t{449},
                      int64_t{2049},
                      int64_t{2051},
                      int64_t{32768},
                      int64_t{65519},
                      int64_t{65520},
                      int64_t{65536},
                      int64_t{16777217},
                      int64_t{16777219},
                      (int64_t{1} << 31),
                      (int64_t{1} << 32),
                      (int64_t{1} << 53) + 1,
                      (int64_t{1} << 53) + 3,
                      (int64_t{1} << 62) + (int64_t{1} << 54) + 1,
                      -(int64_t{1} << 53) - 1}) {
      values.push_back(static_cast<T>(v));
    }
    values.push_back(Limits::min());
    values.push_back(Limits::max());
    values.push_back(static_cast<T>(Limits::max() - 1));
  } else if constexpr (IsComplexLike<T>::value) {
    const auto parts = special_values<typename T::value_type>();
    for (size_t i = 0; i < parts.size(); ++i) {
      values.push_back(T(parts[i], parts[parts.size() - 1 - i]));
      values.push_back(T(parts[i], parts[(i * 7 + 3) % parts.size()]));
    }
  } else {
    using Limits = std::numeric_limits<T>;
    for (double v : {0.0,
                     -0.0,
                     1.0,
                     -1.5,
                     0.1,
                     1.0 / 3,
                     17.0,
                     19.0,
                     240.0,
                     247.9,
                     248.0,
                     448.0,
                     464.0,
                     465.0,
                     2049.0,
                     57344.0,
                     61440.0,
                     65504.0,
                     65519.99,
                     65520.0,
                     1e-3,
                     1e-5,
                     6e-8,
                     1e-40,
                     1e-45,
                     3e38,
                     3.4e38,
                     1e300,
                     1 + 0x1p-11 + 0x1p-40,
                     257 + 0x1p-40,
                     std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(),
                     std::numeric_limits<double>::quiet_NaN()}) {
      values.push_back(static_cast<T>(v));
      values.push_back(static_cast<T>(-v));
    }
    for (T v : {Limits::min(), Limits::max(), Limits::lowest(), Limits::denorm_min()}) {
      values.push_back(v);
    }
  }
  return values;
}

template <class T>
ScalarType type_of() {
  return tenon::CppTypeToScalarType<T>::value;
}

// The reference on bytes, so that the loop below is not a template: there are 269 pairs of types.
template <class To, class From>
void convert_element(const unsigned char* in, unsigned char* out) {
  From value;
  std::memcpy(&value, in, sizeof value);
  const To result = converted<To>(value);
  std::memcpy(out, &result, sizeof result);
}
template <class T>
bool same_element(const unsigned char* a, const unsigned char* b) {
  T first, second;
  std::memcpy(&first, a, sizeof first);
  std::memcpy(&second, b, sizeof second);
  return same(first, second);
}

template <class T>
std::vector<unsigned char> special_bytes() {
  std::vector<unsigned char> bytes;
  for (T value : special_values<T>()) {
    unsigned char element[sizeof(T)];
    std::memcpy(element, &value, sizeof value);
    bytes.insert(bytes.end(), element, element + sizeof value);
  }
  return bytes;
}

// Casts all elements in one call, at odd addresses since they need no alignment, and counts those
// that differ from the reference.
int count_wrong(ScalarType to, ScalarType from, const std::vector<unsigned char>& in,
                void (*convert)(const unsigned char*, unsigned char*),
                bool (*same_as)(const unsigned char*, const unsigned char*)) {
  const size_t to_size = elementSize(to);
  const size_t from_size = elementSize(from);
  const size_t n = in.size() / from_size;
  std::vector<unsigned char> source(1 + in.size());
  std::copy(in.begin(), in.end(), source.begin() + 1);
  std::vector<unsigned char> target(1 + n * to_size);
  cast_elements(to, target.data() + 1, from, source.data() + 1, static_cast<int64_t>(n));
  int wrong = 0;
  for (size_t i = 0; i < n; ++i) {
    unsigned char expected[16];
    convert(in.data() + i * from_size, expected);
    if (!same_as(expected, target.data() + 1 + i * to_size)) ++wrong;
  }
  return wrong;
}

template <class From>
void check_casts_from() {
  constexpr ScalarType from = tenon::CppTypeToScalarType<From>::value;
  const std::vector<unsigned char> in = special_bytes<From>();
  struct Cast {
    ScalarType to;
    int wrong;
  };
  std::vector<Cast> casts;
#define TRY_CAST(To, name)                                                                         \
  if constexpr (tenon::canCast(from, ScalarType::name)) {                                          \
    casts.push_back({ScalarType::name, count_wrong(ScalarType::name, from, in,                     \
                                                   convert_element<To, From>, same_element<To>)}); \
  }
  TENON_FORALL_SCALAR_TYPES(TRY_CAST)
#undef TRY_CAST
  for (const Cast& cast : casts) {
    INFO(toString(from) << " to " << toString(cast.to));
    CHECK(cast.wrong == 0);
  }
  CHECK(casts.size() == (from == ScalarType::Bool      ? 20u
                         : isIntegralType(from, false) ? 19u
                         : isFloatingType(from)        ? 11u
                                                       : 3u));
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

TEST_CASE("cast: from each integral type and Bool to all that it can be cast to") {
  check_casts_from<uint8_t>();
  check_casts_from<int8_t>();
  check_casts_from<int16_t>();
  check_casts_from<int32_t>();
  check_casts_from<int64_t>();
  check_casts_from<uint16_t>();
  check_casts_from<uint32_t>();
  check_casts_from<uint64_t>();
  check_casts_from<bool>();
}

TEST_CASE("cast: from each floating type to all that it can be cast to") {
  check_casts_from<Half>();
  check_casts_from<BFloat16>();
  check_casts_from<float>();
  check_casts_from<double>();
  check_casts_from<tenon::Float8_e5m2>();
  check_casts_from<tenon::Float8_e4m3fn>();
  check_casts_from<tenon::Float8_e5m2fnuz>();
  check_casts_from<tenon::Float8_e4m3fnuz>();
}

TEST_CASE("cast: from each complex type to all that it can be cast to") {
  check_casts_from<tenon::complex<Half>>();
  check_casts_from<tenon::complex<float>>();
  check_casts_from<tenon::complex<double>>();
}

TEST_CASE("cast: integers out of range wrap, as in C++") {
  const int32_t in[] = {300, -1, 256, -129, 70000};
  uint8_t bytes[5];
  cast_elements(ScalarType::Byte, bytes, ScalarType::Int, in, 5);
  CHECK(bytes[0] == 44);
  CHECK(bytes[1] == 255);
  CHECK(bytes[2] == 0);
  CHECK(bytes[3] == 127);
  CHECK(bytes[4] == 112);
  uint64_t wide[1];
  cast_elements(ScalarType::UInt64, wide, ScalarType::Int, in + 1, 1);
  CHECK(wide[0] == UINT64_MAX);
}

TEST_CASE("cast: a double becomes Half, and a 64-bit integer BFloat16, with one rounding") {
  const double x[] = {1 + 0x1p-11 + 0x1p-40};
  uint16_t bits[1];
  cast_elements(ScalarType::Half, bits, ScalarType::Double, x, 1);
  CHECK(bits[0] == 0x3c01);
  const int64_t i[] = {(int64_t{1} << 62) + (int64_t{1} << 54) + 1};
  cast_elements(ScalarType::BFloat16, bits, ScalarType::Long, i, 1);
  CHECK(bits[0] == 0x5e81);
  const uint64_t u[] = {(uint64_t{1} << 63) + (uint64_t{1} << 55) + 1};
  cast_elements(ScalarType::BFloat16, bits, ScalarType::UInt64, u, 1);
  CHECK(bits[0] == 0x5f01);
}

TEST_CASE("cast: any byte but 0 is a true Bool") {
  const unsigned char in[] = {0, 1, 2, 128, 255};
  int32_t ints[5];
  cast_elements(ScalarType::Int, ints, ScalarType::Bool, in, 5);
  float floats[5];
  cast_elements(ScalarType::Float, floats, ScalarType::Bool, in, 5);
  unsigned char bools[5];
  cast_elements(ScalarType::Bool, bools, ScalarType::Bool, in, 5);
  for (int i = 0; i < 5; ++i) {
    INFO("byte " << int{in[i]});
    CHECK(ints[i] == (i == 0 ? 0 : 1));
    CHECK(floats[i] == (i == 0 ? 0.0f : 1.0f));
    CHECK(bools[i] == (i == 0 ? 0 : 1));
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
    cast_elements(ScalarType::Double, out.data(), ScalarType::Short, in.data(), count);
    for (size_t i = 0; i < out.size(); ++i) {
      const double expected = static_cast<int64_t>(i) < count ? static_cast<double>(in[i]) : 0.5;
      if (out[i] != expected) ++wrong;
    }
  }
  CHECK(wrong == 0);
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
