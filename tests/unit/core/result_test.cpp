// SPDX-License-Identifier: MIT
#include "tenon/core/result.h"

#include "support/catch.h"

namespace result_test {

using namespace tenon;
using tenon::detail::fail;

namespace {

// Counts how many are alive, to see that each value is destroyed once.
struct Counted {
  explicit Counted(int v) noexcept : value(v) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --alive; }
  int value;
  static int alive;
};
int Counted::alive = 0;

Result<int> half_of(int n) {
  if (n % 2 != 0) return fail(Error::InvalidArgument, "half_of: ", n, " is odd");
  return n / 2;
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("result: a value without error and message, or an error with its message") {
  const Result<int> four = half_of(8);
  CHECK(four.ok());
  CHECK(static_cast<bool>(four));
  CHECK(four.error() == Error::Ok);
  CHECK(std::string(four.message()) == "");
  CHECK(*four == 4);
  const Result<int> failed = half_of(7);
  static_cast<void>(fail(Error::Internal, "a later error"));
  CHECK_FALSE(failed.ok());
  CHECK_FALSE(static_cast<bool>(failed));
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(std::string(failed.message()) == "half_of: 7 is odd");
  const Result<int> without_value = Error::Ok;
  CHECK(without_value.error() == Error::Internal);
}

TEST_CASE("result: reading the value of a failed result raises its error, in every way to read") {
  struct Point {
    int x;
  };
  const auto failed = [] { return Result<Point>(fail(Error::NotFound, "no such point")); };
  Result<Point> result = failed();
  const Result<Point> constant = failed();
  const std::string text = "no such point";
  const auto is_raised = [&](tests::Caught caught) {
    return caught.error == Error::NotFound && caught.message == text;
  };
  CHECK(is_raised(tests::caught([&] { return result.value().x; })));
  CHECK(is_raised(tests::caught([&] { return constant.value().x; })));
  CHECK(is_raised(tests::caught([&] { return failed().value().x; })));
  CHECK(is_raised(tests::caught([&] { return (*result).x; })));
  CHECK(is_raised(tests::caught([&] { return (*constant).x; })));
  CHECK(is_raised(tests::caught([&] { return (*failed()).x; })));
  CHECK(is_raised(tests::caught([&] { return result->x; })));
  CHECK(is_raised(tests::caught([&] { return constant->x; })));
}

TEST_CASE("result: the value can be changed in place and moved out, and need not be copyable") {
  Result<std::string> result = std::string("a text that is too long to be stored inline");
  *result += '!';
  result->push_back('?');
  const std::string moved = std::move(result).value();
  CHECK(moved == "a text that is too long to be stored inline!?");
  CHECK(result->empty());
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(5);
  const std::unique_ptr<int> owner = *std::move(pointer);
  CHECK(*owner == 5);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Result<int>>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Result<std::unique_ptr<int>>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Result<int>, bool>);
  STATIC_REQUIRE(std::is_constructible_v<bool, Result<int>>);
}

TEST_CASE("result: moving one moves its value or its error") {
  Result<std::string> source = std::string("value");
  const Result<std::string> target = std::move(source);
  CHECK(target.value() == "value");

  Result<std::string> failure = fail(Error::InUse, "in use");
  const Result<std::string> moved = std::move(failure);
  CHECK(moved.error() == Error::InUse);
  CHECK(std::string(moved.message()) == "in use");
  // The text went with it; the code stays, and names itself.
  CHECK(failure.error() == Error::InUse);
  CHECK(std::string(failure.message()) == "InUse");
}

TEST_CASE("result: what the destructor of the old value sees is the new one") {
  struct Sees {
    const Result<Sees>* of = nullptr;
    int number = 0;
    int* seen = nullptr;
    Sees(const Result<Sees>* result, int n, int* out) : of(result), number(n), seen(out) {}
    Sees(Sees&& other) noexcept
        : of(other.of), number(other.number), seen(std::exchange(other.seen, nullptr)) {}
    Sees& operator=(Sees&&) = delete;
    ~Sees() {
      if (seen != nullptr) *seen = of->ok() ? (*of)->number : -1;
    }
  };
  int seen = 0;
  Result<Sees> result = fail(Error::NotFound, "none");
  result = Sees(&result, 1, &seen);
  result = Sees(&result, 2, &seen);
  CHECK(seen == 2);
  result = Result<Sees>(fail(Error::NotFound, "none"));
  CHECK(seen == -1);
}

TEST_CASE("result: assignment works between values and errors in every combination") {
  const auto value = [](int v) { return Result<Counted>(Counted(v)); };
  const auto error = [] { return Result<Counted>(fail(Error::NotFound, "none")); };
  {
    Result<Counted> result = value(1);
    CHECK(Counted::alive == 1);
    result = value(2);
    CHECK(result->value == 2);
    CHECK(Counted::alive == 1);
    result = error();
    CHECK(result.error() == Error::NotFound);
    CHECK(std::string(result.message()) == "none");
    CHECK(Counted::alive == 0);
    result = error();
    CHECK(std::string(result.message()) == "none");
    result = value(3);
    CHECK(result.ok());
    CHECK(result->value == 3);
    CHECK(Counted::alive == 1);
    Result<Counted>& same = result;
    result = std::move(same);
    CHECK(result->value == 3);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("result: TENON_TRY takes one, and returns its error with its message") {
  const auto outer = [](int n, bool later) -> Result<double> {
    const Result<int> half = half_of(n);
    if (later) static_cast<void>(fail(Error::InUse, "something else"));
    TENON_TRY(half);
    TENON_TRY(half_of(*half));
    return 0.5 * *half;
  };
  CHECK(outer(8, false).value() == 2.0);
  CHECK(outer(8, true).value() == 2.0);
  CHECK(outer(7, false).message() == std::string("half_of: 7 is odd"));
  CHECK(outer(7, true).message() == std::string("half_of: 7 is odd"));
  CHECK(outer(7, true).error() == Error::InvalidArgument);
  CHECK(outer(6, false).message() == std::string("half_of: 3 is odd"));
  const auto code = [](const Result<int>& given) -> Error {
    TENON_TRY(given);
    return Error::Ok;
  };
  const Result<int> failed = half_of(5);
  static_cast<void>(fail(Error::InvalidArgument, "of the same kind"));
  CHECK(code(failed) == Error::InvalidArgument);
  CHECK(std::string(last_error_message()) == "half_of: 5 is odd");
}

}  // namespace result_test
