// SPDX-License-Identifier: MIT
#include "tenon/core/error.h"

#include <future>
#include <stdexcept>
#include <thread>

#include "support/catch.h"
#include "tenon/core/result.h"

namespace error_test {

using namespace tenon;
using namespace tests;
using detail::fail;
using detail::kMessageCapacity;

TEST_CASE("error: every code has its name, and Ok is zero") {
  const std::pair<Error, std::string> rows[] = {{Error::Ok, "Ok"},
                                                {Error::InvalidArgument, "InvalidArgument"},
                                                {Error::InvalidType, "InvalidType"},
                                                {Error::InvalidState, "InvalidState"},
                                                {Error::NotSupported, "NotSupported"},
                                                {Error::OutOfMemory, "OutOfMemory"},
                                                {Error::OutOfBounds, "OutOfBounds"},
                                                {Error::InUse, "InUse"},
                                                {Error::NotFound, "NotFound"},
                                                {Error::AccessFailed, "AccessFailed"},
                                                {Error::Internal, "Internal"},
                                                {static_cast<Error>(200), "unknown error"}};
  for (const auto& [error, name] : rows) CHECK(toString(error) == name);
  CHECK(static_cast<int>(Error::Ok) == 0);
}

TEST_CASE("error: each thread has its own last message, empty before its first error") {
  CHECK(fail(Error::Internal, "of the main thread") == Error::Internal);
  std::string before, after;
  std::thread([&] {
    before = last_error_message();
    static_cast<void>(fail(Error::Internal, "of the other thread"));
    after = last_error_message();
  }).join();
  CHECK(before == "");
  CHECK(after == "of the other thread");
  CHECK(std::string(last_error_message()) == "of the main thread");
}

// A promise of docs/guarantees.md.
TEST_CASE("error: an Exception is a runtime_error with its code and its own copy of the text") {
  std::string text = "zeros: no";
  const Exception exception(Error::InUse, text.c_str());
  text = "changed";
  const Exception copy = exception;
  CHECK(copy.error() == Error::InUse);
  CHECK(std::string(copy.what()) == "zeros: no");
  STATIC_REQUIRE(std::is_base_of_v<std::runtime_error, Exception>);
}

TEST_CASE("error: check() raises an error with its text, or its name where that is another's") {
  CHECK_NOTHROW(tenon::check(Error::Ok));
  const Error error = fail(Error::OutOfBounds, "index 7");
  RAISES(OutOfBounds, "index 7", tenon::check(error));
  CHECK(std::string(last_error_message()) == "index 7");
  const Caught other = caught([] { return tenon::check(Error::InUse), 0; });
  CHECK(other.error == Error::InUse);
  CHECK(other.message == "InUse");
  const auto raised = [] { return caught([] { return tenon::check(Error::NotFound), 0; }); };
  CHECK(std::async(std::launch::async, raised).get().message == "NotFound");
}

// A promise of docs/guarantees.md.
TEST_CASE("error: a text belongs to the failure that wrote it, not to a later one of its kind") {
  const auto text = [](Error error) { return std::string(last_error_message(error)); };
  SECTION("once a Result has it") {
    const Result<int> taken = fail(Error::NotFound, "no such file");
    CHECK(std::string(last_error_message()) == "no such file");
    CHECK(text(Error::NotFound) == "NotFound");
    CHECK(Result<int>(Error::NotFound).message() == std::string("NotFound"));
    CHECK(taken.message() == std::string("no such file"));
  }
  SECTION("once an Exception has it") {
    std::string thrown;
    try {
      detail::raise(Error::NotFound, "no file");
    } catch (const Exception& e) {
      thrown = e.what();
    }
    CHECK(thrown == "no file");
    CHECK(text(Error::NotFound) == "NotFound");
    CHECK(Result<int>(Error::NotFound).message() == std::string("NotFound"));
  }
  SECTION("but it goes on with the error that a program reads from them") {
    const auto from_result = [&]() -> Error {
      const Result<int> failed = fail(Error::NotFound, "no such file");
      return failed.error();
    };
    CHECK(text(from_result()) == "no such file");
    CHECK(Result<char>(from_result()).message() == std::string("no such file"));
    RAISES(NotFound, "no such file", tenon::check(from_result()));
    const auto from_exception = []() -> Error {
      try {
        detail::raise(Error::NotFound, "no file");
      } catch (const Exception& e) {
        return e.error();
      }
    };
    CHECK(text(from_exception()) == "no file");
    const Result<int> older = fail(Error::NotFound, "older");
    const Result<int> later = fail(Error::NotFound, "later");
    CHECK(text(later.error()) == "later");
    CHECK(std::string(last_error_message()) == "later");
  }
  SECTION("and an error of another one is not touched by check()") {
    const Error pending = fail(Error::InUse, "borrowed");
    CHECK(caught([] { return tenon::check(Error::NotFound), 0; }).message == "NotFound");
    CHECK(text(pending) == "borrowed");
  }
}

namespace users {
/// Of a program that had its own before: the one that is called, by both ways to find a name.
int checked = 0;
void check(Error error) { checked += error == Error::InUse ? 1 : 100; }
namespace generic {
template <class E>
void check(const E& error) {
  checked += error == Error::InUse ? 1 : 100;
}
}  // namespace generic
}  // namespace users

TEST_CASE("error: TENON_CHECK is one expression, whose message is evaluated only on failure") {
  int conditions = 0;
  int messages = 0;
  const auto check = [&](bool holds) {
    // Were the macro a bare `if`, the `else` would be its own.
    if (conditions < 10)
      TENON_CHECK((++conditions, holds), Error::Internal, "text ", ++messages);
    else
      return 'e';
    return 't';
  };
  CHECK(check(true) == 't');
  CHECK(messages == 0);
  RAISES(Internal, "text 1", check(false));
  CHECK(conditions == 2);
  CHECK(messages == 1);
  conditions = 10;
  CHECK(check(true) == 'e');
  STATIC_REQUIRE(std::is_void_v<decltype(TENON_CHECK(true, Error::Internal, "text"))>);
}

TEST_CASE("error: TENON_TRY returns an error and goes on after Ok") {
  int evaluations = 0;
  bool went_on = false;
  const auto function = [&](Error inner) {
    TENON_TRY((++evaluations, inner));
    went_on = true;
    return Error::Ok;
  };
  CHECK(function(Error::InUse) == Error::InUse);
  CHECK_FALSE(went_on);
  CHECK(evaluations == 1);
  CHECK(function(Error::Ok) == Error::Ok);
  CHECK(went_on);
  CHECK(evaluations == 2);
}

// Outside of the library's namespace, without a using directive, and -Wshadow is an error.
namespace users {

template <class F>
tenon::Error call(const F& f) {
  return f();
}
tenon::Result<int> nested(tenon::Error inner) {
  TENON_TRY(call([&] {
    TENON_TRY(call([&] {
      TENON_TRY(inner);
      return tenon::Error::Ok;
    }));
    return tenon::Error::Ok;
  }));
  return 5;
}

}  // namespace users

TEST_CASE("error: TENON_TRY may be nested, and return a Result with its text") {
  CHECK(*users::nested(Error::Ok) == 5);
  const auto failed = users::nested(fail(Error::NotFound, "no such file"));
  CHECK(failed.error() == Error::NotFound);
  CHECK(failed.message() == std::string("no such file"));
  CHECK(users::nested(Error::InUse).message() == std::string("InUse"));  // with no text of its own
}

TEST_CASE("error: TENON_DCHECK raises where checks are on and evaluates nothing elsewhere") {
  int conditions = 0;
  const auto check = [&] {
    TENON_DCHECK((++conditions, false), Error::OutOfBounds, "debug only");
    return 0;
  };
#if TENON_IS_CHECKED
  RAISES(OutOfBounds, "debug only", check());
  CHECK(conditions == 1);
#else
  check();
  CHECK(conditions == 0);
#endif
}

}  // namespace error_test
