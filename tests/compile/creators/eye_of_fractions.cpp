// SPDX-License-Identifier: MIT
// Counts are integers: 2.9 columns are a mistake, not 2.
// expect: no match for call.*Eye|no matching function.*Eye
#include <tenon/tenon.h>

#if defined(CONTROL)
auto tensor = tenon::eye(2, 2);
#else
auto tensor = tenon::eye(2, 2.9);
#endif
