// SPDX-License-Identifier: MIT
// Opens files for reading, and maps them, for the formats in this folder; and file_kind() tells a
// file's format by its first bytes, for error messages. Functions report errors with fail(); the
// reader or writer of a format puts its own name and the path before the message.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/core/error.h"
#include "tenon/core/mode.h"
#include "tenon/tensor/deleter.h"

// Whether files can be mapped, and replaced while other processes read them.
#if !defined(TENON_HAS_POSIX_FILES)
#if defined(__unix__) || defined(__APPLE__)
#define TENON_HAS_POSIX_FILES 1
#else
#define TENON_HAS_POSIX_FILES 0
#endif
#endif

#if TENON_HAS_POSIX_FILES
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// A path as const char*, std::string, std::filesystem::path (where its characters are char) or
/// anything else with c_str().
/// Ownership: borrows the characters.
class FilePath {
 public:
  FilePath(const char* path) noexcept : path_(path) {}
  template <class S, class = std::enable_if_t<std::is_convertible_v<
                         decltype(std::declval<const S&>().c_str()), const char*>>>
  FilePath(const S& path TENON_LIFETIMEBOUND) noexcept
      : path_(path.c_str()),
        has_null_char_(path_ != nullptr && size_of(path, 0) > std::strlen(path_)) {}

  const char* c_str() const noexcept { return path_; }
  Error check() const noexcept {
    if (path_ == nullptr) return fail(Error::InvalidArgument, "the path is null");
    if (*path_ == '\0') return fail(Error::InvalidArgument, "the path is empty");
    if (has_null_char_) return fail(Error::InvalidArgument, "the path contains a null character");
    return Error::Ok;
  }
  /// Puts the path, or its last 200 characters, before an error's message.
  Error add_context(Error error) const noexcept {
    constexpr size_t kShown = 200;
    const size_t size = std::strlen(path_);
    const bool is_long = size > kShown;
    return fail(error, is_long ? "..." : "", is_long ? path_ + size - kShown : path_, ": ",
                last_error_message());
  }

 private:
  template <class S>  // std::filesystem::path
  static auto size_of(const S& path, int) noexcept -> decltype(size_t(path.native().size())) {
    return path.native().size();
  }
  template <class S>
  static auto size_of(const S& path, long) noexcept -> decltype(size_t(path.size())) {
    return size_t(path.size());
  }
  template <class S>
  static size_t size_of(const S&, ...) noexcept {
    return 0;
  }

  const char* path_;
  bool has_null_char_ = false;
};

/// Text from a file for a message: its first 60 characters, unprintable ones as '?'.
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

/// Fails with strerror(`code`). `hint`: a workaround, appended to the message.
inline Error file_error(const char* what, int code, Error error = Error::AccessFailed,
                        const char* hint = "") noexcept {
  return fail(code == ENOMEM ? Error::OutOfMemory : error, what, ": ",
              static_cast<const char*>(std::strerror(code)), hint);
}

/// A file open for reading.
class InputFile {
 public:
  /// Errors: NotFound; AccessFailed, also if it is not a regular file.
  Error open(const char* path) noexcept {
    const KeepErrno keep;
#if TENON_HAS_POSIX_FILES
    struct stat status;
    // Opening a pipe would wait for its writer.
    if (::stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
      return fail(Error::AccessFailed, "not a regular file");
    }
#endif
    file_ = std::fopen(path, "rb");
    if (file_ == nullptr) {
      return file_error("cannot open", errno,
                        errno == ENOENT ? Error::NotFound : Error::AccessFailed);
    }
    closer_ = Deleter(file_, [](void* f) noexcept { std::fclose(static_cast<std::FILE*>(f)); });
    const long end = std::fseek(file_, 0, SEEK_END) == 0 ? std::ftell(file_) : -1;
    if (end < 0) return file_error("cannot read", errno);
    size_ = static_cast<uint64_t>(end);
    return Error::Ok;
  }

  /// In bytes, at the time of opening.
  uint64_t size() const noexcept { return size_; }

  Error read(size_t offset, void* out, size_t count) noexcept {
    const KeepErrno keep;
    errno = 0;
    if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) == 0 &&
        std::fread(out, 1, count, file_) == count) {
      return Error::Ok;
    }
    if (errno != 0) return file_error("cannot read", errno);
    return fail(Error::AccessFailed, "the file became shorter while it was read");
  }

  /// Maps the first `length` > 0 bytes privately: writes stay in this process; with `readonly`, a
  /// write is a segmentation fault. The mapping outlives this object. Null if the file cannot be
  /// mapped.
  /// Ownership: `unmapper` unmaps.
  void* map([[maybe_unused]] size_t length, [[maybe_unused]] Deleter& unmapper,
            [[maybe_unused]] bool readonly = false) noexcept {
#if TENON_HAS_POSIX_FILES
    const int protection = readonly ? PROT_READ : PROT_READ | PROT_WRITE;
    void* const base = ::mmap(nullptr, length, protection, MAP_PRIVATE, ::fileno(file_), 0);
    if (base != MAP_FAILED) {
      unmapper = Deleter(base, [length](void* p) noexcept { ::munmap(p, length); });
      return base;
    }
#endif
    return nullptr;
  }

 private:
  std::FILE* file_ = nullptr;
  uint64_t size_ = 0;
  Deleter closer_;
};

class FileContent;

/// A whole file's bytes, for reading: the mapping of the file, or a copy if the file cannot be
/// mapped. libtorch before 2.13 has no read-only tensors: in ATen mode with it, the bytes can be
/// written, and the writes stay in this process.
///
/// Ownership: `release` unmaps or frees the bytes. Until then, a process that writes to the file in
/// place may change the bytes, and if the file is truncated, reading beyond its new end ends the
/// process with SIGBUS.
struct FileBytes {
  const unsigned char* data = nullptr;
  size_t size = 0;
  Deleter release;

  Error open(const char* path) noexcept {
    InputFile file;
    TENON_TRY(file.open(path));
    if (file.size() > PTRDIFF_MAX) return file_error("cannot map it", ENOMEM);
    const auto signed_size = static_cast<ptrdiff_t>(file.size());
    size = static_cast<size_t>(signed_size);
    if (size == 0) return Error::Ok;
    void* base = file.map(size, release, kHasReadOnly);
    if (base == nullptr) {
      base = std::malloc(size);
      if (base == nullptr) return file_error("cannot read it", ENOMEM);
      release = Deleter(base, &std::free);
      TENON_TRY(file.read(0, base, size));
    }
    data = static_cast<const unsigned char*>(base);
    return Error::Ok;
  }
  Error open(const FileContent& content);  // defined in file_content.h
};

/// file_kind() reads at most this many bytes of a file's start.
inline constexpr size_t kFileKindBytes = 512;

/// The first bytes of a file format, and advice for the error message.
struct FileKind {
  size_t offset;
  std::string_view bytes;
  const char* name;
  const char* hint = "";
};
inline constexpr char kTorchFileOpensIt[] = "; interop/torch_file.h opens it";
inline constexpr char kUnpackFirst[] = "; unpack it first";
/// The first row that matches gives the kind.
inline constexpr FileKind kFileKinds[] = {
    {0, {"\x93NUMPY", 6}, "a .npy file", "; interop/npy.h opens it"},
    {0, {"GGUF", 4}, "a GGUF file", "; interop/gguf.h opens it"},
    {0, {"\x89HDF\r\n\x1a\n", 8}, "an HDF5 file"},
    {0, {"\x1f\x8b\x08", 3}, "a gzip file", kUnpackFirst},
    {0, {"BZh", 3}, "a bzip2 file", kUnpackFirst},
    {0, {"\xfd\x37zXZ\0", 6}, "an xz file", kUnpackFirst},
    {0, {"\x28\xb5\x2f\xfd", 4}, "a Zstandard file", kUnpackFirst},
    {0, {"7z\xbc\xaf\x27\x1c", 6}, "a 7z archive", kUnpackFirst},
    {257, {"ustar", 5}, "a tar archive", kUnpackFirst},
    // The number that torch.save() writes first if it does not write a zip archive.
    {0,
     {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14},
     "a PyTorch file, written by torch.save",
     kTorchFileOpensIt},
    {4, {"ET12", 4}, "an ExecuTorch program", "; ExecuTorchModule runs it"},
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
  // The first entry of PyTorch's archives has one of these names, in a folder named like the file.
  const size_t slash = name.find('/');
  name = slash == name.npos ? std::string_view() : name.substr(slash + 1);
  bool is_torch = name.size() > 5 && name.substr(0, 5) == "data/" &&
                  name.find_first_not_of("0123456789", 5) == name.npos;
  for (const std::string_view part : {"data.pkl", "archive_format", "archive_version", "byteorder",
                                      "version", ".format_version"}) {
    is_torch = is_torch || name == part;
  }
  if (is_torch) return {0, {}, "a PyTorch file (a zip archive)", kTorchFileOpensIt};
  return {0, {}, "a zip archive, as .npz files are"};
}

/// The kind of a file that begins with these bytes; bytes after the first kFileKindBytes are not
/// read. The kind's name is null if the kind is unknown.
inline FileKind file_kind(const void* bytes, size_t count) noexcept {
  const std::string_view text(static_cast<const char*>(bytes),
                              count < kFileKindBytes ? count : kFileKindBytes);
  // The length of a JSON text, in 8 bytes of which the upper 4 are 0, and the text's first
  // character.
  if (text.size() > 8 && text.substr(4, 5) == std::string_view("\0\0\0\0{", 5)) {
    return {0, {}, "a safetensors file", "; interop/safetensors.h opens it"};
  }
  if (text.substr(0, 4) == "PK\3\4") return zip_kind(text);
  for (const FileKind& kind : kFileKinds) {
    if (kind.offset < text.size() && text.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return kind;
    }
  }
  if (text.size() < 3) return {0, {}, nullptr};
  // The pickle protocol's number, and an opcode, which is never 0.
  if (text[0] == '\x80' && text[1] >= 2 && text[1] <= 5 && text[2] != 0) {
    return {0, {}, "a Python pickle", "; tenon runs no code of a file"};
  }
  // The tag and value of ir_version, then the tag of producer_name or of graph.
  if (text[0] == 8 && text[1] >= 3 && text[1] < 32 && (text[2] == 0x12 || text[2] == 0x3a)) {
    return {0, {}, "an ONNX model", "; OnnxModule runs it"};
  }
  return {0, {}, nullptr};
}

/// Fails with the kind of a file that begins with these bytes; Ok if the kind is unknown.
/// `expected`: "a .npy file".
inline Error fail_for_kind(const void* bytes, size_t count, const char* expected,
                           Error error = Error::InvalidArgument) noexcept {
  const FileKind kind = file_kind(bytes, count);
  if (kind.name == nullptr) return Error::Ok;
  return fail(error, kind.name, "; expected ", expected, kind.hint);
}

}  // namespace detail
TENON_END_NAMESPACE
