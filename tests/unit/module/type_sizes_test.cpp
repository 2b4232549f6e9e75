// SPDX-License-Identifier: MIT
#include "embedded/type_sizes.h"

#include "support/catch.h"

namespace type_sizes_test {

TEST_CASE("type sizes: each type has the size that the documentation gives") {
  for (const tests::TypeSize& type : tests::kTypeSizes) {
    CAPTURE(type.name);
#if TENON_ATEN_MODE  // whose types these are
    const std::string name = type.name;
    if (name == "Tensor" || name == "TensorImpl" || name == "Scalar") continue;
#endif
#if defined(__i386__)  // where 64-bit integers are aligned to 4 bytes
    CHECK(type.bytes <= type.expected);
#else
    CHECK(type.bytes == type.expected);
#endif
  }
}

}  // namespace type_sizes_test
