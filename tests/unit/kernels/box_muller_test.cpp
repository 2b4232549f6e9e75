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

TEST_CASE("box_muller: a float's logarithm, cosine and sine are within 4 ulp") {
  std::vector<uint32_t> words = special_words<uint32_t>();
  for (uint64_t i = 0; i < (uint64_t{1} << 32); i += kThorough ? 1021 : 65537) {
    words.push_back(static_cast<uint32_t>(i));
  }
  Errors<float> logs;
  Errors<float> angles;
  logs.add_logs(words);
  angles.add_angles(words);
  logs.check();
  angles.check();
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

}  // namespace box_muller_test
