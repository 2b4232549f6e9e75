// SPDX-License-Identifier: MIT
// The header of NumPy's .npy format: a parser that trusts nothing, and a writer of NumPy's bytes.
//
// A file is a magic, a version, the length of a text, the text and the elements. The text is a
// Python dict, padded with spaces: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
// Source: numpy/lib/format.py, NEP 1.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>

#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The most bytes before the text; version 1.0 has 10.
inline constexpr size_t kNpyPreamble = 12;
/// The longest text that is read. A plain dtype needs 2 kB with 64 sizes; the rest may be padding.
inline constexpr size_t kNpyMaxText = size_t{1} << 20;
/// Room for what format_npy_header() writes.
inline constexpr size_t kNpyHeaderRoom = 2048;

/// Text out of a file for a message: its first 60 characters, unprintable ones as '?'.
struct ShownText {
  char text[64] = "";
  explicit ShownText(std::string_view from) noexcept {
    size_t n = 0;
    for (; n < from.size() && n < 60; ++n) {
      text[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    }
    if (n < from.size()) std::memcpy(text + n, "...", 4);
  }
};

/// Where the text of a header lies in its file.
struct NpyRange {
  size_t begin = 0;
  size_t size = 0;
  size_t end() const noexcept { return begin + size; }
};

struct NpyHeader {
  ScalarType type = ScalarType::Undefined;
  bool swapped = false;  // multi-byte numbers are not in the host's byte order
  bool fortran_order = false;
  Dims sizes;
};

/// The dtypes that both sides have, without NumPy's sign for the byte order.
struct NpyType {
  const char* code;
  ScalarType type;
};
inline constexpr NpyType kNpyTypes[] = {
    {"b1", ScalarType::Bool},         {"i1", ScalarType::Char},
    {"i2", ScalarType::Short},        {"i4", ScalarType::Int},
    {"i8", ScalarType::Long},         {"u1", ScalarType::Byte},
    {"u2", ScalarType::UInt16},       {"u4", ScalarType::UInt32},
    {"u8", ScalarType::UInt64},       {"f2", ScalarType::Half},
    {"f4", ScalarType::Float},        {"f8", ScalarType::Double},
    {"c8", ScalarType::ComplexFloat}, {"c16", ScalarType::ComplexDouble},
};

/// Finds the header's text. `bytes` are the first `count`, at least min(total, kNpyPreamble), of
/// the `total` bytes of a file.
inline Error parse_npy_preamble(const unsigned char* bytes, size_t count, uint64_t total,
                                NpyRange& text) noexcept {
  constexpr unsigned char kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (count >= 4 && std::memcmp(bytes, "PK\3\4", 4) == 0) {
    return fail(Error::NotSupported, "a zip archive, as .npz files are; expected a .npy file");
  }
  if (count != 0 && std::memcmp(bytes, kMagic, count < 6 ? count : 6) != 0) {
    return fail(Error::InvalidArgument, "not a .npy file: the first bytes are not \"\\x93NUMPY\"");
  }
  text.begin = count >= 8 && bytes[6] > 1 ? 12 : 10;
  const bool is_known = count < 8 || (bytes[6] >= 1 && bytes[6] <= 3 && bytes[7] == 0);
  if (is_known && count < text.begin) {
    return fail(Error::InvalidArgument, "the header is cut off after ", total, " bytes");
  }
  if (!is_known) {
    return fail(Error::NotSupported, "format version ", bytes[6], ".", bytes[7],
                "; expected 1.0, 2.0 or 3.0");
  }
  text.size = 0;
  for (size_t i = text.begin; i-- > 8;) text.size = text.size << 8 | bytes[i];
  if (text.size > total - text.begin) {
    return fail(Error::InvalidArgument, "the header's length is ", text.size, ", but only ",
                total - text.begin, " bytes follow");
  }
  if (text.size > kNpyMaxText) {
    return fail(Error::NotSupported, "a header of ", text.size, " bytes; expected at most ",
                kNpyMaxText);
  }
  return Error::Ok;
}

/// Reads the dict. Only the sizes nest in it, so there is no recursion.
class NpyParser {
 public:
  explicit NpyParser(std::string_view text) noexcept : rest_(text) {}

  Error parse(NpyHeader& header) noexcept {
    constexpr const char* kKeys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {};
    if (!accept("{")) return expected("'{'");
    while (!accept("}")) {
      std::string_view name;
      TENON_TRY(parse_string("a key", name));
      if (!accept(":")) return expected("':'");
      size_t key = 0;
      while (key < 3 && name != kKeys[key]) ++key;
      if (key == 3 || seen[key]) {
        return fail(Error::InvalidArgument, "the header has the key '", ShownText(name).text,
                    "'; expected 'descr', 'fortran_order' and 'shape' once each");
      }
      seen[key] = true;
      TENON_TRY(key == 0   ? parse_descr(header)
                : key == 1 ? parse_order(header)
                           : parse_shape(header.sizes));
      if (!accept(",") && next() != '}') return expected("',' or '}'");
    }
    next();
    if (!rest_.empty()) return expected("nothing but spaces after the dict");
    for (size_t key = 0; key < 3; ++key) {
      if (seen[key]) continue;
      return fail(Error::InvalidArgument, "the header lacks the key '", kKeys[key], "'");
    }
    return Error::Ok;
  }

 private:
  Error parse_descr(NpyHeader& header) noexcept {
    const char first = next();
    if (first == '[' || first == '(' || first == '{') {  // a structured dtype
      return unsupported(rest_.substr(0, rest_.find(", 'fortran_order'")));
    }
    std::string_view descr;
    TENON_TRY(parse_string("a dtype", descr));
    const size_t order = descr.find_first_of("<>|=") == 0 ? 1 : 0;
    for (const NpyType& known : kNpyTypes) {
      if (descr.substr(order) != known.code) continue;
      header.type = known.type;
      header.swapped =
          elementSize(known.type) > 1 && descr[0] == (host_is_big_endian() ? '<' : '>');
      return Error::Ok;
    }
    return unsupported(descr);
  }

  Error parse_order(NpyHeader& header) noexcept {
    header.fortran_order = accept("True");
    return header.fortran_order || accept("False") ? Error::Ok : expected("True or False");
  }

  Error parse_shape(Dims& sizes) noexcept {
    if (!accept("(")) return expected("a shape, such as (2, 3),");
    while (!accept(")")) {
      next();
      int64_t size = -1;
      const char* const begin = rest_.data();
      const auto [end, status] = std::from_chars(begin, begin + rest_.size(), size);
      const auto digits = static_cast<size_t>(end - begin);
      if (status == std::errc::result_out_of_range) {
        return fail(Error::InvalidArgument, "the size ", ShownText(rest_.substr(0, digits)).text,
                    " of the shape overflows 64 bits");
      }
      if (size < 0 || (size > 0 && *begin == '0')) {  // as in Python
        return expected("a size, an integer of 0 or more,");
      }
      rest_.remove_prefix(digits);
      accept("L");  // as Python 2 wrote it
      sizes.push_back(size);
      // In Python (3) is a number; a tuple of one is (3,).
      if (!accept(",") && (sizes.size() == 1 || next() != ')')) return expected("','");
    }
    return check_dims("the shape", sizes);
  }

  Error parse_string(const char* what, std::string_view& string) noexcept {
    const char quote = next();
    const size_t close = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (close == rest_.npos) return expected(what);
    string = rest_.substr(1, close - 1);
    if (string.find('\\') != string.npos) return expected(what);
    rest_.remove_prefix(close + 1);
    return Error::Ok;
  }

  /// Skips spaces. The next character, or '\0' at the end.
  char next() noexcept {
    const size_t spaces = rest_.find_first_not_of(" \n\t\r");
    rest_.remove_prefix(spaces < rest_.size() ? spaces : rest_.size());
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool accept(std::string_view token) noexcept {
    next();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Error expected(const char* what) const noexcept {
    return fail(Error::InvalidArgument, "expected ", what, " in the header, found '",
                ShownText(rest_).text, "'");
  }
  static Error unsupported(std::string_view descr) noexcept {
    return fail(Error::NotSupported, "dtype ", ShownText(descr).text,
                "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16");
  }

  std::string_view rest_;
};

/// Writes the header that numpy.save writes, byte for byte: version 1.0, the elements at a multiple
/// of 64 bytes, and spaces that let the first size (the last, in Fortran order) grow in place.
/// 64 sizes fit easily into the 65,535 bytes of that version.
inline size_t format_npy_header(const NpyType& type, bool fortran_order, ArrayRef<int64_t> sizes,
                                char (&out)[kNpyHeaderRoom]) noexcept {
  constexpr size_t kBegin = 10;
  constexpr int kGrowthDigits = 21;
  size_t size = kBegin;
  const auto put = [&](const char* format, auto... values) noexcept {
    size += static_cast<size_t>(std::snprintf(out + size, sizeof out - size, format, values...));
  };
  const char order = elementSize(type.type) == 1 ? '|' : host_is_big_endian() ? '>' : '<';
  put("{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order, type.code,
      fortran_order ? "True" : "False");
  for (size_t d = 0; d < sizes.size(); ++d) {
    put(d == 0 ? "%lld" : ", %lld", static_cast<long long>(sizes[d]));
  }
  put("%s), }", sizes.size() == 1 ? "," : "");
  if (!sizes.empty()) {
    const auto grows = static_cast<long long>(fortran_order ? sizes.back() : sizes.front());
    put("%*s", kGrowthDigits - std::snprintf(nullptr, 0, "%lld", grows), "");
  }
  // With the newline a multiple of 64; a whole 64 where nothing is missing, as NumPy does.
  put("%*s\n", static_cast<int>(64 - (size + 1) % 64), "");
  const size_t length = size - kBegin;
  std::memcpy(out, "\x93NUMPY\1", 8);  // the version's second byte is the terminator
  out[8] = static_cast<char>(length & 0xff);
  out[9] = static_cast<char>(length >> 8);
  return size;
}

}  // namespace detail
TENON_END_NAMESPACE
