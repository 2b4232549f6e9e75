// SPDX-License-Identifier: MIT
// Converts consecutive elements, the common pairs at the speed of memory. The bits are those of
// cast_exactly() on every instruction set.
//
// What is exact in float goes through float: a kernel per type and direction serves all pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether every value of the type is a float.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return type == ScalarType::Float || (isFloatingType(type) && type != ScalarType::Double) ||
         (isIntegralType(type, true) && elementSize(type) <= 2);
}

/// a > b ? yes : no, for values below 2^31: without a branch, which would keep the loop from being
/// vectorised, and signed, since x86 compares vectors of signed integers only.
TENON_ALWAYS_INLINE uint32_t if_greater(uint32_t a, uint32_t b, uint32_t yes,
                                        uint32_t no) noexcept {
  const auto mask =
      uint32_t{0} - static_cast<uint32_t>(static_cast<int32_t>(a) > static_cast<int32_t>(b));
  return (yes & mask) | (no & ~mask);
}

/// As in C++: between integers, from them to floating types, between float and double.
template <class T, class F>
struct Plain {
  using To = T;
  using From = F;
  static TENON_ALWAYS_INLINE T convert(F value) noexcept { return static_cast<T>(value); }
};

struct HalfToFloat {
  using To = float;
  using From = Half;
  static TENON_ALWAYS_INLINE float convert(Half value) noexcept {
    const uint32_t magnitude = value.x & 0x7fffu;
    // A subnormal is an integer times 2^-24, exactly.
    const float subnormal =
        static_cast<float>(static_cast<int32_t>(magnitude)) * 5.9604644775390625e-8f;
    uint32_t bits = (magnitude << 13) + 0x38000000u;
    bits += if_greater(magnitude, 0x7bffu, 0x38000000u, 0);
    bits |= if_greater(magnitude, 0x7c00u, 0x400000u, 0);
    bits = if_greater(0x400u, magnitude, float_bits(subnormal), bits);
    return float_from_bits(bits | (value.x & 0x8000u) << 16);
  }
};

struct FloatToHalf {
  using To = Half;
  using From = float;
  static TENON_ALWAYS_INLINE Half convert(float value) noexcept {
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Adding 0.5, whose last bit is worth the smallest subnormal, rounds to one.
    const uint32_t subnormal = float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t code = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    code = if_greater(0x38800000u, magnitude, subnormal, code);
    code = if_greater(magnitude, 0x477fefffu, 0x7c00u, code);  // from 65520 on: infinity
    code = if_greater(magnitude, 0x7f800000u, ((magnitude >> 13) & 0x3ffu) | 0x7e00u, code);
    return Half(static_cast<uint16_t>(code | (bits >> 16 & 0x8000u)), Half::from_bits());
  }
};

struct BFloat16ToFloat {
  using To = float;
  using From = BFloat16;
  static TENON_ALWAYS_INLINE float convert(BFloat16 value) noexcept {
    const uint32_t bits = static_cast<uint32_t>(value.x) << 16;
    return float_from_bits(bits | if_greater(bits & 0x7fffffffu, 0x7f800000u, 0x400000u, 0));
  }
};

struct FloatToBFloat16 {
  using To = BFloat16;
  using From = float;
  static TENON_ALWAYS_INLINE BFloat16 convert(float value) noexcept {
    uint32_t bits = float_bits(value);
    // A NaN becomes quiet and loses what rounding could carry over.
    bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, (bits | 0x400000u) & 0xffff0000u, bits);
    const uint32_t code = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return BFloat16(static_cast<uint16_t>(code), BFloat16::from_bits());
  }
};

/// Float to integers of up to 16 bits, truncated or rounded, clamped.
template <class T, bool kRound>
struct FloatToInteger {
  using To = T;
  using From = float;
  static TENON_ALWAYS_INLINE T convert(float value) noexcept {
    constexpr auto lowest = static_cast<float>(std::numeric_limits<T>::lowest());
    constexpr auto highest = static_cast<float>(std::numeric_limits<T>::max());
    uint32_t bits = float_bits(value);
    bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, 0, bits);
    // Masks again, and not ?: on floats, which GCC leaves a branch.
    const auto low = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) < lowest);
    bits = (bits & ~low) | (float_bits(lowest) & low);
    const auto high = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) > highest);
    bits = (bits & ~high) | (float_bits(highest) & high);
    value = float_from_bits(bits);
    if (!kRound) return static_cast<T>(static_cast<int32_t>(value));
    // The sum's last bit is worth 1: the addition rounds, to nearest even.
    constexpr float kUnit = 12582912.0f;
    return static_cast<T>(static_cast<int32_t>(float_bits(value + kUnit) - 0x4b400000u));
  }
};

/// Float to float: whatever is beyond `kLargest`, a finite float's bits, gives that.
template <uint32_t kLargest>
struct ClampFloat {
  using To = float;
  using From = float;
  static TENON_ALWAYS_INLINE float convert(float value) noexcept {
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t clamped = if_greater(magnitude, kLargest, kLargest | (bits & 0x80000000u), bits);
    return float_from_bits(if_greater(magnitude, 0x7f800000u, bits, clamped));
  }
};

template <class Conversion>
struct ConvertKernel {
  using To = typename Conversion::To;
  using From = typename Conversion::From;

  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count) noexcept {
    for (int64_t i = 0; i < count; ++i) {
      store_element<To>(out, i, Conversion::convert(load_element<From>(in, i)));
    }
  }
  TENON_VECTORIZE static void run(Baseline, void* out, const void* in, int64_t count) noexcept {
    body(out, in, count);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, void* out, const void* in,
                                                    int64_t count) noexcept {
    body(out, in, count);
  }
#endif
};

#if TENON_HAS_AVX2
/// Half and float by the processor's own conversion.
template <>
TENON_TARGET_AVX2 inline void ConvertKernel<HalfToFloat>::run(Avx2, void* out, const void* in,
                                                              int64_t count) noexcept {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Vector<short, 16> codes;
    load(codes, static_cast<const char*>(in) + 2 * i);
    const Vector<float, 32> floats = __builtin_ia32_vcvtph2ps256(codes);
    store(static_cast<char*>(out) + 4 * i, floats);
  }
  body(static_cast<char*>(out) + 4 * i, static_cast<const char*>(in) + 2 * i, count - i);
}
template <>
TENON_TARGET_AVX2 inline void ConvertKernel<FloatToHalf>::run(Avx2, void* out, const void* in,
                                                              int64_t count) noexcept {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Vector<float, 32> floats;
    load(floats, static_cast<const char*>(in) + 4 * i);
    const Vector<short, 16> codes = __builtin_ia32_vcvtps2ph256(floats, 0);  // to nearest even
    store(static_cast<char*>(out) + 2 * i, codes);
  }
  body(static_cast<char*>(out) + 2 * i, static_cast<const char*>(in) + 4 * i, count - i);
}
#endif

template <class Conversion>
void convert(void* out, const void* in, int64_t count) noexcept {
  dispatch<ConvertKernel<Conversion>>(out, in, count);
}

/// One by one: for what the vectors of common processors do not help.
template <class To, class From>
void convert_each(void* out, const void* in, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) {
    store_element<To>(out, i, static_cast<To>(load_element<From>(in, i)));
  }
}

using Converter = void (*)(void* out, const void* in, int64_t count) noexcept;

/// What converts the type to float, nullptr for one that goes the exact way.
TENON_LAZY Converter converter_to_float(ScalarType from) noexcept {
  switch (from) {
    case ScalarType::Byte: return &convert<Plain<float, uint8_t>>;
    case ScalarType::Char: return &convert<Plain<float, int8_t>>;
    case ScalarType::Short: return &convert<Plain<float, int16_t>>;
    case ScalarType::UInt16: return &convert<Plain<float, uint16_t>>;
    case ScalarType::Int: return &convert<Plain<float, int32_t>>;
    case ScalarType::Long: return &convert_each<float, int64_t>;
    case ScalarType::Bool: return &convert<Plain<float, bool>>;
    case ScalarType::Double: return &convert<Plain<float, double>>;
    case ScalarType::Half: return &convert<HalfToFloat>;
    case ScalarType::BFloat16: return &convert<BFloat16ToFloat>;
    case ScalarType::Float8_e5m2: return &convert_each<float, Float8_e5m2>;
    case ScalarType::Float8_e4m3fn: return &convert_each<float, Float8_e4m3fn>;
    case ScalarType::Float8_e5m2fnuz: return &convert_each<float, Float8_e5m2fnuz>;
    case ScalarType::Float8_e4m3fnuz: return &convert_each<float, Float8_e4m3fnuz>;
    default: return nullptr;
  }
}

template <class T>
Converter float_to_integer(CastMode mode) noexcept {
  return mode == CastMode::Saturate ? &convert<FloatToInteger<T, true>>
                                    : &convert<FloatToInteger<T, false>>;
}

/// What converts float to the type, nullptr for one that goes the exact way.
TENON_LAZY Converter converter_from_float(ScalarType to, CastMode mode) noexcept {
  switch (to) {
    case ScalarType::Half: return &convert<FloatToHalf>;
    case ScalarType::BFloat16: return &convert<FloatToBFloat16>;
    case ScalarType::Double: return &convert<Plain<double, float>>;
    case ScalarType::Byte: return float_to_integer<uint8_t>(mode);
    case ScalarType::Char: return float_to_integer<int8_t>(mode);
    case ScalarType::Short: return float_to_integer<int16_t>(mode);
    case ScalarType::Float8_e5m2: return &convert_each<Float8_e5m2, float>;
    case ScalarType::Float8_e4m3fn: return &convert_each<Float8_e4m3fn, float>;
    case ScalarType::Float8_e5m2fnuz: return &convert_each<Float8_e5m2fnuz, float>;
    case ScalarType::Float8_e4m3fnuz: return &convert_each<Float8_e4m3fnuz, float>;
    default: return nullptr;
  }
}

/// Converts through float; false when that is not exact or not faster.
TENON_LAZY bool convert_by_float(ScalarType to, void* out, ScalarType from, const void* in,
                                 int64_t count, CastMode mode) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  if (to == ScalarType::Float && !saturate) {
    const Converter load_floats = converter_to_float(from);
    if (load_floats == nullptr) return false;
    load_floats(out, in, count);
    return true;
  }
  // Integers wrap into integers, which they do not by way of float. Clamping is to a double's
  // precision the exact way's, and there are only two formats for which it is worth a kernel.
  if (!is_exact_in_float(from) ||
      (isIntegralType(to, false) && !saturate && isIntegralType(from, true)))
    return false;
  Converter clamp = nullptr;
  if (saturate && !isIntegralType(to, false)) {
    if (to == ScalarType::Half) clamp = &convert<ClampFloat<0x477fe000u>>;
    if (to == ScalarType::BFloat16) clamp = &convert<ClampFloat<0x7f7f0000u>>;
    if (clamp == nullptr) return false;
  }
  const Converter load_floats = from == ScalarType::Float ? nullptr : converter_to_float(from);
  const Converter store_floats = converter_from_float(to, mode);
  if (store_floats == nullptr) return false;
  if (load_floats == nullptr && clamp == nullptr) {
    store_floats(out, in, count);
    return true;
  }
  constexpr int64_t kChunk = 512;
  alignas(64) float floats[kChunk];
  alignas(64) float clamped[kChunk];  // a kernel's memories do not overlap
  const auto out_size = static_cast<int64_t>(elementSize(to));
  const auto in_size = static_cast<int64_t>(elementSize(from));
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = count - i < kChunk ? count - i : kChunk;
    const void* taken = static_cast<const unsigned char*>(in) + i * in_size;
    if (load_floats != nullptr) load_floats(floats, taken, n);
    if (clamp != nullptr) clamp(clamped, load_floats != nullptr ? floats : taken, n);
    store_floats(static_cast<unsigned char*>(out) + i * out_size,
                 clamp != nullptr ? clamped : floats, n);
  }
  return true;
}

/// Converts `count` consecutive elements of host memory, which need no alignment. With
/// CastMode::Checked canCast(from, to) holds.
TENON_LAZY_KERNEL void cast_elements(ScalarType to, void* out, ScalarType from, const void* in,
                                     int64_t count, CastMode mode = CastMode::Checked) noexcept {
  if (count == 0) return;
  if (to == from) {
    std::memcpy(out, in, static_cast<size_t>(count) * elementSize(to));
    return;
  }
  if (convert_by_float(to, out, from, in, count, mode)) return;
  cast_exactly(to, out, from, in, count, mode);
}

}  // namespace detail
TENON_END_NAMESPACE
