// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_search.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_kernels/random_tensors.h"

namespace aoti_kernels_search_test {

using namespace tenon;
using tests::answer;
using tests::RandomTensors;

TEST_CASE("aoti_kernels: searches beside libtorch's, on random tensors", "[aoti_kernels_search]") {
  RandomTensors random(1);
  const auto type = [&] {
    if (random.chance(20)) return random.one_of({kBool, kUInt32, kComplexFloat});
    return random.one_of({kFloat, kDouble, kHalf, kBFloat16, kByte, kShort, kInt, kLong});
  };
  for (int i = 0; i < 60; ++i) {
    std::vector<int64_t> sizes = random.sizes();
    std::vector<int64_t> value_sizes = random.chance(3) ? random.sizes() : sizes;
    if (!value_sizes.empty()) value_sizes.back() = random.number(0, 6);
    if (!sizes.empty() && random.chance(2)) sizes = {sizes.back()};
    const ScalarType own = type();
    const Tensor sequence = random.tensor(own, sizes);
    const Tensor values = random.tensor(random.chance(2) ? own : type(), value_sizes);
    const char* name = random.chance(20) ? "lef" : random.one_of({"left", "right"});
    const char** const side = random.chance(2) ? &name : nullptr;
    const auto right = static_cast<int32_t>(random.number(0, 1));
    const auto is_int32 = static_cast<int32_t>(random.number(0, 1));
    const double number = static_cast<double>(random.number(-8, 8)) / 4;
    const TensorPtr order = zeros(sizes, kLong);
    const int64_t count = sizes.empty() ? 1 : sizes.back();
    for (int64_t at = 0; at < order->numel(); ++at) {
      order->mutable_data_ptr<int64_t>()[at] =
          random.chance(200) ? random.number(-1, count) : random.number(0, count - 1);
    }
    const Tensor sorter = random.lay_out(*order);
    CAPTURE(i);
    CHECK_PEER(aoti_torch_cpu_searchsorted_Tensor, 0, sequence, values, is_int32, right, side,
               nullptr);
    CHECK_PEER(aoti_torch_cpu_searchsorted_Tensor, 0, sequence, values, is_int32, right, side,
               sorter);
    CHECK_PEER(aoti_torch_cpu_searchsorted_Scalar, 0, sequence, number, is_int32, right, side,
               nullptr);
    CHECK_PEER(aoti_torch_cpu_searchsorted_Scalar, 0, sequence, number, is_int32, right, side,
               sorter);
    CHECK_PEER(aoti_torch_cpu_bucketize_Tensor, 0, values, sequence, is_int32, right);
  }
}

TEST_CASE("aoti_kernels: searchsorted of Longs is exact", "[aoti_kernels_search]") {
  const TensorPtr sequence =
      make_tensor_ptr({2}, std::vector<int64_t>{INT64_MAX - 2, INT64_MAX - 1});
  const TensorPtr value = make_tensor_ptr({1}, std::vector<int64_t>{INT64_MAX - 1});
  const std::vector<Tensor> found =
      answer(&detail::aoti_torch_cpu_bucketize_Tensor, *value, *sequence, 0, 0);
  CHECK(found.at(0).item<int64_t>() == 1);
}

TEST_CASE("aoti_kernels: a sorter's index outside its row is refused", "[aoti_kernels_search]") {
  const TensorPtr sorter = make_tensor_ptr({2}, std::vector<int64_t>{0, 2});
  CHECK(answer(&detail::aoti_torch_cpu_searchsorted_Tensor, *zeros({2}), *zeros({1}), 0, 0, nullptr,
               *sorter)
            .empty());
  CHECK(std::string(last_error_message()) ==
        "aoti_torch_cpu_searchsorted_Tensor: the sorter has index 2, expected 0 to 1");
}

}  // namespace aoti_kernels_search_test
