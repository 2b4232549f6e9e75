// SPDX-License-Identifier: MIT
// A deleter takes the pointer.
// expect: no match for call.*FromBlob|no matching function.*FromBlob
#include <tenon/tenon.h>

#if defined(CONTROL)
float data[1];
auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, [](void*) {});
#else
float data[1];
auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, []() {});
#endif
