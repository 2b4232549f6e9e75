// SPDX-License-Identifier: MIT
// TENON_CHECK is one statement and steals no else.
// expect: 'else' without a previous 'if'|expected expression
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(bool a) {
  if (a)
    TENON_CHECK(a, tenon::Error::Internal, "x");
  else
    return;
}
#else
void f(bool a) {
  TENON_CHECK(a, tenon::Error::Internal, "x");
  else return;
}
#endif
