// SPDX-License-Identifier: MIT
// CastMode, casts of one number, and conversion of single elements from and to Scalar. convert.h
// casts many elements.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/numbers.h"
#include "tenon/core/scalar.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// How elements are converted to another type. Assumes the default rounding mode, to nearest even.
/// Another mode changes some conversions: with FE_UPWARD, 0.5f saturates to the Short 1, and small
/// Halfs depend on the processor; see docs/performance.md. Conversions set the same floating-point
/// flags as C++'s.
enum class CastMode : uint8_t {
  /// Converts as C++ does, for the pairs that canCast() allows. The pair of dtypes is checked, not
  /// the elements: integers out of range wrap, floating values round, perhaps to infinity. Creators
  /// that take values check the values too: each must fit.
  Checked,
  /// Converts as C++ does, for all pairs, but without undefined behaviour: floating values are
  /// truncated to integers; values out of range are clamped and NaN gives 0; imaginary parts are
  /// dropped; nonzero is true.
  Truncate,
  /// Floating values are rounded to nearest even; values out of range, infinities included, are
  /// clamped to the finite range; NaN stays NaN, or is 0 for integers.
  Saturate,
};

/// The name, such as "Saturate".
constexpr const char* toString(CastMode mode) noexcept {
  return mode == CastMode::Checked    ? "Checked"
         : mode == CastMode::Truncate ? "Truncate"
                                      : "Saturate";
}

namespace detail {

struct ElementPlan;

/// Executes a converting plan: cast_elements(). Null where the caller knows that the types are
/// equal, so that a program that never casts does not link the casts.
using CastFunction = void (*)(const ElementPlan& plan) noexcept;

/// The type that holds every value of T: int64_t, uint64_t, double or complex<double>.
template <class T>
using ExactType = std::conditional_t<
    IsComplexLike<T>::value, complex<double>,
    std::conditional_t<!std::is_integral_v<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>>;

constexpr ScalarType exact_type(ScalarType type) noexcept {
  return isComplexType(type)          ? ScalarType::ComplexDouble
         : isFloatingType(type)       ? ScalarType::Double
         : type == ScalarType::UInt64 ? ScalarType::UInt64
                                      : ScalarType::Long;
}

/// The type of a complex element's parts, else T.
constexpr ScalarType part_type_of(ScalarType type) noexcept {
  static_assert(number_of(ScalarType::ComplexHalf) == number_of(ScalarType::Half) + 3);
  return isComplexType(type) ? static_cast<ScalarType>(number_of(type) - 3) : type;
}

/// Whether the code of -0 is the type's only NaN.
constexpr bool has_unsigned_zero(ScalarType type) noexcept {
  return type == ScalarType::Float8_e5m2fnuz || type == ScalarType::Float8_e4m3fnuz;
}

/// The range and precision of a real type.
struct NumberFormat {
  double lowest = 0;
  double largest = 0;    // finite
  int digits = 0;        // bits of precision, without the sign
  int min_exponent = 0;  // as std::numeric_limits
};
TENON_TEMPLATE_INLINE NumberFormat number_format(ScalarType type) noexcept {
  return visit(
      type,
      [](auto tag) noexcept -> NumberFormat {
        using T = typename decltype(tag)::type;
        using Limits = std::numeric_limits<T>;
        if constexpr (IsComplexLike<T>::value) {
          return {};
        } else {
          return {static_cast<double>(Limits::lowest()), static_cast<double>((Limits::max)()),
                  Limits::digits, Limits::min_exponent};
        }
      },
      []() noexcept -> NumberFormat { return {}; });
}

/// The largest finite number of a real type; an integer's is rounded to double.
inline double largest_number(ScalarType type) noexcept {
  return visit(
      type,
      [](auto tag) noexcept -> double {
        using T = typename decltype(tag)::type;
        if constexpr (IsComplexLike<T>::value)
          return 0;
        else
          return static_cast<double>((std::numeric_limits<T>::max)());
      },
      []() noexcept -> double { return 0; });
}

/// The limits of a cast's target.
struct CastLimits {
  int64_t lowest;    ///< the lowest value of an integer target
  int64_t below;     ///< the result for values below it
  uint64_t highest;  ///< the highest value of an integer target
  double largest;    ///< the largest finite value of a floating target
  bool rounding;     ///< whether floating values are rounded to integers, or truncated
};

TENON_TEMPLATE_INLINE CastLimits cast_limits(ScalarType to, ScalarType from,
                                             CastMode mode) noexcept {
  CastLimits limits;
  const bool is_signed = to >= ScalarType::Char && to <= ScalarType::Long;
  limits.highest = UINT64_MAX >> (8 * (8 - elementSize(to)) + is_signed);
  limits.lowest = is_signed ? -1 - static_cast<int64_t>(limits.highest) : 0;
  limits.below = limits.lowest;
  limits.rounding = mode == CastMode::Saturate;
  limits.largest = limits.rounding && !isIntegralType(to, true) ? largest_number(to) : 0;
  if (from == ScalarType::UInt64 && isIntegralType(to, false)) {
    // As int64_t, values above INT64_MAX are negative.
    limits.lowest = 0;
    limits.below = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  }
  return limits;
}
// Casts of one number, shared with CUDA kernels.

/// Converts as C++ does.
template <class T, class F>
TENON_ALWAYS_INLINE T plain(F value, const CastLimits&) noexcept {
  return static_cast<T>(value);
}
/// Narrows to double by rounding to odd: a second rounding, to a shorter type, then gives the same
/// as a single one.
template <class F>
TENON_ALWAYS_INLINE double long_to_odd_double(F value, const CastLimits&) noexcept {
  return round_to_odd_double(value);
}
TENON_ALWAYS_INLINE float double_to_odd_float(double value, const CastLimits&) noexcept {
  return round_to_odd(value);
}

/// Keeps GCC from converting before clamping, which would set FE_INVALID.
template <class F>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE F before_conversion(F clamped) noexcept {
#if !TENON_PORTABLE && !defined(__CUDACC__)
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(clamped);
#endif
#endif
  return clamped + F{0};
}

/// Float to integers of up to 16 bits, truncated or rounded to nearest even, or (kInt) to Int,
/// truncated. Clamps; NaN gives 0.
template <bool kRound, bool kInt>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE int32_t float_to_int(float value,
                                                           const CastLimits& limits) noexcept {
  // NaN is found by its bits, since comparisons would set FE_INVALID.
  const uint32_t bits = float_bits(value);
  const uint32_t number = if_greater(bits & 0x7fffffffu, 0x7f800000u, 0, bits);
  if constexpr (kInt) {
    // Clamps by comparing bits, which order numbers of one sign: the loop stays without branches.
    // The largest float that fits is 2^31 - 128; converting another number would set FE_INEXACT.
    // With constant limits GCC would convert before clamping.
    const uint32_t least = 0x80000000u | float_bits(static_cast<float>(limits.lowest));
    const uint32_t most = float_bits(static_cast<float>(limits.highest & ~uint64_t{127}));
    const auto below = static_cast<int32_t>(number) > static_cast<int32_t>(most) ? most : number;
    const float clamped = float_from_bits(below < least ? below : least);
    const auto whole = static_cast<uint32_t>(static_cast<int32_t>(clamped));
    return static_cast<int32_t>(whole | if_greater(number, most, 0x7fffffffu, 0));
  }
  const auto lowest = static_cast<float>(limits.lowest);
  const auto highest = static_cast<float>(static_cast<int64_t>(limits.highest));
  const float above = float_from_bits(number) < lowest ? lowest : float_from_bits(number);
  const float within = above > highest ? highest : above;
  // The sum's last bit is worth 1: the addition rounds.
  if constexpr (kRound) return static_cast<int32_t>(float_bits(within + 12582912.0f) - 0x4b400000u);
  return static_cast<int32_t>(before_conversion(within));
}

TENON_ALWAYS_INLINE int32_t clamp_int(int32_t value, const CastLimits& limits) noexcept {
  const auto least = static_cast<int32_t>(limits.lowest > INT32_MIN ? limits.lowest : INT32_MIN);
  const auto most = static_cast<int32_t>(limits.highest < INT32_MAX ? limits.highest : INT32_MAX);
  return value < least ? least : value > most ? most : value;
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE int64_t clamp_long(int64_t value,
                                                         const CastLimits& limits) noexcept {
  const auto most = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  return value < limits.lowest ? limits.below : value > most ? most : value;
}

/// Double to integers of up to 32 bits, truncated. Works as float_to_int() does.
TENON_ALWAYS_INLINE int32_t double_to_int(double value, const CastLimits& limits) noexcept {
  const uint64_t bits = double_bits(value);
  const double number = double_from_bits(if_greater(bits & INT64_MAX, kDoubleInfinity, 0, bits));
  const auto lowest = static_cast<double>(limits.lowest);
  const auto highest = static_cast<double>(static_cast<int64_t>(limits.highest));
  const double above = number < lowest ? lowest : number;
  const double within = above > highest ? highest : above;
  return static_cast<int32_t>(before_conversion(within));
}

/// Double to integers of up to 64 bits, in two's complement; truncated, or rounded with
/// limits.rounding.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE uint64_t double_to_long(double value,
                                                              const CastLimits& limits) noexcept {
  constexpr uint64_t kTwoTo63 = 0x43e0000000000000u;  // as a double
  constexpr uint64_t kTwoTo64 = 0x43f0000000000000u;
  const uint64_t bits = double_bits(value);
  const uint64_t magnitude = bits & INT64_MAX;
#if defined(__clang__)
  // Makes values out of range 0, since Clang converts before the branch, which would set
  // FE_INVALID. Clang would drop a mask that comes after the branch. GCC does not need a mask,
  // which would take it a fifth more instructions.
  value = double_from_bits(if_greater(kTwoTo63, magnitude, bits, 0));
  auto whole = static_cast<int64_t>(value);
#endif
  // Without the hint, -O3 removes the branch, and rounding takes 1.6 times as long, and with Clang
  // 10 times as long.
  if (TENON_UNLIKELY(magnitude >= kTwoTo63)) {
    if (magnitude > kDoubleInfinity) return 0;
    if (bits != magnitude) return static_cast<uint64_t>(limits.lowest);
    const bool is_within = magnitude < kTwoTo64 && limits.highest == UINT64_MAX;
    return is_within ? bits << 11 | uint64_t{1} << 63 : limits.highest;
  }
#if !defined(__clang__)
  auto whole = static_cast<int64_t>(value);
#endif
  if (limits.rounding) {
    const uint64_t rest = double_bits(value - static_cast<double>(whole)) & INT64_MAX;
    const uint64_t even = 0x3fe0000000000000u - (static_cast<uint64_t>(whole) & 1u);
    if (rest > even) whole += value < 0 ? -1 : 1;
  }
  return static_cast<uint64_t>(clamp_long(whole, limits));
}

TENON_HOST_DEVICE TENON_ALWAYS_INLINE float clamp_float(float value,
                                                        const CastLimits& limits) noexcept {
  const uint32_t largest = float_bits(static_cast<float>(limits.largest));
  const uint32_t bits = float_bits(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t clamped = if_greater(magnitude, largest, largest | (bits - magnitude), bits);
  return float_from_bits(if_greater(magnitude, 0x7f800000u, bits, clamped));
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double clamp_double(double value,
                                                          const CastLimits& limits) noexcept {
  const uint64_t largest = double_bits(limits.largest);
  const uint64_t bits = double_bits(value);
  const uint64_t magnitude = bits & INT64_MAX;
  const uint64_t clamped = if_greater(magnitude, largest, largest | (bits - magnitude), bits);
  return double_from_bits(if_greater(magnitude, kDoubleInfinity, bits, clamped));
}

/// Converts to Bool by the bits: NaN is true, both zeros are false.
template <class F>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE bool is_nonzero(F value, const CastLimits&) noexcept {
  if constexpr (std::is_same_v<F, float>) return float_bits(value) << 1 != 0;
  if constexpr (std::is_same_v<F, double>) return double_bits(value) << 1 != 0;
  return value != 0;
}

/// Element i of possibly misaligned memory. Any nonzero byte is a true Bool: foreign memory may
/// have bytes above 1, and to read them as a C++ bool would be undefined.
template <class T>
TENON_ALWAYS_INLINE T load_element(const void* data, int64_t i) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const unsigned char*>(data)[i] != 0;
  } else {
    T value;
    std::memcpy(&value, static_cast<const unsigned char*>(data) + i * int64_t{sizeof(T)},
                sizeof(T));
    return value;
  }
}
template <class T>
TENON_ALWAYS_INLINE void store_element(void* data, int64_t i, T value) noexcept {
  std::memcpy(static_cast<unsigned char*>(data) + i * int64_t{sizeof(T)}, &value, sizeof(T));
}

/// An element of 1, 2, 4 or 8 bytes as a number.
inline uint64_t load_word(const void* element, size_t size) noexcept {
  return size == 1   ? load_element<uint8_t>(element, 0)
         : size == 2 ? load_element<uint16_t>(element, 0)
         : size == 4 ? load_element<uint32_t>(element, 0)
                     : load_element<uint64_t>(element, 0);
}

/// Loads `count` elements of `type` as their exact type; `exact` has room for 16 bytes each.
TENON_COMPILED_ONCE void load_exact(ScalarType type, const void* in, int64_t count,
                                    void* exact) noexcept {
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < count; ++i) {
          store_element(exact, i, static_cast<ExactType<T>>(load_element<T>(in, i)));
        }
      },
      [] {});
}

/// Stores `count` values of an exact type as elements of `type`, where canCast allows that.
/// Integers out of range wrap, as in C++; nonzero is true.
TENON_COMPILED_ONCE void store_exact(ScalarType type, void* out, int64_t count,
                                     ScalarType exact_type, const void* exact) noexcept {
  const auto store = [&](auto to, auto from) {
    using T = typename decltype(to)::type;
    using From = decltype(from);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = load_element<From>(exact, i);
      if constexpr (IsComplexLike<T>::value && !IsComplexLike<From>::value) {
        store_element(out, i, T(static_cast<typename T::value_type>(value)));
      } else {
        store_element(out, i, static_cast<T>(value));
      }
    }
  };
  visit(
      type,
      [&](auto to) {
        using T = typename decltype(to)::type;
        if (exact_type == ScalarType::Long) store(to, int64_t());
        if (exact_type == ScalarType::UInt64) store(to, uint64_t());
        if constexpr (!std::is_integral_v<T>) {
          if (exact_type == ScalarType::Double) store(to, double());
        }
        if constexpr (IsComplexLike<T>::value) {
          if (exact_type == ScalarType::ComplexDouble) store(to, complex<double>());
        }
      },
      [] {});
}

TENON_TEMPLATE_INLINE Scalar load_scalar(ScalarType type, const void* element) noexcept {
  alignas(16) unsigned char exact[16] = {};
  load_exact(type, element, 1, exact);
  switch (number_of(exact_type(type))) {
    case number_of(ScalarType::Long): {
      const auto value = load_element<int64_t>(exact, 0);
      return type == ScalarType::Bool ? Scalar(value != 0) : Scalar(value);
    }
    case number_of(ScalarType::UInt64): return load_element<uint64_t>(exact, 0);
    case number_of(ScalarType::Double): return load_element<double>(exact, 0);
    default: return load_element<complex<double>>(exact, 0);
  }
}

/// Writes a Scalar to `element`, of elementSize(type) bytes.
/// Errors: InvalidType for Undefined, for a floating value to an integral type or Bool, and for a
/// complex one to a real type; InvalidArgument when the type cannot represent the value, rounding
/// aside. With kIsFloat the type must be Float: the code for other types, 6.6 KB on a Cortex-M, is
/// then not linked.
template <bool kIsFloat = false>
Error store_scalar(ScalarType type, const Scalar& value, void* element) noexcept {
  if (!isValidType(type)) {
    return fail(Error::InvalidType, type, " is not an element type");
  }
  const bool lossy_kind = (value.isComplex() && !isComplexType(type)) ||
                          (value.isFloatingPoint() && isIntegralType(type, true));
  if (lossy_kind) {
    return fail(Error::InvalidType, "the ", value.isComplex() ? "complex" : "floating", " value ",
                value, " cannot be cast to ", type);
  }
  bool keeps = false;
  if constexpr (kIsFloat) {
    keeps = value.fits<float>();
    if (keeps) store_element(element, 0, value.to<float>());
  } else {
    alignas(16) unsigned char exact[16] = {};
    value.store_exact(exact);
    store_exact(type, element, 1, exact_type(value.type()), exact);
    keeps = load_scalar(type, element).keeps(value);
  }
  if (!keeps) {
    return fail(Error::InvalidArgument, "the value ", value, " does not fit ", type);
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
