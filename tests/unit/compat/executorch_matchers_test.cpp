// SPDX-License-Identifier: MIT
// With GoogleTest, in a program of its own.
#include "tenon/compat/executorch_matchers.h"

#include <gtest/gtest-spi.h>

#include <vector>

namespace {

using executorch::aten::ScalarType, executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

TEST(Matchers, CompareTensors) {
  const TensorFactory<ScalarType::Float> floats;
  const Tensor a = floats.make({2}, {1, 2});
  const Tensor near = floats.make({2}, {1, 2.00001f});
  const Tensor column = floats.make({2, 1}, {1, 2});
  EXPECT_TENSOR_EQ(a, a);
  EXPECT_TENSOR_NE(a, near);
  EXPECT_TENSOR_CLOSE(a, near);
  EXPECT_TENSOR_NOT_CLOSE(a, column);
  EXPECT_TENSOR_CLOSE_WITH_TOL(a, floats.make({2}, {1, 2.5f}), 0, 0.6);
  EXPECT_TENSOR_NOT_CLOSE_WITH_TOL(a, near, 0, 1e-9);
  EXPECT_TENSOR_DATA_EQ(a, column);
  EXPECT_TENSOR_DATA_NE(a, near);
  EXPECT_TENSOR_DATA_CLOSE(near, column);
  EXPECT_TENSOR_DATA_NOT_CLOSE(floats.ones({2}), column);
  const std::vector<Tensor> list = {a, column};
  EXPECT_TENSOR_LISTS_EQ(list, list);
  EXPECT_TENSOR_LISTS_NE(list, (std::vector<Tensor>{a}));
  EXPECT_TENSOR_LISTS_CLOSE(list, (std::vector<Tensor>{near, column}));
  EXPECT_TENSOR_LISTS_NOT_CLOSE(list, (std::vector<Tensor>{column, a}));
  ASSERT_TENSOR_EQ(a, a);
  ASSERT_TENSOR_NE(a, near);
  ASSERT_TENSOR_CLOSE(a, near);
  ASSERT_TENSOR_NOT_CLOSE(a, column);
  ASSERT_TENSOR_CLOSE_WITH_TOL(a, near, 0.1, 0);
  ASSERT_TENSOR_DATA_EQ(a, column);
  ASSERT_TENSOR_LISTS_EQ(list, list);
  ASSERT_TENSOR_LISTS_CLOSE(list, list);
}

TEST(Matchers, FailuresPrintTheTensor) {
  const TensorFactory<ScalarType::Int> ints;
  EXPECT_NONFATAL_FAILURE(EXPECT_TENSOR_EQ(ints.full({1}, 77), ints.ones({1})), "77");
}

}  // namespace
