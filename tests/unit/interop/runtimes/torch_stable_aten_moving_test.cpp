// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_aten_moving.h"

#include "interop/runtimes/torch_stable/dispatch.h"

namespace torch_stable_aten_moving_test {

using namespace tenon;
using dispatch_tests::dispatch_differs;
using dispatch_tests::Ints;
using dispatch_tests::layouts;

TEST_CASE("aten: elements that are set and moved") {
  const std::vector<Tensor> sources = layouts(ScalarType::Double);
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Char, ScalarType::Bool}) {
    const TensorPtr wide = make_tensor_ptr({4}, {300, -1, 128, -129});
    CHECK(dispatch_differs("copy_", 0, {*zeros({4}, type), *wide}) == "");
    CHECK(dispatch_differs("to.dtype", 0, {*wide, static_cast<int64_t>(type)}) == "");
  }
  for (const Tensor& x : layouts()) {
    if (!detail::fields(TensorArg(x)).layout.may_overlap()) {
      for (const Tensor& y : sources) CHECK(dispatch_differs("copy_", 0, {x, y}) == "");
      CHECK(dispatch_differs("copy_", 0, {x, *ones({4})}) == "");
      CHECK(dispatch_differs("copy_", 0, {x, *ones({5})}) == "");
      CHECK(dispatch_differs("fill_.Tensor", 0, {x, *scalar_tensor(7)}) == "");
      CHECK(dispatch_differs("fill_.Tensor", 0, {x, *ones({1})}) == "");
    }
    CHECK(dispatch_differs("zero_", 0, {x}) == "");
    if (detail::fields(TensorArg(x)).layout.may_overlap()) {
      CHECK(dispatch_differs("copy_", 0, {x, *ones({4})}) == "");  // both refuse it
      CHECK(dispatch_differs("fill_.Tensor", 0, {x, *scalar_tensor(7)}) == "");
    }
    for (const Ints& dims : {Ints{0}, Ints{1, -1}, Ints{}, Ints{0, 0}, Ints{5}}) {
      CHECK(dispatch_differs("flip", 0, {x, dims}) == "");
    }
    for (const int64_t k : {0, 1, 2, 3, -1, 5}) {
      CHECK(dispatch_differs("rot90", 0, {x, k, Ints{0, 1}}) == "");
      CHECK(dispatch_differs("rot90", 0, {x, k, Ints{2, 0}}) == "");
    }
    CHECK(dispatch_differs("cat", 0, {std::vector<Tensor>{x, *rand({2, 3, 4})}, -1}) == "");
    CHECK(dispatch_differs("cat", 0,
                           {std::vector<Tensor>{x, x, *zeros({2, 3, 4}, ScalarType::Double)}, 1}) ==
          "");
    CHECK(dispatch_differs("masked_select", 0, {x, *randint(0, 2, {2, 3, 4}, ScalarType::Bool)}) ==
          "");
    CHECK(dispatch_differs("masked_select", 0, {x, *randint(0, 2, {3, 1}, ScalarType::Bool)}) ==
          "");
    for (const int64_t dim : {0, 1, -1, 3}) {
      CHECK(dispatch_differs("sort", 0, {x, dim, true}) == "");
      CHECK(dispatch_differs("sort.stable", 0, {x, true, dim, false}) == "");
      const TensorPtr index = make_tensor_ptr({4}, {1, 0, 1, 1}, ScalarType::Long);
      CHECK(dispatch_differs("index_select", 0, {x, dim, *index}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, slice(*index, 0, 0, 4, 2)}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *scalar_tensor(1, ScalarType::Int)}) ==
            "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *zeros({0}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0,
                             {x, dim, *make_tensor_ptr({1}, {9}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0,
                             {x, dim, *make_tensor_ptr({1}, {-1}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *zeros({1})}) == "");
    }
  }
  CHECK(dispatch_differs("index_select", 0,
                         {*scalar_tensor(3), 0, *zeros({1}, ScalarType::Long)}) == "");
}

}  // namespace torch_stable_aten_moving_test
