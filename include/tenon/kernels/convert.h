// SPDX-License-Identifier: MIT
// Converts consecutive elements between all types.
//
// A cast is a chain of steps, mostly one or two, through float, double, int32_t or int64_t: not a
// loop for each of 380 pairs of types. Values are rounded once. A function for each instruction set
// has the loops of all steps: as functions of their own they would take a fifth more code.
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
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether every value of the real type is a float.
constexpr bool is_exact_in_float(ScalarType type) noexcept {
  return isIntegralType(type, true) ? elementSize(type) <= 2
                                    : isFloatingType(type) && type != ScalarType::Double;
}

/// Steps that convert as C++ does, `_(to, from)`. A target of the same size but another sign has the
/// same bits, and so has the source of a narrower integer.
#define TENON_DETAIL_PLAIN_STEPS(_)                                                       \
  _(UInt16, Byte)                                                                         \
  _(UInt32, Byte) _(UInt32, Char) _(UInt32, UInt16) _(UInt32, Short) _(UInt64, UInt32)    \
      _(UInt64, Int) _(Byte, UInt16) _(Byte, UInt32) _(UInt16, UInt32) _(UInt32, UInt64)  \
          _(Float, Byte) _(Float, Int) _(Float, Long) _(Float, Double) _(Float, BFloat16) \
              _(BFloat16, Float) _(Double, Int) _(Double, Long) _(Double, UInt64) _(Double, Float)

/// Those with a form for AVX2 or AVX-512 alone; elsewhere two steps do their work.
#define TENON_DETAIL_F16C_STEPS(_) _(Float, Half) _(Half, Float)
#define TENON_DETAIL_AVX2_STEPS(_) _(UInt16, Char) _(Float, Char) _(Float, Short) _(Float, UInt16)
#define TENON_DETAIL_AVX512_STEPS(_) _(UInt16, UInt64) _(Byte, UInt64)

#define TENON_DETAIL_STEPS(_) \
  TENON_DETAIL_PLAIN_STEPS(_) \
  TENON_DETAIL_F16C_STEPS(_) TENON_DETAIL_AVX2_STEPS(_) TENON_DETAIL_AVX512_STEPS(_)

enum class Step : uint8_t {
#define TENON_DETAIL_NAME(to, from) to##From##from,
  TENON_DETAIL_STEPS(TENON_DETAIL_NAME)
#undef TENON_DETAIL_NAME
      NonzeroByte,  ///< to a Byte, 1 or 0
  NonzeroWord,      ///< to a Byte
  NonzeroInt,       ///< to 16 bits
  NonzeroLong,      ///< to 32 bits
  RoundFloat,
  TruncateFloat,
  FloatToInt,
  DoubleToInt,
  DoubleToLong,
  LongToOddDouble,
  UInt64ToOddDouble,
  DoubleToOddFloat,
  ClampInt,
  ClampLong,
  ClampFloat,
  ClampDouble,
  Decode,  ///< the codes of Half or Float8, in 32 bits
  Encode,
  Copy,
  Real,   ///< the real parts of complex elements
  Widen,  ///< adds imaginary parts of 0
  Join,   ///< whether one of both Bool parts is true
  Own,    ///< the context's function
};

/// Converts a multiple of kStepElements elements: loops without a remainder.
struct CastContext;
using StepFunction = void (*)(void* out, const void* in, int64_t count,
                              const CastContext* context) noexcept;
inline constexpr int64_t kStepElements = TENON_BARE_METAL ? 8 : 32;

/// A step outside this file, for each instruction set that it is compiled for.
struct StepVariants {
  StepFunction baseline;
  StepFunction avx2;  ///< null if not faster
};

/// Parameters of the steps of a cast.
struct CastContext : CastLimits {
  const SmallFloatCode* from_code;  ///< of Half or Float8
  const SmallFloatCode* to_code;
  int64_t part_size;  ///< bytes of a copied element, or of a complex element's part
  uint64_t mask;      ///< the bits that make an element true: a zero may have a sign
  StepFunction own = nullptr;
  // A Normalize's values: one for all elements or, if the channel `varies`, one for each.
  bool varies = false;
  float scale = 1;
  const float* mean = nullptr;
  const float* stddev = nullptr;
};

/// 1 if the bits are not those of a zero, else 0.
template <class T, class F>
TENON_ALWAYS_INLINE T one_if_nonzero(F bits, const CastContext& context) noexcept {
  const F rest = static_cast<F>(bits & static_cast<F>(context.mask));
  // SSE2 does not compare 64 bits.
  if constexpr (sizeof(F) == 8) return static_cast<T>((rest | (F{0} - rest)) >> 63);
  return rest == 0 ? 0 : 1;
}
TENON_ALWAYS_INLINE float decode_small(uint32_t code, const CastContext& context) noexcept {
  return decode(code, *context.from_code);
}
TENON_ALWAYS_INLINE uint32_t encode_small(float value, const CastContext& context) noexcept {
  return encode(value, *context.to_code);
}

template <class T, class F, auto kConvert>
TENON_ALWAYS_INLINE void convert_each(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                      int64_t count, const CastContext& given) noexcept {
  const CastContext context = given;  // a local copy, which written elements cannot alias
  count &= -kStepElements;            // tells the compiler that there is no remainder
  for (int64_t i = 0; i < count; ++i) {
    store_element<T>(out, i, kConvert(load_element<F>(in, i), context));
  }
}
// A case of a step, for the types that hold its elements.
#define TENON_DETAIL_STEP(step, T, F, ...) \
  case Step::step:                         \
    return convert_each<T, F, __VA_ARGS__>(out, in, count, context);
#define TENON_DETAIL_PLAIN(to, from)                                  \
  TENON_DETAIL_STEP(to##From##from, OwnElement<ScalarType::to>::type, \
                    OwnElement<ScalarType::from>::type,               \
                    &plain<OwnElement<ScalarType::to>::type, OwnElement<ScalarType::from>::type>)

/// Runs a step that has a form for each processor.
TENON_TEMPLATE_INLINE TENON_VECTORIZE_WHOLE void run_baseline(Step step, char* out, const char* in,
                                                              int64_t count,
                                                              const CastContext& context) noexcept {
  const int64_t size = context.part_size;
  constexpr char kZeros[16] = {};
  switch (step) {
    TENON_DETAIL_PLAIN_STEPS(TENON_DETAIL_PLAIN)
    TENON_DETAIL_STEP(NonzeroByte, uint8_t, uint8_t, &one_if_nonzero<uint8_t, uint8_t>)
    TENON_DETAIL_STEP(NonzeroInt, uint16_t, uint32_t, &one_if_nonzero<uint16_t, uint32_t>)
    TENON_DETAIL_STEP(NonzeroLong, uint32_t, uint64_t, &one_if_nonzero<uint32_t, uint64_t>)
    case Step::Join:
      count /= 2;
      [[fallthrough]];
      TENON_DETAIL_STEP(NonzeroWord, uint8_t, uint16_t, &one_if_nonzero<uint8_t, uint16_t>)
      TENON_DETAIL_STEP(RoundFloat, int32_t, float, &float_to_int<true, false>)
      TENON_DETAIL_STEP(TruncateFloat, int32_t, float, &float_to_int<false, false>)
      TENON_DETAIL_STEP(FloatToInt, int32_t, float, &float_to_int<false, true>)
      TENON_DETAIL_STEP(DoubleToInt, int32_t, double, &double_to_int)
      TENON_DETAIL_STEP(DoubleToLong, uint64_t, double, &double_to_long)
      TENON_DETAIL_STEP(LongToOddDouble, double, int64_t, &long_to_odd_double<int64_t>)
      TENON_DETAIL_STEP(UInt64ToOddDouble, double, uint64_t, &long_to_odd_double<uint64_t>)
      TENON_DETAIL_STEP(DoubleToOddFloat, float, double, &double_to_odd_float)
      TENON_DETAIL_STEP(ClampInt, int32_t, int32_t, &clamp_int)
      TENON_DETAIL_STEP(ClampLong, int64_t, int64_t, &clamp_long)
      TENON_DETAIL_STEP(ClampFloat, float, float, &clamp_float)
      TENON_DETAIL_STEP(ClampDouble, double, double, &clamp_double)
      TENON_DETAIL_STEP(Decode, float, uint32_t, &decode_small)
      TENON_DETAIL_STEP(Encode, uint32_t, float, &encode_small)
    case Step::Copy: std::memcpy(out, in, static_cast<size_t>(count * size)); return;
    case Step::Widen:
      copy_strided(out + size, 2 * size, kZeros, 0, count, static_cast<size_t>(size));
      return copy_strided(out, 2 * size, in, size, count, static_cast<size_t>(size));
    case Step::Real: return copy_strided(out, size, in, 2 * size, count, static_cast<size_t>(size));
    default: return context.own(out, in, count, &context);
  }
}

#if TENON_HAS_AVX2
/// What one instruction converts: a vector, or a double where it has 8 bytes.
template <size_t kBytes>
struct Operand {
  Vector<char, kBytes> value;
};
template <>
struct Operand<8> {
  double value;
};
// A case of a step that is one instruction for kBytes of the larger elements: compilers widen bytes
// by three or four.
#define TENON_DETAIL_BY(step, to_size, from_size, instruction)                    \
  case Step::step:                                                                \
    do {                                                                          \
      constexpr int64_t n = kBytes / (to_size < from_size ? from_size : to_size); \
      Operand<n * from_size> from;                                                \
      Operand<n * to_size> to;                                                    \
      load(from.value, in);                                                       \
      asm(instruction : "=v"(to.value) : "v"(from.value));                        \
      store(out, to.value);                                                       \
      in += n * from_size;                                                        \
      out += n * to_size;                                                         \
      count -= n;                                                                 \
    } while (count != 0);                                                         \
    return;
#define TENON_DETAIL_TO_FLOAT(widen) widen " {%1, %0|%0, %1}\n\tvcvtdq2ps %0, %0"

/// Runs a step on an AVX2 processor. At -Os there are no forms that only save time; the template
/// parameter gives such files functions with other names.
template <bool kVariants>
TENON_TARGET_AVX2 TENON_VECTORIZE_WHOLE void run_avx2(Step step, char* out, const char* in,
                                                      int64_t count,
                                                      const CastContext& context) noexcept {
  constexpr int64_t kBytes = 32;
  switch (step) {
    TENON_DETAIL_BY(FloatFromHalf, 4, 2, "vcvtph2ps {%1, %0|%0, %1}")
    TENON_DETAIL_BY(HalfFromFloat, 2, 4, "vcvtps2ph {$0, %1, %0|%0, %1, 0}")
    default: break;
  }
  if constexpr (kVariants) {
    switch (step) {
      TENON_DETAIL_BY(UInt16FromByte, 2, 1, "vpmovzxbw {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt16FromChar, 2, 1, "vpmovsxbw {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromByte, 4, 1, "vpmovzxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromChar, 4, 1, "vpmovsxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(FloatFromByte, 4, 1, TENON_DETAIL_TO_FLOAT("vpmovzxbd"))
      TENON_DETAIL_BY(FloatFromChar, 4, 1, TENON_DETAIL_TO_FLOAT("vpmovsxbd"))
      TENON_DETAIL_PLAIN(UInt32, UInt16)
      TENON_DETAIL_PLAIN(UInt32, Short)
      TENON_DETAIL_PLAIN(UInt64, UInt32)
      TENON_DETAIL_PLAIN(UInt64, Int)
      TENON_DETAIL_PLAIN(Byte, UInt32)
      TENON_DETAIL_PLAIN(UInt16, UInt32)
      TENON_DETAIL_PLAIN(UInt32, UInt64)
      TENON_DETAIL_PLAIN(Float, UInt16)
      TENON_DETAIL_PLAIN(Float, Short)
      TENON_DETAIL_PLAIN(Float, Int)
      TENON_DETAIL_PLAIN(Float, Double)
      TENON_DETAIL_PLAIN(Float, BFloat16)
      TENON_DETAIL_PLAIN(BFloat16, Float)
      TENON_DETAIL_PLAIN(Double, Int)
      TENON_DETAIL_PLAIN(Double, Float)
      TENON_DETAIL_STEP(NonzeroByte, uint8_t, uint8_t, &one_if_nonzero<uint8_t, uint8_t>)
      TENON_DETAIL_STEP(NonzeroWord, uint8_t, uint16_t, &one_if_nonzero<uint8_t, uint16_t>)
      TENON_DETAIL_STEP(NonzeroInt, uint16_t, uint32_t, &one_if_nonzero<uint16_t, uint32_t>)
      TENON_DETAIL_STEP(NonzeroLong, uint32_t, uint64_t, &one_if_nonzero<uint32_t, uint64_t>)
      TENON_DETAIL_STEP(RoundFloat, int32_t, float, &float_to_int<true, false>)
      TENON_DETAIL_STEP(TruncateFloat, int32_t, float, &float_to_int<false, false>)
      TENON_DETAIL_STEP(FloatToInt, int32_t, float, &float_to_int<false, true>)
      TENON_DETAIL_STEP(DoubleToInt, int32_t, double, &double_to_int)
      TENON_DETAIL_STEP(ClampInt, int32_t, int32_t, &clamp_int)
      TENON_DETAIL_STEP(ClampFloat, float, float, &clamp_float)
      TENON_DETAIL_STEP(Decode, float, uint32_t, &decode_small)
      TENON_DETAIL_STEP(Encode, uint32_t, float, &encode_small)
      default: break;
    }
  }
  run_baseline(step, out, in, count, context);
}

/// Runs a step on an AVX-512 processor.
template <bool kVariants>
TENON_TARGET_AVX512 TENON_VECTORIZE_WHOLE void run_avx512(Step step, char* out, const char* in,
                                                          int64_t count,
                                                          const CastContext& context) noexcept {
  if constexpr (kVariants) {
    constexpr int64_t kBytes = 64;
    switch (step) {
      TENON_DETAIL_BY(UInt32FromByte, 4, 1, "vpmovzxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromChar, 4, 1, "vpmovsxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(FloatFromByte, 4, 1, TENON_DETAIL_TO_FLOAT("vpmovzxbd"))
      TENON_DETAIL_BY(FloatFromChar, 4, 1, TENON_DETAIL_TO_FLOAT("vpmovsxbd"))
      TENON_DETAIL_BY(FloatFromUInt16, 4, 2, TENON_DETAIL_TO_FLOAT("vpmovzxwd"))
      TENON_DETAIL_BY(FloatFromShort, 4, 2, TENON_DETAIL_TO_FLOAT("vpmovsxwd"))
      TENON_DETAIL_BY(ByteFromUInt32, 1, 4, "vpmovdb {%1, %0|%0, %1}")
      TENON_DETAIL_BY(ByteFromUInt64, 1, 8, "vpmovqb {%1, %0|%0, %1}")
      TENON_DETAIL_PLAIN(UInt16, UInt32)
      TENON_DETAIL_PLAIN(UInt16, UInt64)
      TENON_DETAIL_PLAIN(UInt32, UInt64)
      TENON_DETAIL_PLAIN(Float, Int)
      TENON_DETAIL_PLAIN(Float, Long)
      TENON_DETAIL_PLAIN(Float, Double)
      TENON_DETAIL_PLAIN(Double, Long)
      TENON_DETAIL_PLAIN(Double, UInt64)
      TENON_DETAIL_STEP(RoundFloat, int32_t, float, &float_to_int<true, false>)
      TENON_DETAIL_STEP(TruncateFloat, int32_t, float, &float_to_int<false, false>)
      TENON_DETAIL_STEP(DoubleToInt, int32_t, double, &double_to_int)
      default: break;
    }
  }
  run_avx2<kVariants>(step, out, in, count, context);
}
#undef TENON_DETAIL_BY
#undef TENON_DETAIL_TO_FLOAT
#endif
#undef TENON_DETAIL_STEP
#undef TENON_DETAIL_PLAIN

/// Those of the Float8 types, in order, and Half's.
inline constexpr SmallFloatCode kSmallFloatCodes[] = {
    Float8_e5m2::format::code(), Float8_e4m3fn::format::code(), Float8_e5m2fnuz::format::code(),
    Float8_e4m3fnuz::format::code(), Half::format::code()};
/// The code of Half or a Float8 type; null for any other type.
constexpr const SmallFloatCode* small_float_code(ScalarType type) noexcept {
  const int i = type == ScalarType::Half ? 4 : number_of(type) - number_of(ScalarType::Float8_e5m2);
  return i >= 0 && i < 5 ? &kSmallFloatCodes[i] : nullptr;
}
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
  int64_t from_size;  ///< of an element
  int64_t to_size;
  int64_t parts = 1;   ///< per element: 2 if both parts of complex elements are converted
  Run run_step;        ///< for the instruction set in use
  Step first_unknown;  ///< of the plain steps, the first that it has no form of
  int count = 0;
  Step steps[8];

  TENON_NOINLINE void add(Step step) noexcept { steps[count++] = step; }
  void add(const StepVariants* step) noexcept {
    context.own = step->avx2 != nullptr && isa() >= Isa::Avx2 ? step->avx2 : step->baseline;
    add(Step::Own);
  }
  /// Adds the step between two types if there is one.
  TENON_TEMPLATE_INLINE TENON_NOINLINE bool try_plain(ScalarType to, ScalarType from) noexcept {
#define TENON_DETAIL_PAIR(to, from) {ScalarType::to, ScalarType::from},
    static constexpr ScalarType kPairs[][2] = {TENON_DETAIL_STEPS(TENON_DETAIL_PAIR)};
#undef TENON_DETAIL_PAIR
    if (isIntegralType(to, false)) {
      to = unsigned_type(elementSize(to));
      if (elementSize(to) < elementSize(from)) from = unsigned_type(elementSize(from));
    }
    for (uint8_t i = 0; i < static_cast<uint8_t>(first_unknown); ++i) {
      if (kPairs[i][0] != to || kPairs[i][1] != from) continue;
      add(static_cast<Step>(i));
      return true;
    }
    return false;
  }
  /// As C++ does, from an integer or Float; perhaps through Int or Long.
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
  /// To Bool, by the bits: NaN is true, both zeros are false.
  TENON_TEMPLATE_INLINE void add_nonzero(ScalarType from) noexcept {
    const size_t size = elementSize(from);
    add(size == 1   ? Step::NonzeroByte
        : size == 2 ? Step::NonzeroWord
        : size == 4 ? Step::NonzeroInt
                    : Step::NonzeroLong);
    if (size >= 4) add_plain(ScalarType::Byte, unsigned_type(size / 2));
    const bool has_sign = isFloatingType(from) && from != ScalarType::Float8_e5m2fnuz &&
                          from != ScalarType::Float8_e4m3fnuz;
    if (has_sign) context.mask = (uint64_t{1} << (8 * size - 1)) - 1;
  }

  /// Converts consecutive elements. May leave the upper halves of vector registers in use: see
  /// clear_upper_halves().
  TENON_NOINLINE void run(char* out, const char* in, int64_t elements) noexcept {
    if (elements == 0) return;
    const int64_t rest = elements % kStepElements;
    const bool redoes_some = elements > kStepElements && context.mean == nullptr;
    if (count != 1 || (rest != 0 && !redoes_some)) return run_chunks(out, in, elements);
    run_step(steps[0], out, in, parts * (elements - rest), context);
    if (rest == 0) return;
    const int64_t last = elements - kStepElements;  // the last ones together with some before
    run_step(steps[0], out + last * to_size, in + last * from_size, parts * kStepElements, context);
  }

 private:
  TENON_NOINLINE void run_chunks(char* out, const char* in, int64_t elements) noexcept {
    constexpr int64_t kChunk = TENON_BARE_METAL ? 2 * kStepElements : 512;
    alignas(TENON_BARE_METAL ? 8 : 64) char between[2][kChunk * 8];
    const int64_t most = count == 1 ? elements : kChunk / parts;
    for (int64_t i = 0; i < elements;) {
      int64_t n = elements - i < most ? elements - i : most;
      if (n < kStepElements && elements >= kStepElements && context.mean == nullptr) {
        i = elements - kStepElements;  // the last ones together with some before
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
/// of small floats become quiet then too.
TENON_TEMPLATE_INLINE void add_cast(Conversion& c, ScalarType to, ScalarType from,
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
  if (from == ScalarType::UInt32) {
    c.add_plain(ScalarType::Long, from);
    from = ScalarType::Long;
  }
  const bool to_small = to_integer && (to_size <= 2 || (to == ScalarType::Int && !saturate));
  const bool to_float_at_once =
      to == ScalarType::Float && (from == ScalarType::Int || from == ScalarType::Long);
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
  } else if (from == ScalarType::Int) {
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

/// The conversion of elements of any type to any other. With CastMode::Checked canCast(from, to)
/// holds.
TENON_TEMPLATE_INLINE void make_conversion(Conversion& c, ScalarType to, ScalarType from,
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
