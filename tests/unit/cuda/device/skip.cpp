// SPDX-License-Identifier: MIT
// Ends the program before its tests where there is no GPU. CTest counts 77 as skipped.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

static const bool has_device = [] {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return true;
  std::printf("tenon: skipped: no CUDA device: %s\n", cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(77);
}();
