// SPDX-License-Identifier: MIT
#include "support/catch.h"
#include "tenon/tenon.h"

namespace config_test {

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

TENON_BEGIN_NAMESPACE
inline int answer_of_config_test() { return 42; }
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

TEST_CASE("config: a name declared in tenon is the one in the inline namespace") {
  CHECK(tenon::answer_of_config_test() == 42);
  CHECK(&tenon::answer_of_config_test == &tenon::TENON_ABI_NAMESPACE::answer_of_config_test);
  static_assert(std::is_same_v<::tenon::Error, ::tenon::TENON_VALUE_NAMESPACE::Error>);
}

TEST_CASE("config: TENON_UNLIKELY keeps the truth of its condition") {
  // Two is true, and a bitwise builtin that kept the number would compare unequal to 1.
  const int two = 2;
  const int zero = 0;
  const int* null = nullptr;
  CHECK((TENON_UNLIKELY(two) ? 'y' : 'n') == 'y');
  CHECK((TENON_UNLIKELY(zero) ? 'y' : 'n') == 'n');
  CHECK((TENON_UNLIKELY(&two) ? 'y' : 'n') == 'y');
  CHECK((TENON_UNLIKELY(null) ? 'y' : 'n') == 'n');
}

}  // namespace config_test
