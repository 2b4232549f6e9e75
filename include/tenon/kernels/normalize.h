// SPDX-License-Identifier: MIT
// Normalize, and copies that apply it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Holds up to four floats inline, more on the heap. Throws only what a range's iterators throw.
class FloatList : public InlineArray<float, 4, kAnyLength> {
 public:
  FloatList() noexcept = default;
  FloatList(std::initializer_list<float> values) noexcept { copy(values); }
  /// From any multi-pass range of numbers.
  template <class C, class = decltype(static_cast<float>(*std::begin(std::declval<const C&>())))>
  FloatList(const C& values) {
    copy(values);
  }

 private:
  template <class C>
  void copy(const C& values) {
    const auto count = static_cast<size_t>(std::distance(std::begin(values), std::end(values)));
    if (!resize_for_overwrite(count)) return;
    float* out = data();
    for (const auto& value : values) *out++ = static_cast<float>(value);
  }
};

}  // namespace detail

/// Normalizes elements while copy_() and assign() copy them: (src * scale - mean[c]) / stddev[c],
/// in three float operations, none of them fused, with c the index along `dim` of the destination.
///
///     Normalize n;
///     n.scale = 1 / 255.0f;
///     n.mean = {0.485f, 0.456f, 0.406f};
///     n.stddev = {0.229f, 0.224f, 0.225f};
///
/// Ownership: the lists own their values, and can be assigned braces or any range of numbers.
/// Source: torchvision.transforms.Normalize, after ToTensor's scale.
struct Normalize {
  float scale = 1;  ///< elements are first multiplied by it
  /// One value for each channel, or one for all; empty means 0.
  detail::FloatList mean = {};
  /// One nonzero value for each channel, or one for all; empty means 1.
  detail::FloatList stddev = {};
  /// The destination's channel dimension, 0 unless set; negative counts from the end.
  int64_t dim = 0;
};

namespace detail {

/// (in * scale - mean) / stddev. T is float or uint8_t: a separate loop for image bytes takes a
/// quarter of the time. `scale` is a parameter, since GCC would apply -ffast-math to an inlining
/// function without floating-point parameters.
template <class T>
struct NormalizeKernel {
  static TENON_ALWAYS_INLINE void body(void* TENON_RESTRICT out, const void* TENON_RESTRICT in,
                                       int64_t count, float scale,
                                       const CastContext& context) noexcept {
    TENON_NO_CONTRACTION
    count &= -kStepElements;
    const float* TENON_RESTRICT const mean = context.mean;
    const float* TENON_RESTRICT const stddev = context.stddev;
    if (context.varies) {
      for (int64_t i = 0; i < count; ++i) {
        const float scaled = static_cast<float>(load_element<T>(in, i)) * scale;
        store_element(out, i, (scaled - mean[i]) / stddev[i]);
      }
      return;
    }
    const float one_mean = *mean;
    const float one_stddev = *stddev;
    for (int64_t i = 0; i < count; ++i) {
      const float scaled = static_cast<float>(load_element<T>(in, i)) * scale;
      store_element(out, i, (scaled - one_mean) / one_stddev);
    }
  }
  TENON_VECTORIZE_EXACT static void baseline(void* out, const void* in, int64_t count,
                                             const CastContext* context) noexcept {
    body(out, in, count, context->scale, *context);
  }
#if TENON_HAS_VARIANTS
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void avx2(void* out, const void* in, int64_t count,
                                                           const CastContext* context) noexcept {
    body(out, in, count, context->scale, *context);
  }
#endif
};

template <class T>
inline constexpr StepVariants kNormalize = {
    &NormalizeKernel<T>::baseline,
#if TENON_HAS_VARIANTS
    &NormalizeKernel<T>::avx2,
#else
    nullptr,
#endif
};
/// A function, since a variable would be instantiated wherever a template names it.
template <class T>
const StepVariants* normalize_variants() noexcept {
  return &kNormalize<T>;
}

/// The values of channels in the order of a plan's dimension: data[c * step].
struct ChannelValues {
  const float* data = nullptr;
  int64_t step = 0;

  const float& operator[](int64_t channel) const noexcept { return data[channel * step]; }
};

/// A plan of a copy that normalises.
struct NormalizePlan {
  ElementPlan copy;
  float scale = 1;
  ChannelValues mean;
  ChannelValues stddev;
  int64_t channels = 1;
  /// The channel dimension, which is not merged with others; SIZE_MAX if all channels are equal.
  size_t channel_dim = SIZE_MAX;
};

/// Plans the copy. `dim` is normalize.dim, made nonnegative; the caller has checked the lists.
TENON_TEMPLATE_INLINE void plan_normalized(NormalizePlan& plan, const TensorView& dst,
                                           const TensorView& src, const Normalize& normalize,
                                           size_t dim, CastMode mode) noexcept {
  static constexpr float kZeroAndOne[] = {0, 1};
  ElementPlan& copy = plan.copy;
  if (!begin_plan(copy, dst, src, mode)) return;
  copy.converts = true;
  plan.scale = normalize.scale;
  const auto values_of = [](const FloatList& list, const float* otherwise) noexcept {
    return ChannelValues{list.empty() ? otherwise : list.data(), list.size() > 1 ? 1 : 0};
  };
  plan.mean = values_of(normalize.mean, kZeroAndOne);
  plan.stddev = values_of(normalize.stddev, kZeroAndOne + 1);
  const bool is_uniform = plan.mean.step == 0 && plan.stddev.step == 0;
  if (dst.sizes.empty() || dst.sizes[dim] == 1 || is_uniform) return finish_plan(copy);

  plan.channels = dst.sizes[dim];
  if (dst.strides[dim] < 0) {  // begin_plan() has reversed it
    for (ChannelValues* values : {&plan.mean, &plan.stddev}) {
      values->data += (plan.channels - 1) * values->step;
      values->step = -values->step;
    }
  }
  size_t at = 0;
  for (size_t d = 0; d < dim; ++d) at += dst.sizes[d] != 1;
  // Its stride is unique, since the destination's elements are distinct.
  const ptrdiff_t channel_stride = copy.dims[at].dst_stride;
  finish_plan(copy, channel_stride);
  for (at = 0; copy.dims[at].dst_stride != channel_stride;) ++at;
  plan.channel_dim = at;
}

/// Fills a conversion's lists of channel values.
struct ChannelLists {
  static constexpr int64_t kMost = TENON_BARE_METAL ? kStepElements : 512;

  int64_t filled[4] = {};  // the block that each list was filled for
  alignas(BlockConversion::kAlignment) float mean[kMost + kStepElements];
  alignas(BlockConversion::kAlignment) float stddev[kMost + kStepElements];

  /// Fills the lists for `rows` rows of `length` elements. Channels start at `first` and advance
  /// along the row or from row to row.
  void repeat(const NormalizePlan& plan, int64_t first, int64_t rows, int64_t length,
              bool along_row) noexcept {
    const int64_t wanted[4] = {first, rows, length, along_row};
    if (std::memcmp(filled, wanted, sizeof filled) == 0) return;
    std::memcpy(filled, wanted, sizeof filled);
    int64_t k = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < length; ++i, ++k) {
        const int64_t c = first + (along_row ? i : r);
        mean[k] = plan.mean[c];
        stddev[k] = plan.stddev[c];
      }
    }
    for (int64_t i = 0; i < kStepElements; ++i) {  // the last step is always complete
      mean[k + i] = *mean;
      stddev[k + i] = *stddev;
    }
  }
};

/// Normalises a piece of a plan that has one channel, or the channels along one of its innermost
/// dimensions.
TENON_TEMPLATE_INLINE void run_normalized_piece(const NormalizePlan& plan,
                                                const ElementPlan& piece) noexcept {
  const ScalarType to = own_type(piece.dst_type);
  const ScalarType from = own_type(piece.src_type);
  const bool is_byte = from == ScalarType::Byte;
  BlockConversion c(piece);
  make_conversion(c, to, from, piece.mode);
  CastContext& context = c.context;
  static_cast<CastLimits&>(context) = cast_limits(to, ScalarType::Float, piece.mode);
  context.scale = plan.scale;
  c.count = 0;
  if (!is_byte) add_cast(c, ScalarType::Float, from, CastMode::Truncate);
  c.add(is_byte ? normalize_variants<uint8_t>() : normalize_variants<float>());
  if (to != ScalarType::Float) add_cast(c, to, ScalarType::Float, piece.mode);
  const bool along_row = (plan.channel_dim + 1 == piece.rank) != c.exchanges;
  const bool varies = plan.channels > 1;
  if (varies) c.channels = along_row ? Channels::AlongRow : Channels::AlongRows;
  ChannelLists lists;
  const auto prepare = [&](int64_t row, int64_t rows, int64_t i, int64_t length) noexcept {
    const int64_t first = !varies ? 0 : along_row ? i : row;
    context.varies = varies && (along_row || rows > 1);
    if (context.varies) lists.repeat(plan, first, rows, length, along_row);
    context.mean = context.varies ? lists.mean : &plan.mean[first];
    context.stddev = context.varies ? lists.stddev : &plan.stddev[first];
  };
  if (kHasBlocks && piece.block_rank != 0 && !varies) {
    prepare(0, 1, 0, 0);
    convert_blocks(c, piece);
  } else {
    BlockWalk at(piece, 2);
    do c.convert(at.plane, ChannelLists::kMost, prepare);
    while (at.next());
  }
  clear_after_variants();
}

/// Executes a plan of plan_normalized(): channel by channel, unless channels are among the inner
/// dimensions.
TENON_TEMPLATE_INLINE void run_normalized(const NormalizePlan& plan) noexcept {
  if (plan.copy.kind == CopyKind::Alias) return;
  const auto run = [&](const ElementPlan& piece) noexcept {
    if (plan.channels == 1 || plan.channel_dim + 2 >= piece.rank) {
      return run_normalized_piece(plan, piece);
    }
    NormalizePlan one = plan;
    one.copy = piece;
    one.channels = 1;
    one.channel_dim = SIZE_MAX;
    const ElementPlan::Dim channel = piece.dims[plan.channel_dim];
    --one.copy.rank;
    for (size_t d = plan.channel_dim; d < one.copy.rank; ++d) one.copy.dims[d] = piece.dims[d + 1];
    choose_kind(one.copy);
    for (int64_t c = 0; c < channel.size; ++c) {
      one.copy.dst = static_cast<char*>(piece.dst) + c * channel.dst_stride;
      one.copy.src = static_cast<const char*>(piece.src) + c * channel.src_stride;
      one.mean.data = plan.mean.data + c * plan.mean.step;
      one.stddev.data = plan.stddev.data + c * plan.stddev.step;
      run_normalized_piece(one, one.copy);
    }
  };
  share_plan(plan.copy, plan.channel_dim, run);
}

}  // namespace detail
TENON_END_NAMESPACE
