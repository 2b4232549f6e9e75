// SPDX-License-Identifier: MIT
// Catch2 2.x and 3.x under one include, and what the tests share.
#pragma once

#if defined(__clang__)
#if __has_warning("-Wc2y-extensions")  // Clang 22 finds that __COUNTER__ is not standard
#pragma clang diagnostic ignored "-Wc2y-extensions"
#endif
#endif
#undef CHECK  // libtorch's, if it came before: Catch2's replaces it
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

// Of the standard library what most tests use.
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

/// Lines of a test that need what ATen lacks (docs/aten.md): plain mode alone has them.
#if defined(USE_ATEN_LIB)
#define ATEN_LACKS(...)
#else
#define ATEN_LACKS(...) __VA_ARGS__
#endif

namespace tests {

using Bytes = std::vector<uint8_t>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Texts = std::vector<std::string>;

/// An error's code and text, to compare in one line.
struct Caught {
  tenon::Error error = tenon::Error::Ok;
  std::string message;
};

/// Calls f and returns what it threw; Error::Ok if nothing.
template <class F>
Caught caught(F&& f) {
  try {
    static_cast<void>(f());
  } catch (const tenon::Exception& e) {
    return {e.error(), e.what()};
  }
  return {};
}

/// The error of a Result.
template <class R>
Caught failure(const R& result) {
  return {result.error(), result.message()};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tests

/// The expression throws Exception with this error, and its message contains `words`.
#define CHECK_ERROR(expected, words, ...)                 \
  do {                                                    \
    const ::tests::Caught caught_ = ::tests::caught([&] { \
      static_cast<void>(__VA_ARGS__);                     \
      return 0;                                           \
    });                                                   \
    CHECK(caught_.error == (expected));                   \
    INFO("message: " << caught_.message);                 \
    CHECK(::tests::contains(caught_.message, words));     \
  } while (false)

/// The expression returns this Error, and last_error_message() contains `words`.
#define CHECK_RETURNS(expected, words, ...)                         \
  do {                                                              \
    CHECK((__VA_ARGS__) == (expected));                             \
    INFO("message: " << ::tenon::last_error_message());             \
    CHECK(::tests::contains(::tenon::last_error_message(), words)); \
  } while (false)

/// RAISES(InvalidState, "words", f()): f throws Error::InvalidState with these words in its
/// message.
#define RAISES(error, words, ...) CHECK_ERROR(::tenon::Error::error, words, __VA_ARGS__)
/// RETURNS(InvalidState, "words", f()): the same for a function that returns its Error.
#define RETURNS(error, words, ...) CHECK_RETURNS(::tenon::Error::error, words, __VA_ARGS__)
/// FAILS(InvalidState, "words", try_f()): the same for a function that returns a Result.
#define FAILS(kind, words, ...)                                    \
  do {                                                             \
    const ::tests::Caught failed_ = ::tests::failure(__VA_ARGS__); \
    CHECK(failed_.error == ::tenon::Error::kind);                  \
    INFO("message: " << failed_.message);                          \
    CHECK(::tests::contains(failed_.message, words));              \
  } while (false)
