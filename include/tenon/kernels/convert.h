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
#include "tenon/kernels/cast.h"
#include "tenon/kernels/conversions.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/parallel.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether every value of the type is a float.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return type == ScalarType::Float || (isFloatingType(type) && type != ScalarType::Double) ||
         (isIntegralType(type, true) && elementSize(type) <= 2);
}

constexpr bool is_float8(ScalarType type) noexcept {
  return isFloatingType(type) && elementSize(type) == 1;
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

template <class Conversion>
struct ConvertKernel {
  using To = typename Conversion::To;
  using From = typename Conversion::From;

  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count, const CastLimits& given) noexcept {
    const CastLimits limits = given;  // where no element that is written can alias it
    for (int64_t i = 0; i < count; ++i) {
      store_element<To>(out, i, Conversion::convert(load_element<From>(in, i), limits));
    }
  }
  TENON_VECTORIZE static void run(Baseline, void* out, const void* in, int64_t count,
                                  const CastLimits* limits) noexcept {
    body(out, in, count, *limits);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, void* out, const void* in, int64_t count,
                                                    const CastLimits* limits) noexcept {
    body(out, in, count, *limits);
  }
#endif
};

#if TENON_HAS_AVX2
/// Half and float by the processor's own conversion, the last few elements from a copy.
TENON_TARGET_AVX2 TENON_ALWAYS_INLINE void eight_halves_to_floats(void* to,
                                                                  const void* from) noexcept {
  Vector<short, 16> codes;
  load(codes, from);
  const Vector<float, 32> floats = __builtin_ia32_vcvtph2ps256(codes);
  store(to, floats);
}
template <>
TENON_TARGET_AVX2 inline void ConvertKernel<HalfToFloat>::run(Avx2, void* out, const void* in,
                                                              int64_t count,
                                                              const CastLimits*) noexcept {
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  for (; count >= 8; count -= 8, to += 32, from += 16) eight_halves_to_floats(to, from);
  char last[48] = {};
  std::memcpy(last, from, static_cast<size_t>(2 * count));
  eight_halves_to_floats(last + 16, last);
  std::memcpy(to, last + 16, static_cast<size_t>(4 * count));
}
TENON_TARGET_AVX2 TENON_ALWAYS_INLINE void eight_floats_to_halves(void* to,
                                                                  const void* from) noexcept {
  Vector<float, 32> floats;
  load(floats, from);
  const Vector<short, 16> codes = __builtin_ia32_vcvtps2ph256(floats, 0);  // to nearest even
  store(to, codes);
}
template <>
TENON_TARGET_AVX2 inline void ConvertKernel<FloatToHalf>::run(Avx2, void* out, const void* in,
                                                              int64_t count,
                                                              const CastLimits*) noexcept {
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  for (; count >= 8; count -= 8, to += 16, from += 32) eight_floats_to_halves(to, from);
  char last[48] = {};
  std::memcpy(last, from, static_cast<size_t>(4 * count));
  eight_floats_to_halves(last + 32, last);
  std::memcpy(to, last + 32, static_cast<size_t>(2 * count));
}
#endif

using Step = void (*)(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept;

/// What AVX2 makes much faster, and what it does not.
template <class Conversion>
void convert(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept {
  dispatch<ConvertKernel<Conversion>>(out, in, count, limits);
}
template <class Conversion>
void convert_plainly(void* out, const void* in, int64_t count, const CastLimits* limits) noexcept {
  ConvertKernel<Conversion>::run(Baseline(), out, in, count, limits);
  clear_after_baseline();
}

/// nullptr for float itself, and for the Float8 types, whose codes come as uint32_t.
TENON_LAZY Step step_to_float(ScalarType from) noexcept {
  switch (from) {
    case ScalarType::Byte: return &convert_plainly<Plain<float, uint8_t>>;
    case ScalarType::Char: return &convert_plainly<Plain<float, int8_t>>;
    case ScalarType::Short: return &convert_plainly<Plain<float, int16_t>>;
    case ScalarType::UInt16: return &convert_plainly<Plain<float, uint16_t>>;
    case ScalarType::Int: return &convert_plainly<Plain<float, int32_t>>;
    case ScalarType::UInt32: return &convert_plainly<Plain<float, uint32_t>>;
    case ScalarType::Long: return &convert_plainly<Plain<float, int64_t>>;
    case ScalarType::UInt64: return &convert_plainly<Plain<float, uint64_t>>;
    case ScalarType::Bool: return &convert_plainly<Plain<float, bool>>;
    case ScalarType::Double: return &convert_plainly<Plain<float, double>>;
    case ScalarType::Half: return &convert<HalfToFloat>;
    case ScalarType::BFloat16: return &convert<BFloat16ToFloat>;
    default: return nullptr;
  }
}
TENON_LAZY Step step_to_double(ScalarType from) noexcept {
  switch (from) {
    case ScalarType::Int: return &convert_plainly<Plain<double, int32_t>>;
    case ScalarType::UInt32: return &convert_plainly<Plain<double, uint32_t>>;
    case ScalarType::Long: return &convert_plainly<Plain<double, int64_t>>;
    case ScalarType::UInt64: return &convert_plainly<Plain<double, uint64_t>>;
    default: return &convert_plainly<Plain<double, float>>;
  }
}
/// nullptr for integers of 64 bits themselves.
TENON_LAZY Step step_to_long(ScalarType from) noexcept {
  switch (from) {
    case ScalarType::Bool: return &convert_plainly<Plain<int64_t, bool>>;
    case ScalarType::Byte: return &convert_plainly<Plain<int64_t, uint8_t>>;
    case ScalarType::Char: return &convert_plainly<Plain<int64_t, int8_t>>;
    case ScalarType::Short: return &convert_plainly<Plain<int64_t, int16_t>>;
    case ScalarType::UInt16: return &convert_plainly<Plain<int64_t, uint16_t>>;
    case ScalarType::Int: return &convert_plainly<Plain<int64_t, int32_t>>;
    case ScalarType::UInt32: return &convert_plainly<Plain<int64_t, uint32_t>>;
    default: return nullptr;
  }
}

TENON_LAZY Step step_to_bool(ScalarType from) noexcept {
  switch (elementSize(from)) {
    case 1: return &convert_plainly<IsNonzero<uint8_t>>;
    case 2: return &convert_plainly<IsNonzero<uint16_t>>;
    case 4: return &convert_plainly<IsNonzero<uint32_t>>;
    case 8: return &convert_plainly<IsNonzero<uint64_t>>;
    default: return &convert_plainly<IsPairNonzero>;
  }
}
TENON_LAZY Step step_take_real(ScalarType from) noexcept {
  switch (elementSize(from)) {
    case 4: return &convert_plainly<TakeReal<uint16_t, uint32_t>>;
    case 8: return &convert_plainly<TakeReal<uint32_t, uint64_t>>;
    default: return &convert_plainly<TakeReal<uint64_t, DoubleParts>>;
  }
}
TENON_LAZY Step step_add_imaginary(ScalarType to) noexcept {
  switch (elementSize(to)) {
    case 4: return &convert_plainly<AddImaginary<uint16_t, uint32_t>>;
    case 8: return &convert_plainly<AddImaginary<uint32_t, uint64_t>>;
    default: return &convert_plainly<AddImaginary<uint64_t, DoubleParts>>;
  }
}

/// Those that the steps between the types ask for.
TENON_LAZY CastLimits cast_limits(ScalarType to, ScalarType from, CastMode mode) noexcept {
  CastLimits limits{};
  limits.rounding = mode == CastMode::Saturate;
  limits.largest = std::numeric_limits<double>::infinity();
  if (isIntegralType(to, false) || limits.rounding) {
    visit(
        to,
        [&](auto tag) {
          using T = typename decltype(tag)::type;
          if constexpr (std::is_integral_v<T>) {
            if constexpr (std::is_signed_v<T>) {
              limits.lowest = int64_t{std::numeric_limits<T>::lowest()};
            }
            limits.highest = static_cast<uint64_t>(std::numeric_limits<T>::max());
          } else if constexpr (!IsComplexLike<T>::value) {
            limits.largest = static_cast<double>(std::numeric_limits<T>::max());
          }
        },
        [] {});
    limits.lowest_number = static_cast<double>(limits.lowest);
    limits.highest_number = static_cast<double>(limits.highest);
  }
  if (is_float8(from)) limits.in = float8_limits(from);
  if (is_float8(to)) limits.out = float8_limits(to);
  if (to == ScalarType::Bool) {
    limits.nonzero = UINT64_MAX;
    // Zeros have signs, but for the formats in which the sign alone is NaN.
    if (!isIntegralType(from, true) && !(is_float8(from) && limits.in.signed_zero == 0)) {
      const size_t bits = 8 * elementSize(part_type_of(from));
      for (size_t i = bits - 1; i < 64; i += bits) limits.nonzero -= uint64_t{1} << i;
    }
  }
  return limits;
}

/// The steps of a cast, one after another.
struct CastSteps {
  Step steps[6];
  int count = 0;

  void add(Step step) noexcept {
    if (step != nullptr) steps[count++] = step;
  }
  /// From integers of `size` bytes to shorter ones; they wrap.
  TENON_LAZY void add_wrapping(size_t size, ScalarType to) noexcept {
    const size_t to_size = elementSize(to);
    if (size == 8 && to_size < 8) add(&convert_plainly<Plain<uint32_t, uint64_t>>);
    if (to_size == 2) add(&convert_plainly<Plain<uint16_t, uint32_t>>);
    if (to_size == 1) add(&convert_plainly<Plain<uint8_t, uint32_t>>);
  }
  TENON_LAZY void add_to_float(ScalarType from) noexcept {
    if (!is_float8(from)) return add(step_to_float(from));
    add(&convert_plainly<Plain<uint32_t, uint8_t>>);
    add(&convert<Float8ToFloat>);
  }
  TENON_LAZY void add_from_float(ScalarType to) noexcept {
    if (to == ScalarType::Half) add(&convert<FloatToHalf>);
    if (to == ScalarType::BFloat16) add(&convert<FloatToBFloat16>);
    if (!is_float8(to)) return;
    add(&convert<FloatToFloat8>);
    add_wrapping(4, to);
  }
};

/// The steps between real types; equal ones are the parts of complex types.
TENON_LAZY void add_steps(CastSteps& steps, ScalarType to, ScalarType from,
                          CastMode mode) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  const bool to_integer = isIntegralType(to, false);
  const bool to_small_integer = to_integer && elementSize(to) <= 2;
  const bool to_wide = to == ScalarType::Double || (to_integer && !to_small_integer);
  const bool from_float = is_exact_in_float(from);
  if (to_integer && isIntegralType(from, true) && !(saturate && to_small_integer && from_float)) {
    steps.add(step_to_long(from));
    if (saturate) {
      steps.add(from == ScalarType::UInt64 ? &convert_plainly<ClampLong<uint64_t>>
                                           : &convert_plainly<ClampLong<int64_t>>);
    }
    return steps.add_wrapping(8, to);
  }
  if (from_float || (to == ScalarType::Float && !(saturate && from == ScalarType::Double))) {
    steps.add_to_float(from);
    if (to_small_integer) {
      steps.add(saturate ? &convert<FloatToInt<true>> : &convert<FloatToInt<false>>);
      return steps.add_wrapping(4, to);
    }
    if (!to_wide) {
      if (from_float && (saturate || to == from)) steps.add(&convert<ClampFloat>);
      return steps.add_from_float(to);
    }
    steps.add(step_to_double(ScalarType::Float));
  } else if (from != ScalarType::Double) {
    if (!to_wide && from == ScalarType::Long) steps.add(&convert<LongToOddLong<int64_t>>);
    if (!to_wide && from == ScalarType::UInt64) steps.add(&convert<LongToOddLong<uint64_t>>);
    steps.add(step_to_double(from));
  }
  if (to_integer && (elementSize(to) == 8 || to == ScalarType::UInt32)) {
    steps.add(&convert_plainly<DoubleToLong>);
    return steps.add_wrapping(8, to);
  }
  if (to_integer) {
    steps.add(saturate ? &convert<DoubleToInt<true>> : &convert<DoubleToInt<false>>);
    return steps.add_wrapping(4, to);
  }
  if (saturate) steps.add(&convert<ClampDouble>);
  if (to == ScalarType::Double) return;
  steps.add(to == ScalarType::Float ? step_to_float(ScalarType::Double)
                                    : &convert<DoubleToOddFloat>);
  steps.add_from_float(to);
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
  if (isComplexType(to) && isComplexType(from)) {
    to = part_type_of(to);
    from = part_type_of(from);
    count *= 2;
  }
  const auto out_size = static_cast<int64_t>(elementSize(to));
  const auto in_size = static_cast<int64_t>(elementSize(from));
  CastSteps steps;
  if (to == ScalarType::Bool) {
    steps.add(step_to_bool(from));
  } else {
    if (isComplexType(from)) steps.add(step_take_real(from));
    add_steps(steps, part_type_of(to), part_type_of(from), mode);
    if (isComplexType(to)) steps.add(step_add_imaginary(to));
  }
  if (steps.count == 0) {  // between Long and UInt64
    std::memcpy(out, in, static_cast<size_t>(count * out_size));
    return;
  }
  const CastLimits limits = cast_limits(part_type_of(to), from, mode);
  constexpr int64_t kChunk = 256;
  alignas(64) unsigned char between[2][kChunk * 8];
  const int64_t chunk = steps.count == 1 ? count : kChunk;
  for (int64_t i = 0; i < count; i += chunk) {
    const int64_t n = count - i < chunk ? count - i : chunk;
    const void* taken = static_cast<const unsigned char*>(in) + i * in_size;
    for (int k = 0; k + 1 < steps.count; ++k) {
      steps.steps[k](between[k % 2], taken, n, &limits);
      taken = between[k % 2];
    }
    steps.steps[steps.count - 1](static_cast<unsigned char*>(out) + i * out_size, taken, n,
                                 &limits);
  }
}

/// Converts a block as cast_elements() does.
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
