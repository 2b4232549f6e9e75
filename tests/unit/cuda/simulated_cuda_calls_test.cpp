// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: copies, what they wait for and refuse; counting and failing calls.
#include "simulated_cuda_helpers.h"

namespace simulated_cuda_calls_test {

using namespace tests;

namespace {

template <class T = int>
T* pinned() {
  void* memory = nullptr;
  REQUIRE(cudaMallocHost(&memory, 64) == cudaSuccess);
  return static_cast<T*>(memory);
}

int value_at(const void* device) { return *static_cast<int*>(sim::bytes(device)); }

}  // namespace

TEST_CASE("simulated_cuda: pageable memory is read at the call, pinned and managed when it runs") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  char* memory = made_memory(12);
  int own = 1;
  int* locked = pinned();
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(reinterpret_cast<void**>(&managed), 4, cudaMemAttachGlobal) ==
          cudaSuccess);
  *locked = *managed = 1;
  REQUIRE(cudaMemcpyAsync(memory, &own, 4, cudaMemcpyHostToDevice, a) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(memory + 4, locked, 4, cudaMemcpyHostToDevice, a) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(memory + 8, managed, 4, cudaMemcpyHostToDevice, a) == cudaSuccess);
  CHECK(sim::pending() == 3);
  own = *locked = *managed = 2;
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(value_at(memory) == 1);
  CHECK(value_at(memory + 4) == 2);
  CHECK(value_at(memory + 8) == 2);
}

TEST_CASE("simulated_cuda: a copy into pageable memory waits, where it is let; into pinned never") {
  const bool waits = GENERATE(true, false);
  fresh_runtime(Order::Late, waits);
  cudaStream_t a = made_stream();
  char* memory = made_memory(4);
  int own = 1;
  int* locked = pinned();
  *locked = 1;
  REQUIRE(cudaMemsetAsync(memory, 0, 4, a) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(&own, memory, 4, cudaMemcpyDeviceToHost, a) == cudaSuccess);
  CHECK(own == (waits ? 0 : 1));
  REQUIRE(cudaMemcpyAsync(locked, memory, 4, cudaMemcpyDeviceToHost, a) == cudaSuccess);
  CHECK(*locked == 1);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(own == 0);
  CHECK(*locked == 0);
}

TEST_CASE("simulated_cuda: cudaMemcpy goes by the legacy stream and waits as CUDA says") {
  fresh_runtime();
  char* memory = made_memory(8);
  int own = 5;
  REQUIRE(cudaMemcpy(memory, &own, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(sim::pending() == 1);  // staged, not yet there
  REQUIRE(cudaMemcpy(memory + 4, memory, 4, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(sim::pending() == 2);
  own = 0;
  REQUIRE(cudaMemcpy(&own, memory + 4, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(own == 5);
  int* locked = pinned();
  *locked = 6;
  REQUIRE(cudaMemcpy(memory, locked, 4, cudaMemcpyDefault) == cudaSuccess);
  CHECK(sim::pending() == 0);
  int copied = 0;
  REQUIRE(cudaMemcpyAsync(&copied, locked, 4, cudaMemcpyDefault, nullptr) == cudaSuccess);
  CHECK(copied == 6);  // host to host is synchronous
  int* more = pinned();
  REQUIRE(cudaMemcpyAsync(more, locked, 4, cudaMemcpyDefault, nullptr) == cudaSuccess);
  CHECK(*more == 6);
  std::string ran;
  note_in(ran, "before", nullptr);
  REQUIRE(cudaMemcpy(memory, &own, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(ran == "before");
}

}  // namespace simulated_cuda_calls_test
