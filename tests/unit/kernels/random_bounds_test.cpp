// SPDX-License-Identifier: MIT
// That random numbers keep to their bounds, also those of extreme words.
#include <cfloat>
#include <cmath>

#include "kernels/random_reference.h"

namespace random_bounds_test {

using namespace tenon;
using tenon::detail::random_elements;
using namespace tests;

namespace {

// Elements of seed 0 whose first word is extreme: even ones and odd ones.
constexpr uint64_t kZeroWord = 12922966362;
constexpr uint64_t kOddZeroWord = 5992377491;
constexpr uint64_t kOnesWord = 8098165446;
constexpr uint64_t kOddOnesWord = 6153212237;

const ScalarType kFloatingTypes[] = {
    ScalarType::Half,          ScalarType::BFloat16,        ScalarType::Float8_e5m2,
    ScalarType::Float8_e4m3fn, ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz,
    ScalarType::Float,         ScalarType::Double,          ScalarType::ComplexHalf,
    ScalarType::ComplexFloat,  ScalarType::ComplexDouble};

// Elements [first, first + count) of seed 0, both parts of complex ones.
std::vector<double> values(const Request& request, ScalarType type, uint64_t first, int64_t count) {
  Bytes bytes(static_cast<size_t>(count) * elementSize(type));
  random_elements(plan_of(request, type), 0, first, count, bytes.data());
  std::vector<double> out;
  tenon::visit(
      tenon::detail::part_type_of(type),
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!tenon::detail::IsComplexLike<T>::value) {
          for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
            T value;
            std::memcpy(&value, &bytes[i], sizeof value);
            out.push_back(static_cast<double>(value));
          }
        }
      },
      [] {});
  return out;
}

void check_within(ScalarType type, double low, double high) {
  INFO(toString(type) << " in [" << low << ", " << high << ")");
  const Request request = uniform_request(low, high);
  const auto is_outside = [&](double value) { return !(value >= low && value < high); };
  for_each_isa([&] {
    std::ptrdiff_t outside = 0;
    for (uint64_t first :
         {uint64_t{77}, kZeroWord - 500, kOddZeroWord - 500, kOnesWord - 500, kOddOnesWord - 500}) {
      const std::vector<double> all = values(request, type, first, 1000);
      outside += std::count_if(all.begin(), all.end(), is_outside);
    }
    for (uint64_t e : {kZeroWord, kOddZeroWord, kOnesWord, kOddOnesWord}) {
      if (is_outside(values(request, type, e, 1)[0])) ++outside;
    }
    CHECK(outside == 0);
  });
}

}  // namespace

TEST_CASE("random: these elements have these words") {
  CHECK(tests::random_word(0, kZeroWord, 0) == 0);
  CHECK(tests::random_word(0, kOddZeroWord, 0) == 0);
  CHECK(tests::random_word(0, kOnesWord, 0) == UINT32_MAX);
  CHECK(tests::random_word(0, kOddOnesWord, 0) == UINT32_MAX);
}

// A promise of docs/guarantees.md.
TEST_CASE("random: numbers from 0 to 1 never reach 1, but the largest value below it") {
  const Request request = uniform_request(0, 1);
  for (ScalarType type : kFloatingTypes) {
    check_within(type, 0, 1);
    const int digits = plan_of(request, type).format.digits;
    const double below_one = digits == 53 ? 0 : 1 - std::ldexp(1, -digits);
    for_each_isa([&] {
      INFO(toString(type));
      for (uint64_t e : {kOnesWord, kOddOnesWord}) {
        const double value = values(request, type, e, 1)[0];
        CHECK(value >= below_one);
        CHECK(value < 1);
        const size_t parts = tenon::isComplexType(type) ? 2 : 1;
        CHECK(values(request, type, e - 13, 100)[13 * parts] == value);
      }
      CHECK(values(request, type, kZeroWord, 1)[0] < 0x1p-32);
    });
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("random: uniform numbers lie within their bounds in every floating type") {
  for (ScalarType type : kFloatingTypes) {
    for (double scale : {1.0, -1.0, 0.125, 64.0}) {
      for (auto [a, b] : {std::pair(1.0, 2.0),
                          {0.5, 1.0},
                          {0.1, 0.2},
                          {1.0, 1.3},
                          {0.1, 1.0},
                          {-0.3, 0.7},
                          {-1e-7, 1.0}}) {
        check_within(type, std::min(a * scale, b * scale), std::max(a * scale, b * scale));
      }
    }
    check_within(type, -0.0, 1);
    check_within(type, -1e-9, 0.1);
    const auto limits = plan_of(tests::normal_request(0, 1), type).format;
    if (limits.largest < 1e30) check_within(type, limits.lowest, limits.largest);
    check_within(type, limits.lowest, 0);
    check_within(type, 0, limits.largest);
    check_within(type, limits.largest * 0.4, limits.largest);
  }
}

TEST_CASE("random: uniform numbers lie within bounds that are close to each other") {
  using T = ScalarType;
  const struct {
    std::vector<ScalarType> types;
    std::vector<std::pair<double, double>> bounds;
  } rows[] = {
      {{T::BFloat16, T::Float, T::Double},
       {{1e-8, 2e-8}, {-2e-8, -1e-8}, {1e-38, 2e-38}, {-1e-39, 1e-39}, {0, 1e-40}}},
      {{T::Float},
       {{1, 1 + 1e-7},
        {1, 1 + 3e-7},
        {16777216, 16777219},
        {-16777219, -16777216},
        {0.1, 0.10000001},
        {FLT_TRUE_MIN, 3.0 * static_cast<double>(FLT_TRUE_MIN)}}},
      {{T::Double}, {{1, 1 + DBL_EPSILON}, {1e300, 1.0000000000000002e300}, {-4.9e-324, 4.9e-324}}},
      // Subnormal; -1e-8's neighbours lie beyond it but for 0; about the smallest normal number.
      {{T::Half, T::ComplexHalf},
       {{6e-8, 1e-6},
        {-1e-6, 1e-7},
        {-1e-8, 1e-7},
        {-1e-6, -6e-8},
        {5e-5, 7e-5},
        {-7e-5, -5e-5},
        {2047, 2049},
        {-2051, -2049},
        {65472, 65504},
        {-65504, -65472},
        {0.3333, 0.3336}}},
      {{T::Float8_e5m2}, {{-3e-5, 5e-5}}},
      {{T::Float8_e5m2fnuz}, {{-1e-5, 5e-5}}},
      {{T::Float8_e4m3fn}, {{-0.003, 0.001}, {16, 17}}},
      {{T::Float8_e4m3fnuz}, {{-0.0005, 0.003}}}};
  for (const auto& row : rows) {
    for (ScalarType type : row.types) {
      for (const auto& [low, high] : row.bounds) check_within(type, low, high);
    }
  }
}

TEST_CASE("random: bounds near the smallest floats still have all numbers between them") {
  for (ScalarType type : {ScalarType::Float, ScalarType::ComplexFloat, ScalarType::Double}) {
    for (double high : {1e-30, 1e-34, 1e-38, 1e-41}) {
      INFO(toString(type) << " below " << high);
      const std::vector<double> all = values(uniform_request(0, high), type, 0, 4000);
      // Each quarter has a quarter of them, within 5 standard deviations (137 for 4000 numbers).
      const auto count = static_cast<double>(all.size());
      for (int quarter = 0; quarter < 4; ++quarter) {
        const auto in_quarter = std::count_if(all.begin(), all.end(), [&](double value) {
          return static_cast<int>(4 * value / high) == quarter;
        });
        CHECK(std::fabs(static_cast<double>(in_quarter) - count / 4) <
              5 * std::sqrt(count * 3 / 16));
      }
    }
  }
  // And they are those of the definition.
  for (double high : {1e-30, 1e-34, 1e-38, 1e-41}) {
    for (ScalarType type : {ScalarType::Float, ScalarType::BFloat16}) {
      for (double low : {0.0, -high, 7e-39}) {
        if (low >= high) continue;
        INFO(toString(type) << " in [" << low << ", " << high << ")");
        const Request request = uniform_request(low, high);
        const Bytes expected = tests::reference_bytes(request, type, 3, 1, 300);
        Bytes bytes(expected.size());
        random_elements(plan_of(request, type), 3, 1, 300, bytes.data());
        CHECK(bytes == expected);
      }
    }
  }
}

TEST_CASE("random: normal numbers of extreme words are finite") {
  for (ScalarType type : kFloatingTypes) {
    INFO(toString(type));
    for_each_isa([&] {
      for (uint64_t e : {kZeroWord, kOddZeroWord, kOnesWord, kOddOnesWord}) {
        const auto all = values(normal_request(0, 1), type, e - 500, 1000);
        CHECK(std::all_of(all.begin(), all.end(), [](double x) { return std::fabs(x) < 8.6; }));
      }
    });
  }
  const auto pair = values(normal_request(0, 1), ScalarType::Float, kZeroWord, 2);
  CHECK(std::fabs(std::hypot(pair[0], pair[1]) - 6.6604) < 1e-4);  // sqrt(64 ln 2)
  const auto least = values(normal_request(0, 1), ScalarType::Float, kOnesWord, 2);
  CHECK(std::hypot(least[0], least[1]) < 1e-3);
}

TEST_CASE("random: integers of floating types are the bounds' or lie between them") {
  const std::pair<int64_t, int64_t> all_bounds[] = {{0, 1},
                                                    {-1, 2},
                                                    {-5, 6},
                                                    {17, 41},
                                                    {-41, -16},
                                                    {-100, 100},
                                                    {INT64_MIN, INT64_MAX},
                                                    {0, INT64_MAX},
                                                    {(1 << 24) + 1, (1 << 24) + 300000}};
  for (ScalarType type : kFloatingTypes) {
    for (const auto& bounds : all_bounds) {
      const int64_t low = bounds.first;
      const int64_t high = bounds.second;
      const Request request = integers_request(low, high);
      const auto limits = plan_of(tests::normal_request(0, 1), type).format;
      if (static_cast<double>(high) > limits.largest) continue;
      INFO(toString(type) << ", " << low << ", " << high);
      const size_t step = tenon::isComplexType(type) ? 2 : 1;
      for_each_isa([&] {
        int outside = 0;
        const auto all = values(request, type, kOnesWord - 500, 1000);
        for (size_t i = 0; i < all.size(); i += step) {
          // As doubles, INT64_MAX is 2^63, and all others of these bounds exact.
          if (!(all[i] >= static_cast<double>(low))) ++outside;
          if (!(all[i] < static_cast<double>(high))) ++outside;
        }
        CHECK(outside == 0);
      });
    }
  }
}

TEST_CASE("random: small ranges have each of their integers, and a range of 1 only that one") {
  for (ScalarType type : {ScalarType::Char, ScalarType::Int, ScalarType::Long, ScalarType::Half,
                          ScalarType::Float8_e5m2}) {
    INFO(toString(type));
    for_each_isa([&] {
      const auto all = values(integers_request(-3, 4), type, 9, 500);
      for (int i = -3; i < 4; ++i) CHECK(std::count(all.begin(), all.end(), i) > 30);
      const auto same = values(integers_request(5, 6), type, kOnesWord - 100, 200);
      CHECK(std::count(same.begin(), same.end(), 5) == 200);
    });
  }
}

TEST_CASE("random: an integer whose product is below the excess is drawn again") {
  for (ScalarType type : {ScalarType::Int, ScalarType::Long, ScalarType::Short}) {
    INFO(toString(type));
    for_each_isa([&] {
      for (uint64_t e : {kZeroWord, kOddZeroWord}) {
        // 2^32 mod 3 is 1: a word of 0 is too small. Another seed's words come next.
        const auto second = (uint64_t{tests::random_word(0, e, 1)} * 3) >> 32;
        CHECK(values(integers_request(0, 3), type, e, 1)[0] == static_cast<double>(second));
        CHECK(values(integers_request(0, 3), type, e - 8, 20)[8] == static_cast<double>(second));
        CHECK(values(integers_request(7, 11), type, e, 1)[0] == 7);  // 4 divides 2^32
      }
    });
  }
}

}  // namespace random_bounds_test
