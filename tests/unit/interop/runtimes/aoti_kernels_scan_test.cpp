// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_scan.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_kernels/random_tensors.h"

namespace aoti_kernels_scan_test {

using namespace tenon;
using tests::answer;
using tests::RandomTensors;

namespace {

constexpr int32_t kNumberOfInt = 3;
constexpr int32_t kNumberOfByte = 0;

}  // namespace

TEST_CASE("aoti_kernels: scans beside libtorch's, on random tensors", "[aoti_kernels_scan]") {
  RandomTensors random(1);
  for (int i = 0; i < 150; ++i) {
    const ScalarType type = random.one_of({kFloat, kDouble, kHalf, kBFloat16, kByte, kInt, kLong});
    const std::vector<int64_t> sizes = random.sizes();
    const Tensor x = random.tensor(type, sizes);
    const int64_t dim = random.dim(sizes);
    CAPTURE(i);
    CHECK_PEER(aoti_torch_cpu_cumsum, 0, x, dim, nullptr);
    CHECK_PEER(aoti_torch_cpu_cumprod, 0, x, dim, nullptr);
    CHECK_PEER(aoti_torch_cpu_cummax, 0, x, dim);
    CHECK_PEER(aoti_torch_cpu_cummin, 0, x, dim);
    const double tolerance = elementSize(type) == 2 ? 1e-2 : 1e-6;
    CHECK_PEER(aoti_torch_cpu_logcumsumexp, tolerance, x, dim);
  }
}

TEST_CASE("aoti_kernels: scans of complex numbers and of Bool", "[aoti_kernels_scan]") {
  RandomTensors random(2);
  for (const ScalarType type : {kComplexFloat, kComplexDouble, kBool}) {
    const Tensor x = random.tensor(type, {3, 5}, false);
    CHECK_PEER(aoti_torch_cpu_cumsum, 1e-6, x, 1, nullptr);
    CHECK_PEER(aoti_torch_cpu_cumprod, 1e-6, x, 0, nullptr);
    CHECK_PEER(aoti_torch_cpu_logcumsumexp, 1e-5, x, 1);
    CHECK_PEER(aoti_torch_cpu_cummax, 0, x, 1);
  }
}

TEST_CASE("aoti_kernels: a scan in another type wraps in that", "[aoti_kernels_scan]") {
  int32_t type = kNumberOfByte;
  const TensorPtr x = make_tensor_ptr({3}, std::vector<int64_t>{200, 100, 2});
  const std::vector<Tensor> sums = answer(&detail::aoti_torch_cpu_cumsum, *x, 0, &type);
  CHECK(equal(sums.at(0), *make_tensor_ptr({3}, std::vector<uint8_t>{200, 44, 46})));
  CHECK_PEER(aoti_torch_cpu_cumsum, 0, *x, 0, &type);
  const TensorPtr large = full({3}, INT64_MAX, kLong);
  CHECK_PEER(aoti_torch_cpu_cumprod, 0, *large, 0, nullptr);
  CHECK_PEER(aoti_torch_cpu_cumsum, 0, *large, 0, nullptr);
  type = kNumberOfInt;
  CHECK_PEER(aoti_torch_cpu_cumsum, 0, *rand({4}), 0, &type);
  type = 99;
  CHECK_PEER(aoti_torch_cpu_cumsum, 0, *rand({4}), 0, &type);
}

TEST_CASE("aoti_kernels: a sum of Floats is added up in double", "[aoti_kernels_scan]") {
  const TensorPtr x = make_tensor_ptr({3}, std::vector<float>{16777216.0F, 1.0F, 1.0F});
  const std::vector<Tensor> sums = answer(&detail::aoti_torch_cpu_cumsum, *x, 0, nullptr);
  CHECK(equal(sums.at(0),
              *make_tensor_ptr({3}, std::vector<float>{16777216.0F, 16777216.0F, 16777218.0F})));
}

TEST_CASE("aoti_kernels: logcumsumexp neither overflows nor loses small terms",
          "[aoti_kernels_scan]") {
  const TensorPtr x = make_tensor_ptr({4}, std::vector<double>{1000, 1000, -INFINITY, INFINITY});
  const Tensor sums = answer(&detail::aoti_torch_cpu_logcumsumexp, *x, 0).at(0);
  CHECK(sums.const_data_ptr<double>()[1] == Approx(1000 + std::log(2.0)));
  CHECK(sums.const_data_ptr<double>()[2] == Approx(1000 + std::log(2.0)));
  CHECK(sums.const_data_ptr<double>()[3] == INFINITY);
  CHECK_PEER(aoti_torch_cpu_logcumsumexp, 1e-12, *x, 0);
}

}  // namespace aoti_kernels_scan_test
