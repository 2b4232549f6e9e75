// SPDX-License-Identifier: MIT
// The values of a list have one type.
// expect: no match for call.*MakeTensor|no matching function.*MakeTensor
#include <tenon/tenon.h>

#if defined(CONTROL)
auto tensor = tenon::make_tensor_ptr({2, 3}, {1.0f, 2.5f});
#else
auto tensor = tenon::make_tensor_ptr({2, 3}, {1, 2.5f});
#endif
