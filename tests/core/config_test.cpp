// SPDX-License-Identifier: MIT
#include "support/catch.h"
#include "tenon/tenon.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

TENON_BEGIN_NAMESPACE
inline int answer_of_config_test() { return 42; }
TENON_END_NAMESPACE

#if TENON_VERSION_MAJOR < 0 || TENON_VERSION_MINOR < 0 || TENON_VERSION_PATCH < 0
#error "the version is three numbers that the preprocessor can compare"
#endif

TEST_CASE("config: the inline namespace is named after the version and the mode") {
  // From 1.0 on minor versions are compatible, and share a name.
  const std::string minor =
      TENON_VERSION_MAJOR == 0 ? "_" + std::to_string(TENON_VERSION_MINOR) : "";
  CHECK(std::string(TEXT_OF(TENON_ABI_NAMESPACE)) ==
        "v" + std::to_string(TENON_VERSION_MAJOR) + minor + "_plain");
}

TEST_CASE("config: a name declared in tenon is the one in the inline namespace") {
  CHECK(tenon::answer_of_config_test() == 42);
  CHECK(&tenon::answer_of_config_test == &tenon::TENON_ABI_NAMESPACE::answer_of_config_test);
}

TEST_CASE("config: exceptions are seen where they are enabled") {
  bool caught = false;
  try {
    throw 1;
  } catch (int) {
    caught = true;
  }
  CHECK((TENON_HAS_EXCEPTIONS == 1) == caught);
}

TEST_CASE("config: checks are on in a debug build and wherever TENON_CHECKED is defined") {
#if defined(TENON_CHECKED) || !defined(NDEBUG)
  CHECK(TENON_IS_CHECKED == 1);
#else
  CHECK(TENON_IS_CHECKED == 0);
#endif
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

namespace {
TENON_LAZY int lazy(int x) { return x + 1; }
TENON_ALWAYS_INLINE int inlined(int x) { return x + 2; }
TENON_COLD int cold(int x) { return x + 3; }
}  // namespace

TEST_CASE("config: functions marked lazy, inline or cold are called like any other") {
  CHECK(lazy(1) == 2);
  CHECK(inlined(1) == 3);
  CHECK(cold(1) == 4);
}
