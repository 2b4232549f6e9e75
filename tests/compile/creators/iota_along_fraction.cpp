// SPDX-License-Identifier: MIT
// An axis is an integer: 1.7 is a mistake, not 1.
// expect: no match for call.*Iota|no matching function.*Iota
#include <tenon/tenon.h>

#if defined(CONTROL)
auto tensor = tenon::iota({2, 2}, 1);
#else
auto tensor = tenon::iota({2, 2}, 1.7);
#endif
