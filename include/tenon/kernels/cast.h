// SPDX-License-Identifier: MIT
// CastMode, and single elements to and from Scalar. convert.h casts elements.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/scalar.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// How elements become those of another type. Rounding is to nearest even if the program's rounding
/// mode is, as by default; another mode changes some conversions, see docs/performance.md.
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

struct CopyPlan;

namespace detail {

/// Copies what the innermost dimensions of a plan hold, and converts it: cast_elements(), or null
/// where the types are equal, so that a program which never casts does not link the casts.
using CastFunction = void (*)(const CopyPlan& plan, char* dst, const char* src) noexcept;

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

/// The type of a complex element's parts, else the element's.
constexpr ScalarType part_type_of(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::ComplexHalf: return ScalarType::Half;
    case ScalarType::ComplexFloat: return ScalarType::Float;
    case ScalarType::ComplexDouble: return ScalarType::Double;
    default: return type;
  }
}

/// The values of a real type.
struct NumberFormat {
  double lowest = 0;
  double largest = 0;    // finite
  int digits = 0;        // bits of precision; of integers, those besides the sign
  int min_exponent = 0;  // as std::numeric_limits has it
};
template <class T>
constexpr NumberFormat number_format() noexcept {
  using Limits = std::numeric_limits<T>;
  return {static_cast<double>(Limits::lowest()), static_cast<double>((Limits::max)()),
          Limits::digits, Limits::min_exponent};
}
TENON_LAZY NumberFormat number_format(ScalarType type) noexcept {
  return visit(
      type,
      [](auto tag) noexcept -> NumberFormat {
        using T = typename decltype(tag)::type;
        if constexpr (!IsComplexLike<T>::value) return number_format<T>();
        return {};
      },
      []() noexcept -> NumberFormat { return {}; });
}

/// Element i of memory that may be misaligned. Any byte but 0 is a true Bool: such bytes come in
/// from outside, and reading one as a C++ bool would be undefined.
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
/// Integers out of range wrap, as in C++; to Bool, all but 0 is true.
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
/// keeping. With kIsFloat the type is known to be Float: code for the others, 6.6 KB on a
/// Cortex-M, is not linked.
template <bool kIsFloat = false>
Error store_scalar(ScalarType type, const Scalar& value, void* element) noexcept {
  if (TENON_UNLIKELY(!isValidType(type))) {
    return fail(Error::InvalidType, type, " is not an element type");
  }
  const bool lossy_kind = (value.isComplex() && !isComplexType(type)) ||
                          (value.isFloatingPoint() && isIntegralType(type, true));
  if (TENON_UNLIKELY(lossy_kind)) {
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
  if (TENON_UNLIKELY(!keeps)) {
    return fail(Error::InvalidArgument, "the value ", value, " does not fit ", type);
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
