// SPDX-License-Identifier: MIT
#include "tenon/kernels/convert.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cast_reference.h"

using tenon::detail::cast_elements;
using tenon::detail::is_exact_in_float;
using namespace tests;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The elements' conversion, repeated so often that vector kernels take part. Nothing if instruction
// sets or places in the row differ.
Bytes cast_bytes(ScalarType to, const unsigned char* values, size_t count, ScalarType from,
                 CastMode mode) {
  constexpr size_t kTimes = 40;
  const size_t in_nbytes = count * elementSize(from);
  const size_t nbytes = count * elementSize(to);
  Bytes in;
  for (size_t i = 0; i < kTimes; ++i) in.insert(in.end(), values, values + in_nbytes);
  Bytes first;
  bool same = true;
  tests::for_each_isa([&] {
    Bytes out(kTimes * nbytes);
    cast_elements(to, out.data(), from, in.data(), static_cast<int64_t>(kTimes * count), mode);
    if (first.empty()) first.assign(out.data(), out.data() + nbytes);
    for (size_t i = 0; i < kTimes; ++i) {
      same = same && std::memcmp(out.data() + i * nbytes, first.data(), nbytes) == 0;
    }
  });
  return same ? first : Bytes();
}
template <class To, class From>
std::vector<To> cast(ScalarType to, const std::vector<From>& values, ScalarType from,
                     CastMode mode) {
  const Bytes bytes = cast_bytes(to, reinterpret_cast<const unsigned char*>(values.data()),
                                 values.size(), from, mode);
  std::vector<To> result(bytes.size() / sizeof(To));
  if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}
template <class To>
std::vector<To> cast_floats(ScalarType to, const std::vector<float>& values, CastMode mode) {
  return cast<To>(to, values, ScalarType::Float, mode);
}

}  // namespace

TEST_CASE("convert: Saturate rounds floats to nearest even integers and clamps them") {
  const std::vector<float> values = {0.5f,   1.5f,   2.5f,   2.4999f,    -0.4f,     -1.0f,
                                     254.4f, 254.5f, 255.5f, 1e10f,      kInfinity, -kInfinity,
                                     kNan,   -0.0f,  3.5f,   0.49999997f};
  CHECK(cast_floats<uint8_t>(ScalarType::Byte, values, CastMode::Saturate) ==
        std::vector<uint8_t>{0, 2, 2, 2, 0, 0, 254, 254, 255, 255, 255, 0, 0, 0, 4, 0});
  const std::vector<float> around = {-128.5f, -127.5f, -129.0f,    127.5f, 126.5f,
                                     -0.5f,   -1.5f,   -kInfinity, kNan};
  CHECK(cast_floats<int8_t>(ScalarType::Char, around, CastMode::Saturate) ==
        std::vector<int8_t>{-128, -128, -128, 127, 126, 0, -2, -128, 0});
  CHECK(
      cast_floats<int64_t>(ScalarType::Long, {2.5f, 1e30f, -kInfinity, kNan}, CastMode::Saturate) ==
      std::vector<int64_t>{2, INT64_MAX, INT64_MIN, 0});
}

TEST_CASE("convert: Truncate cuts floats off, and what is out of range gives the nearest end") {
  const std::vector<float> values = {0.9f, 1.999f,    -0.9f,      -5.0f, 255.9f,
                                     256,  kInfinity, -kInfinity, kNan};
  CHECK(cast_floats<uint8_t>(ScalarType::Byte, values, CastMode::Truncate) ==
        std::vector<uint8_t>{0, 1, 0, 0, 255, 255, 255, 0, 0});
  CHECK(cast_floats<int16_t>(ScalarType::Short, {-1.9f, 32767.5f, 40000, -40000, kNan},
                             CastMode::Truncate) ==
        std::vector<int16_t>{-1, 32767, 32767, -32768, 0});
  CHECK(cast_floats<uint16_t>(ScalarType::UInt16, {65535.9f, 70000, -1}, CastMode::Truncate) ==
        std::vector<uint16_t>{65535, 65535, 0});
  CHECK(cast_floats<uint64_t>(ScalarType::UInt64, {1e30f, -1, 0x1p63f}, CastMode::Truncate) ==
        std::vector<uint64_t>{UINT64_MAX, 0, uint64_t{1} << 63});
}

TEST_CASE("convert: integers wrap into integers, but for Saturate, which clamps them") {
  const std::vector<int16_t> values = {300, -1, 256, -129, 32767};
  for (CastMode mode : {CastMode::Checked, CastMode::Truncate}) {
    CHECK(cast<uint8_t>(ScalarType::Byte, values, ScalarType::Short, mode) ==
          std::vector<uint8_t>{44, 255, 0, 127, 255});
    CHECK(cast<uint64_t>(ScalarType::UInt64, std::vector<int32_t>{-1}, ScalarType::Int, mode) ==
          std::vector<uint64_t>{UINT64_MAX});
  }
  CHECK(cast<uint8_t>(ScalarType::Byte, values, ScalarType::Short, CastMode::Saturate) ==
        std::vector<uint8_t>{255, 0, 255, 0, 255});
  CHECK(cast<int8_t>(ScalarType::Char, values, ScalarType::Short, CastMode::Saturate) ==
        std::vector<int8_t>{127, -1, 127, -128, 127});
  CHECK(cast<int64_t>(ScalarType::Long, std::vector<uint64_t>{UINT64_MAX}, ScalarType::UInt64,
                      CastMode::Saturate) == std::vector<int64_t>{INT64_MAX});
}

TEST_CASE("convert: Saturate keeps floating values finite, and NaN one") {
  const std::vector<float> values = {65504, 65520, 1e30f, -1e30f, kInfinity, -kInfinity, kNan, 1};
  CHECK(cast_floats<uint16_t>(ScalarType::Half, values, CastMode::Saturate) ==
        std::vector<uint16_t>{0x7bff, 0x7bff, 0x7bff, 0xfbff, 0x7bff, 0xfbff, 0x7e00, 0x3c00});
  CHECK(cast_floats<uint16_t>(ScalarType::Half, values, CastMode::Checked) ==
        std::vector<uint16_t>{0x7bff, 0x7c00, 0x7c00, 0xfc00, 0x7c00, 0xfc00, 0x7e00, 0x3c00});
  CHECK(cast_floats<uint16_t>(ScalarType::BFloat16, {3.4e38f, -kInfinity, 1}, CastMode::Saturate) ==
        std::vector<uint16_t>{0x7f7f, 0xff7f, 0x3f80});
  CHECK(cast_floats<uint16_t>(ScalarType::BFloat16, {3.4e38f, -kInfinity, 1}, CastMode::Checked) ==
        std::vector<uint16_t>{0x7f80, 0xff80, 0x3f80});
  CHECK(cast_floats<uint8_t>(ScalarType::Float8_e4m3fn, {448, 500, -kInfinity, kNan},
                             CastMode::Saturate) == std::vector<uint8_t>{0x7e, 0x7e, 0xfe, 0x7f});
  CHECK(cast<float>(ScalarType::Float, std::vector<double>{1e300, -1e300, 0.1}, ScalarType::Double,
                    CastMode::Saturate) == std::vector<float>{std::numeric_limits<float>::max(),
                                                              std::numeric_limits<float>::lowest(),
                                                              0.1f});
  CHECK(cast<uint8_t>(ScalarType::Float8_e4m3fnuz, std::vector<int32_t>{1000, -1000, 16},
                      ScalarType::Int,
                      CastMode::Saturate) == std::vector<uint8_t>{0x7f, 0xff, 0x60});
}

TEST_CASE("convert: all but 0 is true, NaN and an imaginary part too") {
  for (CastMode mode : {CastMode::Truncate, CastMode::Saturate}) {
    CHECK(cast_floats<uint8_t>(ScalarType::Bool, {0, -0.0f, 0.1f, 1e-45f, -3, kNan, kInfinity},
                               mode) == std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 1});
    using Complex = tenon::complex<float>;
    CHECK(cast<uint8_t>(ScalarType::Bool,
                        std::vector<Complex>{{0, 0}, {0, 1e-45f}, {2, 0}, {-0.0f, -0.0f}},
                        ScalarType::ComplexFloat, mode) == std::vector<uint8_t>{0, 1, 1, 0});
    CHECK(cast<uint8_t>(ScalarType::Bool, std::vector<int64_t>{0, INT64_MIN, 1 << 8},
                        ScalarType::Long, mode) == std::vector<uint8_t>{0, 1, 1});
  }
}

TEST_CASE("convert: any byte of a Bool but 0 is one") {
  const std::vector<uint8_t> values = {0, 1, 2, 128, 255};
  for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
    CHECK(cast<float>(ScalarType::Float, values, ScalarType::Bool, mode) ==
          std::vector<float>{0, 1, 1, 1, 1});
    CHECK(cast<int32_t>(ScalarType::Int, values, ScalarType::Bool, mode) ==
          std::vector<int32_t>{0, 1, 1, 1, 1});
    CHECK(cast<uint16_t>(ScalarType::Half, values, ScalarType::Bool, mode) ==
          std::vector<uint16_t>{0, 0x3c00, 0x3c00, 0x3c00, 0x3c00});
  }
}

TEST_CASE("convert: a complex number's imaginary part is dropped, a real one's is 0") {
  using Complex = tenon::complex<float>;
  CHECK(cast<uint8_t>(ScalarType::Byte, std::vector<Complex>{{2.5f, 9}, {300, -1}},
                      ScalarType::ComplexFloat,
                      CastMode::Saturate) == std::vector<uint8_t>{2, 255});
  CHECK(cast<double>(ScalarType::Double, std::vector<Complex>{{2.5f, 9}}, ScalarType::ComplexFloat,
                     CastMode::Truncate) == std::vector<double>{2.5});
  CHECK(cast<Complex>(ScalarType::ComplexFloat, std::vector<uint8_t>{7}, ScalarType::Byte,
                      CastMode::Checked) == std::vector<Complex>{{7, 0}});
}

TEST_CASE("convert: a NaN keeps its sign and leading bits, and becomes quiet") {
  const std::vector<uint32_t> floats = {0x7f800001u, 0xffa00000u, 0x7fffffffu, 0xffc02000u};
  CHECK(cast<uint16_t>(ScalarType::Half, floats, ScalarType::Float, CastMode::Checked) ==
        std::vector<uint16_t>{0x7e00, 0xff00, 0x7fff, 0xfe01});
  CHECK(cast<uint16_t>(ScalarType::BFloat16, floats, ScalarType::Float, CastMode::Saturate) ==
        std::vector<uint16_t>{0x7fc0, 0xffe0, 0x7fff, 0xffc0});
  const std::vector<uint16_t> halves = {0x7c01, 0xfe00, 0xfd55};
  CHECK(cast<uint32_t>(ScalarType::Float, halves, ScalarType::Half, CastMode::Checked) ==
        std::vector<uint32_t>{0x7fc02000u, 0xffc00000u, 0xffeaa000u});
  CHECK(cast<uint32_t>(ScalarType::Float, std::vector<uint16_t>{0x7f81, 0xffc0},
                       ScalarType::BFloat16,
                       CastMode::Checked) == std::vector<uint32_t>{0x7fc10000u, 0xffc00000u});
}

TEST_CASE("convert: within one type the bits are copied in every mode") {
  for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
    const std::vector<uint32_t> floats = {0x7f800001u, 0x7f800000u};  // NaN, infinity
    CHECK(cast<uint32_t>(ScalarType::Float, floats, ScalarType::Float, mode) == floats);
    const std::vector<uint8_t> bools = {0, 1, 2, 255};
    CHECK(cast<uint8_t>(ScalarType::Bool, bools, ScalarType::Bool, mode) == bools);
  }
}

TEST_CASE("convert: every count at every address, between all types, and nothing around it") {
  constexpr size_t kMost = 70;
  constexpr unsigned char kGuard = 0xa5;
  Rng random{1};
  for (ScalarType from : tests::kAllTypes) {
    const size_t from_size = elementSize(from);
    const Bytes in = tests::random_elements(random, from, kMost);
    for (ScalarType to : tests::kAllTypes) {
      const size_t size = elementSize(to);
      for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
        if (mode == CastMode::Checked && !canCast(from, to)) continue;
        INFO(toString(from) << " to " << toString(to) << ", " << toString(mode));
        Bytes expected(kMost * size);
        for (size_t i = 0; i < kMost; ++i) {
          tests::cast_by_hand(to, expected.data() + i * size, from, in.data() + i * from_size,
                              mode);
        }
        tests::for_each_isa([&] {
          int wrong = 0;
          for (size_t count = 0; count <= kMost; count += tests::kThorough ? 1 : 5) {
            // The source ends where its memory ends.
            Bytes source(1 + count * from_size);
            std::memcpy(source.data() + 1, in.data(), count * from_size);
            Bytes out(1 + count * size + 16, kGuard);
            cast_elements(to, out.data() + 1, from, source.data() + 1, static_cast<int64_t>(count),
                          mode);
            bool right = std::memcmp(out.data() + 1, expected.data(), count * size) == 0;
            right = right && out[0] == kGuard;
            for (size_t i = 1 + count * size; i < out.size(); ++i)
              right = right && out[i] == kGuard;
            if (!right) ++wrong;
          }
          CHECK(wrong == 0);
        });
      }
    }
  }
}

TEST_CASE("convert: runs longer than the buffers between two kernels") {
  Rng random{2};
  const struct {
    ScalarType to;
    ScalarType from;
    CastMode mode;
  } pairs[] = {{ScalarType::BFloat16, ScalarType::Half, CastMode::Checked},
               {ScalarType::Byte, ScalarType::Half, CastMode::Saturate},
               {ScalarType::Half, ScalarType::Short, CastMode::Saturate},
               {ScalarType::Half, ScalarType::Float, CastMode::Saturate},
               {ScalarType::Double, ScalarType::Byte, CastMode::Checked},
               {ScalarType::Long, ScalarType::Double, CastMode::Saturate},
               {ScalarType::ComplexHalf, ScalarType::UInt64, CastMode::Truncate}};
  for (const auto& pair : pairs) {
    INFO(toString(pair.from) << " to " << toString(pair.to));
    for (size_t count : {size_t{63}, size_t{511}, size_t{512}, size_t{513}, size_t{1537}}) {
      const Bytes in = tests::random_elements(random, pair.from, count);
      const size_t size = elementSize(pair.to);
      Bytes expected(count * size);
      for (size_t i = 0; i < count; ++i) {
        tests::cast_by_hand(pair.to, expected.data() + i * size, pair.from,
                            in.data() + i * elementSize(pair.from), pair.mode);
      }
      tests::for_each_isa([&] {
        Bytes out(count * size);
        cast_elements(pair.to, out.data(), pair.from, in.data(), static_cast<int64_t>(count),
                      pair.mode);
        CHECK(out == expected);
      });
    }
  }
}

TEST_CASE("convert: nothing is touched when there is nothing to convert") {
  cast_elements(ScalarType::Half, nullptr, ScalarType::Float, nullptr, 0);
  cast_elements(ScalarType::Float, nullptr, ScalarType::Float, nullptr, 0, CastMode::Saturate);
}

TEST_CASE("convert: the types of which every value is a float") {
  using Types = std::vector<ScalarType>;
  Types exact;
  for (ScalarType type : tests::kAllTypes) {
    if (is_exact_in_float(type)) exact.push_back(type);
  }
  CHECK(exact == Types{ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Half,
                       ScalarType::Float, ScalarType::Bool, ScalarType::BFloat16,
                       ScalarType::Float8_e5m2, ScalarType::Float8_e4m3fn,
                       ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz,
                       ScalarType::UInt16});
}

TEST_CASE("convert: doubles around 2^51, 2^52 and 2^63 become integers of 64 bits") {
  struct Row {
    double value;
    int64_t truncated;
    int64_t rounded;
  };
  constexpr int64_t k51 = int64_t{1} << 51;
  const Row rows[] = {{0x1p51 - 0.75, k51 - 1, k51 - 1},
                      {0x1p51 + 0.5, k51, k51},
                      {0x1p51 + 1.5, k51 + 1, k51 + 2},
                      {-0x1p51 - 1.5, -k51 - 1, -k51 - 2},
                      {0x1p52 - 0.5, 2 * k51 - 1, 2 * k51},
                      {0x1p52 + 1, 2 * k51 + 1, 2 * k51 + 1},
                      {0.49999999999999994, 0, 0},
                      {-3.5, -3, -4},
                      {-0x1p63, INT64_MIN, INT64_MIN},
                      {0x1p63, INT64_MAX, INT64_MAX},
                      {double{-kInfinity}, INT64_MIN, INT64_MIN},
                      {std::nan(""), 0, 0}};
  for (const Row& row : rows) {
    INFO(row.value);
    int64_t out[2];
    cast_elements(ScalarType::Long, &out[0], ScalarType::Double, &row.value, 1, CastMode::Truncate);
    cast_elements(ScalarType::Long, &out[1], ScalarType::Double, &row.value, 1, CastMode::Saturate);
    CHECK(out[0] == row.truncated);
    CHECK(out[1] == row.rounded);
  }
  const double large[] = {0x1p63 + 2048, 0x1p64, -0.75, -1e300};
  uint64_t out[4];
  cast_elements(ScalarType::UInt64, out, ScalarType::Double, large, 4, CastMode::Saturate);
  CHECK(out[0] == (uint64_t{1} << 63) + 2048);
  CHECK(out[1] == UINT64_MAX);
  CHECK(out[2] == 0);
  CHECK(out[3] == 0);
}

TEST_CASE("convert: a block is converted, in the mode asked for") {
  const float in[] = {1.5f, -2.0f, 300.0f};
  double wide[] = {0, 0, 0};
  tenon::detail::cast_block(ScalarType::Double, wide, ScalarType::Float, in, 3);
  CHECK(std::vector<double>(wide, wide + 3) == std::vector<double>{1.5, -2.0, 300.0});
  uint8_t bytes[] = {9, 9, 9};
  tenon::detail::cast_block(ScalarType::Byte, bytes, ScalarType::Float, in, 2, CastMode::Saturate);
  CHECK(bytes[0] == 2);
  CHECK(bytes[1] == 0);
  CHECK(bytes[2] == 9);
  tenon::detail::cast_block(ScalarType::Byte, bytes, ScalarType::Float, in, 1, CastMode::Truncate);
  CHECK(bytes[0] == 1);
  tenon::detail::cast_block(ScalarType::Byte, nullptr, ScalarType::Float, nullptr, 0,
                            CastMode::Truncate);
}
