// SPDX-License-Identifier: MIT
// read_double: reads a number from text, in any locale.
#pragma once

#include <string>
#include <string_view>

#include "tenon/config.h"

#if defined(__unix__) || defined(__APPLE__)
#include <locale.h>
#include <stdlib.h>

#include <cerrno>
#include <utility>
#define TENON_DETAIL_HAS_STRTOD_L 1
#else
#define TENON_DETAIL_HAS_STRTOD_L 0
#include <limits>
#include <locale>
#include <sstream>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads the whole text as a number: "2.5", "-1e-05", ".5", "5.", "inf", "nan". The point is '.' in
/// every locale, unlike strtod's. False for any other text, and for numbers out of range.
inline bool read_double(std::string_view text, double& value) {
  const bool is_negative = !text.empty() && text.front() == '-';
  const std::string_view word = text.substr(is_negative ? 1 : 0);
  const bool is_named = word == "inf" || word == "nan";
  if (!is_named && (word.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
                    word.find_first_of("0123456789.") != 0)) {
    return false;
  }
#if TENON_DETAIL_HAS_STRTOD_L
  // Not std::from_chars, which adds 30 kB to a statically linked program.
  const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (plain == nullptr) return false;
  const std::string copy(text);
  char* end = nullptr;
  const int before = std::exchange(errno, 0);
  value = ::strtod_l(copy.c_str(), &end, plain);
  ::freelocale(plain);
  const bool is_too_large = std::exchange(errno, before) == ERANGE && (value > 1 || value < -1);
  return end == copy.c_str() + copy.size() && !is_too_large;
#else
  if (is_named) {
    using Limits = std::numeric_limits<double>;
    value = word == "inf" ? Limits::infinity() : Limits::quiet_NaN();
    if (is_negative) value = -value;
    return true;
  }
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  stream >> std::noskipws >> value;
  return !stream.fail() && stream.peek() == std::istringstream::traits_type::eof();
#endif
}

}  // namespace detail
TENON_END_NAMESPACE
