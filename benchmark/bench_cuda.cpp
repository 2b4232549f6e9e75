// SPDX-License-Identifier: MIT
//
// The host's time for empty() on a CUDA device, beside the same on the heap: the functions of CUDA's
// runtime that have a part in it are these, which do nothing. Fails when a tensor on the device
// takes more than twice the heap's time.

#include <cuda_runtime_api.h>
#include <tenon/backend/cuda.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

// The program's own, which come before the library's.
namespace {
int nothing;  // what handles and blocks point to
}
extern "C" {
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  return *value = 1, cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return *stream = reinterpret_cast<cudaStream_t>(&nothing), cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = reinterpret_cast<cudaEvent_t>(&nothing), cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  return *pool = reinterpret_cast<cudaMemPool_t>(&nothing), cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMallocFromPoolAsync(void** p, size_t, cudaMemPool_t, cudaStream_t) {
  return *p = &nothing, cudaSuccess;
}
cudaError_t cudaFreeAsync(void*, cudaStream_t) { return cudaSuccess; }
}

namespace {

struct Round {
  double device;
  double heap;
  double ratio() const { return device / heap; }
};

double nanoseconds(tenon::Backend& backend, const tenon::Dims& sizes) {
  constexpr int kCalls = 2000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) {
    const tenon::TensorPtr t = tenon::empty(sizes, tenon::ScalarType::Float, backend);
    if (!t->defined()) std::puts("undefined");  // so that the tensor is used
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / kCalls;
}

}  // namespace

int main() {
  tenon::CudaBackend cuda;
  bool is_right = true;
  for (const int64_t rows : {2, 8, 64, 512}) {
    const tenon::Dims sizes{rows, 3, 4};
    // A round's two stand beside each other: the processor's speed changes from round to round.
    std::vector<Round> rounds(51);
    for (Round& round : rounds) {
      round.device = nanoseconds(cuda, sizes);
      round.heap = nanoseconds(tenon::host_backend(), sizes);
    }
    const auto median = rounds.begin() + 25;
    std::nth_element(rounds.begin(), median, rounds.end(),
                     [](const Round& a, const Round& b) { return a.ratio() < b.ratio(); });
    const double ratio = median->ratio();
    std::printf("empty of %4d floats: %5.1f ns on the device, %5.1f ns on the heap, ratio %.2f\n",
                static_cast<int>(12 * rows), median->device, median->heap, ratio);
    is_right = is_right && ratio <= 2;
  }
  return is_right ? 0 : 1;
}
