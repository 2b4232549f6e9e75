// SPDX-License-Identifier: MIT
// Files for the formats in this folder: reading, mapping, and replacing as a whole. Functions leave
// errors with fail(); the reader or writer of a format adds its name and the path.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tenon/tensor/deleter.h"

// Whether files can be mapped, and replaced while others read them.
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
    if (has_null_char_) return fail(Error::InvalidArgument, "the path contains a null character");
    return Error::Ok;
  }
  /// Puts the path, or the last 200 characters of a longer one, in front of an error's message.
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

/// Fails with the system's text for `code`, an errno.
inline Error file_error(const char* what, int code, Error error = Error::AccessFailed) noexcept {
  return fail(code == ENOMEM ? Error::OutOfMemory : error, what, ": ",
              static_cast<const char*>(std::strerror(code)));
}

/// A file open for reading.
class InputFile {
 public:
  /// Errors: NotFound; AccessFailed, also for anything but a regular file.
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

  /// In bytes, when it was opened.
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

  /// Maps the first `length` > 0 bytes privately: writes stay in this process, the file may be
  /// closed. Null where that is not possible.
  /// Ownership: `unmapper` unmaps.
  void* map([[maybe_unused]] size_t length, [[maybe_unused]] Deleter& unmapper) noexcept {
#if TENON_HAS_POSIX_FILES
    void* const base =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, ::fileno(file_), 0);
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

/// A part of a file to write.
struct FileBlock {
  const void* data;
  size_t size;
};

/// Writes the blocks and closes the file, also on failure.
inline Error write_and_close(std::FILE* file, ArrayRef<FileBlock> blocks) noexcept {
  int code = 0;
  for (const FileBlock& block : blocks) {
    errno = 0;
    if (block.size != 0 && std::fwrite(block.data, 1, block.size, file) != block.size) {
      code = errno != 0 ? errno : EIO;
      break;
    }
  }
  if (std::fclose(file) != 0 && code == 0) code = errno;
  return code == 0 ? Error::Ok : file_error("cannot write", code);
}

#if TENON_HAS_POSIX_FILES
/// Writes a file beside `path` and renames it. `old` describes the file at `path` now, or is null.
inline Error replace_file(const char* path, const struct stat* old,
                          ArrayRef<FileBlock> blocks) noexcept {
  const char* const slash = std::strrchr(path, '/');
  const size_t folder = slash != nullptr ? static_cast<size_t>(slash + 1 - path) : 0;
  constexpr size_t kNameRoom = 64;
  auto* const aside = static_cast<char*>(std::malloc(folder + kNameRoom));
  const Deleter freer(aside, &std::free);
  if (aside == nullptr) return file_error("cannot write", ENOMEM);
  std::memcpy(aside, path, folder);
  // A name may be taken by another thread, or left over from a process that died.
  std::FILE* file = nullptr;
  for (int attempt = 0; file == nullptr; ++attempt) {
    std::snprintf(aside + folder, kNameRoom, ".tenon-%ld-%d.tmp", static_cast<long>(::getpid()),
                  attempt);
    file = std::fopen(aside, "wbx");
    if (file == nullptr && (errno != EEXIST || attempt == 1000)) {
      return file_error("cannot create a file in its folder", errno);
    }
  }
  if (old != nullptr) {
    // At worst the new file has the default permissions.
    static_cast<void>(::fchmod(::fileno(file), old->st_mode & mode_t{0777}));
  }
  Error error = write_and_close(file, blocks);
  if (error == Error::Ok && std::rename(aside, path) != 0) {
    error = file_error("cannot replace it", errno);
  }
  if (error != Error::Ok) std::remove(aside);
  return error;
}
#endif

/// Writes a file of these blocks.
///
/// An existing file is replaced by rename once the new one is complete: it stays whole on failure,
/// and for readers that have it open or mapped, which truncation would end with SIGBUS. A symbolic
/// link stays one. Written in place: devices, pipes, the missing target of a link, files without a
/// name, and files on systems without POSIX.
/// Errors: AccessFailed, OutOfMemory.
inline Error write_file(const char* path, ArrayRef<FileBlock> blocks) noexcept {
  const KeepErrno keep;
#if TENON_HAS_POSIX_FILES
  struct stat old;
  struct stat link;
  const bool exists = ::stat(path, &old) == 0;
  const bool is_new = !exists && ::lstat(path, &link) != 0;
  // A file behind a descriptor in /proc may have no path anymore.
  char* const real = exists && S_ISREG(old.st_mode) ? ::realpath(path, nullptr) : nullptr;
  if (exists && S_ISREG(old.st_mode) && real == nullptr && errno == ENOMEM) {
    return file_error("cannot write", ENOMEM);  // in place it might not stay whole
  }
  const Deleter freer(real, &std::free);
  if (is_new) return replace_file(path, nullptr, blocks);
  if (real != nullptr) return replace_file(real, &old, blocks);
#endif
  std::FILE* const file = std::fopen(path, "wb");
  return file != nullptr ? write_and_close(file, blocks) : file_error("cannot open", errno);
}

}  // namespace detail
TENON_END_NAMESPACE
