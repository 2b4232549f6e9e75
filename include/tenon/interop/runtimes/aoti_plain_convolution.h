// SPDX-License-Identifier: MIT
// Convolutions of 1 to 3 spatial dimensions by plain loops, for the types and sizes that oneDNN
// lacks.
#pragma once

#include <array>

#include "tenon/interop/runtimes/aoti_plain_product.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A convolution of dense tensors with three spatial dimensions. If there are fewer, the outer ones
/// have size 1.
struct PlainConvolution {
  using Spatial = std::array<int64_t, 3>;

  int64_t batches = 0;
  int64_t groups = 1;
  int64_t inputs = 0;  // channels of a group
  int64_t outputs = 0;
  Spatial in{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial out{1, 1, 1};
  Spatial stride{1, 1, 1};
  Spatial padding{0, 0, 0};
  Spatial dilation{1, 1, 1};
  bool transposed = false;

  static int64_t count(const Spatial& sizes) noexcept { return sizes[0] * sizes[1] * sizes[2]; }

  /// `bias` may be null.
  template <class T>
  void run(const T* x, const T* w, const T* bias, T* y) const noexcept {
    const int64_t window = count(kernel);
    for (int64_t n = 0; n < batches * groups; ++n) {
      const T* const weights = w + n % groups * inputs * outputs * window;
      for (int64_t o = 0; o < outputs; ++o) {
        T* const plane = y + (n * outputs + o) * count(out);
        std::fill_n(plane, count(out), bias == nullptr ? T(0) : bias[n % groups * outputs + o]);
        for (int64_t i = 0; i < inputs; ++i) {
          const int64_t pair = transposed ? i * outputs + o : o * inputs + i;
          add_plane(x + (n * inputs + i) * count(in), weights + pair * window, plane);
        }
      }
    }
  }

 private:
  /// Adds the contribution of an input channel to an output channel. Position i of the smaller side
  /// (the output of a plain convolution, the input of a transposed one) corresponds to position i *
  /// stride + k * dilation - padding of the larger one.
  template <class T>
  TENON_VECTORIZE void add_plane(const T* x, const T* weights, T* y) const noexcept {
    const Spatial& fewer = transposed ? in : out;
    const Spatial& large = transposed ? out : in;
    for (int64_t k0 = 0; k0 < kernel[0]; ++k0) {
      for (int64_t k1 = 0; k1 < kernel[1]; ++k1) {
        for (int64_t k2 = 0; k2 < kernel[2]; ++k2, ++weights) {
          const int64_t shift = k2 * dilation[2] - padding[2];
          const int64_t step = stride[2];
          const int64_t begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
          const int64_t end =
              large[2] <= shift ? 0 : (std::min)(fewer[2], (large[2] - shift - 1) / step + 1);
          for (int64_t i0 = 0; i0 < fewer[0]; ++i0) {
            const int64_t j0 = i0 * stride[0] + k0 * dilation[0] - padding[0];
            if (j0 < 0 || j0 >= large[0]) continue;
            for (int64_t i1 = 0; i1 < fewer[1]; ++i1) {
              const int64_t j1 = i1 * stride[1] + k1 * dilation[1] - padding[1];
              if (j1 < 0 || j1 >= large[1]) continue;
              const int64_t at_small = (i0 * fewer[1] + i1) * fewer[2];
              const int64_t at_large = (j0 * large[1] + j1) * large[2] + shift;
              const T factor = *weights;
              if (transposed) {
                for (int64_t i = begin; i < end; ++i)
                  y[at_large + i * step] += factor * x[at_small + i];
              } else {
                for (int64_t i = begin; i < end; ++i)
                  y[at_small + i] += factor * x[at_large + i * step];
              }
            }
          }
        }
      }
    }
  }
};

}  // namespace detail
TENON_END_NAMESPACE
