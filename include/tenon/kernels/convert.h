// SPDX-License-Identifier: MIT
// Converts consecutive elements between all types.
//
// A cast is a chain of steps through float, double or int64_t: a loop for each type and direction,
// not for each pair of types. Values are rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/small_float.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether every value of the real type is a float.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return isIntegralType(type, true) ? elementSize(type) <= 2
                                    : isFloatingType(type) && type != ScalarType::Double;
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

/// What the steps of a cast are told about its target.
struct CastLimits {
  int64_t lowest;    ///< of integers
  int64_t below;     ///< what those below it become
  uint64_t highest;  ///< of integers
  double largest;    ///< of floating values
  bool rounding;     ///< of floating values to integers; else they are cut off
};

// Conversions of one element: structs with the types To and From and a convert().

/// As in C++.
template <class T, class F>
struct Plain {
  using To = T;
  using From = F;
  static TENON_ALWAYS_INLINE T convert(F value, const CastLimits&) noexcept {
    return static_cast<T>(value);
  }
};

/// 64-bit integers to doubles that shorter types round like the integers.
template <class F>
struct LongToOddDouble {
  using To = double;
  using From = F;
  static TENON_ALWAYS_INLINE double convert(F value, const CastLimits&) noexcept {
    return round_to_odd_double(value);
  }
};
struct DoubleToOddFloat {
  using To = float;
  using From = double;
  static TENON_ALWAYS_INLINE float convert(double value, const CastLimits&) noexcept {
    return round_to_odd(value);
  }
};

/// Float to integers of up to 32 bits, truncated, or of up to 16, rounded to nearest even; clamped;
/// NaN gives 0.
template <bool kRound>
struct FloatToInt {
  using To = int32_t;
  using From = float;
  static TENON_ALWAYS_INLINE int32_t convert(float value, const CastLimits& limits) noexcept {
    // Masks and not ?: on floats, which GCC leaves a branch.
    uint32_t bits = float_bits(value);
    bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, 0, bits);
    const auto low = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) <=
                                                         static_cast<float>(limits.lowest));
    const auto high = uint32_t{0} - static_cast<uint32_t>(float_from_bits(bits) >=
                                                          static_cast<float>(limits.highest));
    const float within = float_from_bits(bits & ~(low | high));
    // The sum's last bit is worth 1: the addition rounds.
    const auto whole = kRound ? static_cast<int32_t>(float_bits(within + 12582912.0f) - 0x4b400000u)
                              : static_cast<int32_t>(within);
    return whole | static_cast<int32_t>(static_cast<uint32_t>(limits.lowest) & low) |
           static_cast<int32_t>(static_cast<uint32_t>(limits.highest) & high);
  }
};

TENON_ALWAYS_INLINE int64_t clamp_long(int64_t value, const CastLimits& limits) noexcept {
  const auto most = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  return value < limits.lowest ? limits.below : value > most ? most : value;
}

/// Double to integers of up to 64 bits in the same way, in two's complement.
struct DoubleToLong {
  using To = uint64_t;
  using From = double;
  static TENON_ALWAYS_INLINE uint64_t convert(double value, const CastLimits& limits) noexcept {
    const uint64_t magnitude = double_bits(value) & INT64_MAX;
    if (TENON_UNLIKELY(magnitude >= 0x43e0000000000000u)) {  // 2^63, or NaN
      if (magnitude > kDoubleInfinity) return 0;
      if (value < 0) return static_cast<uint64_t>(limits.lowest);
      const bool is_within = value < static_cast<double>(limits.highest);
      return is_within ? static_cast<uint64_t>(value) : limits.highest;
    }
    auto whole = static_cast<int64_t>(value);
    if (limits.rounding) {
      const uint64_t rest = double_bits(value - static_cast<double>(whole)) & INT64_MAX;
      const uint64_t even = 0x3fe0000000000000u - (static_cast<uint64_t>(whole) & 1u);
      if (rest > even) whole += value < 0 ? -1 : 1;
    }
    return static_cast<uint64_t>(clamp_long(whole, limits));
  }
};

struct ClampLong {
  using To = int64_t;
  using From = int64_t;
  static TENON_ALWAYS_INLINE int64_t convert(int64_t value, const CastLimits& limits) noexcept {
    return clamp_long(value, limits);
  }
};
struct ClampFloat {
  using To = float;
  using From = float;
  static TENON_ALWAYS_INLINE float convert(float value, const CastLimits& limits) noexcept {
    const uint32_t largest = float_bits(static_cast<float>(limits.largest));
    const uint32_t bits = float_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t clamped = if_greater(magnitude, largest, largest | (bits - magnitude), bits);
    return float_from_bits(if_greater(magnitude, 0x7f800000u, bits, clamped));
  }
};
struct ClampDouble {
  using To = double;
  using From = double;
  static TENON_ALWAYS_INLINE double convert(double value, const CastLimits& limits) noexcept {
    const uint64_t largest = double_bits(limits.largest);
    const uint64_t bits = double_bits(value);
    const uint64_t magnitude = bits & INT64_MAX;
    const uint64_t clamped = if_greater(magnitude, largest, largest | (bits - magnitude), bits);
    return double_from_bits(if_greater(magnitude, kDoubleInfinity, bits, clamped));
  }
};

/// To Bool, by the bits: NaN is true, and zeros have signs.
template <class F>
struct IsNonzero {
  using To = bool;
  using From = F;
  static TENON_ALWAYS_INLINE bool convert(F value, const CastLimits&) noexcept {
    if constexpr (std::is_same_v<F, float>) return float_bits(value) << 1 != 0;
    if constexpr (std::is_same_v<F, double>) return double_bits(value) << 1 != 0;
    return value != 0;
  }
};

/// A complex element by the bits of its parts.
template <class U>
struct Parts {
  U real;
  U imaginary;
};
template <class U>
struct TakeReal {
  using To = U;
  using From = Parts<U>;
  static TENON_ALWAYS_INLINE U convert(From value, const CastLimits&) noexcept {
    return value.real;
  }
};
template <class U>
struct AddImaginary {
  using To = Parts<U>;
  using From = U;
  static TENON_ALWAYS_INLINE To convert(U real, const CastLimits&) noexcept { return {real, 0}; }
};

using Step = void (*)(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept;

/// Steps convert a multiple of this many elements. That the inner loops' length is a constant lets
/// compilers vectorise them without code for a rest.
inline constexpr int64_t kStepElements = 16;

template <class Conversion>
struct ConvertKernel {
  using To = typename Conversion::To;
  using From = typename Conversion::From;

  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count, const CastLimits& given) noexcept {
    const CastLimits limits = given;  // where no element that is written can alias it
    count &= -kStepElements;  // for the compiler, which then vectorises without code for a rest
    for (int64_t i = 0; i < count; ++i) {
      store_element<To>(out, i, Conversion::convert(load_element<From>(in, i), limits));
    }
  }
  TENON_VECTORIZE_WHOLE static void run(Baseline, void* out, const void* in, int64_t count,
                                        const CastLimits* limits) noexcept {
    body(out, in, count, *limits);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_WHOLE TENON_TARGET_AVX2 static void run(Avx2, void* out, const void* in,
                                                          int64_t count,
                                                          const CastLimits* limits) noexcept {
    if constexpr (std::is_same_v<Conversion, Plain<float, Half>>) {
      for (int64_t i = 0; i < count; i += 8) {
        Vector<short, 16> codes;
        load(codes, static_cast<const char*>(in) + 2 * i);
        const Vector<float, 32> floats = __builtin_ia32_vcvtph2ps256(codes);
        store(static_cast<char*>(out) + 4 * i, floats);
      }
    } else if constexpr (std::is_same_v<Conversion, Plain<Half, float>>) {
      for (int64_t i = 0; i < count; i += 8) {
        Vector<float, 32> floats;
        load(floats, static_cast<const char*>(in) + 4 * i);
        const Vector<short, 16> codes = __builtin_ia32_vcvtps2ph256(floats, 0);  // to nearest even
        store(static_cast<char*>(out) + 2 * i, codes);
      }
    } else {
      body(out, in, count, *limits);
    }
  }
#endif
};

template <class Conversion>
void convert(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept {
  ConvertKernel<Conversion>::run(Baseline(), out, in, count, limits);
  clear_after_baseline();
}
/// The same where AVX2 makes much of a difference. It makes one of 30 times with Half.
template <class Conversion>
void convert_fast(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept {
  constexpr bool is_half = std::is_same_v<typename Conversion::To, Half> ||
                           std::is_same_v<typename Conversion::From, Half>;
  if constexpr (is_half || TENON_HAS_VARIANTS) {
    dispatch<ConvertKernel<Conversion>>(out, in, count, limits);
  } else {
    convert<Conversion>(out, in, count, limits);
  }
}

/// From `type` to the type that casts go through; null for that type itself.
TENON_LAZY Step step_to_float(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Byte: return &convert<Plain<float, uint8_t>>;
    case ScalarType::Char: return &convert<Plain<float, int8_t>>;
    case ScalarType::Short: return &convert<Plain<float, int16_t>>;
    case ScalarType::UInt16: return &convert<Plain<float, uint16_t>>;
    case ScalarType::Int: return &convert<Plain<float, int32_t>>;
    case ScalarType::Long: return &convert<Plain<float, int64_t>>;
    case ScalarType::Bool: return &convert<Plain<float, bool>>;
    case ScalarType::Half: return &convert_fast<Plain<float, Half>>;
    case ScalarType::BFloat16: return &convert_fast<Plain<float, BFloat16>>;
    case ScalarType::Float8_e5m2: return &convert<Plain<float, Float8_e5m2>>;
    case ScalarType::Float8_e4m3fn: return &convert<Plain<float, Float8_e4m3fn>>;
    case ScalarType::Float8_e5m2fnuz: return &convert<Plain<float, Float8_e5m2fnuz>>;
    case ScalarType::Float8_e4m3fnuz: return &convert<Plain<float, Float8_e4m3fnuz>>;
    default: return nullptr;
  }
}
TENON_LAZY Step step_to_double(ScalarType type, bool is_last) noexcept {
  switch (type) {
    case ScalarType::Int: return &convert<Plain<double, int32_t>>;
    case ScalarType::UInt32: return &convert<Plain<double, uint32_t>>;
    case ScalarType::Long:
      return is_last ? &convert<Plain<double, int64_t>> : &convert<LongToOddDouble<int64_t>>;
    case ScalarType::UInt64:
      return is_last ? &convert<Plain<double, uint64_t>> : &convert<LongToOddDouble<uint64_t>>;
    default: return nullptr;
  }
}
TENON_LAZY Step step_to_long(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Bool: return &convert<Plain<int64_t, bool>>;
    case ScalarType::Byte: return &convert<Plain<int64_t, uint8_t>>;
    case ScalarType::Char: return &convert<Plain<int64_t, int8_t>>;
    case ScalarType::Short: return &convert<Plain<int64_t, int16_t>>;
    case ScalarType::UInt16: return &convert<Plain<int64_t, uint16_t>>;
    case ScalarType::Int: return &convert<Plain<int64_t, int32_t>>;
    case ScalarType::UInt32: return &convert<Plain<int64_t, uint32_t>>;
    default: return nullptr;
  }
}
TENON_LAZY Step step_from_float(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Bool: return &convert<IsNonzero<float>>;
    case ScalarType::Half: return &convert_fast<Plain<Half, float>>;
    case ScalarType::BFloat16: return &convert_fast<Plain<BFloat16, float>>;
    case ScalarType::Float8_e5m2: return &convert<Plain<Float8_e5m2, float>>;
    case ScalarType::Float8_e4m3fn: return &convert<Plain<Float8_e4m3fn, float>>;
    case ScalarType::Float8_e5m2fnuz: return &convert<Plain<Float8_e5m2fnuz, float>>;
    case ScalarType::Float8_e4m3fnuz: return &convert<Plain<Float8_e4m3fnuz, float>>;
    default: return nullptr;
  }
}

TENON_LAZY Step step_to_bool(ScalarType integer) noexcept {
  switch (elementSize(integer)) {
    case 1: return &convert<IsNonzero<uint8_t>>;
    case 2: return &convert<IsNonzero<uint16_t>>;
    case 4: return &convert<IsNonzero<uint32_t>>;
    default: return &convert<IsNonzero<uint64_t>>;
  }
}

/// The steps of a cast, one after another.
struct CastSteps {
  Step steps[6];
  int count = 0;

  void add(Step step) noexcept {
    if (step != nullptr) steps[count++] = step;
  }
  /// From integers of 32 bits, or of 64, to integers of `size` bytes; they wrap.
  TENON_LAZY void add_wrapping(bool is_long, size_t size) noexcept {
    if (size == 4) add(is_long ? &convert<Plain<uint32_t, uint64_t>> : nullptr);
    if (size == 2) {
      add(is_long ? &convert<Plain<uint16_t, uint64_t>> : &convert_fast<Plain<uint16_t, uint32_t>>);
    }
    if (size == 1) {
      add(is_long ? &convert<Plain<uint8_t, uint64_t>> : &convert_fast<Plain<uint8_t, uint32_t>>);
    }
  }
};

/// The steps between real types; equal ones are the parts of complex types.
TENON_LAZY void add_steps(CastSteps& steps, ScalarType to, ScalarType from,
                          CastMode mode) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  const bool to_integer = isIntegralType(to, false);
  const size_t to_size = elementSize(to);
  if (to_integer && isIntegralType(from, true)) {
    const bool same = from != ScalarType::Bool && elementSize(from) == to_size;
    if (same && !saturate) return;
    steps.add(step_to_long(from));
    if (saturate) steps.add(&convert<ClampLong>);
    return steps.add_wrapping(true, to_size);
  }
  if (isIntegralType(from, true) && to == ScalarType::Bool) return steps.add(step_to_bool(from));
  const bool is_rounded_once = from == ScalarType::Int || from == ScalarType::Long;
  if (is_exact_in_float(from) || (is_rounded_once && to == ScalarType::Float)) {
    steps.add(step_to_float(from));
    if (to_integer && (to_size <= 2 || (to == ScalarType::Int && !saturate))) {
      steps.add(saturate ? &convert_fast<FloatToInt<true>> : &convert_fast<FloatToInt<false>>);
      return steps.add_wrapping(false, to_size);
    }
    if (!to_integer && to != ScalarType::Double) {
      if (saturate && to != ScalarType::Bool) steps.add(&convert<ClampFloat>);
      return steps.add(step_from_float(to));
    }
    steps.add(&convert<Plain<double, float>>);
  }
  steps.add(step_to_double(from, to == ScalarType::Double));
  if (to == ScalarType::Bool) return steps.add(&convert<IsNonzero<double>>);
  if (to_integer) {
    steps.add(&convert<DoubleToLong>);
    return steps.add_wrapping(true, to_size);
  }
  if (saturate) steps.add(&convert<ClampDouble>);
  if (to == ScalarType::Double) return;
  steps.add(to == ScalarType::Float ? &convert<Plain<float, double>> : &convert<DoubleToOddFloat>);
  steps.add(step_from_float(to));
}

TENON_LAZY CastLimits cast_limits(ScalarType to, ScalarType from, CastMode mode) noexcept {
  CastLimits limits{0, 0, 0, 0, mode == CastMode::Saturate};
  if (!limits.rounding && !isIntegralType(to, false)) return limits;
  visit(
      to,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) {
          if (std::is_signed_v<T>)
            limits.lowest = static_cast<int64_t>(std::numeric_limits<T>::min());
          limits.highest = static_cast<uint64_t>(std::numeric_limits<T>::max());
        } else if constexpr (!IsComplexLike<T>::value) {
          limits.largest = static_cast<double>(std::numeric_limits<T>::max());
        }
      },
      [] {});
  limits.below = limits.lowest;
  if (from == ScalarType::UInt64 && isIntegralType(to, true)) {
    // As int64_t, those beyond its range are negative.
    limits.lowest = 0;
    limits.below = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  }
  return limits;
}

TENON_LAZY_KERNEL void cast_elements(ScalarType to, void* out, ScalarType from, const void* in,
                                     int64_t count, CastMode mode = CastMode::Checked) noexcept;

/// Complex elements to Bool: both parts count.
TENON_LAZY void cast_to_bool(void* out, ScalarType from, const void* in, int64_t count) noexcept {
  bool parts[256];
  for (int64_t i = 0; i < count; i += 128) {
    const int64_t n = count - i < 128 ? count - i : 128;
    cast_elements(ScalarType::Bool, parts, part_type_of(from),
                  static_cast<const char*>(in) + i * static_cast<int64_t>(elementSize(from)), 2 * n,
                  CastMode::Truncate);
    for (int64_t k = 0; k < n; ++k) {
      store_element<bool>(out, i + k, parts[2 * k] || parts[2 * k + 1]);
    }
  }
}

/// A CastFunction for all pairs of types.
template <class>
void cast_elements(ScalarType to, void* out, ScalarType from, const void* in, int64_t count,
                   CastMode mode) noexcept {
  if (count == 0) return;
  if (isComplexType(from) && to == ScalarType::Bool) return cast_to_bool(out, from, in, count);
  CastSteps steps;
  if (to != from) {
    const size_t part_size = elementSize(part_type_of(isComplexType(from) ? from : to));
    if (isComplexType(to) && isComplexType(from)) {
      to = part_type_of(to);
      from = part_type_of(from);
      count *= 2;
    }
    if (isComplexType(from)) {
      steps.add(part_size == 2   ? &convert<TakeReal<uint16_t>>
                : part_size == 4 ? &convert<TakeReal<uint32_t>>
                                 : &convert<TakeReal<uint64_t>>);
    }
    add_steps(steps, part_type_of(to), part_type_of(from), mode);
    if (isComplexType(to)) {
      steps.add(part_size == 2   ? &convert<AddImaginary<uint16_t>>
                : part_size == 4 ? &convert<AddImaginary<uint32_t>>
                                 : &convert<AddImaginary<uint64_t>>);
    }
  }
  const size_t out_size = elementSize(to);
  const size_t in_size = elementSize(from);
  if (steps.count == 0) {
    std::memcpy(out, in, static_cast<size_t>(count) * out_size);
    return;
  }
  const CastLimits limits = cast_limits(part_type_of(to), from, mode);
  constexpr int64_t kChunk = 256;
  alignas(64) unsigned char between[2][kChunk * 8];
  const auto run = [&](void* made, const void* taken, int64_t n) noexcept {
    for (int k = 0; k + 1 < steps.count; ++k) {
      steps.steps[k](between[k % 2], taken, n, &limits);
      taken = between[k % 2];
    }
    steps.steps[steps.count - 1](made, taken, n, &limits);
  };
  auto* to_bytes = static_cast<unsigned char*>(out);
  const auto* from_bytes = static_cast<const unsigned char*>(in);
  if (count < kStepElements) {
    alignas(64) unsigned char few_in[16 * kStepElements] = {};
    alignas(64) unsigned char few_out[16 * kStepElements];
    std::memcpy(few_in, in, static_cast<size_t>(count) * in_size);
    run(few_out, few_in, kStepElements);
    std::memcpy(out, few_out, static_cast<size_t>(count) * out_size);
    return;
  }
  const int64_t most = steps.count == 1 ? count : kChunk;
  for (int64_t i = 0; i < count;) {
    int64_t n = count - i < most ? count - i : most;
    if (n < kStepElements) {  // the last ones together with some before
      i = count - kStepElements;
      n = kStepElements;
    }
    n -= n % kStepElements;
    run(to_bytes + static_cast<size_t>(i) * out_size, from_bytes + static_cast<size_t>(i) * in_size,
        n);
    i += n;
  }
}

/// Converts a block as cast_elements() does, shared among threads where it is large.
TENON_LAZY void cast_block(ScalarType to, void* out, ScalarType from, const void* in, int64_t count,
                           CastMode mode = CastMode::Checked) noexcept {
  const auto out_size = static_cast<int64_t>(elementSize(to));
  const auto in_size = static_cast<int64_t>(elementSize(from));
  const size_t nbytes = static_cast<size_t>(count * out_size);
  parallel_for(count, 4096, nbytes, [&](int64_t begin, int64_t end) {
    cast_elements(to, static_cast<char*>(out) + begin * out_size, from,
                  static_cast<const char*>(in) + begin * in_size, end - begin, mode);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
