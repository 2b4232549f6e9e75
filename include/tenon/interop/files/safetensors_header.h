// SPDX-License-Identifier: MIT
// Reads the header of a safetensors file, which may be untrusted: the metadata and the descriptions
// of its tensors.
//
// A file consists of the length of a JSON text in 8 bytes, the text, and the elements of all
// tensors, without gaps: {"__metadata__": {"k": "v"}, "a": {"dtype": "F32", "shape": [2],
// "data_offsets": [0, 8]}}.
// Source: huggingface/safetensors, README.md and src/tensor.rs.
//
// JsonReader handles JSON event by event. It builds no tree, since a hostile text could make a tree
// deep and large. The parser is not recursive.
#pragma once

#if !__has_include(<nlohmann/json.hpp>)
#error "tenon: interop/safetensors.h needs <nlohmann/json.hpp> (Debian: nlohmann-json3-dev)"
#endif

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/exchange/packed_type.h"
#include "tenon/interop/files/file.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Handles the events of nlohmann's parser: each function returns whether the parser goes on. A
/// derived class tracks the position in the structure, and refuses values that do not belong there.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `begin`: the text's byte position in its file, for messages.
  explicit JsonReader(uint64_t begin) noexcept : begin_(begin) {}

  /// Errors: InvalidArgument, whose message has the byte position; OutOfMemory.
  Error read(std::string_view text) noexcept {
    const KeepErrno keep;  // parsing numbers sets errno
    // The parser would take a zero byte as the end of the text.
    const size_t zero = text.find('\0');
    if (zero != text.npos) {
      return fail(Error::InvalidArgument, "the JSON has a zero byte (byte ", begin_ + zero, ")");
    }
    start_ = at_ = text.data();
    const Error thrown = call_safely([&] {
      const bool done = nlohmann::json::sax_parse(Counted{text.data(), &at_},
                                                  Counted{text.data() + text.size(), &at_}, this);
      return done ? Error::Ok : error_;
    });
    return thrown;
  }

  bool null() override { return refuse("found null"); }
  bool boolean(bool) override { return refuse("found a boolean"); }
  bool number_integer(int64_t) override { return refuse("found a negative number"); }
  bool number_float(double, const std::string&) override {
    return refuse("found a number that is not an integer of 64 bits");
  }
  bool binary(binary_t&) override { return refuse("found bytes"); }
  bool parse_error(size_t, const std::string& token,
                   const nlohmann::json::exception& error) override {
    // Keeps the middle of "[json.exception.parse_error.101] parse error at line 1, column 2: syntax
    // error while parsing object key - invalid string; last read: 'x'": refuse() adds the position
    // and the token.
    std::string_view what = error.what();
    what.remove_prefix((std::min)(what.find(": ") + 2, what.size()));
    return refuse(ShownText(what.substr(0, what.find("; last read"))).text, token);
  }

 protected:
  /// Appends the current position to a message: tensor "a", shape.
  virtual void describe(Message& where) const noexcept = 0;

  /// Sets the error, and returns false. `text`: text of the file, added to the message; may be
  /// empty.
  bool refuse(const char* what, std::string_view text = {}) noexcept {
    char where[128];
    Message message(where, sizeof where);
    describe(message);
    error_ = fail(Error::InvalidArgument, static_cast<const char*>(where), ": ", what,
                  text.empty() ? "" : " ", ShownText(text).text, " (byte ",
                  begin_ + static_cast<uint64_t>(at_ - start_), ")");
    return false;
  }

 private:
  /// An iterator that stores its position in *at, so that messages can say how far the parser got.
  struct Counted {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* p;
    const char** at;
    reference operator*() const noexcept { return *p; }
    Counted& operator++() noexcept {
      *at = ++p;
      return *this;
    }
    bool operator==(const Counted& other) const noexcept { return p == other.p; }
    bool operator!=(const Counted& other) const noexcept { return p != other.p; }
  };

  uint64_t begin_;
  const char* start_ = nullptr;
  const char* at_ = nullptr;
  Error error_ = Error::Internal;
};

}  // namespace detail

/// Describes a tensor of a safetensors file.
/// Threads: as a plain value.
struct SafeTensorInfo {
  std::string name;                         ///< of the tensor
  const char* dtype = "";                   ///< the file's name for the type, "F32"
  ScalarType type = ScalarType::Undefined;  ///< Undefined for packed numbers
  Dims sizes;                               ///< in elements
  uint64_t offset = 0;                      ///< byte offset in its file
  uint64_t nbytes = 0;                      ///< in the file
  size_t file = 0;  ///< index of the file that holds it; 0 if there is one file
  /// Whether get() has to copy: the numbers are misaligned, or not in the host's byte order.
  bool is_copied = false;
  /// Set for F4, F6_E2M3, F6_E3M2 and F8_E8M0: get() returns their bytes. Undefined for other
  /// types.
  PackedType packed = PackedType::Undefined;
};

namespace detail {

struct SafeTensorsDtype {
  const char* name;
  own::ScalarType type;
  unsigned bits;
  PackedType packed = PackedType::Undefined;  // set if `type` is Undefined
};
inline constexpr SafeTensorsDtype kSafeTensorsDtypes[] = {
    {"BOOL", own::ScalarType::Bool, 8},
    {"U8", own::ScalarType::Byte, 8},
    {"I8", own::ScalarType::Char, 8},
    {"U16", own::ScalarType::UInt16, 16},
    {"I16", own::ScalarType::Short, 16},
    {"U32", own::ScalarType::UInt32, 32},
    {"I32", own::ScalarType::Int, 32},
    {"U64", own::ScalarType::UInt64, 64},
    {"I64", own::ScalarType::Long, 64},
    {"F16", own::ScalarType::Half, 16},
    {"BF16", own::ScalarType::BFloat16, 16},
    {"F32", own::ScalarType::Float, 32},
    {"F64", own::ScalarType::Double, 64},
    {"C64", own::ScalarType::ComplexFloat, 64},
    {"F8_E5M2", own::ScalarType::Float8_e5m2, 8},
    {"F8_E4M3", own::ScalarType::Float8_e4m3fn, 8},
    {"F8_E5M2FNUZ", own::ScalarType::Float8_e5m2fnuz, 8},
    {"F8_E4M3FNUZ", own::ScalarType::Float8_e4m3fnuz, 8},
    {"F8_E8M0", own::ScalarType::Undefined, 8, PackedType::Float8_e8m0fnu},
    {"F6_E2M3", own::ScalarType::Undefined, 6, PackedType::Float6_e2m3fn},
    {"F6_E3M2", own::ScalarType::Undefined, 6, PackedType::Float6_e3m2fn},
    {"F4", own::ScalarType::Undefined, 4, PackedType::Float4_e2m1fn},
};
inline constexpr const char* kSafeTensorsNames =
    "BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 C64 F8_E5M2 F8_E4M3 F8_E5M2FNUZ "
    "F8_E4M3FNUZ";

/// The Rust library's limit of a header's length.
inline constexpr uint64_t kSafeTensorsMaxHeader = 100'000'000;

/// A file's header.
struct SafeTensorsHeader {
  std::vector<SafeTensorInfo> infos;  // sorted by offset
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON text. Sets a tensor's `offset` and `nbytes` to the two numbers of data_offsets,
/// begin and end, without checking them.
class SafeTensorsReader final : public JsonReader {
 public:
  SafeTensorsReader(SafeTensorsHeader& header, uint64_t begin) noexcept
      : JsonReader(begin), header_(header) {}

  bool start_object(size_t) override {
    if (depth_ >= 2) return refuse("expected another value, found an object");
    ++depth_;
    return true;
  }
  bool key(std::string& text) override {
    if (depth_ == 1) {
      in_metadata_ = text == "__metadata__";
      if (in_metadata_ && std::exchange(has_metadata_, true)) return refuse("it is there twice");
      fields_ = 0;
      field_ = kNone;
      if (!in_metadata_) header_.infos.emplace_back().name = std::move(text);
      return true;
    }
    if (in_metadata_) {
      entry_ = header_.metadata.emplace(std::move(text), "").first;
      return ++entries_ == header_.metadata.size() || refuse("the key is there twice");
    }
    for (field_ = 0; field_ < 3 && text != kFields[field_]; ++field_) {
    }
    if (field_ == 3) return refuse("expected dtype, shape and data_offsets, found", text);
    if ((fields_ & 1u << field_) != 0) return refuse("it is there twice");
    fields_ |= 1u << field_;
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) {
      entry_->second = std::move(text);
      return true;
    }
    if (depth_ != 2 || field_ != 0) return refuse("expected another value, found a text", text);
    for (const SafeTensorsDtype& dtype : kSafeTensorsDtypes) {
      if (text != dtype.name) continue;
      header_.infos.back().dtype = dtype.name;
      header_.infos.back().type = public_type(dtype.type);
      header_.infos.back().packed = dtype.packed;
      return true;
    }
    return refuse("this version of the format has no such type:", text);
  }
  bool start_array(size_t) override {
    if (depth_ == 1) return refuse("expected an object, found an array");
    if (depth_ == 3) return refuse("expected a number, found an array");
    if (in_metadata_ || field_ == 0) return refuse("expected a text, found an array");
    depth_ = 3;
    count_ = 0;
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (depth_ != 3) return refuse("expected another value, found a number");
    SafeTensorInfo& info = header_.infos.back();
    if (field_ == 1) {
      if (value > INT64_MAX) return refuse("a size does not fit 63 bits");
      if (info.sizes.size() == kMaxDims) return refuse("there are more than 64 sizes");
      info.sizes.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (count_ == 2) return refuse("expected two offsets, found more");
    (count_++ == 0 ? info.offset : info.nbytes) = value;
    return true;
  }
  bool end_array() override {
    depth_ = 2;
    return field_ == 1 || count_ == 2 || refuse("expected two offsets, found fewer");
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && fields_ != 7) {
      field_ = 0;
      while ((fields_ & 1u << field_) != 0) ++field_;
      return refuse("it is missing");
    }
    --depth_;
    return true;
  }

 private:
  static constexpr const char* kFields[] = {"dtype", "shape", "data_offsets", "its keys"};
  static constexpr size_t kNone = 4;

  void describe(Message& where) const noexcept override {
    if (depth_ == 0) return append(where, "the header");
    if (in_metadata_) {
      append(where, "__metadata__");
      if (depth_ < 2 || entries_ == 0) return;
      append(where, ", \"");
      append(where, ShownText(entry_->first).text);
      return append(where, "\"");
    }
    if (header_.infos.empty()) return append(where, "the header");
    append(where, "tensor \"");
    append(where, ShownText(header_.infos.back().name).text);
    append(where, "\"");
    if (depth_ < 2 || field_ == kNone) return;
    append(where, ", ");
    append(where, kFields[field_]);
  }

  SafeTensorsHeader& header_;
  int depth_ = 0;  // 1 in the header, 2 in a tensor or the metadata, 3 in a list of numbers
  bool has_metadata_ = false;
  bool in_metadata_ = false;
  std::map<std::string, std::string>::iterator entry_;
  size_t entries_ = 0;
  unsigned fields_ = 0;  // one bit for each field that was read of the current tensor
  size_t field_ = kNone;
  size_t count_ = 0;  // how many offsets were read
};

/// Checks that a tensor's bytes begin where those of the tensor before it end, and that their
/// number fits its shape.
inline Error check_safetensor(const SafeTensorInfo& info, uint64_t end, uint64_t expected,
                              uint64_t room) noexcept {
  const uint64_t begin = info.offset;
  if (begin != expected) {
    return fail(Error::InvalidArgument, "begins at ", begin, ", ",
                begin < expected ? "in the bytes of another tensor, which end at "
                                 : "which leaves a gap: the bytes of the tensor before it end at ",
                expected);
  }
  if (end < begin)
    return fail(Error::InvalidArgument, "ends at ", end, ", before it begins, at ", begin);
  if (end > room) {
    return fail(Error::InvalidArgument, "ends at ", end, ", but only ", room,
                " bytes follow the header");
  }
  const SafeTensorsDtype* dtype = kSafeTensorsDtypes;
  while (dtype->name != info.dtype) ++dtype;
  ptrdiff_t numel = 0;
  TENON_TRY(check_dims("the shape", info.sizes));
  TENON_TRY(compute_numel(info.sizes, dtype->bits < 8 ? 1 : dtype->bits / 8, numel));
  const auto count = static_cast<uint64_t>(numel);
  if (count % 8 * dtype->bits % 8 != 0) {
    return fail(Error::InvalidArgument, "sizes ", info.sizes, " of ", info.dtype,
                " are not a number of whole bytes");
  }
  // Cannot overflow: compute_numel() checked the number of bytes, or for types of fewer than 8 bits
  // the number of elements.
  const uint64_t needed = count / 8 * dtype->bits + count % 8 * dtype->bits / 8;
  if (needed == end - begin) return Error::Ok;
  return fail(Error::InvalidArgument, "holds ", end - begin, " bytes from ", begin, ", but sizes ",
              info.sizes, " of ", info.dtype, " need ", needed);
}

/// Reads the header of a file in memory. In `header`, offsets count from the file's start.
/// Errors: InvalidArgument, whose message has the tensor, the field and the offset; OutOfMemory.
inline Error read_safetensors_header(const unsigned char* bytes, uint64_t size,
                                     SafeTensorsHeader& header) {
  constexpr uint64_t kBegin = 8;
  const auto known = static_cast<size_t>(size < kFileKindBytes ? size : kFileKindBytes);
  if (size < kBegin) {
    TENON_TRY(fail_for_kind(bytes, known, "a safetensors file"));
    return fail(Error::InvalidArgument, "not a safetensors file: ", "it has ", size,
                " bytes, fewer than 8");
  }
  uint64_t read = 0;
  for (size_t i = kBegin; i-- > 0;) read = read << 8 | bytes[i];
  const uint64_t length = read;
  if (size == kBegin || bytes[kBegin] != '{') {
    TENON_TRY(fail_for_kind(bytes, known, "a safetensors file"));
  }
  if (length > kSafeTensorsMaxHeader || length > size - kBegin) {
    return fail(Error::InvalidArgument, "the header's length, at offset 0, is ", length,
                ", expected at most ", (std::min)(kSafeTensorsMaxHeader, size - kBegin));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes) + kBegin,
                              static_cast<size_t>(length));
  if (text.empty() || text[0] != '{') {
    return fail(Error::InvalidArgument, "the header, at offset 8, does not begin with '{'");
  }
  TENON_TRY(SafeTensorsReader(header, kBegin).read(text));
  std::vector<SafeTensorInfo>& infos = header.infos;
  // An empty tensor sorts before a tensor that begins at the same offset. `nbytes` still holds the
  // end.
  std::sort(infos.begin(), infos.end(), [](const SafeTensorInfo& a, const SafeTensorInfo& b) {
    if (a.offset != b.offset) return a.offset < b.offset;
    return a.nbytes != b.nbytes ? a.nbytes < b.nbytes : a.name < b.name;
  });
  const uint64_t data = kBegin + length;
  uint64_t expected = 0;
  for (SafeTensorInfo& info : infos) {
    if (&info != infos.data() && (&info)[-1].name == info.name) {
      return fail(Error::InvalidArgument, "tensor \"", ShownText(info.name).text,
                  "\" is there twice");
    }
    const uint64_t end = info.nbytes;
    const Error error = check_safetensor(info, end, expected, size - data);
    if (error != Error::Ok) {
      return fail(error, "tensor \"", ShownText(info.name).text,
                  "\", data_offsets: ", last_error_message(), " (of the data, which is at offset ",
                  data, ")");
    }
    expected = end;
    info.nbytes = end - info.offset;
    info.offset += data;
    const size_t number = number_size(own_type(info.type));
    info.is_copied = number != 0 && info.nbytes != 0 &&
                     (reinterpret_cast<uintptr_t>(bytes + info.offset) % number != 0 ||
                      (host_is_big_endian() && number > 1));
  }
  if (expected != size - data) {
    return fail(Error::InvalidArgument, "the tensors end at byte ", expected,
                " of the data, which has ", size - data, " bytes");
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
