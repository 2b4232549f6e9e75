// SPDX-License-Identifier: MIT
// An Error that nobody reads is a bug; reported as a warning, an error here.
// expect: nodiscard
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(tenon::TensorPtr& t) {
  if (tenon::resize_tensor_ptr(t, {2}) != tenon::Error::Ok) return;
}
#else
void f(tenon::TensorPtr& t) { tenon::resize_tensor_ptr(t, {2}); }
#endif
