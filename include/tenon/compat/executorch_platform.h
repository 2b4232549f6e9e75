// SPDX-License-Identifier: MIT
// ExecuTorch's platform layer and the macros of its log, checks and results, over tenon's errors.
//
// A check that fails raises tenon's InvalidState, after it was logged: an Exception, or without
// exceptions the failure handler and abort(). The log goes to stderr, or to
// et_pal_emit_log_message() if the program defines that.
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
#if defined(__GNUC__)
extern "C" void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level,
                                        const char* filename, const char* function, size_t line,
                                        const char* message, size_t length) __attribute__((weak));
#endif
// Static, so that the real ones may be in the same program.
[[maybe_unused]] static inline void et_pal_init() noexcept {}
[[maybe_unused]] static inline et_timestamp_t et_pal_current_ticks() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<et_timestamp_t>(std::chrono::nanoseconds(time).count());
}
[[maybe_unused]] static inline et_tick_ratio_t et_pal_ticks_to_ns_multiplier() noexcept {
  return {1, 1};
}

#define ET_NODISCARD [[nodiscard]]
#define ET_DEPRECATED [[deprecated]]
#define ET_EXPERIMENTAL
#define ET_UNUSED [[maybe_unused]]
#define ET_FALLTHROUGH [[fallthrough]]
#define ET_NORETURN [[noreturn]]
#define ET_LIKELY(condition) (condition)
#define ET_UNLIKELY(condition) (condition)
#define ET_FUNCTION __func__
#define ET_LINE __LINE__
#define ET_INLINE inline
#define ET_PRIsize_t "zu"
#define ET_PRIssize_t "zd"
#if defined(__GNUC__)
#define ET_NOINLINE __attribute__((noinline))
#define ET_WEAK __attribute__((weak))
#define ET_RESTRICT __restrict__
#define ET_UNREACHABLE() __builtin_unreachable()
#define ET_PRINTFLIKE(text, first) __attribute__((format(printf, text, first)))
#define ET_SHORT_FILENAME (::executorch::runtime::internal::file_name(__FILE__))
#else
#define ET_NOINLINE
#define ET_WEAK
#define ET_RESTRICT
#define ET_UNREACHABLE() ::executorch::runtime::runtime_abort()
#define ET_PRINTFLIKE(text, first)
#define ET_SHORT_FILENAME __FILE__
#endif
#define ET_RUNTIME_NAMESPACE runtime

// Both may be defined by the program.
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

/// Does nothing: tenon needs no initialisation.
inline void runtime_init() noexcept {}
inline void pal_init() noexcept {}
inline et_timestamp_t pal_current_ticks() noexcept { return et_pal_current_ticks(); }
inline et_tick_ratio_t pal_ticks_to_ns_multiplier() noexcept {
  return et_pal_ticks_to_ns_multiplier();
}
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

/// A place in the source, and what is said there.
struct Log {
  LogLevel level;
  const char* file;
  const char* function;
  size_t line;

  ET_PRINTFLIKE(2, 3) void operator()(const char* format, ...) const noexcept {
    va_list arguments;
    va_start(arguments, format);
    write("", format, arguments);
    va_end(arguments);
  }
  /// Logs, and raises InvalidState.
  [[noreturn]] ET_PRINTFLIKE(3, 4) void fail(const char* condition, const char* format, ...) const {
    char prefix[256];
    std::snprintf(prefix, sizeof prefix, "In function %s(), assert failed (%s): ", function,
                  condition);
    va_list arguments;
    va_start(arguments, format);
    write(prefix, format, arguments);
    va_end(arguments);
    tenon::detail::raise(tenon::Error::InvalidState, "ET_CHECK failed: ", condition);
  }

 private:
  ET_PRINTFLIKE(3, 0)
  void write(const char* prefix, const char* format, va_list arguments) const noexcept {
    char text[1024];
    const auto length = static_cast<size_t>(std::snprintf(text, sizeof text, "%s", prefix));
    std::vsnprintf(text + length, sizeof text - length, format, arguments);
    const char letter = "DIEF?"[static_cast<size_t>(level)];
#if defined(__GNUC__)
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
};

/// Logs the text of tenon's error. Returns the peer's code for it.
inline Error report(tenon::Error error, const char* text) noexcept {
#if ET_LOG_ENABLED
  if (error != tenon::Error::Ok) Log{LogLevel::Error, "tenon", "", 0}("%s", text);
#else
  static_cast<void>(text);
#endif
  return error_of(error);
}
inline Error report(tenon::Error error) noexcept {
  return report(error, tenon::detail::message_of(error));
}

}  // namespace internal
}  // namespace tenon_compat
}  // namespace runtime
}  // namespace executorch

#if ET_LOG_ENABLED
#define ET_LOG(level, ...)                                   \
  do {                                                       \
    if (::executorch::runtime::LogLevel::level >=            \
        ::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL) { \
      TENON_DETAIL_ET_LOG_AT(level)(__VA_ARGS__);            \
    }                                                        \
  } while (0)
#else
#define ET_LOG(level, ...) static_cast<void>(0)
#endif
#define TENON_DETAIL_ET_LOG_AT(level)                                                              \
  (::executorch::runtime::internal::Log{::executorch::runtime::LogLevel::level, ET_SHORT_FILENAME, \
                                        ET_FUNCTION, ET_LINE})
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

// Blocks, as ExecuTorch's are: some code has no semicolon behind them.
#define ET_CHECK_OR_RETURN_ERROR(condition, error, ...) \
  {                                                     \
    if (!(condition)) {                                 \
      ET_LOG(Error, __VA_ARGS__);                       \
      return ::executorch::runtime::Error::error;       \
    }                                                   \
  }
#define ET_CHECK_OR_RETURN_FALSE(condition, ...)       \
  {                                                    \
    if (!(condition)) {                                \
      ET_LOG(Error, "Check failed (%s):", #condition); \
      ET_LOG(Error, __VA_ARGS__);                      \
      return false;                                    \
    }                                                  \
  }

// The next three take a message or none; COUNT tells which, since -Wpedantic warns of `...` without
// an argument in C++17.
#define TENON_DETAIL_ET_12TH(a, b, c, d, e, f, g, h, i, j, k, name, ...) name
#define TENON_DETAIL_ET_COUNT(...)                                                              \
  TENON_DETAIL_ET_12TH(__VA_ARGS__, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, \
                       ONE, )
#define TENON_DETAIL_ET_JOIN(a, b) TENON_DETAIL_ET_JOIN_NOW(a, b)
#define TENON_DETAIL_ET_JOIN_NOW(a, b) a##b

#define ET_CHECK_OK_OR_RETURN_ERROR(...)                                              \
  TENON_DETAIL_ET_JOIN(TENON_DETAIL_ET_CHECK_OK_, TENON_DETAIL_ET_COUNT(__VA_ARGS__)) \
  (__VA_ARGS__)
#define TENON_DETAIL_ET_CHECK_OK_ONE(error)                            \
  do {                                                                 \
    const auto et_error = (error);                                     \
    if (et_error != ::executorch::runtime::Error::Ok) return et_error; \
  } while (0)
#define TENON_DETAIL_ET_CHECK_OK_MORE(error, ...)       \
  do {                                                  \
    const auto et_error = (error);                      \
    if (et_error != ::executorch::runtime::Error::Ok) { \
      ET_LOG(Error, __VA_ARGS__);                       \
      return et_error;                                  \
    }                                                   \
  } while (0)

/// Declares `var` from a Result's value, or returns its error.
#define ET_ASSIGN_OR_RETURN(var, ...)                                               \
  TENON_DETAIL_ET_JOIN(TENON_DETAIL_ET_ASSIGN_, TENON_DETAIL_ET_COUNT(__VA_ARGS__)) \
  (var, __VA_ARGS__)
#define TENON_DETAIL_ET_ASSIGN_ONE(var, result)              \
  auto et_result_##var = (result);                           \
  if (!et_result_##var.ok()) return et_result_##var.error(); \
  auto var = std::move(*et_result_##var)
#define TENON_DETAIL_ET_ASSIGN_MORE(var, result, ...) \
  auto et_result_##var = (result);                    \
  if (!et_result_##var.ok()) {                        \
    ET_LOG(Error, __VA_ARGS__);                       \
    return et_result_##var.error();                   \
  }                                                   \
  auto var = std::move(*et_result_##var)

/// A Result's value as an expression, or a return of its error: a statement expression, which GCC
/// and Clang have.
#define ET_UNWRAP(...)                                                              \
  TENON_DETAIL_ET_JOIN(TENON_DETAIL_ET_UNWRAP_, TENON_DETAIL_ET_COUNT(__VA_ARGS__)) \
  (__VA_ARGS__)
#define TENON_DETAIL_ET_UNWRAP_ONE(result)         \
  __extension__({                                  \
    auto et_result = (result);                     \
    if (!et_result.ok()) return et_result.error(); \
    std::move(*et_result);                         \
  })
#define TENON_DETAIL_ET_UNWRAP_MORE(result, ...) \
  __extension__({                                \
    auto et_result = (result);                   \
    if (!et_result.ok()) {                       \
      ET_LOG(Error, __VA_ARGS__);                \
      return et_result.error();                  \
    }                                            \
    std::move(*et_result);                       \
  })
