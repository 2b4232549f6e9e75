// SPDX-License-Identifier: MIT
// PyTorch's operators that resize images with antialiasing. They have no C functions.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_kernels_operators.h"
#include "tenon/interop/runtimes/aoti_tensor_options.h"
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

template <class T>
T linear_filter(T x) noexcept {
  x = std::abs(x);
  return x < 1 ? 1 - x : T{0};
}
/// Keys' cubic convolution with a = -0.5.
template <class T>
T cubic_filter(T x) noexcept {
  x = std::abs(x);
  if (x < 1) return (T{1.5} * x - T{2.5}) * x * x + 1;
  return x < 2 ? ((T{-0.5} * x + T{2.5}) * x - 4) * x + 2 : T{0};
}

/// For each element along a dimension of the result: the input elements of which it is the weighted
/// sum, and their weights.
/// Source: at::native::HelperInterpBase::_compute_index_ranges_weights.
template <class T>
struct ResizeWeights {
  std::vector<int64_t> first;  // the first of the input elements
  std::vector<size_t> begin;   // index of the first weight; the last entry is the number of weights
  std::vector<T> weights;

  ResizeWeights(int64_t from, int64_t to, bool aligns_corners, const EValue& factor,
                bool is_cubic) {
    const double given = factor.isNone() ? 0 : factor.toDouble();
    T scale = static_cast<T>(from) / static_cast<T>(to);
    if (aligns_corners) {
      scale = to > 1 ? static_cast<T>(from - 1) / static_cast<T>(to - 1) : T{0};
    } else if (given > 0) {
      scale = static_cast<T>(1 / given);
    }
    const T widened = (std::max)(scale, T{1});  // widens the filter when the image shrinks
    const T support = (is_cubic ? 2 : 1) * widened;
    const auto place = [&](double x) {  // 0 for NaN
      return !(x > 0) ? 0 : x < static_cast<double>(from) ? static_cast<int64_t>(x) : from;
    };
    begin.push_back(0);
    for (int64_t i = 0; i < to; ++i) {
      const T center = static_cast<T>(double{scale} * (static_cast<double>(i) + 0.5));
      const int64_t low = place(static_cast<double>(center - support) + 0.5);
      const int64_t high = place(static_cast<double>(center + support) + 0.5);
      T sum = 0;
      for (int64_t j = low; j < high; ++j) {
        const T x = static_cast<T>((static_cast<double>(static_cast<T>(j) - center) + 0.5) /
                                   static_cast<double>(widened));
        weights.push_back(is_cubic ? cubic_filter(x) : linear_filter(x));
        sum += weights.back();
      }
      if (sum != 0) {
        for (size_t k = begin.back(); k < weights.size(); ++k) weights[k] /= sum;
      }
      first.push_back(low);
      begin.push_back(weights.size());
    }
  }

  /// Resizes the rows of a dense tensor. (torch 2.15 is wrong for a result that is one column wide:
  /// it computes each row with the weights of the first row.)
  void run(const DenseRows& rows, const T* from, T* to) const noexcept {
    for (int64_t o = 0; o < rows.outer; ++o, from += rows.count * rows.inner) {
      for (size_t i = 0; i < first.size(); ++i, to += rows.inner) {
        std::fill(to, to + rows.inner, T{0});
        const T* row = from + first[i] * rows.inner;
        for (size_t k = begin[i]; k < begin[i + 1]; ++k, row += rows.inner) {
          for (int64_t e = 0; e < rows.inner; ++e) to[e] += weights[k] * row[e];
        }
      }
    }
  }
};

inline Error run_resize(AtenIn in, AtenOut& out, bool is_cubic) {
  Tensor given;
  TENON_TRY(read_operand(in[0], given));
  const ArrayRef<int64_t> from = given.sizes();
  const ArrayRef<int64_t> size = in[1].toIntList();
  const ScalarType type = given.scalar_type();
  if (type != ScalarType::Float && type != ScalarType::Double) {
    return fail(Error::NotSupported, "the images have type ", type, ", expected Float or Double");
  }
  if (from.size() != 4 || from[1] == 0 || from[2] == 0 || from[3] == 0) {
    return fail(Error::InvalidArgument, "the images have sizes ", from,
                ", expected rank 4, and no size 0 except for the batch");
  }
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return fail(Error::InvalidArgument, "output_size is ", size, ", expected 2 sizes above 0");
  }
  AotiShape shape;
  shape.sizes = {from[0], from[1], size[0], size[1]};
  shape.type = type;
  TENON_TRY(format_strides(
      shape.sizes, has_channels_last(fields(TensorArg(given)).layout) ? kChannelsLast : kContiguous,
      type, shape.strides));
  AotiResult result;
  TENON_TRY(result.make(shape, type));
  Tensor dense;
  TENON_TRY(make_dense(given, type, dense));
  TENON_ASSIGN(const TensorPtr wide,
               try_empty({from[0], from[1], from[2], size[1]}, type, host_backend()));
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    const bool aligns_corners = in[2].toBool();
    const ResizeWeights<T> columns(from[3], size[1], aligns_corners, in[4], is_cubic);
    const ResizeWeights<T> rows(from[2], size[0], aligns_corners, in[3], is_cubic);
    columns.run(DenseRows(from, 3), dense_data<T>(dense), wide->mutable_data_ptr<T>());
    rows.run(DenseRows(wide->sizes(), 2), dense_data<T>(*wide), result.data<T>());
  });
  return give(result, out);
}

inline constexpr AtenOperator kResizeOperators[] = {
    {"aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_resize(in, out, false); }},
    {"aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, "
     "float? scales_h=None, float? scales_w=None) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_resize(in, out, true); }},
};

}  // namespace detail
TENON_END_NAMESPACE
