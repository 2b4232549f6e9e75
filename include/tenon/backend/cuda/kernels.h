// SPDX-License-Identifier: MIT
// CudaKernels: the functions with which CudaBackend starts kernels.
#pragma once

#include <cuda_runtime_api.h>

#include "tenon/backend/strided_copy.h"
#include "tenon/core/generator.h"
#include "tenon/core/result.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE
namespace detail {
struct RandomPlan;
}

/// A table of functions, each of which starts one kernel on a stream of the current device.
/// cuda_kernels() of cuda_kernels.cuh, which nvcc or Clang compiles, returns such a table. No entry
/// is null.
///
/// Arguments are in host memory, and have been read when the function returns; pointers in them are
/// to device memory. If there are no elements, no kernel is started.
/// Errors: cudaErrorNotSupported, with nothing started, for elements that are not aligned as their
/// type is (`copy` between equal types accepts them); else the error of cudaLaunchKernel.
/// Threads: as a plain value.
struct CudaKernels {
  /// Copies between memories that do not overlap; if the types differ, copy.nbytes is the size of
  /// an element of `to`, and elements are converted as on the host.
  cudaError_t (*copy)(const StridedCopy& copy, detail::ScalarType to, detail::ScalarType from,
                      CastMode mode, cudaStream_t stream);
  /// Writes `element` (out.nbytes bytes, at most 16) to each element of out's destination; out's
  /// source strides are 0, its src is not read.
  cudaError_t (*fill)(const StridedCopy& out, const void* element, cudaStream_t stream);
  /// As Backend::iota.
  cudaError_t (*iota)(const TensorView& out, OptionalIndex axis, cudaStream_t stream);
  /// As Backend::eye.
  cudaError_t (*eye)(const TensorView& out, cudaStream_t stream);
  /// Writes random elements by a plan for out.type (uniform, normal or integers): the host's values
  /// of element start.offset + i of start.seed.
  cudaError_t (*random)(const TensorView& out, const detail::RandomPlan& plan,
                        const Generator::State& start, cudaStream_t stream);
};

TENON_END_NAMESPACE
