// SPDX-License-Identifier: MIT
// An impl is one tensor; handles are copied.
// expect: use of deleted function.*TensorImpl|call to deleted constructor.*TensorImpl
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(tenon::TensorImpl& impl) { tenon::Tensor copy(&impl); }
#else
void f(tenon::TensorImpl& impl) { tenon::TensorImpl copy(impl); }
#endif
