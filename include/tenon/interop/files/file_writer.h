// SPDX-License-Identifier: MIT
// Writes files to a path, to a tensor or to a function. An existing file is replaced as a whole, or
// stays unchanged. Functions report errors with fail(); the writer of a format puts its own name
// and the path before the message.
#pragma once

#include <functional>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/interop/files/file.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/resize.h"

#if TENON_HAS_POSIX_FILES
#include <fcntl.h>
#endif
#if defined(__linux__)
#include <sys/xattr.h>
#endif

TENON_BEGIN_NAMESPACE

/// Called while a file is written or read, with the number of bytes done so far and the total:
/// about every 8 MiB, and at the end unless the total is 0. If it throws, the read or write ends
/// with the exception's error.
using ProgressFunction = std::function<void(uint64_t done, uint64_t total)>;

/// Receives the next bytes of a file that is written, at most 1 MiB, for example to send them over
/// a socket. If it returns an Error or throws, the write ends with that error.
using WriteFunction = std::function<Error(const void* bytes, size_t count)>;

/// How a writer treats an existing file. If the path is a symbolic link, the link stays, and the
/// file that it refers to is written.
enum class FileWrite : uint8_t {
  /// Writes a new file, and renames it over the old file once it is complete. If a write fails, the
  /// old file stays; readers that have the old file open or mapped keep its content. The new file
  /// gets the old file's owner, group, permissions and, on Linux, access control list, if the
  /// system lets this process set them; if the system refuses the group or the list, the file's
  /// group and others get only rights that both had. Hard links to the old file keep the old
  /// content; other extended attributes are lost. The folder has to be writable.
  Replace,
  /// Empties the file and writes into it: the file keeps its inode, owner, hard links and
  /// attributes, and the folder need not be writable. A write that fails leaves a partial file.
  /// SIGBUS may end a process that has the file mapped, this process too: clone tensors over the
  /// mapping first.
  InPlace,
};

namespace detail {

/// Reports progress to a function.
class Progress {
 public:
  /// At least this many bytes are between two calls of the function.
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

/// Where a file is written to: a path; a tensor of bytes, to whose end the file is appended; or a
/// function.
/// Ownership: borrows the path's characters; shares the tensor; keeps a copy of the function.
class FileTarget {
 public:
  FileTarget(const char* path) noexcept : path_(path) {}
  template <class S, class = std::enable_if_t<std::is_constructible_v<FilePath, const S&> &&
                                              !std::is_convertible_v<const S&, const char*>>>
  FileTarget(const S& path TENON_LIFETIMEBOUND) noexcept : path_(path) {}
  FileTarget(const Tensor& bytes) : path_(""), tensor_(bytes), kind_(Kind::Bytes) {}
  FileTarget(const TensorPtr& bytes)
      : path_(""), tensor_(bytes != nullptr ? *bytes : Tensor()), kind_(Kind::Bytes) {}
  FileTarget(WriteFunction function)
      : path_(""), function_(std::move(function)), kind_(Kind::Function) {}
  template <class F,
            std::enable_if_t<std::is_invocable_r_v<Error, F&, const void*, size_t>, int> = 0>
  FileTarget(F function) : FileTarget(WriteFunction(std::move(function))) {}

  Error check() const noexcept {
    if (kind_ == Kind::Path) return path_.check();
    if (kind_ == Kind::Function && !function_) {
      return fail(Error::InvalidArgument, "the function that receives the bytes is empty");
    }
    return Error::Ok;
  }
  /// Puts the path, if the target is a path, before an error's message.
  Error add_context(Error error) const noexcept {
    return kind_ == Kind::Path ? path_.add_context(error) : error;
  }

 private:
  friend class OutputFile;
  enum class Kind : uint8_t { Path, Bytes, Function };

  FilePath path_;
  Tensor tensor_;
  WriteFunction function_;
  Kind kind_ = Kind::Path;
};

/// A file being written. If commit() did not succeed, the destructor removes the new file, and the
/// old file stays; a tensor gets its old size back. Files written in place stay as they are: those
/// of FileWrite::InPlace, devices, pipes, the missing target of a link, files without a name, and
/// files on systems without POSIX. Bytes passed to a function cannot be taken back.
/// Errors: AccessFailed; OutOfMemory; those of resize_tensor(); the error that the function
/// returns.
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
    if (to_.kind_ == Kind::Bytes && end_ != 0) {
      const KeepLastError keep_error;
      if (holds_what_was_written()) static_cast<void>(resize(start_));
    }
  }

  /// The caller keeps a path's characters until commit().
  Error open(const FileTarget& to, FileWrite how = FileWrite::Replace) noexcept {
    TENON_TRY(call_safely([&] {
      to_ = to;  // copies a function
      return Error::Ok;
    }));
    if (to_.kind_ == Kind::Path) return open_path(to_.path_.c_str(), how);
    return to_.kind_ == Kind::Function ? Error::Ok : open_tensor();
  }

  /// Writes the next bytes, and reports them to on_progress.
  Error write(const void* data, size_t nbytes, Progress& progress) noexcept {
    const KeepErrno keep;
    const auto* bytes = static_cast<const char*>(data);
    while (nbytes != 0) {
      const size_t count = nbytes < kPart ? nbytes : kPart;
      TENON_TRY(put(bytes, count));
      if (to_.kind_ == Kind::Function) TENON_TRY(flush());
      TENON_TRY(progress.add(count));
      bytes += count;
      nbytes -= count;
    }
    return Error::Ok;
  }

  // For formats that seek back, such as zip archives. Offsets count from the file's start.

  /// Whether seek() works: not in a pipe. If the target is a function, put() keeps the bytes until
  /// flush(), and seek() works within the kept bytes.
  bool can_seek() noexcept {
    return to_.kind_ != Kind::Path || std::fseek(file_, 0, SEEK_CUR) == 0;
  }
  uint64_t tell() noexcept {
    if (to_.kind_ != Kind::Path) return at_;
#if TENON_HAS_POSIX_FILES
    return static_cast<uint64_t>(::ftello(file_));
#else
    return static_cast<uint64_t>(std::ftell(file_));
#endif
  }
  Error seek(uint64_t offset) noexcept {
    if (to_.kind_ == Kind::Path) {
#if TENON_HAS_POSIX_FILES
      const int code = ::fseeko(file_, static_cast<off_t>(offset), SEEK_SET);
#else
      const int code = std::fseek(file_, static_cast<long>(offset), SEEK_SET);
#endif
      return code == 0 ? Error::Ok : file_error("cannot write", errno);
    }
    if (offset < flushed_ || offset > end_) {
      return fail(Error::Internal, "byte ", offset,
                  " of the file has already been passed to the function");
    }
    at_ = offset;
    return Error::Ok;
  }
  /// Writes at the current position, and advances the position.
  Error put(const void* bytes, size_t count) noexcept {
    if (to_.kind_ == Kind::Path) {
      errno = 0;
      if (std::fwrite(bytes, 1, count, file_) == count) return Error::Ok;
      return file_error("cannot write", errno != 0 ? errno : EIO);
    }
    if (count == 0) return Error::Ok;
    const uint64_t end = at_ + count > end_ ? at_ + count : end_;
    if (to_.kind_ == Kind::Function) {
      const auto held = static_cast<int64_t>(end - flushed_);
      if (!has_memory_for([&] { pending_.resize(static_cast<size_t>(held)); })) {
        return file_error("cannot write", ENOMEM);
      }
      end_ = end;
      std::memcpy(pending_.data() + (at_ - flushed_), bytes, count);
    } else {
      TENON_TRY(check_tensor());
      if (end > end_) TENON_TRY(resize(start_ + static_cast<int64_t>(end)));
      end_ = end;
      if (fields(TensorArg(to_.tensor_)).data == nullptr) {
        return fail(Error::InvalidState, "the tensor to write to has no memory");
      }
      std::memcpy(static_cast<char*>(fields(TensorArg(to_.tensor_)).data) + start_ + at_, bytes,
                  count);
    }
    at_ += count;
    return Error::Ok;
  }
  /// Passes the function the bytes that were put since the last flush().
  Error flush() noexcept {
    if (pending_.empty()) return Error::Ok;
    const std::vector<char> bytes = std::move(pending_);
    pending_.clear();
    flushed_ = end_;
    const Error error = call_safely([&] {
      size_t count = 0;
      for (size_t i = 0; i < bytes.size(); i += count) {
        count = bytes.size() - i < kPart ? bytes.size() - i : kPart;
        TENON_TRY(to_.function_(bytes.data() + i, count));
      }
      return Error::Ok;
    });
    return add_context_if("the function that receives the bytes", error);
  }

  /// Puts the file at its path. With `durable`, also waits until the file is on the disk.
  Error commit(bool durable) noexcept {
    if (to_.kind_ == Kind::Path) return commit_file(durable);
    if (to_.kind_ == Kind::Function) return flush();
    TENON_TRY(check_tensor());
    end_ = 0;
    return Error::Ok;
  }

 private:
  using Kind = FileTarget::Kind;

  Error open_path(const char* path, [[maybe_unused]] FileWrite how) noexcept {
    const KeepErrno keep;
    target_ = path;
#if TENON_HAS_POSIX_FILES
    struct stat old;
    struct stat link;
    const bool exists = ::stat(path, &old) == 0;
    // Reports an error such as a name that is too long before anything is written, not at the
    // rename.
    if (!exists && errno != ENOENT) return file_error("cannot open", errno);
    const bool is_new = !exists && ::lstat(path, &link) != 0;
    // A file named by a descriptor in /proc may have no path anymore.
    const bool is_replaced = how == FileWrite::Replace && exists && S_ISREG(old.st_mode);
    real_ = is_replaced ? ::realpath(path, nullptr) : nullptr;
    if (is_replaced && real_ == nullptr && errno == ENOMEM) {
      return file_error("cannot write", ENOMEM);  // writing in place could leave a partial file
    }
    if (real_ != nullptr) target_ = real_;
    if ((is_new && how == FileWrite::Replace) || real_ != nullptr) {
      return open_aside(is_new ? nullptr : &old);
    }
#endif
    file_ = std::fopen(path, "wb");
    return file_ != nullptr ? Error::Ok : file_error("cannot open", errno);
  }

  Error commit_file([[maybe_unused]] bool durable) noexcept {
    const KeepErrno keep;
    int code = std::fflush(file_) == 0 ? 0 : errno;
#if TENON_HAS_POSIX_FILES
    // Devices and pipes cannot be synced.
    if (durable && code == 0 && ::fsync(::fileno(file_)) != 0 && errno != EINVAL) code = errno;
#endif
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && code == 0) code = errno;
    if (code != 0) return file_error("cannot write", code);
    if (!is_aside_) return Error::Ok;
    if (std::rename(aside_, target_) != 0) {
      // For example in a sticky folder, or where the file is a mount point.
      return file_error("cannot replace it", errno, Error::AccessFailed, in_place_hint());
    }
    is_aside_ = false;
#if TENON_HAS_POSIX_FILES
    if (durable) sync_folder();
#endif
    return Error::Ok;
  }

  /// The tensor must be a contiguous 1-d tensor of Byte in host memory.
  Error open_tensor() noexcept {
    const TensorArg tensor(to_.tensor_);
    TENON_TRY(check_defined(tensor, "the tensor to write to"));
    const TensorFields& bytes = fields(tensor);
    if (bytes.type != ScalarType::Byte || bytes.layout.sizes().size() != 1 ||
        !bytes.layout.is_contiguous() || !bytes.device.is_cpu() || bytes.opaque) {
      return fail(Error::InvalidArgument, "the tensor to write to is ", bytes.type, " of sizes ",
                  bytes.layout.sizes(), " on ", bytes.device,
                  bytes.opaque ? ", which only its backend reaches" : "",
                  "; expected a 1-d tensor of Byte on cpu, such as empty({0}, ScalarType::Byte, "
                  "TensorShapeDynamism::DYNAMIC_UNBOUND)");
    }
    TENON_TRY(check_writable(bytes));
    start_ = static_cast<int64_t>(bytes.layout.numel);
    return Error::Ok;
  }
  bool holds_what_was_written() const noexcept {
    const TensorArg tensor(to_.tensor_);
    return check_defined(tensor, "") == Error::Ok &&
           static_cast<uint64_t>(fields(tensor).layout.numel) ==
               static_cast<uint64_t>(start_) + end_;
  }
  Error check_tensor() const noexcept {
    if (holds_what_was_written()) return Error::Ok;
    // on_progress or a backend's code resized it.
    return fail(Error::InvalidState, "the tensor was resized while it was written");
  }
  Error resize(int64_t size) noexcept {
    return detail::resize(TensorArg(to_.tensor_), ArrayRef<int64_t>(&size, 1));
  }

  /// The most bytes per write(): on ext4 one write of 16 MiB takes three times the processor time
  /// of 16 writes of 1 MiB.
  static constexpr size_t kPart = size_t{1} << 20;

  const char* in_place_hint() const noexcept {
    return real_ != nullptr ? "; FileWrite::InPlace writes into the existing file" : "";
  }

#if TENON_HAS_POSIX_FILES
  /// Opens a file next to the target. `old` describes the existing file, or is null.
  Error open_aside(const struct stat* old) noexcept {
    const char* const slash = std::strrchr(target_, '/');
    const size_t folder = slash != nullptr ? static_cast<size_t>(slash + 1 - target_) : 0;
    constexpr size_t kNameRoom = 64;
    aside_ = static_cast<char*>(std::malloc(folder + kNameRoom));
    if (aside_ == nullptr) return file_error("cannot write", ENOMEM);
    std::memcpy(aside_, target_, folder);
    // Only this user may open the new file until it gets the old file's permissions.
    const mode_t mode = old != nullptr ? 0600 : 0666;
    int descriptor = -1;
    // Another thread may have taken the name, or a process that died may have left it.
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
  /// Gives the new file the old file's owner, group, access control list and permissions. If the
  /// system refuses the group or the list, the new file's group and others get only rights that
  /// both had.
  void pass_on(const struct stat& old, int to) noexcept {
    constexpr uid_t kSameOwner = static_cast<uid_t>(-1);
    bool keeps_group =
        ::fchown(to, old.st_uid, old.st_gid) == 0 || ::fchown(to, kSameOwner, old.st_gid) == 0;
#if defined(__linux__)
    constexpr const char* kList = "system.posix_acl_access";
    char list[4096];  // for 511 entries
    const ssize_t size = ::getxattr(target_, kList, list, sizeof list);
    if (size < 0 && errno != ERANGE) {
      static_cast<void>(::fremovexattr(to, kList));  // the folder's default list
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
  /// Makes the rename durable. Failures are ignored: the file is complete either way.
  void sync_folder() noexcept {
    char* const slash = std::strrchr(aside_, '/');
    if (slash != nullptr) slash[1] = '\0';
    const int folder = ::open(slash != nullptr ? aside_ : ".", O_RDONLY | O_CLOEXEC);
    if (folder < 0) return;
    static_cast<void>(::fsync(folder));
    ::close(folder);
  }
#endif

  FileTarget to_ = "";
  // Used if the target is a tensor or a function.
  int64_t start_ = 0;          // the tensor's size before
  uint64_t at_ = 0;            // the position of put()
  uint64_t end_ = 0;           // how many bytes there are
  uint64_t flushed_ = 0;       // how many of them the function has received
  std::vector<char> pending_;  // the bytes that it has not received

  // Used if the target is a path.
  const char* target_ = nullptr;
  char* real_ = nullptr;   // the target, if the path is a link to it
  char* aside_ = nullptr;  // the path of the file that is renamed at the end
  bool is_aside_ = false;  // whether that file exists
  std::FILE* file_ = nullptr;
};

/// A part of a file to write.
struct FileBlock {
  const void* data;
  size_t size;
};

/// Writes a file that consists of these blocks.
inline Error write_file(const FileTarget& to, ArrayRef<FileBlock> blocks,
                        FileWrite how = FileWrite::Replace) noexcept {
  OutputFile file;
  Progress silent;
  TENON_TRY(file.open(to, how));
  for (const FileBlock& block : blocks) TENON_TRY(file.write(block.data, block.size, silent));
  return file.commit(false);
}

}  // namespace detail
TENON_END_NAMESPACE
