// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: who is ordered before whom, what runs when, and that a broken rule is
// found each time; memory's life in stream order, its reuse, and who may touch it.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "simulated/simulated_cuda.h"
#include "support/catch.h"

namespace simulated_cuda_test {

using namespace tests;
namespace sim = simulated_cuda;
using sim::Order;

namespace {

/// Violations are kept, not fatal.
void fresh_runtime(Order order = Order::Late) {
  sim::Options options;
  options.order = order;
  options.abort_on_violation = false;
  sim::reset(options);
}

cudaStream_t made_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

cudaEvent_t made_event() {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  return event;
}

char* made_memory(size_t size) {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, size) == cudaSuccess);
  return static_cast<char*>(memory);
}

char* made_memory(size_t size, cudaStream_t stream) {
  void* memory = nullptr;
  REQUIRE(cudaMallocAsync(&memory, size, stream) == cudaSuccess);
  return static_cast<char*>(memory);
}

void nothing() {}

/// What is queued in `then` from now on waits for what is in `first`.
void order_streams(cudaStream_t first, cudaStream_t then) {
  cudaEvent_t event = made_event();
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(then, event, 0) == cudaSuccess);
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
}

/// There was one violation and its text contains `words`.
void one_violation(const char* words) {
  const Texts found = sim::violations();
  REQUIRE(found.size() == 1);
  INFO(found[0]);
  CHECK(contains(found[0], words));
}

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

TEST_CASE("simulated_cuda: a missing event is a violation, in each order") {
  const Order order = GENERATE(Order::Late, Order::Early, Order::Random);
  fresh_runtime(order);
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaEvent_t event = made_event();
  char* memory = made_memory(64);
  REQUIRE(cudaMemsetAsync(memory, 1, 64, a) == cudaSuccess);

  SECTION("read after write") {
    REQUIRE(sim::launch(b, nothing, {{memory, 64}}, {}) == cudaSuccess);
    one_violation("neither waits for the other");
  }
  SECTION("write after write, of a part") {
    REQUIRE(cudaMemsetAsync(memory + 60, 2, 4, b) == cudaSuccess);
    one_violation("neither waits for the other");
  }
  SECTION("write after read") {
    REQUIRE(sim::launch(a, nothing, {{memory, 64}}, {}) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, a) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
    REQUIRE(sim::launch(a, nothing, {{memory, 64}}, {}) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(memory, 2, 64, b) == cudaSuccess);
    one_violation("which stream");
  }
  SECTION("none with the event, with a synchronisation, of other bytes, of reads alone") {
    REQUIRE(cudaMemsetAsync(memory, 1, 32, a) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, a) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(memory + 32, 2, 32, b) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(memory, 3, 32, a) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
    REQUIRE(sim::launch(b, nothing, {{memory, 64}}, {}) == cudaSuccess);
    REQUIRE(sim::launch(a, nothing, {{memory, 32}}, {}) == cudaSuccess);
    REQUIRE(sim::launch(a, nothing, {{memory, 32}}, {{memory, 16}}) == cudaSuccess);  // in place
    one_violation("neither waits for the other");  // of the last alone: it writes what b reads
  }
}

TEST_CASE("simulated_cuda: a race is found behind accesses that are in order") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaStream_t c = made_stream();
  char* memory = made_memory(64);
  const auto read = [&](cudaStream_t stream, size_t size) {
    REQUIRE(sim::launch(stream, nothing, {{memory, size}}, {}) == cudaSuccess);
  };
  REQUIRE(cudaMemsetAsync(memory, 1, 64, a) == cudaSuccess);

  SECTION("a read that follows the write does not hide it") {
    order_streams(a, b);
    read(b, 64);
    read(c, 64);
    one_violation("writes: neither waits");
  }
  SECTION("nor does a write of a part") {
    order_streams(a, b);
    REQUIRE(cudaMemsetAsync(memory, 1, 4, b) == cudaSuccess);
    order_streams(b, a);
    REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
    CHECK(sim::violations().empty());
    REQUIRE(cudaMemsetAsync(memory, 1, 64, a) == cudaSuccess);
    order_streams(a, b);
    REQUIRE(cudaMemsetAsync(memory, 1, 4, b) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(memory + 32, 1, 4, c) == cudaSuccess);
    one_violation("writes: neither waits");
  }
}

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
  SECTION("cudaFree of a pool's memory waits for nothing") {
    REQUIRE(use(a) == cudaSuccess);
    REQUIRE(cudaFree(memory) == cudaSuccess);
    CHECK(sim::violations().size() == 2);  // neither for the allocation nor for the use
  }
}

}  // namespace simulated_cuda_test
