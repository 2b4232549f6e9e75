// SPDX-License-Identifier: MIT
// The header of NumPy's .npy format: a parser that trusts nothing, and a writer of NumPy's bytes.
//
// A file is a magic, a version, the length of a text, the text and the elements. The text is a
// Python dict, padded with spaces: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
// Source: numpy/lib/format.py, NEP 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

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
  explicit ShownText(std::string_view from, size_t most = 60) noexcept {
    size_t n = 0;
    for (; n < from.size() && n < most; ++n) {
      text[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    }
    if (from.size() > 60 && most == 60) std::memcpy(text + n, "...", 4);
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
  if (count >= 8 && (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)) {
    return fail(Error::NotSupported, "format version ", bytes[6], ".", bytes[7],
                "; expected 1.0, 2.0 or 3.0");
  }
  text.begin = count >= 8 && bytes[6] > 1 ? 12 : 10;
  if (count < text.begin) {
    return fail(Error::InvalidArgument, "the header is cut off after ", total, " bytes");
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
  explicit NpyParser(std::string_view text) noexcept : text_(text), rest_(text) {}

  Error parse(NpyHeader& header) noexcept {
    TENON_TRY(expect('{', "'{'"));
    for (bool more = true; !accept('}'); more = accept(',')) {
      if (!more) return expected("',' or '}'");
      TENON_TRY(parse_entry(header));
    }
    skip_space();
    if (!rest_.empty()) return expected("nothing but spaces after the dict");
    for (size_t key = 0; key < 3; ++key) {
      if (seen_[key]) continue;
      return fail(Error::InvalidArgument, "the header lacks the key '", kKeys[key], "'");
    }
    return Error::Ok;
  }

 private:
  static constexpr const char* kKeys[] = {"descr", "fortran_order", "shape"};

  Error parse_entry(NpyHeader& header) noexcept {
    std::string_view name;
    TENON_TRY(parse_string("a key", name));
    TENON_TRY(expect(':', "':'"));
    size_t key = 0;
    while (key < 3 && name != kKeys[key]) ++key;
    if (key == 3 || seen_[key]) {
      return fail(Error::InvalidArgument, "the header has the key '", ShownText(name).text,
                  key == 3 ? "'; expected" : "' twice; expected",
                  " 'descr', 'fortran_order' and 'shape' once each");
    }
    seen_[key] = true;
    if (key == 0) return parse_descr(header);
    if (key == 2) return parse_shape(header.sizes);
    skip_space();
    header.fortran_order = rest_.substr(0, 4) == "True";
    if (!header.fortran_order && rest_.substr(0, 5) != "False") return expected("True or False");
    rest_.remove_prefix(header.fortran_order ? 4 : 5);
    return Error::Ok;
  }

  Error parse_descr(NpyHeader& header) noexcept {
    skip_space();
    // A structured dtype is a list, one with a shape a tuple.
    if (!rest_.empty() && is_one_of(rest_[0], "[({")) {
      size_t depth = 0;
      size_t n = 0;
      do {
        if (is_one_of(rest_[n], "[({")) ++depth;
        if (is_one_of(rest_[n], "])}")) --depth;
      } while (++n < rest_.size() && depth != 0);
      return unsupported(rest_.substr(0, n));
    }
    std::string_view descr;
    TENON_TRY(parse_string("a dtype", descr));
    const bool has_order = !descr.empty() && is_one_of(descr[0], "<>|=");
    for (const NpyType& known : kNpyTypes) {
      if (descr.substr(has_order ? 1 : 0) != known.code) continue;
      header.type = known.type;
      header.swapped =
          elementSize(known.type) > 1 && descr[0] == (host_is_big_endian() ? '<' : '>');
      return Error::Ok;
    }
    return unsupported(descr);
  }

  Error parse_shape(Dims& sizes) noexcept {
    TENON_TRY(expect('(', "a shape, such as (2, 3),"));
    for (bool more = true; !accept(')'); more = accept(',')) {
      if (!more) return expected("',' or ')'");
      if (sizes.size() == kMaxDims) {
        return fail(Error::InvalidArgument, "the shape has more than ", kMaxDims, " dimensions");
      }
      skip_space();
      size_t digits = 0;
      int64_t size = 0;
      bool fits = true;
      for (; digits < rest_.size() && is_one_of(rest_[digits], "0123456789"); ++digits) {
        fits = fits && multiply(size, 10, size) && add(size, rest_[digits] - '0', size);
      }
      if (digits == 0) return expected("a size, an integer of 0 or more,");
      if (!fits) {
        return fail(Error::InvalidArgument, "the size ", ShownText(rest_.substr(0, digits)).text,
                    " of the shape overflows 64 bits");
      }
      rest_.remove_prefix(digits);
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // as Python 2 wrote it
      sizes.push_back(size);
      skip_space();
      // In Python (3) is a number; a tuple of one is (3,).
      if (sizes.size() == 1 && !rest_.empty() && rest_[0] == ')') return expected("','");
    }
    return check_dims("shape", sizes);
  }

  Error parse_string(const char* what, std::string_view& string) noexcept {
    skip_space();
    if (rest_.empty() || !is_one_of(rest_[0], "'\"")) return expected(what);
    const char ends[] = {rest_[0], '\\', '\0'};
    const size_t close = rest_.find_first_of(ends, 1);
    if (close == rest_.npos || rest_[close] == '\\') return expected(what);
    string = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    return Error::Ok;
  }

  static bool is_one_of(char c, std::string_view set) noexcept { return set.find(c) != set.npos; }
  void skip_space() noexcept {
    while (!rest_.empty() && is_one_of(rest_[0], " \n\t\r")) rest_.remove_prefix(1);
  }
  bool accept(char c) noexcept {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Error expect(char c, const char* what) noexcept { return accept(c) ? Error::Ok : expected(what); }
  Error expected(const char* what) const noexcept {
    if (rest_.empty()) {
      return fail(Error::InvalidArgument, "expected ", what, " where the header ends");
    }
    return fail(Error::InvalidArgument, "expected ", what, " at byte ", text_.size() - rest_.size(),
                " of the header, found ", ShownText(rest_, 20).text);
  }
  static Error unsupported(std::string_view descr) noexcept {
    return fail(Error::NotSupported, "dtype ", ShownText(descr).text,
                "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8"
                " f2 f4 f8 c8 c16");
  }

  std::string_view text_;
  std::string_view rest_;
  bool seen_[3] = {false, false, false};
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
