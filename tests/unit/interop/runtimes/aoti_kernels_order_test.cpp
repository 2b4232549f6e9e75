// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_order.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_kernels/random_tensors.h"

namespace aoti_kernels_order_test {

using namespace tenon;
using tests::answer;
using tests::RandomTensors;

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: sorting beside libtorch's, on random tensors", "[aoti_kernels_order]") {
  RandomTensors random(1);
  for (int i = 0; i < 100; ++i) {
    const ScalarType type =
        random.one_of({kFloat, kDouble, kHalf, kBFloat16, kByte, kChar, kShort, kInt, kLong});
    const std::vector<int64_t> sizes =
        random.chance(4) ? std::vector<int64_t>{random.number(1, 300)} : random.sizes();
    const Tensor x = random.tensor(type, sizes);
    const int64_t dim = random.dim(sizes);
    const int64_t rank = x.dim();
    const int64_t count = rank == 0 || dim < -rank || dim >= rank ? 1 : x.size(dim);
    const int64_t k = random.number(random.chance(9) ? -1 : 0, count + (random.chance(9) ? 1 : 0));
    const auto a = static_cast<int32_t>(random.number(0, 1));
    auto b = static_cast<int32_t>(random.number(0, 1));
    CAPTURE(i);
    CHECK_PEER(aoti_torch_cpu_sort, 0, x, dim, a);
    CHECK_PEER(aoti_torch_cpu_sort_stable, 0, x, &b, dim, a);
    CHECK_PEER(aoti_torch_cpu_topk, 0, x, k, dim, a, b);
    CHECK_PEER(aoti_torch_cpu_kthvalue, 0, x, k, dim, a);
    CHECK_PEER(aoti_torch_cpu_median, 0, x);
    CHECK_PEER(aoti_torch_cpu_nanmedian, 0, x);
    const Tensor without_nan = random.tensor(type, sizes, false);
    CHECK_PEER(aoti_torch_cpu_mode, 0, without_nan, dim, a);
  }
}

TEST_CASE("aoti_kernels: Bool and wide unsigned integers are sorted, complex numbers refused",
          "[aoti_kernels_order]") {
  const Tensor x = *randint(0, 2, {4, 3}, kLong);
  for (const ScalarType type : {kBool, kUInt16, kUInt32, kUInt64, kComplexFloat}) {
    const Tensor y = to(x, type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_sort, 0, y, 0, 1);
    CHECK_PEER(aoti_torch_cpu_topk, 0, y, 1, 0, 1, 1);
    CHECK_PEER(aoti_torch_cpu_mode, 0, y, 0, 1);
    CHECK_PEER(aoti_torch_cpu_kthvalue, 0, y, 1, 0, 1);
    CHECK_PEER(aoti_torch_cpu_median, 0, y);
  }
}

TEST_CASE("aoti_kernels: integers at the ends of their range are sorted exactly",
          "[aoti_kernels_order]") {
  const TensorPtr wide =
      make_tensor_ptr({4}, std::vector<uint64_t>{UINT64_MAX, 0, UINT64_MAX - 1, uint64_t{1} << 63});
  const std::vector<Tensor> sorted = answer(&detail::aoti_torch_cpu_sort, *wide, 0, 0);
  CHECK(equal(sorted.at(1), *make_tensor_ptr({4}, std::vector<int64_t>{1, 3, 2, 0})));
  CHECK_PEER(aoti_torch_cpu_sort, 0, *wide, 0, 1);
  const TensorPtr signs =
      make_tensor_ptr({5}, std::vector<int64_t>{INT64_MAX, INT64_MIN, INT64_MAX - 1, -1, 0});
  const std::vector<Tensor> top = answer(&detail::aoti_torch_cpu_topk, *signs, 2, 0, 1, 1);
  CHECK(equal(top.at(0), *make_tensor_ptr({2}, std::vector<int64_t>{INT64_MAX, INT64_MAX - 1})));
  CHECK_PEER(aoti_torch_cpu_mode, 0, *signs, 0, 0);
  CHECK_PEER(aoti_torch_cpu_median, 0, *signs);
}

TEST_CASE("aoti_kernels: mode counts each NaN as another value", "[aoti_kernels_order]") {
  const TensorPtr x = make_tensor_ptr({6}, std::vector<float>{NAN, 2, NAN, 2, NAN, 1});
  const std::vector<Tensor> most = answer(&detail::aoti_torch_cpu_mode, *x, 0, 0);
  CHECK(most.at(0).item<float>() == 2);
  CHECK(most.at(1).item<int64_t>() == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: k outside a dimension is refused by name", "[aoti_kernels_order]") {
  CHECK(answer(&detail::aoti_torch_cpu_topk, *zeros({2, 3}), 4, 1, 1, 1).empty());
  CHECK(std::string(last_error_message()) ==
        "aoti_torch_cpu_topk: k is 4, but dimension 1 of sizes {2, 3} has 3 elements");
  CHECK(answer(&detail::aoti_torch_cpu_kthvalue, *zeros({2, 3}), 0, 1, 1).empty());
  CHECK(std::string(last_error_message()) ==
        "aoti_torch_cpu_kthvalue: k is 0, but dimension 1 of sizes {2, 3} has elements 1 to 3");
}

}  // namespace aoti_kernels_order_test
