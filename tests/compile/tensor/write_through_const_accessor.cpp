// SPDX-License-Identifier: MIT
// The elements of an accessor to const are const.
// expect: assignment of read-only|returns a const value
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(const tenon::Tensor& t) { t.accessor<float, 1>()[0] = 1; }
#else
void f(const tenon::Tensor& t) { t.accessor<const float, 1>()[0] = 1; }
#endif
