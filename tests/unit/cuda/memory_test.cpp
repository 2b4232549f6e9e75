// SPDX-License-Identifier: MIT
// CudaBackend, PinnedBackend and ManagedBackend as memory.
#include "cuda_helpers.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/testing/backend_conformance.h"

namespace memory_test {

using namespace tests;
using namespace tenon;

namespace {

void check_conformance(Backend& backend,
                       const testing::BackendTraits& traits = testing::BackendTraits()) {
  for (const testing::BackendCase& test : testing::backend_cases(backend)) {
    const testing::Report report = testing::run_case(test, backend, traits);
    INFO(report.text());
    CHECK(report.ok());
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
}

}  // namespace

// Unoptimised, the suite takes half a second: not in all orders each time, and
// what is slow not under sanitizers.
TEST_CASE("cuda: it passes the conformance suite, with a stream of its own") {
  const Simulation simulation(any_order());
  CudaBackend backend;
  check_conformance(backend);
}

TEST_CASE("cuda: it passes the conformance suite, with a borrowed stream of the other device",
          "[slow]") {
  const Simulation simulation(sim::Order::Early);
  const UserStream stream(1);
  CudaBackend backend(1, stream);
  check_conformance(backend);
}

TEST_CASE("cuda: it passes the conformance suite, with cudaMalloc") {
  const Simulation simulation(sim::Order::Late);
  CudaBackend backend(0, with_malloc());
  check_conformance(backend);
}

TEST_CASE("cuda: it passes the conformance suite with kernels") {
  const Simulation simulation(any_order());
  CudaBackend backend(1, with_kernels());
  check_conformance(backend);
  CHECK(sim::calls("cudaLaunchKernel") > 1000);
}

TEST_CASE("cuda: it passes the conformance suite in a StreamScope") {
  const Simulation simulation(any_order(), size_t{8} << 30);
  const UserStream stream;
  CudaBackend backend;
  const StreamScope scope(backend, stream);
  // What is freed on a private stream is used again when the host has waited, not in most cases.
  testing::BackendTraits traits;
  traits.largest = size_t{1} << 20;
  traits.reuses_addresses = false;
  check_conformance(backend, traits);
}

TEST_CASE("cuda: a pool and a tracker over it pass the conformance suite", "[slow]") {
  const Simulation simulation(sim::Order::Late);
  CudaBackend backend;
  PoolBackend pool(backend);
  check_conformance(pool);
  TrackingBackend tracking(backend);
  check_conformance(tracking);
}

TEST_CASE("cuda_host, cuda_managed: they pass the conformance suite", "[slow]") {
  const Simulation simulation(sim::Order::Late);
  PinnedBackend pinned;
  check_conformance(pinned);
  CHECK(pinned.device() == Device("cuda_host"));
  ManagedBackend managed(1);
  check_conformance(managed);
  CHECK(managed.device() == Device("cuda_managed"));
}

TEST_CASE("cuda: what it is") {
  const Simulation simulation;
  CudaBackend backend(1);
  CHECK(backend.name() == std::string("cuda"));
  CHECK(backend.device() == Device("cuda:1"));
  CHECK(backend.is_opaque());
  CHECK(backend.as_device() == &backend);
  CHECK(backend.stream_number() == reinterpret_cast<int64_t>(backend.stream()));
  CHECK(CudaBackend(0, nullptr).stream_number() == 1);
  RETURNS(InvalidArgument, "there is no option \"streams\"", backend.init({{"streams", 2}}));
}

TEST_CASE("cuda: an allocation from the pool is one call, and so is its release") {
  const Simulation simulation;
  const UserStream stream;
  CudaBackend own;
  CudaBackend borrowed(0, stream);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);  // which is of no concern
  for (CudaBackend* backend : {&own, &borrowed}) {
    TensorPtr t;
    CHECK(calls_of([&] { t = empty({3, 4}, *backend); }) == Texts{"cudaMallocFromPoolAsync"});
    CHECK(calls_of([&] { t.reset(); }) == Texts{"cudaFreeAsync"});
  }
}

TEST_CASE("cuda: cudaMalloc and cudaFree are called with their device, and after what uses it") {
  const Simulation simulation;
  CudaBackend backend(1, with_malloc());
  TensorPtr t;
  CHECK(calls_of([&] { t = zeros({3}, backend); }) ==
        Texts{"cudaGetDevice", "cudaSetDevice", "cudaMalloc", "cudaSetDevice", "cudaGetDevice",
              "cudaSetDevice", "cudaMemsetAsync", "cudaSetDevice"});
  CHECK(sim::pending() != 0);
  t.reset();
  CHECK(sim::pending() == 0);
  CHECK(current_device() == 0);
}

TEST_CASE("cuda: memory is released by a thread with another current device") {
  const Simulation simulation;
  for (const bool is_pool : {true, false}) {
    CudaBackend backend(0, is_pool ? CudaOptions() : with_malloc());
    CudaBackend legacy(0, nullptr);
    TensorPtr a = ones({3}, backend);
    TensorPtr b = ones({3}, legacy);
    REQUIRE(cudaSetDevice(1) == cudaSuccess);
    a.reset();
    b.reset();
    CHECK(current_device() == 1);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
  }
}

TEST_CASE("cuda: alignments above CUDA's are refused") {
  const Simulation simulation;
  CudaBackend backend;
  CHECK(backend.allocate(10, 512) == nullptr);
  CHECK(contains(last_error_message(), "256 bytes"));
  CHECK(ManagedBackend().allocate(10, 512) == nullptr);
  CHECK(PinnedBackend().allocate(10, 512) == nullptr);
}

TEST_CASE("cuda: memory that the device has not is OutOfMemory, by CUDA's name and text") {
  const Simulation simulation;
  CudaBackend pool;
  CudaBackend malloc(0, with_malloc());
  const char* const text = "cudaErrorMemoryAllocation (out of memory)";
  for (CudaBackend* backend : {&pool, &malloc}) {
    RAISES(OutOfMemory, text, empty({int64_t{1} << 50}, *backend));
  }
  RAISES(OutOfMemory, "backend cuda has no memory for 4503599627370496 bytes: cudaMallocFromPool",
         empty({int64_t{1} << 50}, pool));
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda: tensors are dropped quietly when the runtime is unloaded") {
  const Reports reports;
  CudaOptions options[] = {CudaOptions(), with_malloc()};
  sim::reset(2);
  for (const CudaOptions& given : options) {
    CudaBackend backend(0, given);
    PinnedBackend pinned;
    ManagedBackend managed;
    TensorPtr tensors[] = {ones({3}, backend), ones({3}, pinned), ones({3}, managed)};
    sim::unloading();
    for (TensorPtr& t : tensors) t.reset();
    sim::unloading(false);
  }
  sim::unloading();
  {
    sim::unloading(false);
    CudaBackend backend;
    sim::unloading();
  }
  sim::reset();
  CHECK(reports.last() == "");
}

TEST_CASE("cuda: after a sticky error calls fail, and blocks are reported lost") {
  const Reports reports;
  sim::reset(2);
  {
    CudaBackend backend;
    TensorPtr t = ones({3}, backend);
    sim::make_sticky(cudaErrorIllegalAddress);
    RAISES(AccessFailed, "cudaErrorIllegalAddress (an illegal memory access was encountered)",
           to_binary(t));
    RAISES(OutOfMemory, "cudaMallocFromPoolAsync: cudaErrorIllegalAddress", empty({3}, backend));
    const std::string text = last_error_message();
    t.reset();
    CHECK(last_error_message() == text);
    CHECK(reports.count() == 1);
    CHECK(contains(reports.last(),
                   "CUDA did not take something back: cudaGetDevice: cudaErrorIllegalAddress"));
  }
  sim::reset();
}

TEST_CASE("cuda_managed: synchronize waits for the device before the host reads") {
  const Simulation simulation;
  CudaBackend backend;
  ManagedBackend managed;
  const TensorPtr t = zeros({1000}, managed);
  REQUIRE(cudaMemsetAsync(mutable_data_ptr<float>(t), 0x41, 4000, backend.stream()) == cudaSuccess);
  REQUIRE(managed.synchronize() == Error::Ok);
  CHECK(sim::pending() == 0);
  CHECK(const_data_ptr<float>(t)[999] == 12.078431f);
}

}  // namespace memory_test
