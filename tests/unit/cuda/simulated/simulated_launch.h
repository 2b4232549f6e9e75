// SPDX-License-Identifier: MIT
// What launch.cuh has of the device's compiler, for the host's: the same operations in a loop,
// which the simulated runtime queues.
#pragma once

#include <type_traits>
#include <vector>

#include "simulated_cuda.h"
#include "tenon/backend/cuda/offsets.cuh"
#include "tenon/backend/cuda/operations.cuh"
#include "tenon/backend/cuda/random_blocks.cuh"

TENON_BEGIN_NAMESPACE
namespace detail {

// The bytes that an operation writes at a place, and those that it reads for it.
template <int kBytes>
int64_t bytes_written(const CopyUnits<kBytes>&) {
  return kBytes;
}
template <int kBytes>
int64_t bytes_written(const FillUnits<kBytes>& fill) {
  return fill.nbytes;
}
inline int64_t bytes_written(const CastElements& cast) {
  const bool is_complex = cast.widens || (cast.parts == 2 && !cast.joins);
  return int64_t{cast.as.size} * (is_complex ? 2 : 1);
}
inline int64_t bytes_written(const Numbers& numbers) {
  return int64_t{numbers.as.size} * (numbers.widens ? 2 : 1);
}
template <Distribution kDistribution, class Value>
int64_t bytes_written(const RandomBlocks<kDistribution, Value>& random) {
  return int64_t{random.as.size} * random.parts;
}
template <int kBytes>
int64_t bytes_read(const CopyUnits<kBytes>&) {
  return kBytes;
}
inline int64_t bytes_read(const CastElements& cast) { return int64_t{cast.from_size} * cast.parts; }

/// From the first to the last byte of a side, of which each element takes `unit`.
template <int kSides>
simulated_cuda::Memory range_of(const Offsets<kSides>& at, int side, const char* data,
                                int64_t unit) {
  int64_t first = 0;
  int64_t nbytes = unit;
  for (int d = 0; d < at.rank; ++d) {
    const int64_t span = (at.dims[d].size - 1) * at.dims[d].strides[side];
    if (span < 0) first += span;
    nbytes += span < 0 ? -span : span;
  }
  return {data + first, static_cast<size_t>(nbytes)};
}

template <class Operation>
cudaError_t start(Operation operation, int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  std::vector<simulated_cuda::Memory> reads;
  if constexpr (std::is_base_of_v<Copied, Operation>) {
    reads = {range_of(operation.at, 1, operation.src, bytes_read(operation))};
    operation.src = simulated_cuda::host_view(operation.src);
  }
  const auto writes = range_of(operation.at, 0, operation.dst, bytes_written(operation));
  operation.dst = simulated_cuda::host_view(operation.dst);
  const auto work = [operation, count] {
    for (int64_t i = 0; i < count; ++i) operation(i);
  };
  return simulated_cuda::launch(stream, work, reads, {writes});
}

}  // namespace detail
TENON_END_NAMESPACE
