// SPDX-License-Identifier: MIT
// Writing files: an existing one is replaced as a whole, or stays. Functions leave errors with
// fail(); the writer of a format adds its name and the path.
#pragma once

#include <functional>

#include "tenon/backend/calls.h"
#include "tenon/interop/files/file.h"

#if TENON_HAS_POSIX_FILES
#include <fcntl.h>
#endif
#if defined(__linux__)
#include <sys/xattr.h>
#endif

TENON_BEGIN_NAMESPACE

/// Called while a file is written or read, with the bytes done so far and those in all: about every
/// 8 MiB, and at the end unless there are none. What it throws ends the call with its error.
using ProgressFunction = std::function<void(uint64_t done, uint64_t total)>;

/// What a writer does with a file that exists. In both cases a symbolic link stays one, and the
/// file behind it is meant.
enum class FileWrite : uint8_t {
  /// Puts a new file in its place once that is complete: a write that fails leaves the old one, and
  /// readers that have it open or mapped keep it. Owner, group, permissions and on Linux the access
  /// control list pass on where the system lets this process set them; where it refuses the group
  /// or the list, the group and everybody may do no more than both could. Lost are other names of
  /// the file (hard links keep the old one) and other extended attributes. The folder has to be
  /// writable.
  Replace,
  /// Empties the file and writes into it: it stays the same file, with its owner, names and
  /// attributes, and the folder need not be writable. A write that fails leaves a part, and whoever
  /// has the file mapped is ended by SIGBUS: a tensor over it too, so clone that before.
  InPlace,
};

namespace detail {

/// Tells a function of progress.
class Progress {
 public:
  /// The bytes between two calls of it, at least.
  static constexpr size_t kPart = size_t{8} << 20;

  Progress() noexcept = default;
  Progress(const ProgressFunction& function, uint64_t total) noexcept
      : function_(function ? &function : nullptr), total_(total) {}

  Error add(uint64_t count) noexcept {
    done_ += count;
    if (function_ == nullptr || (done_ - told_ < kPart && done_ != total_)) return Error::Ok;
    told_ = done_;
    return add_context_if("on_progress", call_safely([this] {
                            (*function_)(done_, total_);
                            return Error::Ok;
                          }));
  }

 private:
  const ProgressFunction* function_ = nullptr;
  uint64_t done_ = 0;
  uint64_t told_ = 0;
  uint64_t total_ = 0;
};

/// A file being written. Without a successful commit() its destructor leaves everything unchanged,
/// except files written in place: those of FileWrite::InPlace, devices, pipes, the missing target
/// of a link, files without a name, and files on systems without POSIX.
/// Errors: AccessFailed, OutOfMemory.
class OutputFile {
 public:
  OutputFile() noexcept = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    const KeepErrno keep;
    if (file_ != nullptr) std::fclose(file_);
    if (is_aside_) std::remove(aside_);
    std::free(aside_);
    std::free(real_);
  }

  /// `path` is the caller's to keep until commit().
  Error open(const char* path, [[maybe_unused]] FileWrite how = FileWrite::Replace) noexcept {
    const KeepErrno keep;
    target_ = path;
#if TENON_HAS_POSIX_FILES
    struct stat old;
    struct stat link;
    const bool exists = ::stat(path, &old) == 0;
    // Such as a name that is too long: before anything is written, not when it is renamed.
    if (!exists && errno != ENOENT) return file_error("cannot open", errno);
    const bool is_new = !exists && ::lstat(path, &link) != 0;
    // A file behind a descriptor in /proc may have no path anymore.
    const bool is_replaced = how == FileWrite::Replace && exists && S_ISREG(old.st_mode);
    real_ = is_replaced ? ::realpath(path, nullptr) : nullptr;
    if (is_replaced && real_ == nullptr && errno == ENOMEM) {
      return file_error("cannot write", ENOMEM);  // in-place writing could leave a partial file
    }
    if (real_ != nullptr) target_ = real_;
    if ((is_new && how == FileWrite::Replace) || real_ != nullptr) {
      return open_aside(is_new ? nullptr : &old);
    }
#endif
    file_ = std::fopen(path, "wb");
    return file_ != nullptr ? Error::Ok : file_error("cannot open", errno);
  }

  std::FILE* file() const noexcept { return file_; }

  Error write(const void* data, size_t nbytes, Progress& progress) noexcept {
    const KeepErrno keep;
    const auto* bytes = static_cast<const char*>(data);
    while (nbytes != 0) {
      const size_t count = nbytes < kPart ? nbytes : kPart;
      errno = 0;
      if (std::fwrite(bytes, 1, count, file_) != count) {
        return file_error("cannot write", errno != 0 ? errno : EIO);
      }
      TENON_TRY(progress.add(count));
      bytes += count;
      nbytes -= count;
    }
    return Error::Ok;
  }

  /// Puts the file at its path. `durable`: and on the disk, which takes as long as that does.
  Error commit([[maybe_unused]] bool durable) noexcept {
    const KeepErrno keep;
    int code = std::fflush(file_) == 0 ? 0 : errno;
#if TENON_HAS_POSIX_FILES
    // Devices and pipes refuse.
    if (durable && code == 0 && ::fsync(::fileno(file_)) != 0 && errno != EINVAL) code = errno;
#endif
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && code == 0) code = errno;
    if (code != 0) return file_error("cannot write", code);
    if (!is_aside_) return Error::Ok;
    if (std::rename(aside_, target_) != 0) {
      // As in a sticky folder, or where the file is mounted by itself.
      return file_error("cannot replace it", errno, Error::AccessFailed, in_place_hint());
    }
    is_aside_ = false;
#if TENON_HAS_POSIX_FILES
    if (durable) sync_folder();
#endif
    return Error::Ok;
  }

 private:
  /// What is written at once: on ext4 16 MiB take three times the processor time of 16 of these.
  static constexpr size_t kPart = size_t{1} << 20;

  const char* in_place_hint() const noexcept {
    return real_ != nullptr ? "; FileWrite::InPlace writes into the file that is there" : "";
  }

#if TENON_HAS_POSIX_FILES
  /// Opens a file beside the target. `old` describes the file that is there now, or is null.
  Error open_aside(const struct stat* old) noexcept {
    const char* const slash = std::strrchr(target_, '/');
    const size_t folder = slash != nullptr ? static_cast<size_t>(slash + 1 - target_) : 0;
    constexpr size_t kNameRoom = 64;
    aside_ = static_cast<char*>(std::malloc(folder + kNameRoom));
    if (aside_ == nullptr) return file_error("cannot write", ENOMEM);
    std::memcpy(aside_, target_, folder);
    // Until it has the old one's permissions nobody else may open it.
    const mode_t mode = old != nullptr ? 0600 : 0666;
    int descriptor = -1;
    // A name may be taken by another thread, or left over from a process that died.
    for (int attempt = 0; descriptor < 0; ++attempt) {
      std::snprintf(aside_ + folder, kNameRoom, ".tenon-%ld-%d.tmp", static_cast<long>(::getpid()),
                    attempt);
      descriptor = ::open(aside_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor < 0 && (errno != EEXIST || attempt == 1000)) {
        return file_error("cannot create a file in its folder", errno, Error::AccessFailed,
                          in_place_hint());
      }
    }
    is_aside_ = true;
    if (old != nullptr) pass_on(*old, descriptor);
    file_ = ::fdopen(descriptor, "wb");
    if (file_ != nullptr) return Error::Ok;
    const int code = errno;
    ::close(descriptor);
    return file_error("cannot write", code);
  }
  /// Gives the new file the old one's owner, group, access control list and permissions. Where the
  /// system refuses, its group and everybody may do no more than both could with the old one.
  void pass_on(const struct stat& old, int to) noexcept {
    constexpr uid_t kSameOwner = static_cast<uid_t>(-1);
    bool keeps_group =
        ::fchown(to, old.st_uid, old.st_gid) == 0 || ::fchown(to, kSameOwner, old.st_gid) == 0;
#if defined(__linux__)
    constexpr const char* kList = "system.posix_acl_access";
    char list[4096];  // of 511 entries
    const ssize_t size = ::getxattr(target_, kList, list, sizeof list);
    if (size < 0 && errno != ERANGE) {
      static_cast<void>(::fremovexattr(to, kList));  // the folder's
    } else if (size < 0 || ::fsetxattr(to, kList, list, static_cast<size_t>(size), 0) != 0) {
      keeps_group = false;
    }
#endif
    mode_t mode = old.st_mode & mode_t{0777};
    if (!keeps_group) {
      const mode_t both = mode & (mode >> 3) & 7;
      mode = (mode & mode_t{0700}) | (both << 3) | both;
    }
    static_cast<void>(::fchmod(to, mode));
  }
  /// Puts the new name on the disk. The file is complete either way, so a failure does not count.
  void sync_folder() noexcept {
    char* const slash = std::strrchr(aside_, '/');
    if (slash != nullptr) slash[1] = '\0';
    const int folder = ::open(slash != nullptr ? aside_ : ".", O_RDONLY | O_CLOEXEC);
    if (folder < 0) return;
    static_cast<void>(::fsync(folder));
    ::close(folder);
  }
#endif

  const char* target_ = nullptr;
  char* real_ = nullptr;   // the target, where the path is a link to it
  char* aside_ = nullptr;  // the path of what is renamed in the end
  bool is_aside_ = false;  // whether there is such a file
  std::FILE* file_ = nullptr;
};

/// A part of a file to write.
struct FileBlock {
  const void* data;
  size_t size;
};

/// Writes a file of these blocks, as an OutputFile.
inline Error write_file(const char* path, ArrayRef<FileBlock> blocks,
                        FileWrite how = FileWrite::Replace) noexcept {
  OutputFile file;
  Progress silent;
  TENON_TRY(file.open(path, how));
  for (const FileBlock& block : blocks) TENON_TRY(file.write(block.data, block.size, silent));
  return file.commit(false);
}

}  // namespace detail
TENON_END_NAMESPACE
