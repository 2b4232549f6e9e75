// SPDX-License-Identifier: MIT
// A bool is no size.
// expect: no matching function.*Dims|no matching constructor.*Dims
#include <tenon/tenon.h>

#if defined(CONTROL)
tenon::Dims dims{2, 3};
#else
tenon::Dims dims{2, true};
#endif
