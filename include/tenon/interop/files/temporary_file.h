// SPDX-License-Identifier: MIT
// TemporaryFile: holds a shared library, from a package or just compiled, for dlopen().
#pragma once

#include <fcntl.h>

#include <cstdlib>
#include <string>

#include "tenon/interop/files/file.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A file that this object's destructor removes. On Linux the file has no name, so the kernel frees
/// it however the process ends. It has a name if the folder's file system does not support files
/// without a name, or if there is no /proc.
class TemporaryFile {
 public:
  TemporaryFile() noexcept = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { remove(); }

  const char* path() const noexcept { return path_.c_str(); }
  /// The folder in which the file was made: $TMPDIR or /tmp.
  const std::string& folder() const noexcept { return folder_; }
  void remove() noexcept {
    if (is_named_) static_cast<void>(::unlink(path_.c_str()));
    if (descriptor_ >= 0) static_cast<void>(::close(descriptor_));
    is_named_ = false;
    descriptor_ = -1;
    path_.clear();
  }
  /// Makes the file in $TMPDIR or /tmp; only this user can read it. `may_be_nameless` is for tests.
  Error create([[maybe_unused]] bool may_be_nameless = true) {
    const char* const variable = std::getenv("TMPDIR");
    folder_ = variable != nullptr && *variable != '\0' ? variable : "/tmp";
#if defined(O_TMPFILE)
    if (may_be_nameless) {
      descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    }
    if (descriptor_ >= 0) {
      path_ = path_in_proc(descriptor_);
      if (::access(path_.c_str(), R_OK) == 0) return Error::Ok;
      remove();
    }
#endif
    std::string name = folder_ + "/tenon-aoti-XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) return file_error("cannot create a temporary file", errno);
    path_.swap(name);
    is_named_ = true;
    return Error::Ok;
  }
  Error write(const char* data, size_t count) noexcept {
    while (count > 0) {
      const ssize_t written = ::write(descriptor_, data, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return file_error("cannot write the temporary file", errno);
      data += written;
      count -= static_cast<size_t>(written);
    }
    return Error::Ok;
  }

 private:
  /// "/proc/self/fd/../fd/./././/./7": a path that is unique to this file, since its dots and
  /// slashes encode the numbers of its device and inode. dlopen() first compares paths: given
  /// "/proc/self/fd/7" again, it would return the older library that was loaded by this descriptor.
  static std::string path_in_proc(int descriptor) {
    struct stat status {};
    static_cast<void>(::fstat(descriptor, &status));
    std::string path = "/proc/self/fd";
    for (uint64_t number : {uint64_t{status.st_dev}, uint64_t{status.st_ino}}) {
      path += "/../fd";
      for (; number != 0; number >>= 1) path += number % 2 != 0 ? "/." : "/";
    }
    return path + '/' + std::to_string(descriptor);
  }

  std::string folder_;
  std::string path_;
  int descriptor_ = -1;
  bool is_named_ = false;
};

}  // namespace detail
TENON_END_NAMESPACE
