// SPDX-License-Identifier: MIT
// Writes to_string()'s numbers in columns, with the fewest digits that identify each number.
//
// The digits are computed from long integers, as NumPy does. std::to_chars does not know the 8- and
// 16-bit types, and its tables take 120 KB on a Cortex-M4; snprintf and strtod take 36 KB, and
// depend on the C locale.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Appends values as error texts show them; at most 2 KiB of text, on bare metal 256 bytes.
template <class... Values>
void append_text(std::string& out, const Values&... values) {
  char text[TENON_BARE_METAL ? 256 : 2048];
  Message message(text, sizeof text);
  (append(message, values), ...);
  out += text;
}
/// Pads `size` characters to `width`. `size` may exceed `width` if another thread wrote to the
/// tensor meanwhile.
TENON_TEMPLATE_INLINE void pad(std::string& out, size_t size, int width) {
  const auto wanted = static_cast<size_t>(width);
  if (size < wanted) out.append(wanted - size, ' ');
}

/// The format of the floating numbers of one column.
struct FloatColumn {
  ScalarType type = ScalarType::Double;  // digits beyond this type's precision are not shown
  bool plus = false;                     // positive numbers have a sign, as in imaginary parts
  int precision = 0;
  // Set by look_at(): the range of the magnitudes of finite nonzero numbers.
  double smallest = 0;
  double largest = 0;
  bool scientific = false;
  bool has_special = false;
  bool has_minus_infinity = false;
  // Set by measure(): the maximum of characters before the point, digits after it, and exponent
  // digits.
  int whole = 0;
  int fraction = 0;
  int exponent = 0;

  /// Characters after the point.
  int right() const noexcept { return scientific ? fraction + 2 + exponent : fraction; }
  /// Characters before the point, at least as many as nan and inf need.
  int left() const noexcept {
    const int special = has_special ? (plus || has_minus_infinity ? 4 : 3) : 0;
    const int after = right() + 1;
    return special > whole + after ? special - after : whole;
  }
};

/// A finite number's digits, in pieces of `text`.
struct FloatText {
  char text[336];             // room for the largest Double, which another thread may write
  std::string_view whole;     // with the sign, if it is shown
  std::string_view fraction;  // digits
  int exponent = 0;
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
  // As in NumPy, the cutoff is about the type's precision, and the quotient is rounded to the type.
  const bool is_half = column.type == ScalarType::Half;
  const double cutoff = is_half ? 1e3 : column.type == ScalarType::Float ? 1e6 : 1e8;
  double ratio = most / least;
  bool is_small = least < 1e-4;
  if (column.type != ScalarType::Double) {  // so that the float 0.0001 is not below 1e-4
    const float quotient = static_cast<float>(most) / static_cast<float>(least);
    ratio = static_cast<double>(is_half ? static_cast<float>(Half(quotient)) : quotient);
    is_small = static_cast<float>(least) < 1e-4f;
  }
  column.scientific = most >= cutoff || is_small || ratio > 1000;
}

/// A number and half the step to the next one of its type, value / unit and half_step / unit, as
/// integers of `length` words, the lowest first.
struct LongFraction {
  uint32_t value[36] = {};
  uint32_t unit[36] = {};
  uint32_t half_step[36] = {};
  size_t length;

  LongFraction(uint64_t steps, int exponent) noexcept {
    const int up = exponent > 0 ? exponent : 0;
    // Has room for the bits of `steps`, and for 200 times that number.
    length = static_cast<size_t>(2 * up - exponent + 62) / 32 + 1;
    value[0] = static_cast<uint32_t>(steps);
    value[1] = static_cast<uint32_t>(steps >> 32);
    unit[0] = half_step[0] = 1;
    scale(value, 2, up + 1);
    scale(unit, 2, up - exponent + 1);
    scale(half_step, 2, up);
  }

  /// Multiplies by base^power.
  void scale(uint32_t* number, uint32_t base, int power) const noexcept {
    while (power > 0) {
      uint32_t factor = 1;
      for (int i = 0; i < 9 && power > 0; ++i, --power) factor *= base;
      uint64_t carry = 0;
      for (size_t i = 0; i < length; ++i, carry >>= 32) {
        carry += uint64_t{number[i]} * factor;
        number[i] = static_cast<uint32_t>(carry);
      }
    }
  }
  void subtract_unit() noexcept {
    uint64_t borrow = 0;
    for (size_t i = 0; i < length; ++i) {
      const uint64_t difference = uint64_t{value[i]} - unit[i] - borrow;
      value[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
  }
  /// Returns the sign of value + more - limit; without `more`, of value - limit.
  int64_t compare(const uint32_t* more, const uint32_t* limit) const noexcept {
    int64_t difference = 0;  // of the words so far; lower words add less than 2, and more than -1
    for (size_t i = length; i > 0 && difference > -2 && difference < 1; --i) {
      difference = difference * (int64_t{1} << 32) + value[i - 1] - limit[i - 1];
      if (more != nullptr) difference += more[i - 1];
    }
    return difference;
  }
};

/// Prints a finite number with as few digits after the point as identify it among those of its
/// type, but at least `least` and at most the column's precision. They are the nearest such digits,
/// with one exception: below a power of two the step is half as large, so only the digits rounded
/// up may identify it.
/// Source: Steele and White's Dragon4, in NumPy's form.
TENON_TEMPLATE_INLINE void print_float(const FloatColumn& column, double value, int least,
                                       FloatText& out) noexcept {
  int bits = 0;    // the precision of the type in bits
  int lowest = 0;  // the type's smallest step is 2^lowest
  const auto look_up = [&](auto tag) {
    using Limits = std::numeric_limits<typename decltype(tag)::type>;
    bits = Limits::digits;
    lowest = Limits::min_exponent - Limits::digits;
  };
  visit(column.type, look_up, [] {});
  const uint64_t code = double_bits(value);
  const bool is_negative = code >> 63 != 0;
  const bool is_normal = (code & kDoubleInfinity) != 0;
  uint64_t steps = (code & ((uint64_t{1} << 52) - 1)) | uint64_t{is_normal} << 52;
  const int top = steps == 0 ? 0 : static_cast<int>(code >> 52 & 0x7ff) - 1023 + !is_normal;
  const int step = top + 1 - bits > lowest ? top + 1 - bits : lowest;
  steps >>= step - (top - 52);
  const bool is_even = steps % 2 == 0;
  const bool is_closer_below = step != lowest && steps == uint64_t{1} << (bits - 1);

  LongFraction rest(steps, step);
  // At or below the place of the first digit, since 2^10 is slightly over 10^3.
  int place = (is_normal ? top : -1074) * 301 / 1000 - 3;
  if (steps == 0 || (place < 0 && !column.scientific)) place = 0;
  rest.scale(rest.unit, 10, place > 0 ? place + 1 : 1);
  rest.scale(rest.value, 10, -place);
  rest.scale(rest.half_step, 10, -place);
  int point = place + 1;  // digits before the point
  for (; rest.compare(nullptr, rest.unit) >= 0; ++point) rest.scale(rest.unit, 10, 1);
  char* digits = out.text + 2;  // after the sign, and the 1 of a 9.9 that is rounded to 10
  digits[-1] = '0';
  char* end = digits;
  int after = column.scientific ? -1 : -point;  // digits after the point
  bool is_below_enough = false;  // whether the digits, rounded down, identify the number
  bool is_above_enough = false;  // whether they do if rounded up
  do {
    rest.scale(rest.value, 10, 1);
    *end = '0';
    for (; rest.compare(nullptr, rest.unit) >= 0; ++*end) rest.subtract_unit();
    if (!is_below_enough || !is_above_enough) {
      rest.scale(rest.half_step, 10, 1);
      // The interval includes its ends if the number is even.
      is_below_enough =
          rest.compare(is_closer_below ? rest.value : nullptr, rest.half_step) < is_even;
      is_above_enough = rest.compare(rest.half_step, rest.unit) > -is_even;
    }
    ++end;
    ++after;
  } while (after < column.precision && (after < least || (!is_below_enough && !is_above_enough)));
  const int64_t to_middle = rest.compare(rest.value, rest.unit);
  const bool is_nearer_above = to_middle > -(end[-1] % 2);  // halfway, to the even digit
  if (is_below_enough != is_above_enough ? is_above_enough : is_nearer_above) {
    while (*--end == '9') *end = '0';
    ++*end;
  }
  if (digits[-1] != '0') {
    --digits;
    ++point;
  }
  const int before = column.scientific ? 1 : point;
  while (after > least && digits[before + after - 1] == '0') --after;
  const bool has_sign = column.plus || is_negative;
  digits[-1] = is_negative ? '-' : '+';
  out.whole = {digits - has_sign, static_cast<size_t>(before + has_sign)};
  out.fraction = {digits + before, static_cast<size_t>(after)};
  out.exponent = point - 1;
}

TENON_TEMPLATE_INLINE void measure(FloatColumn& column, double value) noexcept {
  if (!is_finite(value)) return;
  FloatText text;
  print_float(column, value, 0, text);
  const auto widen = [](int& width, int size) { width = size > width ? size : width; };
  widen(column.whole, static_cast<int>(text.whole.size()));
  widen(column.fraction, static_cast<int>(text.fraction.size()));
  widen(column.exponent, text.exponent < -99 || text.exponent > 99 ? 3 : 2);
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
  print_float(column, value, column.scientific ? column.fraction : 0, text);
  pad(out, text.whole.size(), column.left());
  out += text.whole;
  out += '.';
  out += text.fraction;
  if (column.scientific) {
    const int size = text.exponent < 0 ? -text.exponent : text.exponent;
    out += text.exponent < 0 ? "e-" : "e+";
    for (int place = column.exponent > 2 ? 100 : 10; place > 0; place /= 10) {
      out += static_cast<char>('0' + size / place % 10);
    }
  }
  out += unit;
  pad(out, text.fraction.size(), column.fraction);
}

}  // namespace detail
TENON_END_NAMESPACE
