// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_platform.h"

#include "captured_log.h"
#include "support/catch.h"

namespace executorch_platform_test {

using executorch::runtime::Error, executorch::runtime::Result;
using tests::contains, tests::log_of;

namespace {

// Functions in which a macro returns. `calls` counts how often an argument was evaluated.
int calls = 0;
Result<int> half(int n) {
  ++calls;
  if (n % 2 != 0) return Error::InvalidArgument;
  return n / 2;
}
int counted(int n) { return ++calls, n; }

Error check(int n) {
  ET_CHECK_OR_RETURN_ERROR(counted(n) % 2 == 0, NotSupported, "%d is odd, %d", n, counted(n));
  return Error::Ok;
}
bool is_even(int n) {
  ET_CHECK_OR_RETURN_FALSE(counted(n) % 2 == 0, "%d is odd", n)
  return true;
}
Error pass_on(int n) {
  ET_CHECK_OK_OR_RETURN_ERROR(half(n).error());
  return Error::Ok;
}
Error pass_on_with_text(int n) {
  ET_CHECK_OK_OR_RETURN_ERROR(half(n).error(), "half(%d) failed, %d", n, counted(n));
  return Error::Ok;
}
Result<int> unwrap(int n) { return 1 + ET_UNWRAP(half(n)); }
Result<int> unwrap_with_text(int n) {
  return 1 + ET_UNWRAP(half(n), "no half of %d, %d", n, counted(n));
}
Result<int> assign(int n) {
  ET_ASSIGN_OR_RETURN(result, half(n));
  return result + 1;
}
Result<int> assign_with_text(int n) {
  ET_ASSIGN_OR_RETURN(result, half(n), "no half of %d, %d", n, counted(n));
  return result + 1;
}
// The macros in each other's arguments, and in lambdas.
Result<int> quarter(int n) { return ET_UNWRAP(half(ET_UNWRAP(half(n)))); }
Error check_twice(int n) {
  ET_CHECK_OK_OR_RETURN_ERROR([&]() -> Error {
    ET_CHECK_OK_OR_RETURN_ERROR(half(n).error(), "inner");
    return Error::Ok;
  }());
  return Error::Ok;
}
Result<int> assign_both(int a, int b) {
  ET_ASSIGN_OR_RETURN(x, half(a));
  ET_ASSIGN_OR_RETURN(y, half(b));
  const auto add = [&](int z) -> Result<int> { return x + y + ET_UNWRAP(half(z)); };
  return add(2);
}
Result<std::unique_ptr<int>> move_only() { return std::make_unique<int>(3); }
Result<int> unwrap_move_only() {
  const std::unique_ptr<int> owned = ET_UNWRAP(move_only());
  ET_ASSIGN_OR_RETURN(other, move_only());
  return *owned + *other;
}

// Each without braces: the else belongs to the if.
Error branches(int n) {
  if (n == 1)
    ET_CHECK_OK_OR_RETURN_ERROR(half(n).error(), "text");
  else if (n == 2)
    ET_LOG(Error, "two");
  else if (n == 3)
    ET_CHECK(n == 4);
  else if (n == 4)
    ET_CHECK_MSG(n == 5, "four");
  else if (n == 5)
    ET_CHECK_OR_LOG_ERROR(n == 6, "five");
  else
    return Error::NotFound;
  return Error::Ok;
}

}  // namespace

TEST_CASE("executorch: ET_LOG writes level, file, line and text to stderr") {
  const int line = __LINE__ + 1;
  const std::string log = log_of([] { ET_LOG(Error, "%d of %s", 3, "five"); });
  CHECK(log ==
        "E executorch:executorch_platform_test.cpp:" + std::to_string(line) + "] 3 of five\n");
  CHECK(log_of([] { ET_LOG(Info, "text"); }).substr(0, 2) == "I ");
  CHECK(log_of([] { ET_LOG(Fatal, "text"); }).substr(0, 2) == "F ");
  calls = 0;
  CHECK(log_of([] { ET_LOG(Debug, "%d", counted(1)); }).empty());
  CHECK(calls == 0);
  CHECK(log_of([] { ET_CHECK_OR_LOG_ERROR(1 + 1 == 2, "text"); }).empty());
  CHECK(contains(log_of([] { ET_CHECK_OR_LOG_ERROR(1 + 1 == 3, "%d", 7); }), "] 7\n"));
}

// A promise of docs/guarantees.md.
TEST_CASE("executorch: a failed ET_CHECK is logged and raises InvalidState") {
  const int n = 3;
  std::string log =
      log_of([&] { RAISES(InvalidState, "n % 2 == 0", [&] { ET_CHECK(n % 2 == 0); }()); });
  CHECK(contains(log, "F executorch:"));
  CHECK(contains(log, "assert failed (n % 2 == 0): \n"));
  log = log_of([&] {
    RAISES(InvalidState, "ET_CHECK failed: n % 2 == 0: 3 of x%dx",
           [&] { ET_CHECK_MSG(n % 2 == 0, "%d of %s", n, "x%dx"); }());
  });
  CHECK(contains(log, "In function operator()(), assert failed (n % 2 == 0): 3 of x%dx\n"));
  ET_CHECK(n == 3);
  calls = 0;
  ET_CHECK_MSG(counted(n) == 3, "%d", counted(n));
  CHECK(calls == 1);

  // A condition and a text longer than the buffers.
  const std::string text(2000, 'y');
  const bool false_with_a_name_of_fifty_characters_and_a_few_more = false;
  log = log_of([&] {
    RAISES(InvalidState, "ET_CHECK failed", [&] {
      ET_CHECK_MSG(false_with_a_name_of_fifty_characters_and_a_few_more ||
                       false_with_a_name_of_fifty_characters_and_a_few_more ||
                       false_with_a_name_of_fifty_characters_and_a_few_more ||
                       false_with_a_name_of_fifty_characters_and_a_few_more ||
                       false_with_a_name_of_fifty_characters_and_a_few_more,
                   "%s", text.c_str());
    }());
  });
  CHECK(contains(log, "): yyyyyyy"));
  CHECK(log.size() > 1023);
  CHECK(log.size() < 1100);

  log = log_of([] { RAISES(InvalidState, "", [] { ET_ASSERT_UNREACHABLE(); }()); });
  CHECK(contains(log, "Execution should not reach this point"));
  log = log_of([] { RAISES(InvalidState, "", [] { ET_ASSERT_UNREACHABLE_MSG("%d", 7); }()); });
  CHECK(contains(log, "7\n"));
  RAISES(InvalidState, "runtime_abort()", executorch::runtime::runtime_abort());
#if defined(NDEBUG)
  ET_DCHECK(n == 4);
  ET_DCHECK_MSG(n == 4, "text");
#else
  log_of([&] { RAISES(InvalidState, "n == 4", [&] { ET_DCHECK(n == 4); }()); });
  log_of([&] { RAISES(InvalidState, "n == 4", [&] { ET_DCHECK_MSG(n == 4, "text"); }()); });
#endif
}

// A promise of docs/guarantees.md.
TEST_CASE("executorch: the macros of errors and results return, log, and evaluate once") {
  struct Row {
    const char* name;
    std::function<Error(int)> call;
    Error error;
    const char* text;  // for an odd number, whose text evaluates one argument more
  };
  const auto error_of = [](Result<int> (*f)(int), int value) {
    return [f, value](int n) {
      const auto result = f(n);
      if (result.ok()) CHECK(*result == value);
      return result.error();
    };
  };
  const Row rows[] = {
      {"CHECK_OR_RETURN_ERROR", &check, Error::NotSupported, "] 3 is odd, 3\n"},
      {"CHECK_OK", &pass_on, Error::InvalidArgument, ""},
      {"CHECK_OK with text", &pass_on_with_text, Error::InvalidArgument, "] half(3) failed, 3\n"},
      {"UNWRAP", error_of(&unwrap, 3), Error::InvalidArgument, ""},
      {"UNWRAP with text", error_of(&unwrap_with_text, 3), Error::InvalidArgument,
       "] no half of 3, 3\n"},
      {"ASSIGN", error_of(&assign, 3), Error::InvalidArgument, ""},
      {"ASSIGN with text", error_of(&assign_with_text, 3), Error::InvalidArgument,
       "] no half of 3, 3\n"},
      {"CHECK_OK in CHECK_OK", &check_twice, Error::InvalidArgument, "] inner\n"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    calls = 0;
    Error error = Error::Internal;
    CHECK(log_of([&] { error = row.call(4); }).empty());
    CHECK(error == Error::Ok);
    CHECK(calls == 1);
    calls = 0;
    const std::string log = log_of([&] { error = row.call(3); });
    CHECK(error == row.error);
    CHECK(contains(log, row.text));
    CHECK(log.empty() == (*row.text == '\0'));
    CHECK(calls == (contains(row.text, ", 3") ? 2 : 1));
  }
  CHECK(is_even(2));
  const std::string log = log_of([] { CHECK(!is_even(3)); });
  CHECK(contains(log, "] Check failed: counted(n) % 2 == 0\n"));
  CHECK(contains(log, "] 3 is odd\n"));
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error() == Error::InvalidArgument);
  CHECK(*assign_both(4, 6) == 6);
  CHECK(assign_both(4, 5).error() == Error::InvalidArgument);
  CHECK(*unwrap_move_only() == 6);
}

TEST_CASE("executorch: the macros are one statement") {
  log_of([] {
    CHECK(branches(1) == Error::InvalidArgument);
    CHECK(branches(2) == Error::Ok);
    RAISES(InvalidState, "n == 4", branches(3));
    RAISES(InvalidState, "n == 5", branches(4));
    CHECK(branches(5) == Error::Ok);
    CHECK(branches(6) == Error::NotFound);
  });
}

TEST_CASE("executorch: the platform's clock counts nanoseconds, and tenon's texts are logged") {
  et_pal_init();
  executorch::runtime::runtime_init();
  const et_timestamp_t before = et_pal_current_ticks();
  CHECK(et_pal_current_ticks() >= before);
  CHECK(et_pal_ticks_to_ns_multiplier().numerator == 1);
  CHECK(et_pal_ticks_to_ns_multiplier().denominator == 1);
  CHECK(log_of([] {
          const auto tenon_error = tenon::set_error(tenon::Error::NotFound, "no method 100%s");
          CHECK(executorch::runtime::internal::report(tenon_error) == Error::NotFound);
        }) == "E tenon] no method 100%s\n");
  CHECK(log_of([] { executorch::runtime::internal::report(tenon::Error::Ok); }).empty());
}

}  // namespace executorch_platform_test
