// SPDX-License-Identifier: MIT
// With GoogleTest, in a program of its own.
#include "tenon/compat/executorch_matchers.h"

#include <gtest/gtest-spi.h>

namespace {

using executorch::aten::ScalarType, executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

TEST(Matchers, CompareTensors) {
  const TensorFactory<ScalarType::Float> floats;
  const Tensor a = floats.make({2}, {1, 2});
  const Tensor near = floats.make({2}, {1, 2.00001f});
  EXPECT_TENSOR_EQ(a, a);
  EXPECT_TENSOR_CLOSE(a, near);
  EXPECT_TENSOR_CLOSE_WITH_TOL(a, floats.make({2}, {1, 2.5f}), 0, 0.6);
  ASSERT_TENSOR_EQ(a, a);
  ASSERT_TENSOR_CLOSE(a, near);
  ASSERT_TENSOR_CLOSE_WITH_TOL(a, near, 0.1, 0);
}

TEST(Matchers, FailuresPrintTheTensor) {
  const TensorFactory<ScalarType::Int> ints;
  EXPECT_NONFATAL_FAILURE(EXPECT_TENSOR_EQ(ints.full({1}, 77), ints.ones({1})), "77");
}

}  // namespace
