// SPDX-License-Identifier: MIT
// Statistics of the numbers that random_elements() makes. Seeds are fixed, so nothing here fails by
// chance: a bound says how rare a worse result were among random seeds. 5 standard errors, the
// bound where none is given, are exceeded by one in 1.7 million.
#include <cmath>

#include "kernels/random_reference.h"

namespace random_quality_test {

using namespace tenon;
using tenon::detail::kPhiloxBlocks;
using tenon::detail::make_blocks;
using tenon::detail::random_elements;
using tenon::detail::WordStream;
using namespace tests;

namespace {

constexpr double kBound = 5;

const Request kUniform = uniform_request(0, 1);
const Request kNormal = normal_request(0, 1);

// How many numbers: 2^thorough, or 2^sample of them where code is slow.
constexpr int64_t size(int thorough, int sample) {
  return int64_t{1} << (kThorough ? thorough : sample);
}

template <class T>
std::vector<T> numbers(const Request& request, uint64_t seed, int64_t count, uint64_t first = 0) {
  std::vector<T> out(static_cast<size_t>(count));
  random_elements(plan_of(request, tenon::CppTypeToScalarType<T>::value), seed, first, count,
                  out.data());
  return out;
}
std::vector<uint32_t> words(const WordStream& stream, int64_t count) {
  const uint64_t blocks = (static_cast<uint64_t>(count) + 3) / 4;
  std::vector<uint32_t> out(
      static_cast<size_t>(4 * (blocks + kPhiloxBlocks)));  // it writes a few blocks more
  make_blocks(stream, 0, blocks, out.data());
  out.resize(static_cast<size_t>(count));
  return out;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }

int count_ones(uint32_t word) {
  int ones = 0;
  for (; word != 0; word &= word - 1) ++ones;
  return ones;
}

// Counts of bins that are equally likely. How far their chi-square is from what is expected, in
// standard deviations (Wilson and Hilferty's approximation): too even counts are below -5.
class Bins {
 public:
  explicit Bins(size_t count) : counts_(count) {}

  void add(size_t bin) { ++counts_.at(bin); }
  double score() const {
    double total = 0;
    for (double count : counts_) total += count;
    const double expected = total / static_cast<double>(counts_.size());
    REQUIRE(expected > 5);
    double chi_square = 0;
    for (double count : counts_) chi_square += (count - expected) * (count - expected) / expected;
    const double freedom = static_cast<double>(counts_.size()) - 1;
    const double variance = 2 / (9 * freedom);
    return (std::cbrt(chi_square / freedom) - (1 - variance)) / std::sqrt(variance);
  }

 private:
  std::vector<double> counts_;
};

#define CHECK_SCORE(...)                \
  do {                                  \
    const double score_ = __VA_ARGS__;  \
    INFO(score_ << " standard errors"); \
    CHECK(std::fabs(score_) < kBound);  \
  } while (false)

// Kolmogorov and Smirnov's statistic by the square root of the sample size. One sample in 8000 has
// more than 2.2.
template <class T, class Cdf>
double kolmogorov_smirnov(std::vector<T> sample, Cdf&& cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double largest = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(static_cast<double>(sample[i]));
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, (rank + 1) / n - p, p - rank / n});
  }
  return largest * std::sqrt(n);
}
constexpr double kSmirnovBound = 2.2;

// The correlation of n pairs by its standard error 1 / sqrt(n), for values with this mean and
// variance.
template <class T>
double correlation(const T* a, const T* b, size_t n, double mean, double variance) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += (static_cast<double>(a[i]) - mean) * (static_cast<double>(b[i]) - mean);
  }
  return sum / variance / std::sqrt(static_cast<double>(n));
}
template <class T>
double correlation(const std::vector<T>& a, const std::vector<T>& b, double mean, double variance) {
  return correlation(a.data(), b.data(), a.size(), mean, variance);
}

template <class T>
void check_moments(uint64_t seed, int64_t count) {
  double sums[6] = {};
  for (T number : numbers<T>(kNormal, seed, count)) {
    double power = 1;
    for (double& sum : sums) sum += power *= static_cast<double>(number);
  }
  const double expected[] = {0, 1, 0, 3, 0, 15};
  const double variance[] = {1, 2, 15, 96, 945, 10170};  // of the powers
  const auto n = static_cast<double>(count);
  for (int i = 0; i < 6; ++i) {
    INFO("seed " << seed << ", moment " << i + 1);
    CHECK_SCORE((sums[i] / n - expected[i]) / std::sqrt(variance[i] / n));
  }
}

// Counts beyond 3, 4 and 5 standard deviations on either side are Poisson's: 5 square roots of the
// expected ones, and one more for where that is small.
template <class T>
void check_tails(uint64_t seed, int64_t count) {
  constexpr int64_t kChunk = int64_t{1} << 18;
  double beyond[2][3] = {};
  for (int64_t done = 0; done < count; done += kChunk) {
    const auto first = static_cast<uint64_t>(done);
    for (T number : numbers<T>(kNormal, seed, kChunk, first)) {
      if (std::fabs(number) < 3) continue;
      for (int i = 0; i < 3; ++i) {
        if (std::fabs(number) >= static_cast<T>(3 + i)) ++beyond[number > 0 ? 1 : 0][i];
      }
    }
  }
  for (int side = 0; side < 2; ++side) {
    for (int i = 0; i < 3; ++i) {
      const double expected = static_cast<double>(count) * normal_cdf(-3 - i);
      INFO((side == 0 ? "below -" : "above ")
           << 3 + i << ": " << beyond[side][i] << ", expected " << expected);
      CHECK(std::fabs(beyond[side][i] - expected) < 5 * std::sqrt(expected) + 1);
    }
  }
}

constexpr uint64_t kSeeds[] = {0,         1, 42, 0xffffffffu, 0x100000000u, 0x8000000000000000u,
                               UINT64_MAX};

}  // namespace

TEST_CASE("random: uniform numbers are uniform, in upper bits and lower ones (chi-square)") {
  for (uint64_t seed : kSeeds) {
    INFO("seed " << seed);
    const auto check = [](const auto& all, int digits) {
      Bins upper(256);
      Bins lower(256);
      for (const auto number : all) {
        const auto bits = static_cast<uint64_t>(std::ldexp(number, digits));
        upper.add(static_cast<size_t>(bits >> (digits - 8)));
        lower.add(bits & 0xff);
      }
      CHECK_SCORE(upper.score());
      CHECK_SCORE(lower.score());
    };
    check(numbers<float>(kUniform, seed, size(20, 16)), 24);
    check(numbers<double>(kUniform, seed, size(18, 15)), 53);
  }
}

TEST_CASE("random: uniform and normal numbers have their distributions (Kolmogorov-Smirnov)") {
  const auto uniform_cdf = [](double x) { return x; };
  const int64_t count = size(16, 13);
  for (uint64_t seed : kSeeds) {
    INFO("seed " << seed);
    CHECK(kolmogorov_smirnov(numbers<float>(kUniform, seed, count), uniform_cdf) < kSmirnovBound);
    CHECK(kolmogorov_smirnov(numbers<double>(kUniform, seed, count), uniform_cdf) < kSmirnovBound);
    CHECK(kolmogorov_smirnov(numbers<float>(kNormal, seed, count), normal_cdf) < kSmirnovBound);
    CHECK(kolmogorov_smirnov(numbers<double>(kNormal, seed, count), normal_cdf) < kSmirnovBound);
  }
}

TEST_CASE("random: the first six moments of normal numbers, skewness and kurtosis among them") {
  for (uint64_t seed : {1u, 2u, 3u}) {
    check_moments<float>(seed, size(22, 17));
    check_moments<double>(seed, size(20, 16));
  }
}

TEST_CASE("random: normal numbers have their tails, to 5 standard deviations") {
  check_tails<float>(7, size(26, 20));
  check_tails<double>(8, size(22, 19));
}

TEST_CASE("random: numbers up to 64 places apart, a vector's lanes among them, are uncorrelated") {
  const auto n = static_cast<size_t>(size(19, 16));
  const auto count = static_cast<int64_t>(n + 64);
  const std::vector<float> uniform_one = numbers<float>(kUniform, 11, count);
  const std::vector<float> normal_one = numbers<float>(kNormal, 12, count);
  const std::vector<double> normal_double = numbers<double>(kNormal, 13, count);
  std::vector<double> squares;  // with a mean of 1 and a variance of 2
  for (float number : normal_one) squares.push_back(static_cast<double>(number) * number);
  for (size_t lag = 1; lag <= 64; ++lag) {
    INFO("lag " << lag);
    CHECK_SCORE(correlation(&uniform_one[0], &uniform_one[lag], n, 0.5, 1.0 / 12));
    CHECK_SCORE(correlation(&normal_one[0], &normal_one[lag], n, 0, 1));
    CHECK_SCORE(correlation(&normal_double[0], &normal_double[lag], n, 0, 1));
    CHECK_SCORE(correlation(&squares[0], &squares[lag], n, 1, 2));
  }
}

TEST_CASE("random: the cosine's and the sine's number of a pair are independent") {
  const std::vector<float> all = numbers<float>(kNormal, 21, size(20, 17));
  std::vector<double> cosines, sines, cosine_squares, sine_squares;
  Bins cells(16 * 16);  // of both numbers' probabilities
  Bins angles(256);
  for (size_t i = 0; i < all.size(); i += 2) {
    const double x = all[i];
    const double y = all[i + 1];
    cosines.push_back(x);
    sines.push_back(y);
    cosine_squares.push_back(x * x);
    sine_squares.push_back(y * y);
    cells.add(static_cast<size_t>(16 * normal_cdf(x)) * 16 +
              static_cast<size_t>(16 * normal_cdf(y)));
    const double turns = std::atan2(y, x) / 6.283185307179586;
    angles.add(static_cast<size_t>(256 * (turns < 0 ? turns + 1 : turns)) % 256);
  }
  CHECK_SCORE(correlation(cosines, sines, 0, 1));
  CHECK_SCORE(correlation(cosine_squares, sine_squares, 1, 2));
  CHECK_SCORE(cells.score());
  CHECK_SCORE(angles.score());
}

TEST_CASE("random: neighbouring seeds give independent numbers") {
  const int64_t count = size(18, 15);
  const uint64_t pairs[][2] = {{0, 1},
                               {1, 2},
                               {41, 42},
                               {0xffffffffu, 0x100000000u},
                               {0, 0x100000000u},
                               {0x7fffffffffffffffu, 0x8000000000000000u},
                               {UINT64_MAX, 0}};
  for (const uint64_t(&pair)[2] : pairs) {
    INFO("seeds " << pair[0] << " and " << pair[1]);
    CHECK_SCORE(correlation(numbers<float>(kUniform, pair[0], count),
                            numbers<float>(kUniform, pair[1], count), 0.5, 1.0 / 12));
    CHECK_SCORE(correlation(numbers<float>(kNormal, pair[0], count),
                            numbers<float>(kNormal, pair[1], count), 0, 1));
    CHECK_SCORE(correlation(numbers<double>(kNormal, pair[0], count),
                            numbers<double>(kNormal, pair[1], count), 0, 1));
  }
}

TEST_CASE("random: neighbouring draws give independent words") {
  const int64_t count = size(18, 15);
  for (uint32_t draw : {0u, 1u, 2u, 0x7fffffffu, UINT32_MAX}) {
    INFO("draws from " << draw);
    const std::vector<uint32_t> a = words({5, draw}, count);
    const std::vector<uint32_t> b = words({5, draw + 1}, count);
    CHECK_SCORE(correlation(a, b, 0x1p31, 0x1p64 / 12));
    double differing = 0;
    for (size_t i = 0; i < a.size(); ++i) differing += count_ones(a[i] ^ b[i]);
    const auto bits = 32.0 * static_cast<double>(a.size());
    CHECK_SCORE((differing - bits / 2) / std::sqrt(bits / 4));
  }
}

TEST_CASE("random: a complex normal number's parts are independent and have half the variance") {
  using Complex = tenon::complex<float>;
  std::vector<float> real, imaginary;
  double squares = 0;
  for (const Complex& number : numbers<Complex>(kNormal, 6, size(18, 15))) {
    real.push_back(number.real());
    imaginary.push_back(number.imag());
    squares += static_cast<double>(number.real()) * static_cast<double>(number.real());
  }
  const auto n = static_cast<double>(real.size());
  CHECK_SCORE(correlation(real, imaginary, 0, 0.5));
  CHECK_SCORE((squares - n / 2) / std::sqrt(n / 2));  // a square has a variance of 1/2
}

TEST_CASE("random: each bit of seed, draw and block number changes half of the bits") {
  const auto count = static_cast<uint32_t>(size(11, 8));
  const auto check = [&](uint64_t seed_bit, uint32_t draw_bit, uint64_t index_bit) {
    INFO("bits " << seed_bit << ", " << draw_bit << ", " << index_bit);
    double differing = 0;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t a[4];
      uint32_t b[4];
      const uint64_t index = tests::random_long_word(1, i, 0) >> 2;
      WordStream{9, 3}.block(index, a);
      WordStream{9 ^ seed_bit, 3 ^ draw_bit}.block(index ^ index_bit, b);
      for (int k = 0; k < 4; ++k) differing += count_ones(a[k] ^ b[k]);
    }
    const double bits = 128.0 * count;
    CHECK_SCORE((differing - bits / 2) / std::sqrt(bits / 4));
  };
  for (int i = 0; i < 64; ++i) check(uint64_t{1} << i, 0, 0);
  for (int i = 0; i < 32; ++i) check(0, uint32_t{1} << i, 0);
  for (int i = 0; i < 62; ++i) check(0, 0, uint64_t{1} << i);
}

TEST_CASE("random: each bit of the words is one as often as zero") {
  for (uint64_t seed : kSeeds) {
    for (uint32_t draw : {0u, 1u}) {
      const std::vector<uint32_t> all = words({seed, draw}, size(16, 13));
      for (int bit = 0; bit < 32; ++bit) {
        INFO("seed " << seed << ", draw " << draw << ", bit " << bit);
        double one_values = 0;
        for (uint32_t word : all) one_values += word >> bit & 1;
        const auto n = static_cast<double>(all.size());
        CHECK_SCORE((one_values - n / 2) / std::sqrt(n / 4));
      }
    }
  }
}

TEST_CASE("random: integers are equally likely (chi-square)") {
  const int64_t count = size(19, 16);
  for (int range : {2, 6, 100, 1000}) {
    for (uint64_t seed : {uint64_t{1}, uint64_t{2}, UINT64_MAX}) {
      INFO("range " << range << ", seed " << seed);
      const Request request = integers_request(-1, range - 1);
      Bins bins(static_cast<size_t>(range));
      for (int32_t number : numbers<int32_t>(request, seed, count)) {
        bins.add(static_cast<size_t>(number + 1));
      }
      CHECK_SCORE(bins.score());
    }
  }
  const auto check = [](const auto& all, int shift) {
    Bins upper(768);
    Bins lower(1024);
    for (const auto number : all) {
      upper.add(static_cast<size_t>(number >> shift));
      lower.add(static_cast<size_t>(number & 1023));
    }
    CHECK_SCORE(upper.score());
    CHECK_SCORE(lower.score());
  };
  check(numbers<int32_t>(integers_request(0, 3 << 18), 3, count), 10);
  check(numbers<int64_t>(integers_request(0, int64_t{3} << 61), 4, count), 53);
}

TEST_CASE("random: pairs and triples of consecutive numbers fill the square and the cube evenly") {
  const auto cell = [](float number, int cells) {
    return static_cast<size_t>(number * static_cast<float>(cells));
  };
  for (uint64_t seed : {31u, 32u, 33u}) {
    INFO("seed " << seed);
    const std::vector<float> all = numbers<float>(kUniform, seed, size(20, 16));
    Bins square(64 * 64);
    Bins apart(64 * 64);  // of the blocks' other halves
    for (size_t i = 0; i + 3 < all.size(); i += 4) {
      square.add(cell(all[i], 64) * 64 + cell(all[i + 1], 64));
      square.add(cell(all[i + 2], 64) * 64 + cell(all[i + 3], 64));
      apart.add(cell(all[i], 64) * 64 + cell(all[i + 2], 64));
      apart.add(cell(all[i + 1], 64) * 64 + cell(all[i + 3], 64));
    }
    CHECK_SCORE(square.score());
    CHECK_SCORE(apart.score());
    Bins cube(12 * 12 * 12);
    for (size_t i = 0; i + 2 < all.size(); i += 3) {
      cube.add((cell(all[i], 12) * 12 + cell(all[i + 1], 12)) * 12 + cell(all[i + 2], 12));
    }
    CHECK_SCORE(cube.score());
  }
}

}  // namespace random_quality_test
