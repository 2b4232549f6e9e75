// SPDX-License-Identifier: MIT
// Fewer indices than dimensions are a mistake.
// expect: as many indices as dimensions
#include <tenon/tenon.h>

#if defined(CONTROL)
float f(const tenon::Tensor& t) { return t.accessor<float, 2>()(0, 1); }
#else
float f(const tenon::Tensor& t) { return t.accessor<float, 2>()(0); }
#endif
