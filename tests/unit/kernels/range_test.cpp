// SPDX-License-Identifier: MIT
// values_test.cpp has whole tensors.
#include "tenon/kernels/range.h"

#include <cmath>
#include <limits>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "kernels/helpers.h"

namespace range_test {

using namespace tests;
using namespace tenon::detail;

namespace {

template <class T>
ValueRange range_of(tenon::ScalarType type, const std::vector<T>& values) {
  ValueRange range(type);
  range.add(reinterpret_cast<const char*>(values.data()), static_cast<int64_t>(values.size()));
  return range;
}

}  // namespace

TEST_CASE("range: the least and the largest at every place, of every real type") {
  for_each_isa([&] {
    for (const tenon::ScalarType type : kAllTypes) {
      if (isComplexType(type)) continue;
      INFO(toString(type));
      int wrong = 0;
      const size_t size = elementSize(type);
      const bool is_bool = type == tenon::ScalarType::Bool;
      const bool is_unsigned = isIntegralType(type, true) && number_format(type).lowest == 0;
      for (const size_t count : std::vector<size_t>{1, 2, 16, 33, 70, 200}) {
        for (size_t at = 0; at < count; at += kThorough ? 1 : 13) {
          std::vector<double> numbers(count, is_bool ? 1 : 5);
          numbers[at] = is_bool ? 0 : is_unsigned ? 2 : -7;
          const double least = numbers[at];
          numbers[(at + 1) % count] = is_bool ? 1 : 12;
          std::vector<char> elements(count * size);
          for (size_t i = 0; i < count; ++i) {
            const tenon::Scalar value = isIntegralType(type, true)
                                            ? tenon::Scalar(static_cast<int64_t>(numbers[i]))
                                            : tenon::Scalar(numbers[i]);
            wrong += store_scalar(type, value, elements.data() + i * size) != tenon::Error::Ok;
          }
          ValueRange range(type);
          range.add(elements.data(), static_cast<int64_t>(count));
          CHECK(range.largest_value().to<double>() == (is_bool ? 1 : 12));
          CHECK(range.least_value().to<double>() == (count > 1 ? least : is_bool ? 1 : 12));
        }
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("range: of all codes of the small types, as their numbers are ordered") {
  for_each_isa([&] {
    for (const tenon::ScalarType type : kAllTypes) {
      if (isComplexType(type) || elementSize(type) > 2) continue;
      INFO(toString(type));
      const size_t size = elementSize(type);
      double least = std::numeric_limits<double>::infinity();
      double largest = -least;
      std::vector<char> numbers;
      int nans = 0;
      int wrong = 0;
      for (uint32_t code = 0; code < 1u << (8 * size); ++code) {
        const auto word = static_cast<uint16_t>(code);
        const auto byte = static_cast<uint8_t>(code);
        const char* const element =
            size == 1 ? reinterpret_cast<const char*>(&byte) : reinterpret_cast<const char*>(&word);
        const double value = load_scalar(type, element).to<double>();
        ValueRange range(type);
        range.add(element, 1);
        const double found = range.least_value().to<double>();
        if (std::isnan(value)) {
          ++nans;
          wrong += !std::isnan(found);
          continue;
        }
        wrong += found != value || (value == 0 && std::signbit(found));
        least = value < least ? value : least;
        largest = value > largest ? value : largest;
        numbers.insert(numbers.end(), element, element + size);
      }
      CHECK(wrong == 0);
      CHECK((nans != 0) == isFloatingType(type));
      ValueRange range(type);
      range.add(numbers.data(), static_cast<int64_t>(numbers.size() / size));
      CHECK(range.least_value().to<double>() == least);
      CHECK(range.largest_value().to<double>() == largest);
    }
  });
}

TEST_CASE("range: NaN of either sign wins at every place, infinities are numbers") {
  const double infinity = std::numeric_limits<double>::infinity();
  for_each_isa([&] {
    for (const double nan : {kNan, -kNan}) {
      for (size_t at = 0; at < 40; ++at) {
        std::vector<double> values(40, 1);
        values[(at + 3) % 40] = infinity;
        values[(at + 5) % 40] = -infinity;
        const ValueRange finite = range_of(tenon::ScalarType::Double, values);
        CHECK(finite.least_value().to<double>() == -infinity);
        CHECK(finite.largest_value().to<double>() == infinity);
        values[at] = nan;
        const ValueRange range = range_of(tenon::ScalarType::Double, values);
        CHECK(std::isnan(range.least_value().to<double>()));
        CHECK(std::isnan(range.largest_value().to<double>()));
      }
    }
  });
}

TEST_CASE("range: 64-bit integers are exact, any byte but 0 is true") {
  const ValueRange longs =
      range_of(tenon::ScalarType::Long, std::vector<int64_t>{5, INT64_MIN, INT64_MAX - 1, 0});
  CHECK(longs.least_value().to<int64_t>() == INT64_MIN);
  CHECK(longs.largest_value().to<int64_t>() == INT64_MAX - 1);
  const ValueRange large =
      range_of(tenon::ScalarType::UInt64, std::vector<uint64_t>{UINT64_MAX, UINT64_MAX - 1});
  CHECK(large.least_value().to<uint64_t>() == UINT64_MAX - 1);
  CHECK(large.largest_value().to<uint64_t>() == UINT64_MAX);
  const ValueRange bools = range_of(tenon::ScalarType::Bool, std::vector<unsigned char>{200, 7});
  CHECK(bools.least_value().isBoolean());
  CHECK(bools.least_value().to<bool>());
  CHECK(bools.largest_value().to<bool>());
}

TEST_CASE("range: the only NaN of a type without -0 counts in each block") {
  for (const auto type : {tenon::ScalarType::Float8_e4m3fnuz, tenon::ScalarType::Float8_e5m2fnuz}) {
    for (const size_t at : {size_t{0}, size_t{4095}, size_t{4096}, size_t{9999}}) {
      std::vector<unsigned char> values(10000, 0x41);
      values[at] = 0x81;
      const double least = range_of(type, values).least_value().to<double>();
      CHECK(least < 0);
      CHECK(range_of(type, values).largest_value().to<double>() > 0);
      values[at] = 0x80;
      CHECK(std::isnan(range_of(type, values).least_value().to<double>()));
    }
  }
}

#if defined(__SSE2__)
TEST_CASE("range: a zero has no sign, also where the processor takes subnormals for zeros") {
  const auto least = [](tenon::ScalarType type, uint16_t code) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // as a program linked with -ffast-math does
    const tenon::Scalar value = range_of(type, std::vector<uint16_t>{code}).least_value();
    _mm_setcsr(before);
    return value.to<double>();
  };
  for (const auto type : {tenon::ScalarType::BFloat16, tenon::ScalarType::Half}) {
    for (const uint16_t code : std::vector<uint16_t>{0x8000, 0x8001, 0x8002, 0, 2}) {
      const double value = least(type, code);
      CHECK(std::signbit(value) == (value < 0));
    }
    CHECK(least(type, 0xbc00) < 0);
  }
}
#endif

}  // namespace range_test
