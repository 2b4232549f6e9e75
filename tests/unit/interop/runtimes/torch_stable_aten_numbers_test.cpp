// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_aten_numbers.h"

#include "interop/runtimes/torch_stable/dispatch.h"

namespace torch_stable_aten_numbers_test {

using namespace tenon;
using dispatch_tests::dispatch_differs;
using dispatch_tests::Ints;
using dispatch_tests::layouts;

TEST_CASE("aten: sums and largest elements") {
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::Byte, ScalarType::Int,
        ScalarType::Bool, ScalarType::ComplexFloat}) {
    for (const Tensor& x : layouts(type)) {
      for (const EValue& dims : {EValue(), EValue(Ints{}), EValue(Ints{0}), EValue(Ints{-1, 0}),
                                 EValue(Ints{1, 1}), EValue(Ints{7})}) {
        for (const bool keeps : {false, true}) {
          CHECK(dispatch_differs("sum.dim_IntList", 1e-3, {x, dims, keeps}) == "");
          if (dims.isNone() || isComplexType(type)) continue;
          CHECK(dispatch_differs("amax", 0, {x, dims, keeps}) == "");
        }
      }
      CHECK(dispatch_differs("sum.dim_IntList", 1e-3, {x, Ints{1}, false, 7}) == "");
      CHECK(dispatch_differs(
                "sum.IntList_out", 1e-3,
                {x, Ints{1}, false, EValue(),
                 *zeros({2, 4}, isIntegralType(type, true) ? ScalarType::Long : type)}) == "");
    }
  }
  CHECK(dispatch_differs("sum.dim_IntList", 0, {*zeros({2, 0}), Ints{1}}) == "");
  CHECK(dispatch_differs("sum.dim_IntList", 0, {*scalar_tensor(4), Ints{0}}) == "");
  CHECK(dispatch_differs("amax", 0, {*zeros({2, 0}), Ints{1}}) == "");
  CHECK(dispatch_differs("amax", 0, {*zeros({0, 2}), Ints{1}}) == "");
  for (const Ints& dims : {Ints{-1}, Ints{0, 0}, Ints{0, -1}, Ints{1}}) {
    CHECK(dispatch_differs("amax", 0, {*scalar_tensor(4), dims}) == "");
    CHECK(dispatch_differs("sum.dim_IntList", 0, {*scalar_tensor(4), dims}) == "");
  }
  CHECK(dispatch_differs("amax", 0, {*make_tensor_ptr({3}, {1.0f, NAN, 2.0f}), Ints{0}}) == "");
}

TEST_CASE("aten: products of all ranks") {
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Long, ScalarType::ComplexDouble}) {
    const auto numbers = [&](const Dims& sizes) {
      return to(*randint(-9, 9, sizes, ScalarType::Double), type, CastMode::Truncate);
    };
    const std::vector<Tensor> left = {numbers({4}),
                                      numbers({3, 4}),
                                      numbers({2, 3, 4}),
                                      transpose(numbers({4, 3}), 0, 1),
                                      numbers({5, 2, 3, 4}),
                                      numbers({0, 4}),
                                      expand(numbers({1, 3, 4}), {2, 3, 4})};
    const std::vector<Tensor> right = {numbers({4}),       numbers({4, 6}),
                                       numbers({2, 4, 6}), transpose(numbers({6, 4}), 0, 1),
                                       numbers({1, 4, 6}), numbers({3, 6})};
    for (const Tensor& a : left) {
      for (const Tensor& b : right) {
        INFO(a.sizes() << a.strides() << b.sizes() << b.strides());
        CHECK(dispatch_differs("matmul", 1e-4, {a, b}) == "");
        CHECK(dispatch_differs("mm", 1e-4, {a, b}) == "");
      }
    }
    CHECK(dispatch_differs("mm.out", 1e-4,
                           {numbers({3, 4}), numbers({4, 2}), transpose(numbers({2, 3}), 0, 1)}) ==
          "");
  }
  CHECK(dispatch_differs("matmul", 0, {*ones({2, 2}), *ones({2, 2}, ScalarType::Double)}) == "");
  CHECK(dispatch_differs("matmul", 0, {*scalar_tensor(2), *ones({2})}) == "");
}

TEST_CASE("aten: quotients and bits, broadcast, of promoted types") {
  const std::vector<ScalarType> types = {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                                         ScalarType::Byte,  ScalarType::Char,   ScalarType::Long,
                                         ScalarType::Bool};
  for (const ScalarType first : types) {
    const std::vector<Tensor> all = layouts(first);
    for (const ScalarType second : types) {
      std::vector<Tensor> others = {to(*randint(1, 6, {2, 3, 4}), second, CastMode::Truncate),
                                    to(*randint(1, 6, {3, 1}), second, CastMode::Truncate),
                                    to(*scalar_tensor(3), second, CastMode::Truncate)};
      for (const char* name :
           {"div.Tensor", "floor_divide", "bitwise_and.Tensor", "bitwise_or.Tensor",
            "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"}) {
        for (const Tensor& y : others) {
          for (const Tensor& x : {all[0], all[1], all[4]}) {
            INFO(name << " " << first << x.strides() << " " << second << y.sizes());
            CHECK(dispatch_differs(name, 1e-3, {x, y}) == "");
          }
        }
      }
    }
  }
  CHECK(dispatch_differs("floor_divide", 0,
                         {*ones({2}, ScalarType::Int), *zeros({2}, ScalarType::Int)}) == "");
  CHECK(dispatch_differs("floor_divide", 0, {*ones({2}), *zeros({2})}) == "");
  CHECK(dispatch_differs("floor_divide", 0,
                         {*zeros({0}, ScalarType::Int), *zeros({1}, ScalarType::Int)}) == "");
  CHECK(dispatch_differs("div.Tensor", 0, {*ones({2}), *zeros({3})}) == "");
}

}  // namespace torch_stable_aten_numbers_test
