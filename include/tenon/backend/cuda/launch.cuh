// SPDX-License-Identifier: MIT
// The only kernel: runs an operation for each number from 0 up to a count.
//
// With TENON_CUDA_SIMULATED, a host compiler uses start() of tests/unit/cuda/simulated instead.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tenon/config.h"

#if defined(__CUDACC__)

TENON_BEGIN_NAMESPACE
namespace detail {

inline constexpr unsigned kThreads = 256;    // threads of a block
inline constexpr int64_t kBlocks = 1 << 16;  // the most blocks: more than run at once on any device

#if defined(__NVCC__)  // Clang has no __grid_constant__
#define TENON_DETAIL_KERNEL_ARGUMENT const __grid_constant__
#else
#define TENON_DETAIL_KERNEL_ARGUMENT const
#endif
template <class Operation>
__global__ void __launch_bounds__(kThreads)
    for_each(TENON_DETAIL_KERNEL_ARGUMENT Operation operation,
             TENON_DETAIL_KERNEL_ARGUMENT int64_t count) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) operation(i);
}
#undef TENON_DETAIL_KERNEL_ARGUMENT

/// Runs an operation for each number below `count` on a stream.
template <class Operation>
cudaError_t start(const Operation& operation, int64_t count, cudaStream_t stream) noexcept {
  if (count == 0) return cudaSuccess;
  const int64_t needed = (count - 1) / kThreads + 1;
  const dim3 blocks(static_cast<unsigned>(needed < kBlocks ? needed : kBlocks));
  void* arguments[] = {const_cast<Operation*>(&operation), &count};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&for_each<Operation>), blocks,
                          dim3(kThreads), arguments, 0, stream);
}

}  // namespace detail
TENON_END_NAMESPACE

#else
#if !defined(TENON_CUDA_SIMULATED)
#error "tenon: CUDA's kernels are for nvcc or Clang's CUDA mode, in a .cu file"
#endif
#include <simulated_launch.h>
#endif
