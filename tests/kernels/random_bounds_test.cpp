// SPDX-License-Identifier: MIT
// That random numbers keep to their bounds, also those of extreme words.
#include <cfloat>
#include <cmath>

#include "kernels/random_reference.h"

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

// The largest value below 1.
double below_one(ScalarType type) {
  switch (tenon::detail::part_type_of(type)) {
    case ScalarType::Half: return 1 - 0x1p-11;
    case ScalarType::BFloat16: return 1 - 0x1p-8;
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e5m2fnuz: return 0.875;
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e4m3fnuz: return 0.9375;
    case ScalarType::Float: return 1 - 0x1p-24;
    default: return 1 - 0x1p-53;
  }
}

}  // namespace

TEST_CASE("random: these elements have these words") {
  CHECK(tests::random_word(0, kZeroWord, 0) == 0);
  CHECK(tests::random_word(0, kOddZeroWord, 0) == 0);
  CHECK(tests::random_word(0, kOnesWord, 0) == UINT32_MAX);
  CHECK(tests::random_word(0, kOddOnesWord, 0) == UINT32_MAX);
}

TEST_CASE("random: numbers from 0 to 1 never reach 1, but the largest value below it") {
  for (ScalarType type : kFloatingTypes) {
    INFO(toString(type));
    check_within(type, 0, 1);
    for_each_isa([&] {
      for (uint64_t e : {kOnesWord, kOddOnesWord}) {
        const double value = values(uniform_request(0, 1), type, e, 1)[0];
        if (below_one(type) < 1 - 0x1p-53) CHECK(value == below_one(type));
        CHECK(value < 1);
        const size_t parts = tenon::isComplexType(type) ? 2 : 1;
        CHECK(values(uniform_request(0, 1), type, e - 13, 100)[13 * parts] == value);
      }
      CHECK(values(uniform_request(0, 1), type, kZeroWord, 1)[0] < 0x1p-32);
    });
  }
}

TEST_CASE("random: uniform numbers lie within their bounds in every floating type") {
  for (ScalarType type : kFloatingTypes) {
    for (double scale : {1.0, -1.0, 0.125, 64.0}) {
      const auto check = [&](double a, double b) {
        check_within(type, std::min(a * scale, b * scale), std::max(a * scale, b * scale));
      };
      check(1, 2);
      check(0.5, 1);
      check(0.1, 0.2);
      check(1, 1.3);
      check(0.1, 1);
      check(-0.3, 0.7);
      check(-1e-7, 1);
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
  for (ScalarType type : {ScalarType::BFloat16, ScalarType::Float, ScalarType::Double}) {
    check_within(type, 1e-8, 2e-8);
    check_within(type, -2e-8, -1e-8);
    check_within(type, 1e-38, 2e-38);
    check_within(type, -1e-39, 1e-39);
    check_within(type, 0, 1e-40);
  }
  check_within(ScalarType::Float, 1, 1 + 1e-7);
  check_within(ScalarType::Float, 1, 1 + 3e-7);
  check_within(ScalarType::Float, 16777216, 16777219);
  check_within(ScalarType::Float, -16777219, -16777216);
  check_within(ScalarType::Float, 0.1, 0.10000001);
  check_within(ScalarType::Float, FLT_TRUE_MIN, 3.0 * static_cast<double>(FLT_TRUE_MIN));
  check_within(ScalarType::Double, 1, 1 + DBL_EPSILON);
  check_within(ScalarType::Double, 1e300, 1.0000000000000002e300);
  check_within(ScalarType::Double, -4.9e-324, 4.9e-324);
  for (ScalarType type : {ScalarType::Half, ScalarType::ComplexHalf}) {
    check_within(type, 6e-8, 1e-6);  // subnormal
    check_within(type, -1e-6, 1e-7);
    check_within(type, -1e-8, 1e-7);  // holds -1e-8's neighbours only beyond it, and 0
    check_within(type, -1e-6, -6e-8);
    check_within(type, 5e-5, 7e-5);  // about the smallest normal number
    check_within(type, -7e-5, -5e-5);
    check_within(type, 2047, 2049);
    check_within(type, -2051, -2049);
    check_within(type, 65472, 65504);
    check_within(type, -65504, -65472);
    check_within(type, 0.3333, 0.3336);
  }
  check_within(ScalarType::Float8_e5m2, -3e-5, 5e-5);
  check_within(ScalarType::Float8_e5m2fnuz, -1e-5, 5e-5);
  check_within(ScalarType::Float8_e4m3fn, -0.003, 0.001);
  check_within(ScalarType::Float8_e4m3fnuz, -0.0005, 0.003);
  check_within(ScalarType::Float8_e4m3fn, 16, 17);
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
  struct Bounds {
    int64_t low, high;
  };
  const Bounds all_bounds[] = {{0, 1},
                               {-1, 2},
                               {-5, 6},
                               {17, 41},
                               {-41, -16},
                               {-100, 100},
                               {INT64_MIN, INT64_MAX},
                               {0, INT64_MAX},
                               {(1 << 24) + 1, (1 << 24) + 300000}};
  for (ScalarType type : kFloatingTypes) {
    for (const Bounds& bounds : all_bounds) {
      const Request request = integers_request(bounds.low, bounds.high);
      const auto limits = plan_of(tests::normal_request(0, 1), type).format;
      if (static_cast<double>(bounds.high) > limits.largest) continue;
      INFO(toString(type) << ", " << bounds.low << ", " << bounds.high);
      const size_t step = tenon::isComplexType(type) ? 2 : 1;
      for_each_isa([&] {
        int outside = 0;
        const auto all = values(request, type, kOnesWord - 500, 1000);
        for (size_t i = 0; i < all.size(); i += step) {
          // As doubles, INT64_MAX is 2^63, and all others of these bounds exact.
          if (!(all[i] >= static_cast<double>(bounds.low))) ++outside;
          if (!(all[i] < static_cast<double>(bounds.high))) ++outside;
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
