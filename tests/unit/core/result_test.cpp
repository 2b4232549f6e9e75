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

// A promise of docs/guarantees.md.
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

TEST_CASE("result: value_or gives the value, or the other, also of what only moves") {
  const Result<int> four = half_of(8);
  const Result<int> failed = half_of(7);
  CHECK(four.value_or(1) == 4);
  CHECK(failed.value_or(1) == 1);
  CHECK(half_of(8).value_or(1) == 4);
  CHECK(half_of(7).value_or(short{1}) == 1);
  Result<std::string> text = std::string("a text");
  CHECK(text.value_or("other") == "a text");
  CHECK(*text == "a text");
  CHECK(Result<std::string>(fail(Error::NotFound, "none")).value_or("other") == "other");
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(5);
  CHECK(*std::move(pointer).value_or(nullptr) == 5);
  Result<std::unique_ptr<int>> none = fail(Error::NotFound, "none");
  CHECK(std::move(none).value_or(nullptr) == nullptr);
  CHECK(failed.message() == std::string("half_of: 7 is odd"));
}

// A promise of docs/guarantees.md.
TEST_CASE("result: and_then calls what may fail, and carries an error with its message") {
  CHECK(half_of(8).and_then(half_of).value() == 2);
  const Result<int> second = half_of(6).and_then(half_of);
  CHECK(second.error() == Error::InvalidArgument);
  CHECK(second.message() == std::string("half_of: 3 is odd"));
  const Result<int> failed = half_of(7);
  static_cast<void>(fail(Error::InvalidArgument, "of the same kind"));
  int calls = 0;
  const Result<double> carried = failed.and_then([&](int n) -> Result<double> {
    ++calls;
    return 0.5 * n;
  });
  CHECK(calls == 0);
  CHECK(carried.error() == Error::InvalidArgument);
  CHECK(carried.message() == std::string("half_of: 7 is odd"));
  // What acts gives an Error.
  const auto act = [&](int n) { return ++calls, n == 4 ? Error::Ok : fail(Error::InUse, "busy"); };
  CHECK(half_of(8).and_then(act) == Error::Ok);
  CHECK(half_of(4).and_then(act) == Error::InUse);
  CHECK(calls == 2);
  CHECK(failed.and_then(act) == Error::InvalidArgument);
  CHECK(last_error_message() == std::string("half_of: 7 is odd"));
  // A named result's value can be changed, a temporary's moved out.
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(5);
  CHECK(pointer.and_then([](std::unique_ptr<int>& p) { return ++*p, half_of(*p); }).value() == 3);
  const auto pass = [](std::unique_ptr<int> p) {
    return Result<std::unique_ptr<int>>(std::move(p));
  };
  CHECK(**std::move(pointer).and_then(pass).and_then(pass) == 6);
  CHECK(*pointer == nullptr);
}

// A promise of docs/guarantees.md.
TEST_CASE("result: transform changes the value, and carries an error with its message") {
  const auto add = [](int n) { return n + 0.5; };
  CHECK(half_of(8).transform(add).value() == 4.5);
  const Result<int> failed = half_of(7);
  static_cast<void>(fail(Error::InvalidArgument, "of the same kind"));
  const Result<double> carried = failed.transform(add);
  STATIC_REQUIRE(std::is_same_v<decltype(failed.transform(add)), Result<double>>);
  CHECK(carried.error() == Error::InvalidArgument);
  CHECK(carried.message() == std::string("half_of: 7 is odd"));
  Result<Counted> counted = Counted(3);
  CHECK(counted.transform([](const Counted& c) { return c.value; }).value() == 3);
  CHECK(std::move(counted).transform([](Counted c) { return c; })->value == 3);
  CHECK(counted->value == -1);
  int seen = 0;
  CHECK(half_of(8).transform([&](int n) { seen = n; }) == Error::Ok);
  CHECK(seen == 4);
  CHECK(half_of(7).transform([&](int n) { seen = n; }) == Error::InvalidArgument);
  CHECK(seen == 4);
}

// A promise of docs/guarantees.md.
TEST_CASE("result: TENON_ASSIGN declares or assigns, or returns the error with its message") {
  int calls = 0;
  const auto counted_half = [&](int n) { return ++calls, half_of(n); };
  const auto quarter = [&](int n) -> Result<int> {
    TENON_ASSIGN(const auto half, counted_half(n));
    TENON_ASSIGN(auto quarter_of_n, counted_half(half));
    TENON_ASSIGN(quarter_of_n, Result<int>(quarter_of_n));
    return quarter_of_n;
  };
  CHECK(quarter(8).value() == 2);
  CHECK(calls == 2);
  CHECK(quarter(6).message() == std::string("half_of: 3 is odd"));
  const auto code = [&](int n, int* out) -> Error {
    TENON_ASSIGN(*out, half_of(n));
    return Error::Ok;
  };
  int found = 0;
  CHECK(code(8, &found) == Error::Ok);
  CHECK(found == 4);
  CHECK(code(7, &found) == Error::InvalidArgument);
  CHECK(last_error_message() == std::string("half_of: 7 is odd"));
  CHECK(found == 4);
#define TWO_ON_A_LINE(a, b)    \
  TENON_ASSIGN(a, half_of(8)); \
  TENON_ASSIGN(b, half_of(4))
  const auto sum = []() -> Result<int> {
    TWO_ON_A_LINE(const int four, const int two);
    return four + two;
  };
#undef TWO_ON_A_LINE
  CHECK(sum().value() == 6);
}

TEST_CASE("result: TENON_ASSIGN moves out of a temporary, and copies a named result") {
  using Numbers = std::pair<int, std::unique_ptr<int>>;
  const auto make = [](int n) -> Result<Numbers> {
    return std::pair<int, std::unique_ptr<int>>{n, std::make_unique<int>(n)};
  };
  const auto sum = [&]() -> Result<int> {
    TENON_ASSIGN(auto pair, make(1));
    TENON_ASSIGN(Numbers other, Result<std::pair<int, std::unique_ptr<int>>>(make(2)));
    const Result<std::string> named = std::string("text");
    TENON_ASSIGN(std::string copied, named);
    TENON_ASSIGN(auto& borrowed, named);
    Result<std::unique_ptr<int>> single = std::make_unique<int>(3);
    TENON_ASSIGN(pair.second, std::move(single));
    // A lambda in it may use the macro too.
    TENON_ASSIGN(const int inner, [&]() -> Result<int> {
      TENON_ASSIGN(const int half, half_of(8));
      return half;
    }());
    CHECK(named.value() == copied);
    CHECK(&borrowed == &*named);
    return pair.first + *pair.second + other.first + *other.second + inner;
  };
  CHECK(sum().value() == 1 + 3 + 2 + 2 + 4);
}

}  // namespace result_test
