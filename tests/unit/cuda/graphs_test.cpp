// SPDX-License-Identifier: MIT
// What a CudaBackend does while a graph is captured from its stream.
#include <future>
#include <thread>

#include "cuda_helpers.h"
#include "tenon/backend/pool.h"

namespace graphs_test {

using namespace tests;
using namespace tenon;

namespace {

/// Captures what f does by a stream.
template <class F>
cudaGraphExec_t captured(cudaStream_t stream, const F& f) {
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  f();
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  return exec;
}

/// Copies, conversions, fills and numbers, of which nothing waits.
void work(const TensorPtr& a, const TensorPtr& b, const TensorPtr& doubles) {
  REQUIRE(copy_(b, a) == Error::Ok);
  REQUIRE(copy_(narrow(b, 1, 0, 2), narrow(a, 1, 2, 2)) == Error::Ok);
  REQUIRE(fill_(select(b, 0, 1), 7) == Error::Ok);
  REQUIRE(fill_(select(b, 0, 2), 0) == Error::Ok);
  REQUIRE(copy_(transpose(doubles, 0, 1), b) == Error::Ok);
}

}  // namespace

TEST_CASE(
    "cuda graphs: copies within, fills and kernels are captured, and run when it is launched") {
  const Simulation simulation;
  const UserStream stream;
  const UserStream library;
  const bool is_scoped = GENERATE(false, true);
  CudaBackend backend(0, with_kernels());
  const TensorPtr a = iota({4, 4}, ScalarType::Int, backend);
  const TensorPtr b = zeros({4, 4}, ScalarType::Int, backend);
  const TensorPtr doubles = zeros({4, 4}, ScalarType::Double, backend);
  const TensorPtr ha = iota({4, 4}, ScalarType::Int);
  const TensorPtr hb = zeros({4, 4}, ScalarType::Int);
  const TensorPtr hd = zeros({4, 4}, ScalarType::Double);
  cudaGraphExec_t graph = nullptr;
  if (is_scoped) {
    const StreamScope scope(backend, stream);
    graph = captured(stream, [&] {
      work(a, b, doubles);
      // The backend's own stream is not captured, and left out.
      const auto number = reinterpret_cast<int64_t>(cudaStream_t{library});
      const Texts one{"cudaStreamIsCapturing", "cudaEventRecord", "cudaStreamWaitEvent"};
      CHECK(calls_of([&] { REQUIRE(backend.order_before(number) == Error::Ok); }) == one);
      CHECK(calls_of([&] { REQUIRE(backend.order_after(number) == Error::Ok); }) == one);
    });
  } else {
    graph = captured(backend.stream(), [&] { work(a, b, doubles); });
  }
  CHECK(to_binary(doubles) == to_binary(hd));
  for (const int start : {0, 100}) {
    REQUIRE(fill_(select(a, 0, 0), start) == Error::Ok);
    REQUIRE(fill_(select(ha, 0, 0), start) == Error::Ok);
    REQUIRE(cudaGraphLaunch(graph, backend.stream()) == cudaSuccess);
    work(ha, hb, hd);
    CHECK(to_binary(doubles) == to_binary(hd));
  }
  CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
}

TEST_CASE("cuda graphs: a scope in a capture is a branch of the graph, and others are ordered") {
  const Simulation simulation;
  const UserStream branch;
  const UserStream library;
  CudaBackend backend(0, with_kernels());
  const TensorPtr a = full({100}, 3, ScalarType::Int, backend);
  const TensorPtr b = zeros({100}, ScalarType::Int, backend);
  const auto number = reinterpret_cast<int64_t>(cudaStream_t{library});
  cudaGraphExec_t graph = captured(backend.stream(), [&] {
    {
      const StreamScope scope(backend, branch);
      REQUIRE(copy_(b, a) == Error::Ok);
      REQUIRE(backend.order_before(number) == Error::Ok);
      REQUIRE(cudaMemsetAsync(as_view(b).data, 1, 4, library) == cudaSuccess);
      REQUIRE(backend.order_after(number) == Error::Ok);
    }
    REQUIRE(fill_(a, 5) == Error::Ok);
  });
  REQUIRE(cudaGraphLaunch(graph, backend.stream()) == cudaSuccess);
  const TensorPtr expected = full({100}, 3, ScalarType::Int);
  REQUIRE(fill_(select(expected, 0, 0), 0x01010101) == Error::Ok);
  CHECK(to_binary(b) == to_binary(expected));
  CHECK(to_binary(a) == to_binary(full({100}, 5, ScalarType::Int)));
  CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
}

TEST_CASE("cuda graphs: copies from the host, and what waits, are errors in a capture") {
  const Simulation simulation;
  CudaBackend backend;
  const TensorPtr t = zeros({4}, backend);
  const TensorPtr host = ones({4});
  cudaGraphExec_t graph = captured(backend.stream(), [&] {
    RETURNS(InvalidState, "a copy from the host's memory cannot be captured", copy_(t, host));
  });
  CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);

  REQUIRE(cudaStreamBeginCapture(backend.stream(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  RETURNS(AccessFailed, "cudaStreamSynchronize: cudaErrorStreamCaptureUnsupported",
          backend.synchronize());
  cudaGraph_t refused = nullptr;
  CHECK(cudaStreamEndCapture(backend.stream(), &refused) == cudaErrorStreamCaptureInvalidated);
  static_cast<void>(cudaGetLastError());
  CHECK(to_binary(t) == to_binary(zeros({4})));
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda graphs: what is dropped in a capture waits for nothing, and is freed after it") {
  const Reports reports;
  const Simulation simulation(any_order());
  const UserStream stream;
  const bool is_scoped = GENERATE(false, true);
  const bool is_pool = GENERATE(false, true);
  CudaBackend backend(0, is_pool ? CudaOptions() : with_malloc());
  const TensorPtr out = zeros({1000}, ScalarType::Int, backend);
  TensorPtr before = full({1000}, 3, ScalarType::Int, backend);
  TensorPtr elsewhere = full({1000}, 4, ScalarType::Int, backend);
  Texts calls;
  const auto drop = [&](cudaStream_t captured_stream) {
    // The capture's stream uses it, and has not come to it.
    REQUIRE(copy_(out, before) == Error::Ok);
    cudaGraphExec_t graph = captured(captured_stream, [&] {
      REQUIRE(fill_(out, -1) == Error::Ok);
      calls = calls_of([&] {
        before.reset();
        std::thread([&] { elsewhere.reset(); }).join();
      });
    });
    CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
  };
  if (is_scoped) {
    const StreamScope scope(backend, stream);
    drop(stream);
  } else {
    drop(backend.stream());
  }
  CHECK(waits(calls) == 0);
  CHECK(sim::live_allocations().size() == 3);
  // The next release frees them, after what uses them.
  TensorPtr next = zeros({1000}, ScalarType::Int, backend);
  next.reset();
  CHECK(sim::live_allocations().size() == 1);
  CHECK(to_binary(out) == to_binary(full({1000}, 3, ScalarType::Int)));
  CHECK(reports.last() == "");
}

TEST_CASE("cuda graphs: what a capture kept is freed by whatever comes next") {
  const Simulation simulation;
  CudaBackend backend;
  const TensorPtr out = zeros({4}, backend);
  const auto keep = [&](CudaBackend& of) {
    TensorPtr t = zeros({4}, of);
    CHECK(cudaGraphExecDestroy(captured(of.stream(), [&] { t.reset(); })) == cudaSuccess);
    CHECK(sim::live_allocations().size() == 2);
  };
  keep(backend);
  CHECK(backend.synchronize() == Error::Ok);
  CHECK(sim::live_allocations().size() == 1);
  keep(backend);
  CHECK(backend.trim() == Error::Ok);
  CHECK(sim::live_allocations().size() == 1);
  keep(backend);
  const TensorPtr next = zeros({4}, backend);
  CHECK(sim::live_allocations().size() == 2);
  TensorPtr last = zeros({4}, backend);
  {
    TensorPtr t = zeros({4}, backend);
    CHECK(cudaGraphExecDestroy(captured(backend.stream(), [&] { t.reset(); })) == cudaSuccess);
  }
  CHECK(sim::live_allocations().size() == 4);
  last.reset();
  CHECK(sim::live_allocations().size() == 2);
  CudaBackend* const gone = new CudaBackend();
  {
    TensorPtr t = zeros({4}, *gone);
    CHECK(cudaGraphExecDestroy(captured(gone->stream(), [&] { t.reset(); })) == cudaSuccess);
  }
  delete gone;
  CHECK(sim::live_allocations().size() == 2);
}

TEST_CASE("cuda graphs: a PoolBackend's block that was dropped in a capture is not handed out") {
  const Simulation simulation(any_order());
  const UserStream stream;
  CudaBackend backend;
  PoolBackend pool(backend);
  const TensorPtr out = zeros({1000}, ScalarType::Int, backend);
  TensorPtr dropped = full({1000}, 3, ScalarType::Int, pool);
  {
    const StreamScope scope(backend, stream);
    REQUIRE(copy_(out, dropped) == Error::Ok);  // the stream has not come to it
    cudaGraphExec_t graph = captured(stream, [&] {
      dropped.reset();
      const auto use = [&] { return zeros({1000}, ScalarType::Int, pool)->numel(); };
      CHECK(std::async(std::launch::async, use).get() == 1000);
    });
    CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
  }
  CHECK(to_binary(out) == to_binary(full({1000}, 3, ScalarType::Int)));
}

TEST_CASE("cuda graphs: the pool gives no memory in a capture, and says so") {
  const Simulation simulation;
  CudaBackend backend;
  cudaGraphExec_t graph = captured(backend.stream(), [&] {
    RAISES(OutOfMemory, "a graph is captured from the stream: allocate before the capture",
           empty({4}, backend));
  });
  CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
  CHECK(sim::calls("cudaMallocFromPoolAsync") == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda graphs: a capture of another library goes on beside memory of each backend") {
  const Simulation simulation;
  const UserStream stream;
  const auto mode = GENERATE(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                             cudaStreamCaptureModeRelaxed);
  CudaBackend pool;
  CudaBackend malloc(0, with_malloc());
  PinnedBackend pinned;
  ManagedBackend managed;
  const UserStream scoped;
  Backend* const backends[] = {&pool, &malloc, &pinned, &managed};
  const auto use = [&] {
    for (Backend* backend : backends) {
      if (to_binary(ones({4}, *backend)) != to_binary(ones({4}))) return false;
    }
    const StreamScope scope(pool, scoped);
    check(pool.trim());
    check(malloc.synchronize());
    cudaStreamCaptureMode found = cudaStreamCaptureModeRelaxed;
    const bool is_put_back = cudaThreadExchangeStreamCaptureMode(&found) == cudaSuccess &&
                             found == cudaStreamCaptureModeGlobal;
    return cudaThreadExchangeStreamCaptureMode(&found) == cudaSuccess && is_put_back;
  };
  REQUIRE(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
  CHECK(use());
  CHECK(std::async(std::launch::async, use).get());
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE(
    "cuda graphs: a backend of the legacy stream leaves the capture of a blocking one alone") {
  const Reports reports;
  const Simulation simulation;
  const UserStream blocking(0, cudaStreamDefault);
  CudaBackend legacy(0, nullptr);
  const TensorPtr t = zeros({4}, legacy);
  TensorPtr dropped = zeros({4}, legacy);
  const char* const text = "cudaErrorStreamCaptureImplicit";
  cudaGraphExec_t graph = captured(blocking, [&] {
    dropped.reset();
    RETURNS(AccessFailed, text, fill_(t, 1));
    RETURNS(AccessFailed, text, copy_(t, ones({4})));
    RETURNS(AccessFailed, text, legacy.synchronize());
    RETURNS(AccessFailed, text,
            legacy.order_before(reinterpret_cast<int64_t>(legacy.stream()) + 1));
    RAISES(OutOfMemory, text, empty({4}, legacy));
  });
  CHECK(cudaGraphExecDestroy(graph) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(legacy.synchronize() == Error::Ok);
  CHECK(sim::live_allocations().size() == 1);
  CHECK(reports.last() == "");
}

TEST_CASE(
    "cuda graphs: another thread's capture, and a pool in it, leave all other streams alone") {
  const Simulation simulation;
  const UserStream captured_stream;
  const UserStream library;
  CudaBackend backend(0, with_kernels());
  PoolBackend pool(backend);
  const TensorPtr a = zeros({8}, ScalarType::Int, backend);
  TensorPtr dropped = zeros({8}, ScalarType::Int, backend);
  TensorPtr pooled = zeros({8}, ScalarType::Int, pool);
  TensorPtr pooled_elsewhere = zeros({8}, ScalarType::Int, pool);
  const TensorPtr other = zeros({8}, ScalarType::Int, backend);
  const cudaStream_t own = backend.stream();
  const auto is_captured = [](cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CHECK(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    return status != cudaStreamCaptureStatusNone;
  };
  cudaGraph_t graph = nullptr;
  {
    const StreamScope scope(backend, captured_stream);
    REQUIRE(cudaStreamBeginCapture(captured_stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    REQUIRE(fill_(a, 5) == Error::Ok);
    pooled = nullptr;
    CHECK_FALSE(is_captured(own));
    const auto elsewhere = [&] {
      pooled_elsewhere = nullptr;
      dropped = nullptr;
      const auto number = reinterpret_cast<int64_t>(cudaStream_t{library});
      check(backend.order_before(number));
      check(backend.order_after(number));
      check(fill_(other, 7));
      check(backend.synchronize());
      return to_binary(other);
    };
    CHECK(std::async(std::launch::async, elsewhere).get() ==
          to_binary(full({8}, 7, ScalarType::Int)));
    CHECK_FALSE(is_captured(own));
    CHECK_FALSE(is_captured(library));
    REQUIRE(cudaStreamEndCapture(captured_stream, &graph) == cudaSuccess);
  }
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

}  // namespace graphs_test
