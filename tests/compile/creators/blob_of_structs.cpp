// SPDX-License-Identifier: MIT
// Memory of an unknown type has to come as void*, with its dtype.
// expect: no match for call.*FromBlob|no matching function.*FromBlob
#include <tenon/tenon.h>

#if defined(CONTROL)
struct Pixel {
  float r, g, b;
};
Pixel pixels[2];
auto tensor = tenon::from_blob(static_cast<void*>(pixels), {2, 3}, tenon::ScalarType::Float);
#else
struct Pixel {
  float r, g, b;
};
Pixel pixels[2];
auto tensor = tenon::from_blob(pixels, {2, 3}, tenon::ScalarType::Float);
#endif
