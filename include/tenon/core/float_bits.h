// SPDX-License-Identifier: MIT
// The bits of floating-point numbers, and tests on them. With -ffast-math compilers assume that
// there are no infinities and NaNs and drop comparisons that would find them. Always inlined:
// kernels for several instruction sets share them.
#pragma once

#include <cstdint>

#include "tenon/config.h"

#if TENON_PORTABLE
#include <cstring>
#endif
#if TENON_PORTABLE && TENON_CPLUSPLUS >= 202002L
#include <bit>
#endif

// Before std::bit_cast of C++20 only a builtin makes constants of another type's bits.
#if !TENON_PORTABLE || defined(__cpp_lib_bit_cast)
#define TENON_CONSTEXPR_BITS constexpr
#else
#define TENON_CONSTEXPR_BITS
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

template <class T, class F>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS T cast_bits(F value) noexcept {
#if !TENON_PORTABLE
  return __builtin_bit_cast(T, value);
#elif defined(__cpp_lib_bit_cast)
  return std::bit_cast<T>(value);
#else
  static_assert(sizeof(T) == sizeof(F));
  T bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS uint32_t
float_bits(float value) noexcept {
  return cast_bits<uint32_t>(value);
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS float float_from_bits(
    uint32_t bits) noexcept {
  return cast_bits<float>(bits);
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS uint64_t
double_bits(double value) noexcept {
  return cast_bits<uint64_t>(value);
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE TENON_CONSTEXPR_BITS double double_from_bits(
    uint64_t bits) noexcept {
  return cast_bits<double>(bits);
}
inline constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << 52;
TENON_HOST_DEVICE TENON_ALWAYS_INLINE bool is_finite(double value) noexcept {
  return (double_bits(value) & kDoubleInfinity) != kDoubleInfinity;
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE bool is_nan(double value) noexcept {
  return double_bits(value) << 1 > kDoubleInfinity << 1;
}

/// a > b ? yes : no, for values below 2^31: without a branch, which would keep loops from being
/// vectorised, and signed, since x86 compares vectors of signed integers only.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr uint32_t if_greater(uint32_t a, uint32_t b,
                                                                    uint32_t yes,
                                                                    uint32_t no) noexcept {
  const auto mask =
      uint32_t{0} - static_cast<uint32_t>(static_cast<int32_t>(a) > static_cast<int32_t>(b));
  return (yes & mask) | (no & ~mask);
}
/// As above, for values below 2^63: by the sign of a difference, which SSE2 has for 64 bits too.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr uint64_t if_greater(uint64_t a, uint64_t b,
                                                                    uint64_t yes,
                                                                    uint64_t no) noexcept {
  const uint64_t mask = uint64_t{0} - ((b - a) >> 63);
  return (yes & mask) | (no & ~mask);
}

}  // namespace detail
TENON_END_NAMESPACE
