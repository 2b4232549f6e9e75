// SPDX-License-Identifier: MIT
// The header of NumPy's .npy format: a parser for untrusted files, and a function that formats a
// header as NumPy does, byte for byte.
//
// A file consists of a magic, a version, the length of a text, the text and the elements. The text
// is a Python dict, padded with spaces: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3),
// }.
// Source: numpy/lib/format.py, NEP 1.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "tenon/core/layout.h"
#include "tenon/core/message.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/files/npy_dtype.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The most bytes that may precede the text; in version 1.0 there are 10.
inline constexpr size_t kNpyPreamble = 12;
/// The longest text that is read. A plain dtype with 64 sizes takes 2 kB; the rest can be padding.
inline constexpr size_t kNpyMaxText = size_t{1} << 20;
/// The size of the buffer for format_npy_header(), in bytes.
inline constexpr size_t kNpyHeaderRoom = 2048;

/// The position of a header's text in its file.
struct NpyRange {
  size_t begin = 0;
  size_t size = 0;
  size_t end() const noexcept { return begin + size; }
};

struct NpyHeader {
  ScalarType type = ScalarType::Undefined;
  uint64_t per_item = 1;  // how many elements of `type` one element of the file has
  bool swapped = false;   // multi-byte numbers are not in the host's byte order
  bool fortran_order = false;
  Dims sizes;
};

/// Whether a file that begins with these bytes can be a .npy file; `count` may be less than 6.
inline bool begins_as_npy(const unsigned char* bytes, size_t count) noexcept {
  return count == 0 || std::memcmp(bytes, "\x93NUMPY", count < 6 ? count : 6) == 0;
}

/// Finds the header's text. `bytes`: the first `count` of the file's `total` bytes; `count` is at
/// least min(total, kNpyPreamble).
inline Error parse_npy_preamble(const unsigned char* bytes, size_t count, uint64_t total,
                                NpyRange& text) noexcept {
  if (!begins_as_npy(bytes, count)) {
    const bool is_zip = count >= 2 && bytes[0] == 'P' && bytes[1] == 'K';
    TENON_TRY(fail_for_kind(bytes, count, "a .npy file",
                            is_zip ? Error::NotSupported : Error::InvalidArgument));
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
    return fail(Error::NotSupported, "the header has ", text.size, " bytes; expected at most ",
                kNpyMaxText);
  }
  return Error::Ok;
}

/// Reads the dict. If a type is given, elements of other dtypes are read as bytes of that type.
class NpyParser {
 public:
  explicit NpyParser(std::string_view text, ScalarType requested = ScalarType::Undefined) noexcept
      : rest_(text), requested_(requested) {}

  /// With `descr`, any dtype is accepted: its text in the file is stored there, and the type stays
  /// Undefined.
  Error parse(NpyHeader& header, std::string_view* descr = nullptr) noexcept {
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
      TENON_TRY(key == 1           ? parse_order(header)
                : key == 2         ? parse_shape(header.sizes)
                : descr == nullptr ? parse_descr(header)
                                   : skip_value(*descr));
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
    std::string_view descr = rest_.substr(0, rest_.find(", 'fortran_order'"));
    NpyCode code;
    if (first == '[') {
      if (requested_ == ScalarType::Undefined) return unsupported(descr, "Byte");
      TENON_TRY(parse_fields(code.item_size, 0));
    } else if (first == '(' || first == '{') {
      return unsupported(descr, nullptr);
    } else {
      TENON_TRY(parse_string("a dtype", descr));
      code = read_npy_code(descr);
    }
    header.type = requested_ != ScalarType::Undefined ? requested_ : code.type;
    if (code.type == ScalarType::Undefined) {
      if (header.type == ScalarType::Undefined || code.item_size == 0) {
        return unsupported(descr, hint(descr, code.item_size));
      }
    } else if (header.type != code.type) {
      // Programs that lack BFloat16 write its bits as UInt16.
      const bool is_bits = code.type == ScalarType::Byte || code.type >= ScalarType::UInt16;
      if (!is_bits || code.item_size != elementSize(header.type)) {
        return fail(Error::InvalidType, "dtype ", ShownText(descr).text, " is ", code.type,
                    ", the type given is ", header.type,
                    "; read it without a type, and convert it with to()");
      }
    }
    const size_t size = elementSize(header.type);
    if (code.item_size % size != 0) {
      return fail(Error::InvalidArgument, "dtype ", ShownText(descr).text, " has ", code.item_size,
                  " bytes, which are not a multiple of the ", size, " of ", header.type);
    }
    header.per_item = code.item_size / size;
    header.swapped = code.other_order && code.item_size == size && size > 1;
    return Error::Ok;
  }

  /// Skips a text, or brackets and their content. Sets `value` to what was skipped; for a text,
  /// without its quotes.
  Error skip_value(std::string_view& value) noexcept {
    const char first = next();
    const char* const begin = rest_.data();
    for (int depth = 0;;) {
      const char c = next();
      if (c == '\'' || c == '"') {
        TENON_TRY(parse_string("a dtype", value, true));
      } else {
        const bool opens = c == '(' || c == '[' || c == '{';
        const bool closes = c == ')' || c == ']' || c == '}';
        depth += opens ? 1 : closes ? -1 : 0;
        if (rest_.empty() || depth < 0 || (depth == 0 && !closes)) return expected("a dtype");
        rest_.remove_prefix(1);
      }
      if (depth == 0) break;
    }
    const bool is_text = first == '\'' || first == '"';
    if (!is_text) value = {begin, static_cast<size_t>(rest_.data() - begin)};
    return Error::Ok;
  }

  /// Reads the fields of a structured dtype: a list of (name, dtype) or (name, dtype, sizes).
  Error parse_fields(uint64_t& item_size, int depth) noexcept {
    if (depth == 16)
      return fail(Error::NotSupported, "the dtype has more than 16 levels of fields");
    accept("[");
    while (!accept("]")) {
      std::string_view word;
      if (!accept("(")) return expected("a field, such as ('x', '<f4'),");
      const bool has_title = accept("(");
      TENON_TRY(parse_string("a name", word, true));
      if (has_title) {
        if (!accept(",")) return expected("','");
        TENON_TRY(parse_string("a name", word, true));
        if (!accept(")")) return expected("')'");
      }
      if (!accept(",")) return expected("','");
      uint64_t size = 0;
      if (next() == '[') {
        TENON_TRY(parse_fields(size, depth + 1));
      } else {
        TENON_TRY(parse_string("a dtype", word));
        size = read_npy_code(word).item_size;
        if (size == 0) return unsupported(word, nullptr);
      }
      if (accept(",") && next() == '(') {
        Dims sizes;
        TENON_TRY(parse_shape(sizes));
        for (const int64_t n : sizes) size = times(size, static_cast<uint64_t>(n));
        accept(",");
      }
      if (!accept(")")) return expected("')'");
      if (!accept(",") && next() != ']') return expected("',' or ']'");
      item_size += size;
      if (item_size > kNpyMaxItem) {
        return fail(Error::NotSupported, "the structured dtype has more than ", kNpyMaxItem,
                    " bytes");
      }
    }
    return item_size != 0 ? Error::Ok
                          : fail(Error::NotSupported, "the structured dtype has 0 bytes");
  }
  /// Multiplies; kNpyMaxItem + 1 if the product is larger than kNpyMaxItem.
  static uint64_t times(uint64_t size, uint64_t n) noexcept {
    if (size == 0 || n == 0) return 0;
    return n > kNpyMaxItem / size ? kNpyMaxItem + 1 : size * n;
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
      if (size < 0 || (size > 0 && *begin == '0')) {  // Python has no sign or leading zero here
        return expected("a size, an integer of 0 or more,");
      }
      rest_.remove_prefix(digits);
      accept("L");  // Python 2's suffix of long integers
      sizes.push_back(size);
      // In Python (3) is a number; a tuple of one is (3,).
      if (!accept(",") && (sizes.size() == 1 || next() != ')')) return expected("','");
    }
    return check_dims("the shape", sizes);
  }

  /// Reads a text. A name is not used, so it may contain escapes; in any other text an escape is an
  /// error.
  Error parse_string(const char* what, std::string_view& string, bool is_name = false) noexcept {
    const char quote = next();
    if (quote != '\'' && quote != '"') return expected(what);
    size_t close = 1;
    while (close < rest_.size() && rest_[close] != quote)
      close += rest_[close] == '\\' ? size_t{2} : 1;
    if (close >= rest_.size()) return expected(what);
    string = rest_.substr(1, close - 1);
    if (!is_name && string.find('\\') != string.npos) return expected(what);
    rest_.remove_prefix(close + 1);
    return Error::Ok;
  }

  /// Skips spaces. Returns the next character, or '\0' at the end.
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
  /// The name of the type that a dtype's bytes probably have; null if unknown.
  static const char* hint(std::string_view descr, uint64_t item_size) noexcept {
    if (item_size == 0) return nullptr;
    const char kind = descr[descr.find_first_of("<>|=") == 0 ? 1 : 0];
    const bool is_date = kind == 'M' || kind == 'm' || kind == 'd' || kind == 't';
    const bool is_small_float = (kind == 'V' || kind == 'f') && item_size <= 2;
    if (is_small_float) return item_size == 2 ? "BFloat16" : "Float8_e4m3fn";
    return is_date ? "Long" : "Byte";
  }
  static Error unsupported(std::string_view descr, const char* type) noexcept {
    return fail(Error::NotSupported, "dtype ", ShownText(descr).text,
                "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16",
                type != nullptr ? "; to read its bytes pass a type, such as ScalarType::" : "",
                type != nullptr ? type : "");
  }

  std::string_view rest_;
  ScalarType requested_;
};

/// Formats the header that numpy.save writes, byte for byte, in version 1.0. Spaces pad it so that
/// the elements begin at a multiple of 64 bytes, and so that the first size (in Fortran order the
/// last) can grow in place. 64 sizes fit easily into that version's 65,535 bytes.
inline size_t format_npy_header(const NpyType& type, bool fortran_order, ArrayRef<int64_t> sizes,
                                char (&out)[kNpyHeaderRoom]) noexcept {
  constexpr size_t kBegin = 10;
  constexpr size_t kGrowthDigits = 21;
  Message text(out + kBegin, sizeof out - kBegin);
  // One-byte types have no byte-order sign, but ml_dtypes' V1 has one.
  const bool is_byte = elementSize(type.type) == 1 && type.code[0] != 'V';
  text.put("{'descr': '");
  text.put(is_byte ? '|' : host_is_big_endian() ? '>' : '<');
  text.put(type.code);
  text.put("', 'fortran_order': ");
  text.put(fortran_order ? "True" : "False");
  text.put(", 'shape': (");
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d != 0) text.put(", ");
    text.put_signed(sizes[d]);
  }
  text.put(sizes.size() == 1 ? ",), }" : "), }");
  if (!sizes.empty()) {
    char digits[kGrowthDigits];
    Message(digits, sizeof digits).put_signed(fortran_order ? sizes.back() : sizes.front());
    for (size_t n = std::strlen(digits); n < kGrowthDigits; ++n) text.put(' ');
  }
  // Pads to a multiple of 64 bytes, newline included. If the size is a multiple already, 64 bytes
  // are added, as in NumPy.
  size_t size = kBegin + std::strlen(out + kBegin);
  do {
    text.put(' ');
  } while (++size % 64 != 63);
  text.put('\n');
  ++size;
  const size_t length = size - kBegin;
  std::memcpy(out, "\x93NUMPY\1", 8);  // the string's terminator is the version's second byte
  out[8] = static_cast<char>(length & 0xff);
  out[9] = static_cast<char>(length >> 8);
  return size;
}

}  // namespace detail
TENON_END_NAMESPACE
