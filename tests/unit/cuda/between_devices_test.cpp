// SPDX-License-Identifier: MIT
// Copies between the memories of two CudaBackends, on one device and on two.
#include <future>
#include <thread>

#include "cuda_helpers.h"

namespace between_devices_test {

using namespace tests;
using namespace tenon;

namespace {

const Texts kBefore{"cudaEventRecord", "cudaStreamWaitEvent"};

/// The calls, and those that order the other backend's stream before and after them.
Texts ordered(const Texts& calls) {
  Texts all = kBefore;
  all.insert(all.end(), calls.begin(), calls.end());
  all.insert(all.end(), kBefore.begin(), kBefore.end());
  return all;
}

}  // namespace

TEST_CASE("cuda between devices: blocks, rows and slices go by one call each, and nothing waits") {
  const Simulation simulation(any_order());
  CudaBackend first(0);
  CudaBackend second(1);
  const TensorPtr from = iota({4, 6, 8}, ScalarType::Int, first);
  const TensorPtr to = zeros({4, 6, 8}, ScalarType::Int, second);
  const TensorPtr expected = zeros({4, 6, 8}, ScalarType::Int);
  const TensorPtr source = iota({4, 6, 8}, ScalarType::Int);
  const auto copy = [&](const auto& part, const Texts& calls) {
    CHECK(calls_of([&] { REQUIRE(copy_(part(to), part(from)) == Error::Ok); }) == calls);
    REQUIRE(copy_(part(expected), part(source)) == Error::Ok);
  };
  copy([](const auto& t) { return select(t, 0, 1); }, ordered({"cudaMemcpyPeerAsync"}));
  copy([](const auto& t) { return narrow(t, 2, 1, 3); }, ordered({"cudaMemcpy3DPeerAsync"}));
  copy([](const auto& t) { return narrow(narrow(t, 1, 2, 3), 2, 4, 2); },
       ordered({"cudaMemcpy3DPeerAsync"}));
  CHECK(to_binary(to) == to_binary(expected));

  // What comes next on either side comes after it.
  REQUIRE(copy_(to, from) == Error::Ok);
  REQUIRE(fill_(from, 0) == Error::Ok);
  CHECK(to_binary(to) == to_binary(source));
}

TEST_CASE("cuda between devices: two backends of one device") {
  const Simulation simulation(any_order());
  const UserStream stream;
  CudaBackend first(0);
  CudaBackend second(0, stream);
  const TensorPtr from = iota({6, 8}, ScalarType::Int, first);
  const TensorPtr to = zeros({6, 8}, ScalarType::Int, second);
  CHECK(calls_of([&] { REQUIRE(copy_(to, from) == Error::Ok); }) == ordered({"cudaMemcpyAsync"}));
  CHECK(calls_of([&] {
          REQUIRE(copy_(narrow(to, 1, 0, 2), narrow(from, 1, 3, 2)) == Error::Ok);
        }) == ordered({"cudaMemcpy2DAsync"}));
  const TensorPtr expected = iota({6, 8}, ScalarType::Int);
  REQUIRE(copy_(narrow(expected, 1, 0, 2), narrow(iota({6, 8}, ScalarType::Int), 1, 3, 2)) ==
          Error::Ok);
  CHECK(to_binary(to) == to_binary(expected));
  // And back.
  REQUIRE(copy_(from, to) == Error::Ok);
  CHECK(to_binary(from) == to_binary(expected));
}

TEST_CASE("cuda between devices: kernels convert on one device, the host between two") {
  const Simulation simulation(any_order());
  CudaBackend first(0, with_kernels());
  CudaBackend second(0, with_kernels());
  CudaBackend far(1, with_kernels());
  const TensorPtr from = iota({6, 8}, ScalarType::Int, first);
  const Tensor turned = transpose(from, 0, 1);
  const TensorPtr expected = zeros({8, 6}, ScalarType::Double);
  REQUIRE(copy_(expected, transpose(iota({6, 8}, ScalarType::Int), 0, 1)) == Error::Ok);
  for (CudaBackend* backend : {&second, &far}) {
    const TensorPtr to = zeros({8, 6}, ScalarType::Double, *backend);
    const Texts calls = calls_of([&] { REQUIRE(copy_(to, turned) == Error::Ok); });
    CHECK((waits(calls) == 0) == (backend == &second));
    CHECK(to_binary(to) == to_binary(expected));
  }
}

TEST_CASE("cuda between devices: the legacy streams of both, with another current device") {
  const Simulation simulation(any_order());
  CudaBackend first(0, nullptr);
  CudaBackend second(1, nullptr);
  for (const int current : {0, 1}) {
    REQUIRE(cudaSetDevice(current) == cudaSuccess);
    const TensorPtr from = full({10}, current + 1, ScalarType::Int, first);
    const TensorPtr to = zeros({10}, ScalarType::Int, second);
    REQUIRE(copy_(to, from) == Error::Ok);
    REQUIRE(fill_(from, 0) == Error::Ok);
    CHECK(to_binary(to) == to_binary(full({10}, current + 1, ScalarType::Int)));
    CHECK(current_device() == current);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("cuda between devices: scopes of both are ordered") {
  const Simulation simulation(any_order());
  const UserStream here(0);
  const UserStream there(1);
  CudaBackend first(0);
  CudaBackend second(1);
  const TensorPtr from = full({10}, 1, ScalarType::Int, first);
  const TensorPtr to = zeros({10}, ScalarType::Int, second);
  {
    const StreamScope a(first, here);
    const StreamScope b(second, there);
    REQUIRE(fill_(from, 2) == Error::Ok);
    REQUIRE(copy_(to, from) == Error::Ok);
    // By the first's own stream, which waits for the copy as the scope's does.
    REQUIRE(std::async(std::launch::async, [&] { return fill_(from, 3); }).get() == Error::Ok);
    CHECK(to_binary(to) == to_binary(full({10}, 2, ScalarType::Int)));
  }
  REQUIRE(copy_(from, to) == Error::Ok);
  CHECK(to_binary(from) == to_binary(full({10}, 2, ScalarType::Int)));
}

TEST_CASE("cuda between devices: by way of the host where CUDA refuses peer copies") {
  const Simulation simulation(any_order());
  CudaBackend first(0);
  CudaBackend second(1);
  const TensorPtr from = iota({6, 8}, ScalarType::Int, first);
  const TensorPtr to = zeros({6, 8}, ScalarType::Int, second);
  const TensorPtr expected = iota({6, 8}, ScalarType::Int);
  for (const cudaError_t refusal : {cudaErrorPeerAccessUnsupported, cudaErrorNotSupported}) {
    sim::fail_next("cudaMemcpyPeerAsync", refusal);
    CHECK(copy_(to, from) == Error::Ok);
    CHECK(to_binary(to) == to_binary(expected));
    REQUIRE(fill_(to, 0) == Error::Ok);
    sim::fail_next("cudaMemcpy3DPeerAsync", refusal);
    CHECK(copy_(narrow(to, 1, 0, 2), narrow(from, 1, 0, 2)) == Error::Ok);
    CHECK(to_binary(narrow(to, 1, 0, 2)) == to_binary(narrow(expected, 1, 0, 2)));
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    CHECK(sim::failed());
  }
}

TEST_CASE("cuda between devices: two threads copy both ways") {
  const Simulation simulation(sim::Order::Random);
  CudaBackend first(0);
  CudaBackend second(1);
  const auto exchange = [&](CudaBackend& near, CudaBackend& far, int value) {
    for (int i = 0; i < 50; ++i) {
      const TensorPtr from = full({10}, value, ScalarType::Int, near);
      const TensorPtr to = zeros({10}, ScalarType::Int, far);
      if (copy_(to, from) != Error::Ok) return false;
      if (to_binary(to) != to_binary(full({10}, value, ScalarType::Int))) return false;
    }
    return true;
  };
  bool is_well = false;
  std::thread other([&] { is_well = exchange(second, first, 5); });
  CHECK(exchange(first, second, 6));
  other.join();
  CHECK(is_well);
}

}  // namespace between_devices_test
