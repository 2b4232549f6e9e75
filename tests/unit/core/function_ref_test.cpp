// SPDX-License-Identifier: MIT
#include "tenon/core/function_ref.h"

#include <string>

#include "support/catch.h"

namespace function_ref_test {

using tenon::detail::FunctionRef;

namespace {

std::string call(FunctionRef<std::string(int, const std::string&)> f) { return f ? f(2, "x") : ""; }

}  // namespace

TEST_CASE("FunctionRef: calls what it refers to, with its arguments") {
  int calls = 0;
  const auto repeat = [&](int n, const std::string& text) {
    ++calls;
    std::string out;
    for (; n > 0; --n) out += text;
    return out;
  };
  CHECK(call(repeat) == "xx");
  CHECK(calls == 1);
  CHECK(call(nullptr).empty());
  struct CountsCopies {
    int* copies;
    explicit CountsCopies(int* count) : copies(count) {}
    CountsCopies(const CountsCopies& other) : copies(other.copies) { ++*copies; }
    CountsCopies& operator=(const CountsCopies&) = default;
    std::string operator()(int, const std::string& text) const { return text; }
  };
  int copies = 0;
  const CountsCopies callable(&copies);
  CHECK(call(callable) == "x");
  CHECK(copies == 0);
}

}  // namespace function_ref_test
