// SPDX-License-Identifier: MIT
// Normalize, and copies that do what it says on the way.
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

/// Floats, up to four of them inline. Only a range's iterators can throw.
class FloatList : public InlineArray<float, 4, kAnyLength> {
 public:
  FloatList() noexcept = default;
  FloatList(std::initializer_list<float> values) noexcept { copy(values); }
  /// From any range of numbers that can be walked twice.
  template <class C, class = decltype(static_cast<float>(*std::begin(std::declval<const C&>())))>
  FloatList(const C& values) {
    copy(values);
  }

 private:
  template <class C>
  void copy(const C& values) {
    const auto count = static_cast<size_t>(std::distance(std::begin(values), std::end(values)));
    if (!resize_for_overwrite(count)) return;
    float* out = new_data(count);
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
/// Ownership: the lists own their values. They are assigned from braces or any range of numbers.
/// Source: torchvision.transforms.Normalize, after ToTensor's scale.
struct Normalize {
  float scale = 1;
  /// One for each channel, or one for all; empty for 0.
  detail::FloatList mean = {};
  /// One for each channel, or one for all, not 0; empty for 1.
  detail::FloatList stddev = {};
  /// The channels' dimension of the destination, a negative one counted from the end.
  int64_t dim = 0;
};

namespace detail {

/// out = (in * scale - mean) / stddev, with one mean and one stddev for all elements or, where the
/// channel `varies`, one for each. T is float, or uint8_t: to convert images' bytes by themselves
/// takes a quarter of the time.
template <class T>
struct NormalizeKernel {
  static TENON_ALWAYS_INLINE void body(const void* TENON_RESTRICT in, int64_t count, float scale,
                                       const float* TENON_RESTRICT mean,
                                       const float* TENON_RESTRICT stddev, bool varies,
                                       void* TENON_RESTRICT out) noexcept {
    TENON_NO_CONTRACTION
    if (varies) {
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
  TENON_VECTORIZE_EXACT static void run(Baseline, const void* in, int64_t count, float scale,
                                        const float* mean, const float* stddev, bool varies,
                                        void* out) noexcept {
    body(in, count, scale, mean, stddev, varies, out);
  }
#if TENON_HAS_AVX2
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, const void* in, int64_t count,
                                                          float scale, const float* mean,
                                                          const float* stddev, bool varies,
                                                          void* out) noexcept {
    body(in, count, scale, mean, stddev, varies, out);
  }
#endif
};

/// The values of channels in the order of a plan's dimension: data[c * step].
struct ChannelValues {
  const float* data = nullptr;
  int64_t step = 0;

  /// The ones from `first` on, repeated after so many of them.
  void fill(float* out, int64_t first, int64_t period, int64_t count) const noexcept {
    int64_t have = period < count ? period : count;
    for (int64_t i = 0; i < have; ++i) out[i] = data[(first + i) * step];
    while (have < count) {
      const int64_t n = have < count - have ? have : count - have;
      std::memcpy(out + have, out, static_cast<size_t>(n) * sizeof *out);
      have += n;
    }
  }
};

/// Elements that are normalised at once. Pixels have no more channels.
inline constexpr int64_t kNormalizeChunk = TENON_BARE_METAL ? 32 : 512;

/// A plan of a copy that normalises.
struct NormalizePlan {
  CopyPlan copy;
  float scale = 1;
  ChannelValues mean;
  ChannelValues stddev;
  int64_t channels = 1;
  /// The copy's dimension of the channels, which is not merged into another; SIZE_MAX for one
  /// channel.
  size_t channel_dim = SIZE_MAX;
  /// Whether the copy's last two dimensions are a row of pixels, each of few channels.
  bool is_pixels = false;
};

/// Plans the copy; `dim` is normalize's, not negative; its lists were checked.
TENON_LAZY void plan_normalized(NormalizePlan& plan, const TensorView& dst, const TensorView& src,
                                const Normalize& normalize, size_t dim, CastMode mode) noexcept {
  static constexpr float kZeroAndOne[] = {0, 1};
  CopyPlan& copy = plan.copy;
  if (!begin_plan(copy, dst, src, mode)) return;
  copy.converts = true;
  plan.scale = normalize.scale;
  const auto values_of = [](const FloatList& list, const float* otherwise) noexcept {
    return ChannelValues{list.empty() ? otherwise : list.data(), list.size() > 1 ? 1 : 0};
  };
  plan.mean = values_of(normalize.mean, kZeroAndOne);
  plan.stddev = values_of(normalize.stddev, kZeroAndOne + 1);
  if (dst.sizes.empty() || dst.sizes[dim] == 1) return finish_plan(copy);

  // The channels are apart while the others are merged.
  plan.channels = dst.sizes[dim];
  size_t at = 0;
  for (size_t d = 0; d < dim; ++d) at += dst.sizes[d] != 1;
  const CopyPlan::Dim channel = copy.dims[at];
  for (--copy.rank; at < copy.rank; ++at) copy.dims[at] = copy.dims[at + 1];
  if (dst.strides[dim] < 0) {  // begin_plan() has reversed it
    for (ChannelValues* values : {&plan.mean, &plan.stddev}) {
      values->data += (plan.channels - 1) * values->step;
      values->step = -values->step;
    }
  }
  merge_dims(copy);
  for (at = copy.rank++; at > 0 && copy.dims[at - 1].dst_stride < channel.dst_stride; --at) {
    copy.dims[at] = copy.dims[at - 1];
  }
  copy.dims[at] = channel;
  const bool is_last = at + 1 == copy.rank && at > 0;
  choose_kind(copy);
  if (!copy.is_plane && is_last && plan.channels <= kNormalizeChunk) {
    copy.kind = CopyKind::Cast;
    copy.is_plane = plan.is_pixels = true;
  }
  // Nothing else has its stride, since the destination's elements are distinct.
  for (at = 0; copy.dims[at].dst_stride != channel.dst_stride;) ++at;
  plan.channel_dim = at;
}

/// Normalises a row. Its first element is of channel `channel`; the others are too or, where it
/// `varies`, of the next ones in turn.
TENON_LAZY void normalize_row(const NormalizePlan& plan, char* dst, int64_t dst_stride,
                              const char* src, int64_t src_stride, int64_t count, int64_t channel,
                              bool varies) noexcept {
  constexpr bool kVariants = TENON_HAS_VARIANTS != 0;
  constexpr auto kSize = static_cast<int64_t>(sizeof(float));
  alignas(64) float values[kNormalizeChunk];
  alignas(64) float normalized[kNormalizeChunk];
  alignas(64) float mean[kNormalizeChunk];
  alignas(64) float stddev[kNormalizeChunk];
  const ScalarType from = own_type(plan.copy.src_type);
  const ScalarType to = own_type(plan.copy.dst_type);
  const bool is_direct = to == ScalarType::Float && dst_stride == kSize;
  const bool is_dense = src_stride == static_cast<int64_t>(elementSize(from)) && src != dst;
  const bool are_bytes = is_dense && from == ScalarType::Byte;
  const bool is_converted = !are_bytes && !(is_dense && from == ScalarType::Float);
  // Of few channels a chunk has all of them several times, and so has the next.
  const bool are_few = !varies || plan.channels <= kNormalizeChunk;
  const int64_t most =
      varies && are_few ? kNormalizeChunk - kNormalizeChunk % plan.channels : kNormalizeChunk;
  for (int64_t i = 0; i < count; i += most) {
    const int64_t n = count - i < most ? count - i : most;
    if (i == 0 || !are_few) {
      const int64_t first = varies ? channel + i : channel;
      plan.mean.fill(mean, first, plan.channels, varies ? n : 1);
      plan.stddev.fill(stddev, first, plan.channels, varies ? n : 1);
    }
    const void* in = src + i * src_stride;
    if (is_converted) {
      convert_strided(ScalarType::Float, values, kSize, from, in, src_stride, n,
                      CastMode::Truncate);
      in = values;
    }
    char* const out = dst + i * dst_stride;
    void* const made = is_direct ? static_cast<void*>(out) : static_cast<void*>(normalized);
    if (are_bytes) {
      dispatch<NormalizeKernel<uint8_t>, kVariants>(in, n, plan.scale, mean, stddev, varies, made);
    } else {
      dispatch<NormalizeKernel<float>, kVariants>(in, n, plan.scale, mean, stddev, varies, made);
    }
    if (is_direct) continue;
    convert_strided(to, out, dst_stride, ScalarType::Float, normalized, kSize, n, plan.copy.mode);
  }
}

/// Normalises a row of pixels, which need not be consecutive, and whose channels need not be.
TENON_LAZY void normalize_pixels(const NormalizePlan& plan, const CopyPlan& copy, char* dst,
                                 const char* src) noexcept {
  const CopyPlan::Dim& pixel = copy.dims[copy.rank - 2];
  const CopyPlan::Dim& channel = copy.dims[copy.rank - 1];
  const bool gathers = pixel.src_stride != channel.src_stride * channel.size;
  const bool scatters = pixel.dst_stride != channel.dst_stride * channel.size;
  if (!gathers && !scatters) {
    return normalize_row(plan, dst, channel.dst_stride, src, channel.src_stride,
                         pixel.size * channel.size, 0, true);
  }
  if (is_dense(copy, channel) && channel.size >= 32) {
    for (int64_t i = 0; i < pixel.size; ++i) {
      normalize_row(plan, dst + i * pixel.dst_stride, channel.dst_stride,
                    src + i * pixel.src_stride, channel.src_stride, channel.size, 0, true);
    }
    return;
  }
  alignas(64) char taken[kNormalizeChunk * 8];
  alignas(64) char made[kNormalizeChunk * 8];
  const int64_t most = kNormalizeChunk / channel.size;
  const auto dst_unit = static_cast<int64_t>(copy.unit);
  const int64_t src_unit = source_unit(copy);
  for (int64_t i = 0; i < pixel.size; i += most) {
    const int64_t n = pixel.size - i < most ? pixel.size - i : most;
    const char* const in = src + i * pixel.src_stride;
    char* const out = dst + i * pixel.dst_stride;
    for (int64_t c = 0; gathers && c < channel.size; ++c) {
      copy_strided(taken + c * src_unit, channel.size * src_unit, in + c * channel.src_stride,
                   pixel.src_stride, n, static_cast<size_t>(src_unit));
    }
    normalize_row(plan, scatters ? made : out, scatters ? dst_unit : channel.dst_stride,
                  gathers ? taken : in, gathers ? src_unit : channel.src_stride, n * channel.size,
                  0, true);
    for (int64_t c = 0; scatters && c < channel.size; ++c) {
      copy_strided(out + c * channel.dst_stride, pixel.dst_stride, made + c * dst_unit,
                   channel.size * dst_unit, n, copy.unit);
    }
  }
}

/// Normalises what the innermost dimensions of `copy`, the plan's or a piece of it, hold.
TENON_LAZY void normalize_innermost(const NormalizePlan& plan, const CopyPlan& copy, char* dst,
                                    const char* src) noexcept {
  if (plan.is_pixels) return normalize_pixels(plan, copy, dst, src);
  const bool along_last = plan.channel_dim + 1 == copy.rank;
  if (copy.is_plane) {
    const bool along_other = plan.channel_dim + 2 == copy.rank;
    const auto normalize = [&](char* out, const char* in, int64_t count, int64_t i, int64_t j,
                               bool along_j) {
      normalize_row(plan, out, static_cast<int64_t>(copy.unit), in, source_unit(copy), count,
                    along_last    ? i
                    : along_other ? j
                                  : 0,
                    along_j ? along_other : along_last);
    };
    return cast_plane(copy, innermost_plane(copy, dst, src), normalize);
  }
  const CopyPlan::Dim row = innermost_row(copy);
  normalize_row(plan, dst, row.dst_stride, src, row.src_stride, row.size, 0, along_last);
}

/// Does what a plan of plan_normalized() says: channel after channel, unless they are among the
/// inner dimensions.
TENON_LAZY void run_normalized(const NormalizePlan& plan) noexcept {
  if (plan.copy.kind == CopyKind::Alias) return;
  const auto run = [](const NormalizePlan& channels, const CopyPlan& piece) noexcept {
    run_piece(piece, piece.is_plane ? 2 : 1,
              [&](char* dst, const char* src) { normalize_innermost(channels, piece, dst, src); });
  };
  run_pieces(plan.copy, plan.channel_dim, [&](const CopyPlan& piece) noexcept {
    const size_t inner = piece.is_plane ? 2 : 1;
    if (plan.channels == 1 || plan.channel_dim + inner >= piece.rank) return run(plan, piece);
    NormalizePlan one = plan;
    one.copy = piece;
    one.channels = 1;
    one.channel_dim = SIZE_MAX;
    const CopyPlan::Dim channel = piece.dims[plan.channel_dim];
    --one.copy.rank;
    for (size_t d = plan.channel_dim; d < one.copy.rank; ++d) one.copy.dims[d] = piece.dims[d + 1];
    for (int64_t c = 0; c < channel.size; ++c) {
      one.copy.dst = static_cast<char*>(piece.dst) + c * channel.dst_stride;
      one.copy.src = static_cast<const char*>(piece.src) + c * channel.src_stride;
      one.mean.data = plan.mean.data + c * plan.mean.step;
      one.stddev.data = plan.stddev.data + c * plan.stddev.step;
      run(one, one.copy);
    }
  });
}

}  // namespace detail
TENON_END_NAMESPACE
