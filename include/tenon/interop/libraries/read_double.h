// SPDX-License-Identifier: MIT
// read_double: a number's text, in any locale.
#pragma once

#include <charconv>
#include <string_view>

#include "tenon/config.h"

#if !defined(__cpp_lib_to_chars)  // from_chars is for integers alone before GCC 11
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads "2.5", "-1e-05", ".5", "5.", "inf", "nan": the whole text, with a '.' whatever the
/// program's locale is, unlike strtod. False for another text, and for what no double is near.
inline bool read_double(std::string_view text, double& value) {
#if defined(__cpp_lib_to_chars)
  const char* const end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && at == end;
#else
  const bool is_negative = !text.empty() && text.front() == '-';
  const std::string_view word = text.substr(is_negative ? 1 : 0);
  if (word == "inf" || word == "nan") {
    using Limits = std::numeric_limits<double>;
    value = word == "inf" ? Limits::infinity() : Limits::quiet_NaN();
    if (is_negative) value = -value;
    return true;
  }
  if (word.empty() || word.front() == '+') return false;
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  stream >> std::noskipws >> value;
  return !stream.fail() && stream.peek() == std::istringstream::traits_type::eof();
#endif
}

}  // namespace detail
TENON_END_NAMESPACE
