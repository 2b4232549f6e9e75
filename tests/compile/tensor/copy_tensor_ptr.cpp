// SPDX-License-Identifier: MIT
// A TensorPtr has one owner; make_tensor_ptr(other) shares.
// expect: use of deleted function.*unique_ptr|call to deleted constructor.*TensorPtr
#include <tenon/tenon.h>

#if defined(CONTROL)
tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::make_tensor_ptr(t); }
#else
tenon::TensorPtr f(const tenon::TensorPtr& t) { return t; }
#endif
