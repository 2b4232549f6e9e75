// SPDX-License-Identifier: MIT
// CudaOptions, and CudaMemory: a backend's blocks, from a pool or from cudaMalloc.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/backend/cuda/cuda_calls.h"
#include "tenon/backend/cuda/cuda_streams.h"
#include "tenon/backend/cuda/kernels.h"

TENON_BEGIN_NAMESPACE

/// Where a CudaBackend's memory comes from.
enum class CudaAllocator : uint8_t {
  Pool,    ///< the backend's own pool, in stream order, without waiting; if the device has no
           ///< pools (cudaDevAttrMemoryPoolsSupported), the same as Malloc
  Malloc,  ///< cudaMalloc and cudaFree, which wait
};

/// How a CudaBackend allocates and copies.
struct CudaOptions {
  CudaAllocator allocator = CudaAllocator::Pool;  ///< which functions of CUDA allocate
  /// How many free bytes the pool keeps when the device synchronises:
  /// cudaMemPoolAttrReleaseThreshold. Next to another allocator, such as PyTorch's, set it or call
  /// trim(): the other allocator cannot use the pool's free bytes.
  uint64_t release_threshold = UINT64_MAX;
  /// cuda_kernels() of cuda_kernels.cuh. Without kernels, copies and fills that need more than one
  /// CUDA call go through the host.
  const CudaKernels* kernels = nullptr;
  /// The most bytes, in use or kept, that the pool takes from the device; 0: as many as CUDA
  /// allows. Needs CUDA 12.2: cudaMemPoolProps::maxSize.
  size_t max_pool_bytes = 0;
};

namespace detail {

/// Allocates a device's memory; frees blocks after the work of all the backend's streams.
class CudaMemory {
 public:
  CudaMemory(int device, CudaStreams& streams) noexcept : device_(device), streams_(streams) {}
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory() {
    free_kept();
    streams_.releases.destroy(pool_, &cudaMemPoolDestroy, "cudaMemPoolDestroy");
  }

  Error open(const CudaOptions& options) noexcept {
    if (options.allocator != CudaAllocator::Pool) return Error::Ok;
    int has_pools = 0;
    TENON_TRY(
        check_cuda(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device_),
                   "cudaDeviceGetAttribute"));
    return has_pools != 0 ? make_pool(options) : Error::Ok;
  }
  CudaAllocator allocator() const noexcept {
    return pool_ != nullptr ? CudaAllocator::Pool : CudaAllocator::Malloc;
  }

  /// Returns null and sets an error text on failure.
  void* allocate(size_t nbytes) noexcept {
    if (has_kept_.get()) free_kept();
    if (pool_ == nullptr) return allocate_by_malloc(nbytes);
    void* p = nullptr;
    const cudaStream_t to = streams_.current();
    bool is_captured = false;
    if (streams_.find_capture(to, is_captured) != Error::Ok) return nullptr;
    if (is_captured) return fail_captured();
    const Error error = streams_.call(to, "cudaMallocFromPoolAsync", [&] {
      return cudaMallocFromPoolAsync(&p, nbytes, pool_, to);
    });
    return error == Error::Ok ? p : nullptr;
  }
  void deallocate(void* p) noexcept {
    const cudaStream_t own = streams_.own();
    if (pool_ == nullptr || streams_.has_scopes() || has_kept_.get() || is_of_current_device(own)) {
      return release(p);
    }
    // On a captured stream only memory of the graph can be freed. The capture may end at any time:
    // release() checks again.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t code = cudaStreamIsCapturing(own, &status);
    if (code == cudaSuccess && status == cudaStreamCaptureStatusNone) {
      code = cudaFreeAsync(p, own);
      if (code == cudaSuccess) return;
    }
    if (code != cudaSuccess) clear_error(code);
    release(p);
  }

  /// Frees the blocks that were released during a capture, if the capture has ended.
  void free_kept() noexcept {
    if (!has_kept_.get() || streams_.is_any_captured()) return;
    std::vector<void*> blocks;
    {
      const LockGuard<std::mutex> lock(mutex_);
      blocks.swap(kept_);
      has_kept_.set(false);
    }
    for (void* const p : blocks) free(p);
  }
  Error trim(size_t keep) noexcept {
    free_kept();
    TENON_TRY(streams_.synchronize());
    TENON_TRY(streams_.wait_for_frees());
    if (pool_ == nullptr) return Error::Ok;
    return call_on_device(device_, "cudaMemPoolTrimTo", [&] {
      return call_beside_captures([&] { return cudaMemPoolTrimTo(pool_, keep); });
    });
  }

 private:
  Error make_pool(const CudaOptions& options) noexcept {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device_;
#if CUDART_VERSION >= 12020
    props.maxSize = options.max_pool_bytes;
#else
    if (options.max_pool_bytes != 0) {
      return fail(Error::NotSupported, "max_pool_bytes needs CUDA 12.2 or later");
    }
#endif
    TENON_TRY(check_cuda(cudaMemPoolCreate(&pool_, &props), "cudaMemPoolCreate"));
    uint64_t threshold = options.release_threshold;
    return check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold),
                      "cudaMemPoolSetAttribute");
  }
  TENON_COLD void* allocate_by_malloc(size_t nbytes) const noexcept {
    void* p = nullptr;
    const Error error = call_on_device(device_, "cudaMalloc", [&] {
      return call_beside_captures([&] { return cudaMalloc(&p, nbytes); });
    });
    return error == Error::Ok ? p : nullptr;
  }
  /// Memory allocated in a capture belongs to the graph, and exists only while it runs.
  TENON_COLD static void* fail_captured() noexcept {
    static_cast<void>(fail(Error::InvalidState,
                           "a graph is captured from the stream: allocate before the capture"));
    return nullptr;
  }

  /// Frees memory if cudaFreeAsync alone is not enough.
  TENON_COLD void release(void* p) noexcept {
    free_kept();
    if (!keep(p)) free(p);
  }
  /// Keeps a block while a stream is captured: the stream's work before the capture may still use
  /// it, and until the capture ends nothing can wait for that work.
  /// Source: c10's CUDAMallocAsyncAllocator, which frees such blocks after the capture too.
  bool keep(void* p) noexcept {
    if (!streams_.is_any_captured()) return false;
    const LockGuard<std::mutex> lock(mutex_);
    if (!has_memory_for([&] { kept_.push_back(p); })) return false;
    has_kept_.set(true);
    return true;
  }
  void free(void* p) noexcept {
    streams_.releases.run([&]() noexcept -> CudaResult {
      if (pool_ != nullptr && streams_.free(p) == Error::Ok) return {cudaSuccess, ""};
      static_cast<void>(streams_.synchronize());  // cudaFree may not wait
      return free_on_device(device_, p, &cudaFree, "cudaFree");
    });
  }

  int device_;
  CudaStreams& streams_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  std::vector<void*> kept_;  // guarded by mutex_
  AtomicValue<bool> has_kept_;
};

}  // namespace detail
TENON_END_NAMESPACE
