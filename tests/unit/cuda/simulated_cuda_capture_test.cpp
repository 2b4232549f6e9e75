// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: stream capture and graphs.
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
