// SPDX-License-Identifier: MIT
// The half of debug_file.cpp that is built with NDEBUG, where indices are not checked. It defines torch's functions.
#include <tenon/interop/aoti_shim.h>
#include <tenon/tenon.h>

static_assert(TENON_IS_CHECKED == 0, "this file must be built with NDEBUG");

float element_unchecked(const tenon::Tensor& tensor, int64_t i, int64_t j) {
  auto elements = tensor.accessor<float, 2>();
  return elements[i][j] + elements(i, j);
}

AtenTensorHandle make_handle() {
  AtenTensorHandle made = nullptr;
  const auto tensor = tenon::zeros({2, 3});
  return tenon::detail::make_aoti_handle(*tensor, made) == tenon::Error::Ok ? made : nullptr;
}
