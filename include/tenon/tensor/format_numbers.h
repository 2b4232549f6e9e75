// SPDX-License-Identifier: MIT
// Numbers as to_string() writes them: with the fewest digits that identify them, in columns.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/message.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Appends what an error message would say of the value, up to 63 characters.
template <class T>
void append_text(std::string& out, const T& value) {
  char text[64];
  Message message(text, sizeof text);
  append(message, value);
  out += text;
}
TENON_LAZY void append_list(std::string& out, const Dims& values) {
  out += '{';
  for (size_t d = 0; d < values.size(); ++d) {
    if (d != 0) out += ", ";
    append_text(out, values[d]);
  }
  out += '}';
}
/// Appends what `size` characters lack of `width`; they may be more, where somebody else wrote to
/// the memory since it was measured.
TENON_LAZY void pad(std::string& out, size_t size, size_t width, char with = ' ') {
  if (size < width) out.append(width - size, with);
}

/// Floating numbers of one column: what was learnt of them, by which each is written.
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

/// A finite number's digits, in pieces that lie in `text`.
struct FloatText {
  struct Piece {
    const char* begin;
    size_t size;
  };
  char text[64] = {};
  Piece whole;     // with its sign, where it is shown
  Piece fraction;  // digits
  Piece exponent;  // digits, after the sign
};

TENON_LAZY void look_at(FloatColumn& column, double value) noexcept {
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
  // In float for the smaller types, so that a float's 0.0001 is not below it.
  column.scientific =
      most >= 1e8 || (column.type == ScalarType::Double
                          ? least < 1e-4 || most / least > 1000
                          : static_cast<float>(least) < 1e-4f ||
                                static_cast<float>(most) / static_cast<float>(least) > 1000);
}

/// Finds the pieces of what snprintf printed with %+e or %+f: between the digits it puts what the C
/// locale has for a point, which may be several bytes.
TENON_LAZY void split_digits(FloatText& out, bool plus) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto take_digits = [&](const char* p) {
    FloatText::Piece piece{p, 0};
    while (is_digit(p[piece.size])) ++piece.size;
    return piece;
  };
  out.whole = take_digits(out.text + 1);
  const char* p = out.whole.begin + out.whole.size;
  if (plus || out.text[0] == '-') out.whole = {out.text, out.whole.size + 1};
  while (*p != '\0' && *p != 'e' && !is_digit(*p)) ++p;
  out.fraction = take_digits(p);
  p += out.fraction.size;
  out.exponent = *p == 'e' ? take_digits(p + 2) : FloatText::Piece{p, 0};
}

/// Prints a finite number with so many digits after the point.
TENON_LAZY void print_digits(const FloatColumn& column, double value, size_t digits,
                             FloatText& out) noexcept {
  std::snprintf(out.text, sizeof out.text, column.scientific ? "%+.*e" : "%+.*f",
                static_cast<int>(digits), value);
  split_digits(out, column.plus);
}

/// Whether the text, read as a number of this type, is the value.
TENON_LAZY bool reads_back(ScalarType type, const char* text, double value) noexcept {
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

/// Prints a finite number with as few digits as identify it among those of its type, and at most
/// `precision` after the point.
TENON_LAZY void print_shortest(const FloatColumn& column, double value, FloatText& out) noexcept {
  print_digits(column, value, static_cast<size_t>(column.precision), out);
  size_t digits = out.fraction.size;
  const bool is_exact = reads_back(column.type, out.text, value);
  while (digits > 0 && out.fraction.begin[digits - 1] == '0') --digits;
  while (is_exact && digits > 0) {
    print_digits(column, value, digits - 1, out);
    if (!reads_back(column.type, out.text, value)) break;
    --digits;
  }
  print_digits(column, value, digits, out);
}

TENON_LAZY void measure(FloatColumn& column, double value) noexcept {
  if (!is_finite(value)) return;
  FloatText text;
  print_shortest(column, value, text);
  if (text.whole.size > column.whole) column.whole = text.whole.size;
  if (text.fraction.size > column.fraction) column.fraction = text.fraction.size;
  if (text.exponent.size > column.exponent) column.exponent = text.exponent.size;
}

/// Writes a number, `unit` ("j" or "") right after it, and what it lacks of the column's width.
TENON_LAZY void write_float(const FloatColumn& column, double value, const char* unit,
                            std::string& out) {
  if (!is_finite(value)) {
    const char* const sign = !is_nan(value) && value < 0 ? "-" : column.plus ? "+" : "";
    pad(out, *sign == '\0' ? 3 : 4, column.left() + 1 + column.right());
    out += sign;
    out += is_nan(value) ? "nan" : "inf";
    out += unit;
    return;
  }
  FloatText text;
  if (column.scientific) {
    print_digits(column, value, column.fraction, text);
  } else {
    print_shortest(column, value, text);
  }
  pad(out, text.whole.size, column.left());
  out.append(text.whole.begin, text.whole.size);
  out += '.';
  out.append(text.fraction.begin, text.fraction.size);
  if (column.scientific) {
    out += 'e';
    out += text.exponent.begin[-1];
    pad(out, text.exponent.size, column.exponent, '0');
    out.append(text.exponent.begin, text.exponent.size);
  }
  out += unit;
  pad(out, text.fraction.size, column.fraction);
}

}  // namespace detail
TENON_END_NAMESPACE
