// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: memory's life in stream order, its reuse, and who may touch it.
#include "simulated_cuda_helpers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace simulated_cuda_memory_test {

using namespace tests;

namespace {

/// The signal that ends a child process that runs f; 0 if it ends by itself.
template <class F>
int signal_of(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGABRT, SIG_DFL);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    f();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

uint8_t byte_at(const void* address) { return *static_cast<uint8_t*>(sim::bytes(address)); }

}  // namespace

TEST_CASE("simulated_cuda: the host cannot touch device memory, pinned and managed it can") {
  fresh_runtime();
  volatile char* device = made_memory(64);
  CHECK(signal_of([&] { static_cast<void>(device[0]); }) == SIGSEGV);
  CHECK(signal_of([&] { device[63] = 1; }) == SIGSEGV);
  CHECK(byte_at(made_memory(64)) == 0xA5);

  void* pinned = nullptr;
  void* managed = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, 8, cudaHostAllocDefault) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&managed, 8, cudaMemAttachGlobal) == cudaSuccess);
  std::memset(pinned, 1, 8);
  std::memset(managed, 2, 8);
  CHECK(sim::live_allocations().size() == 4);
  REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
  REQUIRE(cudaFree(managed) == cudaSuccess);
  CHECK(sim::live_allocations().size() == 2);
}

TEST_CASE("simulated_cuda: a violation ends the process, if it is not told otherwise") {
  CHECK(signal_of([] {
          sim::reset();
          void* memory = nullptr;
          cudaMalloc(&memory, 8);
          cudaFree(memory);
          cudaFree(memory);
        }) == SIGABRT);
}

TEST_CASE(
    "simulated_cuda: freed memory is handed out again as soon as the order allows, no sooner") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  char* first = made_memory(1000, a);
  REQUIRE(cudaFreeAsync(first, a) == cudaSuccess);
  char* other = made_memory(1000, b);
  CHECK(other != first);  // nothing orders b after the free
  CHECK(made_memory(1000, a) == first);

  REQUIRE(cudaFreeAsync(first, a) == cudaSuccess);
  order_streams(a, b);
  CHECK(made_memory(900, b) == first);  // by the event
  REQUIRE(cudaFreeAsync(first, b) == cudaSuccess);
  sim::run_all();
  CHECK(made_memory(900, a) == first);  // the free has run: opportunistic
  REQUIRE(cudaMemsetAsync(first, 0, 900, a) == cudaSuccess);
  REQUIRE(cudaFreeAsync(first, a) == cudaSuccess);
  sim::run_all();
  CHECK(made_memory(900, b) == first);
  REQUIRE(cudaMemsetAsync(first, 0, 900, b) == cudaSuccess);  // a's was to other memory
  CHECK(sim::violations().empty());
}

TEST_CASE("simulated_cuda: a pool's reuse policies can be switched off") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 1;
  cudaMemPool_t pool = nullptr;
  REQUIRE(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
  const auto taken = [&](cudaStream_t stream) {
    void* memory = nullptr;
    REQUIRE(cudaMallocFromPoolAsync(&memory, 64, pool, stream) == cudaSuccess);
    return memory;
  };
  int off = 0;
  REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &off) ==
          cudaSuccess);
  REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off) == cudaSuccess);
  void* first = taken(a);
  REQUIRE(cudaFreeAsync(first, a) == cudaSuccess);
  order_streams(a, b);
  sim::run_all();
  void* second = taken(b);
  CHECK(second != first);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  void* third = taken(b);
  CHECK(third == first);  // the host knows
  REQUIRE(cudaFreeAsync(second, b) == cudaSuccess);
  REQUIRE(cudaFreeAsync(third, b) == cudaSuccess);
  REQUIRE(cudaMemPoolDestroy(pool) == cudaSuccess);
  CHECK(sim::violations().empty());
}

TEST_CASE("simulated_cuda: fresh and freed memory is poisoned, in stream order") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  char* memory = made_memory(64, a);
  REQUIRE(cudaMemsetAsync(memory, 7, 64, a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  REQUIRE(cudaFreeAsync(memory, a) == cudaSuccess);
  CHECK(byte_at(memory) == 7);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(byte_at(memory) == 0xDD);
  CHECK(made_memory(64, a) == memory);
  CHECK(byte_at(memory) == 0xDD);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(byte_at(memory) == 0xA5);
}

TEST_CASE("simulated_cuda: memory is touched only between its allocation and its free") {
  fresh_runtime(GENERATE(Order::Late, Order::Early, Order::Random));
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  char* memory = made_memory(64, a);
  const auto use = [&](cudaStream_t stream) { return cudaMemsetAsync(memory, 1, 64, stream); };

  SECTION("before the allocation is ordered before it") {
    CHECK(use(b) == cudaErrorIllegalAddress);
    one_violation("does not wait for its allocation");
  }
  SECTION("after the free, in the free's own stream") {
    REQUIRE(cudaFreeAsync(memory, a) == cudaSuccess);
    CHECK(use(a) == cudaErrorIllegalAddress);
    one_violation("freed");
  }
  SECTION("an older address, of memory that is another's by now") {
    REQUIRE(cudaFreeAsync(memory, a) == cudaSuccess);
    CHECK(made_memory(64, a) == memory);
    CHECK(use(b) == cudaErrorIllegalAddress);
    one_violation("does not wait for its allocation");
  }
  SECTION("the free does not wait for a use") {
    order_streams(a, b);
    REQUIRE(use(b) == cudaSuccess);
    REQUIRE(cudaFreeAsync(memory, a) == cudaSuccess);
    one_violation("does not wait for stream");
  }
  SECTION("the free does not wait for the allocation") {
    REQUIRE(cudaFreeAsync(memory, b) == cudaSuccess);
    one_violation("does not wait for its allocation");
  }
  SECTION("cudaFree of a pool's memory waits for nothing") {
    REQUIRE(use(a) == cudaSuccess);
    REQUIRE(cudaFree(memory) == cudaSuccess);
    CHECK(sim::violations().size() == 2);  // neither for the allocation nor for the use
  }
  SECTION("past its end") {
    CHECK(cudaMemsetAsync(memory + 1, 1, 64, a) == cudaErrorIllegalAddress);
    one_violation("past its end");
  }
  SECTION("an address that never was") {
    CHECK(cudaMemsetAsync(memory + 4096, 1, 1, a) == cudaErrorIllegalAddress);
    one_violation("not allocated");
  }
  SECTION("twice freed") {
    REQUIRE(cudaFreeAsync(memory, a) == cudaSuccess);
    CHECK(cudaFreeAsync(memory, a) == cudaErrorInvalidValue);
    one_violation("free already");
  }
  SECTION("all in order") {
    REQUIRE(use(a) == cudaSuccess);
    order_streams(a, b);
    REQUIRE(use(b) == cudaSuccess);
    REQUIRE(cudaFreeAsync(memory, b) == cudaSuccess);
    CHECK(sim::violations().empty());
  }
}

TEST_CASE("simulated_cuda: cudaFree waits for the device, where it is let") {
  const bool waits = GENERATE(true, false);
  fresh_runtime(Order::Late, waits);
  char* memory = made_memory(64);
  std::string ran;
  REQUIRE(cudaMemsetAsync(memory, 1, 64, made_stream()) == cudaSuccess);
  note_in(ran, "other", made_stream());
  REQUIRE(cudaFree(memory) == cudaSuccess);
  CHECK(ran == (waits ? "other" : ""));
  CHECK(sim::violations().empty() == waits);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaFree(&ran) == cudaErrorInvalidValue);
}

TEST_CASE("simulated_cuda: pinned memory is not freed while the device uses it") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 8) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(pinned, made_memory(8), 8, cudaMemcpyDefault, a) == cudaSuccess);
  REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
  one_violation("does not wait for stream");
}

TEST_CASE(
    "simulated_cuda: a pool keeps memory until it is trimmed, or a wait goes past its threshold") {
  sim::Options options;
  options.device_memory = size_t{1} << 20;
  sim::reset(options);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  properties.maxSize = 800000;
  cudaMemPool_t pool = nullptr;
  REQUIRE(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
  uint64_t threshold = UINT64_MAX;
  REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) ==
          cudaSuccess);
  cudaStream_t a = made_stream();
  void* p = nullptr;
  void* q = nullptr;
  CHECK(cudaMallocFromPoolAsync(&p, 900000, pool, a) == cudaErrorMemoryAllocation);
  REQUIRE(cudaMallocFromPoolAsync(&p, 700000, pool, a) == cudaSuccess);
  CHECK(cudaMallocFromPoolAsync(&q, 200000, pool, a) == cudaErrorMemoryAllocation);
  REQUIRE(cudaFreeAsync(p, a) == cudaSuccess);
  REQUIRE(cudaMemPoolTrimTo(pool, 0) == cudaSuccess);  // the host has not seen it freed
  CHECK(cudaMalloc(&q, 700000) == cudaErrorMemoryAllocation);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(cudaMalloc(&q, 700000) == cudaErrorMemoryAllocation);
  REQUIRE(cudaMemPoolTrimTo(pool, 800000) == cudaSuccess);
  CHECK(cudaMalloc(&q, 700000) == cudaErrorMemoryAllocation);
  REQUIRE(cudaMemPoolTrimTo(pool, 1) == cudaSuccess);
  CHECK(cudaMalloc(&q, 700000) == cudaSuccess);
  REQUIRE(cudaFree(q) == cudaSuccess);
  // A threshold of 0 does so at each wait.
  threshold = 0;
  REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) ==
          cudaSuccess);
  REQUIRE(cudaMallocFromPoolAsync(&p, 700000, pool, a) == cudaSuccess);
  REQUIRE(cudaFreeAsync(p, a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(cudaMalloc(&q, 700000) == cudaSuccess);
}

TEST_CASE("simulated_cuda: devices say whether they have pools and concurrent managed memory") {
  sim::Options options;
  options.memory_pools = options.concurrent_managed_access = false;
  sim::reset(options);
  int value = 1;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0) == cudaSuccess);
  CHECK(value == 0);
  value = 1;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrConcurrentManagedAccess, 1) == cudaSuccess);
  CHECK(value == 0);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 2) ==
        cudaErrorInvalidDevice);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &properties) == cudaErrorNotSupported);
  sim::reset();
}

TEST_CASE("simulated_cuda: a pool's memory goes to another device by the functions for peers") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  char* here = made_memory(8, a);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  char* there = made_memory(8);
  REQUIRE(cudaMemcpyPeerAsync(there, 1, here, 0, 8, a) == cudaSuccess);
  CHECK(sim::violations().empty());
  REQUIRE(cudaMemcpyAsync(there, here, 8, cudaMemcpyDefault, a) == cudaSuccess);
  one_violation("no access to the other's pool");
}

TEST_CASE("simulated_cuda: a kernel that is given another device's memory is a violation") {
  fresh_runtime();
  char* there = made_memory(8);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  cudaStream_t stream = made_stream();
  REQUIRE(sim::launch(stream, nothing, {{there, 8}}, {}) == cudaSuccess);
  one_violation("a kernel of device 1 is given memory of device 0");
}

}  // namespace simulated_cuda_memory_test
