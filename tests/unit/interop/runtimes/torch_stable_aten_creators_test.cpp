// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"

#include "interop/runtimes/torch_stable/dispatch.h"

namespace torch_stable_aten_creators_test {

using namespace tenon;
using dispatch_tests::dispatch_differs;
using dispatch_tests::Ints;
using dispatch_tests::kAny;
using dispatch_tests::layouts;

TEST_CASE("aten: new tensors have torch's sizes, strides and dtype") {
  const std::vector<EValue> dtypes = {EValue(), EValue(int64_t{7}), EValue(int64_t{1}),
                                      EValue(int64_t{15})};
  for (const EValue& dtype : dtypes) {
    for (const Ints& sizes : {Ints{}, Ints{0}, Ints{2, 3}, Ints{2, 0, 3}, Ints{2, 3, 4, 5}}) {
      CHECK(dispatch_differs("empty.memory_format", kAny, {sizes, dtype}) == "");
      CHECK(dispatch_differs("zeros", 0, {sizes, dtype}) == "");
      CHECK(dispatch_differs("ones", 0, {sizes, dtype}) == "");
      for (const Tensor& x : layouts(ScalarType::Short)) {
        CHECK(dispatch_differs("new_empty", kAny, {x, sizes, dtype}) == "");
        CHECK(dispatch_differs("new_zeros", 0, {x, sizes, dtype}) == "");
      }
    }
    for (const int64_t format : {0, 2, 3}) {
      for (const Ints& sizes : {Ints{2, 3}, Ints{2, 3, 4, 5}, Ints{2, 3, 4, 5, 6}}) {
        CHECK(dispatch_differs("empty.memory_format", kAny,
                               {sizes, dtype, EValue(), EValue(), EValue(), format}) == "");
      }
    }
  }
  CHECK(dispatch_differs("zeros", 0, {Ints{-1}}) == "");
  CHECK(dispatch_differs("zeros", 0, {Ints{2}, int64_t{6}, int64_t{0}, "cpu", false}) == "");
}

TEST_CASE("aten: copies have torch's strides, of each layout and in each memory format") {
  std::vector<Tensor> all = layouts();
  for (const Tensor& x : layouts()) all.push_back(unsqueeze(x, 1));
  all.push_back(permute(*rand({2, 5, 4, 3}), {0, 3, 1, 2}));
  all.push_back(*rand({1, 3, 4, 1}));
  all.push_back(*rand({2, 3, 1, 2, 2}));
  all.push_back(*zeros({2, 0, 3}));
  all.push_back(*scalar_tensor(5));
  all.push_back(transpose(expand(*rand({1, 4}), {3, 4}), 0, 1));
  all.push_back(expand(permute(*rand({3, 1, 2}), {2, 0, 1}), {2, 3, 5}));
  for (const Tensor& x : all) {
    for (const EValue& format : {EValue(), EValue(0), EValue(1), EValue(2), EValue(3)}) {
      CHECK(dispatch_differs("empty_like", kAny,
                             {x, EValue(), EValue(), EValue(), EValue(), format}) == "");
      CHECK(dispatch_differs("clone", 0, {x, format}) == "");
      if (!format.isNone()) CHECK(dispatch_differs("contiguous", 0, {x, format}) == "");
      for (const EValue& dtype : {EValue(), EValue(6), EValue(7), EValue(3)}) {
        for (const bool copies : {false, true}) {
          INFO(x.sizes() << x.strides() << " " << copies);
          CHECK(dispatch_differs("to.dtype_layout", 0,
                                 {x, dtype, EValue(), EValue(), EValue(), false, copies, format}) ==
                "");
        }
      }
    }
    CHECK(dispatch_differs("to.dtype", 0, {x, 7}) == "");
    CHECK(dispatch_differs("to.device", 0, {x, "cpu", 6}) == "");
    CHECK(dispatch_differs("to.other", 0, {x, *zeros({1}, ScalarType::Double)}) == "");
  }
}

}  // namespace torch_stable_aten_creators_test
