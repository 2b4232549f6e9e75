// SPDX-License-Identifier: MIT
// Converts consecutive elements between all types.
//
// A cast is a chain of steps, mostly one or two, through float, double, int32_t or int64_t: not a
// loop for each of 380 pairs of types. Values are rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/numbers.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/cast_steps.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether a float represents every value of the type, a real one, exactly.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return isIntegralType(type, true) ? elementSize(type) <= 2
                                    : isFloatingType(type) && type != ScalarType::Double;
}

/// The codes of the Float8 types, in order, then Half's.
inline constexpr SmallFloatCode kSmallFloatCodes[] = {
    Float8_e5m2::format::code(), Float8_e4m3fn::format::code(), Float8_e5m2fnuz::format::code(),
    Float8_e4m3fnuz::format::code(), Half::format::code()};
/// The code of Half or a Float8 type; null for any other type.
constexpr const SmallFloatCode* small_float_code(ScalarType type) noexcept {
  const int i = number_of(type) - number_of(ScalarType::Float8_e5m2);
  return type == ScalarType::Half ? &kSmallFloatCodes[4]
         : i >= 0 && i < 4        ? &kSmallFloatCodes[i]
                                  : nullptr;
}
/// A type's row in a table. Unsigned integers have even rows; the next row is the signed type's.
constexpr size_t type_row(ScalarType type) noexcept {
  constexpr uint8_t kOther = 16;
  constexpr uint8_t kRows[] = {0,      1,      3,      5,      7,      8,      10,     14,
                               kOther, kOther, kOther, kOther, kOther, kOther, kOther, 12,
                               kOther, kOther, kOther, kOther, kOther, kOther, kOther, kOther,
                               kOther, kOther, kOther, 2,      4,      6};
  return kRows[number_of(type)];
}
/// The plain step from one type to another, by their rows. Signed and unsigned targets share a
/// step.
struct PlainSteps {
  Step step[9][17];

  constexpr PlainSteps() noexcept : step() {
    for (auto& of_target : step) {
      for (Step& one : of_target) one = Step::Own;
    }
#define TENON_DETAIL_PAIR(to, from) set(ScalarType::to, ScalarType::from, Step::to##From##from);
    TENON_DETAIL_PLAIN_STEPS(TENON_DETAIL_PAIR)
#undef TENON_DETAIL_PAIR
  }
  constexpr void set(ScalarType to, ScalarType from, Step value) noexcept {
    const size_t row = type_row(from);
    step[type_row(to) / 2][row] = value;
    if (isIntegralType(to, false) && elementSize(to) < elementSize(from)) {  // signed or unsigned
      step[type_row(to) / 2][row + 1] = value;
    }
  }
};
inline constexpr PlainSteps kPlainSteps;

/// The unsigned integer, at most 8 bytes long.
constexpr ScalarType unsigned_type(size_t size) noexcept {
  return size == 1   ? ScalarType::Byte
         : size == 2 ? ScalarType::UInt16
         : size == 4 ? ScalarType::UInt32
                     : ScalarType::UInt64;
}

/// The conversion from one type to another, set up once for all elements.
struct Conversion {
  using Run = void (*)(Step step, char* out, const char* in, int64_t count,
                       const CastContext& context) noexcept;

  CastContext context;
  int64_t from_size;  ///< bytes of a source element
  int64_t to_size;
  int64_t parts = 1;   ///< per element: 2 if both parts of complex elements are converted
  Run run_step;        ///< runs a step on the instruction set in use
  Step first_unknown;  ///< the first plain step for which run_step has no form
  int count = 0;
  Step steps[8];

  TENON_NOINLINE void add(Step step) noexcept { steps[count++] = step; }
  void add(const StepVariants* step) noexcept {
    context.own = step->avx2 != nullptr && isa() >= Isa::Avx2 ? step->avx2 : step->baseline;
    add(Step::Own);
  }
  /// Adds the step between two types if there is one.
  TENON_TEMPLATE_INLINE TENON_NOINLINE bool try_plain(ScalarType to, ScalarType from) noexcept {
    const Step step = kPlainSteps.step[type_row(to) / 2][type_row(from)];
    if (step >= first_unknown) return false;
    add(step);
    return true;
  }
  /// Adds steps that convert as C++ does, from an integer or Float, perhaps through Int or Long.
  TENON_TEMPLATE_INLINE TENON_NOINLINE void add_plain(ScalarType to, ScalarType from) noexcept {
    if (try_plain(to, from)) return;
    const bool is_long = elementSize(from) == 4 && !isIntegralType(to, false);
    const ScalarType between = is_long ? ScalarType::Long : ScalarType::Int;
    try_plain(between, from);
    try_plain(to, between);
  }
  TENON_TEMPLATE_INLINE void add_to_float(ScalarType from) noexcept {
    if (from == ScalarType::Float || try_plain(ScalarType::Float, from)) return;
    if (context.from_code == nullptr) return add_plain(ScalarType::Float, from);
    add_plain(ScalarType::UInt32, unsigned_type(elementSize(from)));
    add(Step::Decode);
  }
  TENON_TEMPLATE_INLINE TENON_NOINLINE void add_from_float(ScalarType to) noexcept {
    if (to == ScalarType::Float || try_plain(to, ScalarType::Float)) return;
    add(Step::Encode);
    add_plain(unsigned_type(elementSize(to)), ScalarType::UInt32);
  }
  /// Adds the steps to Bool, by the bits: NaN is true, both zeros are false.
  TENON_TEMPLATE_INLINE void add_nonzero(ScalarType from) noexcept {
    const size_t size = elementSize(from);
    add(size == 1   ? Step::NonzeroByte
        : size == 2 ? Step::NonzeroWord
        : size == 4 ? Step::NonzeroInt
                    : Step::NonzeroLong);
    if (size >= 4) add_plain(ScalarType::Byte, unsigned_type(size / 2));
    if (isFloatingType(from) && !has_unsigned_zero(from))
      context.mask = (uint64_t{1} << (8 * size - 1)) - 1;
  }

  /// Converts consecutive elements. May leave the upper halves of vector registers in use: see
  /// clear_upper_halves().
  TENON_NOINLINE void run(char* out, const char* in, int64_t elements) noexcept {
    constexpr int64_t kChunk = TENON_BARE_METAL ? 2 * kStepElements : 512;
    alignas(TENON_BARE_METAL ? 8 : 64) char between[2][kChunk * 8];
    const int64_t most = count == 1 ? elements : kChunk / parts;
    for (int64_t i = 0; i < elements;) {
      int64_t n = elements - i < most ? elements - i : most;
      if (n < kStepElements && elements >= kStepElements && context.mean == nullptr) {
        i = elements - kStepElements;  // the last step repeats some elements
        n = kStepElements;
      }
      const bool is_few = n < kStepElements;
      if (!is_few) n -= n % kStepElements;
      const char* made = in + i * from_size;
      char* const target = out + i * to_size;
      if (is_few) {
        std::memset(between[1], 0, static_cast<size_t>(kStepElements * from_size));
        std::memcpy(between[1], made, static_cast<size_t>(n * from_size));
        made = between[1];
      }
      for (int k = 0; k < count; ++k) {
        char* const next = k + 1 == count && !is_few ? target : between[k % 2];
        run_step(steps[k], next, made, parts * (is_few ? kStepElements : n), context);
        made = next;
      }
      if (is_few) std::memcpy(target, made, static_cast<size_t>(n * to_size));
      i += n;
      if (context.varies) {
        context.mean += n;
        context.stddev += n;
      }
    }
  }
};

/// Adds the steps between real types. Equal types occur as parts of complex types; signalling NaNs
/// of small floats become quiet then too. Cold, as is make_conversion(): both run once for all
/// elements, so they are compiled for size.
TENON_TEMPLATE_INLINE TENON_COLD void add_cast(Conversion& c, ScalarType to, ScalarType from,
                                               CastMode mode) noexcept {
  const bool saturate = mode == CastMode::Saturate;
  const bool to_integer = isIntegralType(to, false);
  const size_t to_size = elementSize(to);
  if (to == ScalarType::Bool) return c.add_nonzero(from);
  if (from == ScalarType::Bool) {
    c.add(Step::NonzeroByte);
    from = ScalarType::Byte;
  }
  const bool from_integer = isIntegralType(from, false);
  if (to_integer && from_integer) {
    if (saturate) {
      const bool is_long = from == ScalarType::UInt32 || elementSize(from) == 8;
      const ScalarType between = is_long ? ScalarType::Long : ScalarType::Int;
      if (elementSize(from) < elementSize(between)) c.add_plain(between, from);
      c.add(is_long ? Step::ClampLong : Step::ClampInt);
      from = between;
    }
    if (elementSize(from) != to_size) c.add_plain(to, from);
    return;
  }
  if (from_integer && to == ScalarType::Double) return c.add_plain(to, from);
  const bool to_small = to_integer && (to_size <= 2 || (to == ScalarType::Int && !saturate));
  const bool to_float_at_once =
      to == ScalarType::Float && from_integer && from != ScalarType::UInt64;
  if (is_exact_in_float(from) || to_float_at_once) {
    c.add_to_float(from);
    if (to_small) {
      c.add(saturate ? Step::RoundFloat : to_size == 4 ? Step::FloatToInt : Step::TruncateFloat);
      if (to_size < 4) c.add_plain(to, ScalarType::Int);
      return;
    }
    if (!to_integer && to != ScalarType::Double) {
      if (saturate) c.add(Step::ClampFloat);
      return c.add_from_float(to);
    }
    c.add_plain(ScalarType::Double, ScalarType::Float);
  } else if (from == ScalarType::Int || from == ScalarType::UInt32) {
    c.add_plain(ScalarType::Double, from);
  } else if (from != ScalarType::Double) {
    c.add(from == ScalarType::Long ? Step::LongToOddDouble : Step::UInt64ToOddDouble);
  }
  if (to_integer) {
    const bool to_int = to_small && !saturate;
    c.add(to_int ? Step::DoubleToInt : Step::DoubleToLong);
    const ScalarType made = to_int ? ScalarType::Int : ScalarType::Long;
    if (elementSize(made) != to_size) c.add_plain(to, made);
    return;
  }
  if (saturate) c.add(Step::ClampDouble);
  if (to == ScalarType::Double) return;
  if (to == ScalarType::Float) return c.add_plain(to, ScalarType::Double);
  c.add(Step::DoubleToOddFloat);
  c.add_from_float(to);
}

/// Chooses the forms of the steps for the instruction set in use.
template <bool kVariants = kHasVariants>
void choose_forms(Conversion& c) noexcept {
  c.run_step = &run_baseline<>;
  c.first_unknown = Step::FloatFromHalf;
#if TENON_HAS_AVX2
  if (TENON_BARE_METAL || isa() < Isa::Avx2) return;
  const bool is_avx512 = kVariants && isa() == Isa::Avx512;
  c.run_step = is_avx512 ? &run_avx512<kVariants> : &run_avx2<kVariants>;
  c.first_unknown = is_avx512   ? Step::NonzeroByte
                    : kVariants ? Step::UInt16FromUInt64
                                : Step::UInt16FromChar;
#endif
}

/// Sets up the conversion of elements of any type to any other. With CastMode::Checked,
/// canCast(from, to) must hold.
TENON_TEMPLATE_INLINE TENON_COLD void make_conversion(Conversion& c, ScalarType to, ScalarType from,
                                                      CastMode mode) noexcept {
  choose_forms(c);
  // Converts both parts of complex elements, or the real parts. Bool is true if either part is.
  const bool is_complex = isComplexType(from);
  const bool to_complex = isComplexType(to);
  const bool joins = is_complex && to == ScalarType::Bool;
  const ScalarType to_part = part_type_of(to);
  const ScalarType from_part = part_type_of(from);
  c.from_size = static_cast<int64_t>(elementSize(from));
  c.to_size = static_cast<int64_t>(elementSize(to));
  c.parts = is_complex && (to_complex || joins) ? 2 : 1;
  const bool to_real = is_complex && c.parts == 1;
  static_cast<CastLimits&>(c.context) = cast_limits(to_part, from_part, mode);
  c.context.mask = UINT64_MAX;
  c.context.from_code = small_float_code(from_part);
  c.context.to_code = small_float_code(to_part);
  c.context.part_size = to_real ? c.from_size / 2 : to_complex ? c.to_size / 2 : c.to_size;
  if (to_real) c.add(Step::Real);
  if (to != from) add_cast(c, to_part, from_part, mode);
  if (joins) c.add(Step::Join);
  if (to_complex && !is_complex) c.add(Step::Widen);
  if (c.count == 0) c.add(Step::Copy);
}

/// Converts consecutive elements.
TENON_COMPILED_ONCE void convert_elements(ScalarType to, void* out, ScalarType from, const void* in,
                                          int64_t count,
                                          CastMode mode = CastMode::Checked) noexcept {
  Conversion c;
  make_conversion(c, to, from, mode);
  c.run(static_cast<char*>(out), static_cast<const char*>(in), count);
  clear_after_variants();
}

}  // namespace detail
TENON_END_NAMESPACE

#undef TENON_DETAIL_WIDE_STEPS
#undef TENON_DETAIL_OTHER_STEPS
#undef TENON_DETAIL_F16C_STEPS
#undef TENON_DETAIL_AVX2_STEPS
#undef TENON_DETAIL_AVX512_STEPS
#undef TENON_DETAIL_PLAIN_STEPS
#undef TENON_DETAIL_WIDE_FORMULAS
#undef TENON_DETAIL_OTHER_FORMULAS
