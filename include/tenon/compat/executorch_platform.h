// SPDX-License-Identifier: MIT
// ExecuTorch's platform layer and the macros of its log, checks and results, over tenon's errors.
//
// A failed check is logged, and then raises tenon's InvalidState: an Exception, or without
// exceptions the failure handler and abort(). The log goes to stderr, or to
// et_pal_emit_log_message() if the program defines that function; only with ELF object files and
// without TENON_PORTABLE.
#pragma once

#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tenon/compat/executorch_types.h"

using et_timestamp_t = uint64_t;
struct et_tick_ratio_t {
  uint64_t numerator;
  uint64_t denominator;
};
enum et_pal_log_level_t {
  kDebug = 'D',
  kInfo = 'I',
  kError = 'E',
  kFatal = 'F',
  kUnknown = '?',
};
#if defined(__GNUC__) && defined(__ELF__) && !TENON_PORTABLE
#define TENON_DETAIL_ET_HAS_HOOK 1
extern "C" void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level,
                                        const char* filename, const char* function, size_t line,
                                        const char* message, size_t length) __attribute__((weak));
#else  // other linkers need a definition of a weak function
#define TENON_DETAIL_ET_HAS_HOOK 0
#endif
namespace executorch {
namespace runtime {
inline namespace tenon_compat {
namespace internal {
/// The time of the first call, from which ticks count.
inline std::chrono::steady_clock::time_point start_time() noexcept {
  static const auto start = std::chrono::steady_clock::now();
  return start;
}
}  // namespace internal
}  // namespace tenon_compat
}  // namespace runtime
}  // namespace executorch
// Static, so that ExecuTorch's functions may be in the same program.
[[maybe_unused]] static inline void et_pal_init() noexcept {}
[[maybe_unused]] static inline et_timestamp_t et_pal_current_ticks() noexcept {
  const auto start = executorch::runtime::internal::start_time();
  const auto time = std::chrono::steady_clock::now() - start;
  return static_cast<et_timestamp_t>(std::chrono::nanoseconds(time).count());
}
[[maybe_unused]] static inline et_tick_ratio_t et_pal_ticks_to_ns_multiplier() noexcept {
  return {1, 1};
}

#define ET_NODISCARD [[nodiscard]]
#define ET_DEPRECATED [[deprecated]]
#define ET_EXPERIMENTAL
#define ET_UNUSED [[maybe_unused]]
#define ET_NORETURN [[noreturn]]
#define ET_LIKELY(condition) (condition)
#define ET_UNLIKELY(condition) (condition)
#if defined(__GNUC__) && !TENON_PORTABLE
#define ET_PRINTFLIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define ET_PRINTFLIKE(text, first)
#endif
#define ET_RUNTIME_NAMESPACE runtime

// The program may define both macros; ET_LOG_ENABLED must be the same in all of the program's
// files.
#if !defined(ET_MIN_LOG_LEVEL)
#define ET_MIN_LOG_LEVEL Info
#endif
#if !defined(ET_LOG_ENABLED)
#define ET_LOG_ENABLED 1
#endif

namespace executorch {
namespace runtime {
inline namespace tenon_compat {

using error_code_t = uint32_t;
enum class LogLevel : uint8_t { Debug, Info, Error, Fatal, NumLevels };

/// Raises InvalidState.
[[noreturn]] inline void runtime_abort() {
  tenon::detail::raise(tenon::Error::InvalidState, "runtime_abort() was called; the log says why");
}

namespace internal {

constexpr const char* file_name(const char* path) noexcept {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

/// A source line that logs.
struct Log {
  LogLevel level;
  const char* file;
  const char* function;
  size_t line;

  ET_PRINTFLIKE(2, 3) void operator()(const char* format, ...) const noexcept {
    if (!ET_LOG_ENABLED) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char letter = level < LogLevel::NumLevels ? "DIEF"[static_cast<size_t>(level)] : '?';
#if TENON_DETAIL_ET_HAS_HOOK
    if (et_pal_emit_log_message != nullptr) {
      et_pal_emit_log_message(et_pal_current_ticks(), static_cast<et_pal_log_level_t>(letter), file,
                              function, line, text, std::strlen(text));
      return;
    }
#endif
    if (line == 0) {
      std::fprintf(stderr, "%c %s] %s\n", letter, file, text);
    } else {
      std::fprintf(stderr, "%c executorch:%s:%zu] %s\n", letter, file, line, text);
    }
  }
  /// Logs, and raises InvalidState.
  [[noreturn]] ET_PRINTFLIKE(3, 4) void fail(const char* condition, const char* format, ...) const {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (*this)("In function %.50s(), assert failed (%.150s): %s", function, condition, text);
    tenon::detail::raise(tenon::Error::InvalidState, "ET_CHECK failed: ", condition,
                         *text == '\0' ? "" : ": ", text);
  }
};

/// Logs the text of tenon's error, which must be the thread's last. Returns ExecuTorch's code for
/// the error.
inline Error report(tenon::Error error) noexcept {
  if (error != tenon::Error::Ok) {
    Log{LogLevel::Error, "tenon", "", 0}("%s", tenon::detail::message_of(error));
  }
  return error_of(error);
}

}  // namespace internal
}  // namespace tenon_compat
}  // namespace runtime
}  // namespace executorch

#define ET_LOG(level, ...)                                                         \
  do {                                                                             \
    if (ET_LOG_ENABLED && ::executorch::runtime::LogLevel::level >=                \
                              ::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL) { \
      TENON_DETAIL_ET_LOG_AT(level)(__VA_ARGS__);                                  \
    }                                                                              \
  } while (0)
#define TENON_DETAIL_ET_LOG_AT(level)                                                         \
  (::executorch::runtime::internal::Log{::executorch::runtime::LogLevel::level,               \
                                        ::executorch::runtime::internal::file_name(__FILE__), \
                                        __func__, __LINE__})
#define ET_CHECK_OR_LOG_ERROR(condition, ...)     \
  do {                                            \
    if (!(condition)) ET_LOG(Error, __VA_ARGS__); \
  } while (0)

#define ET_CHECK_MSG(condition, ...)                                               \
  do {                                                                             \
    if (!(condition)) TENON_DETAIL_ET_LOG_AT(Fatal).fail(#condition, __VA_ARGS__); \
  } while (0)
#define ET_CHECK(condition)                                                     \
  do {                                                                          \
    if (!(condition)) TENON_DETAIL_ET_LOG_AT(Fatal).fail(#condition, "%s", ""); \
  } while (0)
#if defined(NDEBUG)
#define ET_DCHECK_MSG(condition, ...) static_cast<void>(0)
#define ET_DCHECK(condition) static_cast<void>(0)
#define ET_DEBUG_ONLY [[maybe_unused]]
#else
#define ET_DCHECK_MSG(condition, ...) ET_CHECK_MSG(condition, __VA_ARGS__)
#define ET_DCHECK(condition) ET_CHECK(condition)
#define ET_DEBUG_ONLY
#endif
#define ET_ASSERT_UNREACHABLE() \
  TENON_DETAIL_ET_LOG_AT(Fatal).fail("false", "Execution should not reach this point")
#define ET_ASSERT_UNREACHABLE_MSG(...) TENON_DETAIL_ET_LOG_AT(Fatal).fail("false", __VA_ARGS__)

/// ET_CHECK_OR_RETURN_ERROR as a statement, for these headers: Clang warns about an extra
/// semicolon.
#define TENON_DETAIL_ET_CHECK(condition, error, ...) \
  do {                                               \
    if (!(condition)) {                              \
      ET_LOG(Error, __VA_ARGS__);                    \
      return ::executorch::runtime::Error::error;    \
    }                                                \
  } while (0)
// Blocks, as in ExecuTorch: some programs write no semicolon after these macros.
#define ET_CHECK_OR_RETURN_ERROR(condition, error, ...) \
  { TENON_DETAIL_ET_CHECK(condition, error, __VA_ARGS__); }
#define ET_CHECK_OR_RETURN_FALSE(condition, ...)     \
  {                                                  \
    if (!(condition)) {                              \
      ET_LOG(Error, "Check failed: %s", #condition); \
      ET_LOG(Error, __VA_ARGS__);                    \
      return false;                                  \
    }                                                \
  }

// The next three take an error or a Result, and maybe a message. In C++17 -Wpedantic warns about
// `...` without an argument, so the parameter is only `...`: these macros use the first argument,
// and log the others if there are any.
#define TENON_DETAIL_ET_FIRST(first, ...) first
#define TENON_DETAIL_ET_12TH(a, b, c, d, e, f, g, h, i, j, k, name, ...) name
#define TENON_DETAIL_ET_LOG_REST(...)                                                         \
  TENON_DETAIL_NUMBERED(TENON_DETAIL_ET_LOG_,                                                 \
                        TENON_DETAIL_ET_12TH(__VA_ARGS__, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, )) \
  (__VA_ARGS__)
#define TENON_DETAIL_ET_LOG_1(first) static_cast<void>(0)
#define TENON_DETAIL_ET_LOG_2(first, ...) ET_LOG(Error, __VA_ARGS__)

// Variables are numbered, so that -Wshadow does not warn if one macro is in an argument of another.
#define ET_CHECK_OK_OR_RETURN_ERROR(...)                                               \
  TENON_DETAIL_MAY_COUNT                                                               \
  TENON_DETAIL_ET_CHECK_OK(TENON_DETAIL_NUMBERED(et_error_, __COUNTER__), __VA_ARGS__) \
  TENON_DETAIL_COUNT_END
#define TENON_DETAIL_ET_CHECK_OK(name, ...)                   \
  do {                                                        \
    const auto name = (TENON_DETAIL_ET_FIRST(__VA_ARGS__, )); \
    if (name != ::executorch::runtime::Error::Ok) {           \
      TENON_DETAIL_ET_LOG_REST(__VA_ARGS__);                  \
      return name;                                            \
    }                                                         \
  } while (0)

/// Declares `var` from a Result's value, or returns its error.
#define ET_ASSIGN_OR_RETURN(var, ...)                            \
  auto et_result_##var = (TENON_DETAIL_ET_FIRST(__VA_ARGS__, )); \
  if (!et_result_##var.ok()) {                                   \
    TENON_DETAIL_ET_LOG_REST(__VA_ARGS__);                       \
    return et_result_##var.error();                              \
  }                                                              \
  auto var = std::move(*et_result_##var)

/// An expression with a Result's value. If the Result is an error, returns that error from the
/// enclosing function. Uses GCC's and Clang's statement expressions.
#define ET_UNWRAP(...)                                                                \
  TENON_DETAIL_MAY_COUNT                                                              \
  TENON_DETAIL_ET_UNWRAP(TENON_DETAIL_NUMBERED(et_result_, __COUNTER__), __VA_ARGS__) \
  TENON_DETAIL_COUNT_END
#define TENON_DETAIL_ET_UNWRAP(name, ...)               \
  __extension__({                                       \
    auto name = (TENON_DETAIL_ET_FIRST(__VA_ARGS__, )); \
    if (!name.ok()) {                                   \
      TENON_DETAIL_ET_LOG_REST(__VA_ARGS__);            \
      return name.error();                              \
    }                                                   \
    std::move(*name);                                   \
  })
