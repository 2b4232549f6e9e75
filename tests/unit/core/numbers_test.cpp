// SPDX-License-Identifier: MIT
#include "tenon/core/numbers.h"

#include <cmath>

#include "support/catch.h"

namespace numbers_test {

using namespace tenon;

namespace {

enum class Kind { Ieee, FiniteOnly, UnsignedZero };

// A format as its specification gives it.
struct Spec {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Kind kind;

  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  uint32_t patterns() const { return 2 * sign_bit(); }

  // The value of a bit pattern, by the definition of the format.
  double value(uint32_t bits) const {
    const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    const uint32_t highest = (1u << exponent_bits) - 1;
    const uint32_t exponent = (bits >> mantissa_bits) & highest;
    const bool negative = (bits & sign_bit()) != 0;
    const double sign = negative ? -1 : 1;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (kind == Kind::Ieee && exponent == highest) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : nan;
    }
    if (kind == Kind::FiniteOnly && (bits | sign_bit()) == patterns() - 1) return nan;
    if (kind == Kind::UnsignedZero && bits == sign_bit()) return nan;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa + (1u << mantissa_bits),
                             static_cast<int>(exponent) - bias - mantissa_bits);
  }

  // The pattern of the largest finite value.
  uint32_t largest() const {
    uint32_t bits = sign_bit() - 1;
    while (!std::isfinite(value(bits))) --bits;
    return bits;
  }

  // The pattern that a magnitude beyond the largest finite value becomes.
  uint32_t overflow(bool negative) const {
    const uint32_t sign = negative ? sign_bit() : 0;
    if (kind == Kind::Ieee) return sign | (((1u << exponent_bits) - 1) << mantissa_bits);
    if (kind == Kind::FiniteOnly) return sign | (sign_bit() - 1);
    return sign_bit();
  }

  // The pattern of minus the value of `bits`.
  uint32_t negated(uint32_t bits) const {
    return bits == 0 && kind == Kind::UnsignedZero ? 0 : bits | sign_bit();
  }
};

// Calls f with a value of each format and its specification.
template <class F>
void for_each_format(F&& f) {
  f(Half(), Spec{"Half", 5, 10, 15, Kind::Ieee});
  f(BFloat16(), Spec{"BFloat16", 8, 7, 127, Kind::Ieee});
  f(Float8_e5m2(), Spec{"Float8_e5m2", 5, 2, 15, Kind::Ieee});
  f(Float8_e4m3fn(), Spec{"Float8_e4m3fn", 4, 3, 7, Kind::FiniteOnly});
  f(Float8_e5m2fnuz(), Spec{"Float8_e5m2fnuz", 5, 2, 16, Kind::UnsignedZero});
  f(Float8_e4m3fnuz(), Spec{"Float8_e4m3fnuz", 4, 3, 8, Kind::UnsignedZero});
}

// Counts failures and keeps the first one, so that a long loop needs a single CHECK.
struct Failures {
  int count = 0;
  double first = 0;
  void expect(bool holds, double about) {
    if (!holds && count++ == 0) first = about;
  }
};
#define CHECK_NONE(failures)                                 \
  do {                                                       \
    INFO("the first failure is about " << (failures).first); \
    CHECK((failures).count == 0);                            \
  } while (false)

template <class T>
T from_bits(uint32_t bits) {
  return T(static_cast<typename T::Bits>(bits), T::from_bits());
}

// The values are the same, the sign of a zero and NaN included.
bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

TEST_CASE("small_float: every bit pattern decodes to its format's value, and comes back from it") {
  for_each_format([](auto tag, const Spec& spec) {
    using T = decltype(tag);
    INFO(spec.name);
    // Of an IEEE format's NaN only the quiet bit may change; the others have one NaN a sign or one.
    const bool has_payload = spec.kind == Kind::Ieee;
    const uint32_t quiet = has_payload ? 1u << (spec.mantissa_bits - 1) : 0;
    Failures failures;
    for (uint32_t bits = 0; bits < spec.patterns(); ++bits) {
      const double value = spec.value(bits);
      const float decoded = from_bits<T>(bits);
      const uint32_t back = std::isnan(value) ? bits | quiet : bits;
      failures.expect(same(static_cast<double>(decoded), value), bits);
      failures.expect(T(decoded).x == back, bits);
      failures.expect(T(static_cast<double>(decoded)).x == back, bits);
      if (!std::isnan(value) || !has_payload) continue;
      // The float is quiet as well, the payload on the left of its mantissa.
      const uint32_t payload = bits & ((1u << spec.mantissa_bits) - 1);
      const uint32_t sign = (bits & spec.sign_bit()) != 0 ? 0x80000000u : 0;
      failures.expect(detail::float_bits(decoded) ==
                          (sign | 0x7fc00000u | (payload << (23 - spec.mantissa_bits))),
                      bits);
    }
    CHECK_NONE(failures);
    // A NaN whose payload is below what the format stores must not turn into infinity.
    CHECK(std::isnan(static_cast<float>(T(detail::float_from_bits(0x7f800001u)))));
    CHECK(std::isnan(static_cast<float>(T(std::numeric_limits<double>::quiet_NaN()))));
  });
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "small_float: the middle of two neighbours rounds to the even one, beside it up or down") {
  for_each_format([](auto tag, const Spec& spec) {
    using T = decltype(tag);
    INFO(spec.name);
    const float infinity = std::numeric_limits<float>::infinity();
    const double wide_infinity = std::numeric_limits<double>::infinity();
    Failures floats, doubles, inexact;
    for (uint32_t low = 0; low < spec.largest(); ++low) {
      const uint32_t high = low + 1;
      const uint32_t even = low % 2 == 0 ? low : high;
      const double middle = (spec.value(low) + spec.value(high)) / 2;
      const auto middle_float = static_cast<float>(middle);
      inexact.expect(static_cast<double>(middle_float) == middle, low);

      for (const int sign : {1, -1}) {
        const auto code = [&](uint32_t bits) { return sign < 0 ? spec.negated(bits) : bits; };
        const auto s = static_cast<float>(sign);
        floats.expect(T(s * middle_float).x == code(even), low);
        floats.expect(T(s * std::nextafter(middle_float, -infinity)).x == code(low), low);
        floats.expect(T(s * std::nextafter(middle_float, infinity)).x == code(high), low);
        // Float cannot tell these from the middle: a detour through it would round to even.
        doubles.expect(T(sign * middle).x == code(even), low);
        doubles.expect(T(sign * std::nextafter(middle, -wide_infinity)).x == code(low), low);
        doubles.expect(T(sign * std::nextafter(middle, wide_infinity)).x == code(high), low);
      }
    }
    CHECK_NONE(inexact);  // the premise: every middle is a float
    CHECK_NONE(floats);
    CHECK_NONE(doubles);
  });
}

TEST_CASE("small_float: the ends of the range: zero, and overflow as the format has it") {
  for_each_format([](auto tag, const Spec& spec) {
    using T = decltype(tag);
    INFO(spec.name);
    const double infinity = std::numeric_limits<double>::infinity();
    const double half = spec.value(1) / 2;
    const uint32_t largest = spec.largest();
    const double middle = spec.value(largest) + (spec.value(largest) - spec.value(largest - 1)) / 2;
    // The value after the largest would have the next pattern, so the middle goes to the even one.
    const uint32_t overflow = spec.overflow(false);
    const bool keeps_middle = largest % 2 == 0;
    CHECK(keeps_middle == (spec.kind == Kind::FiniteOnly));
    const std::pair<double, uint32_t> rows[] = {
        {0.0, 0},
        {std::numeric_limits<double>::denorm_min(), 0},
        {double{std::numeric_limits<float>::denorm_min()}, 0},
        {half, 0},
        {std::nextafter(half, 1.0), 1},
        {double{std::nextafter(static_cast<float>(middle), 0.0f)}, largest},
        {std::nextafter(middle, 0.0), largest},
        {middle, keeps_middle ? largest : overflow},
        {std::nextafter(middle, infinity), overflow},
        {double{std::numeric_limits<float>::max()}, overflow},
        {std::numeric_limits<double>::max(), overflow},
        {infinity, overflow}};
    for (const auto& [value, code] : rows) {
      INFO("value " << value);
      const uint32_t negative = code == overflow ? spec.overflow(true) : spec.negated(code);
      CHECK(T(value).x == code);
      CHECK(T(-value).x == negative);
      if (value <= std::numeric_limits<float>::max() &&
          static_cast<double>(static_cast<float>(value)) == value) {
        CHECK(T(static_cast<float>(value)).x == code);
        CHECK(T(static_cast<float>(-value)).x == negative);
      }
    }
    CHECK(T(std::numeric_limits<float>::infinity()).x == overflow);
  });
}

TEST_CASE("small_float: a 64-bit integer becomes BFloat16 with one rounding") {
  // Every midpoint of two neighbours from 2^8 to 2^63, and the integers beside it. A double holds
  // 53 bits, so beyond 2^53 rounding through it would lose the last bit and with it the direction.
  Failures failures;
  int beyond_double = 0;
  for (int shift = 1; shift <= 55; ++shift) {
    for (int64_t m = 128; m < 256; ++m) {
      const int64_t low = m << shift;
      const int64_t half = int64_t{1} << (shift - 1);
      const int64_t middle = low + half;
      const double low_value = std::ldexp(static_cast<double>(m), shift);
      const double high_value = std::ldexp(static_cast<double>(m + 1), shift);
      const auto rounds_to = [&](int64_t i, double value) {
        const auto about = static_cast<double>(i);
        failures.expect(static_cast<double>(BFloat16(i)) == value, about);
        failures.expect(static_cast<double>(BFloat16(-i)) == -value, -about);
        failures.expect(static_cast<double>(BFloat16(static_cast<uint64_t>(i))) == value, about);
      };
      rounds_to(low, low_value);
      rounds_to(middle, m % 2 == 0 ? low_value : high_value);
      rounds_to(middle + 1, high_value);
      rounds_to(middle - 1, low_value);
      if (static_cast<double>(middle + 1) == static_cast<double>(middle)) ++beyond_double;
    }
  }
  CHECK_NONE(failures);
  CHECK(beyond_double > 0);

  // Beyond the range they overflow.
  const std::pair<int64_t, int> rows[] = {
      {65519, 0x7bff}, {65520, 0x7c00}, {-65520, 0xfc00}, {INT64_MAX, 0x7c00}, {INT64_MIN, 0xfc00}};
  for (const auto& [value, code] : rows) CHECK(Half(value).x == code);
  CHECK(static_cast<double>(BFloat16(INT64_MAX)) == 9223372036854775808.0);
  CHECK(static_cast<double>(BFloat16(INT64_MIN)) == -9223372036854775808.0);
  CHECK(static_cast<double>(BFloat16(UINT64_MAX)) == 18446744073709551616.0);
  // 2^63 + 2^55 is the middle of 2^63 and 2^63 + 2^56.
  const uint64_t middle = (uint64_t{1} << 63) + (uint64_t{1} << 55);
  CHECK(BFloat16(middle).x == 0x5f00);
  CHECK(BFloat16(middle + 1).x == 0x5f01);
  CHECK(BFloat16(middle - 1).x == 0x5f00);
}

TEST_CASE("small_float: numeric_limits are those of the format") {
  for_each_format([](auto tag, const Spec& spec) {
    using T = decltype(tag);
    using Limits = std::numeric_limits<T>;
    INFO(spec.name);
    double max = 0;
    double smallest = std::numeric_limits<double>::infinity();
    double after_one = std::numeric_limits<double>::infinity();
    for (uint32_t bits = 0; bits < spec.patterns(); ++bits) {
      const double v = spec.value(bits);
      if (!std::isfinite(v)) continue;
      if (v > max) max = v;
      if (v > 0 && v < smallest) smallest = v;
      if (v > 1 && v < after_one) after_one = v;
    }
    const auto value = [](T v) { return static_cast<double>(static_cast<float>(v)); };
    CHECK(value(Limits::max()) == max);
    CHECK(value(Limits::lowest()) == -max);
    CHECK(value(Limits::denorm_min()) == smallest);
    CHECK(value(Limits::min()) == std::ldexp(1.0, 1 - spec.bias));
    CHECK(value(Limits::epsilon()) == after_one - 1);
    CHECK(std::isnan(value(Limits::quiet_NaN())));
    CHECK(Limits::has_infinity == (spec.kind == Kind::Ieee));
    CHECK(value(Limits::infinity()) ==
          (spec.kind == Kind::Ieee ? std::numeric_limits<double>::infinity() : 0.0));
    CHECK(int{Limits::digits} == spec.mantissa_bits + 1);
    STATIC_REQUIRE((Limits::is_specialized && Limits::is_signed && Limits::has_quiet_NaN));
    STATIC_REQUIRE((!Limits::is_integer && !Limits::is_exact && Limits::radix == 2));
  });
}

}  // namespace numbers_test
