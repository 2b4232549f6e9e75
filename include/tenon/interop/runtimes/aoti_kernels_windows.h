// SPDX-License-Identifier: MIT
// Kernels that compute the mean or the maximum of windows of images and volumes: pooling.
#pragma once

#include <limits>

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The dtypes that a pool accepts.
enum class PoolTypes { Numbers, FloatingOrLong, Floating };

/// A window in one dimension: element `begin` and each step-th element after it, before `end`.
/// Pool::step has the step.
struct PoolWindow {
  int64_t begin;
  int64_t end;
  int64_t count;  // number of elements by which a mean divides
};

/// A list of integers that is an argument of an operator, with its name.
struct AotiList {
  const char* name;
  const int64_t* values;
  int64_t count;
};

/// A pool's input: planes of three spatial dimensions. For images the first of the three has size
/// 1.
struct Pool {
  Tensor given;
  Tensor dense;  // of the computed type
  ScalarType type = ScalarType::Undefined;
  size_t spatial = 0;
  int64_t planes = 0;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t step[3] = {1, 1, 1};
  std::vector<PoolWindow> windows[3];
  bool is_channels_last = false;

  int64_t in_plane() const noexcept { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const noexcept { return out[0] * out[1] * out[2]; }
  size_t rank() const noexcept { return given.sizes().size(); }
  /// The index of the first of the three spatial dimensions that the input has.
  size_t first() const noexcept { return 3 - spatial; }

  Error read(AtenTensorHandle handle, size_t spatial_dims, PoolTypes types) {
    spatial = spatial_dims;
    TENON_TRY(read_aoti(handle, "the input", given));
    type = given.scalar_type();
    const bool is_taken =
        isFloatingType(type) || (types == PoolTypes::FloatingOrLong && type == ScalarType::Long) ||
        (types == PoolTypes::Numbers && isIntegralType(type, /*includeBool=*/false) &&
         type < ScalarType::UInt16);
    if (!is_taken) return fail(Error::NotSupported, "inputs of type ", type, " are not supported");
    if (rank() != spatial + 1 && rank() != spatial + 2) {
      return fail(Error::InvalidArgument, "the input has sizes ", given.sizes(), ", expected rank ",
                  spatial + 1, " or ", spatial + 2);
    }
    for (size_t d = first(); d < 3; ++d) in[d] = given.sizes()[rank() - 3 + d];
    if (in[0] == 0 || in[1] == 0 || in[2] == 0) {
      return fail(Error::InvalidArgument, "an input of sizes ", given.sizes(),
                  " has no elements to pool");
    }
    planes = given.numel() == 0 ? 0 : given.numel() / in_plane();
    is_channels_last = spatial == 2 && has_channels_last(fields(TensorArg(given)).layout);
    return make_dense(given, computed_type(type), dense);
  }

  /// Reads a number for each spatial dimension into the last entries of `read`. With `takes_one`
  /// the list may be a single number, which applies to all of them.
  Error read_list(const AotiList& list, int64_t least, int64_t (&read)[3],
                  bool takes_one = true) const {
    const auto expected = static_cast<int64_t>(spatial);
    const bool is_one = takes_one && list.count == 1;
    if (list.values == nullptr || (!is_one && list.count != expected)) {
      return fail(Error::InvalidArgument, list.name, " has ", list.count, " numbers, expected ",
                  expected);
    }
    for (size_t d = first(); d < 3; ++d) {
      read[d] = list.values[is_one ? 0 : d - first()];
      if (read[d] < least || read[d] > INT32_MAX) {
        return fail(Error::InvalidArgument, list.name, " has ", read[d], ", expected ", least,
                    " to ", INT32_MAX);
      }
    }
    return Error::Ok;
  }

  /// Makes a result of sizes `out`. Call it before making windows for `out`: it refuses sizes that
  /// memory cannot hold.
  Error make_result(AotiResult& result, ScalarType made, ScalarType computed) const {
    AotiShape shape;
    shape.type = made;
    shape.sizes = given.sizes();
    for (size_t d = first(); d < 3; ++d) shape.sizes[rank() - 3 + d] = out[d];
    Layout layout;
    TENON_TRY(make_layout(shape.sizes, {}, {}, elementSize(made), layout));
    shape.strides = layout.strides();
    if (is_channels_last) set_channels_last(shape.sizes, rank() - spatial - 1, shape.strides);
    return result.make(shape, computed);
  }

  /// Calls f with the three windows of each element of a plane's result.
  template <class F>
  void each_window(const F& f) const {
    for (const PoolWindow& z : windows[0]) {
      for (const PoolWindow& y : windows[1]) {
        for (const PoolWindow& x : windows[2]) f(z, y, x);
      }
    }
  }
  /// Calls f with the position in the plane of each element that the three windows have.
  template <class F>
  void each_element(const PoolWindow& z, const PoolWindow& y, const PoolWindow& x,
                    const F& f) const {
    for (int64_t k = z.begin; k < z.end; k += step[0]) {
      for (int64_t j = y.begin; j < y.end; j += step[1]) {
        const int64_t row = (k * in[1] + j) * in[2];
        for (int64_t i = x.begin; i < x.end; i += step[2]) f(row + i);
      }
    }
  }
};

/// The means of a plane's windows, or their sums divided by `divisor` unless that is 0.
template <class T>
void find_means(const Pool& pool, int64_t divisor, const T* from, T* to) noexcept {
  pool.each_window([&](const PoolWindow& z, const PoolWindow& y, const PoolWindow& x) {
    T sum = 0;
    pool.each_element(z, y, x, [&](int64_t i) { sum += from[i]; });
    const bool is_empty = z.begin >= z.end || y.begin >= y.end || x.begin >= x.end;
    const int64_t count = divisor != 0 ? divisor : z.count * y.count * x.count;
    *to++ = is_empty ? T(0) : static_cast<T>(sum / static_cast<T>(count));
  });
}
/// The least value of a type.
template <class T>
T lowest_of(ScalarType type) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    if (type == ScalarType::Byte) return 0;
    return (std::numeric_limits<T>::min)() >> (8 * (sizeof(T) - elementSize(type)));
  }
}
/// The maxima of a plane's windows, and their positions in the plane. Of equal elements the first
/// one counts, of several NaNs the last.
template <class T>
void find_maxima(const Pool& pool, const T* from, T* to, int64_t* indices) noexcept {
  const T lowest = lowest_of<T>(pool.type);
  pool.each_window([&](const PoolWindow& z, const PoolWindow& y, const PoolWindow& x) {
    T best = lowest;
    int64_t index = (z.begin * pool.in[1] + y.begin) * pool.in[2] + x.begin;
    pool.each_element(z, y, x, [&](int64_t i) {
      if (!(from[i] > best) && from[i] == from[i]) return;
      best = from[i];
      index = i;
    });
    *to++ = best;
    *indices++ = index;
  });
}

/// Makes the means, with windows from make_windows().
template <class MakeWindows>
Error make_means(Pool& pool, int64_t divisor, AtenTensorHandle* ret,
                 const MakeWindows& make_windows) {
  AotiResult means;
  TENON_TRY(pool.make_result(means, pool.type, computed_type(pool.type)));
  make_windows();
  TENON_TRY(on_computed_type(pool.type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t p = 0; p < pool.planes; ++p) {
      find_means<T>(pool, divisor, dense_data<T>(pool.dense) + p * pool.in_plane(),
                    means.data<T>() + p * pool.out_plane());
    }
    return Error::Ok;
  }));
  return means.finish(ret);
}
/// Makes the maxima and their indices. start(plane) makes the windows of a plane, or keeps those of
/// the plane before.
template <class Start>
Error make_maxima(Pool& pool, AtenTensorHandle* values, AtenTensorHandle* indices,
                  const Start& start) {
  AotiResult maxima;
  AotiResult places;
  TENON_TRY(pool.make_result(maxima, pool.type, computed_type(pool.type)));
  TENON_TRY(pool.make_result(places, ScalarType::Long, ScalarType::Long));
  TENON_TRY(on_computed_type(pool.type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t p = 0; p < pool.planes; ++p) {
      TENON_TRY(start(p));
      find_maxima<T>(pool, dense_data<T>(pool.dense) + p * pool.in_plane(),
                     maxima.data<T>() + p * pool.out_plane(),
                     places.data<int64_t>() + p * pool.out_plane());
    }
    return Error::Ok;
  }));
  return finish_all({{&maxima, values}, {&places, indices}});
}

/// Windows of one size at equal distances, over an input that has padding around it.
struct StridedWindows {
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};

  /// Computes the sizes of the pool's result. Without strides the windows are adjacent.
  /// Source: at::native::pooling_output_shape.
  Error read(Pool& pool, const AotiList& kernel_size, const AotiList& strides,
             const AotiList& paddings, bool rounds_up) {
    TENON_TRY(pool.read_list(kernel_size, 1, kernel));
    TENON_TRY(pool.read_list(strides.count == 0 ? kernel_size : strides, 1, stride));
    TENON_TRY(pool.read_list(paddings, 0, padding));
    for (size_t d = pool.first(); d < 3; ++d) {
      const int64_t reach = pool.step[d] * (kernel[d] - 1);
      if (padding[d] > kernel[d] / 2) {
        return fail(Error::InvalidArgument, "padding ", padding[d],
                    " is more than half of kernel_size ", kernel[d]);
      }
      const int64_t room = pool.in[d] + 2 * padding[d] - reach - 1;
      if (room < 0 && (!rounds_up || room + stride[d] - 1 < 0)) {
        return fail(Error::InvalidArgument, "a window of ", reach + 1, " elements",
                    " is too large for an input of sizes ", pool.given.sizes());
      }
      pool.out[d] = (room + (rounds_up ? stride[d] - 1 : 0)) / stride[d] + 1;
      // The last window must not begin after the input.
      if (rounds_up && (pool.out[d] - 1) * stride[d] >= pool.in[d] + padding[d]) --pool.out[d];
    }
    return Error::Ok;
  }

  void make(Pool& pool, bool counts_padding) const {
    for (size_t d = 0; d < 3; ++d) {
      for (int64_t i = 0; i < pool.out[d]; ++i) {
        PoolWindow window = {};
        window.begin = i * stride[d] - padding[d];
        window.end = window.begin + pool.step[d] * (kernel[d] - 1) + 1;
        window.count = (std::min)(window.end, pool.in[d] + padding[d]) - window.begin;
        window.end = (std::min)(window.end, pool.in[d]);
        while (window.begin < 0) window.begin += pool.step[d];
        if (!counts_padding) window.count = window.end - window.begin;
        pool.windows[d].push_back(window);
      }
    }
  }
};

inline AOTITorchError average_pool(const char* function, size_t spatial, AtenTensorHandle self,
                                   const AotiList& kernel, const AotiList& stride,
                                   const AotiList& padding, bool rounds_up, bool counts_padding,
                                   const int64_t* divisor, AtenTensorHandle* ret) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    StridedWindows windows;
    TENON_TRY(pool.read(self, spatial, PoolTypes::FloatingOrLong));
    TENON_TRY(windows.read(pool, kernel, stride, padding, rounds_up));
    for (size_t d = 0; d < 3 && spatial == 3; ++d) {  // only for volumes
      if (windows.kernel[d] <= pool.in[d]) continue;
      return fail(Error::InvalidArgument, "kernel_size ", windows.kernel[d],
                  " is larger than an input of sizes ", pool.given.sizes());
    }
    if (divisor != nullptr && *divisor == 0) {
      return fail(Error::InvalidArgument, "divisor_override is 0");
    }
    return make_means(pool, divisor == nullptr ? 0 : *divisor, ret,
                      [&] { windows.make(pool, counts_padding); });
  });
}
/// Whether a maximum pool of volumes keeps the input's channels-last order. Without a batch
/// dimension it does only if the input is dense.
inline bool keeps_channels_last(const Tensor& volumes) noexcept {
  const Layout& layout = fields(TensorArg(volumes)).layout;
  if (layout.rank() == 5) return has_channels_last(layout);
  Dims strides;
  set_channels_last(layout.sizes(), 0, strides);
  bool is_equal = !layout.is_contiguous();
  for (size_t d = 0; d < layout.rank(); ++d) {
    is_equal &= layout.sizes()[d] == 1 || layout.strides()[d] == strides[d];
  }
  return is_equal;
}
inline AOTITorchError maximum_pool(const char* function, size_t spatial, AtenTensorHandle self,
                                   const AotiList& kernel, const AotiList& stride,
                                   const AotiList& padding, const AotiList& dilation,
                                   bool rounds_up, AtenTensorHandle* values,
                                   AtenTensorHandle* indices) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    StridedWindows windows;
    TENON_TRY(pool.read(self, spatial, PoolTypes::Numbers));
    if (spatial == 3) pool.is_channels_last = keeps_channels_last(pool.given);
    TENON_TRY(pool.read_list(dilation, 1, pool.step));
    TENON_TRY(windows.read(pool, kernel, stride, padding, rounds_up));
    return make_maxima(pool, values, indices, [&](int64_t plane) {
      if (plane == 0) windows.make(pool, false);
      return Error::Ok;
    });
  });
}

/// Makes windows that divide the input evenly, for a result of any size.
/// Source: at::native::start_index, end_index.
inline void share_out(Pool& pool) {
  for (size_t d = 0; d < 3; ++d) {
    const int64_t in = pool.in[d];
    const int64_t out = pool.out[d];
    for (int64_t i = 0; i < out; ++i) {
      const int64_t begin = i / out * in + i % out * in / out;
      const int64_t end = 1 + ((i + 1) * in - 1) / out;
      pool.windows[d].push_back({begin, end, end - begin});
    }
  }
}
inline AOTITorchError adaptive_average(const char* function, size_t spatial, AtenTensorHandle self,
                                       const AotiList& output_size,
                                       AtenTensorHandle* ret) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    TENON_TRY(pool.read(self, spatial, PoolTypes::Floating));
    TENON_TRY(pool.read_list(output_size, 0, pool.out, false));
    return make_means(pool, 0, ret, [&] { share_out(pool); });
  });
}
inline AOTITorchError adaptive_maximum(const char* function, size_t spatial, AtenTensorHandle self,
                                       const AotiList& output_size, AtenTensorHandle* values,
                                       AtenTensorHandle* indices) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    TENON_TRY(pool.read(self, spatial, PoolTypes::Floating));
    TENON_TRY(pool.read_list(output_size, 0, pool.out, false));
    return make_maxima(pool, values, indices, [&](int64_t plane) {
      if (plane == 0) share_out(pool);
      return Error::Ok;
    });
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_avg_pool2d(AtenTensorHandle self, const int64_t* kernel_size,
                                         int64_t kernel_size_len, const int64_t* stride,
                                         int64_t stride_len, const int64_t* padding,
                                         int64_t padding_len, int32_t ceil_mode,
                                         int32_t count_include_pad, int64_t* divisor_override,
                                         AtenTensorHandle* ret0) {
  return average_pool(__func__, 2, self, {"kernel_size", kernel_size, kernel_size_len},
                      {"stride", stride, stride_len}, {"padding", padding, padding_len},
                      ceil_mode != 0, count_include_pad != 0, divisor_override, ret0);
}
AOTITorchError aoti_torch_cpu_max_pool2d_with_indices(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len,
    const int64_t* stride, int64_t stride_len, const int64_t* padding, int64_t padding_len,
    const int64_t* dilation, int64_t dilation_len, int32_t ceil_mode, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return maximum_pool(__func__, 2, self, {"kernel_size", kernel_size, kernel_size_len},
                      {"stride", stride, stride_len}, {"padding", padding, padding_len},
                      {"dilation", dilation, dilation_len}, ceil_mode != 0, ret0, ret1);
}
AOTITorchError aoti_torch_cpu__adaptive_avg_pool2d(AtenTensorHandle self,
                                                   const int64_t* output_size,
                                                   int64_t output_size_len,
                                                   AtenTensorHandle* ret0) {
  return adaptive_average(__func__, 2, self, {"output_size", output_size, output_size_len}, ret0);
}
AOTITorchError aoti_torch_cpu_adaptive_max_pool2d(AtenTensorHandle self, const int64_t* output_size,
                                                  int64_t output_size_len, AtenTensorHandle* ret0,
                                                  AtenTensorHandle* ret1) {
  return adaptive_maximum(__func__, 2, self, {"output_size", output_size, output_size_len}, ret0,
                          ret1);
}
AOTITorchError aoti_torch_cpu_avg_pool3d(AtenTensorHandle self, const int64_t* kernel_size,
                                         int64_t kernel_size_len, const int64_t* stride,
                                         int64_t stride_len, const int64_t* padding,
                                         int64_t padding_len, int32_t ceil_mode,
                                         int32_t count_include_pad, int64_t* divisor_override,
                                         AtenTensorHandle* ret0) {
  return average_pool(__func__, 3, self, {"kernel_size", kernel_size, kernel_size_len},
                      {"stride", stride, stride_len}, {"padding", padding, padding_len},
                      ceil_mode != 0, count_include_pad != 0, divisor_override, ret0);
}
AOTITorchError aoti_torch_cpu_max_pool3d_with_indices(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len,
    const int64_t* stride, int64_t stride_len, const int64_t* padding, int64_t padding_len,
    const int64_t* dilation, int64_t dilation_len, int32_t ceil_mode, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return maximum_pool(__func__, 3, self, {"kernel_size", kernel_size, kernel_size_len},
                      {"stride", stride, stride_len}, {"padding", padding, padding_len},
                      {"dilation", dilation, dilation_len}, ceil_mode != 0, ret0, ret1);
}
AOTITorchError aoti_torch_cpu__adaptive_avg_pool3d(AtenTensorHandle self,
                                                   const int64_t* output_size,
                                                   int64_t output_size_len,
                                                   AtenTensorHandle* ret0) {
  return adaptive_average(__func__, 3, self, {"output_size", output_size, output_size_len}, ret0);
}
AOTITorchError aoti_torch_cpu_adaptive_max_pool3d(AtenTensorHandle self, const int64_t* output_size,
                                                  int64_t output_size_len, AtenTensorHandle* ret0,
                                                  AtenTensorHandle* ret1) {
  return adaptive_maximum(__func__, 3, self, {"output_size", output_size, output_size_len}, ret0,
                          ret1);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
