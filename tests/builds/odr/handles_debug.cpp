// SPDX-License-Identifier: MIT
// A handle of a file that is built with NDEBUG, in one without, which looks for handles in a list
// if they are listed.
#include <tenon/interop/runtimes/aoti_handles.h>

#include "check.h"

static_assert(TENON_IS_CHECKED == 1, "this file must be built without NDEBUG");

// Of handles_release.cpp.
AtenTensorHandle make_handle();

int main() {
  const AtenTensorHandle handle = make_handle();
  ODR_CHECK(handle != nullptr);
  tenon::Tensor* found = nullptr;
  ODR_CHECK(tenon::detail::find_aoti_tensor(handle, found) == tenon::Error::Ok);
  ODR_CHECK(found->size(1) == 3);
  tenon::Tensor taken;
  ODR_CHECK(tenon::detail::take_aoti_tensor(handle, taken) == tenon::Error::Ok);
  ODR_CHECK(taken.numel() == 6);
}
