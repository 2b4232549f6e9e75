// SPDX-License-Identifier: MIT
// One element of any type, loaded from and stored to aligned memory of a device: the casts of
// convert.h for one element, with the same results.
#pragma once

#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/numbers.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/convert.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Loads a T from memory that is aligned for T.
template <class T>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE T load_aligned(const char* from) noexcept {
  T value;
  std::memcpy(&value, __builtin_assume_aligned(from, sizeof(T)), sizeof(T));
  return value;
}
template <class T>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE void store_aligned(char* to, const T& value) noexcept {
  std::memcpy(__builtin_assume_aligned(to, sizeof(T)), &value, sizeof(T));
}

/// Sixteen bytes, loaded and stored at once.
template <class T>
struct alignas(16) Packed {
  T values[16 / sizeof(T)];
};

/// The real type that numbers are cast to.
struct CastTarget {
  ScalarType type;
  int size;  ///< bytes of an element
  bool is_integer;
  bool saturates;
  CastLimits limits;

  /// For casts from the real type `from`.
  CastTarget(ScalarType to, ScalarType from, CastMode mode) noexcept
      : type(to),
        size(static_cast<int>(elementSize(to))),
        is_integer(isIntegralType(to, false)),
        saturates(mode == CastMode::Saturate),
        limits(cast_limits(to, from, mode)) {}
};

/// Stores the lower `size` bytes of a number.
TENON_HOST_DEVICE inline void store_bits(int size, char* to, uint64_t bits) noexcept {
  switch (size) {
    case 1: return store_aligned(to, static_cast<uint8_t>(bits));
    case 2: return store_aligned(to, static_cast<uint16_t>(bits));
    case 4: return store_aligned(to, static_cast<uint32_t>(bits));
    default: return store_aligned(to, bits);
  }
}
/// The code in a small format whose number is nearest to a float.
TENON_HOST_DEVICE inline uint64_t encode_small(ScalarType type, float value) noexcept {
  switch (type) {
    case ScalarType::Half: return Half::format::encode(value);
    case ScalarType::BFloat16: return BFloat16::format::encode(value);
    case ScalarType::Float8_e5m2: return Float8_e5m2::format::encode(value);
    case ScalarType::Float8_e4m3fn: return Float8_e4m3fn::format::encode(value);
    case ScalarType::Float8_e5m2fnuz: return Float8_e5m2fnuz::format::encode(value);
    default: return Float8_e4m3fnuz::format::encode(value);
  }
}
/// Loads a number of a format of at most 32 bits as a float.
TENON_HOST_DEVICE inline float load_float(ScalarType type, const char* from) noexcept {
  switch (type) {
    case ScalarType::Half: return Half::format::decode(load_aligned<uint16_t>(from));
    case ScalarType::BFloat16: return BFloat16::format::decode(load_aligned<uint16_t>(from));
    case ScalarType::Float8_e5m2: return Float8_e5m2::format::decode(load_aligned<uint8_t>(from));
    case ScalarType::Float8_e4m3fn:
      return Float8_e4m3fn::format::decode(load_aligned<uint8_t>(from));
    case ScalarType::Float8_e5m2fnuz:
      return Float8_e5m2fnuz::format::decode(load_aligned<uint8_t>(from));
    case ScalarType::Float8_e4m3fnuz:
      return Float8_e4m3fnuz::format::decode(load_aligned<uint8_t>(from));
    default: return load_aligned<float>(from);
  }
}

TENON_HOST_DEVICE inline void store_number(const CastTarget& as, char* to, float value) noexcept;
TENON_HOST_DEVICE inline void store_number(const CastTarget& as, char* to, double value) noexcept {
  if (as.type == ScalarType::Bool) return store_aligned(to, is_nonzero(value, as.limits));
  if (as.is_integer) return store_bits(as.size, to, double_to_long(value, as.limits));
  if (as.saturates) value = clamp_double(value, as.limits);
  if (as.type == ScalarType::Double) return store_aligned(to, value);
  if (as.type == ScalarType::Float) return store_aligned(to, narrow(value));
  store_bits(as.size, to, encode_small(as.type, round_to_odd(value)));
}
TENON_HOST_DEVICE inline void store_number(const CastTarget& as, char* to, float value) noexcept {
  if (as.type == ScalarType::Bool) return store_aligned(to, is_nonzero(value, as.limits));
  if (as.is_integer && (as.size <= 2 || (as.type == ScalarType::Int && !as.saturates))) {
    const int32_t whole = as.saturates   ? float_to_int<true, false>(value, as.limits)
                          : as.size == 4 ? float_to_int<false, true>(value, as.limits)
                                         : float_to_int<false, false>(value, as.limits);
    return store_bits(as.size, to, static_cast<uint32_t>(whole));
  }
  if (as.is_integer || as.type == ScalarType::Double) return store_number(as, to, widen(value));
  if (as.saturates) value = clamp_float(value, as.limits);
  if (as.type == ScalarType::Float) return store_aligned(to, value);
  store_bits(as.size, to, encode_small(as.type, value));
}
/// Stores an integer of up to 64 bits: an int64_t, or a uint64_t if it was a UInt64.
template <class Integer>
TENON_HOST_DEVICE inline void store_integer(const CastTarget& as, char* to,
                                            Integer value) noexcept {
  const auto number = static_cast<int64_t>(value);
  if (as.is_integer) {
    const int64_t whole = as.saturates ? clamp_long(number, as.limits) : number;
    return store_bits(as.size, to, static_cast<uint64_t>(whole));
  }
  if (as.type == ScalarType::Bool) return store_aligned(to, is_nonzero(number, as.limits));
  if (as.type == ScalarType::Double) return store_aligned(to, static_cast<double>(value));
  if (as.type == ScalarType::Float) return store_aligned(to, static_cast<float>(value));
  store_number(as, to, round_to_odd_double(value));
}

/// Casts a real number.
TENON_HOST_DEVICE inline void cast_number(const CastTarget& as, char* to, ScalarType type,
                                          const char* from) noexcept {
  switch (type) {
    case ScalarType::Double: return store_number(as, to, load_aligned<double>(from));
    case ScalarType::UInt64: return store_integer(as, to, load_aligned<uint64_t>(from));
    case ScalarType::Long: return store_integer(as, to, load_aligned<int64_t>(from));
    default: break;
  }
  int64_t number = 0;
  switch (type) {
    case ScalarType::Byte: number = load_aligned<uint8_t>(from); break;
    case ScalarType::Char: number = load_aligned<int8_t>(from); break;
    case ScalarType::Short: number = load_aligned<int16_t>(from); break;
    case ScalarType::Int: number = load_aligned<int32_t>(from); break;
    case ScalarType::Bool: number = load_aligned<uint8_t>(from) != 0; break;
    case ScalarType::UInt16: number = load_aligned<uint16_t>(from); break;
    case ScalarType::UInt32: number = load_aligned<uint32_t>(from); break;
    default: return store_number(as, to, load_float(type, from));
  }
  store_integer(as, to, number);
}

}  // namespace detail
TENON_END_NAMESPACE
