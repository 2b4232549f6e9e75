// SPDX-License-Identifier: MIT
// The structs of Arrow's C data and C stream interfaces; tenon's types for Arrow's formats; a
// reader and a writer of the metadata of Arrow's extension type arrow.fixed_shape_tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/strides.h"

// The same lines as in Arrow's specification, guarded by a macro: other libraries' headers may have
// them too.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// A format of Arrow. If it ends with ':', parameters follow it.
struct ArrowFormatRow {
  char format[5];
  ScalarType type;     // of a tensor's elements; Undefined if there is none
  char type_name[24];  // as pyarrow prints it, before the parameters
};
inline constexpr ArrowFormatRow kArrowFormats[] = {
    {"C", ScalarType::Byte, "uint8"},
    {"c", ScalarType::Char, "int8"},
    {"S", ScalarType::UInt16, "uint16"},
    {"s", ScalarType::Short, "int16"},
    {"I", ScalarType::UInt32, "uint32"},
    {"i", ScalarType::Int, "int32"},
    {"L", ScalarType::UInt64, "uint64"},
    {"l", ScalarType::Long, "int64"},
    {"e", ScalarType::Half, "halffloat"},
    {"f", ScalarType::Float, "float"},
    {"g", ScalarType::Double, "double"},
    {"b", ScalarType::Bool, "bool"},  // packed: eight in a byte
    // The values are counts of their unit.
    {"tdD", ScalarType::Int, "date32[day]"},
    {"tdm", ScalarType::Long, "date64[ms]"},
    {"tts", ScalarType::Int, "time32[s]"},
    {"ttm", ScalarType::Int, "time32[ms]"},
    {"ttu", ScalarType::Long, "time64[us]"},
    {"ttn", ScalarType::Long, "time64[ns]"},
    {"tss:", ScalarType::Long, "timestamp[s"},
    {"tsm:", ScalarType::Long, "timestamp[ms"},
    {"tsu:", ScalarType::Long, "timestamp[us"},
    {"tsn:", ScalarType::Long, "timestamp[ns"},
    {"tDs", ScalarType::Long, "duration[s]"},
    {"tDm", ScalarType::Long, "duration[ms]"},
    {"tDu", ScalarType::Long, "duration[us]"},
    {"tDn", ScalarType::Long, "duration[ns]"},
    {"tiM", ScalarType::Int, "month_interval"},
    {"tiD", ScalarType::Undefined, "day_time_interval"},
    {"tin", ScalarType::Undefined, "month_day_nano_interval"},
    {"n", ScalarType::Undefined, "null"},
    {"u", ScalarType::Undefined, "string"},
    {"U", ScalarType::Undefined, "large_string"},
    {"vu", ScalarType::Undefined, "string_view"},
    {"z", ScalarType::Undefined, "binary"},
    {"Z", ScalarType::Undefined, "large_binary"},
    {"vz", ScalarType::Undefined, "binary_view"},
    {"w:", ScalarType::Undefined, "fixed_size_binary"},
    {"d:", ScalarType::Undefined, "decimal"},
    {"+w:", ScalarType::Undefined, "fixed_size_list"},
    {"+l", ScalarType::Undefined, "list"},
    {"+L", ScalarType::Undefined, "large_list"},
    {"+vl", ScalarType::Undefined, "list_view"},
    {"+vL", ScalarType::Undefined, "large_list_view"},
    {"+s", ScalarType::Undefined, "struct"},
    {"+m", ScalarType::Undefined, "map"},
    {"+ud:", ScalarType::Undefined, "dense_union"},
    {"+us:", ScalarType::Undefined, "sparse_union"},
    {"+r", ScalarType::Undefined, "run_end_encoded"}};

/// Finds the row of a format; null if it is unknown.
inline const ArrowFormatRow* find_arrow_format(std::string_view format) noexcept {
  for (const ArrowFormatRow& row : kArrowFormats) {
    const std::string_view known = row.format;
    if (known == (known.back() == ':' ? format.substr(0, known.size()) : format)) return &row;
  }
  return nullptr;
}
/// tenon's type for a format; Undefined if tenon has none.
inline ScalarType type_of_arrow_format(const char* format) noexcept {
  const ArrowFormatRow* const row = find_arrow_format(format);
  return row == nullptr ? ScalarType::Undefined : row->type;
}
/// Arrow's format for a type; '\0' if Arrow lacks the type or packs its elements into bits.
inline char arrow_format_of(ScalarType type) noexcept {
  for (const ArrowFormatRow& row : kArrowFormats) {
    if (row.type == ScalarType::Bool) break;
    if (row.type == type) return row.format[0];
  }
  return '\0';
}

/// Holds a struct that was moved into it, and releases it once. As a deleter, it keeps the struct's
/// memory alive.
template <class T>
struct ArrowHold {
  explicit ArrowHold(T* from) noexcept : value() {
    if (from == nullptr) return;
    std::memcpy(&value, from, sizeof value);
    from->release = nullptr;  // moves it, by Arrow's specification
  }
  ArrowHold(ArrowHold&& other) noexcept : ArrowHold(&other.value) {}
  ~ArrowHold() {
    if (value.release == nullptr) return;
    const KeepLastError keep_error;
    value.release(&value);
  }
  void operator()(void*) const noexcept {}

  T value;
};

}  // namespace detail

/// How a permutation in arrow.fixed_shape_tensor is read. By Arrow's specification, dimension d of
/// a tensor is dimension permutation[d] of the shape in memory. pyarrow 26 writes the inverse
/// permutation (and reads neither correctly, unless all sizes are equal). Both readings agree on a
/// permutation that equals its inverse, such as {1, 0}, but not on {2, 0, 1}.
enum class ArrowPermutation : uint8_t {
  Unambiguous,  ///< only those on which both agree: to_arrow() copies, from_arrow() refuses others
  Specification,  ///< Arrow's specification, which arrow-rs follows too
  Pyarrow,        ///< as FixedShapeTensorArray.from_numpy_ndarray() writes it
};

namespace detail {

inline constexpr std::string_view kArrowExtensionName = "ARROW:extension:name";
inline constexpr std::string_view kArrowExtensionMetadata = "ARROW:extension:metadata";
inline constexpr std::string_view kArrowTensorName = "arrow.fixed_shape_tensor";
/// Arrow has no bfloat16. Lance stores bfloat16 as two-byte binaries, in an extension type of this
/// name.
inline constexpr std::string_view kArrowBFloat16Name = "lance.bfloat16";

/// Finds a value in a schema's metadata, which consists of the number of pairs and of keys and
/// values, each preceded by its length. Null metadata has no pairs.
inline Error find_arrow_metadata(const char* metadata, std::string_view key, bool& found,
                                 std::string_view& value) noexcept {
  found = false;
  if (metadata == nullptr) return Error::Ok;
  const auto read_length = [&metadata](int32_t& length) {
    std::memcpy(&length, metadata, sizeof length);
    metadata += sizeof length;
    return length >= 0;
  };
  int32_t pairs = 0;
  bool valid = read_length(pairs);
  for (; pairs > 0 && valid && !found; --pairs) {
    std::string_view texts[2];
    for (std::string_view& text : texts) {
      int32_t length = 0;
      valid = valid && read_length(length);
      if (!valid) break;
      text = std::string_view(metadata, static_cast<size_t>(length));
      metadata += length;
    }
    found = valid && texts[0] == key;
    value = texts[1];
  }
  if (!valid) {
    return fail(Error::InvalidArgument, "the ArrowSchema's metadata has a negative length");
  }
  return Error::Ok;
}

/// `shape`: the sizes of each tensor in memory order. Dimension d of the tensor is dimension
/// permutation[d] of `shape`, or dimension d if there is no permutation.
struct ArrowTensorShape {
  Dims shape;
  Dims permutation;
};

/// Reads the extension type's JSON, an object of lists: {"shape":[2,3],"permutation":[1,0]}. Skips
/// nulls, and lists of texts and nulls, such as "dim_names". "permutations", which arrow-rs writes,
/// is read as "permutation". Anything else is an error.
class ArrowTensorReader {
 public:
  explicit ArrowTensorReader(std::string_view text) noexcept : text_(text) {}

  /// Reads the whole text; false if it is malformed.
  bool read(ArrowTensorShape& made) noexcept {
    bool has_shape = false;
    bool has_permutation = false;
    bool valid = take('{');
    do {
      std::string_view key;
      valid = valid && read_text(key) && take(':');
      if (take_null()) continue;
      if (key == "shape") {
        valid = valid && !has_shape && read_integers(made.shape);
        has_shape = true;
      } else if (key == "permutation" || key == "permutations") {
        valid = valid && !has_permutation && read_integers(made.permutation);
        has_permutation = true;
      } else {
        valid = valid && pass_texts();
      }
    } while (valid && take(','));
    return valid && has_shape && take('}') && next() == '\0' && at_ == text_.size();
  }
  /// The position at which read() failed.
  size_t position() const noexcept { return at_; }

 private:
  /// The next character that is not a space; '\0' at the end.
  char next() noexcept {
    constexpr std::string_view kSpaces = " \t\n\r";
    while (at_ < text_.size() && kSpaces.find(text_[at_]) != kSpaces.npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) noexcept {
    const bool is_there = next() == c && c != '\0';
    at_ += is_there;
    return is_there;
  }
  /// Reads a text without unescaping it: no key that is looked for has escapes.
  bool read_text(std::string_view& text) noexcept {
    if (!take('"')) return false;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? size_t{2} : size_t{1};
    if (at_ >= text_.size()) return false;
    text = text_.substr(begin, at_++ - begin);
    return true;
  }
  bool take_null() noexcept {
    const bool is_there = next() == 'n' && text_.substr(at_, 4) == "null";
    if (is_there) at_ += 4;
    return is_there;
  }
  bool pass_texts() noexcept {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      std::string_view passed;
      if (!take_null() && !read_text(passed)) return false;
    } while (take(','));
    return take(']');
  }
  /// Reads integers that are not negative: sizes or dimensions.
  bool read_integers(Dims& list) noexcept {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      const char first = next();
      int64_t value = 0;
      size_t digits = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_, ++digits) {
        if (!multiply(value, int64_t{10}, value) || !add(value, int64_t{text_[at_] - '0'}, value)) {
          return false;
        }
      }
      if (digits == 0 || (first == '0' && digits > 1)) return false;
      list.push_back(value);
    } while (take(','));
    return take(']') && list.error() == Error::Ok;
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// Reads and checks the type's JSON.
inline Error parse_arrow_tensor(std::string_view json, ArrowTensorShape& made) noexcept {
  ArrowTensorReader reader(json);
  if (!reader.read(made)) {
    TENON_TRY(check_dims("shape", made.shape));
    TENON_TRY(check_dims("permutation", made.permutation));
    return fail(Error::InvalidArgument,
                "the metadata of arrow.fixed_shape_tensor is malformed at "
                "byte ",
                reader.position(), " of ", json.size());
  }
  const size_t rank = made.shape.size();
  bool seen[kMaxDims] = {};
  for (const int64_t d : made.permutation) {
    if (made.permutation.size() != rank || d >= static_cast<int64_t>(rank) || seen[d]) {
      return fail(Error::InvalidArgument, "the permutation ", made.permutation,
                  " of arrow.fixed_shape_tensor does not permute the dimensions of shape ",
                  made.shape);
    }
    seen[d] = true;
  }
  return Error::Ok;
}

inline bool is_own_inverse(const Dims& permutation) noexcept {
  for (size_t d = 0; d < permutation.size(); ++d) {
    if (permutation[static_cast<size_t>(permutation[d])] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

/// Writes the inverse of a permutation to `inverse`, a list of the same length.
inline void invert(const Dims& permutation, Dims& inverse) noexcept {
  for (size_t d = 0; d < permutation.size(); ++d) {
    inverse[static_cast<size_t>(permutation[d])] = static_cast<int64_t>(d);
  }
}

/// An upper bound of the extension type's metadata in bytes, for a tensor of that rank.
constexpr size_t arrow_tensor_room(size_t rank) noexcept { return 200 + 24 * rank; }
/// Writes the extension type's metadata. `capacity`: arrow_tensor_room() of the rank.
inline void write_arrow_tensor(const ArrowTensorShape& from, char* bytes,
                               size_t capacity) noexcept {
  const auto put = [&bytes](const void* source, size_t size) {
    std::memcpy(bytes, source, size);
    bytes += size;
  };
  const auto put_text = [&put](std::string_view text) {
    const auto length = static_cast<int32_t>(text.size());
    put(&length, sizeof length);
    put(text.data(), text.size());
  };
  const int32_t pairs = 2;
  put(&pairs, sizeof pairs);
  put_text(kArrowExtensionName);
  put_text(kArrowTensorName);
  put_text(kArrowExtensionMetadata);
  char* const json = bytes + sizeof(int32_t);
  Message out(json, capacity - 120);
  const auto put_list = [&out](const char* name, const Dims& list) {
    out.put(name);
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out.put(',');
      out.put_signed(list[i]);
    }
    out.put(']');
  };
  put_list("{\"shape\":[", from.shape);
  if (!from.permutation.empty()) put_list(",\"permutation\":[", from.permutation);
  out.put('}');
  const auto length = static_cast<int32_t>(std::strlen(json));
  put(&length, sizeof length);
}

}  // namespace detail
TENON_END_NAMESPACE
