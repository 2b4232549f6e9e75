// SPDX-License-Identifier: MIT
// Random elements as docs/random.md defines them, one at a time and without vectors: what the tests
// of kernels/random_elements.h compare with. Only the normal numbers before rounding are the library's,
// which box_muller_test.cpp compares with the C library's functions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/helpers.h"
#include "tenon/kernels/random_numbers.h"
#include "tenon/kernels/random_plan.h"

namespace tests {

using tenon::detail::Distribution;
using tenon::detail::RandomPlan;

/// Word e % 4 of the cipher of {e / 4, draw, 0} under the seed.
inline uint32_t random_word(uint64_t seed, uint64_t e, uint32_t draw) {
  constexpr uint64_t kLow = 0xffffffffu;
  uint64_t c[4] = {e / 4 & kLow, e / 4 >> 32, draw, 0};
  uint64_t k[2] = {seed & kLow, seed >> 32};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = 0xd2511f53u * c[0];
    const uint64_t q = 0xcd9e8d57u * c[2];
    const uint64_t next[4] = {(q >> 32) ^ c[1] ^ k[0], q & kLow, (p >> 32) ^ c[3] ^ k[1], p & kLow};
    std::copy(next, next + 4, c);
    k[0] = (k[0] + 0x9e3779b9u) & kLow;
    k[1] = (k[1] + 0xbb67ae85u) & kLow;
  }
  return static_cast<uint32_t>(c[e % 4]);
}
inline uint64_t random_long_word(uint64_t seed, uint64_t e, uint32_t draw) {
  return uint64_t{random_word(seed, e, draw)} << 32 | random_word(seed, e, draw + 1);
}

/// What to make, before it is a plan for a type.
struct Request {
  Distribution distribution;
  double a = 0;  // low or the mean
  double b = 0;  // high or the standard deviation
  int64_t low = 0;
  int64_t high = 0;
};
inline Request uniform_request(double low, double high) {
  return {Distribution::Uniform, low, high, 0, 0};
}
inline Request normal_request(double mean, double stddev) {
  return {Distribution::Normal, mean, stddev, 0, 0};
}
inline Request integers_request(int64_t low, int64_t high) {
  return {Distribution::Integers, 0, 0, low, high};
}

inline RandomPlan plan_of(const Request& request, tenon::ScalarType type) {
  using namespace tenon::detail;
  RandomPlan plan;
  INFO(toString(type) << ", " << request.a << ", " << request.b << ", " << request.low << ", "
                      << request.high);
  switch (request.distribution) {
    case Distribution::Uniform:
      REQUIRE(plan_uniform(plan, type, request.a, request.b) == tenon::Error::Ok);
      break;
    case Distribution::Normal:
      REQUIRE(plan_normal(plan, type, request.a, request.b) == tenon::Error::Ok);
      break;
    case Distribution::Integers:
      REQUIRE(plan_integers_below(plan, type, request.low, request.high) == tenon::Error::Ok);
      break;
  }
  return plan;
}

/// The finite values of a type of 8 or 16 bits in their order, from all its codes. Without -0, which
/// std::sort puts before or after 0.
template <class T>
const std::vector<float>& finite_values() {
  static const std::vector<float> values = [] {
    std::vector<float> all;
    for (uint32_t code = 0; code < 1u << (8 * sizeof(T)); ++code) {
      const float value = T(static_cast<typename T::Bits>(code), T::from_bits());
      const bool negative_zero = value == 0 && std::signbit(value);
      if (value - value == 0 && !negative_zero) all.push_back(value);
    }
    std::sort(all.begin(), all.end());
    return all;
  }();
  return values;
}

/// The first of sorted values that is not less than `x`. Not std::lower_bound: _GLIBCXX_DEBUG then
/// looks at each value.
inline std::vector<float>::const_iterator first_from(const std::vector<float>& all, double x) {
  return std::partition_point(all.begin(), all.end(), [x](float v) { return v < x; });
}

/// The largest value of a floating type that is less than `x`, and the smallest that is not.
template <class T>
double largest_below(double x) {
  if constexpr (tenon::detail::IsSmallFloat<T>::value) {
    return *(first_from(finite_values<T>(), x) - 1);
  } else {
    const T value = static_cast<T>(x);
    return static_cast<double>(value) < x ? value
                                          : std::nextafter(value, -std::numeric_limits<T>::max());
  }
}
template <class T>
double smallest_from(double x) {
  if constexpr (tenon::detail::IsSmallFloat<T>::value) {
    return *first_from(finite_values<T>(), x);
  } else {
    const T value = static_cast<T>(x);
    return static_cast<double>(value) >= x ? value
                                           : std::nextafter(value, std::numeric_limits<T>::max());
  }
}
/// The largest value of a short type that is at most `x`.
template <class T>
float floor_to(float x) {
  const std::vector<float>& all = finite_values<T>();
  return *(std::partition_point(all.begin(), all.end(), [x](float v) { return v <= x; }) - 1);
}

/// The type that an element of type T is computed in.
template <class T>
using Computed = std::conditional_t<(std::numeric_limits<T>::digits > 24), double, float>;

template <class Real>
Real reference_uniform(uint64_t seed, uint64_t e, uint32_t draw, double low, double high) {
  constexpr bool kFloat = std::is_same_v<Real, float>;
  const Real u = kFloat ? static_cast<Real>(random_word(seed, e, draw) >> 8) * Real(0x1p-24)
                        : static_cast<Real>(random_long_word(seed, e, draw) >> 11) * Real(0x1p-53);
  const volatile Real product = u * static_cast<Real>(high - low);  // no fused multiply-add
  const Real value = product + static_cast<Real>(smallest_from<Real>(low));
  return std::min(value, static_cast<Real>(largest_below<Real>(high)));
}

/// An element and its partner. GCC is told not to fuse operations, as in the kernels.
template <class Real>
TENON_VECTORIZE_EXACT std::array<Real, 2> box_muller(
    typename tenon::detail::NormalMath<Real>::Word radius,
    typename tenon::detail::NormalMath<Real>::Word angle, Real mean, Real stddev) {
  TENON_NO_CONTRACTION
  Real pair[2];
  tenon::detail::cos_sin(pair[0], pair[1], angle);
  const Real r = std::sqrt(tenon::detail::minus_two_log<Real>(radius)) * stddev;
  return {r * pair[0] + mean, r * pair[1] + mean};
}

template <class Real>
Real reference_normal(uint64_t seed, uint64_t e, uint32_t draw, double mean, double stddev) {
  const uint64_t even = e & ~uint64_t{1};
  if constexpr (std::is_same_v<Real, float>) {
    return box_muller<float>(random_word(seed, even, draw), random_word(seed, even + 1, draw),
                             static_cast<float>(mean), static_cast<float>(stddev))[e % 2];
  } else {
    return box_muller<double>(random_long_word(seed, even, draw),
                              random_long_word(seed, even + 1, draw), mean, stddev)[e % 2];
  }
}

/// The 128-bit product, bit by bit.
inline void multiply_bitwise(uint64_t a, uint64_t b, uint64_t& upper, uint64_t& lower) {
  upper = lower = 0;
  for (int i = 63; i >= 0; --i) {
    upper = upper << 1 | lower >> 63;
    lower <<= 1;
    if ((b >> i & 1) == 0) continue;
    lower += a;
    if (lower < a) ++upper;
  }
}

inline int64_t reference_integer(uint64_t seed, uint64_t e, int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (uint32_t attempt = 0;; ++attempt) {
    uint64_t integer;
    uint64_t rest;
    uint64_t excess;  // 2^32 or 2^64 modulo the range
    if (range <= 1u << 20) {
      const uint64_t product = random_word(seed, e, attempt) * range;
      integer = product >> 32;
      rest = product & 0xffffffffu;
      excess = (uint64_t{1} << 32) % range;
    } else {
      multiply_bitwise(random_long_word(seed, e, 2 * attempt), range, integer, rest);
      excess = (UINT64_MAX % range + 1) % range;
    }
    if (rest >= excess) return static_cast<int64_t>(static_cast<uint64_t>(low) + integer);
  }
}

/// A real element.
template <class T>
T reference_part(const Request& request, uint64_t seed, uint64_t e, uint32_t draw) {
  using Real = Computed<T>;
  constexpr bool kShort = tenon::detail::IsSmallFloat<T>::value;
  if (request.distribution == Distribution::Integers) {
    const int64_t integer = reference_integer(seed, e, request.low, request.high);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(integer);
    } else {
      // The bounds of these tests' requests are below 2^53, and 2^24 for short types.
      const double first = smallest_from<T>(static_cast<double>(request.low));
      const double last = largest_below<T>(static_cast<double>(request.high));
      const double value = std::clamp(static_cast<double>(integer), first, last);
      return static_cast<T>(static_cast<Real>(value));
    }
  }
  if (request.distribution == Distribution::Uniform) {
    if constexpr (!std::is_integral_v<T>) {
      if (request.b - request.a < 0x1p-102) {  // in double, between values of the type
        const double u = static_cast<double>(random_long_word(seed, e, draw) >> 11) * 0x1p-53;
        const volatile double product = u * (request.b - request.a);
        const double value = product + smallest_from<T>(request.a);
        return static_cast<T>(std::min(value, static_cast<double>(largest_below<T>(request.b))));
      }
    }
    const Real value = reference_uniform<Real>(seed, e, draw, request.a, request.b);
    if constexpr (kShort) {
      return T(floor_to<T>(std::max(value, static_cast<float>(smallest_from<T>(request.a)))));
    } else {
      return static_cast<T>(value);
    }
  }
  const Real value = reference_normal<Real>(seed, e, draw, request.a, request.b);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using NumericLimits = std::numeric_limits<T>;
    if (value >= static_cast<Real>(NumericLimits::max())) return NumericLimits::max();
    if (value <= static_cast<Real>(NumericLimits::min())) return NumericLimits::min();
  }
  return static_cast<T>(value);
}

/// The bytes of elements [first, first + count).
inline Bytes reference_bytes(const Request& request, tenon::ScalarType type, uint64_t seed,
                             uint64_t first, int64_t count) {
  Bytes bytes;
  const auto append = [&](const auto& value) {
    const auto* from = reinterpret_cast<const unsigned char*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  };
  tenon::visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < count; ++i) {
          const uint64_t e = first + static_cast<uint64_t>(i);
          if constexpr (tenon::detail::IsComplexLike<T>::value) {
            using Part = typename tenon::detail::IsComplexLike<T>::Part;
            Request part = request;
            if (request.distribution == Distribution::Normal) part.b *= 0.70710678118654752;
            append(reference_part<Part>(part, seed, e, 0));
            append(request.distribution == Distribution::Integers
                       ? Part(0.0f)
                       : reference_part<Part>(part, seed, e, 2));
          } else {
            append(reference_part<T>(request, seed, e, 0));
          }
        }
      },
      [] {});
  return bytes;
}

}  // namespace tests
