// SPDX-License-Identifier: MIT
// The half of handles_debug.cpp that is built with NDEBUG and defines torch's functions.
#include <tenon/interop/aoti_shim.h>

static_assert(TENON_IS_CHECKED == 0, "this file must be built with NDEBUG");

AtenTensorHandle make_handle() {
  AtenTensorHandle made = nullptr;
  const auto tensor = tenon::zeros({2, 3});
  return tenon::detail::make_aoti_handle(*tensor, made) == tenon::Error::Ok ? made : nullptr;
}
