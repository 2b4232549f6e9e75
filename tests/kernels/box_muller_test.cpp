// SPDX-License-Identifier: MIT
// The references are the C library's functions in a longer type, double for float and long double
// for double; where that is no longer than double, their own half ulp fits into the bound too.
#include "tenon/kernels/box_muller.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/helpers.h"
#include "kernels/random_reference.h"

using tenon::detail::box_muller;
using tenon::detail::cos_sin;
using tenon::detail::minus_two_log;
using tenon::detail::Single;
using tests::kThorough;

namespace {

constexpr double kBound = 4;  // ulp

template <class Real>
using WordOf = typename Single<Real>::W;
// The type of references.
template <class Real>
using Longer = std::conditional_t<std::is_same_v<Real, float>, double, long double>;

template <class Real>
constexpr int kWordBits = 8 * static_cast<int>(sizeof(WordOf<Real>));
template <class Real>
const auto kPi = static_cast<Longer<Real>>(3.14159265358979323846264338327950288L);

template <class Real>
TENON_VECTORIZE_EXACT void log_of(const WordOf<Real>* words, size_t count, Real* out) {
  for (size_t i = 0; i < count; ++i) minus_two_log<Single<Real>>(out[i], words[i]);
}
template <class Real>
TENON_VECTORIZE_EXACT void cos_sin_of(const WordOf<Real>* words, size_t count, Real* cosine,
                                      Real* sine) {
  for (size_t i = 0; i < count; ++i) cos_sin<Single<Real>>(cosine[i], sine[i], words[i]);
}

// How far `value` is from the exact one, in units of the last place of that.
template <class Real>
double ulps(Real value, Longer<Real> exact) {
  if (static_cast<Longer<Real>>(value) == exact) return 0;
  constexpr int kDigits = std::numeric_limits<Real>::digits;
  const Longer<Real> unit = std::ldexp(Longer<Real>(1), std::ilogb(exact) + 1 - kDigits);
  return static_cast<double>(std::fabs(static_cast<Longer<Real>>(value) - exact) / unit);
}

// The number whose logarithm is taken: the upper 31 or 52 bits and a half.
float log_argument(uint32_t word) { return (static_cast<float>(word >> 1) + 0.5f) * 0x1p-31f; }
double log_argument(uint64_t word) { return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52; }

template <class Real>
double log_error(const std::vector<WordOf<Real>>& words) {
  std::vector<Real> out(words.size());
  log_of<Real>(words.data(), words.size(), out.data());
  double largest = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const Longer<Real> exact = -2 * std::log(Longer<Real>(log_argument(words[i])));
    largest = std::max(largest, ulps(out[i], exact));
  }
  return largest;
}

// Of both; the angle is a quarter of the circle times (quarter + rest), rest from -1/2 to 1/2.
template <class Real>
double cos_sin_error(const std::vector<WordOf<Real>>& words) {
  using Exact = Longer<Real>;
  std::vector<Real> cosines(words.size());
  std::vector<Real> sines(words.size());
  cos_sin_of<Real>(words.data(), words.size(), cosines.data(), sines.data());
  double largest = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    constexpr int kQuarterBits = kWordBits<Real> - 2;
    constexpr auto kHalfQuarter = WordOf<Real>{1} << (kQuarterBits - 1);
    WordOf<Real> word = words[i];
    if (sizeof(Real) == sizeof(double)) word = word >> 10 << 10;  // 54 bits are looked at
    const auto quarter =
        static_cast<int>(static_cast<WordOf<Real>>(word + kHalfQuarter) >> kQuarterBits);
    const auto offset = static_cast<WordOf<Real>>((word + kHalfQuarter) << 2) >> 2;
    const Exact rest = static_cast<Exact>(offset) - static_cast<Exact>(kHalfQuarter);
    const Exact angle = rest * std::ldexp(kPi<Real>, -kQuarterBits - 1);
    const Exact c = std::cos(angle);
    const Exact s = std::sin(angle);
    const Exact exact_cosine[] = {c, -s, -c, s};
    const Exact exact_sine[] = {s, c, -s, -c};
    largest = std::max(
        {largest, ulps(cosines[i], exact_cosine[quarter]), ulps(sines[i], exact_sine[quarter])});
  }
  return largest;
}

// Calls f(words) for a sequence of words, at most `size` at a time: from `first` in steps.
template <class Word, class F>
void in_chunks(Word first, uint64_t step, uint64_t count, F&& f) {
  std::vector<Word> words;
  for (uint64_t i = 0; i < count; ++i) {
    words.push_back(static_cast<Word>(first + i * step));
    if (words.size() == 65536 || i + 1 == count) {
      f(words);
      words.clear();
    }
  }
}

// Words at and around what is special: the ends, powers of two, the borders of eighths.
template <class Word>
std::vector<Word> special_words() {
  constexpr int kBits = 8 * static_cast<int>(sizeof(Word));
  std::vector<Word> words;
  const auto add_around = [&](Word word) {
    for (int i = -8; i <= 8; ++i) {
      words.push_back(word + static_cast<Word>(i));
      words.push_back(word + (static_cast<Word>(i) << (kBits / 5)));  // beyond the bits not used
    }
  };
  add_around(0);
  for (int i = 0; i < kBits; ++i) {
    add_around(Word{1} << i);
    add_around(Word{0} - (Word{1} << i));
  }
  for (Word eighth = 0; eighth < 8; ++eighth) add_around(eighth << (kBits - 3));
  // Where the logarithm's argument passes sqrt(1/2) by a power of two, and 1.
  for (int i = 0; i < kBits; ++i) {
    add_around(static_cast<Word>(std::ldexp(0.70710678118654752, kBits)) >> i);
  }
  return words;
}

std::vector<uint64_t> random_long_words(uint64_t seed, size_t count) {
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i) words[i] = tests::random_long_word(seed, i, 0);
  return words;
}

}  // namespace

TEST_CASE("box_muller: a float's logarithm is within 4 ulp, for all arguments") {
  double largest = log_error<float>(special_words<uint32_t>());
  const auto add = [&](const std::vector<uint32_t>& words) {
    largest = std::max(largest, log_error<float>(words));
  };
  // Up to 2^24 each integer is an argument of its own, then each 2^i-th of as many binades.
  const uint64_t stride = kThorough ? 1 : 1021;
  in_chunks<uint32_t>(0, 2 * stride, (uint64_t{1} << 24) / stride, add);
  for (int i = 1; i <= 7; ++i) {
    in_chunks<uint32_t>(uint32_t{1} << (24 + i), stride << (i + 1), (uint64_t{1} << 23) / stride,
                        add);
  }
  INFO("largest error: " << largest << " ulp");
  CHECK(largest <= kBound);
}

TEST_CASE("box_muller: a float's cosine and sine are within 4 ulp") {
  double largest = cos_sin_error<float>(special_words<uint32_t>());
  const auto add = [&](const std::vector<uint32_t>& words) {
    largest = std::max(largest, cos_sin_error<float>(words));
  };
  // All over the circle, and densely around the zeros and the ends of a polynomial's range.
  const uint64_t stride = kThorough ? 509 : 65537;
  in_chunks<uint32_t>(0, stride, (uint64_t{1} << 32) / stride, add);
  for (uint32_t eighth = 0; eighth < 8; ++eighth) {
    const uint64_t count = kThorough ? 1 << 17 : 1 << 10;
    in_chunks<uint32_t>((eighth << 29) - static_cast<uint32_t>(count / 2), 1, count, add);
  }
  INFO("largest error: " << largest << " ulp");
  CHECK(largest <= kBound);
}

TEST_CASE("box_muller: a double's logarithm is within 4 ulp") {
  double largest = log_error<double>(special_words<uint64_t>());
  largest =
      std::max(largest, log_error<double>(random_long_words(1, kThorough ? 1 << 19 : 1 << 14)));
  // Close to 1, where the logarithm is close to 0, and small.
  std::vector<uint64_t> words = random_long_words(2, kThorough ? 1 << 17 : 1 << 12);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] >>= i % 52;
    if (i % 3 == 0) words[i] = ~words[i];
  }
  largest = std::max(largest, log_error<double>(words));
  INFO("largest error: " << largest << " ulp");
  CHECK(largest <= kBound);
}

TEST_CASE("box_muller: a double's cosine and sine are within 4 ulp") {
  double largest = cos_sin_error<double>(special_words<uint64_t>());
  largest =
      std::max(largest, cos_sin_error<double>(random_long_words(3, kThorough ? 1 << 19 : 1 << 14)));
  std::vector<uint64_t> words = random_long_words(4, kThorough ? 1 << 17 : 1 << 12);
  for (size_t i = 0; i < words.size(); ++i) {  // close to the borders of eighths
    words[i] = (words[i] >> (i % 50)) + (uint64_t{i % 8} << 61);
    if (i % 3 == 0) words[i] = uint64_t{0} - words[i];
  }
  largest = std::max(largest, cos_sin_error<double>(words));
  INFO("largest error: " << largest << " ulp");
  CHECK(largest <= kBound);
}

namespace {

// What differs between four lanes of a vector and four numbers.
TENON_VECTORIZE_EXACT int count_differing(const uint32_t (&radius)[4], const uint32_t (&angle)[4],
                                          float mean, float stddev) {
  using L = tenon::detail::Several<16>;
  L::W radii;
  L::W angles;
  L::R first;
  L::R second;
  std::memcpy(&radii, radius, sizeof radii);
  std::memcpy(&angles, angle, sizeof angles);
  box_muller<L>(first, second, radii, angles, mean, stddev);
  float lanes[2][4];
  std::memcpy(lanes[0], &first, sizeof first);
  std::memcpy(lanes[1], &second, sizeof second);
  int differing = 0;
  for (int i = 0; i < 4; ++i) {
    float one;
    float other;
    box_muller<Single<float>>(one, other, radius[i], angle[i], mean, stddev);
    if (std::memcmp(&one, &lanes[0][i], sizeof one) != 0) ++differing;
    if (std::memcmp(&other, &lanes[1][i], sizeof other) != 0) ++differing;
  }
  return differing;
}

}  // namespace

TEST_CASE("box_muller: vectors and numbers have the same bits") {
  const std::vector<uint32_t> special = special_words<uint32_t>();
  int differing = 0;
  for (uint32_t i = 0; i + 4 <= special.size(); i += 4) {
    const uint32_t words[4] = {special[i], special[i + 1], special[i + 2], special[i + 3]};
    const uint32_t others[4] = {tests::random_word(9, i, 0), 0, ~0u, 0x20000000u << (i % 3)};
    differing += count_differing(words, others, 0, 1);
    differing += count_differing(others, words, -2.5f, 0.3f);
    differing += count_differing(words, words, 1e30f, 1e-30f);
  }
  for (uint32_t i = 0; i < (kThorough ? 400000u : 20000u); i += 8) {
    uint32_t words[8];
    for (uint32_t k = 0; k < 8; ++k) words[k] = tests::random_word(10, i + k, 0);
    differing += count_differing({words[0], words[1], words[2], words[3]},
                                 {words[4], words[5], words[6], words[7]}, 0.1f, 3.7f);
  }
  CHECK(differing == 0);
}

TEST_CASE("box_muller: word 0 gives the largest radius, all ones the smallest") {
  float first;
  float second;
  tests::scalar_box_muller(first, second, 0u, 0u, 0.0f, 1.0f);
  CHECK(std::fabs(first - std::sqrt(64 * std::log(2.0))) < 1e-6);  // 6.6604: sqrt(-2 ln 2^-32)
  CHECK(second == 0.0f);
  tests::scalar_box_muller(first, second, UINT32_MAX, 0u, 0.0f, 1.0f);
  CHECK(first == 0.0f);  // u has become 1
  CHECK(second == 0.0f);

  double cosine;
  double sine;
  tests::scalar_box_muller(cosine, sine, uint64_t{0}, uint64_t{0}, 0.0, 1.0);
  CHECK(std::fabs(cosine - std::sqrt(106 * std::log(2.0))) < 1e-14);  // 8.5717
  CHECK(sine == 0);
  tests::scalar_box_muller(cosine, sine, UINT64_MAX, uint64_t{0}, 0.0, 1.0);
  CHECK(std::fabs(cosine - std::sqrt(0x1p-52)) < 1e-15);  // u = 1 - 2^-53
  CHECK(sine == 0);
}

TEST_CASE("box_muller: radii never grow with the word, and no word gives a negative logarithm") {
  std::vector<uint32_t> words = special_words<uint32_t>();
  std::sort(words.begin(), words.end());
  std::vector<float> logs(words.size());
  log_of<float>(words.data(), words.size(), logs.data());
  int wrong = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    // Where neighbours differ by less than the error they may be out of order, by that.
    if (i > 0 && logs[i] > logs[i - 1] * (1 + 4 * FLT_EPSILON)) ++wrong;
    if (!(logs[i] >= 0)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("box_muller: quarters of the circle lie on the axes, their halves on the diagonals") {
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    INFO("quarter " << quarter);
    const int expected_cosine[] = {1, 0, -1, 0};
    const int expected_sine[] = {0, 1, 0, -1};
    float cosine;
    float sine;
    const uint32_t word = quarter << 30;
    cos_sin_of<float>(&word, 1, &cosine, &sine);
    CHECK(cosine == static_cast<float>(expected_cosine[quarter]));
    CHECK(sine == static_cast<float>(expected_sine[quarter]));
    double long_cosine;
    double long_sine;
    const uint64_t long_word = uint64_t{quarter} << 62;
    cos_sin_of<double>(&long_word, 1, &long_cosine, &long_sine);
    CHECK(long_cosine == expected_cosine[quarter]);
    CHECK(long_sine == expected_sine[quarter]);
    const uint32_t diagonal = word + 0x20000000u;
    cos_sin_of<float>(&diagonal, 1, &cosine, &sine);
    CHECK(std::fabs(std::fabs(cosine) - std::sqrt(0.5)) < 2e-7);
    CHECK(std::fabs(std::fabs(sine) - std::sqrt(0.5)) < 2e-7);
    CHECK((cosine < 0) == (quarter == 1 || quarter == 2));
    CHECK((sine < 0) == (quarter >= 2));
  }
}

TEST_CASE("box_muller: the numbers are finite for any words") {
  int wrong = 0;
  const auto check = [&](uint64_t radius, uint64_t angle) {
    double long_first;
    double long_second;
    tests::scalar_box_muller(long_first, long_second, radius, angle, 0.0, 1.0);
    if (!(std::fabs(long_first) < 8.6) || !(std::fabs(long_second) < 8.6)) ++wrong;
    float first;
    float second;
    tests::scalar_box_muller(first, second, static_cast<uint32_t>(radius >> 32),
                             static_cast<uint32_t>(angle >> 32), 0.0f, 1.0f);
    if (!(std::fabs(first) < 6.7f) || !(std::fabs(second) < 6.7f)) ++wrong;
  };
  const std::vector<uint64_t> special = special_words<uint64_t>();
  const std::vector<uint64_t> words = random_long_words(5, kThorough ? 200000 : 20000);
  for (size_t i = 0; i < special.size(); ++i) {
    check(special[i], words[i]);
    check(words[i], special[i]);
    check(special[i], special[(i * 7) % special.size()]);
  }
  for (size_t i = 0; i + 1 < words.size(); ++i) check(words[i], words[i + 1]);
  CHECK(wrong == 0);
}

TEST_CASE("box_muller: the numbers are scaled by the deviation and moved by the mean") {
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t radius = tests::random_word(6, 2 * i, 0);
    const uint32_t angle = tests::random_word(6, 2 * i + 1, 0);
    float first;
    float second;
    float scaled_first;
    float scaled_second;
    tests::scalar_box_muller(first, second, radius, angle, 0.0f, 1.0f);
    tests::scalar_box_muller(scaled_first, scaled_second, radius, angle, 0.0f, 8.0f);
    CHECK(scaled_first == 8 * first);
    CHECK(scaled_second == 8 * second);
    tests::scalar_box_muller(scaled_first, scaled_second, radius, angle, 3.0f, 0.0f);
    CHECK(scaled_first == 3.0f);
    CHECK(scaled_second == 3.0f);
  }
}
