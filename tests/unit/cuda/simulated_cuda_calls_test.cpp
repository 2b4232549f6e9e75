// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: copies, what they wait for and refuse; counting and failing calls.
#include "simulated_cuda_helpers.h"

#include <future>

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

TEST_CASE("simulated_cuda: 2-d and 3-d copies move rows, between devices too") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  std::array<char, 24> host{};
  std::iota(host.begin(), host.end(), char{0});
  char* here = made_memory(24);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  char* there = made_memory(64);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaMemcpyPeerAsync(there, 0, here, 0, 24, a) == cudaErrorInvalidValue);
  REQUIRE(cudaMemcpy2DAsync(here, 6, host.data(), 6, 5, 4, cudaMemcpyDefault, a) == cudaSuccess);

  cudaMemcpy3DPeerParms peer{};
  peer.srcPtr = {here, 6, 6, 2};  // two slices of two rows
  peer.dstPtr = {there, 8, 8, 4};
  peer.srcPos = {1, 0, 0};
  peer.extent = {3, 2, 2};
  peer.dstDevice = 1;
  REQUIRE(cudaMemcpy3DPeerAsync(&peer, a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  const auto* bytes = static_cast<char*>(sim::bytes(there));
  CHECK(Bytes(bytes, bytes + 4) == Bytes{1, 2, 3, 0xA5});
  CHECK(Bytes(bytes + 8, bytes + 11) == Bytes{7, 8, 9});
  CHECK(Bytes(bytes + 32, bytes + 35) == Bytes{13, 14, 15});
  CHECK(Bytes(bytes + 40, bytes + 43) == Bytes{19, 20, 21});
}

TEST_CASE("simulated_cuda: copies refuse wrong pitches, kinds and devices") {
  fresh_runtime();
  char* memory = made_memory(64);
  std::array<char, 64> host{};
  const auto rows = [&](size_t to_pitch, size_t from_pitch, size_t width) {
    return cudaMemcpy2DAsync(memory, to_pitch, host.data(), from_pitch, width, 2, cudaMemcpyDefault,
                             nullptr);
  };
  CHECK(rows(8, 8, 8) == cudaSuccess);
  CHECK(rows(7, 8, 8) == cudaErrorInvalidPitchValue);
  CHECK(rows(8, 7, 8) == cudaErrorInvalidPitchValue);
  CHECK(rows(size_t{1} << 31, 8, 8) == cudaErrorInvalidPitchValue);
  CHECK(cudaMemset2DAsync(memory, 7, 0, 8, 2, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemset2DAsync(memory, 0, 0, 8, 1, nullptr) == cudaSuccess);  // one row has no pitch

  cudaMemcpy3DParms parameters{};
  parameters.kind = cudaMemcpyDefault;
  parameters.srcPtr = {host.data(), 8, 8, 2};
  parameters.dstPtr = {memory, 8, 8, 2};
  parameters.extent = {8, 2, 2};
  CHECK(cudaMemcpy3DAsync(&parameters, nullptr) == cudaSuccess);
  parameters.extent = {8, 3, 2};
  CHECK(cudaMemcpy3DAsync(&parameters, nullptr) == cudaErrorInvalidValue);
  parameters.extent = {8, 2, 2};
  parameters.srcPos.x = 1;
  CHECK(cudaMemcpy3DAsync(&parameters, nullptr) == cudaErrorInvalidPitchValue);

  const auto kind = [&](cudaMemcpyKind k) {
    return cudaMemcpyAsync(memory, host.data(), 8, k, nullptr);
  };
  CHECK(kind(cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(kind(cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(kind(cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(kind(cudaMemcpyHostToHost) == cudaErrorInvalidValue);
  CHECK(kind(static_cast<cudaMemcpyKind>(7)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemsetAsync(host.data(), 0, 8, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyPeerAsync(memory, 2, memory + 32, 0, 8, nullptr) == cudaErrorInvalidDevice);
  CHECK(cudaMemcpyAsync(nullptr, memory, 8, cudaMemcpyDefault, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, nullptr) == cudaSuccess);
  CHECK(sim::violations().empty());
  CHECK(cudaMemcpyAsync(memory, memory + 4, 8, cudaMemcpyDefault, nullptr) == cudaSuccess);
  one_violation("overlaps");
}

TEST_CASE("simulated_cuda: a kernel's host form finds device memory by its address") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  int* memory = reinterpret_cast<int*>(made_memory(16));
  const auto work = [memory] { std::iota(sim::host_view(memory), sim::host_view(memory) + 4, 3); };
  REQUIRE(sim::launch(a, work, {}, {{memory, 16}}) == cudaSuccess);
  Ints out(4);
  REQUIRE(cudaMemcpyAsync(out.data(), memory, 16, cudaMemcpyDefault, a) == cudaSuccess);
  CHECK(out == Ints{3, 4, 5, 6});
  REQUIRE(sim::launch(a, nothing, {{out.data(), 16}}, {}) == cudaSuccess);
  one_violation("pageable");
}

TEST_CASE("simulated_cuda: calls are counted by name and in all") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  sim::reset_calls();
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaStreamDestroy(a) == cudaSuccess);
  CHECK(sim::calls("cudaStreamSynchronize") == 2);
  CHECK(sim::calls("cudaGetLastError") == 1);
  CHECK(sim::calls("cudaMalloc") == 0);
  CHECK(sim::calls() == 3);
  CHECK(sim::call_names() == Texts{"cudaStreamSynchronize", "cudaStreamSynchronize",
                                   "cudaGetLastError", "cudaStreamDestroy"});
}

TEST_CASE("simulated_cuda: each call of a program can be made to fail, and does nothing then") {
  const auto program = [] {  // the number of calls that succeeded before one failed
    cudaStream_t stream = nullptr;
    void* memory = nullptr;
    if (cudaStreamCreate(&stream) != cudaSuccess) return 0;
    if (cudaMallocAsync(&memory, 8, stream) != cudaSuccess) return 1;
    if (cudaMemsetAsync(memory, 0, 8, stream) != cudaSuccess) return 2;
    if (cudaFreeAsync(memory, stream) != cudaSuccess) return 3;
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 4;
    if (cudaStreamDestroy(stream) != cudaSuccess) return 5;
    return 6;
  };
  for (int n = 1; n <= 7; ++n) {
    fresh_runtime();
    sim::fail_at(n, cudaErrorLaunchFailure);
    CHECK(program() == n - 1);
    CHECK(sim::failed() == (n <= 6));
    CHECK(sim::live_objects().size() == (n == 1 || n == 7 ? 0 : 1));
    CHECK(sim::live_allocations().size() == (n == 3 || n == 4 ? 1 : 0));
    CHECK(cudaGetLastError() == (n <= 6 ? cudaErrorLaunchFailure : cudaSuccess));
  }
  fresh_runtime();
  sim::fail_next("cudaFreeAsync", cudaErrorInvalidValue);
  CHECK(program() == 3);
}

TEST_CASE("simulated_cuda: the last error is each thread's own and is cleared when asked for") {
  fresh_runtime();
  CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(std::async(std::launch::async, [] { return cudaPeekAtLastError(); }).get() == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(
      Texts{cudaGetErrorName(cudaErrorInvalidDevice), cudaGetErrorString(cudaErrorInvalidDevice)} ==
      Texts{"cudaErrorInvalidDevice", "invalid device ordinal"});
}

TEST_CASE("simulated_cuda: a sticky error stays, and so does the runtime's unloading") {
  fresh_runtime();
  sim::make_sticky(cudaErrorIllegalAddress);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaFree(nullptr) == cudaErrorIllegalAddress);
  fresh_runtime();
  CHECK(cudaFree(nullptr) == cudaSuccess);
  sim::unloading();
  CHECK(cudaFree(nullptr) == cudaErrorCudartUnloading);
  sim::unloading(false);
  CHECK(cudaFree(nullptr) == cudaSuccess);
}

TEST_CASE("simulated_cuda: the current device is each thread's own; there may be none") {
  fresh_runtime();
  int number = 0;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(std::async(std::launch::async, [&] { return cudaGetDevice(&number); }).get() ==
        cudaSuccess);
  CHECK(number == 0);
  REQUIRE(cudaGetDeviceCount(&number) == cudaSuccess);
  CHECK(number == 2);
  sim::reset(0);
  CHECK(cudaGetDeviceCount(&number) == cudaErrorNoDevice);
  CHECK(number == 0);
  CHECK(cudaStreamSynchronize(nullptr) == cudaErrorNoDevice);
}

}  // namespace simulated_cuda_calls_test
