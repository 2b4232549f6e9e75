// SPDX-License-Identifier: MIT
// Floating-point operations that give the same bits on all processors, CUDA's devices included.
//
// Each is rounded once, to nearest, whatever the compiler's flags; products in PTX, because Clang
// contracts __fmul_rn. On the host a function that uses them for a formula is a
// TENON_VECTORIZE_EXACT one, or has TENON_NO_CONTRACTION.
#pragma once

#include <cstdint>

#include "tenon/core/float_bits.h"

#if TENON_PORTABLE
#include <cmath>  // else not: that takes a sixth of the time that including tenon.h takes
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Casts that keep a NaN's sign and leading bits, as x86 and Arm do; CUDA's own do not.
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
