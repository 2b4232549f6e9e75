// SPDX-License-Identifier: MIT
// ExecuTorch's matchers for GoogleMock, where it is installed, and EXPECT_TENSOR_EQ and its kin.
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
MATCHER_P(IsDataCloseTo, other, "") { return tensor_data_is_close(arg, other); }
MATCHER_P3(IsDataCloseToWithTol, other, rtol, atol, "") {
  return tensor_data_is_close(arg, other, rtol, atol);
}
MATCHER_P(IsDataEqualTo, other, "") { return tensor_data_is_close(arg, other, 0, 0.0); }
MATCHER_P(IsListCloseTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size());
}
MATCHER_P(IsListEqualTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size(), 0, 0.0);
}

}  // namespace tenon_compat
}  // namespace testing
}  // namespace runtime
}  // namespace executorch

#define TENON_DETAIL_ET_IS(matcher) ::executorch::runtime::testing::Is##matcher
#define TENON_DETAIL_ET_IS_NOT(matcher) ::testing::Not(TENON_DETAIL_ET_IS(matcher))
#define EXPECT_TENSOR_EQ(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(EqualTo(b)))
#define EXPECT_TENSOR_NE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(EqualTo(b)))
#define EXPECT_TENSOR_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(CloseTo(b)))
#define EXPECT_TENSOR_NOT_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(CloseTo(b)))
#define EXPECT_TENSOR_CLOSE_WITH_TOL(a, b, rtol, atol) \
  EXPECT_THAT((a), TENON_DETAIL_ET_IS(CloseToWithTol(b, rtol, atol)))
#define EXPECT_TENSOR_NOT_CLOSE_WITH_TOL(a, b, rtol, atol) \
  EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(CloseToWithTol(b, rtol, atol)))
#define EXPECT_TENSOR_DATA_EQ(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(DataEqualTo(b)))
#define EXPECT_TENSOR_DATA_NE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(DataEqualTo(b)))
#define EXPECT_TENSOR_DATA_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(DataCloseTo(b)))
#define EXPECT_TENSOR_DATA_NOT_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(DataCloseTo(b)))
#define EXPECT_TENSOR_LISTS_EQ(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(ListEqualTo(b)))
#define EXPECT_TENSOR_LISTS_NE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(ListEqualTo(b)))
#define EXPECT_TENSOR_LISTS_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS(ListCloseTo(b)))
#define EXPECT_TENSOR_LISTS_NOT_CLOSE(a, b) EXPECT_THAT((a), TENON_DETAIL_ET_IS_NOT(ListCloseTo(b)))
#define ASSERT_TENSOR_EQ(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS(EqualTo(b)))
#define ASSERT_TENSOR_NE(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS_NOT(EqualTo(b)))
#define ASSERT_TENSOR_CLOSE(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS(CloseTo(b)))
#define ASSERT_TENSOR_NOT_CLOSE(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS_NOT(CloseTo(b)))
#define ASSERT_TENSOR_CLOSE_WITH_TOL(a, b, rtol, atol) \
  ASSERT_THAT((a), TENON_DETAIL_ET_IS(CloseToWithTol(b, rtol, atol)))
#define ASSERT_TENSOR_DATA_EQ(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS(DataEqualTo(b)))
#define ASSERT_TENSOR_LISTS_EQ(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS(ListEqualTo(b)))
#define ASSERT_TENSOR_LISTS_CLOSE(a, b) ASSERT_THAT((a), TENON_DETAIL_ET_IS(ListCloseTo(b)))
#endif
