// SPDX-License-Identifier: MIT
// Converts consecutive elements between all types.
//
// A cast is a chain of steps through float, double or int64_t: a loop for each type and direction,
// not for each pair of types. Values are rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/small_float.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether every value of the real type is a float.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return isIntegralType(type, true) ? elementSize(type) <= 2
                                    : isFloatingType(type) && type != ScalarType::Double;
}

/// What the steps of a cast are told about its target.
struct CastLimits {
  int64_t lowest;    ///< of integers
  int64_t below;     ///< what those below it become
  uint64_t highest;  ///< of integers
  double largest;    ///< of floating values
  bool rounding;     ///< of floating values to integers; else they are cut off
};

// Conversions of one element.

/// As in C++.
template <class T, class F>
TENON_ALWAYS_INLINE T plain(F value, const CastLimits&) noexcept {
  return static_cast<T>(value);
}
/// 64-bit integers to doubles, and doubles to floats, that shorter types round like what they were.
template <class F>
TENON_ALWAYS_INLINE double long_to_odd_double(F value, const CastLimits&) noexcept {
  return round_to_odd_double(value);
}
TENON_ALWAYS_INLINE float double_to_odd_float(double value, const CastLimits&) noexcept {
  return round_to_odd(value);
}

/// Float to integers of up to 32 bits, truncated, or of up to 16, rounded to nearest even; clamped;
/// NaN gives 0.
template <bool kRound>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE int32_t float_to_int(float value,
                                                           const CastLimits& limits) noexcept {
  // Masks and not ?: on floats, which GCC leaves a branch.
  uint32_t bits = float_bits(value);
  bits = if_greater(bits & 0x7fffffffu, 0x7f800000u, 0, bits);
  const float number = float_from_bits(bits);
  const auto low = 0u - static_cast<uint32_t>(number <= static_cast<float>(limits.lowest));
  const auto high = 0u - static_cast<uint32_t>(number >= static_cast<float>(limits.highest));
  const float within = float_from_bits(bits & ~(low | high));
  // The sum's last bit is worth 1: the addition rounds.
  const auto whole = kRound ? float_bits(within + 12582912.0f) - 0x4b400000u
                            : static_cast<uint32_t>(static_cast<int32_t>(within));
  return static_cast<int32_t>(whole | (static_cast<uint32_t>(limits.lowest) & low) |
                              (static_cast<uint32_t>(limits.highest) & high));
}

TENON_HOST_DEVICE TENON_ALWAYS_INLINE int64_t clamp_long(int64_t value,
                                                         const CastLimits& limits) noexcept {
  const auto most = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  return value < limits.lowest ? limits.below : value > most ? most : value;
}

/// Double to integers of up to 64 bits in the same way, in two's complement.
TENON_HOST_DEVICE TENON_ALWAYS_INLINE uint64_t double_to_long(double value,
                                                              const CastLimits& limits) noexcept {
  constexpr uint64_t kTwoTo63 = 0x43e0000000000000u;  // as a double
  constexpr uint64_t kTwoTo64 = 0x43f0000000000000u;
  const uint64_t bits = double_bits(value);
  const uint64_t magnitude = bits & INT64_MAX;
#if defined(__clang__)
  // Clang converts before the branch, which sets FE_INVALID out of range: mask first; behind the
  // branch it drops the mask. GCC does not need the mask, which costs it a fifth more instructions.
  value = double_from_bits(if_greater(kTwoTo63, magnitude, bits, 0));
  auto whole = static_cast<int64_t>(value);
#endif
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

/// To Bool, by the bits: NaN is true, and zeros have signs.
template <class F>
TENON_HOST_DEVICE TENON_ALWAYS_INLINE bool is_nonzero(F value, const CastLimits&) noexcept {
  if constexpr (std::is_same_v<F, float>) return float_bits(value) << 1 != 0;
  if constexpr (std::is_same_v<F, double>) return double_bits(value) << 1 != 0;
  return value != 0;
}

using Step = void (*)(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept;

/// Steps convert multiples of this many elements: loops without code for a rest.
inline constexpr int64_t kStepElements = 16;

template <class T, class F, T (*kConvert)(F, const CastLimits&) noexcept>
struct ConvertKernel {
  static constexpr bool to_half = std::is_same_v<T, Half>;
  static constexpr bool from_half = std::is_same_v<F, Half>;

  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count, const CastLimits& given) noexcept {
    const CastLimits limits = given;  // where no element that is written can alias it
    count &= -kStepElements;          // tells the compiler that there is no rest
    for (int64_t i = 0; i < count; ++i) {
      store_element<T>(out, i, kConvert(load_element<F>(in, i), limits));
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
    if constexpr (!to_half && !from_half) {
      body(out, in, count, *limits);
    } else {
      for (int64_t i = 0; i < count; i += 8) {
        Vector<short, 16> codes;
        Vector<float, 32> floats;
        if constexpr (from_half) {
          load(codes, static_cast<const char*>(in) + 2 * i);
#if defined(__clang__) && defined(__FLT16_MAX__)  // Clang 22 removed the builtin
          floats = __builtin_convertvector(__builtin_bit_cast(Vector<_Float16, 16>, codes),
                                           Vector<float, 32>);
#else
          floats = __builtin_ia32_vcvtph2ps256(codes);
#endif
          store(static_cast<char*>(out) + 4 * i, floats);
        } else {
          load(floats, static_cast<const char*>(in) + 4 * i);
          codes = __builtin_ia32_vcvtps2ph256(floats, 0);  // to nearest even
          store(static_cast<char*>(out) + 2 * i, codes);
        }
      }
    }
  }
#endif
};

template <class T, class F, T (*kConvert)(F, const CastLimits&) noexcept>
void convert(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept {
  using Kernel = ConvertKernel<T, F, kConvert>;
  // Where AVX2 makes much of a difference: 30 times with Half.
  constexpr bool is_fast = std::is_same_v<T, BFloat16> || std::is_same_v<F, BFloat16> ||
                           (std::is_same_v<F, float> && std::is_same_v<T, int32_t>) ||
                           (std::is_same_v<F, uint32_t> && sizeof(T) <= 2);
  constexpr bool is_half = Kernel::to_half || Kernel::from_half;
  dispatch<Kernel, is_half || (is_fast && TENON_HAS_VARIANTS != 0)>(out, in, count, limits);
}
template <class T, class F>
inline constexpr Step kPlain = &convert<T, F, &plain<T, F>>;
template <class F>
inline constexpr Step kIsNonzero = &convert<bool, F, &is_nonzero<F>>;

/// From a type to the one that casts go through; null where that is the type itself.
template <class Wide>
Step step_to(ScalarType type) noexcept {
  return visit(
      type,
      [](auto tag) noexcept -> Step {
        using T = typename decltype(tag)::type;
        constexpr bool is_integer = std::is_integral_v<T>;
        constexpr bool is_taken = std::is_same_v<Wide, int64_t> ? is_integer && sizeof(T) < 8
                                  : std::is_same_v<Wide, double>
                                      ? is_integer && sizeof(T) >= 4
                                      : IsSmallFloat<T>::value || (is_integer && sizeof(T) <= 2) ||
                                            (is_integer && std::is_signed_v<T>);
        if constexpr (is_taken) return kPlain<Wide, T>;
        return nullptr;
      },
      []() noexcept -> Step { return nullptr; });
}
TENON_LAZY Step step_from_float(ScalarType type) noexcept {
  return visit(
      type,
      [](auto tag) noexcept -> Step {
        using T = typename decltype(tag)::type;
        if constexpr (IsSmallFloat<T>::value) return kPlain<T, float>;
        if constexpr (std::is_same_v<T, bool>) return kIsNonzero<float>;
        return nullptr;
      },
      []() noexcept -> Step { return nullptr; });
}

/// The steps of a cast, one after another.
struct CastSteps {
  Step steps[6];
  int count = 0;

  void add(Step step) noexcept {
    if (step != nullptr) steps[count++] = step;
  }
  /// From integers F to integers of `size` bytes; they wrap.
  template <class F>
  void add_wrapping(size_t size) noexcept {
    if (size == 1) add(kPlain<uint8_t, F>);
    if (size == 2) add(kPlain<uint16_t, F>);
    if (size == 4 && sizeof(F) == 8) add(kPlain<uint32_t, F>);
  }
};

/// The steps between real types; equal ones are the parts of complex types.
TENON_LAZY void add_steps(CastSteps& steps, ScalarType to, ScalarType from,
                          CastMode mode) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  const bool to_integer = isIntegralType(to, false);
  const bool from_integer = isIntegralType(from, true);
  const size_t to_size = elementSize(to);
  const size_t from_size = elementSize(from);
  if (to_integer && from_integer) {
    if (!saturate && from != ScalarType::Bool && from_size == to_size) return;
    steps.add(step_to<int64_t>(from));
    if (saturate) steps.add(&convert<int64_t, int64_t, &clamp_long>);
    return steps.add_wrapping<uint64_t>(to_size);
  }
  if (from_integer && to == ScalarType::Bool) {
    return steps.add(from_size == 1   ? kIsNonzero<uint8_t>
                     : from_size == 2 ? kIsNonzero<uint16_t>
                     : from_size == 4 ? kIsNonzero<uint32_t>
                                      : kIsNonzero<uint64_t>);
  }
  const bool to_float_at_once =
      to == ScalarType::Float && (from == ScalarType::Int || from == ScalarType::Long);
  if (is_exact_in_float(from) || to_float_at_once) {
    steps.add(step_to<float>(from));
    if (to_integer && (to_size <= 2 || (to == ScalarType::Int && !saturate))) {
      steps.add(saturate ? &convert<int32_t, float, &float_to_int<true>>
                         : &convert<int32_t, float, &float_to_int<false>>);
      return steps.add_wrapping<uint32_t>(to_size);
    }
    if (!to_integer && to != ScalarType::Double) {
      if (saturate && to != ScalarType::Bool) steps.add(&convert<float, float, &clamp_float>);
      return steps.add(step_from_float(to));
    }
    steps.add(kPlain<double, float>);
  } else if (from == ScalarType::Long && to != ScalarType::Double) {
    steps.add(&convert<double, int64_t, &long_to_odd_double<int64_t>>);
  } else if (from == ScalarType::UInt64 && to != ScalarType::Double) {
    steps.add(&convert<double, uint64_t, &long_to_odd_double<uint64_t>>);
  } else {
    steps.add(step_to<double>(from));
  }
  if (to == ScalarType::Bool) return steps.add(kIsNonzero<double>);
  if (to_integer) {
    steps.add(&convert<uint64_t, double, &double_to_long>);
    return steps.add_wrapping<uint64_t>(to_size);
  }
  if (saturate) steps.add(&convert<double, double, &clamp_double>);
  if (to == ScalarType::Double) return;
  steps.add(to == ScalarType::Float ? kPlain<float, double>
                                    : &convert<float, double, &double_to_odd_float>);
  steps.add(step_from_float(to));
}

TENON_LAZY CastLimits cast_limits(ScalarType to, ScalarType from, CastMode mode) noexcept {
  const NumberFormat format = number_format(to);
  CastLimits limits;
  limits.highest = UINT64_MAX >> (64 - format.digits);
  limits.lowest = format.lowest < 0 ? -1 - static_cast<int64_t>(limits.highest) : 0;
  limits.below = limits.lowest;
  limits.largest = format.largest;
  limits.rounding = mode == CastMode::Saturate;
  if (from == ScalarType::UInt64 && isIntegralType(to, false)) {
    // As int64_t, those beyond its range are negative.
    limits.lowest = 0;
    limits.below = static_cast<int64_t>(limits.highest < INT64_MAX ? limits.highest : INT64_MAX);
  }
  return limits;
}

/// Converts `count` elements of any type to any other; strides in bytes. They need no alignment.
/// With CastMode::Checked canCast(from, to) holds.
TENON_COMPILED_ONCE void convert_strided(ScalarType to, void* out, int64_t out_stride,
                                         ScalarType from, const void* in, int64_t in_stride,
                                         int64_t count, CastMode mode) noexcept {
  // Of complex elements both parts are converted, or the real ones. Bool joins what both give.
  const bool joins = isComplexType(from) && to == ScalarType::Bool;
  const bool widens = isComplexType(to) && !isComplexType(from);
  const int64_t parts = isComplexType(from) && (isComplexType(to) || joins) ? 2 : 1;
  const ScalarType to_part = part_type_of(to);
  const ScalarType from_part = part_type_of(from);
  const auto part_size = static_cast<int64_t>(elementSize(to_part));
  const int64_t made_size = joins ? 1 : parts * part_size;
  const int64_t taken_size = parts * static_cast<int64_t>(elementSize(from_part));
  const bool gathers = in_stride != taken_size;
  const bool scatters = joins || widens || out_stride != made_size;
  CastSteps steps;
  if (to != from) add_steps(steps, to_part, from_part, mode);
  if (steps.count == 0 && !gathers && !scatters) {
    if (count != 0) std::memcpy(out, in, static_cast<size_t>(count * made_size));
    return;
  }
  const CastLimits limits = cast_limits(to_part, from_part, mode);
  constexpr int64_t kChunk = TENON_BARE_METAL ? 2 * kStepElements : 256;
  constexpr char kZeros[16] = {};
  alignas(64) char between[2][kChunk * 8];
  char* const taken = between[1];  // the first step writes to the other
  static_assert(kChunk * 8 >= kStepElements * 16);
  const int64_t most = steps.count == 1 && !gathers && !scatters ? count : kChunk / parts;
  for (int64_t i = 0; i < count;) {
    int64_t n = count - i < most ? count - i : most;
    if (n < kStepElements && count >= kStepElements) {
      i = count - kStepElements;  // the last ones together with some before
      n = kStepElements;
    }
    const bool is_few = n < kStepElements;
    if (!is_few) n -= n % kStepElements;
    const char* made = static_cast<const char*>(in) + i * in_stride;
    char* const target = static_cast<char*>(out) + i * out_stride;
    if (is_few) std::memset(taken, 0, kStepElements * 16);
    if (is_few || gathers) {
      copy_strided(taken, taken_size, made, in_stride, n, static_cast<size_t>(taken_size));
      made = taken;
    }
    for (int k = 0; k < steps.count; ++k) {
      const bool is_last = k + 1 == steps.count && !scatters && !is_few;
      char* const next = is_last ? target : between[k % 2];
      steps.steps[k](next, made, parts * (is_few ? kStepElements : n), &limits);
      made = next;
    }
    if (joins) {
      for (int64_t k = 0; k < n; ++k)
        target[k * out_stride] = static_cast<char>(made[2 * k] | made[2 * k + 1]);
    } else if (made != target) {
      copy_strided(target, out_stride, made, made_size, n, static_cast<size_t>(made_size));
    }
    if (widens)
      copy_strided(target + part_size, out_stride, kZeros, 0, n, static_cast<size_t>(part_size));
    i += n;
  }
}

/// The same of consecutive elements.
TENON_LAZY void convert_elements(ScalarType to, void* out, ScalarType from, const void* in,
                                 int64_t count, CastMode mode = CastMode::Checked) noexcept {
  convert_strided(to, out, static_cast<int64_t>(elementSize(to)), from, in,
                  static_cast<int64_t>(elementSize(from)), count, mode);
}

}  // namespace detail
TENON_END_NAMESPACE
