// SPDX-License-Identifier: MIT
#include "embedded/type_sizes.h"

#include "support/catch.h"

TEST_CASE("type sizes: each type has the size that the documentation gives") {
  for (const tests::TypeSize& type : tests::kTypeSizes) {
    CAPTURE(type.name);
    CHECK(type.bytes == type.expected);
  }
}
