// SPDX-License-Identifier: MIT
// The simulated CUDA runtime: stream capture and graphs.
#include "simulated_cuda_helpers.h"

namespace simulated_cuda_capture_test {

using namespace tests;

TEST_CASE("simulated_cuda: captured work runs when its graph is launched, each time") {
  fresh_runtime();
  cudaStream_t a = made_stream();
  cudaStream_t b = made_stream();
  cudaEvent_t event = made_event();
  char* memory = made_memory(4);
  std::string ran;
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  note_in(ran, "1", a);
  REQUIRE(cudaMemsetAsync(memory, 1, 4, a) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, a) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(b, event, 0) == cudaSuccess);
  note_in(ran, "2", b);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  REQUIRE(cudaStreamIsCapturing(b, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(cudaEventQuery(event) == cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);

  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  note_in(ran, "1", a);
  REQUIRE(cudaMemsetAsync(memory, 1, 4, a) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(a, &graph) == cudaSuccess);
  cudaGraphExec_t ready = nullptr;
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(sim::pending() == 0);
  REQUIRE(cudaGraphLaunch(ready, b) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(ready, b) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(b) == cudaSuccess);
  CHECK(ran == "11");
  REQUIRE(cudaFree(memory) == cudaSuccess);
  CHECK(cudaGraphLaunch(ready, b) == cudaErrorIllegalAddress);
  one_violation("freed");
  REQUIRE(cudaGraphExecDestroy(ready) == cudaSuccess);
}

TEST_CASE("simulated_cuda: what waits is refused in a capture, and ends it") {
  fresh_runtime();
  cudaStream_t a = made_stream(cudaStreamDefault);
  cudaGraph_t graph = nullptr;
  int own = 0;
  char* memory = made_memory(4);
  const std::function<cudaError_t()> refused[] = {
      [&] { return cudaStreamSynchronize(a); }, [&] { return cudaStreamQuery(a); },
      [&] { return cudaDeviceSynchronize(); }, [&] { return cudaFree(memory); },
      [&] { return cudaMemcpy(&own, memory, 4, cudaMemcpyDefault); }};
  for (const auto& call : refused) {
    REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(call() == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaMemsetAsync(memory, 0, 4, a) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
  }
  REQUIRE(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMemsetAsync(memory, 0, 4, nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamSynchronize(nullptr) == cudaErrorStreamCaptureImplicit);
  CHECK(cudaStreamEndCapture(a, &graph) == cudaSuccess);
}

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
