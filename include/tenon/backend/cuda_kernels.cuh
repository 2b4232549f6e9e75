// SPDX-License-Identifier: MIT
// CUDA kernels for work for which CUDA has no functions: CudaBackend's casts, strided copies and
// creators on the device. A program compiles one .cu file with this header and passes
// &cuda_kernels() to its backends, see docs/cuda.md.
//
// The elements must equal the host's, bit for bit, whatever nvcc's options for contraction and
// precision are (this was not yet checked on a GPU). With -ftz=true, which -use_fast_math includes,
// subnormal floats become zeros.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/backend/cuda/kernels.h"
#include "tenon/backend/cuda/launch.cuh"
#include "tenon/backend/cuda/operations.cuh"
#include "tenon/backend/cuda/random_blocks.cuh"
#include "tenon/config.h"
#include "tenon/core/tensor_view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls `f` with an integral_constant of the unit, 1 to 16.
template <class F>
cudaError_t with_unit(int64_t unit, const F& f) {
  switch (unit) {
    case 1: return f(std::integral_constant<int, 1>());
    case 2: return f(std::integral_constant<int, 2>());
    case 4: return f(std::integral_constant<int, 4>());
    case 8: return f(std::integral_constant<int, 8>());
    default: return f(std::integral_constant<int, 16>());
  }
}

/// Whether a view's elements are aligned for their type; complex elements for the type of their
/// parts.
inline bool is_element_aligned(const void* data, ScalarType type) noexcept {
  return is_aligned(data, elementSize(part_type_of(type)));
}

inline cudaError_t copy_on_device(const StridedCopy& copy, ScalarType to, ScalarType from,
                                  CastMode mode, cudaStream_t stream) {
  if (copy.count == 0) return cudaSuccess;
  if (to == from) {
    return with_unit(widest_unit(alignment_bits(copy, true)), [&](auto unit) {
      const CopyUnits<unit> operation(copy);
      return start(operation, operation.at.count, stream);
    });
  }
  if (!is_element_aligned(copy.dst, to) || !is_element_aligned(copy.src, from)) {
    return cudaErrorNotSupported;
  }
  const CastElements operation(copy, to, from, mode);
  return start(operation, operation.at.count, stream);
}

inline cudaError_t fill_on_device(const StridedCopy& out, const void* element,
                                  cudaStream_t stream) {
  if (out.count == 0) return cudaSuccess;
  const auto nbytes = static_cast<int64_t>(out.nbytes);
  // Adjacent elements are filled as fewer, wider elements.
  StridedCopy wide = out;
  const bool has_rows = wide.rank > 0 && wide.dims[wide.rank - 1].dst_stride == nbytes;
  if (has_rows) wide.nbytes *= static_cast<size_t>(wide.dims[--wide.rank].size);
  const int64_t widest = widest_unit(alignment_bits(wide, false));
  const bool is_wide = has_rows && widest > nbytes;
  const StridedCopy& places = is_wide ? wide : out;
  const int64_t place = is_wide ? widest : nbytes;
  Offsets<1> at;
  for (size_t d = 0; d < places.rank; ++d) at.add(places.dims[d].size, {places.dims[d].dst_stride});
  if (is_wide) at.add(static_cast<int64_t>(wide.nbytes) / widest, {widest});
  const int64_t unit = is_wide ? widest : widest_unit(alignment_bits(out, false));
  return with_unit(unit, [&](auto bytes) {
    return start(FillUnits<bytes>(at, out.dst, place, element, out.nbytes), at.count, stream);
  });
}

inline cudaError_t iota_on_device(const TensorView& out, OptionalIndex axis, cudaStream_t stream) {
  if (!is_element_aligned(out.data, own_type(out.type))) return cudaErrorNotSupported;
  const IotaElements operation(out, axis);
  return start(operation, operation.at.count, stream);
}
inline cudaError_t eye_on_device(const TensorView& out, cudaStream_t stream) {
  if (!is_element_aligned(out.data, own_type(out.type))) return cudaErrorNotSupported;
  const EyeElements operation(out);
  return start(operation, operation.at.count, stream);
}

template <Distribution kDistribution, class Value>
cudaError_t start_random(const TensorView& out, const RandomPlan& plan,
                         const Generator::State& from, cudaStream_t stream) {
  const RandomBlocks<kDistribution, Value> operation(out, plan, from);
  return operation.at.count == 0 ? cudaSuccess : start(operation, operation.blocks(), stream);
}
inline cudaError_t random_on_device(const TensorView& out, const RandomPlan& plan,
                                    const Generator::State& from, cudaStream_t stream) {
  if (!is_element_aligned(out.data, own_type(out.type))) return cudaErrorNotSupported;
  const bool is_float = plan.computed == ScalarType::Float;
  switch (plan.distribution) {
    case Distribution::Uniform:
      return is_float ? start_random<Distribution::Uniform, float>(out, plan, from, stream)
                      : start_random<Distribution::Uniform, double>(out, plan, from, stream);
    case Distribution::Normal:
      return is_float ? start_random<Distribution::Normal, float>(out, plan, from, stream)
                      : start_random<Distribution::Normal, double>(out, plan, from, stream);
    default: return start_random<Distribution::Integers, int64_t>(out, plan, from, stream);
  }
}

}  // namespace detail

/// The kernels of this program, for CudaOptions::kernels.
/// Ownership: static.
/// Threads: any.
inline const CudaKernels& cuda_kernels() noexcept {
  static constexpr CudaKernels kKernels = {&detail::copy_on_device, &detail::fill_on_device,
                                           &detail::iota_on_device, &detail::eye_on_device,
                                           &detail::random_on_device};
  return kKernels;
}

TENON_END_NAMESPACE
