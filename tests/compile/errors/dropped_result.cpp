// SPDX-License-Identifier: MIT
// A Result that nobody reads is a bug; reported as a warning, an error here.
// expect: nodiscard
#include <tenon/tenon.h>

#if defined(CONTROL)
bool f() { return tenon::try_zeros({2}).ok(); }
#else
void f() { tenon::try_zeros({2}); }
#endif
