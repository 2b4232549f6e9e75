// SPDX-License-Identifier: MIT
// The half of debug_file.cpp that is built with NDEBUG: indices are not checked.
#include <tenon/tenon.h>

static_assert(TENON_IS_CHECKED == 0, "this file must be built with NDEBUG");

float element_unchecked(const tenon::Tensor& tensor, int64_t i, int64_t j) {
  auto elements = tensor.accessor<float, 2>();
  return elements[i][j] + elements(i, j);
}
