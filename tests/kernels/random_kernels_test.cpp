// SPDX-License-Identifier: MIT
// The loops by themselves; random_test.cpp has what they make together.
#include "tenon/kernels/random_kernels.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/helpers.h"
#include "kernels/random_reference.h"

using tenon::detail::count_in_piece;
using tenon::detail::dispatch;
using tenon::detail::IntegerSink;
using tenon::detail::LongWords;
using tenon::detail::NormalKernel;
using tenon::detail::RoundDownKernel;
using tenon::detail::Rounding;
using tenon::detail::rounding_of;
using tenon::detail::run_philox;
using tenon::detail::UniformDoubleKernel;
using tenon::detail::UniformSink;
using tenon::detail::WordSink;
using namespace tests;

namespace {

// Rounds down by the kernel, in lengths that have all kinds of remainders; all but -0, which no sum
// of the kernels' is.
template <class T>
int count_wrongly_rounded(float smallest) {
  std::vector<float> in;
  const std::vector<float>& all = tests::finite_values<T>();
  const size_t stride = kThorough || sizeof(T) == 1 ? 1 : 29;
  for (size_t i = 0; i < all.size(); i += stride) {
    const float value = all[i];
    for (float near : {std::nextafter(value, -FLT_MAX), value, std::nextafter(value, FLT_MAX),
                       value * 1.01f, value + std::numeric_limits<T>::denorm_min() / 2}) {
      const bool is_negative_zero = near == 0 && std::signbit(near);
      if (std::fabs(near) <= std::numeric_limits<T>::max() && !is_negative_zero) in.push_back(near);
    }
  }
  in.push_back(FLT_MIN / 2);
  in.push_back(-FLT_MIN / 2);
  in.push_back(FLT_TRUE_MIN);
  in.push_back(-FLT_TRUE_MIN);
  const Rounding rounding = rounding_of(tenon::CppTypeToScalarType<T>::value);
  int wrong = 0;
  size_t n = 0;
  for (size_t begin = 0; begin < in.size(); begin += n) {
    n = std::min(in.size() - begin, size_t{1} + begin % 191);
    std::vector<float> out(in.begin() + static_cast<std::ptrdiff_t>(begin),
                           in.begin() + static_cast<std::ptrdiff_t>(begin + n));
    dispatch<RoundDownKernel<>>(out.data(), static_cast<int64_t>(n), smallest, &rounding);
    for (size_t i = 0; i < n; ++i) {
      const float expected = tests::floor_to<T>(std::max(in[begin + i], smallest));
      if (!(out[i] == expected)) ++wrong;
    }
  }
  return wrong;
}

template <class T>
void check_rounding() {
  INFO(toString(tenon::CppTypeToScalarType<T>::value));
  CHECK(count_wrongly_rounded<T>(std::numeric_limits<T>::lowest()) == 0);
  CHECK(count_wrongly_rounded<T>(0.0f) == 0);
  CHECK(count_wrongly_rounded<T>(1.0f) == 0);
  CHECK(count_wrongly_rounded<T>(-std::numeric_limits<T>::denorm_min()) == 0);
}

}  // namespace

TEST_CASE("random_kernels: WordSink's words are those of the stream") {
  for_each_isa([] {
    std::vector<uint32_t> words(1000);
    run_philox({7, 3}, 13, 1000, words.data(), WordSink());
    int wrong = 0;
    for (uint32_t i = 0; i < 1000; ++i) {
      if (words[i] != tests::random_word(7, 13 + i, 3)) ++wrong;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("random_kernels: UniformSink takes 24 bits and limits the sum") {
  const UniformSink unit{0, 0x1p-24f, 1 - 0x1p-24f};
  uint32_t least = 5;
  float values[4];
  unit.block({0, UINT32_MAX, 0x1ff, 0x80000000u}, values, least);
  CHECK(values[0] == 0);
  CHECK(values[1] == 1 - 0x1p-24f);
  CHECK(values[2] == 0x1p-24f);
  CHECK(values[3] == 0.5f);
  CHECK(least == 5);
  // 1 + (1 - 2^-24) is rounded to 2.
  const UniformSink limited{1, 0x1p-24f, 2 - 0x1p-23f};
  limited.block({UINT32_MAX, 0, UINT32_MAX - 256, 0x80000000u}, values, least);
  CHECK(values[0] == 2 - 0x1p-23f);
  CHECK(values[1] == 1);
  CHECK(values[2] == 2 - 0x1p-23f);
  CHECK(values[3] == 1.5f);
}

TEST_CASE("random_kernels: NormalKernel makes pairs of words pairs of numbers, in place") {
  for_each_isa([] {
    int wrong = 0;
    for (int64_t count : {0, 2, 4, 6, 8, 10, 14, 16, 30, 32, 34, 62, 64, 66, 130}) {
      tests::Bytes memory(static_cast<size_t>(count) * 4 + 2, 0xa5);
      char* data = reinterpret_cast<char*>(memory.data()) + 1;
      run_philox({8, 0}, 0, count, data, WordSink());
      dispatch<NormalKernel<>>(data, count, 2.5f, 0.5f);
      for (int64_t i = 0; i < count; i += 2) {
        const auto e = static_cast<uint64_t>(i);
        float expected[2];
        tests::scalar_box_muller(expected[0], expected[1], tests::random_word(8, e, 0),
                                 tests::random_word(8, e + 1, 0), 2.5f, 0.5f);
        if (std::memcmp(expected, data + i * 4, sizeof expected) != 0) ++wrong;
      }
      if (memory.front() != 0xa5 || memory.back() != 0xa5) ++wrong;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("random_kernels: doubles from 0 to 1 have 53 bits and never reach 1") {
  LongWords words;
  std::fill(std::begin(words.upper), std::end(words.upper), UINT32_MAX);
  std::fill(std::begin(words.lower), std::end(words.lower), UINT32_MAX);
  words.upper[5] = words.lower[5] = 0;
  words.upper[6] = 0;
  words.lower[6] = 1u << 11;
  words.lower[7] = 0x7ff;
  for_each_isa([&] {
    double out[191];
    dispatch<UniformDoubleKernel<>>(static_cast<const LongWords*>(&words), int64_t{191}, 0.0, 1.0,
                                    1 - 0x1p-53, static_cast<double*>(out));
    CHECK(out[0] == 1 - 0x1p-53);
    CHECK(out[5] == 0);
    CHECK(out[6] == 0x1p-53);
    CHECK(out[7] == 1 - 0x1p-32);
    CHECK(out[190] == 1 - 0x1p-53);
    // Where the sum is rounded up to the bound, it is limited.
    dispatch<UniformDoubleKernel<>>(static_cast<const LongWords*>(&words), int64_t{191}, 1.0, 2.0,
                                    3 - 0x1p-51, static_cast<double*>(out));
    CHECK(out[0] == 3 - 0x1p-51);
    CHECK(out[5] == 1);
  });
}

TEST_CASE("random_kernels: floats are rounded down to what shorter types hold") {
  for_each_isa([] {
    check_rounding<tenon::Half>();
    check_rounding<tenon::BFloat16>();
    check_rounding<tenon::Float8_e5m2>();
    check_rounding<tenon::Float8_e4m3fn>();
    check_rounding<tenon::Float8_e5m2fnuz>();
    check_rounding<tenon::Float8_e4m3fnuz>();
  });
}

// Without enumerating all words: the first and the last word that give an integer, and how many
// there are between them.
TEST_CASE("random_kernels: as many words are accepted for each integer as for any other") {
  constexpr uint64_t kAll = uint64_t{1} << 32;
  for (uint32_t range : {2u, 3u, 6u, 100u, 65537u, 3u << 18, (1u << 20) - 1, 1u << 20}) {
    INFO("range " << range);
    const IntegerSink sink{1000, range};
    const auto excess = static_cast<uint32_t>(kAll % range);
    const auto is_accepted = [&](uint64_t word, uint64_t integer) {
      if (word >= kAll) return false;
      uint32_t integers[4];
      uint32_t least = UINT32_MAX;
      const auto w = static_cast<uint32_t>(word);
      sink.block({w, w, w, w}, integers, least);
      return least >= excess && integers[0] == 1000 + integer && integers[3] == integers[0];
    };
    int wrong = 0;
    for (uint64_t i = 0; i < 500; ++i) {
      const uint64_t integer = i < range ? (i % 2 != 0 ? range - 1 - i / 2 : i / 2) : 0;
      const uint64_t first = (integer * kAll + excess + range - 1) / range;
      const uint64_t last = first + kAll / range - 1;
      if (!is_accepted(first, integer) || !is_accepted(last, integer)) ++wrong;
      if (is_accepted(first - 1, integer) || is_accepted(last + 1, integer)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("random_kernels: count_in_piece goes to the next multiple") {
  CHECK(count_in_piece(0, 1000, 192) == 192);
  CHECK(count_in_piece(1, 1000, 192) == 191);
  CHECK(count_in_piece(191, 1000, 192) == 1);
  CHECK(count_in_piece(192, 1000, 192) == 192);
  CHECK(count_in_piece(10, 5, 192) == 5);
  CHECK(count_in_piece(uint64_t{192} << 56, 500, 192) == 192);
}
