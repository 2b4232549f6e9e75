// SPDX-License-Identifier: MIT
// Expected numbers are torch 2.15's.
#include "tenon/interop/runtimes/aoti_kernels_operators.h"

#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_operators_test {

using namespace tenon;

namespace {

/// What an operator answers; empty where it refuses.
std::vector<EValue> call(const char* name, std::initializer_list<EValue> inputs) {
  REQUIRE(detail::provide_operators(detail::kAotiOperators) == Error::Ok);
  Result<std::vector<EValue>> made = call_torch_operator(name, inputs);
  return made.ok() ? *std::move(made) : std::vector<EValue>();
}
TensorPtr longs(std::vector<int64_t> sizes, std::vector<int64_t> values) {
  return make_tensor_ptr(std::move(sizes), std::move(values));
}
TensorPtr floats(std::vector<int64_t> sizes, std::vector<float> values) {
  return make_tensor_ptr(std::move(sizes), std::move(values));
}
bool is(const EValue& value, const TensorPtr& expected) {
  return equal(value.toTensor(), *expected);
}

}  // namespace

TEST_CASE("aoti_kernels: median of a dimension, as the stable sort's middle element",
          "[aoti_kernels_operators]") {
  const TensorPtr x = floats({2, 4}, {3, 1, 1, 2, NAN, 5, 4, NAN});
  const std::vector<EValue> plain = call("aoti::none", {*x});
  CHECK(plain.empty());
  const std::vector<EValue> median = call("aten::median.dim", {*x, int64_t{1}, true});
  REQUIRE(median.size() == 2);
  CHECK(median[0].toTensor().sizes() == ArrayRef<int64_t>({2, 1}));
  CHECK(std::isnan(median[0].toTensor().const_data_ptr<float>()[1]));
  CHECK(is(median[1], longs({2, 1}, {2, 0})));
  const std::vector<EValue> without = call("aten::nanmedian.dim", {*x, int64_t{-1}, false});
  CHECK(is(without[0], floats({2}, {1, 4})));
  CHECK(is(without[1], longs({2}, {2, 2})));
  CHECK(call("aten::median.dim", {*x, int64_t{2}, false}).empty());
}

TEST_CASE("aoti_kernels: bincount counts, or adds up weights", "[aoti_kernels_operators]") {
  const TensorPtr x = longs({4}, {1, 3, 1, 0});
  CHECK(is(call("aten::bincount", {*x}).at(0), longs({4}, {1, 2, 0, 1})));
  CHECK(is(call("aten::bincount", {*x, None(), int64_t{6}}).at(0), longs({6}, {1, 2, 0, 1, 0, 0})));
  const TensorPtr weights = floats({4}, {0.5F, 1, 2, 4});
  CHECK(is(call("aten::bincount", {*x, *weights}).at(0), floats({4}, {4, 2.5F, 0, 1})));
  CHECK(call("aten::bincount", {*x, *x}).at(0).toTensor().scalar_type() == kDouble);
  CHECK(
      is(call("aten::bincount", {*longs({0}, {}), None(), int64_t{2}}).at(0), longs({2}, {0, 0})));
  CHECK(call("aten::bincount", {*longs({2}, {1, -1})}).empty());
  CHECK(call("aten::bincount", {*floats({2}, {1, 1})}).empty());
  CHECK(call("aten::bincount", {*x, *floats({2}, {1, 1})}).empty());
}

TEST_CASE("aoti_kernels: unique elements, their places and counts", "[aoti_kernels_operators]") {
  const TensorPtr x = longs({2, 2}, {2, 1, 2, 3});
  const std::vector<EValue> made = call("aten::_unique2", {*x, false, true, true});
  REQUIRE(made.size() == 3);
  CHECK(is(made[0], longs({3}, {1, 2, 3})));
  CHECK(is(made[1], longs({2, 2}, {1, 0, 1, 2})));
  CHECK(is(made[2], longs({3}, {1, 2, 1})));
  const std::vector<EValue> values = call("aten::_unique2", {*x});
  CHECK(is(values[1], longs({0}, {})));
  CHECK(is(values[2], longs({0}, {})));
  const TensorPtr nan = floats({5}, {NAN, 1, NAN, 0, -0.0F});
  const std::vector<EValue> apart = call("aten::_unique2", {*nan, true, true, true});
  CHECK(is(apart[1], longs({5}, {2, 1, 3, 0, 0})));
  CHECK(is(apart[2], longs({4}, {2, 1, 1, 1})));
  CHECK(is(call("aten::_unique2", {*scalar_tensor(1.0), true, true, true})[1],
           make_tensor_ptr(std::vector<int64_t>{}, std::vector<int64_t>{0})));
}

TEST_CASE("aoti_kernels: unique slices of a dimension", "[aoti_kernels_operators]") {
  const TensorPtr x = floats({3, 3}, {1, 2, 1, 1, 2, 1, 0, 0, 0});
  const std::vector<EValue> rows = call("aten::unique_dim", {*x, int64_t{0}});
  CHECK(is(rows[0], floats({2, 3}, {0, 0, 0, 1, 2, 1})));
  CHECK(is(rows[1], longs({3}, {1, 1, 0})));
  CHECK(is(rows[2], longs({2}, {1, 2})));
  const std::vector<EValue> columns = call("aten::unique_dim", {*x, int64_t{1}});
  CHECK(is(columns[0], floats({3, 2}, {1, 2, 1, 2, 0, 0})));
  CHECK(columns[0].toTensor().strides() == ArrayRef<int64_t>({1, 3}));
  CHECK(is(columns[1], longs({3}, {0, 1, 0})));
  CHECK(call("aten::unique_dim", {*zeros({0, 3}), int64_t{0}}).size() == 3);
  CHECK(call("aten::unique_dim", {*zeros({0, 3}), int64_t{1}}).empty());
  CHECK(call("aten::unique_dim", {*scalar_tensor(1.0), int64_t{0}}).empty());
}

TEST_CASE("aoti_kernels: unique_consecutive joins neighbours alone", "[aoti_kernels_operators]") {
  const TensorPtr x = longs({2, 2}, {2, 2, 3, 2});
  const std::vector<EValue> made = call("aten::unique_consecutive", {*x, true, true});
  CHECK(is(made[0], longs({3}, {2, 3, 2})));
  CHECK(is(made[1], longs({2, 2}, {0, 0, 1, 2})));
  CHECK(is(made[2], longs({3}, {2, 1, 1})));
  CHECK(is(call("aten::unique_consecutive", {*x})[1], longs({0}, {})));
  const std::vector<EValue> rows =
      call("aten::unique_consecutive", {*longs({3, 1}, {4, 4, 5}), true, true, int64_t{0}});
  CHECK(is(rows[0], longs({2, 1}, {4, 5})));
  CHECK(is(rows[1], longs({3}, {0, 0, 1})));
}

TEST_CASE("aoti_kernels: multinomial draws by weight", "[aoti_kernels_operators]") {
  manual_seed(1);
  const TensorPtr weights = floats({2, 3}, {1, 0, 3, 0, 0, 5});
  const Tensor drawn = call("aten::multinomial", {*weights, int64_t{4000}, true}).at(0).toTensor();
  CHECK(drawn.sizes() == ArrayRef<int64_t>({2, 4000}));
  int64_t counts[2][3] = {};
  for (int64_t i = 0; i < 8000; ++i) ++counts[i / 4000][drawn.const_data_ptr<int64_t>()[i]];
  CHECK(counts[0][1] == 0);
  CHECK(counts[0][2] == Approx(3000).epsilon(0.05));
  CHECK(counts[1][2] == 4000);
  const Tensor all =
      call("aten::multinomial", {*floats({3}, {1, 0, 3}), int64_t{3}, false}).at(0).toTensor();
  CHECK(all.const_data_ptr<int64_t>()[2] == 1);
  CHECK(call("aten::multinomial", {*weights, int64_t{4}, false}).empty());
  CHECK(call("aten::multinomial", {*floats({2}, {0, 0}), int64_t{1}, true}).empty());
  CHECK(call("aten::multinomial", {*floats({2}, {-1, 2}), int64_t{1}, true}).empty());
  CHECK(call("aten::multinomial", {*floats({2}, {NAN, 2}), int64_t{1}, true}).empty());
}

}  // namespace aoti_kernels_operators_test
