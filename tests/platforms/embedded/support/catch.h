// SPDX-License-Identifier: MIT
// Stands in for tests/support/catch.h where there are no exceptions and no room for Catch2: the
// names that the tests use, so that test files of other folders run on a microcontroller as they
// are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/core/error.h"

#define ATEN_LACKS(...) __VA_ARGS__

namespace tests {

using Bytes = std::vector<uint8_t>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Texts = std::vector<std::string>;

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A case, in the list that main() runs.
struct Case {
  Case(const char* file_, void (*run_)(), const char* name_, const char* tags = "");
  const char* file;
  const char* name;
  void (*run)();
  Case* next;
};

/// Prints what is false, and counts it.
void check_failed(const char* file, int line, const char* what);
/// Ends the program, with success if it is to: without destructors, which a test may have broken.
[[noreturn]] void leave(bool success);
/// Prints without stdio, which calls malloc.
void print(const char* text);

/// What INFO and CAPTURE would say.
struct Unsaid {
  template <class T>
  Unsaid operator<<(const T&) const {
    return *this;
  }
};
template <class... T>
void unsaid(const T&...) {}

/// While one exists, a call of malloc, calloc, realloc or _sbrk prints its name and ends the
/// program as a failure.
struct NoHeap {
  explicit NoHeap(bool watch = true);
  NoHeap(const NoHeap&) = delete;
  NoHeap& operator=(const NoHeap&) = delete;
  ~NoHeap();
  bool watches;
};

}  // namespace tests

#define TESTS_JOIN_(a, b) a##b
#define TESTS_JOIN(a, b) TESTS_JOIN_(a, b)
#define TEST_CASE(...)                                                                     \
  static void TESTS_JOIN(test_, __LINE__)();                                               \
  static ::tests::Case TESTS_JOIN(case_, __LINE__){__FILE__, &TESTS_JOIN(test_, __LINE__), \
                                                   __VA_ARGS__};                           \
  static void TESTS_JOIN(test_, __LINE__)()

#define CHECK(...)                                       \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                  : ::tests::check_failed(__FILE__, __LINE__, #__VA_ARGS__))
#define REQUIRE(...) (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) : FAIL(#__VA_ARGS__))
#define CHECK_FALSE(...) CHECK(!(__VA_ARGS__))
#define REQUIRE_FALSE(...) REQUIRE(!(__VA_ARGS__))
#define FAIL(what) (::tests::check_failed(__FILE__, __LINE__, what), ::tests::leave(false))
#define FAIL_CHECK(what) ::tests::check_failed(__FILE__, __LINE__, what)
#define STATIC_REQUIRE(...) static_assert(__VA_ARGS__)
#define STATIC_REQUIRE_FALSE(...) static_assert(!(__VA_ARGS__))
#define INFO(...) (false ? static_cast<void>(::tests::Unsaid() << __VA_ARGS__) : void())
#define CAPTURE(...) (false ? ::tests::unsaid(__VA_ARGS__) : void())

/// As in tests/support/catch.h.
#define CHECK_RETURNS(expected, words, ...)                         \
  do {                                                              \
    CHECK((__VA_ARGS__) == (expected));                             \
    CHECK(::tests::contains(::tenon::last_error_message(), words)); \
  } while (false)
#define RETURNS(error, words, ...) CHECK_RETURNS(::tenon::Error::error, words, __VA_ARGS__)
