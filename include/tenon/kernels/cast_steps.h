// SPDX-License-Identifier: MIT
// The steps of casts: loops over consecutive elements. convert.h chooses them.
//
// For each instruction set one function contains the loops of all steps: a function for each step
// would take a fifth more code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/numbers.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/dispatch.h"
#include "tenon/kernels/units.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Steps that convert as C++ does, `_(to, from)`. Signed and unsigned targets of one size get the
/// same bits and share a step; so do signed and unsigned sources of a narrower integer. These have
/// an AVX2 form too:
#define TENON_DETAIL_WIDE_STEPS(_) \
  _(UInt32, Short)                 \
  _(UInt64, UInt32)                \
  _(UInt64, Int)                   \
  _(Byte, UInt32)                  \
  _(UInt16, UInt32)                \
  _(UInt32, UInt64)                \
  _(Float, Int)                    \
  _(Float, Double)                 \
  _(Float, BFloat16)               \
  _(BFloat16, Float)               \
  _(Double, Int)                   \
  _(Double, Float)
/// Steps that are written as one AVX2 instruction, or whose loop is not faster with AVX2.
#define TENON_DETAIL_OTHER_STEPS(_) \
  _(UInt32, UInt16)                 \
  _(UInt16, Byte)                   \
  _(UInt32, Byte)                   \
  _(UInt32, Char)                   \
  _(Byte, UInt16)                   \
  _(Float, Byte)                    \
  _(Float, Long)                    \
  _(Double, Long)                   \
  _(Double, UInt64)
/// Steps that exist only for F16C, AVX2 or AVX-512. Other processors take two steps instead.
#define TENON_DETAIL_F16C_STEPS(_) _(Float, Half) _(Half, Float)
#define TENON_DETAIL_AVX2_STEPS(_) _(UInt16, Char) _(Float, Char) _(Float, Short) _(Float, UInt16)
#define TENON_DETAIL_AVX512_STEPS(_) _(UInt16, UInt64) _(Byte, UInt64)
#define TENON_DETAIL_PLAIN_STEPS(_) \
  TENON_DETAIL_WIDE_STEPS(_)        \
  TENON_DETAIL_OTHER_STEPS(_)       \
  TENON_DETAIL_F16C_STEPS(_) TENON_DETAIL_AVX2_STEPS(_) TENON_DETAIL_AVX512_STEPS(_)

/// Further steps, `_(name, target type, source type, function)`, with an AVX2 form too. Nonzero
/// steps write 1 or 0. Decode and Encode convert from and to the codes of Half and Float8, in 32
/// bits.
#define TENON_DETAIL_WIDE_FORMULAS(_)                                     \
  _(NonzeroByte, uint8_t, uint8_t, &one_if_nonzero<uint8_t, uint8_t>)     \
  _(NonzeroWord, uint8_t, uint16_t, &one_if_nonzero<uint8_t, uint16_t>)   \
  _(NonzeroInt, uint16_t, uint32_t, &one_if_nonzero<uint16_t, uint32_t>)  \
  _(NonzeroLong, uint32_t, uint64_t, &one_if_nonzero<uint32_t, uint64_t>) \
  _(RoundFloat, int32_t, float, &float_to_int<true, false>)               \
  _(TruncateFloat, int32_t, float, &float_to_int<false, false>)           \
  _(FloatToInt, int32_t, float, &float_to_int<false, true>)               \
  _(DoubleToInt, int32_t, double, &double_to_int)                         \
  _(DoubleToOddFloat, float, double, &double_to_odd_float)                \
  _(ClampInt, int32_t, int32_t, &clamp_int)                               \
  _(ClampFloat, float, float, &clamp_float)                               \
  _(Decode, float, uint32_t, &decode_small)                               \
  _(Encode, uint32_t, float, &encode_small)
#define TENON_DETAIL_OTHER_FORMULAS(_)                                  \
  _(LongToOddDouble, double, int64_t, &long_to_odd_double<int64_t>)     \
  _(UInt64ToOddDouble, double, uint64_t, &long_to_odd_double<uint64_t>) \
  _(ClampLong, int64_t, int64_t, &clamp_long)                           \
  _(ClampDouble, double, double, &clamp_double)

// clang-format off
enum class Step : uint8_t {
#define TENON_DETAIL_PLAIN_NAME(to, from) to##From##from,
#define TENON_DETAIL_NAME(name, ...) name,
  TENON_DETAIL_PLAIN_STEPS(TENON_DETAIL_PLAIN_NAME)
  TENON_DETAIL_WIDE_FORMULAS(TENON_DETAIL_NAME)
  TENON_DETAIL_OTHER_FORMULAS(TENON_DETAIL_NAME)
#undef TENON_DETAIL_PLAIN_NAME
#undef TENON_DETAIL_NAME
  DoubleToLong,
  Copy,
  Real,   ///< the real parts of complex elements
  Widen,  ///< adds imaginary parts of 0
  Join,   ///< whether one of both Bool parts is true
  Own,    ///< the context's function
};
// clang-format on

/// A step's number, for a switch over some of them.
constexpr uint8_t number_of(Step step) noexcept { return static_cast<uint8_t>(step); }

/// A StepFunction converts a multiple of kStepElements elements, so that loops have no remainder.
struct CastContext;
using StepFunction = void (*)(void* out, const void* in, int64_t count,
                              const CastContext* context) noexcept;
inline constexpr int64_t kStepElements = TENON_BARE_METAL ? 8 : 32;

/// The functions of a step outside this file, one for each instruction set that the step is
/// compiled for.
struct StepVariants {
  StepFunction baseline;
  StepFunction avx2;  ///< null if not faster
};

/// Parameters of the steps of a cast.
struct CastContext : CastLimits {
  const SmallFloatCode* from_code;  ///< for a source that is Half or Float8
  const SmallFloatCode* to_code;
  int64_t part_size;  ///< bytes of a copied element, or of a complex element's part
  uint64_t mask;      ///< the bits that make an element true: not a zero's sign
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
template <class T, class F>
TENON_ALWAYS_INLINE void convert_plain(void* out, const void* in, int64_t count,
                                       const CastContext& context) noexcept {
  convert_each<T, F, &plain<T, F>>(out, in, count, context);
}
TENON_ALWAYS_INLINE uint64_t truncate_double(double value, const CastContext&) noexcept {
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}
/// Double to integers, by double_to_long(). When truncating to Long, a step whose elements are all
/// in range takes no branches.
TENON_ALWAYS_INLINE void convert_doubles(char* out, const char* in, int64_t count,
                                         const CastContext& context) noexcept {
  const bool is_plain =
      !context.rounding && context.lowest == INT64_MIN && context.highest == uint64_t{INT64_MAX};
  for (int64_t i = 0; i < count; i += kStepElements, in += 8 * kStepElements) {
    uint64_t beyond = is_plain ? 0 : UINT64_MAX;
    for (int64_t k = 0; k < kStepElements; ++k) {
      beyond |= 0x43dfffffffffffffu - (load_element<uint64_t>(in, k) & INT64_MAX);
    }
    if (beyond >> 63 == 0) {
      convert_each<uint64_t, double, &truncate_double>(out, in, kStepElements, context);
    } else {
      convert_each<uint64_t, double, &double_to_long>(out, in, kStepElements, context);
    }
    out += 8 * kStepElements;
  }
}
// A case of a step, for the types that hold its elements.
#define TENON_DETAIL_FORMULA(step, T, F, ...) \
  case number_of(Step::step):                 \
    return convert_each<T, F, __VA_ARGS__>(out, in, count, context);
#define TENON_DETAIL_PLAIN(to, from)                                                            \
  case number_of(Step::to##From##from):                                                         \
    return convert_plain<OwnElement<ScalarType::to>::type, OwnElement<ScalarType::from>::type>( \
        out, in, count, context);

/// Runs a step in the form that works on every processor.
TENON_TEMPLATE_INLINE TENON_VECTORIZE_WHOLE void run_baseline(Step step, char* out, const char* in,
                                                              int64_t count,
                                                              const CastContext& context) noexcept {
  const int64_t size = context.part_size;
  constexpr char kZeros[16] = {};
  switch (number_of(step)) {
    TENON_DETAIL_WIDE_STEPS(TENON_DETAIL_PLAIN)
    TENON_DETAIL_OTHER_STEPS(TENON_DETAIL_PLAIN)
    TENON_DETAIL_WIDE_FORMULAS(TENON_DETAIL_FORMULA)
    TENON_DETAIL_OTHER_FORMULAS(TENON_DETAIL_FORMULA)
    case number_of(Step::DoubleToLong): return convert_doubles(out, in, count, context);
    case number_of(Step::Join):
      return convert_each<uint8_t, uint16_t, &one_if_nonzero<uint8_t, uint16_t>>(out, in, count / 2,
                                                                                 context);
    case number_of(Step::Copy): std::memcpy(out, in, static_cast<size_t>(count * size)); return;
    case number_of(Step::Widen):
      copy_strided(out + size, 2 * size, kZeros, 0, count, static_cast<size_t>(size));
      return copy_strided(out, 2 * size, in, size, count, static_cast<size_t>(size));
    case number_of(Step::Real):
      return copy_strided(out, size, in, 2 * size, count, static_cast<size_t>(size));
    default: return context.own(out, in, count, &context);
  }
}

#if TENON_HAS_AVX2
/// The operand of one instruction: a vector, or a double if it has 8 bytes.
template <size_t kBytes>
struct Operand {
  Vector<char, kBytes> value;
};
template <>
struct Operand<8> {
  double value;
};
// A case of a step that one instruction does for `n` elements of these sizes: compilers use three
// or four instructions to widen bytes. Pass literals: nvcc prints constants in template arguments
// wrongly.
#define TENON_DETAIL_BY(step, to_bytes, from_bytes, n, instruction) \
  case number_of(Step::step):                                       \
    do {                                                            \
      Operand<from_bytes> from;                                     \
      Operand<to_bytes> to;                                         \
      load(from.value, in);                                         \
      asm(instruction : "=v"(to.value) : "v"(from.value));          \
      store(out, to.value);                                         \
      in += from_bytes;                                             \
      out += to_bytes;                                              \
      count -= n;                                                   \
    } while (count != 0);                                           \
    return;
#define TENON_DETAIL_TO_FLOAT(widen) widen " {%1, %0|%0, %1}\n\tvcvtdq2ps %0, %0"

/// Runs a step on an AVX2 processor. Without kVariants, as at -Os, forms that only save time are
/// left out. The template parameter then gives the functions other names.
template <bool kVariants>
TENON_TARGET_AVX2 TENON_VECTORIZE_WHOLE void run_avx2(Step step, char* out, const char* in,
                                                      int64_t count,
                                                      const CastContext& context) noexcept {
  switch (number_of(step)) {
    TENON_DETAIL_BY(FloatFromHalf, 32, 16, 8, "vcvtph2ps {%1, %0|%0, %1}")
    TENON_DETAIL_BY(HalfFromFloat, 16, 32, 8, "vcvtps2ph {$0, %1, %0|%0, %1, 0}")
    default: break;
  }
  if constexpr (kVariants) {
    switch (number_of(step)) {
      TENON_DETAIL_BY(UInt16FromByte, 32, 16, 16, "vpmovzxbw {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt16FromChar, 32, 16, 16, "vpmovsxbw {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromByte, 32, 8, 8, "vpmovzxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromChar, 32, 8, 8, "vpmovsxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(FloatFromByte, 32, 8, 8, TENON_DETAIL_TO_FLOAT("vpmovzxbd"))
      TENON_DETAIL_BY(FloatFromChar, 32, 8, 8, TENON_DETAIL_TO_FLOAT("vpmovsxbd"))
      TENON_DETAIL_PLAIN(Float, UInt16)
      TENON_DETAIL_PLAIN(Float, Short)
      TENON_DETAIL_WIDE_STEPS(TENON_DETAIL_PLAIN)
      TENON_DETAIL_WIDE_FORMULAS(TENON_DETAIL_FORMULA)
      default: break;
    }
  }
  run_baseline(step, out, in, count, context);
}

/// Runs a step on an AVX-512 processor, by its AVX-512 form if that takes at most 5/6 of AVX2's
/// time.
template <bool kVariants>
TENON_TARGET_AVX512 TENON_VECTORIZE_WHOLE void run_avx512(Step step, char* out, const char* in,
                                                          int64_t count,
                                                          const CastContext& context) noexcept {
  if constexpr (kVariants) {
    switch (number_of(step)) {
      TENON_DETAIL_BY(UInt32FromByte, 64, 16, 16, "vpmovzxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(UInt32FromChar, 64, 16, 16, "vpmovsxbd {%1, %0|%0, %1}")
      TENON_DETAIL_BY(FloatFromByte, 64, 16, 16, TENON_DETAIL_TO_FLOAT("vpmovzxbd"))
      TENON_DETAIL_BY(FloatFromChar, 64, 16, 16, TENON_DETAIL_TO_FLOAT("vpmovsxbd"))
      TENON_DETAIL_BY(ByteFromUInt32, 16, 64, 16, "vpmovdb {%1, %0|%0, %1}")
      TENON_DETAIL_BY(ByteFromUInt64, 8, 64, 8, "vpmovqb {%1, %0|%0, %1}")
      TENON_DETAIL_PLAIN(UInt16, UInt64)
      TENON_DETAIL_PLAIN(UInt32, UInt64)
      TENON_DETAIL_PLAIN(Float, Int)
      TENON_DETAIL_PLAIN(Float, Long)
      TENON_DETAIL_PLAIN(Float, Double)
      TENON_DETAIL_PLAIN(Double, Long)
      TENON_DETAIL_PLAIN(Double, UInt64)
      TENON_DETAIL_FORMULA(DoubleToInt, int32_t, double, &double_to_int)
      TENON_DETAIL_FORMULA(DoubleToOddFloat, float, double, &double_to_odd_float)
      TENON_DETAIL_FORMULA(LongToOddDouble, double, int64_t, &long_to_odd_double<int64_t>)
      TENON_DETAIL_FORMULA(UInt64ToOddDouble, double, uint64_t, &long_to_odd_double<uint64_t>)
      case number_of(Step::DoubleToLong): return convert_doubles(out, in, count, context);
      default: break;
    }
  }
  run_avx2<kVariants>(step, out, in, count, context);
}
#undef TENON_DETAIL_BY
#undef TENON_DETAIL_TO_FLOAT
#endif
#undef TENON_DETAIL_FORMULA
#undef TENON_DETAIL_PLAIN

}  // namespace detail
TENON_END_NAMESPACE
