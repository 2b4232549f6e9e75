// SPDX-License-Identifier: MIT
// What the tests of the simulated CUDA runtime itself share.
#pragma once

#include "simulated/simulated_cuda.h"
#include "support/catch.h"

namespace tests {

namespace sim = simulated_cuda;
using sim::Order;

/// Violations are kept, not fatal.
inline void fresh_runtime(Order order = Order::Late, bool may_wait = true) {
  sim::Options options;
  options.order = order;
  options.may_wait = may_wait;
  options.abort_on_violation = false;
  sim::reset(options);
}

inline cudaStream_t made_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, flags) == cudaSuccess);
  return stream;
}

inline cudaEvent_t made_event() {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  return event;
}

inline char* made_memory(size_t size) {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, size) == cudaSuccess);
  return static_cast<char*>(memory);
}

inline char* made_memory(size_t size, cudaStream_t stream) {
  void* memory = nullptr;
  REQUIRE(cudaMallocAsync(&memory, size, stream) == cudaSuccess);
  return static_cast<char*>(memory);
}

inline void nothing() {}

/// Queues work that appends the text.
inline void note_in(std::string& ran, const char* text, cudaStream_t stream) {
  const auto work = [&ran, text] { ran += text; };
  const cudaError_t error = sim::launch(stream, work, {}, {});
  if (error != cudaSuccess) FAIL("launch: " << cudaGetErrorName(error));
}

/// What is queued in `then` from now on waits for what is in `first`.
inline void order_streams(cudaStream_t first, cudaStream_t then) {
  cudaEvent_t event = made_event();
  REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(then, event, 0) == cudaSuccess);
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
}

/// There was one violation and its text contains `words`.
inline void one_violation(const char* words) {
  const Texts found = sim::violations();
  REQUIRE(found.size() == 1);
  INFO(found[0]);
  CHECK(contains(found[0], words));
}

}  // namespace tests
