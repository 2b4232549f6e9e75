// SPDX-License-Identifier: MIT
// Calls of CUDA's runtime: their errors, and the current device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "tenon/core/error.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// InvalidState is returned only for the codes of is_gone(). NotSupported is never returned: it
/// would make tenon try another way.
inline Error error_of(cudaError_t code) noexcept {
  switch (static_cast<int>(code)) {  // for an enum, -Wswitch-enum wants all values
    case cudaSuccess: return Error::Ok;
    case cudaErrorMemoryAllocation: return Error::OutOfMemory;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidResourceHandle: return Error::InvalidArgument;
    case cudaErrorNoDevice: return Error::NotFound;
    case cudaErrorCudartUnloading:  // the driver's CUDA_ERROR_DEINITIALIZED
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorInitializationError: return Error::InvalidState;
    default: return Error::AccessFailed;
  }
}
/// Whether the driver or the device's context is gone, and all memory with it: at a process's end,
/// after cudaDeviceReset, in a forked child.
inline bool is_gone(cudaError_t code) noexcept { return error_of(code) == Error::InvalidState; }

/// Clears CUDA's last error of the thread if it is `code`, which tenon reports itself. Any other
/// error is left to the program's cudaGetLastError().
inline void clear_error(cudaError_t code) noexcept {
  if (cudaPeekAtLastError() == code) static_cast<void>(cudaGetLastError());
}

TENON_COLD inline Error fail_cuda(cudaError_t code, const char* call) noexcept {
  clear_error(code);
  return fail(error_of(code), call, ": ", cudaGetErrorName(code), " (", cudaGetErrorString(code),
              ")");
}
inline Error check_cuda(cudaError_t code, const char* call) noexcept {
  return code != cudaSuccess ? fail_cuda(code, call) : Error::Ok;
}

/// The alignment that CUDA states for its memory.
inline constexpr size_t kCudaAlignment = 256;
inline bool check_cuda_alignment(size_t alignment) noexcept {
  return alignment <= kCudaAlignment ||
         fail(Error::NotSupported, "CUDA aligns to ", kCudaAlignment, " bytes") == Error::Ok;
}

/// Whether a stream belongs to the current device: null, the legacy or the per-thread stream.
inline bool is_of_current_device(cudaStream_t stream) noexcept {
  return reinterpret_cast<uintptr_t>(stream) <= reinterpret_cast<uintptr_t>(cudaStreamPerThread);
}

/// A call's name and its result.
struct CudaResult {
  cudaError_t code;
  const char* call;
};

/// Calls a function with `device` as the current device, then restores the previous one.
template <class Call>
CudaResult run_on_device(int device, const char* name, const Call& call) noexcept {
  int before = device;
  cudaError_t code = cudaGetDevice(&before);
  if (code != cudaSuccess) return {code, "cudaGetDevice"};
  if (before != device) {
    code = cudaSetDevice(device);
    if (code != cudaSuccess) return {code, "cudaSetDevice"};
  }
  code = call();
  if (before != device) {
    const cudaError_t back = cudaSetDevice(before);
    if (back != cudaSuccess && back != code) {
      clear_error(back);
      report(Error::AccessFailed, "CUDA's device ", before, " could not be made current again");
    }
  }
  return {code, name};
}
template <class Call>
Error call_on_device(int device, const char* name, const Call& call) noexcept {
  const CudaResult result = run_on_device(device, name, call);
  return check_cuda(result.code, result.call);
}
inline Error wait_for_device(int device) noexcept {
  return call_on_device(device, "cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); });
}

/// Makes a call, such as cudaMalloc, that CUDA refuses while any thread captures a graph; the
/// refused call would also end that capture. The call is not part of the graph, so it is made in
/// relaxed mode, in which CUDA allows it.
/// Source: c10::cuda::CUDAStreamCaptureModeGuard.
template <class Call>
cudaError_t call_beside_captures(const Call& call) noexcept {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  const cudaError_t entered = cudaThreadExchangeStreamCaptureMode(&mode);
  if (entered != cudaSuccess) clear_error(entered);
  const cudaError_t code = call();
  if (entered != cudaSuccess) return code;
  const cudaError_t left = cudaThreadExchangeStreamCaptureMode(&mode);
  if (left != cudaSuccess && left != code) {
    clear_error(left);
    report(Error::AccessFailed, "the thread's capture mode could not be set again");
  }
  return code;
}

/// How a backend frees CUDA's resources.
class CudaReleases {
 public:
  /// Makes a call, and retries it once: CUDA's calls also return errors of earlier work. Reports
  /// each error code only once, since after a kernel's fault all calls fail with the same code;
  /// reports nothing if the context is gone. Keeps the thread's last error.
  template <class Call>
  void run(const Call& call) noexcept {
    const LastError before = last_error();
    CudaResult result = call();
    if (result.code != cudaSuccess && !is_gone(result.code)) {
      clear_error(result.code);
      result = call();
    }
    const Error error = check_cuda(result.code, result.call);
    if (error != Error::Ok && !is_gone(result.code) && reported_.get() != result.code) {
      reported_.set(result.code);
      report(error, "CUDA did not free a resource: ", last_error().text);
    }
    last_error() = before;
  }
  template <class T>
  void destroy(T* object, cudaError_t (*call)(T*), const char* name) noexcept {
    if (object != nullptr) run([&] { return CudaResult{call(object), name}; });
  }

 private:
  AtomicValue<cudaError_t> reported_;
};

/// Frees memory with `device` as the current device. If `device` cannot be made current, frees the
/// memory anyway: CUDA finds memory by its address.
inline CudaResult free_on_device(int device, void* p, cudaError_t (*free)(void*),
                                 const char* name) noexcept {
  bool is_called = false;
  const CudaResult result = run_on_device(device, name, [&] {
    is_called = true;
    return call_beside_captures([&] { return free(p); });
  });
  if (is_called) return result;
  clear_error(result.code);
  return {call_beside_captures([&] { return free(p); }), name};
}

}  // namespace detail
TENON_END_NAMESPACE
