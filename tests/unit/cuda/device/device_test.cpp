// SPDX-License-Identifier: MIT
// CudaBackend and its kernels on a GPU; skip.cpp ends the program where there is none. The other
// tests of this folder run on the simulated runtime.
#include <future>

#include "cuda/device_kernels.h"
#include "cuda/kernel_checks.h"
#include "support/catch.h"
#include "tenon/backend/cuda.h"
#include "tenon/tenon.h"
#include "tenon/testing/backend_conformance.h"

namespace device_test {

using namespace tenon;

namespace {

CudaOptions with_kernels() {
  CudaOptions options;
  options.kernels = &device_kernels();
  return options;
}

}  // namespace

TEST_CASE("device: the backend conforms, with and without kernels, from pool and cudaMalloc") {
  for (const bool has_kernels : {false, true}) {
    for (const CudaAllocator allocator : {CudaAllocator::Pool, CudaAllocator::Malloc}) {
      CudaOptions options = has_kernels ? with_kernels() : CudaOptions();
      options.allocator = allocator;
      CudaBackend cuda(0, options);
      for (const testing::BackendCase& test : testing::backend_cases(cuda)) {
        const testing::Report report = testing::run_case(test, cuda);
        INFO(has_kernels << ' ' << report.text());
        CHECK(report.ok());
      }
    }
  }
}

TEST_CASE("device: the kernels write what the host's library writes") {
  for (const tests::Check& check : tests::kChecks) {
    SECTION(check.name) {
      tests::Checks checks;
      check.run(checks);
      checks.check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      for (const std::string& text : checks.failures) FAIL_CHECK(text);
    }
  }
}

TEST_CASE("device: a kernel writes more than 2^32 elements") {
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  REQUIRE(cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess);
  if (free_bytes >> 33 == 0) {
    WARN("less than 8 GiB of the device are free: not run");
    return;
  }
  tests::Checks checks;
  tests::check_rows(checks, (int64_t{1} << 26) + 1);
  for (const std::string& text : checks.failures) FAIL_CHECK(text);
}

TEST_CASE("device: what is captured in a graph runs again when that is launched") {
  CudaBackend cuda(0, with_kernels());
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  const TensorPtr a = zeros({8, 8}, ScalarType::Float, cuda);
  const TensorPtr b = zeros({8, 8}, ScalarType::Float, cuda);
  cudaGraph_t graph = nullptr;
  {
    StreamScope scope(cuda, stream);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    check(copy_(b, transpose(a, 0, 1)));
    check(fill_(a, 3));
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  }
  CHECK(to_binary(a) == to_binary(zeros({8, 8})));  // captured, not run
  cudaGraphExec_t runnable = nullptr;
  REQUIRE(cudaGraphInstantiate(&runnable, graph, 0) == cudaSuccess);
  for (int i = 0; i < 2; ++i) REQUIRE(cudaGraphLaunch(runnable, cuda.stream()) == cudaSuccess);
  CHECK(to_binary(b) == to_binary(full({8, 8}, 3.0f)));
  CHECK(cudaGraphExecDestroy(runnable) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("device: a capture goes on beside what is dropped and allocated meanwhile") {
  CudaOptions by_malloc;
  by_malloc.allocator = CudaAllocator::Malloc;
  CudaBackend cuda;
  CudaBackend malloc(0, by_malloc);
  PinnedBackend pinned;
  ManagedBackend managed;
  Backend* const backends[] = {&cuda, &malloc, &pinned, &managed};
  const auto use = [&] {
    for (Backend* backend : backends) {
      if (to_binary(ones({4}, *backend)) != to_binary(ones({4}))) return false;
    }
    return true;
  };
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  TensorPtr dropped[] = {ones({1000}, cuda), ones({1000}, malloc)};
  cudaGraph_t graph = nullptr;
  {
    const StreamScope scope(cuda, stream);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    for (TensorPtr& t : dropped) t.reset();
    CHECK(std::async(std::launch::async, use).get());
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  }
  CHECK(use());
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("device: trim gives what the pool keeps back to the device") {
  CudaBackend cuda;
  if (cuda.allocator() != CudaAllocator::Pool) return;
  const auto free_bytes = [] {
    size_t free = 0;
    size_t all = 0;
    CHECK(cudaMemGetInfo(&free, &all) == cudaSuccess);
    return free;
  };
  constexpr size_t kBytes = size_t{1} << 28;
  zeros({int64_t{kBytes}}, ScalarType::Byte, cuda);
  check(cuda.synchronize());
  const size_t before = free_bytes();
  check(cuda.trim());
  CHECK(free_bytes() >= before + kBytes / 2);
}

}  // namespace device_test
