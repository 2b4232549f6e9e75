// SPDX-License-Identifier: MIT
// Shapes; the numbers are format_numbers_test's.
#include "tenon/tensor/format.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace format_suite {

using namespace tenon;
using namespace tests;

TEST_CASE("format: rows, columns and the type") {
  CHECK(to_string(counted({2, 2})) == "[[0 1]\n [2 3]]\nInt {2, 2}");
  CHECK(to_string(transpose(counted({2, 2}), 0, 1)).substr(0, 13) == "[[0 2]\n [1 3]");
  CHECK(to_string(make_tensor_ptr({0.5f, -1.0f})) == "[ 0.5 -1. ]\nFloat {2}");
  CHECK(to_string(make_tensor_ptr(true)) == "True\nBool {}");
  CHECK(to_string(zeros({0, 3})) == "[]\nFloat {0, 3}");
}

TEST_CASE("format: errors name the function, the value and what was expected") {
  RETURNS(InvalidArgument, "size -1 of dimension 0 is negative in sizes {-1}",
          try_zeros({-1}).error());
  TensorPtr t = make_tensor_ptr({1, 2, 3, 4, 5, 6});
  RETURNS(
      InvalidArgument,
      "resize_tensor_ptr: sizes {4, 4} hold 16 elements, this DYNAMIC_BOUND tensor has room for 6",
      resize_tensor_ptr(t, {4, 4}));
}

}  // namespace format_suite
