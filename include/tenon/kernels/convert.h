// SPDX-License-Identifier: MIT
// Converts consecutive elements between all types.
//
// A cast is a chain of steps, mostly one or two, through float, double, int32_t or int64_t: a loop
// for each type and direction, not for each pair of types. Values are rounded once.
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

/// Parameters of the steps of a cast.
struct CastContext : CastLimits {
  const SmallFloatCode* from_code;  ///< of Float8
  const SmallFloatCode* to_code;
  int64_t part_size;  ///< bytes of a copied element, or of a complex element's part
  // A Normalize's values: one for all elements or, if the channel `varies`, one for each.
  bool varies = false;
  float scale = 1;
  const float* mean = nullptr;
  const float* stddev = nullptr;
};

/// All Float8 formats, by their SmallFloatCode; codes are held in 32 bits.
TENON_ALWAYS_INLINE float decode_float8(uint32_t code, const CastContext& context) noexcept {
  return decode(code, *context.from_code);
}
TENON_ALWAYS_INLINE uint32_t encode_float8(float value, const CastContext& context) noexcept {
  return encode(value, *context.to_code);
}
/// Converts a multiple of kStepElements elements: loops without a remainder.
using Step = void (*)(void* out, const void* in, int64_t count,
                      const CastContext* context) noexcept;
inline constexpr int64_t kStepElements = TENON_BARE_METAL ? 8 : 16;

/// A step, for each instruction set that it is compiled for.
struct StepVariants {
  Step baseline;
  Step avx2;  ///< null if not faster
};

template <class T, class F, auto kConvert>
struct ConvertKernel {
  static constexpr bool to_half = std::is_same_v<T, Half>;
  static constexpr bool from_half = std::is_same_v<F, Half>;

  template <int64_t kMultiple>
  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count, const CastContext& given) noexcept {
    const CastContext context = given;  // a local copy, which written elements cannot alias
    count &= -kMultiple;                // tells the compiler that there is no remainder
    for (int64_t i = 0; i < count; ++i) {
      store_element<T>(out, i, kConvert(load_element<F>(in, i), context));
    }
  }
  TENON_VECTORIZE_WHOLE static void baseline(void* out, const void* in, int64_t count,
                                             const CastContext* context) noexcept {
    body<kStepElements>(out, in, count, *context);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_WHOLE TENON_TARGET_AVX2 static void avx2(void* out, const void* in, int64_t count,
                                                           const CastContext* context) noexcept {
    if constexpr (!to_half && !from_half) {
      // A vector holds 32 bytes.
      constexpr int64_t kMultiple = sizeof(T) == 1 || sizeof(F) == 1 ? 32 : kStepElements;
      body<kMultiple>(out, in, count, *context);
      if (const int64_t done = count & -kMultiple; done != count) {
        baseline(static_cast<char*>(out) + done * int64_t{sizeof(T)},
                 static_cast<const char*>(in) + done * int64_t{sizeof(F)}, count - done, context);
      }
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

  static constexpr StepVariants variants(bool has_avx2) noexcept {
#if TENON_HAS_AVX2
    if (to_half || from_half) return {&baseline, &avx2};  // 30 times as fast
    if (has_avx2 && TENON_HAS_VARIANTS) return {&baseline, &avx2};
#endif
    static_cast<void>(has_avx2);
    return {&baseline, nullptr};
  }
};

// Functions: variable templates are instantiated even where a template only names them.
template <class T, class F, auto kConvert, bool kAvx2 = false>
const StepVariants* step_of() noexcept {
  static constexpr StepVariants kVariants = ConvertKernel<T, F, kConvert>::variants(kAvx2);
  return &kVariants;
}
/// With an AVX2 form if that is much faster.
template <class T, class F>
const StepVariants* plain_step() noexcept {
  constexpr bool kIsBFloat16 = std::is_same_v<T, BFloat16> || std::is_same_v<F, BFloat16>;
  constexpr bool kWidens = std::is_same_v<F, uint32_t> ? sizeof(T) <= 2 : sizeof(F) < sizeof(T);
  constexpr bool kAvx2 = kIsBFloat16 || std::is_same_v<F, int32_t> || kWidens;
  return step_of<T, F, &plain<T, F>, kAvx2>();
}
template <class F>
const StepVariants* is_nonzero_step() noexcept {
  return step_of<bool, F, &is_nonzero<F>>();
}

template <class T>
inline constexpr SmallFloatCode kSmallFloatCode = T::format::code();
/// The code of a Float8 type; null for any other type.
constexpr const SmallFloatCode* float8_code(ScalarType type) noexcept {
  return type == ScalarType::Float8_e5m2       ? &kSmallFloatCode<Float8_e5m2>
         : type == ScalarType::Float8_e4m3fn   ? &kSmallFloatCode<Float8_e4m3fn>
         : type == ScalarType::Float8_e5m2fnuz ? &kSmallFloatCode<Float8_e5m2fnuz>
         : type == ScalarType::Float8_e4m3fnuz ? &kSmallFloatCode<Float8_e4m3fnuz>
                                               : nullptr;
}

/// Copies elements as they are.
inline void copy_step(void* out, const void* in, int64_t count,
                      const CastContext* context) noexcept {
  if (count != 0) std::memcpy(out, in, static_cast<size_t>(count * context->part_size));
}
/// Takes the real parts of complex elements.
inline void real_step(void* out, const void* in, int64_t count,
                      const CastContext* context) noexcept {
  const int64_t size = context->part_size;
  copy_strided(static_cast<char*>(out), size, static_cast<const char*>(in), 2 * size, count,
               static_cast<size_t>(size));
}
/// Adds imaginary parts of 0.
inline void widen_step(void* out, const void* in, int64_t count,
                       const CastContext* context) noexcept {
  constexpr char kZeros[16] = {};
  const int64_t size = context->part_size;
  auto* const to = static_cast<char*>(out);
  copy_strided(to, 2 * size, static_cast<const char*>(in), size, count, static_cast<size_t>(size));
  copy_strided(to + size, 2 * size, kZeros, 0, count, static_cast<size_t>(size));
}
/// Or of both parts of complex elements.
inline void join_step(void* out, const void* in, int64_t count, const CastContext*) noexcept {
  for (int64_t i = 0; i < count; i += 2) {
    store_element(out, i / 2, load_element<bool>(in, i) || load_element<bool>(in, i + 1));
  }
}

/// The conversion from one type to another, set up once for all elements.
struct Conversion {
  CastContext context;
  int64_t from_size;  ///< of an element
  int64_t to_size;
  int64_t parts = 1;  ///< per element: 2 if both parts of complex elements are converted
  bool has_avx2 = false;
  int count = 0;
  Step steps[8];

  void add(Step step) noexcept { steps[count++] = step; }
  TENON_NOINLINE void add(const StepVariants* step) noexcept {
    steps[count++] = step->avx2 != nullptr && has_avx2 ? step->avx2 : step->baseline;
  }
  /// From integers of `from` bytes to integers of `size` bytes; wraps.
  TENON_TEMPLATE_INLINE TENON_NOINLINE void add_wrapping(size_t from, size_t size) noexcept {
    if (from == 8 && size < 8) add(plain_step<uint32_t, uint64_t>());
    if (size == 2) add(plain_step<uint16_t, uint32_t>());
    if (size == 1) add(plain_step<uint8_t, uint32_t>());
  }

  /// From integers of up to 16 bits, or the codes of Float8, to 32 bits.
  TENON_TEMPLATE_INLINE void add_to_int(ScalarType from) noexcept {
    if (from == ScalarType::Short) return add(plain_step<int32_t, int16_t>());
    if (from == ScalarType::UInt16) return add(plain_step<int32_t, uint16_t>());
    if (elementSize(from) > 1) return;
    add(from == ScalarType::Char ? plain_step<int32_t, int8_t>() : plain_step<int32_t, uint8_t>());
  }
  TENON_TEMPLATE_INLINE void add_to_float(ScalarType from) noexcept {
    if (from == ScalarType::Float) return;
    if (from == ScalarType::Half) return add(plain_step<float, Half>());
    if (from == ScalarType::BFloat16) return add(plain_step<float, BFloat16>());
    if (from == ScalarType::Byte) return add(plain_step<float, uint8_t>());
    if (from == ScalarType::Long) return add(plain_step<float, int64_t>());
    add_to_int(from);
    add(float8_code(from) == nullptr ? plain_step<float, int32_t>()
                                     : step_of<float, uint32_t, &decode_float8, true>());
  }
  TENON_TEMPLATE_INLINE TENON_NOINLINE void add_from_float(ScalarType to) noexcept {
    if (to == ScalarType::Bool) add(is_nonzero_step<float>());
    if (to == ScalarType::Half) add(plain_step<Half, float>());
    if (to == ScalarType::BFloat16) add(plain_step<BFloat16, float>());
    if (float8_code(to) == nullptr) return;
    add(step_of<uint32_t, float, &encode_float8, true>());
    add_wrapping(4, 1);
  }

  /// Converts consecutive elements. May leave the upper halves of vector registers in use: see
  /// clear_upper_halves().
  TENON_NOINLINE void run(char* out, const char* in, int64_t elements) noexcept {
    const int64_t rest = elements % kStepElements;
    const bool redoes_some = elements > kStepElements && context.mean == nullptr;
    if (count != 1 || (rest != 0 && !redoes_some)) return run_chunks(out, in, elements);
    steps[0](out, in, parts * (elements - rest), &context);
    if (rest == 0) return;
    const int64_t last = elements - kStepElements;  // the last ones together with some before
    steps[0](out + last * to_size, in + last * from_size, parts * kStepElements, &context);
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
        std::memset(between[1], 0, kStepElements * 16);
        std::memcpy(between[1], made, static_cast<size_t>(n * from_size));
        made = between[1];
      }
      for (int k = 0; k < count; ++k) {
        char* const next = k + 1 == count && !is_few ? target : between[k % 2];
        steps[k](next, made, parts * (is_few ? kStepElements : n), &context);
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
  const bool from_integer = isIntegralType(from, true);
  const size_t to_size = elementSize(to);
  const size_t from_size = elementSize(from);
  if (from_integer && to == ScalarType::Bool) {
    return c.add(from_size == 1   ? is_nonzero_step<uint8_t>()
                 : from_size == 2 ? is_nonzero_step<uint16_t>()
                 : from_size == 4 ? is_nonzero_step<uint32_t>()
                                  : is_nonzero_step<uint64_t>());
  }
  if (from == ScalarType::Bool) {
    c.add(step_of<uint8_t, uint8_t, &bool_to_byte>());
    from = ScalarType::Byte;
  }
  if (to_integer && from_integer) {
    if (from_size == to_size && !saturate) return;
    const bool is_wide = saturate || to_size == 8 || from_size == 8;
    c.add_to_int(from);
    if (is_wide && from_size < 8) {
      c.add(from == ScalarType::UInt32 ? plain_step<int64_t, uint32_t>()
                                       : plain_step<int64_t, int32_t>());
    }
    if (saturate) c.add(step_of<int64_t, int64_t, &clamp_long>());
    return c.add_wrapping(is_wide ? 8 : 4, to_size);
  }
  const bool to_small = to_integer && (to_size <= 2 || (to == ScalarType::Int && !saturate));
  const bool to_float_at_once =
      to == ScalarType::Float && (from == ScalarType::Int || from == ScalarType::Long);
  if (is_exact_in_float(from) || to_float_at_once) {
    c.add_to_float(from);
    if (to_small) {
      c.add(saturate       ? step_of<int32_t, float, &float_to_int<true, false>, true>()
            : to_size == 4 ? step_of<int32_t, float, &float_to_int<false, true>, true>()
                           : step_of<int32_t, float, &float_to_int<false, false>, true>());
      return c.add_wrapping(4, to_size);
    }
    if (!to_integer && to != ScalarType::Double) {
      if (saturate && to != ScalarType::Bool) c.add(step_of<float, float, &clamp_float>());
      return c.add_from_float(to);
    }
    c.add(plain_step<double, float>());
  } else if (from == ScalarType::Long && to != ScalarType::Double) {
    c.add(step_of<double, int64_t, &long_to_odd_double<int64_t>>());
  } else if (from == ScalarType::UInt64 && to != ScalarType::Double) {
    c.add(step_of<double, uint64_t, &long_to_odd_double<uint64_t>>());
  } else if (from != ScalarType::Double) {
    c.add(from == ScalarType::Int      ? plain_step<double, int32_t>()
          : from == ScalarType::UInt32 ? plain_step<double, uint32_t>()
          : from == ScalarType::Long   ? plain_step<double, int64_t>()
                                       : plain_step<double, uint64_t>());
  }
  if (to == ScalarType::Bool) return c.add(is_nonzero_step<double>());
  if (to_small && !saturate) {
    c.add(step_of<int32_t, double, &double_to_int, true>());
    return c.add_wrapping(4, to_size);
  }
  if (to_integer) {
    c.add(step_of<uint64_t, double, &double_to_long>());
    return c.add_wrapping(8, to_size);
  }
  if (saturate) c.add(step_of<double, double, &clamp_double>());
  if (to == ScalarType::Double) return;
  c.add(to == ScalarType::Float ? plain_step<float, double>()
                                : step_of<float, double, &double_to_odd_float>());
  c.add_from_float(to);
}

/// The conversion of elements of any type to any other. With CastMode::Checked canCast(from, to)
/// holds.
TENON_TEMPLATE_INLINE void make_conversion(Conversion& c, ScalarType to, ScalarType from,
                                           CastMode mode) noexcept {
  c.has_avx2 = isa() >= Isa::Avx2;
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
  c.context.from_code = float8_code(from);
  c.context.to_code = float8_code(to);
  c.context.part_size = to_real ? c.from_size / 2 : to_complex ? c.to_size / 2 : c.to_size;
  if (to_real) c.add(&real_step);
  if (to != from) add_cast(c, to_part, from_part, mode);
  if (joins) c.add(&join_step);
  if (to_complex && !is_complex) c.add(&widen_step);
  if (c.count == 0) c.add(&copy_step);
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
