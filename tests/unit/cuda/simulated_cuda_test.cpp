// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: who is ordered before whom, what runs when, and that a broken rule is
// found each time. Memory and calls: simulated_cuda_memory_test.cpp, simulated_cuda_calls_test.cpp.
#include "simulated_cuda_helpers.h"

#include <future>
#include <thread>

namespace simulated_cuda_test {

using namespace tests;

TEST_CASE("simulated_cuda: work runs when something waits for it, and other work stays back") {
  const Order order = GENERATE(Order::Late, Order::Early);
  fresh_runtime(order);
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  std::string ran;
  note_in(ran, "a", a);
  note_in(ran, "b", b);
  note_in(ran, "A", a);
  CHECK(ran.empty());
  CHECK(sim::pending() == 3);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(ran == (order == Order::Late ? "aA" : "baA"));
  REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(ran == (order == Order::Late ? "aAb" : "baA"));
}

TEST_CASE("simulated_cuda: the early order begins with the youngest stream; a seed repeats") {
  const auto ran_in = [](Order order) {
    fresh_runtime(order);
    std::string ran;
    for (const char* text : {"1", "2", "3", "4"}) {
      cudaStream_t stream = made_stream();
      note_in(ran, text, stream);
      note_in(ran, text, stream);
    }
    REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
    return ran;
  };
  CHECK(ran_in(Order::Late).empty());
  CHECK(ran_in(Order::Early) == "44332211");
  CHECK(ran_in(Order::Random) == ran_in(Order::Random));
}

TEST_CASE("simulated_cuda: an event orders streams, with what was in the stream at its record") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaEvent_t event = made_event();
  std::string ran;
  note_in(ran, "1", a);
  REQUIRE(cudaEventRecord(event, a) == cudaSuccess);
  note_in(ran, "x", a);
  REQUIRE(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, a) == cudaSuccess);  // b waits for the first record
  note_in(ran, "2", b);
  REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(ran == "12");
  REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(ran == "12x");

  // One that was never recorded orders nothing; destroying it forgets no order.
  cudaEvent_t never = made_event();
  note_in(ran, "a", a);
  REQUIRE(cudaStreamWaitEvent(b, never, 0) == cudaSuccess);
  REQUIRE(cudaEventQuery(never) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(ran == "12x");
  REQUIRE(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(ran == "12xa");
}

TEST_CASE("simulated_cuda: the legacy stream waits for blocking streams, and they for it") {
  fresh_runtime();
  cudaStream_t blocking = made_stream(cudaStreamDefault);
  cudaStream_t free_one = made_stream();
  const cudaStream_t legacy = GENERATE(cudaStream_t{nullptr}, cudaStreamLegacy);
  std::string ran;
  note_in(ran, "1", blocking);
  note_in(ran, "x", free_one);
  note_in(ran, "2", legacy);
  note_in(ran, "3", blocking);
  note_in(ran, "4", cudaStreamPerThread);
  note_in(ran, "y", free_one);
  REQUIRE(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
  CHECK(ran == "124");
  REQUIRE(cudaStreamSynchronize(legacy) == cudaSuccess);
  CHECK(ran == "1243");
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(ran == "1243xy");

  // Of another device it waits for nothing.
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  note_in(ran, "b", made_stream(cudaStreamDefault));
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  note_in(ran, "0", legacy);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(ran == "1243xy0");
}

TEST_CASE("simulated_cuda: each thread has a per-thread default stream of its own") {
  fresh_runtime();
  std::string ran;
  note_in(ran, "here", cudaStreamPerThread);
  const auto there = [&] {
    note_in(ran, "there", cudaStreamPerThread);
    return cudaStreamSynchronize(cudaStreamPerThread);
  };
  CHECK(std::async(std::launch::async, there).get() == cudaSuccess);
  CHECK(ran == "there");
  std::thread([&] { note_in(ran, "later", cudaStreamPerThread); }).join();  // not the second's
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
  CHECK(ran == "therehere");
  char* memory = made_memory(4);
  for (int i = 0; i < 2; ++i) {
    std::thread([&] { cudaMemsetAsync(memory, 0, 4, cudaStreamPerThread); }).join();
  }
  one_violation("neither waits for the other");
}

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
  SECTION("work that only happened to run is not waited for") {
    sim::run_all();
    REQUIRE(cudaMemsetAsync(memory, 2, 64, b) == cudaSuccess);
    one_violation("neither waits for the other");
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
  SECTION("nor one that is a race itself") {
    REQUIRE(cudaMemsetAsync(memory, 1, 64, b) == cudaSuccess);
    order_streams(b, c);
    REQUIRE(cudaMemsetAsync(memory, 1, 64, c) == cudaSuccess);
    CHECK(sim::violations().size() == 2);  // a with b, a with c
  }
}

TEST_CASE("simulated_cuda: rows of a 2-d copy that do not overlap are no race") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  char* memory = made_memory(64);
  REQUIRE(cudaMemset2DAsync(memory, 16, 1, 8, 4, a) == cudaSuccess);
  REQUIRE(cudaMemset2DAsync(memory + 8, 16, 2, 8, 4, b) == cudaSuccess);
  CHECK(sim::violations().empty());
  REQUIRE(cudaMemset2DAsync(memory + 7, 16, 2, 2, 4, b) == cudaSuccess);
  one_violation("neither waits for the other");
}

TEST_CASE("simulated_cuda: a destroyed stream's work still runs; the handle is dead") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  std::string ran;
  note_in(ran, "1", a);
  REQUIRE(cudaStreamDestroy(a) == cudaSuccess);
  CHECK(sim::live_objects().empty());
  CHECK(cudaStreamSynchronize(a) == cudaErrorInvalidResourceHandle);
  one_violation("a destroyed stream is used");
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(ran == "1");
  CHECK(cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("simulated_cuda: streams and events of other devices") {
  fresh_runtime();
  cudaStream_t here = made_stream();
  cudaEvent_t event = made_event();
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  cudaStream_t there = made_stream();
  CHECK(cudaEventRecord(event, there) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, here) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(there, event, 0) == cudaSuccess);
  CHECK(sim::launch(there, nothing, {}, {}) == cudaSuccess);
  CHECK(sim::launch(here, nothing, {}, {}) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, nullptr) == cudaErrorInvalidResourceHandle);  // device 1's legacy
}

}  // namespace simulated_cuda_test
