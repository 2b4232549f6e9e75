// SPDX-License-Identifier: MIT
// to_string: a tensor as text, laid out as NumPy does.
//
// The elements shown are gone through up to three times, to learn how wide a column is and then to
// write it, so that nothing but the text takes memory. Floating numbers go through snprintf and
// strtod, which come with <string>: <charconv> would add a tenth to its compile time, lacks the
// floating conversions in some libraries, and knows nothing of the 8- and 16-bit types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tenon/config.h"
#include "tenon/core/complex.h"
#include "tenon/core/layout.h"
#include "tenon/core/message.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE

/// How much of a tensor to_string() shows, and how. Negative values count as 0.
/// Source: NumPy's edgeitems, threshold, precision and linewidth.
struct FormatOptions {
  int edge_items = 3;    ///< elements shown at each end of a shortened dimension
  int64_t limit = 1000;  ///< a tensor of more elements is shortened
  int precision = 4;     ///< digits after the point, at most; above 24 as 24
  int width = 80;        ///< characters in a line, unless a single element needs more
};

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

inline bool is_finite(double value) noexcept { return value - value == 0; }

TENON_LAZY void look_at(FloatColumn& column, double value) noexcept {
  if (!is_finite(value)) {
    column.has_special = true;
    column.has_minus_infinity |= value < 0;
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
  if (type == ScalarType::Float) {
    return static_cast<double>(std::strtof(text, nullptr)) == value;  // rounded once, not twice
  }
  const double read = std::strtod(text, nullptr);
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
    const bool is_nan = value != value;
    const char* const sign = !is_nan && value < 0 ? "-" : column.plus ? "+" : "";
    pad(out, *sign == '\0' ? 3 : 4, column.left() + 1 + column.right());
    out += sign;
    out += is_nan ? "nan" : "inf";
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

/// A tensor on its way to text.
struct TensorText {
  enum class Pass { LookAt, Measure, Write };

  TensorText(const TensorFields& source, const FormatOptions& asked, std::string& text) noexcept
      : tensor(source), out(text), options(asked) {
    options.edge_items = asked.edge_items < 0 ? 0 : asked.edge_items;
    options.width = asked.width < 0 ? 0 : asked.width;
    shortened = tensor.layout.numel > (asked.limit < 0 ? 0 : asked.limit);
    const ScalarType type = tensor.type;
    real.type = type == ScalarType::ComplexHalf    ? ScalarType::Half
                : type == ScalarType::ComplexFloat ? ScalarType::Float
                : isFloatingType(type)             ? type
                                                   : ScalarType::Double;
    real.precision = asked.precision < 0 ? 0 : asked.precision > 24 ? 24 : asked.precision;
    imaginary.type = real.type;
    imaginary.precision = real.precision;
    imaginary.plus = true;
  }

  const TensorFields& tensor;
  std::string& out;
  FormatOptions options;
  bool shortened = false;
  Pass pass = Pass::LookAt;
  FloatColumn real;  // all floating numbers, where they are not complex
  FloatColumn imaginary;
  size_t word_width = 0;  // of integers and Bool
  size_t line = 0;        // where the last line begins in `out`
};

TENON_LAZY void take_word(TensorText& t, const char* word) {
  const size_t size = std::char_traits<char>::length(word);
  if (t.pass == TensorText::Pass::Write) {
    pad(t.out, size, t.word_width);
    t.out += word;
  } else if (size > t.word_width) {
    t.word_width = size;
  }
}
template <class T>
void take_integer(TensorText& t, T value) {
  char text[24];
  Message message(text, sizeof text);
  append(message, value);
  take_word(t, text);
}
TENON_LAZY void take_bool(TensorText& t, bool value) {
  // Wide enough for both, whatever the tensor holds.
  if (!t.tensor.layout.sizes.empty()) t.word_width = 5;
  take_word(t, value ? "True" : "False");
}
TENON_LAZY void take_float(TensorText& t, FloatColumn& column, double value, const char* unit) {
  switch (t.pass) {
    case TensorText::Pass::LookAt: return look_at(column, value);
    case TensorText::Pass::Measure: return measure(column, value);
    case TensorText::Pass::Write: return write_float(column, value, unit, t.out);
  }
}

/// Looks at, measures or writes the element at an offset.
TENON_LAZY void take_element(TensorText& t, int64_t offset) {
  const ScalarType type = t.tensor.type;
  alignas(16) unsigned char exact[16] = {};
  const int64_t at = offset * static_cast<int64_t>(elementSize(type));
  load_exact(type, static_cast<const char*>(t.tensor.data) + at, 1, exact);
  switch (exact_type(type)) {
    case ScalarType::ComplexDouble: {
      const auto value = load_element<complex<double>>(exact, 0);
      take_float(t, t.real, value.real(), "");
      return take_float(t, t.imaginary, value.imag(), "j");
    }
    case ScalarType::Double: return take_float(t, t.real, load_element<double>(exact, 0), "");
    case ScalarType::UInt64: return take_integer(t, load_element<uint64_t>(exact, 0));
    default: break;
  }
  const auto value = load_element<int64_t>(exact, 0);
  return type == ScalarType::Bool ? take_bool(t, value != 0) : take_integer(t, value);
}

/// Writes what stands between two elements of dimension d.
TENON_LAZY void write_separator(TensorText& t, size_t d) {
  const size_t rank = t.tensor.layout.sizes.size();
  if (d + 1 == rank) {
    t.out += ' ';
    return;
  }
  t.out.append(rank - d - 1, '\n');
  t.line = t.out.size();
  t.out.append(d + 1, ' ');
}

/// Moves what was written since `begin` to a line of its own, if it stands behind others and does
/// not fit beside them and the closing brackets.
TENON_LAZY void wrap_row(TensorText& t, size_t begin) {
  const size_t rank = t.tensor.layout.sizes.size();
  const bool fits = t.out.size() - t.line + rank <= static_cast<size_t>(t.options.width);
  if (fits || begin - t.line == rank) return;
  size_t end = begin;
  while (t.out[end - 1] == ' ') --end;
  t.out.replace(end, begin - end, "\n" + std::string(rank, ' '));
  t.line = end + 1;
}

/// Goes through the elements to be shown, from dimension d on.
TENON_LAZY void walk_shown(TensorText& t, size_t d, int64_t offset) {
  const Layout& layout = t.tensor.layout;
  if (d == layout.sizes.size()) return take_element(t, offset);
  const bool writing = t.pass == TensorText::Pass::Write;
  const bool is_row = d + 1 == layout.sizes.size();
  const int64_t size = layout.sizes[d];
  const int64_t edge = t.options.edge_items;
  const bool has_gap = t.shortened && size > 2 * edge;
  if (writing) t.out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (writing && i != 0) write_separator(t, d);
    if (has_gap && i == edge) {
      i = size - edge;
      const size_t begin = t.out.size();
      if (writing) t.out += "...";
      if (writing && is_row) wrap_row(t, begin);
      if (i == size) break;
      if (writing) write_separator(t, d);
    }
    const size_t begin = t.out.size();
    walk_shown(t, d + 1, offset + i * layout.strides[d]);
    if (writing && is_row) wrap_row(t, begin);
  }
  if (writing) t.out += ']';
}

TENON_LAZY void write_elements(const TensorFields& tensor, const FormatOptions& options,
                               std::string& out) {
  if (tensor.layout.numel == 0) {
    out += "[]";
    return;
  }
  TensorText t(tensor, options, out);
  walk_shown(t, 0, 0);
  if (!isIntegralType(tensor.type, true)) {
    t.pass = TensorText::Pass::Measure;
    walk_shown(t, 0, 0);
  }
  t.pass = TensorText::Pass::Write;
  walk_shown(t, 0, 0);
}

}  // namespace detail

/// The elements in NumPy's layout, and a last line with dtype and sizes, the device unless it is
/// the CPU, the strides unless they are contiguous, and whether the tensor is read-only:
///
///     [[1.   2.5 ]
///      [3.   0.25]]
///     Float {2, 2}, strides {1, 2}, read-only
///
/// A floating number has the fewest digits after the point that identify it in its dtype, at most
/// options.precision. All have exponents, and equally many digits, if one is 1e8 or larger, one is
/// below 1e-4, or the largest is over 1000 times the smallest; signs, zeros, nan and inf aside.
/// The parts of complex numbers are two columns in this.
///
/// Every tensor has a text, and printing raises nothing. An undefined one gives "undefined tensor";
/// a placeholder, and memory that the host cannot read, give the last line alone, which says so.
/// Reads and writes nothing but the elements shown, and takes memory for the text alone. Does not
/// depend on the C locale.
/// Source: numpy.array2string, up to 2.2: later versions write Half and Float with exponents
/// sooner. Other differences: with 0 edge items a shortened dimension shows none, where NumPy shows
/// the last; a power of two may have a digit more, where its fewest digits are not the nearest.
TENON_LAZY std::string to_string(TensorArg t, const FormatOptions& options = {}) {
  if (!t.defined()) return "undefined tensor";
  const detail::TensorFields& tensor = detail::fields(t);
  const bool has_data = tensor.has_data();
  const bool readable = tensor.device.is_host_accessible() || tensor.layout.numel == 0;
  std::string out;
  if (has_data && readable) {
    detail::write_elements(tensor, options, out);
    out += '\n';
  }
  detail::append_text(out, tensor.type);
  out += ' ';
  detail::append_list(out, tensor.layout.sizes);
  if (!tensor.device.is_cpu()) {
    out += " on ";
    detail::append_text(out, tensor.device);
  }
  if (!tensor.layout.is_contiguous()) {
    out += ", strides ";
    detail::append_list(out, tensor.layout.strides);
  }
  if (tensor.readonly) out += ", read-only";
  if (!has_data) {
    out += ", a placeholder without data";
  } else if (!readable) {
    out += ", not readable by the host";
  }
  return out;
}

TENON_END_NAMESPACE
