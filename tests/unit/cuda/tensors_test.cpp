// SPDX-License-Identifier: MIT
// Tensors on a CUDA device do what those of the host do, strided ones too, with kernels and without.
#include "cuda_helpers.h"
#include "tenon/backend/registry.h"

namespace tensors_test {

using namespace tests;
using namespace tenon;

namespace {

/// Views of a tensor {6, 10, 4}, as strided as they come.
const std::function<Tensor(const TensorPtr&)> kViews[] = {
    [](const TensorPtr& t) { return narrow(t, 0, 0, 6); },
    [](const TensorPtr& t) { return narrow(t, 1, 2, 5); },
    [](const TensorPtr& t) { return select(t, 2, 1); },
    [](const TensorPtr& t) {
      return permute(t, {2, 0, 1});
    },
    [](const TensorPtr& t) {
      return narrow(narrow(permute(t, {1, 2, 0}), 0, 3, 4), 2, 1, 5);
    },
    [](const TensorPtr& t) { return select(select(t, 0, 2), 0, 3); },
};

TensorPtr numbers(ScalarType type, Backend& backend) { return iota({6, 10, 4}, type, backend); }

}  // namespace

TEST_CASE("cuda tensors: copies, clones, casts, text and bytes are those of the host") {
  const Simulation simulation;
  CudaBackend backend(0, with_kernels(GENERATE(false, true)));
  register_backend(backend);
  for (const auto& view : kViews) {
    const TensorPtr device_all = numbers(ScalarType::Int, backend);
    const TensorPtr host_all = numbers(ScalarType::Int, host_backend());
    const Tensor device = view(device_all);
    const Tensor host = view(host_all);
    const auto bytes = to_binary(host);
    CHECK(to_binary(device) == bytes);
    CHECK(to_binary(clone_tensor_ptr(device)) == bytes);
    CHECK(clone_tensor_ptr(device)->device() == backend.device());
    CHECK(to_binary(contiguous(device)) == bytes);
    CHECK(to_binary(to(device, ScalarType::Double)) == to_binary(to(host, ScalarType::Double)));
    CHECK(to(device, ScalarType::Double).device() == backend.device());
    std::string text = to_string(device);
    REQUIRE(contains(text, " on cuda:0"));
    CHECK(text.erase(text.find(" on cuda:0"), 10) == to_string(host));

    // Either side on the device.
    const TensorPtr dense = zeros(host.sizes(), ScalarType::Int);
    REQUIRE(copy_(dense, device) == Error::Ok);
    CHECK(to_binary(dense) == bytes);
    REQUIRE(fill_(dense, 9) == Error::Ok);
    REQUIRE(copy_(device, dense) == Error::Ok);
    REQUIRE(copy_(host, dense) == Error::Ok);
    CHECK(to_binary(device_all) == to_binary(host_all));
    const TensorPtr floats = full(host.sizes(), 2.5, ScalarType::Float);
    REQUIRE(copy_(device, floats, CastMode::Truncate) == Error::Ok);
    REQUIRE(copy_(host, floats, CastMode::Truncate) == Error::Ok);
    CHECK(to_binary(device_all) == to_binary(host_all));
    REQUIRE(fill_(device, 0x01010101) == Error::Ok);
    REQUIRE(fill_(host, 0x01010101) == Error::Ok);
    CHECK(to_binary(device_all) == to_binary(host_all));
    const TensorPtr back = from_binary(to_binary(host), host.sizes(), ScalarType::Int, backend);
    CHECK(to_binary(back) == to_binary(host));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda tensors: creators and random numbers are those of the host") {
  const Simulation simulation;
  const bool has_kernels = GENERATE(false, true);
  CudaBackend backend(1, with_kernels(has_kernels));
  const Texts calls = calls_of([&] {
    const TensorPtr t = empty({4, 4}, backend);
    REQUIRE(fill_(t, 2.5) == Error::Ok);
    static_cast<void>(eye(4, 4, backend));
    static_cast<void>(rand({7, 5}, Generator(3), backend));
    static_cast<void>(randint(0, 10, {7, 5}, Generator(3), backend));
  });
  CHECK(std::count(calls.begin(), calls.end(), "cudaLaunchKernel") == (has_kernels ? 4 : 0));
  CHECK(to_binary(eye(4, 4, backend)) == to_binary(eye(4, 4)));
  CHECK(to_binary(full({3, 4}, 2.5, backend)) == to_binary(full({3, 4}, 2.5)));
  CHECK(to_binary(rand({7, 5}, Generator(3), backend)) == to_binary(rand({7, 5}, Generator(3))));
  CHECK(to_binary(randint(0, 10, {7, 5}, Generator(3), backend)) ==
        to_binary(randint(0, 10, {7, 5}, Generator(3))));
}

TEST_CASE("cuda tensors: assign() copies a foreign pointer into padded rows") {
  const Simulation simulation;
  CudaBackend backend(0, with_kernels(GENERATE(false, true)));
  register_backend(backend);
  const TensorPtr output = zeros({4, 10}, backend);
  const Tensor rows = narrow(output, 1, 0, 6);
  const TensorPtr source = iota({4, 6}, ScalarType::Float, backend);
  int deleted = 0;
  {
    const Blob blob = to_blob(from_blob(
        as_view(source).data, {4, 6}, ScalarType::Float, [&](void*) { ++deleted; }, backend));
    REQUIRE(assign(rows, blob) == Error::Ok);
  }
  CHECK(deleted == 1);
  CHECK(to_binary(rows) == to_binary(iota({4, 6}, ScalarType::Float)));
  CHECK(to_binary(narrow(output, 1, 6, 4)) == to_binary(zeros({4, 4})));
}

TEST_CASE("cuda tensors: copies that overlap on the device") {
  const Simulation simulation;
  CudaBackend backend(0, with_kernels(GENERATE(false, true)));
  const TensorPtr t = iota({10, 3}, ScalarType::Int, backend);
  const TensorPtr h = iota({10, 3}, ScalarType::Int);
  REQUIRE(copy_(narrow(t, 0, 1, 8), narrow(t, 0, 0, 8)) == Error::Ok);
  REQUIRE(copy_(narrow(h, 0, 1, 8), narrow(h, 0, 0, 8)) == Error::Ok);
  CHECK(to_binary(t) == to_binary(h));
}

}  // namespace tensors_test
