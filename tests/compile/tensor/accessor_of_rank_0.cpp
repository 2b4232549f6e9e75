// SPDX-License-Identifier: MIT
// A tensor of rank 0 has no index.
// expect: a tensor of rank 0 has item
#include <tenon/tenon.h>

#if defined(CONTROL)
float f(const tenon::Tensor& t) { return t.accessor<float, 1>()[0]; }
#else
float f(const tenon::Tensor& t) { return *t.accessor<float, 0>().data(); }
#endif
