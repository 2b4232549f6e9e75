// SPDX-License-Identifier: MIT
// A Result converts to bool only where a condition is asked for.
// expect: cannot convert.*Result.*'int'|no viable conversion.*Result.*'int'
#include <tenon/tenon.h>

#if defined(CONTROL)
bool f() { return static_cast<bool>(tenon::try_zeros({2})); }
#else
int f() { return tenon::try_zeros({2}); }
#endif
