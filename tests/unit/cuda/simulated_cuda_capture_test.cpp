// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: stream capture and graphs.
#include <thread>

#include "simulated_cuda_helpers.h"

namespace simulated_cuda_capture_test {

using namespace tests;

TEST_CASE("simulated_cuda: a relaxed capture lets calls be that its streams do not see") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  char* memory = made_memory(4);
  REQUIRE(cudaFree(memory) == cudaSuccess);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaSuccess);
  CHECK(sim::live_objects().size() == 2);
}

TEST_CASE("simulated_cuda: unsafe calls are refused beside a capture, by both threads' modes") {
  struct Row {
    cudaStreamCaptureMode capture;
    cudaStreamCaptureMode thread;
    bool is_own;
    bool is_refused;
  };
  constexpr auto kGlobal = cudaStreamCaptureModeGlobal;
  constexpr auto kLocal = cudaStreamCaptureModeThreadLocal;
  constexpr auto kRelaxed = cudaStreamCaptureModeRelaxed;
  const Row rows[] = {
      {kGlobal, kGlobal, true, true},    {kGlobal, kGlobal, false, true},
      {kGlobal, kLocal, true, true},     {kGlobal, kLocal, false, false},
      {kGlobal, kRelaxed, true, false},  {kGlobal, kRelaxed, false, false},
      {kLocal, kGlobal, true, true},     {kLocal, kGlobal, false, false},
      {kLocal, kRelaxed, true, false},   {kRelaxed, kGlobal, true, false},
      {kRelaxed, kGlobal, false, false},
  };
  for (const Row& row : rows) {
    INFO(row.capture << " " << row.thread << " " << row.is_own);
    fresh_runtime();
    cudaStream_t a = made_stream();
    REQUIRE(cudaStreamBeginCapture(a, row.capture) == cudaSuccess);
    const auto allocate = [&] {
      cudaStreamCaptureMode mode = row.thread;
      if (cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) return cudaErrorUnknown;
      if (mode != kGlobal) return cudaErrorUnknown;
      void* memory = nullptr;
      return cudaMalloc(&memory, 4);
    };
    cudaError_t error = cudaSuccess;
    if (row.is_own) {
      error = allocate();
    } else {
      std::thread([&] { error = allocate(); }).join();
    }
    CHECK(error == (row.is_refused ? cudaErrorStreamCaptureUnsupported : cudaSuccess));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(a, &graph) ==
          (row.is_refused ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
  }
}

TEST_CASE("simulated_cuda: what ends a capture in every mode") {
  fresh_runtime();
  cudaStream_t a = made_stream(cudaStreamDefault);
  char* memory = made_memory(8, a);
  cudaError_t (*use)(cudaStream_t, char*) = GENERATE(
      +[](cudaStream_t, char*) { return cudaDeviceSynchronize(); },
      +[](cudaStream_t stream, char*) { return cudaStreamSynchronize(stream); },
      +[](cudaStream_t stream, char* p) { return cudaFreeAsync(p, stream); },
      +[](cudaStream_t, char* p) { return cudaMemsetAsync(p, 0, 8, cudaStreamLegacy); });
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK(cudaStreamIsCapturing(cudaStreamLegacy, &status) == cudaErrorStreamCaptureImplicit);
  CHECK(use(a, memory) != cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("simulated_cuda: a capture that is not relaxed ends in the thread that began it") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaError_t error = cudaSuccess;
  std::thread([&] { error = cudaStreamEndCapture(a, &graph); }).join();
  CHECK(error == cudaErrorStreamCaptureWrongThread);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaSuccess);
}

TEST_CASE("simulated_cuda: events do not go in or out of a capture") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaEvent_t outside = made_event();
  cudaEvent_t inside = made_event();
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaEventRecord(outside, b) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(a, outside, 0) == cudaErrorStreamCaptureIsolation);
  REQUIRE(cudaEventRecord(inside, a) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(a, &graph) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(b, inside, 0) == cudaErrorCapturedEvent);
  CHECK(cudaEventSynchronize(inside) == cudaErrorCapturedEvent);
}

TEST_CASE("simulated_cuda: a graph reads host memory when it runs") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  char* memory = made_memory(4);
  int own = 1;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(memory, &own, 4, cudaMemcpyHostToDevice, a) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(a, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  own = 2;
  REQUIRE(cudaGraphLaunch(ready, a) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(a) == cudaSuccess);
  CHECK(*static_cast<int*>(sim::bytes(memory)) == 2);
}

}  // namespace simulated_cuda_capture_test
