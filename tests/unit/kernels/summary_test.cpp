// SPDX-License-Identifier: MIT
// values_test.cpp has whole tensors.
#include "tenon/kernels/summary.h"

#include <cmath>
#include <limits>

#include "kernels/helpers.h"

namespace summary_test {

using namespace tests;
using namespace tenon::detail;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Numbers between -2048 and 6144 of 53 bits.
std::vector<double> numbers(size_t count) {
  std::vector<double> out;
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < count; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    out.push_back(static_cast<double>(x >> 11) / 1099511627776.0 - 2048.3);
  }
  return out;
}

RunningSummary sum_up(tenon::ScalarType type, const void* elements, int64_t count) {
  RunningSummary found;
  found.type = type;
  Conversion conversion;
  make_conversion(conversion, tenon::ScalarType::Double, type, tenon::CastMode::Checked);
  const auto size = static_cast<int64_t>(elementSize(type));
  for (int64_t i = 0; i < count; i += kSummaryBlock) {
    const int64_t n = count - i < kSummaryBlock ? count - i : kSummaryBlock;
    found.add(static_cast<const char*>(elements) + i * size, n, conversion);
  }
  return found;
}
RunningSummary sum_up(const std::vector<double>& values) {
  return sum_up(tenon::ScalarType::Double, values.data(), static_cast<int64_t>(values.size()));
}

}  // namespace

// The bits are written down from one build by GCC 12, with SSE2.
TEST_CASE("summary: the same bits at every instruction set") {
  const std::vector<double> values = numbers(100003);
  for_each_isa([&] {
    const Moments all = sum_up(values).moments();
    CHECK(double_bits(all.mean()) == 0x40a00ca07770e535u);
    CHECK(double_bits(all.deviation()) == 0x40a27a5d0cb44307u);
    const Moments few = sum_up(numbers(17)).moments();
    CHECK(few.count == 17);
    CHECK(double_bits(few.mean()) == 0x40a5fe41268409edu);
    CHECK(double_bits(few.deviation()) == 0x40a29cce55c12449u);
  });
}

TEST_CASE("summary: the additions are in the order that the header says") {
  for (const size_t count : std::vector<size_t>{1, 15, 16, 17, 1000, 1024, 1025, 5000}) {
    const std::vector<double> values = numbers(count);
    // Blocks of 1024, sixteen sums each, joined in pairs; here by recursion.
    std::vector<Moments> blocks;
    for (size_t b = 0; b < count; b += 1024) {
      const size_t n = count - b < 1024 ? count - b : 1024;
      const auto add_up = [&](auto&& value) {
        double lanes[16] = {};
        for (size_t i = 0; i < n; ++i) lanes[i % 16] += value(values[b + i]);
        for (size_t half = 8; half != 0; half /= 2) {
          for (size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
        }
        return lanes[0];
      };
      Moments m;
      m.count = static_cast<double>(n);
      m.sum = add_up([](double x) { return x; });
      const double mean = m.sum / m.count;
      m.squares = add_up([&](double x) {
        volatile double square = (x - mean) * (x - mean);  // not fused
        return square;
      });
      blocks.push_back(m);
    }
    // 5 blocks: ((0 1) (2 3)) 4.
    while (blocks.size() > 1) {
      std::vector<Moments> joined;
      for (size_t i = 0; i + 1 < blocks.size(); i += 2) {
        joined.push_back(join(blocks[i], blocks[i + 1]));
      }
      if (blocks.size() % 2 != 0) joined.push_back(blocks.back());
      blocks = joined;
    }
    const Moments found = sum_up(values).moments();
    INFO(count);
    CHECK(double_bits(found.sum) == double_bits(blocks[0].sum));
    CHECK(double_bits(found.squares) == double_bits(blocks[0].squares));
  }
}

TEST_CASE("summary: NaN and infinities are counted, wherever they are, and left out") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for_each_isa([&] {
    for (const size_t at : std::vector<size_t>{0, 1, 17, 1023, 1024, 1999}) {
      std::vector<double> values(2000, 1.0);
      values[5] = 3;
      values[at] = nan;
      values[(at + 7) % 2000] = kInfinity;
      values[(at + 8) % 2000] = -kInfinity;
      const RunningSummary found = sum_up(values);
      INFO(at);
      CHECK(found.numel == 2000);
      CHECK(found.nans == 1);
      CHECK(found.positive_infinities == 1);
      CHECK(found.negative_infinities == 1);
      CHECK(found.least_value().to<double>() == 1);
      CHECK(found.largest_value().to<double>() == 3);
      CHECK(found.moments().count == 1997);
      CHECK(found.moments().sum == 1999);
    }
    const RunningSummary none = sum_up(std::vector<double>(1025, -nan));
    CHECK(none.nans == 1025);
    CHECK(std::isnan(none.least_value().to<double>()));
    CHECK(std::isnan(none.moments().mean()));
    CHECK(std::isnan(none.moments().deviation()));
  });
}

TEST_CASE("summary: the least and the largest at every place, zeros without a sign") {
  for_each_isa([&] {
    for (const size_t count : std::vector<size_t>{1, 2, 16, 33, 1025}) {
      for (size_t at = 0; at < count; at += kThorough ? 1 : 13) {
        std::vector<double> values(count, 5);
        values[at] = -7;
        values[(at + 1) % count] = 9;
        const RunningSummary found = sum_up(values);
        CHECK(found.least_value().to<double>() == (count == 1 ? 9 : -7));
        CHECK(found.largest_value().to<double>() == 9);
      }
    }
    const RunningSummary zeros = sum_up(std::vector<double>(3, -0.0));
    CHECK_FALSE(std::signbit(zeros.least_value().to<double>()));
  });
}

TEST_CASE("summary: the range of 64-bit integers is exact, that of Bool is a bool") {
  const int64_t longs[] = {5, INT64_MIN, INT64_MAX - 1, 0};
  RunningSummary found = sum_up(tenon::ScalarType::Long, longs, 4);
  CHECK(found.least_value().to<int64_t>() == INT64_MIN);
  CHECK(found.largest_value().to<int64_t>() == INT64_MAX - 1);
  const uint64_t large[] = {UINT64_MAX, UINT64_MAX - 1};
  found = sum_up(tenon::ScalarType::UInt64, large, 2);
  CHECK(found.least_value().to<uint64_t>() == UINT64_MAX - 1);
  CHECK(found.largest_value().to<uint64_t>() == UINT64_MAX);
  const unsigned char bytes[] = {0, 7, 0};
  found = sum_up(tenon::ScalarType::Bool, bytes, 3);
  CHECK(found.largest_value().isBoolean());
  CHECK(found.largest_value().to<bool>());
  CHECK(found.moments().sum == 1);
}

}  // namespace summary_test
