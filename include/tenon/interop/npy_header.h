// SPDX-License-Identifier: MIT
// The header of NumPy's .npy format: a parser that trusts nothing, and a writer of NumPy's bytes.
//
// A file is a magic, a version, the length of a text, the text and the elements. The text is a
// Python dict, padded with spaces: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
// Source: numpy/lib/format.py, NEP 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The bytes before the text are at most these; in version 1.0 they are 10.
inline constexpr size_t kNpyPreamble = 12;
/// The longest text that is read. A plain dtype needs 2 kB with 64 sizes; the rest may be padding.
inline constexpr size_t kNpyMaxText = size_t{1} << 20;
/// Room for what format_npy_header() writes.
inline constexpr size_t kNpyHeaderRoom = 2048;

/// Text out of a file. In an error up to 60 of its characters are shown, unprintable ones as '?'.
struct NpyText {
  const char* data;
  size_t size;

  bool operator==(const char* other) const noexcept {
    return std::strlen(other) == size && std::memcmp(data, other, size) == 0;
  }
};

inline void append(Message& out, NpyText text) noexcept {
  constexpr size_t kShown = 60;
  for (size_t i = 0; i < text.size && i < kShown; ++i) {
    out.put(text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?');
  }
  if (text.size > kShown) out.put("...");
}

/// Where the text of a header lies in its file.
struct NpyRange {
  size_t begin = 0;
  size_t size = 0;
  size_t end() const noexcept { return begin + size; }
};

/// What a header says.
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
    return fail(Error::NotSupported, {"a zip archive, as .npz files are; expected a .npy file"});
  }
  if (count != 0 && std::memcmp(bytes, kMagic, count < 6 ? count : 6) != 0) {
    return fail(Error::InvalidArgument,
                {"not a .npy file: the first bytes are not \"\\x93NUMPY\""});
  }
  if (count >= 8 && (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)) {
    return fail(Error::NotSupported,
                {"format version ", bytes[6], ".", bytes[7], "; expected 1.0, 2.0 or 3.0"});
  }
  text.begin = count >= 8 && bytes[6] > 1 ? 12 : 10;
  if (count < text.begin) {
    return fail(Error::InvalidArgument, {"the header is cut off after ", total, " bytes"});
  }
  text.size = 0;
  for (size_t i = text.begin; i-- > 8;) text.size = text.size << 8 | bytes[i];
  if (text.size > total - text.begin) {
    return fail(Error::InvalidArgument, {"the header's length is ", text.size, ", but only ",
                                         total - text.begin, " bytes follow"});
  }
  if (text.size > kNpyMaxText) {
    return fail(Error::NotSupported,
                {"a header of ", text.size, " bytes; expected at most ", kNpyMaxText});
  }
  return Error::Ok;
}

/// Reads the dict. Nothing in it nests but the sizes, so there is no recursion.
class NpyParser {
 public:
  NpyParser(const char* text, size_t size) noexcept : begin_(text), at_(text), end_(text + size) {}

  Error parse(NpyHeader& header) noexcept {
    TENON_TRY(expect('{', "'{'"));
    for (bool more = true; !accept('}'); more = accept(',')) {
      if (!more) return expected("',' or '}'");
      TENON_TRY(parse_entry(header));
    }
    skip_space();
    if (at_ != end_) return expected("nothing but spaces after the dict");
    for (size_t key = 0; key < kKeys; ++key) {
      if ((seen_ >> key & 1) == 0) {
        return fail(Error::InvalidArgument, {"the header lacks the key '", kKey[key], "'"});
      }
    }
    return Error::Ok;
  }

 private:
  static constexpr size_t kKeys = 3;
  static constexpr const char* kKey[kKeys] = {"descr", "fortran_order", "shape"};

  Error parse_entry(NpyHeader& header) noexcept {
    NpyText name{};
    TENON_TRY(parse_string("a key", name));
    TENON_TRY(expect(':', "':'"));
    size_t key = 0;
    while (key < kKeys && !(name == kKey[key])) ++key;
    if (key == kKeys || (seen_ >> key & 1) != 0) {
      return fail(Error::InvalidArgument, {"the header has the key '", name,
                                           key == kKeys ? "'; expected" : "' twice; expected",
                                           " 'descr', 'fortran_order' and 'shape' once each"});
    }
    seen_ |= 1u << key;
    return key == 0   ? parse_descr(header)
           : key == 1 ? parse_bool(header.fortran_order)
                      : parse_shape(header.sizes);
  }

  Error parse_descr(NpyHeader& header) noexcept {
    skip_space();
    const char* const start = at_;
    // A structured dtype is a list, one with a shape a tuple.
    if (at_ != end_ && (*at_ == '[' || *at_ == '(' || *at_ == '{')) {
      size_t depth = 0;
      for (; at_ != end_; ++at_) {
        if (*at_ == '[' || *at_ == '(' || *at_ == '{') ++depth;
        if ((*at_ == ']' || *at_ == ')' || *at_ == '}') && --depth == 0) break;
      }
      return unsupported({start, static_cast<size_t>(at_ - start) + (at_ != end_ ? 1 : 0)});
    }
    NpyText descr{};
    TENON_TRY(parse_string("a dtype", descr));
    NpyText code = descr;
    char order = '=';
    if (code.size != 0 &&
        (*code.data == '<' || *code.data == '>' || *code.data == '|' || *code.data == '=')) {
      order = *code.data++;
      --code.size;
    }
    for (const NpyType& known : kNpyTypes) {
      if (!(code == known.code)) continue;
      header.type = known.type;
      header.swapped = elementSize(known.type) > 1 && order == (host_is_big_endian() ? '<' : '>');
      return Error::Ok;
    }
    return unsupported(descr);
  }

  Error parse_bool(bool& value) noexcept {
    skip_space();
    for (const NpyText word : {NpyText{"True", 4}, NpyText{"False", 5}}) {
      if (static_cast<size_t>(end_ - at_) < word.size) continue;
      if (std::memcmp(at_, word.data, word.size) != 0) continue;
      at_ += word.size;
      value = word.size == 4;
      return Error::Ok;
    }
    return expected("True or False");
  }

  Error parse_shape(Dims& sizes) noexcept {
    TENON_TRY(expect('(', "a shape, such as (2, 3),"));
    size_t rank = 0;
    for (bool more = true; !accept(')'); more = accept(',')) {
      if (!more) return expected("',' or ')'");
      if (rank++ == kMaxDims) {
        return fail(Error::InvalidArgument, {"the shape has more than ", kMaxDims, " dimensions"});
      }
      int64_t size = 0;
      TENON_TRY(parse_size(size));
      sizes.push_back(size);
      skip_space();
      // In Python (3) is a number; a tuple of one is (3,).
      if (rank == 1 && at_ != end_ && *at_ == ')') return expected("','");
    }
    return check_dims("shape", sizes);
  }

  Error parse_size(int64_t& size) noexcept {
    skip_space();
    if (at_ == end_ || !is_digit(*at_)) return expected("a size, an integer of 0 or more,");
    const char* const start = at_;
    bool fits = true;
    for (; at_ != end_ && is_digit(*at_); ++at_) {
      fits = fits && multiply(size, 10, size) && add(size, *at_ - '0', size);
    }
    if (!fits) {
      return fail(Error::InvalidArgument,
                  {"the size ", NpyText{start, static_cast<size_t>(at_ - start)},
                   " of the shape overflows 64 bits"});
    }
    if (at_ != end_ && *at_ == 'L') ++at_;  // a long integer, as Python 2 wrote it
    return Error::Ok;
  }

  Error parse_string(const char* what, NpyText& text) noexcept {
    skip_space();
    if (at_ == end_ || (*at_ != '\'' && *at_ != '"')) return expected(what);
    const char* const start = at_ + 1;
    const char* close = start;
    while (close != end_ && *close != *at_ && *close != '\\') ++close;
    if (close == end_ || *close == '\\') return expected(what);
    at_ = close + 1;
    text = {start, static_cast<size_t>(close - start)};
    return Error::Ok;
  }

  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  void skip_space() noexcept {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool accept(char c) noexcept {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  Error expect(char c, const char* what) noexcept { return accept(c) ? Error::Ok : expected(what); }
  Error expected(const char* what) const noexcept {
    if (at_ == end_) {
      return fail(Error::InvalidArgument, {"expected ", what, " where the header ends"});
    }
    const auto rest = static_cast<size_t>(end_ - at_);
    return fail(Error::InvalidArgument,
                {"expected ", what, " at byte ", at_ - begin_, " of the header, found ",
                 NpyText{at_, rest < 20 ? rest : 20}});
  }
  static Error unsupported(NpyText descr) noexcept {
    return fail(Error::NotSupported, {"dtype ", descr,
                                      "; expected one of b1 i1 i2 i4 i8 u1 u2 u4 u8"
                                      " f2 f4 f8 c8 c16"});
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  unsigned seen_ = 0;  // a bit for each key
};

/// Writes the header that numpy.save writes, byte for byte: version 1.0, the elements at a multiple
/// of 64 bytes, and spaces that let the first size (the last, in Fortran order) grow in place.
/// 64 sizes fit easily into the 65,535 bytes of that version. `code` is from kNpyTypes.
inline size_t format_npy_header(const NpyType& type, bool fortran_order, ArrayRef<int64_t> sizes,
                                char (&out)[kNpyHeaderRoom]) noexcept {
  constexpr size_t kBegin = 10;
  constexpr size_t kAlignment = 64;
  constexpr size_t kGrowthDigits = 21;
  char* const dict = out + kBegin;
  Message text(dict, kNpyHeaderRoom - kBegin);
  text.put("{'descr': '");
  text.put(elementSize(type.type) == 1 ? '|' : host_is_big_endian() ? '>' : '<');
  text.put(type.code);
  text.put("', 'fortran_order': ");
  text.put(fortran_order ? "True" : "False");
  text.put(", 'shape': (");
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d != 0) text.put(", ");
    append(text, sizes[d]);
  }
  text.put(sizes.size() == 1 ? ",), }" : "), }");
  if (!sizes.empty()) {
    size_t digits = 1;
    for (int64_t n = fortran_order ? sizes.back() : sizes.front(); n >= 10; n /= 10) ++digits;
    for (; digits < kGrowthDigits; ++digits) text.put(' ');
  }
  size_t size = kBegin + std::strlen(dict) + 1;
  // A whole 64 where nothing is missing: NumPy's formula.
  const size_t padding = kAlignment - size % kAlignment;
  for (size_t i = 0; i < padding; ++i) text.put(' ');
  text.put('\n');
  size += padding;
  const auto length = static_cast<unsigned>(size - kBegin);
  std::memcpy(out, "\x93NUMPY\1", 8);  // the version's second byte is the terminator
  out[8] = static_cast<char>(length & 0xff);
  out[9] = static_cast<char>(length >> 8);
  return size;
}

}  // namespace detail
TENON_END_NAMESPACE
