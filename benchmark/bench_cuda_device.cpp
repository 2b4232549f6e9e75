// SPDX-License-Identifier: MIT
//
// What tenon takes on a GPU beside what CUDA takes for the same. Each line is the best of several
// rounds, by the device's clock unless it says otherwise; the last column is tenon's rate divided by
// the other's. Without a GPU it says so and exits with 77. cuRAND is beside rand() where CMake has
// found it.

#include <cuda_runtime_api.h>
#include <tenon/backend/cuda.h>
#include <tenon/tenon.h>
#ifdef TENON_HAS_CURAND
#include <curand.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "../tests/unit/cuda/device_kernels.h"

namespace {

using namespace tenon;

constexpr int64_t kRows = 8192;
constexpr int64_t kColumns = 8192;
constexpr double kBytes = static_cast<double>(kRows * kColumns * sizeof(float));

void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Seconds on the device that `work` takes there, called several times in a row.
template <class Work>
double device_seconds(cudaStream_t stream, const Work& work) {
  constexpr int kRounds = 7;
  constexpr int kCalls = 10;
  cudaEvent_t begin;
  cudaEvent_t end;
  must(cudaEventCreate(&begin));
  must(cudaEventCreate(&end));
  double best = 1e9;
  work();  // the first call fills pools and loads kernels
  for (int round = 0; round < kRounds; ++round) {
    must(cudaEventRecord(begin, stream));
    for (int i = 0; i < kCalls; ++i) work();
    must(cudaEventRecord(end, stream));
    must(cudaEventSynchronize(end));
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin, end));
    best = std::min(best, static_cast<double>(milliseconds) / 1e3 / kCalls);
  }
  must(cudaEventDestroy(begin));
  must(cudaEventDestroy(end));
  return best;
}

/// Seconds of the host's for a call of `work`.
template <class Work>
double host_seconds(const Work& work) {
  constexpr int kCalls = 10000;
  work();
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / kCalls);
  }
  return best;
}

/// A rate beside the one that it is measured by.
void line(const char* what, double bytes, double seconds, double other_rate) {
  const double rate = bytes / seconds;
  std::printf("  %-44s %8.1f GB/s %8.1f GB/s %6.2f\n", what, rate / 1e9, other_rate / 1e9,
              rate / other_rate);
}

void transfers(CudaBackend& cuda) {
  PinnedBackend pinned;
  const TensorPtr host = full({kRows, kColumns}, 1.0f, pinned);
  const TensorPtr device = empty({kRows, kColumns}, ScalarType::Float, cuda);
  const cudaStream_t stream = cuda.stream();
  const auto bytes = static_cast<size_t>(kBytes);
  void* const there = device->mutable_data_ptr();
  void* const here = host->mutable_data_ptr();
  const double up = device_seconds(
      stream, [&] { must(cudaMemcpyAsync(there, here, bytes, cudaMemcpyHostToDevice, stream)); });
  line("pinned to device, beside cudaMemcpyAsync", kBytes,
       device_seconds(stream, [&] { check(copy_(device, host)); }), kBytes / up);
  const double down = device_seconds(
      stream, [&] { must(cudaMemcpyAsync(here, there, bytes, cudaMemcpyDeviceToHost, stream)); });
  line("device to pinned, beside cudaMemcpyAsync", kBytes,
       device_seconds(stream, [&] { check(copy_(host, device)); }), kBytes / down);
}

void memory(CudaBackend& cuda) {
  const TensorPtr a = zeros({kRows, kColumns}, ScalarType::Float, cuda);
  const TensorPtr b = empty({kRows, kColumns}, ScalarType::Float, cuda);
  const cudaStream_t stream = cuda.stream();
  const double memcpy_rate =
      2 * kBytes / device_seconds(stream, [&] {
        must(cudaMemcpyAsync(b->mutable_data_ptr(), a->const_data_ptr(),
                             static_cast<size_t>(kBytes), cudaMemcpyDeviceToDevice, stream));
      });
  const double memset_rate =
      kBytes / device_seconds(stream, [&] {
        must(cudaMemsetAsync(b->mutable_data_ptr(), 0, static_cast<size_t>(kBytes), stream));
      });
  const auto time = [&](auto work) { return device_seconds(stream, work); };
  line("zero_, beside cudaMemsetAsync", kBytes, time([&] { check(zero_(b)); }), memset_rate);
  line("fill_ with 1.5, beside cudaMemsetAsync", kBytes, time([&] { check(fill_(b, 1.5)); }),
       memset_rate);
  line("copy_, beside cudaMemcpyAsync", 2 * kBytes, time([&] { check(copy_(b, a)); }), memcpy_rate);
  const Tensor left = narrow(a, 1, 0, kColumns / 2);
  const Tensor right = narrow(b, 1, 0, kColumns / 2);
  line("copy_ of padded rows, beside cudaMemcpyAsync", kBytes,
       time([&] { check(copy_(right, left)); }), memcpy_rate);
  const Tensor turned = transpose(a, 0, 1);
  line("copy_ of a transpose, beside cudaMemcpyAsync", 2 * kBytes,
       time([&] { check(copy_(b, turned)); }), memcpy_rate);
  const Tensor every_other = as_strided(a, {kRows, kColumns / 2}, {kColumns, 2});
  line("copy_ of every other column, its bytes alone", kBytes,
       time([&] { check(copy_(right, every_other)); }), memcpy_rate);
  const TensorPtr half = empty({kRows, kColumns}, ScalarType::Half, cuda);
  line("copy_ of Float to Half, beside cudaMemcpyAsync", 1.5 * kBytes,
       time([&] { check(copy_(half, a)); }), memcpy_rate);
}

void random_numbers(CudaBackend& cuda) {
  const TensorPtr a = empty({kRows, kColumns}, ScalarType::Float, cuda);
  const cudaStream_t stream = cuda.stream();
  Generator generator(1);
  const double uniform = device_seconds(stream, [&] { check(uniform_(a, 0, 1, generator)); });
  const double normal = device_seconds(stream, [&] { check(normal_(a, 0, 1, generator)); });
  double uniform_rate = kBytes / uniform;
  double normal_rate = kBytes / normal;
#ifdef TENON_HAS_CURAND
  curandGenerator_t other;
  if (curandCreateGenerator(&other, CURAND_RNG_PSEUDO_PHILOX4_32_10) != CURAND_STATUS_SUCCESS ||
      curandSetStream(other, stream) != CURAND_STATUS_SUCCESS) {
    throw std::runtime_error("cuRAND has no generator");
  }
  auto* const data = static_cast<float*>(a->mutable_data_ptr());
  const size_t count = static_cast<size_t>(kRows * kColumns);
  uniform_rate =
      kBytes / device_seconds(stream, [&] { curandGenerateUniform(other, data, count); });
  normal_rate =
      kBytes / device_seconds(stream, [&] { curandGenerateNormal(other, data, count, 0, 1); });
  curandDestroyGenerator(other);
  std::puts("  the next two beside cuRAND's Philox:");
#else
  std::puts("  the next two beside themselves: there is no cuRAND");
#endif
  line("uniform_", kBytes, uniform, uniform_rate);
  line("normal_", kBytes, normal, normal_rate);
}

void allocation(CudaBackend& cuda) {
  const cudaStream_t stream = cuda.stream();
  const double own = host_seconds([&] {
    static_cast<void>(empty({512, 512}, ScalarType::Float, cuda));
  });
  const double other = host_seconds([&] {
    void* p = nullptr;
    must(cudaMallocAsync(&p, 512 * 512 * sizeof(float), stream));
    must(cudaFreeAsync(p, stream));
  });
  std::printf("  %-44s %8.0f ns   %8.0f ns   %6.2f\n",
              "empty of 1 MiB, beside cudaMallocAsync (host)", own * 1e9, other * 1e9, other / own);
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("tenon: skipped: no CUDA device");
    return 77;
  }
  try {
    cudaDeviceProp properties;
    must(cudaGetDeviceProperties(&properties, 0));
    std::printf("%s, %d multiprocessors; tenon and what is beside it\n", properties.name,
                properties.multiProcessorCount);
    CudaOptions options;
    options.kernels = &device_kernels();
    CudaBackend cuda(0, options);
    transfers(cuda);
    memory(cuda);
    random_numbers(cuda);
    allocation(cuda);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cuda_device: %s\n", error.what());
    return 1;
  }
}
