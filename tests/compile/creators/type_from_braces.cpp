// SPDX-License-Identifier: MIT
// `{}` is a list; it does not mean the dtype whose number is 0.
// expect: could not convert.*TypeArg|no matching constructor.*TypeArg
#include <tenon/tenon.h>

#if defined(CONTROL)
tenon::TypeArg type = tenon::ScalarType::Byte;
#else
tenon::TypeArg type = {};
#endif
