// SPDX-License-Identifier: MIT
// Builds error texts in a fixed buffer: no allocation, no locale, no stdio.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/core/array_ref.h"
#include "tenon/core/float_bits.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Name `n` in a text of concatenated names, "one\0two\0". An array of pointers would take 4 or 8
/// bytes a name and need relocations.
constexpr const char* name_at(const char* names, size_t n) noexcept {
  for (; n > 0; ++names) n -= *names == '\0';
  return names;
}

/// Appends text to a caller's buffer, which stays zero-terminated; cuts text that does not fit.
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
  TENON_COLD void put(const char* text) noexcept {
    if (text == nullptr) text = "(null)";  // getenv() and dlerror() may return null
    while (*text != '\0') put(*text++);
  }
  TENON_NOINLINE void put_unsigned(uint64_t value) noexcept {
    char digits[20];
    int n = 0;
    do {
      digits[n++] = static_cast<char>('0' + take_digit(value));
    } while (value != 0);
    while (n > 0) put(digits[--n]);
  }
  TENON_COLD void put_signed(int64_t value) noexcept {
    if (value < 0) put('-');
    const auto bits = static_cast<uint64_t>(value);
    put_unsigned(value < 0 ? uint64_t{0} - bits : bits);
  }

 private:
  /// Removes and returns the last decimal digit. 32-bit processors use three 32-bit divisions: a
  /// 64-bit division links 700 bytes of libgcc.
  static uint32_t take_digit(uint64_t& value) noexcept {
    if constexpr (sizeof(size_t) == 8) {
      const auto digit = static_cast<uint32_t>(value % 10);
      value /= 10;
      return digit;
    }
    const auto high = static_cast<uint32_t>(value >> 32);
    const auto low = static_cast<uint32_t>(value);
    const uint32_t middle = high % 10 << 16 | low >> 16;
    const uint32_t last = middle % 10 << 16 | (low & 0xffff);
    value = uint64_t{high / 10} << 32 | (middle / 10 << 16) | last / 10;
    return last % 10;
  }

  char* pos_;
  char* last_;
};

inline void append(Message& out, const char* text) noexcept { out.put(text); }
inline void append(Message& out, std::string_view text) noexcept {
  for (const char c : text) out.put(c != '\0' ? c : '?');  // a null character would end the message
}
inline void append(Message& out, char c) noexcept { out.put(c); }
inline void append(Message& out, bool value) noexcept { out.put(value ? "true" : "false"); }

template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
void append(Message& out, T value) noexcept {
  if constexpr (std::is_signed_v<T>) {
    out.put_signed(value);
  } else {
    out.put_unsigned(value);
  }
}

/// Appends up to six digits after the point, and an exponent for very large and very small values:
/// enough to recognise the value in an error text.
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
  if (fraction == 1000000) {
    ++whole;
    fraction = 0;
  }
  if (exponent != 0 && whole == 10) {
    whole = 1;
    ++exponent;
  }
  out.put_unsigned(whole);
  if (fraction != 0) out.put('.');
  for (uint64_t unit = 100000; fraction != 0; unit /= 10) {
    out.put(static_cast<char>('0' + fraction / unit));
    fraction %= unit;
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

/// A value of any other type that append() takes.
struct OtherPart {
  const void* value;
  void (*append_to)(Message& out, const void* value) noexcept;
};

template <class T>
TENON_COLD void append_other(Message& out, const void* value) noexcept {
  append(out, *static_cast<const T*>(value));
}

// Each part of a message is a C variadic argument: text, a character as int, an integer, or the
// address of an OtherPart.
inline const char* part(const char* text) noexcept { return text; }
inline int part(char c) noexcept { return c; }
template <class T>
TENON_ALWAYS_INLINE auto part(const T& value) noexcept {
  if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool> ||
                (std::is_unsigned_v<T> && sizeof(T) > sizeof(size_t))) {
    return OtherPart{&value, &append_other<T>};
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<size_t>(value);
  }
}
/// Converts a part to an argument: the part itself, or the address of an OtherPart, which lives
/// until the call ends.
template <class T>
TENON_ALWAYS_INLINE T pass(const T& made) noexcept {
  return made;
}
TENON_ALWAYS_INLINE const OtherPart* pass(const OtherPart& made) noexcept { return &made; }

/// The type of a part; printf would take it from a format.
enum class PartKind : uint8_t { End, Text, Char, Signed, Unsigned, Other };
template <class T>
inline constexpr PartKind kPartKind = std::is_same_v<T, const char*> ? PartKind::Text
                                      : std::is_same_v<T, int>       ? PartKind::Char
                                      : std::is_same_v<T, int64_t>   ? PartKind::Signed
                                      : std::is_same_v<T, size_t>    ? PartKind::Unsigned
                                                                     : PartKind::Other;
/// Packs the types of up to 10 parts into three bits each, the first part's lowest. An array took
/// 10 bytes more per message on Arm.
constexpr uint32_t pack_kinds(std::initializer_list<PartKind> kinds) noexcept {
  uint32_t packed = 0;
  uint32_t at = 0;
  for (const PartKind kind : kinds) {
    packed |= static_cast<uint32_t>(kind) << at;
    at += 3;
  }
  return packed;
}
template <class... Parts>
inline constexpr uint32_t kPartKinds =
    pack_kinds({kPartKind<decltype(part(std::declval<const Parts&>()))>...});

TENON_COLD inline void append_parts(Message& out, uint32_t kinds, va_list parts) noexcept {
  for (;; kinds >>= 3) {
    switch (static_cast<PartKind>(kinds & 7)) {
      case PartKind::End: return;
      case PartKind::Text: out.put(va_arg(parts, const char*)); break;
      case PartKind::Char: out.put(static_cast<char>(va_arg(parts, int))); break;
      case PartKind::Signed: out.put_signed(va_arg(parts, int64_t)); break;
      case PartKind::Unsigned: out.put_unsigned(va_arg(parts, size_t)); break;
      case PartKind::Other: {
        const OtherPart& other = *va_arg(parts, const OtherPart*);
        other.append_to(out, other.value);
      }
    }
  }
}

}  // namespace detail
TENON_END_NAMESPACE
