// SPDX-License-Identifier: MIT
// What is moved or copied is told by hand.
#include "tenon/interop/runtimes/aoti_kernels_copies.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_copies_test {

using namespace tenon;

namespace {

/// What an operator answers; empty where it refuses.
std::vector<EValue> call(const char* name, std::initializer_list<EValue> inputs) {
  REQUIRE(detail::provide_operators(detail::kCopyOperators) == Error::Ok);
  Result<std::vector<EValue>> made = call_torch_operator(name, inputs);
  return made.ok() ? *std::move(made) : std::vector<EValue>();
}
TensorPtr floats(std::vector<int64_t> sizes, std::vector<float> values) {
  return make_tensor_ptr(std::move(sizes), std::move(values));
}
bool is(const std::vector<EValue>& given, const TensorPtr& expected) {
  return given.size() == 1 && equal(given[0].toTensor(), *expected);
}

}  // namespace

TEST_CASE("aoti_kernels: full, of the number's type or another", "[aoti_kernels_copies]") {
  const std::vector<int64_t> sizes = {2, 1};
  CHECK(is(call("aten::full", {sizes, 1.5}), floats({2, 1}, {1.5F, 1.5F})));
  CHECK(call("aten::full", {sizes, int64_t{3}}).at(0).toTensor().scalar_type() == kLong);
  CHECK(call("aten::full", {sizes, true}).at(0).toTensor().scalar_type() == kBool);
  const Tensor z = call("aten::full", {sizes, int64_t{3}, int64_t{9}}).at(0).toTensor();
  CHECK(z.scalar_type() == kComplexFloat);
  CHECK(static_cast<const std::complex<float>*>(z.const_data_ptr())[1] == 3.0F);
  CHECK(call("aten::full", {std::vector<int64_t>{-1}, 1.5}).empty());
}

TEST_CASE("aoti_kernels: copies keep strides, gaps too", "[aoti_kernels_copies]") {
  const TensorPtr x = floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor gaps = narrow(*x, 1, 0, 2);
  const std::vector<EValue> made = call("aten::copy", {gaps, *floats({2, 1}, {8, 9})});
  CHECK(is(made, floats({2, 2}, {8, 8, 9, 9})));
  CHECK(made.at(0).toTensor().strides() == ArrayRef<int64_t>({4, 1}));
  CHECK(equal(gaps, *floats({2, 2}, {0, 1, 4, 5})));
  CHECK(call("aten::copy", {gaps, *ones({3})}).empty());
  const Tensor repeated = expand(*ones({1}), {3});
  const std::vector<EValue> apart = call("aten::copy", {repeated, *floats({3}, {1, 2, 3})});
  CHECK(is(apart, floats({3}, {1, 2, 3})));
  CHECK(call("aten::clone", {transpose(*x, 0, 1)}).at(0).toTensor().strides() ==
        ArrayRef<int64_t>({1, 4}));
}

TEST_CASE("aoti_kernels: copies of which a part is replaced", "[aoti_kernels_copies]") {
  const TensorPtr x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  const TensorPtr two = floats({2, 2}, {6, 7, 8, 9});
  CHECK(is(call("aten::slice_scatter", {*x, *two, int64_t{1}, int64_t{-2}}),
           floats({2, 3}, {0, 6, 7, 3, 8, 9})));
  CHECK(is(call("aten::slice_scatter", {*x, *two, int64_t{-1}, None(), None(), int64_t{2}}),
           floats({2, 3}, {6, 1, 7, 8, 4, 9})));
  CHECK(is(call("aten::select_scatter", {*x, *floats({3}, {7, 8, 9}), int64_t{0}, int64_t{-1}}),
           floats({2, 3}, {0, 1, 2, 7, 8, 9})));
  CHECK(call("aten::slice_scatter", {*x, *two, int64_t{1}}).empty());
  CHECK(call("aten::slice_scatter", {*x, *two, int64_t{2}}).empty());
  CHECK(call("aten::select_scatter", {*x, *ones({3}), int64_t{0}, int64_t{2}}).empty());
  CHECK(equal(*x, *floats({2, 3}, {0, 1, 2, 3, 4, 5})));
}

TEST_CASE("aoti_kernels: where, padding, and views", "[aoti_kernels_copies]") {
  const TensorPtr holds = make_tensor_ptr({2, 1}, std::vector<bool>{true, false});
  const TensorPtr row = floats({3}, {1, 2, 3});
  const std::vector<EValue> made = call("aten::where.self", {*holds, *row, *scalar_tensor(9.0)});
  CHECK(is(made, floats({2, 3}, {1, 2, 3, 9, 9, 9})));
  CHECK(call("aten::where.self", {*row, *row, *row}).empty());
  CHECK(call("aten::where.self", {*holds, *row, *ones({2})}).empty());
  CHECK(is(call("aten::constant_pad_nd", {*row, std::vector<int64_t>{1, -1}, 7.0}),
           floats({3}, {7, 1, 2})));
  CHECK(call("aten::constant_pad_nd", {*row, std::vector<int64_t>{1}, 7.0}).empty());
  CHECK(is(call("prims::rev", {*row, std::vector<int64_t>{0}}), floats({3}, {3, 2, 1})));
  const auto at = [&](const std::vector<EValue>& view) {
    return view.at(0).toTensor().const_data_ptr();
  };
  CHECK(at(call("aten::expand", {*row, std::vector<int64_t>{2, 3}})) == row->const_data_ptr());
  CHECK(at(call("aten::unsqueeze", {*row, int64_t{0}})) == row->const_data_ptr());
  CHECK(at(call("aten::select.int", {*row, int64_t{0}, int64_t{1}})) ==
        row->const_data_ptr<float>() + 1);
  CHECK(call("aten::select.int", {*row, int64_t{0}, int64_t{3}}).empty());
}

}  // namespace aoti_kernels_copies_test
