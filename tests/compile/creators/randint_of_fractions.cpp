// SPDX-License-Identifier: MIT
// randint's bounds are integers: 2.9 is a mistake, not 2.
// expect: no match for call.*Random|no matching function.*Random
#include <tenon/tenon.h>

#if defined(CONTROL)
auto tensor = tenon::randint(0, 2, {4});
#else
auto tensor = tenon::randint(0, 2.9, {4});
#endif
