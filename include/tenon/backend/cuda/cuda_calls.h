// SPDX-License-Identifier: MIT
// Calls of CUDA's runtime: their errors, and the device that is current in them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// InvalidState is left to a runtime or a device that is gone, and its memory with it. NotSupported
/// would have tenon try another way.
inline Error error_of(cudaError_t code) noexcept {
  switch (static_cast<int>(code)) {  // as an enum, -Wswitch-enum asks for all
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
    case cudaErrorCudartUnloading:
    case cudaErrorContextIsDestroyed: return Error::InvalidState;
    default: return Error::AccessFailed;
  }
}

TENON_COLD inline Error fail_cuda(cudaError_t code, const char* call) noexcept {
  static_cast<void>(cudaGetLastError());  // reported here, so not again by the next call that asks
  return fail(error_of(code), call, ": ", cudaGetErrorName(code), " (", cudaGetErrorString(code),
              ")");
}
inline Error check_cuda(cudaError_t code, const char* call) noexcept {
  return TENON_UNLIKELY(code != cudaSuccess) ? fail_cuda(code, call) : Error::Ok;
}

/// The alignment that CUDA states for its memory.
inline constexpr size_t kCudaAlignment = 256;
inline bool check_cuda_alignment(size_t alignment) noexcept {
  return alignment <= kCudaAlignment ||
         fail(Error::NotSupported, "CUDA aligns to ", kCudaAlignment, " bytes") == Error::Ok;
}

/// Whether a stream is one of whichever device is current: null, the legacy or the per-thread one.
inline bool is_of_current_device(cudaStream_t stream) noexcept {
  return reinterpret_cast<uintptr_t>(stream) <= reinterpret_cast<uintptr_t>(cudaStreamPerThread);
}

/// Makes a call while `device` is the thread's current one, and puts that back.
template <class Call>
Error call_on_device(int device, const char* name, const Call& call) noexcept {
  int before = device;
  TENON_TRY(check_cuda(cudaGetDevice(&before), "cudaGetDevice"));
  if (before != device) TENON_TRY(check_cuda(cudaSetDevice(device), "cudaSetDevice"));
  const Error error = check_cuda(call(), name);
  if (before != device && TENON_UNLIKELY(cudaSetDevice(before) != cudaSuccess)) {
    static_cast<void>(cudaGetLastError());
    report(Error::AccessFailed, "CUDA's device ", before, " could not be made current again");
  }
  return error;
}
inline Error wait_for_device(int device) noexcept {
  return call_on_device(device, "cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); });
}

/// Gives something back by `call`, twice if need be: CUDA's calls also fail with what failed before
/// them. An error is reported, unless the runtime or the device is gone, and all with it. The
/// thread's last error stays.
template <class Call>
void release_cuda(const Call& call) noexcept {
  const LastError before = last_error();
  Error error = call();
  if (TENON_UNLIKELY(error != Error::Ok && error != Error::InvalidState)) error = call();
  if (TENON_UNLIKELY(error != Error::Ok && error != Error::InvalidState)) {
    report(error, "CUDA did not take something back: ", last_error().text);
  }
  last_error() = before;
}
template <class T>
void release_cuda(T* object, cudaError_t (*destroy)(T*), const char* name) noexcept {
  if (object != nullptr) release_cuda([&] { return check_cuda(destroy(object), name); });
}

}  // namespace detail
TENON_END_NAMESPACE
