// SPDX-License-Identifier: MIT
// Exits with 0 when tenon's backend and CUDA's runtime work together; without a GPU both say so.
#include <tenon/backend/cuda.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <exception>

int main() {
  int devices = 0;
  const bool has_device = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  try {
    tenon::CudaBackend cuda;
    const auto bytes = tenon::to_binary(tenon::zeros({2}, tenon::ScalarType::Int, cuda));
    return has_device && bytes.size() == 8 ? 0 : 1;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return has_device ? 1 : 0;
  }
}
