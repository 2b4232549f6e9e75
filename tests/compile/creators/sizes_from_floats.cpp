// SPDX-License-Identifier: MIT
// Sizes are integers: 2.5 rows are a mistake, not 2.
// expect: no match for call.*Constant|no matching function.*Constant
#include <tenon/tenon.h>

#if defined(CONTROL)
auto tensor = tenon::zeros({2, 3});
#else
auto tensor = tenon::zeros({2.5, 3.0});
#endif
