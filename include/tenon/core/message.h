// SPDX-License-Identifier: MIT
// Builds error texts in a fixed buffer: no allocation, no locale, no stdio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/float_bits.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Appends text to a caller's buffer, which is always zero-terminated; what does not fit is cut.
class Message {
 public:
  Message(char* buffer, size_t capacity) noexcept : pos_(buffer), last_(buffer + capacity - 1) {
    *pos_ = '\0';
  }

  void put(char c) noexcept {
    if (pos_ == last_) return;
    *pos_++ = c;
    *pos_ = '\0';
  }
  void put(const char* text) noexcept {
    while (*text != '\0') put(*text++);
  }
  void put_unsigned(uint64_t value) noexcept {
    char digits[20];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (n > 0) put(digits[--n]);
  }

 private:
  char* pos_;
  char* last_;
};

inline void append(Message& out, const char* text) noexcept { out.put(text); }
inline void append(Message& out, char c) noexcept { out.put(c); }
inline void append(Message& out, bool value) noexcept { out.put(value ? "true" : "false"); }

template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
void append(Message& out, T value) noexcept {
  if constexpr (std::is_signed_v<T>) {
    if (value < 0) {
      out.put('-');
      out.put_unsigned(uint64_t{0} - static_cast<uint64_t>(value));
      return;
    }
  }
  out.put_unsigned(static_cast<uint64_t>(value));
}

/// Up to six digits after the point, very large and very small values with an exponent: enough to
/// recognise the value in an error.
inline void append(Message& out, double value) noexcept {
  if (is_nan(value)) return out.put("nan");
  if (value < 0) {
    out.put('-');
    value = -value;
  }
  if (!is_finite(value)) return out.put("inf");
  int exponent = 0;
  if (value != 0 && (value >= 1e15 || value < 1e-4)) {
    while (value >= 10) {
      value /= 10;
      ++exponent;
    }
    while (value < 1) {
      value *= 10;
      --exponent;
    }
  }
  auto whole = static_cast<uint64_t>(value);
  const double millionths = (value - static_cast<double>(whole)) * 1e6;
  auto fraction = static_cast<uint64_t>(millionths);
  if (millionths - static_cast<double>(fraction) >= 0.5) ++fraction;
  if (fraction >= 1000000) {
    ++whole;
    fraction = 0;
  }
  if (exponent != 0 && whole == 10) {
    whole = 1;
    ++exponent;
  }
  out.put_unsigned(whole);
  if (fraction != 0) {
    out.put('.');
    for (uint64_t unit = 100000; fraction != 0; unit /= 10) {
      out.put(static_cast<char>('0' + fraction / unit));
      fraction %= unit;
    }
  }
  if (exponent != 0) {
    out.put('e');
    append(out, exponent);
  }
}

template <class T>
void append(Message& out, Span<T> values) noexcept {
  out.put('{');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out.put(", ");
    append(out, values[i]);
  }
  out.put('}');
}

/// One piece of a message: any value that append() takes. It refers to the value, and a list of
/// parts is one type whatever the values are, so that no code is generated per error.
class Part {
 public:
  template <class T>
  Part(const T& value) noexcept
      : value_(&value), append_([](Message& out, const void* v) noexcept {
          append(out, *static_cast<const T*>(v));
        }) {}
  Part(const char* const& text) noexcept
      : value_(text), append_([](Message& out, const void* v) noexcept {
          out.put(static_cast<const char*>(v));
        }) {}
  template <size_t N>
  Part(const char (&text)[N]) noexcept : Part(static_cast<const char*>(text)) {}
  void append_to(Message& out) const noexcept { append_(out, value_); }

 private:
  const void* value_;
  void (*append_)(Message& out, const void* value) noexcept;
};

}  // namespace detail
TENON_END_NAMESPACE
