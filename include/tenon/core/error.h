// SPDX-License-Identifier: MIT
// Errors: the codes, the calling thread's last message, Exception, the failure handler and the
// checks.
//
// Inner functions return Error and leave their text with fail(); the public function that the user
// called puts its own name in front with add_context(). One text serves an Exception, a Result and
// a returned Error, with exceptions and without.
//
// A text belongs to the failure that wrote it. A Result or an Exception takes the text from the
// thread; its error() puts it back. (With TENON_HEAP=0, or out of memory, a Result leaves the text
// with the thread.) ErrorTextGuard hides the text from foreign code: backends, runtimes and
// callables. An error without a text is reported by its name.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/message.h"

#if !TENON_BARE_METAL
#include <cstdio>
#include <cstdlib>
#endif
#if TENON_HAS_EXCEPTIONS
#include <stdexcept>
#endif

TENON_BEGIN_VALUES

/// The kind of an error.
/// Source: the kinds of ExecuTorch's runtime::Error that apply here, plus InUse and OutOfBounds.
enum class Error : uint8_t {  // [[nodiscard]] in config.h
  Ok = 0,                     ///< no error
  InvalidArgument,            ///< a value that the function cannot accept
  InvalidType,   ///< a dtype that the function cannot accept, or a cast that canCast forbids
  InvalidState,  ///< the object is undefined, has no data, or is read-only
  NotSupported,  ///< a valid request that this tensor, device or build cannot fulfil
  OutOfMemory,   ///< an allocation failed
  OutOfBounds,   ///< an index or a region beyond the tensor
  InUse,         ///< the memory is still borrowed
  NotFound,      ///< no such file, backend or name
  AccessFailed,  ///< reading or writing failed
  Internal,      ///< a bug in tenon
};

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE

/// The enumerator's name, such as "InvalidArgument". Allocates nothing. Named as c10's functions;
/// tenon's own name is to_string().
constexpr const char* toString(Error error) noexcept {
  const auto n = static_cast<size_t>(error);
  return detail::name_at(
      "Ok\0InvalidArgument\0InvalidType\0InvalidState\0NotSupported\0OutOfMemory\0OutOfBounds\0"
      "InUse\0NotFound\0AccessFailed\0Internal\0unknown error",
      error <= Error::Internal ? n : 11);
}
/// The name of an Error, a ScalarType or any other of tenon's enumerators.
template <class E, class = std::enable_if_t<std::is_enum_v<E>, decltype(toString(E()))>>
std::string to_string(E value) {
  return toString(value);
}

/// In builds without exceptions, called with the error and its message before the program ends. The
/// program ends by abort(); on bare metal by __builtin_trap(), unless TENON_PORTABLE is set. In
/// every build, also called for misuse that is found where nothing can be thrown, such as in a
/// destructor.
using FailureHandler = void (*)(Error error, const char* message) noexcept;

namespace detail {

/// Smaller on bare metal, where RAM is scarce.
inline constexpr size_t kMessageCapacity = !TENON_ERROR_TEXT ? 1 : TENON_BARE_METAL ? 256 : 512;

struct LastError {
  char text[kMessageCapacity];  // always "" without TENON_ERROR_TEXT
  // New messages are composed here, since they may quote `text`. Not on the stack, which is small
  // in some threads and on microcontrollers.
  char draft[kMessageCapacity];
  Error error;
  bool is_taken;  // whether a Result or an Exception took the text
};

/// The calling thread's last error. Zero-initialised, so it needs no guard and no constructor.
TENON_EXPORT inline LastError& last_error() noexcept {
  static TENON_THREAD_LOCAL LastError last;
  return last;
}

TENON_EXPORT inline FailureHandler& failure_handler() noexcept {
  static FailureHandler handler = nullptr;
  return handler;
}

/// Calls the failure handler with a message. If no handler is set, prints the message to stderr,
/// but on bare metal nothing is printed.
inline void notify_handler(Error error, const char* message) noexcept {
  if (FailureHandler handler = failure_handler()) return handler(error, message);
#if !TENON_BARE_METAL
  std::fputs(message, stderr);
  std::fputc('\n', stderr);
#endif
}

inline Error fail_without_text(Error error) noexcept {
  last_error().error = error;
  return error;
}

/// The parts are C variadic arguments, which travel in registers. With a list of parts on the
/// stack, a program with from_blob() was 700 bytes larger at -Os and 1,400 at -O2.
TENON_COLD inline Error fail_parts(Error error, uint32_t kinds, ...) noexcept {
  LastError& last = last_error();
  Message message(last.draft, kMessageCapacity);
  va_list parts;
  va_start(parts, kinds);
  append_parts(message, kinds, parts);
  va_end(parts);
  std::memcpy(last.text, last.draft, kMessageCapacity);
  last.error = error;
  last.is_taken = false;
  return error;
}
TENON_COLD inline void report_parts(Error error, uint32_t kinds, ...) noexcept {
  char text[kMessageCapacity];  // a copy: the handler may cause errors before it reads it
  Message message(text, kMessageCapacity);
  va_list parts;
  va_start(parts, kinds);
  append_parts(message, kinds, parts);
  va_end(parts);
  notify_handler(error, text);
}

/// Writes the calling thread's message, the parts one after another, and returns `error`.
template <class... Parts>
TENON_ALWAYS_INLINE Error fail(Error error, [[maybe_unused]] const Parts&... parts) noexcept {
  if constexpr (TENON_ERROR_TEXT == 0) {
    return fail_without_text(error);
  } else {
    static_assert(sizeof...(Parts) <= 10, "a text has up to 10 parts");
    return fail_parts(error, kPartKinds<Parts...>, pass(part(parts))...);
  }
}

/// Reports misuse where nothing can be thrown. Keeps the thread's last error.
template <class... Parts>
TENON_ALWAYS_INLINE void report(Error error, [[maybe_unused]] const Parts&... parts) noexcept {
  if constexpr (TENON_ERROR_TEXT == 0) {
    notify_handler(error, toString(error));
  } else {
    report_parts(error, kPartKinds<Parts...>, pass(part(parts))...);
  }
}

/// The thread's text if it belongs to `error` and was not taken, else "".
inline const char* text_of(Error error) noexcept {
  const LastError& last = last_error();
  return last.error == error && !last.is_taken ? last.text : "";
}
/// The thread's text if it belongs to `error`, else the error's name.
inline const char* message_of(Error error) noexcept {
  const char* const text = text_of(error);
  return *text != '\0' ? text : toString(error);
}
/// Puts a taken text back, if `error` is still the thread's last error.
inline void give_back_text(Error error, const char* text) noexcept {
  LastError& last = last_error();
  if (last.error == error && std::strcmp(last.text, text) == 0) last.is_taken = false;
}

/// Puts "function: " in front of the message that fail() left. Returns `error`.
inline Error add_context(const char* function, Error error) noexcept {
  return fail(error, function, ": ", last_error().text);
}

/// add_context() for an error that may be Ok.
inline Error add_context_if(const char* function, Error error) noexcept {
  return error != Error::Ok ? add_context(function, error) : error;
}

}  // namespace detail

#if TENON_HAS_EXCEPTIONS
/// Thrown by tenon. what() is the full message, "zeros: size -1 of dimension 0 is negative".
class TENON_EXPORT Exception : public std::runtime_error {
 public:
  /// An error with its full message.
  Exception(Error error, const char* message) : std::runtime_error(message), error_(error) {}
  /// The code. Makes the text the thread's again, so that a function that returns the code keeps
  /// the text.
  Error error() const noexcept {
    detail::give_back_text(error_, what());
    return error_;
  }

 private:
  Error error_;
};
#endif

namespace detail {

/// Throws Exception, or calls the failure handler and ends the program. `message` may be the
/// thread's own text.
[[noreturn]] inline void raise_message(Error error, const char* message) {
#if TENON_HAS_EXCEPTIONS
  LastError& last = last_error();
  if (message == last.text) last.is_taken = true;
  throw Exception(error, message);
#else
  notify_handler(error, message);
#if TENON_BARE_METAL && !TENON_PORTABLE
  __builtin_trap();
#else
  std::abort();
#endif
#endif
}

}  // namespace detail

/// The full text of the calling thread's latest error: the what() of the exception that the
/// function would have thrown instead of returning the Error. Valid until the thread's next error;
/// "" before the first. With
/// TENON_ERROR_TEXT=0 it is the error's name. For an Error of your own functions, which may not be
/// tenon's latest, use last_error_message(error).
inline const char* last_error_message() noexcept {
  const detail::LastError& last = detail::last_error();
  return TENON_ERROR_TEXT != 0 || last.error == Error::Ok ? last.text : toString(last.error);
}

namespace detail {

template <class... Parts>
[[noreturn]] TENON_ALWAYS_INLINE void raise(Error error, const Parts&... parts) {
  static_cast<void>(fail(error, parts...));
  raise_message(error, last_error_message());
}

/// Raises an inner function's error under the public function's name, unless it is Ok.
inline void raise_if(const char* function, Error error) {
  if (error != Error::Ok) {
    error = add_context(function, error);
    raise_message(error, last_error_message());
  }
}

/// Converts from Error, so that a user's own check(Error) wins overload resolution.
struct Returned {
  constexpr Returned(Error returned) noexcept : error(returned) {}
  Error error;
};

}  // namespace detail

/// The text of an error that any function returned, tenon's or yours: the text that the function
/// set, else the error's name, toString(error).
///
/// Ignores the text of a failed Result or an Exception that the program handled, and texts that are
/// older than tenon's last call of a module or a backend. But an Error is only a code: if a handled
/// Error and a later one without a text have the same code, the later one gets the old text.
inline const char* last_error_message(Error error) noexcept { return detail::message_of(error); }

/// Sets the text of an error and returns the error, for your own functions, runtimes and backends:
/// `return set_error(Error::OutOfBounds, "frame ", n, " of ", count);`
///
/// Up to 10 parts: texts, characters, numbers, sizes, a ScalarType, a Device. A text is cut off
/// after 511 characters, on bare metal after 255.
template <class... Parts>
Error set_error(Error error, const Parts&... parts) noexcept {
  return detail::fail(error, parts...);
}

/// Raises an error that a function returned, unless it is Ok: throws Exception, or in builds
/// without exceptions calls the failure handler and ends the program.
///
/// The message is last_error_message(error). Overload resolution prefers your own `check`, even if
/// it is a template.
inline void check(detail::Returned returned) {
  const Error error = returned.error;
  if (error != Error::Ok) detail::raise_message(error, detail::message_of(error));
}

/// Sets the failure handler and returns the old one. nullptr stands for the default handler, which
/// prints the message to stderr, and prints nothing on bare metal. Without exceptions, the program
/// ends when the handler returns: by abort(), or by a trap on bare metal. The handler may end the
/// program itself.
/// Threads: set it once, at program start; the setting is not synchronised.
inline FailureHandler set_failure_handler(FailureHandler handler) noexcept {
  return std::exchange(detail::failure_handler(), handler);
}

TENON_END_NAMESPACE

/// TENON_CHECK(condition, Error::X, parts...) raises Error::X with the parts as its message when
/// the condition is false. It is one statement; on failure it calls a cold function.
#define TENON_CHECK(condition, error, ...) \
  (!(condition) ? ::tenon::detail::raise(error, __VA_ARGS__) : static_cast<void>(0))

/// TENON_DCHECK does what TENON_CHECK does in debug builds, and wherever TENON_CHECKED is defined.
/// Otherwise it evaluates nothing.
#if TENON_IS_CHECKED
#define TENON_DCHECK(condition, error, ...) TENON_CHECK(condition, error, __VA_ARGS__)
#else
#define TENON_DCHECK(condition, error, ...) static_cast<void>(0)
#endif

// TENON_TRY's expression may contain a lambda that uses TENON_TRY too: the lambda's variable
// shadows the outer one.
#if defined(__GNUC__)
#define TENON_DETAIL_MAY_SHADOW \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define TENON_DETAIL_SHADOW_END _Pragma("GCC diagnostic pop")
#else
#define TENON_DETAIL_MAY_SHADOW
#define TENON_DETAIL_SHADOW_END
#endif

// Clang 22 warns about __COUNTER__, which TENON_ASSIGN uses.
#if defined(__has_warning)
#if __has_warning("-Wc2y-extensions")
#define TENON_DETAIL_MAY_COUNT \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"")
#define TENON_DETAIL_COUNT_END _Pragma("clang diagnostic pop")
#endif
#endif
#if !defined(TENON_DETAIL_MAY_COUNT)
#define TENON_DETAIL_MAY_COUNT
#define TENON_DETAIL_COUNT_END
#endif

// clang-format off
/// Evaluates an expression that is an Error or a Result. If that failed, returns the error from the
/// enclosing function, which must return Error or Result<T>. Keeps a Result's message:
/// `TENON_TRY(copy_(row, image));`.
#define TENON_TRY(...)                                                                \
  do {                                                                                \
    TENON_DETAIL_MAY_SHADOW                                                           \
    if (const ::tenon::Error tenon_error_((__VA_ARGS__));                             \
        (tenon_error_ != ::tenon::Error::Ok)) {                         \
      return tenon_error_;                                                            \
    }                                                                                 \
    TENON_DETAIL_SHADOW_END                                                           \
  } while (false)

/// Declares or assigns `lhs` from the value of a Result. If the Result failed, returns its error as
/// TENON_TRY() does. Examples: `TENON_ASSIGN(auto t, try_zeros({2, 3}));`,
/// `TENON_ASSIGN(t, try_ones({2}));`.
///
/// Evaluates the Result once; moves the value out of a temporary, and out of std::move(named). It
/// expands to several statements: an `if` around it needs braces. `lhs` must not have commas
/// outside of round brackets: write auto. A lambda that uses it must declare its return type, `->
/// Error`.
#define TENON_ASSIGN(lhs, ...)                                                                     \
  TENON_DETAIL_MAY_COUNT                                                                           \
  TENON_DETAIL_ASSIGN(TENON_DETAIL_NUMBERED(tenon_result_, __COUNTER__), lhs, (__VA_ARGS__))
#define TENON_DETAIL_ASSIGN(name, lhs, result)                                                     \
  auto&& name = result;                                                                            \
  TENON_DETAIL_COUNT_END                                                                           \
  static_assert(::tenon::detail::is_result_v<decltype(name)>,                                      \
                "TENON_ASSIGN takes a Result, such as that of try_zeros()");                       \
  if (!name.ok()) return static_cast<::tenon::Error>(name);                                        \
  lhs = std::forward<decltype(name)>(name).value()
// clang-format on

TENON_BEGIN_NAMESPACE
namespace detail {

/// Restores errno when it is destroyed.
struct KeepErrno {
  const int before = errno;
  ~KeepErrno() { errno = before; }
};

}  // namespace detail
TENON_END_NAMESPACE
