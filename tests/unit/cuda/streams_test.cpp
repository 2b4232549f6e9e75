// SPDX-License-Identifier: MIT
// What orders a CudaBackend's streams. The simulated runtime runs work as late as it may, and
// reports what touches memory without being ordered after what wrote it.
#include <chrono>
#include <future>
#include <thread>

#include "cuda_helpers.h"
#include "tenon/backend/pool.h"

namespace streams_test {

using namespace tests;
using namespace tenon;

namespace {

/// Fills memory by a stream, as another library's kernel would.
void fill_by(cudaStream_t stream, const TensorPtr& t, int byte) {
  const TensorView view = as_view(t);
  REQUIRE(cudaMemsetAsync(view.data, byte, static_cast<size_t>(t->nbytes()), stream) ==
          cudaSuccess);
}

int32_t first_of(const TensorPtr& t) {
  int32_t value = 0;
  std::memcpy(&value, to_binary(t).data(), 4);
  return value;
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("cuda streams: a chain of ten operations waits for nothing") {
  const Simulation simulation(any_order());
  CudaBackend backend;
  const TensorPtr host = ones({8, 8});
  TensorPtr out;
  const Texts calls = calls_of([&] {
    TensorPtr a = zeros({8, 8}, backend);                           // 1
    REQUIRE(copy_(a, host) == Error::Ok);                           // 2
    TensorPtr b = clone_tensor_ptr(a);                              // 3
    REQUIRE(fill_(select(b, 0, 1), 0) == Error::Ok);                // 4
    TensorPtr c = empty({8, 10}, backend);                          // 5
    REQUIRE(fill_(c, 0) == Error::Ok);                              // 6
    REQUIRE(copy_(narrow(c, 1, 0, 8), b) == Error::Ok);             // 7
    REQUIRE(copy_(select(c, 0, 2), select(c, 0, 3)) == Error::Ok);  // 8
    a.reset();                                                      // 9
    out = clone_tensor_ptr(c);                                      // 10
  });
  INFO(calls.size());
  CHECK(waits(calls) == 0);
  CHECK(sim::pending() != 0);
  const TensorPtr expected = ones({8, 10});
  REQUIRE(fill_(narrow(expected, 1, 8, 2), 0) == Error::Ok);
  REQUIRE(fill_(select(expected, 0, 1), 0) == Error::Ok);
  CHECK(to_binary(out) == to_binary(expected));
}

TEST_CASE("cuda streams: a scope's stream has the thread's work, ordered with the backend's own") {
  const Simulation simulation(any_order());
  const UserStream stream;
  const UserStream inner_stream;
  CudaBackend backend;
  CudaBackend other;
  const cudaStream_t own = backend.stream();
  const TensorPtr t = zeros({1000}, ScalarType::Int, backend);
  {
    const StreamScope scope(backend, stream);
    CHECK(backend.stream() == stream);
    CHECK(backend.stream_number() == reinterpret_cast<int64_t>(cudaStream_t{stream}));
    CHECK(other.stream() != stream);
    CHECK(std::async(std::launch::async, [&] { return backend.stream(); }).get() == own);
    REQUIRE(fill_(t, 1) == Error::Ok);
    {
      const StreamScope inner(backend, inner_stream);
      CHECK(backend.stream() == inner_stream);
      REQUIRE(copy_(t, full({1000}, 2, ScalarType::Int)) == Error::Ok);
    }
    CHECK(backend.stream() == stream);
    CHECK(first_of(t) == 2);
    REQUIRE(fill_(t, -1) == Error::Ok);
  }
  CHECK(backend.stream() == own);
  const Texts calls = calls_of([&] { REQUIRE(fill_(select(t, 0, 5), 0) == Error::Ok); });
  CHECK(waits(calls) == 0);
  CHECK(first_of(t) == -1);
}

TEST_CASE("cuda streams: scopes of the legacy stream, by both its names") {
  const Simulation simulation(any_order());
  CudaBackend backend(1);  // not the current device
  const TensorPtr t = zeros({1000}, ScalarType::Int, backend);
  for (const cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy}) {
    {
      const StreamScope scope(backend, stream);
      CHECK(backend.stream_number() == 1);
      REQUIRE(fill_(t, -1) == Error::Ok);
      const TensorPtr copy = clone_tensor_ptr(t);
      CHECK(first_of(copy) == -1);
    }
    REQUIRE(fill_(t, 0) == Error::Ok);
    CHECK(first_of(t) == 0);
    CHECK(current_device() == 0);
  }
}

TEST_CASE("cuda streams: the backend's own stream is ordered with the legacy one, a library's") {
  const Simulation simulation(any_order());
  CudaBackend backend;
  const TensorPtr t = zeros({1000}, ScalarType::Int, backend);
  fill_by(nullptr, t, 1);
  REQUIRE(fill_(select(t, 0, 3), 0) == Error::Ok);
  CHECK(first_of(t) == 0x01010101);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda streams: memory dropped in a scope comes back after all streams' work") {
  const Simulation simulation(any_order());
  const UserStream stream;
  CudaBackend backend;
  for (int i = 0; i < 4; ++i) {
    TensorPtr t = full({1000}, i, ScalarType::Int, backend);
    TensorPtr copy;
    {
      const StreamScope scope(backend, stream);
      copy = clone_tensor_ptr(t);
      const Texts calls = calls_of([&] { t.reset(); });
      CHECK(waits(calls) == 0);
      CHECK(calls.back() == "cudaFreeAsync");
      t = full({1000}, -1, ScalarType::Int, backend);
    }
    CHECK(first_of(copy) == i);
  }
}

TEST_CASE(
    "cuda streams: memory dropped by a thread without a scope comes back after scopes' work") {
  const Simulation simulation(any_order());
  const UserStream stream;
  CudaBackend backend;
  TensorPtr t = full({1000}, 7, ScalarType::Int, backend);
  TensorPtr copy;
  const StreamScope scope(backend, stream);
  copy = clone_tensor_ptr(t);
  std::thread([&] {
    t.reset();
    t = zeros({1000}, ScalarType::Int, backend);
  }).join();
  CHECK(first_of(copy) == 7);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda streams: a pool's blocks go from stream to stream in order") {
  const Simulation simulation(any_order());
  const UserStream stream;
  CudaBackend backend;
  PoolBackend pool(backend);
  for (int i = 0; i < 4; ++i) {
    TensorPtr t = full({1000}, i, ScalarType::Int, pool);
    const StreamScope scope(backend, stream);
    const TensorPtr copy = clone_tensor_ptr(t);
    t.reset();
    // By the backend's own stream, which has not waited for the scope's.
    std::thread([&] { t = zeros({1000}, ScalarType::Int, pool); }).join();
    CHECK(first_of(copy) == i);
  }
  CHECK(pool.statistics().hits == 10);
  CHECK(calls_of([&] { CHECK(backend.join_streams() == Error::Ok); }) == Texts());
}

TEST_CASE("cuda streams: others are ordered before and after, by events") {
  const Simulation simulation(any_order());
  const UserStream stream;
  const UserStream scoped;
  CudaBackend backend;
  const auto number = reinterpret_cast<int64_t>(cudaStream_t{stream});
  const TensorPtr t = zeros({1000}, ScalarType::Int, backend);
  const Texts pair{"cudaEventRecord", "cudaStreamWaitEvent"};
  CHECK(calls_of([&] { REQUIRE(backend.order_before(number) == Error::Ok); }) == pair);
  fill_by(stream, t, 1);
  CHECK(calls_of([&] { REQUIRE(backend.order_after(number) == Error::Ok); }) == pair);
  CHECK(first_of(t) == 0x01010101);
  {
    const StreamScope scope(backend, scoped);
    REQUIRE(fill_(t, 0) == Error::Ok);
    // Another thread has no scope.
    const auto before = [&] { return backend.order_before(number); };
    const auto after = [&] { return backend.order_after(number); };
    REQUIRE(std::async(std::launch::async, before).get() == Error::Ok);
    fill_by(stream, t, 2);
    REQUIRE(std::async(std::launch::async, after).get() == Error::Ok);
    CHECK(first_of(t) == 0x02020202);
  }
  CHECK(calls_of([&] { CHECK(backend.order_before(backend.stream_number()) == Error::Ok); }) ==
        Texts());
  RETURNS(InvalidArgument, "stream 0 does not exist; expected 1, 2 or a handle",
          backend.order_before(0));
  RETURNS(InvalidArgument, "stream -1 does not exist", backend.order_after(-1));
}

TEST_CASE("cuda streams: streams that cannot be the backend's are refused") {
  const Simulation simulation;
  const UserStream stream(1);
  RAISES(InvalidArgument, "CudaBackend: cudaStreamPerThread is another stream in each thread",
         CudaBackend(0, cudaStreamPerThread));
  RAISES(InvalidArgument,
         "CudaBackend: the stream is not one of this device: cudaEventRecord: "
         "cudaErrorInvalidResourceHandle (invalid resource handle)",
         CudaBackend(0, stream));
  CudaBackend backend;
  RAISES(InvalidArgument, "StreamScope: cudaStreamPerThread is another stream in each thread",
         StreamScope(backend, cudaStreamPerThread));
  RAISES(InvalidArgument, "StreamScope: the stream is not one of this device",
         StreamScope(backend, stream));
  CHECK(backend.stream() != stream);
  RETURNS(InvalidArgument, "cudaErrorInvalidResourceHandle",
          backend.order_after(reinterpret_cast<int64_t>(cudaStream_t{stream})));
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda streams: while one thread waits the others go on") {
  const Simulation simulation;
  const UserStream scoped;
  const UserStream stream;
  CudaBackend backend;
  TensorPtr t = zeros({64}, backend);
  const auto number = reinterpret_cast<int64_t>(cudaStream_t{stream});
  const auto others = [&] {
    check(backend.order_before(number));
    check(backend.order_after(number));
    check(backend.join_streams());
    const StreamScope scope(backend, stream);
    t.reset();
    t = zeros({64}, backend);
  };
  // What fails at a scope's end has it wait for its stream, too.
  enum Wait { Synchronize, Trim, Upload, ScopeEnd };
  for (const Wait wait : {Synchronize, Trim, Upload, ScopeEnd}) {
    INFO("wait " << wait);
    std::future<void> other;
    bool is_done = false;
    const auto look = [&] {
      other = std::async(std::launch::async, others);
      is_done = other.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    };
    {
      const StreamScope scope(backend, scoped);
      sim::at_next("cudaStreamSynchronize", look);
      if (wait == Synchronize) CHECK(backend.synchronize() == Error::Ok);
      if (wait == Trim) CHECK(backend.trim() == Error::Ok);
      if (wait == Upload) CHECK(to_binary(ones({3}, backend)) == to_binary(ones({3})));
      if (wait == ScopeEnd) sim::fail_next("cudaEventRecord", cudaErrorLaunchTimeout);
    }
    REQUIRE(other.valid());
    other.get();
    CHECK(is_done);
  }
}

TEST_CASE("cuda streams: synchronize waits for the streams of scopes, of all threads") {
  const Simulation simulation;
  const UserStream stream;
  CudaBackend backend;
  const TensorPtr t = zeros({64}, backend);
  const StreamScope scope(backend, stream);
  REQUIRE(fill_(t, 0) == Error::Ok);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(std::async(std::launch::async, [&] { return backend.synchronize(); }).get() == Error::Ok);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
}

}  // namespace streams_test
