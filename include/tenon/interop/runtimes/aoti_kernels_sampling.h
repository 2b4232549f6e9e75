// SPDX-License-Identifier: MIT
// Kernels that read or write images and volumes at positions that another tensor gives: fractional
// pooling, the inverse of maximum pooling, grid sampling.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernels_windows.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes the windows of a plane in dimension d. `sample`, a number from 0 to 1, places them.
/// Numbers are rounded to the samples' type.
/// Source: at::native::generate_intervals.
inline Error make_fractional_windows(Pool& pool, size_t d, int64_t kernel, double sample) {
  const auto round = [&](double x) {
    if (pool.type == ScalarType::Double) return x;
    const auto single = static_cast<float>(x);
    if (pool.type == ScalarType::Float) return double{single};
    return pool.type == ScalarType::Half ? double{static_cast<float>(Half(single))}
                                         : double{static_cast<float>(BFloat16(single))};
  };
  if (!(sample >= 0 && sample <= 1)) {
    return fail(Error::InvalidArgument, "a random sample is ", sample, ", expected 0 to 1");
  }
  const auto last = pool.in[d] - kernel;
  const int64_t gaps = pool.out[d] - 1;
  const double distance =
      gaps > 0 ? round(round(static_cast<double>(last)) / round(static_cast<double>(gaps))) : 0;
  const auto origin = static_cast<int64_t>(round(sample * distance));
  pool.windows[d].clear();
  for (int64_t i = 0; i < gaps; ++i) {
    const double place = round(round(round(static_cast<double>(i)) + sample) * distance);
    // Rounding may place a window past the last position.
    const int64_t begin = (std::min)(static_cast<int64_t>(place) - origin, last);
    pool.windows[d].push_back({begin, begin + kernel, kernel});
  }
  pool.windows[d].push_back({last, last + kernel, kernel});
  return Error::Ok;
}
inline AOTITorchError fractional_pool(const char* function, size_t spatial, AtenTensorHandle self,
                                      const AotiList& kernel_size, const AotiList& output_size,
                                      AtenTensorHandle random_samples, AtenTensorHandle* values,
                                      AtenTensorHandle* indices) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    Tensor samples;
    int64_t kernel[3] = {1, 1, 1};
    TENON_TRY(pool.read(self, spatial, PoolTypes::Floating));
    TENON_TRY(pool.read_list(kernel_size, 1, kernel, false));
    TENON_TRY(pool.read_list(output_size, 1, pool.out, false));
    pool.is_channels_last = false;
    TENON_TRY(read_aoti(random_samples, "random_samples", samples));
    const bool has_batch = pool.rank() == spatial + 2;
    const Dims expected = {has_batch ? pool.given.sizes()[0] : 1,
                           pool.given.sizes()[has_batch ? 1 : 0], spatial};
    if (samples.sizes() != expected || samples.scalar_type() != pool.type) {
      return fail(Error::InvalidArgument, "random_samples have type ", samples.scalar_type(),
                  " and sizes ", samples.sizes(), ", expected ", pool.type, " and ", expected);
    }
    for (size_t d = pool.first(); d < 3; ++d) {
      // As in torch, an image may be exactly as large as the windows need; a volume must be larger.
      if (pool.out[d] + kernel[d] - (spatial == 2 ? 1 : 0) <= pool.in[d]) continue;
      return fail(Error::InvalidArgument, "kernel_size ", kernel[d], " and output_size ",
                  pool.out[d], " are too large for an input of sizes ", pool.given.sizes());
    }
    Tensor wide;
    TENON_TRY(make_dense(samples, ScalarType::Double, wide));
    const double* next = dense_data<double>(wide);
    return make_maxima(pool, values, indices, [&](int64_t) {
      for (size_t d = pool.first(); d < 3; ++d) {
        // Samples of images are in the order columns, rows.
        const size_t place = spatial == 2 ? 2 - d : d;
        TENON_TRY(make_fractional_windows(pool, d, kernel[d], next[place]));
      }
      if (spatial == 2) pool.windows[0] = {{0, 1, 1}};
      next += spatial;
      return Error::Ok;
    });
  });
}

/// Writes each element to the position in its plane that its index gives. All other elements are 0.
inline AOTITorchError unpool(const char* function, size_t spatial, AtenTensorHandle self,
                             AtenTensorHandle indices, const AotiList& output_size,
                             AtenTensorHandle* ret) noexcept {
  return aoti_answer(function, [&] {
    Pool pool;
    Tensor places;
    AotiResult result;
    TENON_TRY(pool.read(self, spatial, PoolTypes::Floating));
    TENON_TRY(pool.read_list(output_size, 0, pool.out, false));
    TENON_TRY(read_aoti(indices, "indices", places));
    if (places.scalar_type() != ScalarType::Long || places.sizes() != pool.given.sizes()) {
      return fail(Error::InvalidArgument, "the indices have type ", places.scalar_type(),
                  " and sizes ", places.sizes(), ", expected Long and the input's sizes ",
                  pool.given.sizes());
    }
    Tensor dense;
    TENON_TRY(make_dense(places, ScalarType::Long, dense));
    const auto* const at = dense_data<int64_t>(dense);
    TENON_TRY(pool.make_result(result, pool.type, computed_type(pool.type)));
    const int64_t room = pool.out_plane();
    for (int64_t i = 0; i < pool.given.numel(); ++i) {
      if (at[i] >= 0 && at[i] < room) continue;
      return fail(Error::OutOfBounds, "index ", at[i], " is outside a plane of ", room,
                  " elements");
    }
    TENON_TRY(on_floating_type(pool.type, [&](auto zero) {
      using T = decltype(zero);
      const T* const from = dense_data<T>(pool.dense);
      T* const to = result.data<T>();
      std::fill_n(to, pool.planes * room, T(0));
      for (int64_t i = 0; i < pool.given.numel(); ++i) {
        to[i / pool.in_plane() * room + at[i]] = from[i];
      }
      return Error::Ok;
    }));
    return result.finish(ret);
  });
}

/// How points outside a volume are read, by torch's numbers.
enum class GridPadding : int64_t { Zeros, Border, Reflection };

/// Converts a grid's coordinate, from -1 to 1, to a position among `size` elements.
/// Source: at::native::grid_sampler_compute_source_index.
template <class T>
T find_in_grid(T coordinate, int64_t size, GridPadding padding, bool aligns_corners) noexcept {
  const auto count = static_cast<T>(size);
  T x = aligns_corners ? (coordinate + 1) / 2 * (count - 1) : ((coordinate + 1) * count - 1) / 2;
  if (padding == GridPadding::Reflection) {
    const T low = aligns_corners ? T(0) : T(-0.5);
    const T span = aligns_corners ? count - 1 : count;
    const T distance = std::abs(x - low);
    const T extra = std::fmod(distance, span);
    const bool is_even = std::fmod(std::floor(distance / span), T(2)) == 0;
    x = span == 0 ? T(0) : is_even ? extra + low : span - extra + low;
  }
  if (padding == GridPadding::Zeros) {
    // Positions that are far outside become -100, which an integer can hold.
    return x > T(-1e6) && x < T(1e9) ? x : T(-100);
  }
  return (std::min)(count - 1, (std::max)(x, T(0)));  // NaN gives count - 1
}

/// A volume that is read at the points of a grid.
template <class T>
struct GridSampler {
  const T* from;
  const int64_t (&in)[3];
  T at[3];  // depth, row, column

  bool has(const int64_t (&place)[3]) const noexcept {
    return place[0] >= 0 && place[0] < in[0] && place[1] >= 0 && place[1] < in[1] &&
           place[2] >= 0 && place[2] < in[2];
  }
  T read(int64_t plane, const int64_t (&place)[3]) const noexcept {
    return from[((plane * in[0] + place[0]) * in[1] + place[1]) * in[2] + place[2]];
  }
  T nearest(int64_t plane) const noexcept {
    int64_t place[3] = {};
    for (int d = 0; d < 3; ++d) place[d] = static_cast<int64_t>(std::nearbyint(at[d]));
    return has(place) ? read(plane, place) : T(0);
  }
  T linear(int64_t plane) const noexcept {
    T sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      int64_t place[3] = {};
      T weight = 1;
      for (int d = 0; d < 3; ++d) {
        const T low = std::floor(at[d]);
        const bool is_upper = (corner >> (2 - d) & 1) != 0;
        place[d] = static_cast<int64_t>(low) + (is_upper ? 1 : 0);
        weight *= is_upper ? at[d] - low : low + 1 - at[d];
      }
      if (has(place)) sum += weight * read(plane, place);
    }
    return sum;
  }
};

inline Error sample_grid(AtenTensorHandle input, AtenTensorHandle grid, int64_t interpolation,
                         int64_t padding, bool aligns_corners, AtenTensorHandle* ret) {
  Pool pool;
  Tensor points;
  AotiResult result;
  TENON_TRY(pool.read(input, 3, PoolTypes::Floating));
  TENON_TRY(read_aoti(grid, "the grid", points));
  const ArrayRef<int64_t> sizes = points.sizes();
  if (pool.rank() != 5 || sizes.size() != 5 || sizes[0] != pool.given.sizes()[0] || sizes[4] != 3 ||
      points.scalar_type() != pool.type) {
    return fail(Error::InvalidArgument, "the input has type ", pool.type, " and sizes ",
                pool.given.sizes(), ", the grid type ", points.scalar_type(), " and sizes ", sizes,
                "; they do not fit");
  }
  if (interpolation < 0 || interpolation > 1 || padding < 0 || padding > 2) {
    return fail(Error::NotSupported, "the interpolation mode is ", interpolation,
                " and the padding mode ", padding, ", expected 0 or 1, and 0 to 2");
  }
  for (size_t d = 0; d < 3; ++d) pool.out[d] = sizes[d + 1];
  TENON_TRY(pool.make_result(result, pool.type, computed_type(pool.type)));
  Tensor dense;
  TENON_TRY(make_dense(points, computed_type(pool.type), dense));
  TENON_TRY(on_floating_type(pool.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = pool.given.sizes()[1];
    const int64_t count = pool.out_plane();
    GridSampler<T> sampler = {dense_data<T>(pool.dense), pool.in, {}};
    const T* point = dense_data<T>(dense);
    for (int64_t n = 0; n < sizes[0]; ++n) {
      for (int64_t i = 0; i < count; ++i, point += 3) {
        for (size_t d = 0; d < 3; ++d) {  // a point is given as column, row, depth
          sampler.at[d] = find_in_grid<T>(point[2 - d], pool.in[d],
                                          static_cast<GridPadding>(padding), aligns_corners);
        }
        for (int64_t plane = n * channels; plane < (n + 1) * channels; ++plane) {
          result.data<T>()[plane * count + i] =
              interpolation == 0 ? sampler.linear(plane) : sampler.nearest(plane);
        }
      }
    }
    return Error::Ok;
  }));
  return result.finish(ret);
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_fractional_max_pool2d(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len,
    const int64_t* output_size, int64_t output_size_len, AtenTensorHandle random_samples,
    AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return fractional_pool(__func__, 2, self, {"kernel_size", kernel_size, kernel_size_len},
                         {"output_size", output_size, output_size_len}, random_samples, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_fractional_max_pool3d(
    AtenTensorHandle self, const int64_t* kernel_size, int64_t kernel_size_len,
    const int64_t* output_size, int64_t output_size_len, AtenTensorHandle random_samples,
    AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return fractional_pool(__func__, 3, self, {"kernel_size", kernel_size, kernel_size_len},
                         {"output_size", output_size, output_size_len}, random_samples, ret0, ret1);
}

AOTITorchError aoti_torch_cpu_max_unpool2d(AtenTensorHandle self, AtenTensorHandle indices,
                                           const int64_t* output_size, int64_t output_size_len,
                                           AtenTensorHandle* ret0) {
  return unpool(__func__, 2, self, indices, {"output_size", output_size, output_size_len}, ret0);
}
// The strides and the padding are ignored: they only determine the sizes that output_size has.
AOTITorchError aoti_torch_cpu_max_unpool3d(AtenTensorHandle self, AtenTensorHandle indices,
                                           const int64_t* output_size, int64_t output_size_len,
                                           const int64_t*, int64_t, const int64_t*, int64_t,
                                           AtenTensorHandle* ret0) {
  return unpool(__func__, 3, self, indices, {"output_size", output_size, output_size_len}, ret0);
}

AOTITorchError aoti_torch_cpu_grid_sampler_3d(AtenTensorHandle input, AtenTensorHandle grid,
                                              int64_t interpolation_mode, int64_t padding_mode,
                                              int32_t align_corners, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    return sample_grid(input, grid, interpolation_mode, padding_mode, align_corners != 0, ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
