// SPDX-License-Identifier: MIT
// Elements against the definition, in all types and pieces.
#include "tenon/kernels/random_elements.h"

#include <cfloat>
#include <cmath>

#include "kernels/random_reference.h"
#include "tenon/kernels/byte_order.h"

namespace random_elements_test {

using namespace tenon::detail;
using namespace tests;

namespace {

constexpr int64_t kMost = 1600;  // more than two long chunks
constexpr uint64_t kSeed = 0x9d2c5680efc60000u;

// Starts of runs: each place in a block and in a piece, the borders of the number's halves.
const uint64_t kStarts[] = {0,
                            1,
                            2,
                            3,
                            kShortChunk - 1,
                            kRandomChunk - 5,
                            123456789,
                            (uint64_t{1} << 34) - 301,
                            uint64_t{0} - 402};

// How many runs of a request are not the definition's elements in their place, alone.
int count_wrong(const Request& request, ScalarType type, uint64_t seed, uint64_t first) {
  const auto plan = plan_of(request, type);
  const Bytes expected = reference_bytes(request, type, seed, first, kMost);
  const size_t size = elementSize(type);
  int wrong = 0;
  for_each_isa([&] {
    size_t misalignment = 1;  // of the sizes of all elements but the shortest
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{7},
                          kShortChunk - 1, kShortChunk, kShortChunk + 1, kShortChunk + 2, kMost}) {
      const size_t nbytes = static_cast<size_t>(count) * size;
      Bytes memory(misalignment + nbytes + 64, 0xa5);
      random_elements(plan, seed, first, count, memory.data() + misalignment);
      const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(misalignment);
      const auto end = begin + static_cast<std::ptrdiff_t>(nbytes);
      const auto is_guard = [](unsigned char byte) { return byte == 0xa5; };
      if (!std::equal(begin, end, expected.begin())) ++wrong;
      if (!std::all_of(memory.begin(), begin, is_guard)) ++wrong;
      if (!std::all_of(end, memory.end(), is_guard)) ++wrong;
      misalignment = (misalignment * 5 + 2) % 64;
    }
  });
  return wrong;
}

void check_start(const Request& request, ScalarType type, uint64_t seed) {
  CAPTURE(toString(type), request.a, request.b, request.low, request.high);
  CHECK(count_wrong(request, type, seed, seed % 5) == 0);
}
void check_all_starts(const Request& request, ScalarType type) {
  CAPTURE(toString(type), request.a, request.b, request.low, request.high);
  int wrong = 0;
  for (size_t i = 0; i < std::size(kStarts); ++i) {
    wrong += count_wrong(request, type, kSeed + i, kStarts[i]);
  }
  CHECK(wrong == 0);
}

// A range with many rejections, for Int and what holds more.
constexpr int64_t kUnevenRange = 1'000'003;

bool is_short(ScalarType type) {  // holds less than 21 bits of integers
  return elementSize(type) < 4 || type == ScalarType::ComplexHalf;
}

// The range of a type's random integers in the tests of all types.
int64_t range_for(ScalarType type) {
  return type == ScalarType::Bool ? 2 : is_short(type) ? 100 : kUnevenRange;
}

// The digest of elements (64-bit FNV-1a of their bytes, low ones first on any host).
uint64_t digest_of(const Request& request, ScalarType type) {
  constexpr int64_t kCount = 10000;
  const size_t size = elementSize(type);
  const size_t word = tenon::isComplexType(type) ? size / 2 : size;
  Bytes bytes(kCount * size);
  random_elements(plan_of(request, type), 0x0123456789abcdefu, 3, kCount, bytes.data());
  constexpr bool kLittle = !host_is_big_endian();
  uint64_t digest = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes.size(); i += word) {
    for (size_t k = 0; k < word; ++k) {
      digest ^= bytes[i + (kLittle ? k : word - 1 - k)];
      digest *= 0x100000001b3u;
    }
  }
  return digest;
}

// Rounds down, in lengths that have all kinds of remainders; all but -0, which no sum is.
template <class T>
void check_rounding() {
  constexpr ScalarType type = tenon::CppTypeToScalarType<T>::value;
  const std::vector<float>& all = finite_values<T>();
  std::vector<float> in = {FLT_MIN / 2, -FLT_MIN / 2, FLT_TRUE_MIN, -FLT_TRUE_MIN};
  const size_t stride = kThorough || sizeof(T) == 1 ? 1 : 29;
  for (size_t i = 0; i < all.size(); i += stride) {
    const float value = all[i];
    for (float near : {std::nextafter(value, -FLT_MAX), value, std::nextafter(value, FLT_MAX),
                       value * 1.01f, value + std::numeric_limits<T>::denorm_min() / 2}) {
      const bool is_negative_zero = near == 0 && std::signbit(near);
      if (std::fabs(near) <= std::numeric_limits<T>::max() && !is_negative_zero) in.push_back(near);
    }
  }
  RandomPlan plan = plan_of(uniform_request(0, 1), type);
  for (float smallest : {float(std::numeric_limits<T>::lowest()), 0.0f, 1.0f,
                         -float(std::numeric_limits<T>::denorm_min())}) {
    CAPTURE(toString(type), smallest);
    plan.smallest = static_cast<double>(smallest);
    int wrong = 0;
    size_t n = 0;
    for (size_t begin = 0; begin < in.size(); begin += n) {
      n = std::min(in.size() - begin, size_t{1} + begin % 191);
      std::vector<float> values(&in[begin], &in[begin] + n);
      std::vector<T> out(n);
      store_rounded_down(plan, values.data(), static_cast<int64_t>(n), out.data());
      for (size_t i = 0; i < n; ++i) {
        const float expected = floor_to<T>(std::max(in[begin + i], smallest));
        if (!(static_cast<float>(out[i]) == expected)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("random: uniform elements of each type are those of the definition") {
  for (ScalarType type : kAllTypes) {
    const bool is_unsigned = type == ScalarType::Byte || type >= ScalarType::UInt16;
    check_start(uniform_request(0, 1), type, 1);
    check_all_starts(uniform_request(is_unsigned ? 0.3 : -3.3, 101.7), type);
  }
  check_all_starts(uniform_request(0, 1), ScalarType::Float);
  check_start(uniform_request(-0x1p63, 0x1p63), ScalarType::Long, 4);
  check_start(uniform_request(0, 0x1p64), ScalarType::UInt64, 5);
}

TEST_CASE("random: normal elements of each type are those of the definition") {
  for (ScalarType type : kAllTypes) {
    check_start(normal_request(0, 1), type, 11);
    check_all_starts(normal_request(-2.5, 30.3), type);
  }
  check_all_starts(normal_request(0, 1), ScalarType::Float);
  check_start(normal_request(3, 0), ScalarType::Float, 12);
  check_start(normal_request(0, 1e20), ScalarType::Long, 14);  // most are an end
}

TEST_CASE("random: integers of each type are those of the definition") {
  for (ScalarType type : kAllTypes) {
    check_all_starts(integers_request(0, range_for(type)), type);
    if (type != ScalarType::Bool && type != ScalarType::Byte && type < ScalarType::UInt16) {
      check_start(integers_request(-100, 28), type, 21);
    }
  }
  check_start(integers_request(-(int64_t{1} << 24) - 3, 5), ScalarType::Float, 24);
  check_start(integers_request(INT32_MIN, int64_t{INT32_MAX} + 1), ScalarType::Int, 26);
}

TEST_CASE("random: integers of ranges of all sizes are those of the definition") {
  std::vector<int64_t> ranges = {1, 2, 3, 6, 100, 65536, 3 << 18, kUnevenRange, INT64_MAX};
  for (int bits : {16, 19, 20, 21, 31, 32, 33, 53, 62}) {
    for (int64_t more : {-1, 0, 1}) ranges.push_back((int64_t{1} << bits) + more);
  }
  ranges.push_back((int64_t{1} << 62) + (int64_t{1} << 61));  // a quarter of the tries fails
  for (int64_t range : ranges) {
    const auto seed = static_cast<uint64_t>(range);
    check_start(integers_request(0, range), ScalarType::Long, seed);
    const int64_t low = -(range / 2);
    if (range < INT32_MAX) check_start(integers_request(low, low + range), ScalarType::Int, seed);
  }
  check_start(integers_request(INT64_MIN, INT64_MAX), ScalarType::Long, 31);
}

TEST_CASE("random: floats become codes of shorter types, rounded down") {
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
// A promise of docs/guarantees.md.
TEST_CASE("random: as many words are accepted for each integer as for any other") {
  constexpr uint64_t kAll = uint64_t{1} << 32;
  for (uint32_t range : {2u, 3u, 6u, 100u, 65537u, 3u << 18, (1u << 20) - 1, 1u << 20}) {
    INFO("range " << range);
    const auto excess = static_cast<uint32_t>(kAll % range);
    const auto is_accepted = [&](uint64_t word, uint64_t integer) {
      if (word >= kAll) return false;
      const std::vector<uint32_t> words(19, static_cast<uint32_t>(word));  // a vector and a rest
      uint32_t integers[19];
      uint32_t least;
      dispatch<IntegerKernel>(words.data(), int64_t{19}, uint32_t{1000}, range,
                              reinterpret_cast<char*>(integers), &least);
      return least >= excess && integers[0] == 1000 + integer && integers[18] == integers[0];
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

// Version 1 of the numbers. Another digest is another version: see Generator::kVersion.
// A promise of docs/guarantees.md.
TEST_CASE("random: the numbers of version 1 stay what they are") {
  struct Golden {
    Request request;
    ScalarType type;
    uint64_t digest;
  };
  const Golden goldens[] = {
      {uniform_request(0, 1), ScalarType::Float, 0x9f58b2bc72b5da32u},
      {uniform_request(-3.5, 10), ScalarType::Float, 0x58f8c8847e7ac18au},
      {uniform_request(-1, 1), ScalarType::Half, 0xa4cbd14412710a0du},
      {uniform_request(0, 1), ScalarType::BFloat16, 0x22ecd41457bced8du},
      {uniform_request(0, 1), ScalarType::Float8_e4m3fn, 0x57d2280bcca0d060u},
      {uniform_request(-1e9, 1e9), ScalarType::Int, 0xec9cbcb1ee9a9f28u},
      {normal_request(0, 1), ScalarType::Float, 0x1dc16b5b404ef546u},
      {normal_request(0, 1), ScalarType::Double, 0xf8da518b38c4e522u},
      {normal_request(0, 1), ScalarType::ComplexDouble, 0x54dcf84b1ede87b0u},
      {normal_request(0, 100), ScalarType::Char, 0xc0cc32b022fe7507u},
      {integers_request(-500000, 500003), ScalarType::Int, 0xcdaf4b1b04b6fdedu},
      {integers_request(INT64_MIN, INT64_MAX), ScalarType::Long, 0x8361a46254628345u},
      {integers_request(0, int64_t{3} << 61), ScalarType::Long, 0x92a635d0560fa801u},
  };
  for (const Golden& golden : goldens) {
    for_each_isa([&] {
      CAPTURE(toString(golden.type), golden.request.a, golden.request.low);
      CHECK(digest_of(golden.request, golden.type) == golden.digest);
    });
  }
}

}  // namespace random_elements_test
