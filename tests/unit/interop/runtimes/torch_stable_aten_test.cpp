// SPDX-License-Identifier: MIT
// What does not go by the dispatcher, and what the table calls at once.
#include "tenon/interop/runtimes/torch_stable_aten.h"

#include "interop/runtimes/torch_stable/dispatch.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/torch_stable_shim.h"

namespace torch_stable_aten_test {

using namespace tenon;
using dispatch_tests::dispatch_differs;
using dispatch_tests::Ints;
using dispatch_tests::layouts;

TEST_CASE("aten: views are torch's, and begin where torch's do") {
  for (const Tensor& x : layouts()) {
    for (const Ints& sizes : {Ints{24}, Ints{2, 12}, Ints{6, 4}, Ints{-1, 2}, Ints{2, 3, 4, 1},
                              Ints{2, 3, 2, 2}, Ints{5, 5}, Ints{2, 3, 4}, Ints{-1, -1}}) {
      INFO(x.strides());
      CHECK(dispatch_differs("view", 0, {x, sizes}) == "");
      CHECK(dispatch_differs("reshape", 0, {x, sizes}) == "");
    }
    for (const int64_t a : {0, 1, 2, -1, -3, 3}) {
      for (const int64_t b : {0, 1, 2, -1, -4}) {
        CHECK(dispatch_differs("flatten.using_ints", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("transpose.int", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("select.int", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("narrow", 0, {x, a, 1, b}) == "");
        CHECK(dispatch_differs("slice.Tensor", 0, {x, a, EValue(), b}) == "");
        CHECK(dispatch_differs("slice.Tensor", 0, {x, a, b, EValue(), 2}) == "");
      }
      CHECK(dispatch_differs("unsqueeze", 0, {x, a}) == "");
      CHECK(dispatch_differs("squeeze.dim", 0, {unsqueeze(x, 1), a}) == "");
      CHECK(dispatch_differs("squeeze.dim", 0, {x, a}) == "");
    }
    CHECK(dispatch_differs("squeeze", 0, {unsqueeze(unsqueeze(x, 1), -1)}) == "");
    CHECK(dispatch_differs("permute", 0, {x, Ints{2, 0, 1}}) == "");
    CHECK(dispatch_differs("permute", 0, {x, Ints{0, 0, 1}}) == "");
    CHECK(dispatch_differs("expand", 0, {x, Ints{5, 2, 3, -1}}) == "");
    CHECK(dispatch_differs("view.dtype", 0, {x, 3}) == "");
  }
  CHECK(dispatch_differs("view.dtype", 0, {*rand({3, 4}), 7}) == "");
  CHECK(dispatch_differs("view.dtype", 0, {*rand({3, 4}), 1}) == "");
  CHECK(dispatch_differs("flatten.using_ints", 0, {*scalar_tensor(1), 0, -1}) == "");
  CHECK(dispatch_differs("transpose.int", 0, {*scalar_tensor(1), 0, -1}) == "");
  CHECK(dispatch_differs("reshape", 0, {*zeros({0, 3}), Ints{3, 0}}) == "");
  CHECK(dispatch_differs("view", 0, {*zeros({0, 3}), Ints{0, -1}}) == "");
  CHECK(dispatch_differs("is_pinned", 0, {*zeros({3})}) == "");
}

TEST_CASE("aten: C functions that do not go by the dispatcher") {
  const std::vector<int64_t> two_three = {2, 3};
  const int64_t* const sizes = two_three.data();
  const char* const mode = "constant";
  int32_t types[] = {7, 1, 11, 0, 15};
  for (const double value : {0.0, 2.5, -1.0, 300.7}) {
    CHECK_PEER(aoti_torch_aten_full, 0, sizes, 2, value, nullptr, nullptr, nullptr, 0, nullptr);
    for (int32_t& type : types) {
      CHECK_PEER(aoti_torch_aten_full, 1e-2, sizes, 2, value, &type, nullptr, nullptr, 0, nullptr);
    }
  }
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Byte, ScalarType::Char, ScalarType::Long, ScalarType::Half,
        ScalarType::Bool, ScalarType::ComplexHalf, ScalarType::ComplexFloat}) {
    for (const Tensor& x : layouts(type)) {
      for (const double value : {1.0, -3.7, 300.7, 200.0, -129.0, -128.5, 1e30, -1e30}) {
        INFO(type << " " << value);
        CHECK_PEER(aoti_torch_aten_fill__Scalar, 0, x, value);
      }
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {-1, 1}, {}, {4}}) {
        const auto count = static_cast<int64_t>(dims.size());
        CHECK_PEER(aoti_torch_aten_amax, 0, x, dims.data(), count, 1);
      }
      for (const std::vector<int64_t>& pad :
           {std::vector<int64_t>{1, 2}, {0, 0, 2, 1}, {-1, 1, 1, -1}, {-3, -2}, {1}, {}}) {
        const auto count = static_cast<int64_t>(pad.size());
        double value = 4;
        INFO(type << x.strides() << count);
        CHECK_PEER(aoti_torch_aten_pad, 0, x, pad.data(), count, mode, &value);
        CHECK_PEER(aoti_torch_aten_pad, 0, x, pad.data(), count, mode, nullptr);
      }
      CHECK_PEER(aoti_torch_aten_narrow, 0, x, 1, 1, 2);
      CHECK_PEER(aoti_torch_aten_new_zeros, 0, x, sizes, 2, nullptr, nullptr, nullptr, 0, nullptr);
      for (const ScalarType other : {ScalarType::Float, ScalarType::Long, ScalarType::Byte}) {
        const Tensor y = to(*randint(0, 9, {3, 1}), other, CastMode::Truncate);
        for (const double alpha : {1.0, 2.0, 0.5}) {
          INFO(type << " " << other << " " << alpha);
          CHECK_PEER(aoti_torch_aten_subtract_Tensor, 1e-3, x, y, alpha);
        }
      }
    }
  }
}

}  // namespace torch_stable_aten_test
