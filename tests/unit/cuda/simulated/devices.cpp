// SPDX-License-Identifier: MIT
// Devices: how many, which is current.
#include "state.h"

using simulated_cuda::detail::call;
using simulated_cuda::detail::State;
using simulated_cuda::detail::this_thread;

namespace {
bool valid(const State& s, int device) { return device >= 0 && device < s.options.devices; }
}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&](State& s) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = s.options.devices;
    return s.options.devices == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&](State&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = this_thread().device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&](State& s) {
    if (!valid(s, device)) return cudaErrorInvalidDevice;
    this_thread().device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&](State& s) {
    if (!valid(s, device)) return cudaErrorInvalidDevice;
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaDevAttrMemoryPoolsSupported: *value = s.options.memory_pools; break;
      case cudaDevAttrConcurrentManagedAccess: *value = s.options.concurrent_managed_access; break;
      default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

// "It is also invalid to query the execution status of or synchronize a broader handle which
// encompasses an active stream capture, such as a device": in every mode.
cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&](State& s) {
    bool is_captured = false;
    for (auto& entry : s.streams) {
      const auto& stream = entry.second;
      if (stream.device != this_thread().device || stream.capture == nullptr) continue;
      stream.capture->invalid = true;
      is_captured = true;
    }
    if (is_captured) return cudaErrorStreamCaptureUnsupported;
    simulated_cuda::detail::synchronize_device(this_thread().device);
    return cudaSuccess;
  });
}
