// SPDX-License-Identifier: MIT
// PinnedBackend and ManagedBackend: memory of the host that CUDA's devices reach.
#pragma once

#include <cuda_runtime_api.h>

#include "tenon/backend/backend.h"
#include "tenon/backend/cuda/cuda_calls.h"

TENON_BEGIN_NAMESPACE

/// Pinned memory, which all devices read and write at their full rate: cudaHostAlloc.
///
/// The program orders the work of devices on it: a tensor may be dropped, read and written only
/// when the device is done with it. CudaBackend's copies are done when they return.
/// Errors: CUDA's, with their names and texts.
/// Threads: any.
class TENON_EXPORT PinnedBackend : public HostMemoryBackend {
 public:
  /// Calls CUDA with `device` as the current device; the memory belongs to the context of `device`.
  explicit PinnedBackend(int device = 0) noexcept : index_(device) {}

  const char* name() const noexcept override { return "cuda_host"; }
  Device device() const noexcept override { return Device(DeviceType::CUDAHost, 0); }

  /// `alignment` is at most 256 bytes.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    void* p = nullptr;
    if (!detail::check_cuda_alignment(alignment)) return nullptr;
    const Error error = detail::call_on_device(index_, "cudaHostAlloc", [&] {
      return detail::call_beside_captures(
          [&] { return cudaHostAlloc(&p, nbytes, cudaHostAllocPortable); });
    });
    return error == Error::Ok ? p : nullptr;
  }
  void deallocate(void* p, size_t) noexcept override {
    releases_.run([&] { return detail::free_on_device(index_, p, &cudaFreeHost, "cudaFreeHost"); });
  }

 private:
  int index_;
  detail::CudaReleases releases_;
};

/// Memory that moves between the host and the devices: cudaMallocManaged.
///
/// The host may access it, after synchronize() if a device had work with it. If the device does not
/// support concurrent access, as on Windows, the host may access it only while the device is idle:
/// allocations wait for that, so that creators may write; call synchronize() before any other
/// access.
/// Ownership, errors, threads: as PinnedBackend's.
class TENON_EXPORT ManagedBackend : public HostMemoryBackend {
 public:
  /// Calls CUDA with `device` as the current device; synchronize() waits for `device`.
  explicit ManagedBackend(int device = 0) noexcept : index_(device) {}

  const char* name() const noexcept override { return "cuda_managed"; }
  Device device() const noexcept override { return Device(DeviceType::CUDAManaged, 0); }

  /// Whether the host may access managed memory while the device works
  /// (cudaDevAttrConcurrentManagedAccess); false if CUDA does not say.
  bool is_concurrent() const noexcept {
    int value = 0;
    const cudaError_t code =
        cudaDeviceGetAttribute(&value, cudaDevAttrConcurrentManagedAccess, index_);
    if (code != cudaSuccess) detail::clear_error(code);
    return code == cudaSuccess && value != 0;
  }

  /// `alignment` is at most 256 bytes.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    void* p = nullptr;
    if (!detail::check_cuda_alignment(alignment)) return nullptr;
    if (!is_concurrent() && synchronize() != Error::Ok) return nullptr;
    const Error error = detail::call_on_device(index_, "cudaMallocManaged", [&] {
      return detail::call_beside_captures(
          [&] { return cudaMallocManaged(&p, nbytes, cudaMemAttachGlobal); });
    });
    return error == Error::Ok ? p : nullptr;
  }
  void deallocate(void* p, size_t) noexcept override {
    releases_.run([&] { return detail::free_on_device(index_, p, &cudaFree, "cudaFree"); });
  }
  Error synchronize() override { return detail::wait_for_device(index_); }

 private:
  int index_;
  detail::CudaReleases releases_;
};

TENON_END_NAMESPACE
