// SPDX-License-Identifier: MIT
// Compiled without USE_ATEN_LIB as well, but with interop/aten.h: what an ATen-mode file makes is
// an at::Tensor, and that is known here too.
#include <tenon/interop/aten.h>
#include <tenon/tenon.h>

static_assert(TENON_ATEN_MODE == 0, "this file must be compiled without USE_ATEN_LIB");

/// Adds one to every element through a tensor of plain mode, and returns that as an at::Tensor.
at::Tensor increment_in_plain_mode(const at::Tensor& given) {
  const tenon::TensorPtr tensor = tenon::clone_tensor_ptr(tenon::from_aten(given));
  for (float& element : tensor->data<float>()) element += 1;
  return tenon::to_aten(*tensor);
}
