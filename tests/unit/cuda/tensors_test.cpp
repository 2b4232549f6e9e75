// SPDX-License-Identifier: MIT
// Tensors on a CUDA device do what those of the host do, with kernels and without.
#include "cuda_helpers.h"
#include "tenon/backend/registry.h"

namespace tensors_test {

using namespace tests;
using namespace tenon;

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

}  // namespace tensors_test
