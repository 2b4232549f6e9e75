// SPDX-License-Identifier: MIT
// file_kind: what a file is, by its first bytes, so that readers can name what they were given.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The bytes at a file's begin that file_kind() looks at, at most.
inline constexpr size_t kFileKindBytes = 512;

/// What files of a kind begin with, and a way around for whoever wanted another kind.
struct FileKind {
  size_t offset;
  std::string_view bytes;
  const char* name;
  const char* hint = "";
};
inline constexpr char kSaveAsSafetensors[] = "; save its weights as safetensors";
inline constexpr char kUnpackFirst[] = "; unpack it first";
/// The first that fits counts.
inline constexpr FileKind kFileKinds[] = {
    {0, {"\x93NUMPY", 6}, "a .npy file"},
    {0, {"GGUF", 4}, "a GGUF file"},
    {0, {"\x89HDF\r\n\x1a\n", 8}, "an HDF5 file"},
    {0, {"\x1f\x8b\x08", 3}, "a gzip file", kUnpackFirst},
    {0, {"BZh", 3}, "a bzip2 file", kUnpackFirst},
    {0, {"\xfd\x37zXZ\0", 6}, "an xz file", kUnpackFirst},
    {0, {"\x28\xb5\x2f\xfd", 4}, "a Zstandard file", kUnpackFirst},
    {0, {"7z\xbc\xaf\x27\x1c", 6}, "a 7z archive", kUnpackFirst},
    {257, {"ustar", 5}, "a tar archive", kUnpackFirst},
    // The number that torch.save() writes first, without a zip archive.
    {0,
     {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14},
     "a PyTorch file, of torch.save",
     kSaveAsSafetensors},
    {4, {"ET12", 4}, "an ExecuTorch program"},
    {4, {"TFL3", 4}, "a TensorFlow Lite model"},
    {0,
     {"\x7f"
      "ELF",
      4},
     "a shared library or a program"},
    {0, {"ARROW1", 6}, "an Arrow file"},
    {0, {"PAR1", 4}, "a Parquet file"},
    {0, {"MATLAB 5.0", 10}, "a MATLAB file"},
    {0, {"\x89PNG", 4}, "a PNG picture"},
    {0, {"\xff\xd8\xff", 3}, "a JPEG picture"},
    {0,
     {"version https://git-lfs", 23},
     "a pointer of Git LFS",
     "; `git lfs pull` fetches the file"},
    {0, {"<!DOCTYPE", 9}, "a web page"},
    {0, {"<!doctype", 9}, "a web page"},
    {0, {"<html", 5}, "a web page"},
    {0, {"{\"", 2}, "a text of JSON"},
    {0, {"{\n", 2}, "a text of JSON"},
    {0, {"PK\5\6", 4}, "a zip archive, as .npz files are"},
};

/// The kind of a zip archive, by the name of its first entry.
inline FileKind zip_kind(std::string_view text) noexcept {
  const size_t begin = 30;  // of the name, after the entry's header
  std::string_view name;
  if (text.size() > begin) {
    const size_t size =
        static_cast<unsigned char>(text[26]) + (size_t{static_cast<unsigned char>(text[27])} << 8);
    name = text.substr(begin, size);
  }
  // PyTorch's begin with one of these, in a folder of the file's name.
  const size_t slash = name.find('/');
  name = slash == name.npos ? std::string_view() : name.substr(slash + 1);
  bool is_torch = name.size() > 5 && name.substr(0, 5) == "data/" &&
                  name.find_first_not_of("0123456789", 5) == name.npos;
  for (const std::string_view part : {"data.pkl", "archive_format", "archive_version", "byteorder",
                                      "version", ".format_version"}) {
    is_torch = is_torch || name == part;
  }
  if (is_torch) return {0, {}, "a PyTorch file (a zip archive)", kSaveAsSafetensors};
  return {0, {}, "a zip archive, as .npz files are"};
}

/// The kind of a file that begins with these bytes, the file's first kFileKindBytes or fewer. Its
/// name is null where it is not known.
inline FileKind file_kind(const void* bytes, size_t count) noexcept {
  const std::string_view text(static_cast<const char*>(bytes),
                              count < kFileKindBytes ? count : kFileKindBytes);
  // The length of a text of JSON, of less than 2^32 bytes, and its begin.
  if (text.size() > 8 && text.substr(4, 5) == std::string_view("\0\0\0\0{", 5)) {
    return {0, {}, "a safetensors file"};
  }
  if (text.substr(0, 4) == "PK\3\4") return zip_kind(text);
  for (const FileKind& kind : kFileKinds) {
    if (kind.offset < text.size() && text.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return kind;
    }
  }
  if (text.size() < 3) return {0, {}, nullptr};
  // A protocol and an opcode, which is never 0.
  if (text[0] == '\x80' && text[1] >= 2 && text[1] <= 5 && text[2] != 0) {
    return {0, {}, "a Python pickle"};
  }
  // The format's version, then the producer's name or the graph.
  if (text[0] == 8 && text[1] >= 3 && text[1] < 32 && (text[2] == 0x12 || text[2] == 0x3a)) {
    return {0, {}, "an ONNX model"};
  }
  return {0, {}, nullptr};
}

/// Fails with the kind of a file that begins with these bytes; Ok where it is not known.
/// `expected`: "a .npy file".
inline Error fail_for_kind(const void* bytes, size_t count, const char* expected,
                           Error error = Error::InvalidArgument) noexcept {
  const FileKind kind = file_kind(bytes, count);
  if (kind.name == nullptr) return Error::Ok;
  return fail(error, kind.name, "; expected ", expected, kind.hint);
}

}  // namespace detail
TENON_END_NAMESPACE
