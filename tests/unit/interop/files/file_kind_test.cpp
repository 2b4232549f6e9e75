// SPDX-License-Identifier: MIT
#include "tenon/interop/files/file.h"

#include "interop/files.h"
#include "support/catch.h"
#include "tenon/interop/npy.h"

namespace file_kind_test {

using namespace tenon;
using namespace tests;

namespace {

/// A string literal with its zero bytes.
template <size_t N>
std::string raw(const char (&text)[N]) {
  return std::string(text, N - 1);
}

/// The begin of a zip archive whose first entry has that name.
std::string zip(const std::string& name) {
  std::string bytes = raw("PK\3\4") + std::string(26, '\0');
  bytes[26] = static_cast<char>(name.size());
  return bytes + name + "more bytes /data.pkl";
}

std::string kind_of(const std::string& bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());  // for a sanitizer
  const char* const name = detail::file_kind(copy.data(), copy.size()).name;
  return name != nullptr ? name : "";
}

struct Row {
  std::string bytes;
  std::string name;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {raw("\x93NUMPY\1\0"), "a .npy file"},
      {raw("GGUF\3\0\0\0{\0\0\0\0\0\0\0"), "a GGUF file"},
      {raw("\x89HDF\r\n\x1a\n\0\0"), "an HDF5 file"},
      {raw("\x1f\x8b\x08\0\0\0\0\0\0\3"), "a gzip file"},
      {raw("BZh91AY"), "a bzip2 file"},
      {raw("\xfd\x37zXZ\0\0"), "an xz file"},
      {raw("\x28\xb5\x2f\xfd\4"), "a Zstandard file"},
      {std::string(257, 'a') + "ustar  ", "a tar archive"},
      {raw("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), "a PyTorch file, written by torch.save"},
      {raw("\x80\2}q\0."), "a Python pickle"},
      {raw("\x80\4\x95\x0b\0\0\0\0\0\0\0"), "a Python pickle"},
      {raw("\x80\5K\1."), "a Python pickle"},
      {raw("\x80\2\0\0\0\0\0\0{\"a\""), "a safetensors file"},
      {raw("\x7f\x45LF\2\1"), "a shared library or a program"},
      {raw("\0\0\0\0ET12"), "an ExecuTorch program"},
      {raw("\x08\x08\x12\x07pytorch"), "an ONNX model"},
      {raw("version https://git-lfs.github.com/spec/v1\n"), "a pointer of Git LFS"},
      {raw("<!DOCTYPE html>"), "a web page"},
      {raw("{\"metadata\": {}}"), "a text of JSON"},
      {zip("a.npy"), "a zip archive, as .npz files are"},
      {zip("x/data/0.npy"), "a zip archive, as .npz files are"},
      {zip("note.txt"), "a zip archive, as .npz files are"},
      {zip("a/data.pkl"), "a PyTorch file (a zip archive)"},
      {zip("model/data/0"), "a PyTorch file (a zip archive)"},  // of TorchScript
      {zip("model/data/weights.csv"), "a zip archive, as .npz files are"},
      {zip("a/b/version"), "a zip archive, as .npz files are"},
      {raw("PK\3\4"), "a zip archive, as .npz files are"},
      {raw("PK\5\6") + std::string(18, '\0'), "a zip archive, as .npz files are"},
      {"", ""},
      {"x", ""},
      {"GIF89a", ""},
      {raw("\x80\2\0\0\0\0\0\0"), ""},
      {std::string(257, 'a') + "usta", ""},
  };
  return all;
}

}  // namespace

TEST_CASE("file kind: a file is known by its first bytes, and no prefix reads beyond its end") {
  for (const Row& row : rows()) {
    INFO(row.name);
    CHECK(kind_of(row.bytes) == row.name);
    for (size_t n = 0; n < row.bytes.size(); ++n) kind_of(row.bytes.substr(0, n));
  }
}

TEST_CASE("file kind: a .npy file that is something else is named, with what to do about it") {
  const TempFolder folder;
  const std::string path = folder / "x.npy";
  for (const Row& row : rows()) {
    if (row.name.empty() || row.name == "a .npy file") continue;
    INFO(row.name);
    const std::vector<uint8_t> bytes(row.bytes.begin(), row.bytes.end());
    put_file(path, bytes);
    const bool is_zip = row.bytes.substr(0, 2) == "PK";
    const Error error = is_zip ? Error::NotSupported : Error::InvalidArgument;
    CHECK_RETURNS(error, row.name + "; expected a .npy file", Error(try_read_npy(path)));
    CHECK_RETURNS(error, row.name + "; expected a .npy file",
                  Error(try_from_npy(bytes.data(), bytes.size())));
  }
  put_file(path, {0x1f, 0x8b, 8, 0});
  RETURNS(InvalidArgument, "a gzip file; expected a .npy file; unpack it first",
          Error(try_read_npy(path)));
  // Kinds that tenon reads say how.
  put_file(path, {'G', 'G', 'U', 'F', 3, 0, 0, 0});
  RETURNS(InvalidArgument, "a GGUF file; expected a .npy file; interop/gguf.h opens it",
          Error(try_read_npy(path)));
  put_file(path, {9, 0, 0, 0, 0, 0, 0, 0, '{', '}'});
  RETURNS(InvalidArgument,
          "a safetensors file; expected a .npy file; interop/safetensors.h opens it",
          Error(try_read_npy(path)));
  const std::string npy = "\x93NUMPY";
  RETURNS(InvalidArgument, "a .npy file; expected a GGUF file; interop/npy.h opens it",
          detail::fail_for_kind(npy.data(), npy.size(), "a GGUF file"));
}

}  // namespace file_kind_test
