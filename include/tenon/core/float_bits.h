// SPDX-License-Identifier: MIT
// The bits of floating-point numbers, tests on them, and operations that give the same bits on all
// processors, CUDA's devices included. Always inlined: kernels for several instruction sets share
// them.
//
// With -ffast-math compilers drop comparisons that would find infinities and NaNs.
//
// Each operation rounds once, to nearest, whatever the compiler's flags. On CUDA, products are PTX
// instructions, because Clang contracts __fmul_rn. A host function that computes a formula with
// these must be TENON_VECTORIZE_EXACT or use TENON_NO_CONTRACTION.
#pragma once

#include <cstdint>

#include "tenon/config.h"

#if TENON_PORTABLE
#include <cmath>  // only here: <cmath> would take a sixth of tenon.h's compile time
#include <cstring>
#endif
#if TENON_PORTABLE && TENON_CPLUSPLUS >= 202002L
#include <bit>
#endif

// Constants made from another type's bits need a builtin, or C++20's std::bit_cast.
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

/// a > b ? yes : no, for values below 2^31. Branchless, so that loops are vectorised; signed, since
/// x86 compares only vectors of signed integers.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr uint32_t if_greater(uint32_t a, uint32_t b,
                                                                    uint32_t yes,
                                                                    uint32_t no) noexcept {
  const auto mask =
      uint32_t{0} - static_cast<uint32_t>(static_cast<int32_t>(a) > static_cast<int32_t>(b));
  return (yes & mask) | (no & ~mask);
}
/// As above, for values below 2^63: by the sign of the difference, since SSE2 has no 64-bit
/// comparison.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE constexpr uint64_t if_greater(uint64_t a, uint64_t b,
                                                                    uint64_t yes,
                                                                    uint64_t no) noexcept {
  const uint64_t mask = uint64_t{0} - ((b - a) >> 63);
  return (yes & mask) | (no & ~mask);
}

/// Casts that keep a NaN's sign and leading bits. The processors' own casts do so on x86 and Arm,
/// but not on CUDA's devices.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double widen(float value) noexcept {
#if defined(__CUDA_ARCH__)
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return double_from_bits(uint64_t{bits >> 31} << 63 | 0x7ff8000000000000u |
                            uint64_t{bits & 0x7fffffu} << 29);
  }
#endif
  return static_cast<double>(value);
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float narrow(double value) noexcept {
#if defined(__CUDA_ARCH__)
  if (is_nan(value)) {
    const uint64_t bits = double_bits(value);
    return float_from_bits(static_cast<uint32_t>(bits >> 63) << 31 | 0x7fc00000u |
                           (static_cast<uint32_t>(bits >> 29) & 0x7fffffu));
  }
#endif
  return static_cast<float>(value);
}

TENON_HOST_DEVICE TENON_ALWAYS_INLINE float multiply(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
  float result;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  TENON_NO_CONTRACTION
  return a * b;
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double multiply(double a, double b) noexcept {
#if defined(__CUDA_ARCH__)
  double result;
  asm("mul.rn.f64 %0, %1, %2;" : "=d"(result) : "d"(a), "d"(b));
  return result;
#else
  TENON_NO_CONTRACTION
  return a * b;
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float divide(float a, float b) noexcept {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double divide(double a, double b) noexcept {
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE float square_root(float value) noexcept {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(value);
#elif TENON_PORTABLE
  return std::sqrt(value);
#else
  return __builtin_sqrtf(value);
#endif
}
TENON_HOST_DEVICE TENON_ALWAYS_INLINE double square_root(double value) noexcept {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(value);
#elif TENON_PORTABLE
  return std::sqrt(value);
#else
  return __builtin_sqrt(value);
#endif
}

}  // namespace detail
TENON_END_NAMESPACE
