// SPDX-License-Identifier: MIT
// Optional: an argument that may be left out. Result: a value, or an error and its message.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/core/dims.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE

/// The type of `none`.
struct None {};
/// Stands for an omitted argument: `slice(t, 0, none, 3)` begins at index 0.
inline constexpr None none{};

namespace detail {

/// A T or `none`. Unlike std::optional, Optional<bool> accepts only a bool, and Optional<int64_t>
/// only an integer.
template <class T>
class Optional {
  using Accepted = std::conditional_t<std::is_same_v<T, int64_t>, DimArg, T>;

 public:
  constexpr Optional(None) noexcept {}
  template <class V, std::enable_if_t<std::is_same_v<T, bool> ? std::is_same_v<V, bool>
                                                              : std::is_convertible_v<V, Accepted>,
                                      int> = 0>
  constexpr Optional(V value) : value_(static_cast<Accepted>(value)), given_(true) {}

  constexpr bool has_value() const noexcept { return given_; }
  constexpr T value_or(T otherwise) const noexcept { return given_ ? value_ : otherwise; }

 private:
  T value_{};
  bool given_ = false;
};

}  // namespace detail

/// An axis, a size, or `none`.
using OptionalIndex = detail::Optional<int64_t>;

template <class T>
class Result;

namespace detail {

/// Specialised for types whose moves do not throw, but are not declared noexcept.
template <class T>
inline constexpr bool is_nothrow_movable_v = std::is_nothrow_move_constructible_v<T>;

/// Whether Out is a Result, and the type of the value.
template <class Out>
struct IsResult : std::false_type {
  using Value = Out;
};
template <class T>
struct IsResult<Result<T>> : std::true_type {
  using Value = T;
};
template <class T>
inline constexpr bool is_result_v = IsResult<std::decay_t<T>>::value;

}  // namespace detail

/// Returned by the try_ functions: a T, or an Error other than Ok with its message.
///
/// Reading the value of a failed result raises its error (Exception, or the failure handler).
/// Ownership: the value is the result's until it is moved out.
/// Cost: one pointer beside T and the code; a message is copied only on failure.
/// Source: executorch::runtime::Result, with the message added.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  /// A successful result.
  Result(T value) noexcept : error_(Error::Ok), value_(std::move(value)) {}

  /// A failed result. Takes the text that the failed function set; if there is none, uses the
  /// error's name. Error::Ok without a value is a bug and becomes Error::Internal.
  Result(Error error) noexcept : error_(error == Error::Ok ? Error::Internal : error), no_value_{} {
    if (!TENON_ERROR_TEXT || !TENON_HEAP) return;
    const char* const text = detail::message_of(error_);
    const size_t length = std::strlen(text);
    message_ = static_cast<char*>(detail::heap_allocate(length + 1));
    if (message_ == nullptr) return;
    std::memcpy(message_, text, length + 1);
    detail::LastError& last = detail::last_error();
    if (text == last.text) last.is_taken = true;
  }

  Result(Result&& other) noexcept
      : error_(other.error_), message_(std::exchange(other.message_, nullptr)) {
    if (ok()) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      const Result old(std::move(*this));  // destroyed last: ~T may use this result
      this->~Result();
      ::new (static_cast<void*>(this)) Result(std::move(other));
    }
    return *this;
  }
  ~Result() {
    if (ok()) value_.~T();
    detail::heap_release(message_);
  }

  /// Whether there is a value.
  bool ok() const noexcept { return error_ == Error::Ok; }
  /// The same as ok(), for `if (result)`. A Result<bool> does not convert to bool.
  template <class U = T, std::enable_if_t<!std::is_same_v<U, bool>, int> = 0>
  explicit operator bool() const noexcept {
    return ok();
  }
  /// Refused, because `if (result)` would not test the value of a Result<bool>.
  template <class OkOrValueNeeded = T,
            std::enable_if_t<std::is_same_v<OkOrValueNeeded, bool>, int> = 0>
  explicit operator bool() const
      TENON_MISTAKE("*result is the value, result.ok() says whether there is one");
  /// The error, for TENON_TRY(). The message becomes the thread's.
  explicit operator Error() const noexcept {
    return ok() ? Error::Ok : detail::fail(error_, message());
  }
  /// The code. Makes the message the thread's again, so that `return result.error();` keeps the
  /// message unless something else failed meanwhile. TENON_TRY(result) always keeps the message.
  Error error() const noexcept {
    if (message_ != nullptr) detail::give_back_text(error_, message_);
    return error_;
  }
  /// The error's full text, or its name if there was no memory for the text; "" if there is a
  /// value. With TENON_HEAP=0, the calling thread's last message, or the error's name if the thread
  /// has failed again since.
  const char* message() const noexcept TENON_LIFETIMEBOUND {
    if (ok()) return "";
    if (!TENON_HEAP) return detail::message_of(error_);
    return message_ != nullptr ? message_ : toString(error_);
  }

  /// The value.
  /// Errors: that of a failed result, raised.
  T& value() & TENON_LIFETIMEBOUND { return check(), value_; }
  const T& value() const& TENON_LIFETIMEBOUND { return check(), value_; }
  T&& value() && TENON_LIFETIMEBOUND { return check(), std::move(value_); }
  /// The same as value().
  T& operator*() & TENON_LIFETIMEBOUND { return value(); }
  const T& operator*() const& TENON_LIFETIMEBOUND { return value(); }
  T&& operator*() && TENON_LIFETIMEBOUND { return std::move(*this).value(); }
  /// The value; if there is none, `other` converted to T.
  template <class U = T>
  T value_or(U&& other) const& {
    static_assert(std::is_convertible_v<U, T>,
                  "value_or(other): other converts to the value's type");
    return ok() ? value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U = T>
  T value_or(U&& other) && {
    static_assert(std::is_convertible_v<U, T>,
                  "value_or(other): other converts to the value's type");
    return ok() ? std::move(value_) : static_cast<T>(std::forward<U>(other));
  }
  /// Returns f(value), a Result or an Error. For a failed result, returns its error and message.
  template <class F>
  auto and_then(F&& f) & {
    return and_then(*this, std::forward<F>(f));
  }
  template <class F>
  auto and_then(F&& f) const& {
    return and_then(*this, std::forward<F>(f));
  }
  template <class F>
  auto and_then(F&& f) && {
    return and_then(std::move(*this), std::forward<F>(f));
  }
  /// Returns a Result with f(value), or an Error if f returns void. For a failed result, returns
  /// its error and message.
  template <class F>
  auto transform(F&& f) & {
    return transform(*this, std::forward<F>(f));
  }
  template <class F>
  auto transform(F&& f) const& {
    return transform(*this, std::forward<F>(f));
  }
  template <class F>
  auto transform(F&& f) && {
    return transform(std::move(*this), std::forward<F>(f));
  }
  // Declared only for types that cannot be copied, such as TensorPtr: other types may have
  // constructors that take a Result.
  template <class UseValueOrCheckOk,
            std::enable_if_t<
                std::is_same_v<UseValueOrCheckOk, T> && !std::is_copy_constructible_v<T>, int> = 0>
  operator UseValueOrCheckOk() const
      TENON_MISTAKE("a Result is not a value: use .value(), which raises its error, or check ok()");
  /// A member of the value.
  /// Errors: the same as value()'s.
  T* operator->() TENON_LIFETIMEBOUND { return &value(); }
  const T* operator->() const TENON_LIFETIMEBOUND { return &value(); }

 private:
  template <class Self, class F>
  static auto and_then(Self&& self, F&& f) {
    using Out = decltype(std::forward<F>(f)(std::forward<Self>(self).value_));
    static_assert(detail::IsResult<Out>::value || std::is_same_v<Out, Error>,
                  "and_then(f): f returns a Result or an Error; transform(f) takes any value");
    if (!self.ok()) return Out(static_cast<Error>(self));
    return std::forward<F>(f)(std::forward<Self>(self).value_);
  }
  template <class Self, class F>
  static auto transform(Self&& self, F&& f) {
    using Value = decltype(std::forward<F>(f)(std::forward<Self>(self).value_));
    static_assert(!std::is_same_v<Value, Error>, "f returns an Error: use and_then(f)");
    if constexpr (std::is_void_v<Value>) {
      if (!self.ok()) return static_cast<Error>(self);
      std::forward<F>(f)(std::forward<Self>(self).value_);
      return Error::Ok;
    } else {
      using Out = Result<std::decay_t<Value>>;
      if (!self.ok()) return Out(static_cast<Error>(self));
      return Out(std::forward<F>(f)(std::forward<Self>(self).value_));
    }
  }
  void check() const {
    if (!ok()) detail::raise_message(error_, message());
  }

  static_assert(detail::is_nothrow_movable_v<T>);
  Error error_;
  char* message_ = nullptr;
  union {
    T value_;
    unsigned char no_value_;  // initialised, or GCC warns that value_or() reads value_
  };
};

TENON_END_NAMESPACE
