// SPDX-License-Identifier: MIT
// ExecuTorch's matchers for GoogleMock, if that is installed, and EXPECT_TENSOR_EQ and similar
// macros.
#pragma once

#include "tenon/compat/executorch_testing.h"

#if __has_include(<gmock/gmock.h>)
#include <gmock/gmock.h>

namespace executorch {
namespace runtime {
namespace testing {
inline namespace tenon_compat {

MATCHER_P(IsCloseTo, other, "") { return tensors_are_close(arg, other); }
MATCHER_P3(IsCloseToWithTol, other, rtol, atol, "") {
  return tensors_are_close(arg, other, rtol, atol);
}
MATCHER_P(IsEqualTo, other, "") { return tensors_are_close(arg, other, 0, 0.0); }

}  // namespace tenon_compat
}  // namespace testing
}  // namespace runtime
}  // namespace executorch

#define EXPECT_TENSOR_EQ(a, b) EXPECT_THAT((a), ::executorch::runtime::testing::IsEqualTo(b))
#define EXPECT_TENSOR_CLOSE(a, b) EXPECT_THAT((a), ::executorch::runtime::testing::IsCloseTo(b))
#define EXPECT_TENSOR_CLOSE_WITH_TOL(a, b, rtol, atol) \
  EXPECT_THAT((a), ::executorch::runtime::testing::IsCloseToWithTol(b, rtol, atol))
#define ASSERT_TENSOR_EQ(a, b) ASSERT_THAT((a), ::executorch::runtime::testing::IsEqualTo(b))
#define ASSERT_TENSOR_CLOSE(a, b) ASSERT_THAT((a), ::executorch::runtime::testing::IsCloseTo(b))
#define ASSERT_TENSOR_CLOSE_WITH_TOL(a, b, rtol, atol) \
  ASSERT_THAT((a), ::executorch::runtime::testing::IsCloseToWithTol(b, rtol, atol))
#endif
