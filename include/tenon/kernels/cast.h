// SPDX-License-Identifier: MIT
// Converts elements of any type to any other, and single elements from and to Scalar. The
// definition of what a cast gives; convert.h has faster ways to the same.
//
// Every element goes through the one of four exact types that holds it, and is rounded once from
// there: a row of code per type, instead of one per pair of types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/scalar.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// How elements become those of another type.
enum class CastMode : uint8_t {
  /// As in C++, for the pairs that canCast() allows: integers wrap, floating values round.
  Checked,
  /// As in C++, for all pairs, without undefined behaviour: floating values are truncated to
  /// integers, those out of range give the nearest end and NaN gives 0; imaginary parts are
  /// dropped; all but 0 is true.
  Truncate,
  /// Floating values are rounded to nearest even, and whatever is out of range, infinities
  /// included, gives the nearest (finite) end; NaN stays NaN, or 0 for integers.
  Saturate,
};

constexpr const char* toString(CastMode mode) noexcept {
  return mode == CastMode::Checked    ? "Checked"
         : mode == CastMode::Truncate ? "Truncate"
                                      : "Saturate";
}

namespace detail {

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

/// Element i of memory that may be misaligned. Any byte but 0 is a true Bool: such bytes come in
/// from outside, and reading one as a C++ bool would be undefined.
template <class T>
T load_element(const void* data, int64_t i) noexcept {
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
void store_element(void* data, int64_t i, T value) noexcept {
  std::memcpy(static_cast<unsigned char*>(data) + i * int64_t{sizeof(T)}, &value, sizeof(T));
}

template <class T>
TENON_VECTORIZE void load_to_exact(const void* TENON_RESTRICT in, int64_t count,
                                   void* TENON_RESTRICT exact) noexcept {
  using Exact = ExactType<T>;
  for (int64_t i = 0; i < count; ++i) {
    store_element<Exact>(exact, i, static_cast<Exact>(load_element<T>(in, i)));
  }
}

/// Loads `count` elements of `type` as their exact type; `exact` has room for 16 bytes each.
TENON_LAZY_KERNEL void load_exact(ScalarType type, const void* in, int64_t count,
                                  void* exact) noexcept {
  visit(
      type, [&](auto tag) { load_to_exact<typename decltype(tag)::type>(in, count, exact); },
      [] {});
}

template <class T, class Exact>
TENON_VECTORIZE void store_from(void* TENON_RESTRICT out, int64_t count,
                                const void* TENON_RESTRICT exact) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = load_element<Exact>(exact, i);
    if constexpr (IsComplexLike<T>::value && !IsComplexLike<Exact>::value) {
      store_element<T>(out, i, T(static_cast<typename T::value_type>(value)));
    } else {
      store_element<T>(out, i, static_cast<T>(value));
    }
  }
}

/// Stores `count` values of an exact type as elements of `type`, where canCast allows that. Integers
/// out of range wrap, as in C++; to Bool, all but 0 is true.
TENON_LAZY_KERNEL void store_exact(ScalarType type, void* out, int64_t count, ScalarType exact_type,
                                   const void* exact) noexcept {
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        constexpr bool complex_target = IsComplexLike<T>::value;
        if (exact_type == ScalarType::Long) {
          store_from<T, int64_t>(out, count, exact);
        } else if (exact_type == ScalarType::UInt64) {
          store_from<T, uint64_t>(out, count, exact);
        } else if constexpr (!std::is_integral_v<T>) {
          if (exact_type == ScalarType::Double) {
            store_from<T, double>(out, count, exact);
          } else if constexpr (complex_target) {
            store_from<T, complex<double>>(out, count, exact);
          }
        }
      },
      [] {});
}

/// What turns an exact value into one that store_exact() may convert, for a target type.
struct CastTarget {
  bool integral;  ///< an integer, not Bool
  bool is_bool;
  bool is_real;
  int64_t lowest;  ///< of an integer type; its bits for UInt64 in `highest`
  uint64_t highest;
  double largest;  ///< finite, of a floating type or a complex one's parts
};

TENON_LAZY CastTarget cast_target(ScalarType type) noexcept {
  CastTarget target{
      isIntegralType(type, false), type == ScalarType::Bool, !isComplexType(type), 0, 0, 0};
  visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (IsComplexLike<T>::value) {
          using V = typename T::value_type;
          target.largest = static_cast<double>(std::numeric_limits<V>::max());
        } else if constexpr (std::is_integral_v<T>) {
          constexpr T lowest = std::numeric_limits<T>::lowest();
          if constexpr (std::is_signed_v<T>) target.lowest = int64_t{lowest};
          target.highest = static_cast<uint64_t>(std::numeric_limits<T>::max());
        } else {
          target.largest = static_cast<double>(std::numeric_limits<T>::max());
        }
      },
      [] {});
  return target;
}

/// A floating value as an integer of [lowest, highest]: truncated, or rounded to nearest even. NaN
/// gives 0, in two's complement bits.
inline uint64_t to_integer_bits(double value, const CastTarget& target, bool round) noexcept {
  if (value != value) return 0;
  if (value <= static_cast<double>(target.lowest)) return static_cast<uint64_t>(target.lowest);
  if (value >= static_cast<double>(target.highest)) return target.highest;
  const bool negative = value < 0;
  const double magnitude = negative ? -value : value;
  auto whole = static_cast<uint64_t>(magnitude);
  const double rest = magnitude - static_cast<double>(whole);
  if (round && (rest > 0.5 || (rest == 0.5 && whole % 2 != 0))) ++whole;
  return negative ? uint64_t{0} - whole : whole;
}

inline double clamp_finite(double value, double largest) noexcept {
  return value > largest ? largest : value < -largest ? -largest : value;
}

/// Applies what a mode asks beyond C++ conversions to `count` exact values, in place, and returns
/// their exact type afterwards.
TENON_LAZY ScalarType adjust_exact(const CastTarget& target, CastMode mode, ScalarType from,
                                   void* exact, int64_t count) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  if (from == ScalarType::ComplexDouble) {
    if (target.is_real) {
      for (int64_t i = 0; i < count; ++i) {
        const auto value = load_element<complex<double>>(exact, i);
        const bool imaginary = target.is_bool && value.imag() != 0;
        store_element<double>(exact, i, imaginary ? 1.0 : value.real());
      }
      return adjust_exact(target, mode, ScalarType::Double, exact, count);
    }
    if (saturate) return adjust_exact(target, mode, ScalarType::Double, exact, 2 * count), from;
  } else if (from == ScalarType::Double) {
    if (target.integral || target.is_bool) {
      for (int64_t i = 0; i < count; ++i) {
        const auto value = load_element<double>(exact, i);
        const uint64_t bits = target.is_bool ? static_cast<uint64_t>(value != 0)
                                             : to_integer_bits(value, target, saturate);
        store_element<uint64_t>(exact, i, bits);
      }
      return ScalarType::UInt64;
    }
    if (saturate) {
      for (int64_t i = 0; i < count; ++i) {
        store_element<double>(exact, i,
                              clamp_finite(load_element<double>(exact, i), target.largest));
      }
    }
  } else if (saturate && target.integral) {
    for (int64_t i = 0; i < count; ++i) {
      auto bits = load_element<uint64_t>(exact, i);
      const auto value = static_cast<int64_t>(bits);
      const bool negative = from == ScalarType::Long && value < 0;
      if (negative ? value < target.lowest : bits > target.highest) {
        bits = negative ? static_cast<uint64_t>(target.lowest) : target.highest;
      }
      store_element<uint64_t>(exact, i, bits);
    }
  } else if (saturate && !target.is_bool) {
    // Only the smallest formats end below 64-bit integers.
    for (int64_t i = 0; i < count; ++i) {
      const auto bits = load_element<uint64_t>(exact, i);
      const auto value = static_cast<int64_t>(bits);
      const double nearest =
          from == ScalarType::Long ? static_cast<double>(value) : static_cast<double>(bits);
      if (clamp_finite(nearest, target.largest) == nearest) continue;
      const auto limit = static_cast<int64_t>(target.largest);
      store_element<int64_t>(exact, i, nearest < 0 ? -limit : limit);
    }
  }
  return from;
}

/// Converts `count` consecutive elements of any types, one by one.
TENON_LAZY_KERNEL void cast_exactly(ScalarType to, void* out, ScalarType from, const void* in,
                                    int64_t count, CastMode mode) noexcept {
  constexpr int64_t kChunk = 256;
  alignas(16) unsigned char exact[kChunk * 16];
  const auto out_size = static_cast<int64_t>(elementSize(to));
  const auto in_size = static_cast<int64_t>(elementSize(from));
  const CastTarget target = cast_target(to);
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = count - i < kChunk ? count - i : kChunk;
    load_exact(from, static_cast<const unsigned char*>(in) + i * in_size, n, exact);
    const ScalarType kind = adjust_exact(target, mode, exact_type(from), exact, n);
    store_exact(to, static_cast<unsigned char*>(out) + i * out_size, n, kind, exact);
  }
}

TENON_LAZY Scalar load_scalar(ScalarType type, const void* element) noexcept {
  alignas(16) unsigned char exact[16] = {};
  load_exact(type, element, 1, exact);
  switch (exact_type(type)) {
    case ScalarType::Long: {
      const auto value = load_element<int64_t>(exact, 0);
      return type == ScalarType::Bool ? Scalar(value != 0) : Scalar(value);
    }
    case ScalarType::UInt64: return load_element<uint64_t>(exact, 0);
    case ScalarType::Double: return load_element<double>(exact, 0);
    default: return load_element<complex<double>>(exact, 0);
  }
}

/// Writes a value that source code gave to `element`, of elementSize(type) bytes.
/// Errors: InvalidType for Undefined, for a floating value to an integral type or Bool, and for a
/// complex one to a real type; InvalidArgument when the type cannot keep the value. Rounding is
/// keeping.
TENON_LAZY Error store_scalar(ScalarType type, const Scalar& value, void* element) noexcept {
  if (TENON_UNLIKELY(!isValidType(type))) {
    return fail(Error::InvalidType, {type, " is not an element type"});
  }
  const bool lossy_kind = (value.isComplex() && !isComplexType(type)) ||
                          (value.isFloatingPoint() && isIntegralType(type, true));
  if (TENON_UNLIKELY(lossy_kind)) {
    return fail(Error::InvalidType, {"the ", value.isComplex() ? "complex" : "floating", " value ",
                                     value, " cannot be cast to ", type});
  }
  alignas(16) unsigned char exact[16] = {};
  value.store_exact(exact);
  store_exact(type, element, 1, exact_type(value.type()), exact);
  if (TENON_UNLIKELY(!load_scalar(type, element).keeps(value))) {
    return fail(Error::InvalidArgument, {"the value ", value, " does not fit ", type});
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
