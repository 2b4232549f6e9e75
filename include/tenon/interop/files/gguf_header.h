// SPDX-License-Identifier: MIT
// Reads the header of a GGUF file, which may be untrusted: the metadata and the descriptions of the
// tensors. With tables of ggml's types.
//
// A file consists of "GGUF", the format's version, the number of tensors, the number of metadata
// keys, the metadata, the tensors' names, sizes, types and offsets, and the tensors' elements. The
// elements of each tensor begin at a multiple of general.alignment. A text is stored as its length
// in 8 bytes and its characters. All numbers are little-endian. Source: ggml's gguf.md and
// gguf.cpp; GGUFReader of Python's gguf.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/files/name_index.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE

/// A GGUF file's description of a tensor.
/// Threads: as a plain value.
struct GgufInfo {
  std::string name;        ///< of the tensor
  std::string dtype;       ///< ggml's name for the type, "F32", "Q4_K"; "type 99" if unknown
  uint32_t ggml_type = 0;  ///< ggml's number of the type
  /// Undefined for unknown types, and for types of packed blocks: get() returns the blocks as Byte.
  ScalarType type = ScalarType::Undefined;
  /// In elements, row-major: {rows, columns}, as in NumPy and in GGUFReader's arrays. The file has
  /// the fastest dimension first, {columns, rows}, like ggml's `ne`.
  Dims sizes;
  uint32_t block_size = 0;    ///< elements per packed block; 1 for numbers; 0 if unknown
  uint32_t block_nbytes = 0;  ///< bytes per block; 0 if unknown
  uint64_t offset = 0;        ///< byte offset in its file
  uint64_t nbytes = 0;        ///< in the file
  size_t file = 0;            ///< index of the part that holds it; 0 if there is one file
  /// Whether get() has to copy: the address is not a multiple of the element size, or the numbers
  /// are not in the host's byte order.
  bool is_copied = false;
};

/// A key of a GGUF file's metadata, and the place of its value.
/// Threads: as a plain value.
struct GgufEntry {
  std::string key;                          ///< such as "general.architecture"
  const char* dtype = "";                   ///< "UINT32", "STRING"; of an array, its elements' type
  ScalarType type = ScalarType::Undefined;  ///< Undefined for texts
  bool is_array = false;                    ///< whether the value is an array
  uint64_t count = 1;                       ///< how many elements an array has
  uint64_t offset = 0;  ///< byte offset in the file: of the value, or of an array's first element
};

namespace detail {

/// A row of ggml's table of types. Numbers without a row were removed from ggml, or are newer than
/// this table.
struct GgmlType {
  uint8_t number;
  const char* name;
  own::ScalarType type;  // Undefined for blocks
  uint16_t block_size;   // in elements
  uint16_t block_nbytes;
};
inline constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", own::ScalarType::Float, 1, 4},
    {1, "F16", own::ScalarType::Half, 1, 2},
    {2, "Q4_0", own::ScalarType::Undefined, 32, 18},
    {3, "Q4_1", own::ScalarType::Undefined, 32, 20},
    {6, "Q5_0", own::ScalarType::Undefined, 32, 22},
    {7, "Q5_1", own::ScalarType::Undefined, 32, 24},
    {8, "Q8_0", own::ScalarType::Undefined, 32, 34},
    {9, "Q8_1", own::ScalarType::Undefined, 32, 40},
    {10, "Q2_K", own::ScalarType::Undefined, 256, 84},
    {11, "Q3_K", own::ScalarType::Undefined, 256, 110},
    {12, "Q4_K", own::ScalarType::Undefined, 256, 144},
    {13, "Q5_K", own::ScalarType::Undefined, 256, 176},
    {14, "Q6_K", own::ScalarType::Undefined, 256, 210},
    {15, "Q8_K", own::ScalarType::Undefined, 256, 292},
    {16, "IQ2_XXS", own::ScalarType::Undefined, 256, 66},
    {17, "IQ2_XS", own::ScalarType::Undefined, 256, 74},
    {18, "IQ3_XXS", own::ScalarType::Undefined, 256, 98},
    {19, "IQ1_S", own::ScalarType::Undefined, 256, 50},
    {20, "IQ4_NL", own::ScalarType::Undefined, 32, 18},
    {21, "IQ3_S", own::ScalarType::Undefined, 256, 110},
    {22, "IQ2_S", own::ScalarType::Undefined, 256, 82},
    {23, "IQ4_XS", own::ScalarType::Undefined, 256, 136},
    {24, "I8", own::ScalarType::Char, 1, 1},
    {25, "I16", own::ScalarType::Short, 1, 2},
    {26, "I32", own::ScalarType::Int, 1, 4},
    {27, "I64", own::ScalarType::Long, 1, 8},
    {28, "F64", own::ScalarType::Double, 1, 8},
    {29, "IQ1_M", own::ScalarType::Undefined, 256, 56},
    {30, "BF16", own::ScalarType::BFloat16, 1, 2},
    {34, "TQ1_0", own::ScalarType::Undefined, 256, 54},
    {35, "TQ2_0", own::ScalarType::Undefined, 256, 66},
    {39, "MXFP4", own::ScalarType::Undefined, 32, 17},
    {40, "NVFP4", own::ScalarType::Undefined, 64, 36},
    {41, "Q1_0", own::ScalarType::Undefined, 128, 18},
};

/// The types of metadata values; a row's index is the type's number in the file.
struct GgufValueType {
  const char* name;
  own::ScalarType type;  // Undefined for texts and arrays
};
inline constexpr GgufValueType kGgufValueTypes[] = {
    {"UINT8", own::ScalarType::Byte},       {"INT8", own::ScalarType::Char},
    {"UINT16", own::ScalarType::UInt16},    {"INT16", own::ScalarType::Short},
    {"UINT32", own::ScalarType::UInt32},    {"INT32", own::ScalarType::Int},
    {"FLOAT32", own::ScalarType::Float},    {"BOOL", own::ScalarType::Bool},
    {"STRING", own::ScalarType::Undefined}, {"ARRAY", own::ScalarType::Undefined},
    {"UINT64", own::ScalarType::UInt64},    {"INT64", own::ScalarType::Long},
    {"FLOAT64", own::ScalarType::Double},
};
inline constexpr uint64_t kGgufArray = 9;

inline constexpr char kMaybeCut[] = "; the file may have been cut: fetch it again";

/// Computes a tensor's sizes in bytes: the last size becomes the bytes of a row, which must be
/// whole blocks. Precondition: the type is known.
inline Error make_ggml_byte_sizes(const GgufInfo& info, Dims& sizes) noexcept {
  sizes = info.sizes;
  TENON_TRY(check_dims("the sizes", sizes));
  const int64_t row = sizes.empty() ? 1 : sizes.back();
  if (row % info.block_size != 0) {
    return fail(Error::InvalidArgument, "a row of ", row, " elements is not a multiple of ",
                info.dtype.c_str(), "'s block of ", info.block_size, " elements");
  }
  const int64_t blocks = row / info.block_size;
  if (blocks > INT64_MAX / info.block_nbytes) {
    return fail(Error::InvalidArgument, "sizes ", info.sizes, " of ", info.dtype.c_str(),
                " need more than 2^63 - 1 bytes");
  }
  if (sizes.empty()) sizes.push_back(1);
  sizes[sizes.size() - 1] = blocks * info.block_nbytes;
  return check_dims("the sizes", sizes);
}

/// A file's header.
struct GgufHeader {
  std::vector<GgufInfo> infos;      // in the file's order
  std::vector<GgufEntry> metadata;  // also in the file's order
  NameIndex keys;                   // of the metadata
};

/// Reads numbers and texts in order; fails instead of reading beyond the file.
class GgufReader {
 public:
  GgufReader(const unsigned char* bytes, size_t size, uint64_t at = 0) noexcept
      : bytes_(bytes), size_(size), at_(at) {}

  uint64_t at() const noexcept { return at_; }
  uint64_t left() const noexcept { return size_ - at_; }

  /// A little-endian number of `width` bytes.
  Error read(size_t width, uint64_t& number) noexcept {
    if (width > left()) return fail_end(width);
    number = load(width);
    at_ += width;
    return Error::Ok;
  }
  Error read_text(std::string_view& text) noexcept {
    if (left() < 8) return fail_end(8);
    const uint64_t size = load(8);
    if (size > left() - 8) {
      return fail(Error::InvalidArgument, "a text of ", size, " bytes (byte ", at_,
                  ") goes beyond the file's end at ", size_, kMaybeCut);
    }
    text = {reinterpret_cast<const char*>(bytes_ + at_ + 8), static_cast<size_t>(size)};
    at_ += 8 + size;
    return Error::Ok;
  }
  /// Fails if the bytes left cannot hold `count` items of at least `width` bytes.
  Error check_count(uint64_t count, uint64_t width, const char* what) const noexcept {
    if (count <= left() / width) return Error::Ok;
    return fail(Error::InvalidArgument, count, what, " cannot be in the ", left(),
                " bytes from byte ", at_, " to the end of the file", kMaybeCut);
  }
  Error skip(uint64_t count, uint64_t width, const char* what) noexcept {
    TENON_TRY(check_count(count, width, what));
    at_ += count * width;
    return Error::Ok;
  }

 private:
  Error fail_end(uint64_t width) const noexcept {
    return fail(Error::InvalidArgument, "expected ", width, " bytes at byte ", at_,
                ", where the file ends at ", size_, kMaybeCut);
  }
  uint64_t load(size_t width) const noexcept {
    const unsigned char* const from = bytes_ + at_;
    uint64_t number = 0;
    if (host_is_big_endian()) {
      for (size_t i = width; i-- > 0;) number = number << 8 | from[i];
    } else {
      std::memcpy(&number, from, width);
    }
    return number;
  }

  const unsigned char* bytes_;
  uint64_t size_;
  uint64_t at_;
};

/// Puts an item's kind, name and position before an error's message: key "a" (byte 24): ….
inline Error add_gguf_context(Error error, const char* what, std::string_view name,
                              uint64_t at) noexcept {
  if (error == Error::Ok) return error;
  return fail(error, what, " \"", ShownText(name).text, "\" (byte ", at,
              "): ", last_error_message());
}

/// Reads the type of an entry, and skips its value.
inline Error read_gguf_value(GgufReader& reader, GgufEntry& entry) noexcept {
  uint64_t type = 0;
  TENON_TRY(reader.read(4, type));
  if (type == kGgufArray) {
    entry.is_array = true;
    TENON_TRY(reader.read(4, type));
    TENON_TRY(reader.read(8, entry.count));
    if (type == kGgufArray) {
      return fail(Error::NotSupported,
                  "it is an array of arrays, which llama.cpp does not read either");
    }
  }
  if (type >= std::size(kGgufValueTypes)) {
    return fail(Error::InvalidArgument, "it has type ", type,
                ", which the format does not have; expected 0 to 12");
  }
  entry.dtype = kGgufValueTypes[type].name;
  const own::ScalarType scalar = kGgufValueTypes[type].type;
  entry.type = public_type(scalar);
  entry.offset = reader.at();
  if (scalar != own::ScalarType::Undefined) {
    return reader.skip(entry.count, elementSize(scalar), " numbers");
  }
  TENON_TRY(reader.check_count(entry.count, 8, " texts"));
  std::string_view text;
  for (uint64_t i = 0; i < entry.count; ++i) TENON_TRY(reader.read_text(text));
  return Error::Ok;
}

/// Reads a tensor's sizes, type and offset. The offset counts from the start of the data until
/// place_gguf_tensor() changes it.
inline Error read_gguf_info(GgufReader& reader, GgufInfo& info) {
  uint64_t rank = 0;
  TENON_TRY(reader.read(4, rank));
  if (rank > kMaxDims) {
    return fail(Error::InvalidArgument, rank, " dimensions, expected at most ", kMaxDims);
  }
  const auto dims = static_cast<int64_t>(rank);
  if (!info.sizes.resize_for_overwrite(static_cast<size_t>(dims))) {
    return check_dims("the sizes", info.sizes);
  }
  for (size_t d = info.sizes.size(); d-- > 0;) {
    uint64_t size = 0;
    TENON_TRY(reader.read(8, size));
    if (size > INT64_MAX) {
      return fail(Error::InvalidArgument, "size ", size, " does not fit 63 bits (byte ",
                  reader.at() - 8, ")");
    }
    info.sizes[d] = static_cast<int64_t>(size);
  }
  uint64_t number = 0;
  TENON_TRY(reader.read(4, number));
  TENON_TRY(reader.read(8, info.offset));
  info.ggml_type = static_cast<uint32_t>(number);
  for (const GgmlType& type : kGgmlTypes) {
    if (type.number != number) continue;
    info.dtype = type.name;
    info.type = public_type(type.type);
    info.block_size = type.block_size;
    info.block_nbytes = type.block_nbytes;
    Dims sizes;
    ptrdiff_t nbytes = 0;
    TENON_TRY(make_ggml_byte_sizes(info, sizes));
    TENON_TRY(compute_numel(sizes, 1, nbytes));
    info.nbytes = static_cast<uint64_t>(nbytes);
    return Error::Ok;
  }
  info.dtype = "type " + std::to_string(number);
  return Error::Ok;
}

/// Changes a tensor's offset to count from the file's start; the data begins at byte `data`.
inline Error place_gguf_tensor(GgufInfo& info, const unsigned char* bytes, uint64_t size,
                               uint64_t data) noexcept {
  if (data > size || info.offset > size - data || info.nbytes > size - data - info.offset) {
    return fail(Error::InvalidArgument, "its ", info.nbytes, " bytes from offset ", info.offset,
                " of the data, which begins at byte ", data, ", go beyond the file's end at ", size,
                kMaybeCut);
  }
  info.offset += data;
  const size_t number = number_size(own_type(info.type));
  info.is_copied =
      number > 1 && info.nbytes != 0 &&
      (reinterpret_cast<uintptr_t>(bytes + info.offset) % number != 0 || host_is_big_endian());
  return Error::Ok;
}

/// Fails if two tensors share bytes. Gaps are allowed: alignment needs them.
inline Error check_gguf_overlaps(const std::vector<GgufInfo>& infos) {
  std::vector<const GgufInfo*> by_offset;
  for (const GgufInfo& info : infos) {
    if (info.nbytes != 0) by_offset.push_back(&info);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const GgufInfo* a, const GgufInfo* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const GgufInfo& before = *by_offset[i - 1];
    const GgufInfo& info = *by_offset[i];
    if (info.offset - before.offset >= before.nbytes) continue;
    return fail(Error::InvalidArgument, "tensor \"", ShownText(info.name).text,
                "\" begins at byte ", info.offset, ", in the bytes of \"",
                ShownText(before.name).text, "\", which end at ", before.offset + before.nbytes);
  }
  return Error::Ok;
}

/// Reads general.alignment; its default if the key is missing.
inline Error read_gguf_alignment(const unsigned char* bytes, size_t size, const GgufHeader& header,
                                 uint64_t& alignment) noexcept {
  constexpr const char* kKey = "general.alignment";
  alignment = 32;
  const auto found = header.keys.find(kKey);
  if (found.empty()) return Error::Ok;
  const GgufEntry& entry = header.metadata[found[0].second];
  if (own_type(entry.type) != own::ScalarType::UInt32 || entry.is_array) {
    return fail(Error::InvalidArgument, kKey, " (byte ", entry.offset, ") is ",
                entry.is_array ? "an array of " : "", entry.dtype, ", expected UINT32");
  }
  GgufReader reader(bytes, size, entry.offset);
  TENON_TRY(reader.read(4, alignment));
  if (alignment != 0 && (alignment & (alignment - 1)) == 0) return Error::Ok;
  return fail(Error::InvalidArgument, kKey, " (byte ", entry.offset, ") is ", alignment,
              ", expected a power of two");
}

/// Reads the fields before the metadata: the version, the number of tensors and the number of keys.
inline Error read_gguf_counts(GgufReader& reader, const unsigned char* bytes, size_t size,
                              uint64_t& tensors, uint64_t& keys) noexcept {
  const size_t known = size < kFileKindBytes ? size : kFileKindBytes;
  if (size < 4 || std::memcmp(bytes, "GGUF", 4) != 0) {
    TENON_TRY(fail_for_kind(bytes, known, "a GGUF file"));
    return fail(Error::InvalidArgument, "not a GGUF file: it does not begin with \"GGUF\"");
  }
  uint64_t version = 0;
  TENON_TRY(reader.read(4, version));  // "GGUF"
  TENON_TRY(reader.read(4, version));
  if (version == 1) {
    return fail(Error::NotSupported,
                "a GGUF file of version 1, which llama.cpp does not read "
                "either; convert the model again");
  }
  // In a big-endian file the version's low byte is the last one.
  if (version != 0 && version % 65536 == 0) {
    return fail(Error::NotSupported,
                "a big-endian GGUF file; `gguf-convert-endian FILE little` "
                "of Python's gguf converts it");
  }
  if (version != 2 && version != 3) {
    return fail(Error::NotSupported, "a GGUF file of version ", version, ", expected 2 or 3");
  }
  TENON_TRY(reader.read(8, tensors));
  TENON_TRY(reader.read(8, keys));
  // Each count is checked against the smallest possible item: an empty text takes 8 bytes, its
  // length.
  TENON_TRY(reader.check_count(keys, 8 + 4 + 1, " keys (byte 16)"));
  return reader.check_count(tensors, 8 + 4 + 4 + 8, " tensors (byte 8)");
}

/// Reads the header of a file in memory.
/// Errors: InvalidArgument, with the key or tensor and the byte; NotSupported (another version, a
/// big-endian file, an array of arrays); OutOfMemory.
inline Error read_gguf_header(const unsigned char* bytes, size_t size, GgufHeader& header) {
  GgufReader reader(bytes, size);
  uint64_t tensors = 0;
  uint64_t keys = 0;
  TENON_TRY(read_gguf_counts(reader, bytes, size, tensors, keys));
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t begin = reader.at();
    std::string_view key;
    TENON_TRY(reader.read_text(key));
    GgufEntry& entry = header.metadata.emplace_back();
    entry.key = key;
    header.keys.add(key);
    TENON_TRY(add_gguf_context(read_gguf_value(reader, entry), "key", key, begin));
  }
  header.keys.sort();
  TENON_TRY(header.keys.check_unique("key"));
  std::vector<uint64_t> begins;
  for (uint64_t i = 0; i < tensors; ++i) {
    begins.push_back(reader.at());
    std::string_view name;
    TENON_TRY(reader.read_text(name));
    GgufInfo& info = header.infos.emplace_back();
    info.name = name;
    TENON_TRY(add_gguf_context(read_gguf_info(reader, info), "tensor", name, begins.back()));
  }
  uint64_t alignment = 0;
  TENON_TRY(read_gguf_alignment(bytes, size, header, alignment));
  const uint64_t data = (reader.at() + alignment - 1) & ~(alignment - 1);
  for (size_t i = 0; i < header.infos.size(); ++i) {
    GgufInfo& info = header.infos[i];
    TENON_TRY(add_gguf_context(place_gguf_tensor(info, bytes, size, data), "tensor", info.name,
                               begins[i]));
  }
  return check_gguf_overlaps(header.infos);
}

}  // namespace detail
TENON_END_NAMESPACE
