// SPDX-License-Identifier: MIT
// The references are the C library's functions in a longer type, double for float and long double
// for double; where that is no longer than double, their own half ulp fits into the bound too.
#include "tenon/kernels/random_numbers.h"

#include <cmath>

#include "kernels/helpers.h"
#include "kernels/random_reference.h"

namespace box_muller_test {

using namespace tenon::detail;
using tests::kThorough;

namespace {

template <class Real>
using WordOf = typename NormalMath<Real>::Word;
// The type of references.
template <class Real>
using Longer = std::conditional_t<std::is_same_v<Real, float>, double, long double>;

// In loops, which the compiler vectorises.
template <class Real>
TENON_VECTORIZE_EXACT void log_of(const WordOf<Real>* words, size_t count, Real* out) {
  for (size_t i = 0; i < count; ++i) out[i] = minus_two_log<Real>(words[i]);
}
template <class Real>
TENON_VECTORIZE_EXACT void cos_sin_of(const WordOf<Real>* words, size_t count, Real* cosine,
                                      Real* sine) {
  for (size_t i = 0; i < count; ++i) cos_sin(cosine[i], sine[i], words[i]);
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

// The largest error of both functions in ulp.
template <class Real>
class Errors {
 public:
  using Word = WordOf<Real>;
  using Exact = Longer<Real>;

  void add_logs(const std::vector<Word>& words) {
    std::vector<Real> out(words.size());
    log_of<Real>(words.data(), words.size(), out.data());
    for (size_t i = 0; i < words.size(); ++i) {
      add(out[i], -2 * std::log(Exact(log_argument(words[i]))));
    }
  }
  // The angle is a quarter of the circle times (quarter + rest), rest from -1/2 to 1/2.
  void add_angles(const std::vector<Word>& words) {
    std::vector<Real> cosines(words.size());
    std::vector<Real> sines(words.size());
    cos_sin_of<Real>(words.data(), words.size(), cosines.data(), sines.data());
    for (size_t i = 0; i < words.size(); ++i) {
      constexpr int kQuarterBits = 8 * static_cast<int>(sizeof(Word)) - 2;
      constexpr auto kHalfQuarter = Word{1} << (kQuarterBits - 1);
      Word word = words[i];
      if (sizeof(Real) == sizeof(double)) word = word >> 10 << 10;  // 54 bits are looked at
      const auto turned = static_cast<Word>(word + kHalfQuarter);
      const auto quarter = static_cast<int>(turned >> kQuarterBits);
      const Exact rest = static_cast<Exact>(static_cast<Word>(turned << 2) >> 2) -
                         static_cast<Exact>(kHalfQuarter);
      const auto pi = static_cast<Exact>(3.14159265358979323846264338327950288L);
      const Exact angle = rest * std::ldexp(pi, -kQuarterBits - 1);
      const Exact c = std::cos(angle);
      const Exact s = std::sin(angle);
      const Exact exact[] = {s, c, -s, -c, s};
      add(cosines[i], exact[quarter + 1]);
      add(sines[i], exact[quarter]);
    }
  }
  void check() const {
    INFO("largest error: " << largest_ << " ulp");
    CHECK(largest_ <= 4);
  }

 private:
  void add(Real value, Exact exact) { largest_ = std::max(largest_, ulps(value, exact)); }

  double largest_ = 0;
};

// Calls f(words) for a sequence of words, some at a time: from `first` in steps.
template <class F>
void in_chunks(uint32_t first, uint64_t step, uint64_t count, F&& f) {
  std::vector<uint32_t> words;
  for (uint64_t i = 0; i < count; ++i) {
    words.push_back(static_cast<uint32_t>(first + i * step));
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
    // Where the logarithm's argument passes sqrt(1/2) by a power of two, and 1.
    add_around(static_cast<Word>(std::ldexp(0.70710678118654752, kBits)) >> i);
  }
  for (Word eighth = 0; eighth < 8; ++eighth) add_around(eighth << (kBits - 3));
  return words;
}

std::vector<uint64_t> random_long_words(uint64_t seed, size_t count) {
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i) words[i] = tests::random_long_word(seed, i, 0);
  return words;
}

}  // namespace

TEST_CASE("box_muller: a float's logarithm is within 4 ulp, for all arguments") {
  Errors<float> errors;
  errors.add_logs(special_words<uint32_t>());
  const auto add = [&](const std::vector<uint32_t>& words) { errors.add_logs(words); };
  // Up to 2^24 each integer is an argument of its own, then each 2^i-th of as many binades.
  const uint64_t stride = kThorough ? 1 : 1021;
  in_chunks(0, 2 * stride, (uint64_t{1} << 24) / stride, add);
  for (int i = 1; i <= 7; ++i) {
    in_chunks(uint32_t{1} << (24 + i), stride << (i + 1), (uint64_t{1} << 23) / stride, add);
  }
  errors.check();
}

TEST_CASE("box_muller: a float's cosine and sine are within 4 ulp") {
  Errors<float> errors;
  errors.add_angles(special_words<uint32_t>());
  const auto add = [&](const std::vector<uint32_t>& words) { errors.add_angles(words); };
  // All over the circle, and densely around the zeros and the ends of a polynomial's range.
  const uint64_t stride = kThorough ? 509 : 65537;
  in_chunks(0, stride, (uint64_t{1} << 32) / stride, add);
  for (uint32_t eighth = 0; eighth < 8; ++eighth) {
    const uint64_t count = kThorough ? 1 << 17 : 1 << 10;
    in_chunks((eighth << 29) - static_cast<uint32_t>(count / 2), 1, count, add);
  }
  errors.check();
}

TEST_CASE("box_muller: a double's logarithm, cosine and sine are within 4 ulp") {
  Errors<double> logs;
  Errors<double> angles;
  logs.add_logs(special_words<uint64_t>());
  angles.add_angles(special_words<uint64_t>());
  logs.add_logs(random_long_words(1, kThorough ? 1 << 19 : 1 << 14));
  angles.add_angles(random_long_words(3, kThorough ? 1 << 19 : 1 << 14));
  std::vector<uint64_t> words = random_long_words(2, kThorough ? 1 << 17 : 1 << 12);
  std::vector<uint64_t> borders = words;
  for (size_t i = 0; i < words.size(); ++i) {
    // Close to 1, where the logarithm is close to 0, and small; close to the borders of eighths.
    words[i] >>= i % 52;
    borders[i] = (borders[i] >> (i % 50)) + (uint64_t{i % 8} << 61);
    if (i % 3 != 0) continue;
    words[i] = ~words[i];
    borders[i] = uint64_t{0} - borders[i];
  }
  logs.add_logs(words);
  angles.add_angles(borders);
  logs.check();
  angles.check();
}

TEST_CASE("box_muller: the numbers are finite for any words") {
  int wrong = 0;
  const auto check = [&](uint64_t radius, uint64_t angle) {
    for (double number : tests::box_muller<double>(radius, angle, 0, 1)) {
      if (!(std::fabs(number) < 8.6)) ++wrong;
    }
    for (float number : tests::box_muller<float>(static_cast<uint32_t>(radius >> 32),
                                                 static_cast<uint32_t>(angle >> 32), 0, 1)) {
      if (!(std::fabs(number) < 6.7f)) ++wrong;
    }
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

}  // namespace box_muller_test
