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

// A promise of docs/guarantees.md.
TEST_CASE("random: numbers from 0 to 1 never reach 1, but the largest value below it") {
  const Request request = uniform_request(0, 1);
  for (ScalarType type : kFloatingTypes) {
    INFO(toString(type));
    check_within(type, 0, 1);
    const int digits = plan_of(request, type).format.digits;
    const double below_one = digits == 53 ? 0 : 1 - std::ldexp(1, -digits);
    for_each_isa([&] {
      for (uint64_t e : {kOnesWord, kOddOnesWord}) {
        CHECK(values(request, type, e, 1)[0] >= below_one);
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
        {16777216, 16777219},
        {-16777219, -16777216},
        {FLT_TRUE_MIN, 3.0 * static_cast<double>(FLT_TRUE_MIN)}}},
      {{T::Double}, {{1, 1 + DBL_EPSILON}, {1e300, 1.0000000000000002e300}, {-4.9e-324, 4.9e-324}}},
      // Subnormal; -1e-8's neighbours lie beyond it but for 0; about the smallest normal number.
      {{T::Half, T::ComplexHalf},
       {{6e-8, 1e-6}, {-1e-8, 1e-7}, {5e-5, 7e-5}, {-2051, -2049}, {65472, 65504}}},
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

TEST_CASE("random: bounds near the smallest floats give the numbers of the definition") {
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
}

}  // namespace random_bounds_test
