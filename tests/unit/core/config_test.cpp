// SPDX-License-Identifier: MIT
#include "support/catch.h"
#include "tenon/tenon.h"

namespace config_test {

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

TENON_BEGIN_NAMESPACE
TENON_END_NAMESPACE

#if TENON_VERSION_MAJOR < 0 || TENON_VERSION_MINOR < 0 || TENON_VERSION_PATCH < 0
#error "the version is three numbers that the preprocessor can compare"
#endif

TEST_CASE("config: the inline namespace is named after version, mode and switches") {
  // From 1.0 on minor versions share a name, unless a layout has changed.
  const std::string minor =
      (TENON_VERSION_MAJOR == 0 ? "_" + std::to_string(TENON_VERSION_MINOR) : "") + "_abi3";
  CHECK(std::string(TEXT_OF(TENON_ABI_NAMESPACE)) ==
        "v" + std::to_string(TENON_VERSION_MAJOR) + minor + "_plain" +
            (TENON_PORTABLE ? "_portable" : "") + (TENON_MARKS_FREE_MEMORY ? "_asan" : ""));
}

}  // namespace config_test
