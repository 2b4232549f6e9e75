// SPDX-License-Identifier: MIT
// CUDA's own copies, of blocks, rows and slices of rows.
#pragma once

#include <cuda_runtime_api.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "tenon/backend/cuda/cuda_streams.h"
#include "tenon/backend/strided_copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The largest row pitch in bytes: all devices have this cudaDeviceProp::memPitch.
inline constexpr int64_t kMaxCudaPitch = INT_MAX;

/// One side of a copy: pitches as CUDA's functions take them.
struct CudaRows {
  size_t pitch;   // bytes from row to row
  size_t height;  // rows from slice to slice
};

/// A copy that one call makes: a block, rows, or slices of rows.
struct CudaBox {
  cudaExtent extent;  // bytes, rows, slices
  CudaRows dst;
  CudaRows src;

  /// Sets the fields. Returns whether one call can do the copy: addresses ascend on both sides, and
  /// slices are whole rows.
  bool describe(const StridedCopy& copy) noexcept {
    if (copy.rank > 2) return false;
    const auto width = static_cast<int64_t>(copy.nbytes);
    using Dim = StridedCopy::Dim;
    const Dim rows = copy.rank == 0 ? Dim{1, width, width} : copy.dims[copy.rank - 1];
    const Dim slices = copy.rank == 2
                           ? copy.dims[0]
                           : Dim{1, rows.size * rows.dst_stride, rows.size * rows.src_stride};
    const auto side = [&](int64_t pitch, int64_t slice, CudaRows& out) {
      out = {static_cast<size_t>(pitch), pitch <= 0 ? 0 : static_cast<size_t>(slice / pitch)};
      return pitch >= width && (copy.rank == 0 || pitch <= kMaxCudaPitch) &&
             slice >= rows.size * pitch && slice % pitch == 0;
    };
    extent = {copy.nbytes, static_cast<size_t>(rows.size), static_cast<size_t>(slices.size)};
    return side(rows.dst_stride, slices.dst_stride, dst) &&
           side(rows.src_stride, slices.src_stride, src);
  }
};

inline cudaPitchedPtr pitched(const void* data, const CudaBox& box, const CudaRows& rows) noexcept {
  return {const_cast<void*>(data), rows.pitch, box.extent.width, rows.height};
}

/// Enqueues a copy in a device's memory, or between it and the host's.
inline Error copy_async(const StridedCopy& copy, const CudaBox& box, cudaMemcpyKind kind,
                        const CudaStreams& streams, cudaStream_t stream) noexcept {
  if (copy.rank == 0) {
    return streams.call(stream, "cudaMemcpyAsync", [&] {
      return cudaMemcpyAsync(copy.dst, copy.src, copy.nbytes, kind, stream);
    });
  }
  if (copy.rank == 1) {
    return streams.call(stream, "cudaMemcpy2DAsync", [&] {
      return cudaMemcpy2DAsync(copy.dst, box.dst.pitch, copy.src, box.src.pitch, box.extent.width,
                               box.extent.height, kind, stream);
    });
  }
  cudaMemcpy3DParms parameters{};
  parameters.dstPtr = pitched(copy.dst, box, box.dst);
  parameters.srcPtr = pitched(copy.src, box, box.src);
  parameters.extent = box.extent;
  parameters.kind = kind;
  return streams.call(stream, "cudaMemcpy3DAsync",
                      [&] { return cudaMemcpy3DAsync(&parameters, stream); });
}

/// Whether CUDA refuses peer copies between two devices, as some virtual GPUs do.
inline bool is_refused_by_peers(cudaError_t code) noexcept {
  return code == cudaErrorPeerAccessUnsupported || code == cudaErrorPeerAccessNotEnabled ||
         code == cudaErrorTooManyPeers || code == cudaErrorNotSupported;
}

/// Enqueues a copy between the devices `to` and `from`, with cudaMemcpyPeerAsync and
/// cudaMemcpy3DPeerAsync, which need neither peer access nor cudaMemPoolSetAccess. NotSupported if
/// CUDA refuses.
inline Error copy_peer_async(const StridedCopy& copy, const CudaBox& box, int to, int from,
                             const CudaStreams& streams, cudaStream_t stream) noexcept {
  cudaError_t refused = cudaSuccess;
  const auto unless_refused = [&](cudaError_t code) {
    if (!is_refused_by_peers(code)) return code;
    refused = code;
    clear_error(code);
    return cudaSuccess;
  };
  Error error = Error::Ok;
  if (copy.rank == 0) {
    error = streams.call(stream, "cudaMemcpyPeerAsync", [&] {
      return unless_refused(cudaMemcpyPeerAsync(copy.dst, to, copy.src, from, copy.nbytes, stream));
    });
  } else {
    cudaMemcpy3DPeerParms parameters{};
    parameters.dstPtr = pitched(copy.dst, box, box.dst);
    parameters.dstDevice = to;
    parameters.srcPtr = pitched(copy.src, box, box.src);
    parameters.srcDevice = from;
    parameters.extent = box.extent;
    error = streams.call(stream, "cudaMemcpy3DPeerAsync", [&] {
      return unless_refused(cudaMemcpy3DPeerAsync(&parameters, stream));
    });
  }
  return error == Error::Ok && refused != cudaSuccess ? Error::NotSupported : error;
}

}  // namespace detail
TENON_END_NAMESPACE
