// SPDX-License-Identifier: MIT
// CudaBackend, PinnedBackend and ManagedBackend as memory.
#include <future>

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

TEST_CASE("cuda: an allocation from the pool is one call and a question, and so is its release") {
  const Simulation simulation;
  const UserStream stream;
  CudaBackend own;
  CudaBackend borrowed(0, stream);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);  // which is of no concern
  for (CudaBackend* backend : {&own, &borrowed}) {
    TensorPtr t;
    CHECK(calls_of([&] {
            t = empty({3, 4}, *backend);
          }) == Texts{"cudaStreamIsCapturing", "cudaMallocFromPoolAsync"});
    CHECK(calls_of([&] { t.reset(); }) == Texts{"cudaStreamIsCapturing", "cudaFreeAsync"});
  }
}

TEST_CASE("cuda: cudaMalloc and cudaFree are called with their device, and after what uses it") {
  const Simulation simulation;
  CudaBackend backend(1, with_malloc());
  TensorPtr t;
  CHECK(calls_of([&] { t = zeros({3}, backend); }) ==
        Texts{"cudaGetDevice", "cudaSetDevice", "cudaThreadExchangeStreamCaptureMode", "cudaMalloc",
              "cudaThreadExchangeStreamCaptureMode", "cudaSetDevice", "cudaGetDevice",
              "cudaSetDevice", "cudaMemsetAsync", "cudaSetDevice"});
  CHECK(sim::pending() != 0);
  t.reset();
  CHECK(sim::pending() == 0);
  CHECK(current_device() == 0);
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
TEST_CASE("cuda: trim gives what the pool keeps back to the device") {
  const Simulation simulation(any_order(), size_t{1} << 20);
  const UserStream stream;
  CudaBackend backend;
  const auto is_there_room = [] {
    void* p = nullptr;
    const bool is = cudaMalloc(&p, 900000) == cudaSuccess;
    static_cast<void>(cudaGetLastError());
    CHECK(cudaFree(p) == cudaSuccess);
    return is;
  };
  TensorPtr t = zeros({900000}, ScalarType::Byte, backend);
  t.reset();
  REQUIRE(backend.synchronize() == Error::Ok);
  CHECK_FALSE(is_there_room());
  CHECK(backend.trim(1 << 20) == Error::Ok);
  CHECK_FALSE(is_there_room());
  CHECK(backend.trim() == Error::Ok);
  CHECK(is_there_room());

  // What was dropped in a scope, too: trim waits until it is free.
  {
    const StreamScope scope(backend, stream);
    t = zeros({900000}, ScalarType::Byte, backend);
    t.reset();
  }
  CHECK_FALSE(is_there_room());
  CHECK(backend.trim() == Error::Ok);
  CHECK(is_there_room());
  CHECK(CudaBackend(0, with_malloc()).trim() == Error::Ok);
}

TEST_CASE("cuda: the pool keeps no more than its threshold, and takes no more than its bound") {
  const Simulation simulation(sim::Order::Late, 700000);
  CudaOptions options;
  options.release_threshold = 0;
  options.max_pool_bytes = 500000;
  CudaBackend backend(0, options);
  RAISES(OutOfMemory, "cudaErrorMemoryAllocation", empty({600000}, ScalarType::Byte, backend));
  TensorPtr t = zeros({400000}, ScalarType::Byte, backend);
  RAISES(OutOfMemory, "cudaErrorMemoryAllocation", empty({200000}, ScalarType::Byte, backend));
  t.reset();
  REQUIRE(backend.synchronize() == Error::Ok);
  void* p = nullptr;
  REQUIRE(cudaMalloc(&p, 400000) == cudaSuccess);
  REQUIRE(cudaFree(p) == cudaSuccess);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda: a device without memory pools has cudaMalloc's memory") {
  sim::Options options;
  options.memory_pools = false;
  sim::reset(options);
  {
    CudaBackend backend;
    CHECK(backend.allocator() == CudaAllocator::Malloc);
    CHECK(to_binary(ones({3}, backend)) == to_binary(ones({3})));
    CHECK(sim::calls("cudaMalloc") == 1);
    CHECK(sim::calls("cudaFree") == 1);
    CHECK(sim::calls("cudaMemPoolCreate") == 0);
    CHECK(backend.trim() == Error::Ok);
  }
  sim::reset();
  CHECK(CudaBackend().allocator() == CudaAllocator::Pool);
  CHECK(CudaBackend(0, with_malloc()).allocator() == CudaAllocator::Malloc);
  sim::reset();
}

TEST_CASE("cuda_managed: where the host may not use it beside work, an allocation waits for that") {
  for (const bool is_concurrent : {true, false}) {
    sim::Options options;
    options.concurrent_managed_access = is_concurrent;
    sim::reset(options);
    CudaBackend backend(1);
    ManagedBackend managed(1);
    CHECK(managed.is_concurrent() == is_concurrent);
    const TensorPtr busy = zeros({1000}, backend);
    const TensorPtr t = zeros({1000}, managed);  // which the host writes
    CHECK((sim::pending() == 0) == !is_concurrent);
    CHECK(current_device() == 0);
  }
  CHECK_FALSE(ManagedBackend(7).is_concurrent());
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  sim::reset();
}

TEST_CASE("cuda: each backend's calls have its device current, in every thread") {
  const Simulation simulation;
  CudaBackend cuda(1);
  CudaBackend malloc(1, with_malloc());
  PinnedBackend pinned(1);
  ManagedBackend managed(1);
  TensorPtr tensors[] = {ones({3}, malloc), ones({3}, pinned), ones({3}, managed)};
  const auto use = [&] {  // in a thread whose current device is 0
    const TensorPtr t = ones({3}, cuda);
    check(copy_(t, ones({3})));
    check(cuda.check_memory(as_view(t).data, 12));
    for (TensorPtr& dropped : tensors) dropped.reset();
    for (Backend* backend : {static_cast<Backend*>(&malloc), static_cast<Backend*>(&pinned),
                             static_cast<Backend*>(&managed)}) {
      ones({3}, *backend);
    }
    int device = -1;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
  };
  CHECK(std::async(std::launch::async, use).get() == 0);
  for (const char* call : {"cudaPointerGetAttributes", "cudaMalloc", "cudaFree", "cudaHostAlloc",
                           "cudaFreeHost", "cudaMallocManaged"}) {
    INFO(call);
    CHECK(sim::device_in(call) == 1);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda: tensors are dropped quietly when the runtime is unloaded") {
  for (const cudaError_t error : {cudaErrorCudartUnloading, cudaErrorContextIsDestroyed,
                                  cudaErrorInitializationError, cudaErrorDeviceUninitialized}) {
    INFO(cudaGetErrorName(error));
    const Reports reports;
    sim::reset(2);
    {
      CudaBackend backend;
      CudaBackend malloc(1, with_malloc());
      PinnedBackend pinned;
      ManagedBackend managed(1);
      TensorPtr tensors[] = {ones({3}, backend), ones({3}, malloc), ones({3}, pinned),
                             ones({3}, managed)};
      sim::make_sticky(error);
      for (TensorPtr& t : tensors) t.reset();
    }
    sim::reset();
    CHECK(reports.last() == "");
  }
}

TEST_CASE("cuda: after a sticky error calls fail, all is given to free, and one report is made") {
  const Reports reports;
  sim::reset(2);
  {
    CudaBackend backend(1);
    PinnedBackend pinned(1);
    ManagedBackend managed(1);
    TensorPtr t = ones({3}, backend);
    TensorPtr more[] = {ones({3}, backend), ones({3}, backend), ones({3}, pinned),
                        ones({3}, pinned),  ones({3}, managed), ones({3}, managed)};
    sim::make_sticky(cudaErrorIllegalAddress);
    RAISES(AccessFailed, "cudaErrorIllegalAddress (an illegal memory access was encountered)",
           to_binary(t));
    RAISES(OutOfMemory, "cudaStreamIsCapturing: cudaErrorIllegalAddress", empty({3}, backend));
    const std::string text = last_error_message();
    t.reset();
    CHECK(last_error_message() == text);
    CHECK(reports.count() == 1);
    CHECK(contains(reports.last(),
                   "CUDA did not free a resource: cudaFree: cudaErrorIllegalAddress"));
    CHECK(sim::calls("cudaFree") == 2);
    for (TensorPtr& dropped : more) dropped.reset();
    CHECK(sim::calls("cudaFree") == 10);  // two tries each
    CHECK(sim::calls("cudaFreeHost") == 4);
    CHECK(reports.count() == 3);  // one for each backend
  }
  CHECK(reports.count() == 3);  // its stream, event and pool are lost by the same error
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
