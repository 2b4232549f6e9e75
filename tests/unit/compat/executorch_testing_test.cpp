// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_testing.h"

#include <limits>
#include <vector>

#include "support/catch.h"

namespace executorch_testing_test {

namespace {

using executorch::aten::ScalarType, executorch::aten::Tensor, executorch::aten::TensorShapeDynamism;
using executorch::runtime::testing::TensorFactory, executorch::runtime::testing::tensors_are_close;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("compat: TensorFactory makes tensors that own their memory") {
  Tensor kept = TensorFactory<ScalarType::Float>().make({2, 2}, {1, 2, 3, 4});
  CHECK(kept.scalar_type() == ScalarType::Float);
  CHECK(kept.const_data_ptr<float>()[3] == 4.0f);
  CHECK(kept.shape_dynamism() == TensorShapeDynamism::STATIC);
  const TensorFactory<ScalarType::Int> ints;
  const Tensor column = ints.make({2, 2}, {1, 2, 3, 4}, {1, 2}, TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(column.stride(1) == 2);
  CHECK(column.const_data_ptr<int32_t>()[1] == 2);
  CHECK(ints.full({3}, 7).const_data_ptr<int32_t>()[2] == 7);
  CHECK(ints.zeros({}).numel() == 1);
  CHECK(ints.ones({0, 2}).numel() == 0);
  CHECK(ints.ones_like(kept).const_data_ptr<int32_t>()[3] == 1);
  CHECK(ints.zeros_like(kept).const_data_ptr<int32_t>()[3] == 0);
  CHECK(ints.zeros(std::vector<int32_t>{4}).size(0) == 4);
  const Tensor flags = TensorFactory<ScalarType::Bool>().make({2}, {1, 0});
  CHECK((flags.const_data_ptr<bool>()[0] && !flags.const_data_ptr<bool>()[1]));
  CHECK(TensorFactory<ScalarType::Byte>().full({2}, 9).const_data_ptr<uint8_t>()[1] == 9);
  CHECK(TensorFactory<ScalarType::Half>().ones({2}).const_data_ptr<executorch::aten::Half>()[1] ==
        1.0f);
  CHECK(TensorFactory<ScalarType::Long>().make({1}, {5}).const_data_ptr<int64_t>()[0] == 5);
#if TENON_EXCEPTIONS
  CHECK_THROWS_AS(ints.make({3}, {1, 2}), tenon::Exception);
  CHECK_THROWS_AS(ints.make({2, 2}, {1, 2, 3, 4}, {1}), tenon::Exception);
#endif
}

TEST_CASE("compat: TensorFactory's orders of memory") {
  const TensorFactory<ScalarType::Int> ints;
  CHECK(ints.make_with_dimorder({2, 2}, {1, 2, 3, 4}).stride(1) == 1);
  const Tensor columns = ints.make_with_dimorder({2, 2}, {1, 3, 2, 4}, {1, 0});
  CHECK(columns.stride(1) == 2);
  const Tensor rows = ints.make({2, 2}, {1, 2, 3, 4});
  CHECK(tensors_are_close(rows, columns));
}

TEST_CASE("compat: tensors_are_close") {
  const TensorFactory<ScalarType::Float> floats;
  const Tensor a = floats.make({3}, {1, kNan, kInfinity});
  CHECK(tensors_are_close(a, a));
  CHECK(tensors_are_close(a, floats.make({3}, {1.000001f, kNan, kInfinity})));
  CHECK_FALSE(tensors_are_close(a, floats.make({3}, {1.000001f, kNan, kInfinity}), 0, 0.0));
  CHECK(tensors_are_close(a, floats.make({3}, {1.5f, kNan, kInfinity}), 0, 0.6));
  CHECK_FALSE(tensors_are_close(a, floats.make({3}, {1, kNan, -kInfinity}), 1, 1.0));
  CHECK_FALSE(tensors_are_close(a, floats.make({3}, {1, 0, kInfinity}), 1, 1.0));
  CHECK_FALSE(tensors_are_close(a, floats.make({3, 1}, {1, kNan, kInfinity})));
  CHECK_FALSE(tensors_are_close(floats.ones({1}), TensorFactory<ScalarType::Double>().ones({1})));
  CHECK(tensors_are_close(floats.ones({0}), floats.ones({0})));
  // Tolerances are for floating values; Half's and BFloat16's are larger.
  const TensorFactory<ScalarType::Int> ints;
  CHECK_FALSE(tensors_are_close(ints.full({1}, 100), ints.full({1}, 101), 1, 10.0));
  const TensorFactory<ScalarType::Half> halves;
  CHECK(tensors_are_close(halves.zeros({1}), halves.full({1}, 0.0009f)));
  CHECK_FALSE(tensors_are_close(halves.zeros({1}), halves.full({1}, 0.002f)));
  const TensorFactory<ScalarType::BFloat16> bfloats;
  CHECK(tensors_are_close(bfloats.zeros({1}), bfloats.full({1}, 0.009f)));
  CHECK_FALSE(tensors_are_close(bfloats.zeros({1}), bfloats.full({1}, 0.02f)));
}

}  // namespace executorch_testing_test
