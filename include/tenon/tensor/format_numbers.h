// SPDX-License-Identifier: MIT
// Numbers as to_string() writes them: with the fewest digits that identify them, in columns.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Appends values as error messages show them, up to 2 KiB; on bare metal 256 bytes.
template <class... Values>
void append_text(std::string& out, const Values&... values) {
  char text[TENON_BARE_METAL ? 256 : 2048];
  Message message(text, sizeof text);
  (append(message, values), ...);
  out += text;
}
/// Pads `size` characters to `width`. They may be more if another thread wrote to the memory since
/// it was measured.
TENON_TEMPLATE_INLINE void pad(std::string& out, size_t size, size_t width, char with = ' ') {
  if (size < width) out.append(width - size, with);
}

/// The format of the floating numbers of one column.
struct FloatColumn {
  ScalarType type = ScalarType::Double;  // shows no digits that this type cannot tell apart
  bool plus = false;                     // positive numbers have a sign, as imaginary parts do
  int precision = 0;
  // From look_at(). Magnitudes are those of finite numbers other than 0.
  double smallest = 0;
  double largest = 0;
  bool scientific = false;
  bool has_special = false;
  bool has_minus_infinity = false;
  // From measure(): the most characters before the point, digits after it, and of an exponent.
  size_t whole = 0;
  size_t fraction = 0;
  size_t exponent = 0;

  /// Characters after the point.
  size_t right() const noexcept { return scientific ? fraction + 2 + exponent : fraction; }
  /// Characters before the point, of which nan and inf may need more than the numbers do.
  size_t left() const noexcept {
    const size_t special = has_special ? (plus || has_minus_infinity ? 4 : 3) : 0;
    const size_t after = right() + 1;
    return special > whole + after ? special - after : whole;
  }
};

/// A finite number's digits, in pieces of `text`.
struct FloatText {
  char text[64] = {};
  std::string_view whole;     // with its sign, where it is shown
  std::string_view fraction;  // digits
  std::string_view exponent;  // digits, after the sign
};

TENON_TEMPLATE_INLINE void look_at(FloatColumn& column, double value) noexcept {
  if (!is_finite(value)) {
    column.has_special = true;
    column.has_minus_infinity |= !is_nan(value) && value < 0;
    return;
  }
  const double magnitude = value < 0 ? -value : value;
  if (magnitude == 0) return;
  double& least = column.smallest;
  double& most = column.largest;
  if (least == 0 || magnitude < least) least = magnitude;
  if (magnitude > most) most = magnitude;
  // As NumPy does: where the type's digits end, and the quotient in the type itself.
  const bool is_half = column.type == ScalarType::Half;
  const double cutoff = is_half ? 1e3 : column.type == ScalarType::Float ? 1e6 : 1e8;
  double ratio = most / least;
  bool is_small = least < 1e-4;
  if (column.type != ScalarType::Double) {  // so that a float's 0.0001 is not below it
    const float quotient = static_cast<float>(most) / static_cast<float>(least);
    ratio = static_cast<double>(is_half ? static_cast<float>(Half(quotient)) : quotient);
    is_small = static_cast<float>(least) < 1e-4f;
  }
  column.scientific = most >= cutoff || is_small || ratio > 1000;
}

/// Finds the pieces of what snprintf printed with %+e or %+f: between the digits it puts what the C
/// locale has for a point, which may be several bytes.
TENON_TEMPLATE_INLINE void split_digits(FloatText& out, bool plus) noexcept {
  const auto digits_at = [](const char* p) {
    return std::string_view(p, std::strspn(p, "0123456789"));
  };
  out.whole = digits_at(out.text + 1);
  const char* p = out.whole.data() + out.whole.size();
  if (plus || out.text[0] == '-') out.whole = {out.text, out.whole.size() + 1};
  p += std::strcspn(p, "0123456789e");
  out.fraction = digits_at(p);
  p += out.fraction.size();
  out.exponent = digits_at(*p == 'e' ? p + 2 : p);
}

/// Whether the text, read as a number of this type, is the value.
TENON_TEMPLATE_INLINE bool reads_back(ScalarType type, const char* text, double value) noexcept {
  const int errno_before = errno;  // which subnormal numbers change
  const double read = type == ScalarType::Float
                          ? static_cast<double>(std::strtof(text, nullptr))  // rounded once
                          : std::strtod(text, nullptr);
  errno = errno_before;
  return visit(
      type,
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (IsSmallFloat<T>::value) {
          return static_cast<double>(static_cast<float>(T(read))) == value;
        } else {
          return read == value;
        }
      },
      [] { return false; });
}

/// Prints a finite number with so many digits after the point.
TENON_TEMPLATE_INLINE void print_nearest(const FloatColumn& column, double value, size_t digits,
                                         FloatText& out) noexcept {
#if defined(_NANO_FORMATTED_IO) && !TENON_PORTABLE
  __asm__(".global _printf_float");  // newlib-nano prints no digits unless a program refers to this
#endif
  std::snprintf(out.text, sizeof out.text, column.scientific ? "%+.*e" : "%+.*f",
                static_cast<int>(digits), value);
#if defined(__NEWLIB__)
  TENON_CHECK(std::strlen(out.text) > 1, Error::NotSupported,
              TENON_PORTABLE
                  ? "to_string: snprintf prints no floating numbers; link with -u _printf_float"
                  : "to_string: snprintf prints no floating numbers; give "
                    "--specs=nano.specs to the compiler as well as to the linker");
#endif
  split_digits(out, column.plus);
}

/// As print_nearest(), but rounds a power of two up if only that reads back: below a power of two
/// the spacing is half. Double needs no such step.
TENON_TEMPLATE_INLINE void print_digits(const FloatColumn& column, double value, size_t digits,
                                        FloatText& out) noexcept {
  print_nearest(column, value, digits, out);
  const bool is_power_of_two = double_bits(value) << 12 == 0;
  if (!is_power_of_two || column.type == ScalarType::Double || value == 0 ||
      reads_back(column.type, out.text, value)) {
    return;
  }
  const double half_step = visit(
      column.type,
      [](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (IsSmallFloat<T>::value || std::is_same_v<T, float>) {
          return static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
        }
        return 0.0;
      },
      [] { return 0.0; });
  print_nearest(column, value + value * half_step, digits, out);
  if (!reads_back(column.type, out.text, value)) print_nearest(column, value, digits, out);
}

/// Prints a finite number with as few digits as identify it among those of its type, and at most
/// `precision` after the point.
TENON_TEMPLATE_INLINE void print_shortest(const FloatColumn& column, double value,
                                          FloatText& out) noexcept {
  print_digits(column, value, static_cast<size_t>(column.precision), out);
  size_t digits = out.fraction.size();
  const bool is_exact = reads_back(column.type, out.text, value);
  while (digits > 0 && out.fraction[digits - 1] == '0') --digits;
  while (is_exact && digits > 0) {
    print_digits(column, value, digits - 1, out);
    if (!reads_back(column.type, out.text, value)) break;
    --digits;
  }
  print_digits(column, value, digits, out);
}

TENON_TEMPLATE_INLINE void measure(FloatColumn& column, double value) noexcept {
  if (!is_finite(value)) return;
  FloatText text;
  print_shortest(column, value, text);
  const auto widen = [](size_t& width, std::string_view piece) {
    if (piece.size() > width) width = piece.size();
  };
  widen(column.whole, text.whole);
  widen(column.fraction, text.fraction);
  widen(column.exponent, text.exponent);
}

/// Writes a number with `unit` ("j" or "") right after it, padded to the column's width.
TENON_TEMPLATE_INLINE void write_float(const FloatColumn& column, double value, const char* unit,
                                       std::string& out) {
  if (!is_finite(value)) {
    std::string word = !is_nan(value) && value < 0 ? "-" : column.plus ? "+" : "";
    word += is_nan(value) ? "nan" : "inf";
    pad(out, word.size(), column.left() + 1 + column.right());
    out += word + unit;
    return;
  }
  FloatText text;
  if (column.scientific) {
    print_digits(column, value, column.fraction, text);
  } else {
    print_shortest(column, value, text);
  }
  pad(out, text.whole.size(), column.left());
  out += text.whole;
  out += '.';
  out += text.fraction;
  if (column.scientific) {
    out += 'e';
    out += text.exponent.data()[-1];
    pad(out, text.exponent.size(), column.exponent, '0');
    out += text.exponent;
  }
  out += unit;
  pad(out, text.fraction.size(), column.fraction);
}

}  // namespace detail
TENON_END_NAMESPACE
