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

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&](State&) {
    simulated_cuda::detail::synchronize_device(this_thread().device);
    return cudaSuccess;
  });
}
