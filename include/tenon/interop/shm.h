// SPDX-License-Identifier: MIT
// shm_create, shm_attach, shm_fd: tensors in shared memory that several processes map.
//
// Ownership. The kernel owns the memory. It frees memory that has no name once no process has it
// mapped or open. Each tensor has its own mapping and descriptor, and releases both with its last
// handle, view and export. For memory without a name that is all. A name is the path of a file in
// /dev/shm, as shm_open() makes it. The owners of a name are the tensors of that name in all
// processes; each owner's descriptor holds a shared lock (flock) on the file.
// - shm_create() makes a file without a name (O_TMPFILE), locks it, and gives it its name last
//   (linkat): no other process sees an incomplete file, and of two creators only one gets the name.
// - An owner that is destroyed releases its mapping and descriptor, and with them its lock. Then it
//   tries to get the exclusive lock by another descriptor. If it was the last owner, it gets the
//   exclusive lock, and removes the name.
// - If a process is killed, or ends without running destructors, the kernel releases its mappings
//   and locks. If it held the last owner, the name is left abandoned: the next shm_attach() removes
//   the name and returns NotFound; the next shm_create() replaces it.
// - Names are removed only under the exclusive lock, and only while they refer to the locked file.
//   A process that gets the shared lock checks that the name still refers to the file.
// - After fork(), parent and child share one lock, which is held until both have released it; the
//   last of them removes the name. exec() in the child releases the child's share.
//
// Trust. A process that may write to the memory may change the elements at any time. The header is
// copied once, and the copy is checked: later writes to the header have no effect. Memory without a
// name is sealed against shrinking. A file with a name cannot be sealed: a process that may write
// to the file may shorten it, and then reading a page that is gone ends the reader with SIGBUS. So
// use names between processes that trust each other (by default, those of one user), and
// descriptors between any processes.
#pragma once

#if !defined(__linux__)
#error "tenon: interop/shm.h needs Linux, for memfd_create and for locks on shared memory"
#endif

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tenon/core/result.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/processes/shm_header.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

/// How a tensor may use its memory.
enum class ShmAccess : uint8_t {
  ReadOnly = O_RDONLY,  ///< mapping and tensor are read-only
  ReadWrite = O_RDWR,   ///< writes show in all processes
};

namespace detail {

/// Copies the header of open shared memory and checks the copy. Sets `file` to the result of
/// fstat().
inline Error read_shm(int fd, struct stat& file, ShmLayout& shm) noexcept {
  ShmHeader header;
  const ssize_t count = ::fstat(fd, &file) == 0 ? ::pread(fd, &header, sizeof header, 0) : -1;
  if (count < 0) return file_error("cannot read it", errno);
  if (count != sizeof header) {
    return fail(Error::InvalidArgument, "it is too short for the header of a tensor");
  }
  return parse_shm_header(header, static_cast<uint64_t>(file.st_size), shm);
}

/// A name, given as any kind of text, and its path: "/dev/shm/x" for "/x", as in shm_open().
/// (shm_open() itself is not used: it cannot make files without a name, and before glibc 2.34 it is
/// in librt.)
class ShmName {
 public:
  ShmName(const char* name) noexcept : ShmName(std::string_view(name == nullptr ? "" : name)) {}
  template <class S, class = std::enable_if_t<std::is_convertible_v<const S&, std::string_view>>>
  ShmName(const S& name) noexcept : name_(name) {
    name_.substr(0, kMost).copy(path_ + 8, kMost);
  }
  const char* path() const noexcept { return path_; }
  Error check() const noexcept {
    const bool valid = name_.size() >= 2 && name_.size() <= kMost && name_.rfind('/') == 0 &&
                       name_ != "/." && name_ != "/.." && name_.find('\0') == name_.npos;
    if (valid) return Error::Ok;
    return fail(Error::InvalidArgument, "the name has ", name_.size(),
                " characters; expected \"/\" and 1 to 255 others, none of them '/' or zero");
  }
  /// Puts the path before an error's message.
  Error add_context_if(Error error) const noexcept {
    return error == Error::Ok ? error : FilePath(path_).add_context(error);
  }

 private:
  static constexpr size_t kMost = 256;  // "/" and NAME_MAX other characters

  std::string_view name_;
  char path_[8 + kMost + 1] = "/dev/shm";
};

/// How many attempts are made while other processes remove and make files of the name.
inline constexpr int kShmAttempts = 100;

inline bool is_path_of(const struct stat& file, const char* path) noexcept {
  struct stat named;
  return ::lstat(path, &named) == 0 && file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

inline int open_shm(const char* path, ShmAccess access) noexcept {
  return ::open(path, static_cast<int>(access) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/// Removes the name of an open file that no other descriptor has locked, if permissions allow it.
/// False if the file is locked, or the name refers to another file.
inline bool remove_abandoned(int fd, const struct stat& file, const char* path) noexcept {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_path_of(file, path)) return false;
  ::unlink(path);
  return true;
}

/// The deleter of a tensor over shared memory: unmaps the memory, closes the descriptor, and
/// removes the name unless another owner is left.
struct ShmSegment {
  int fd;
  void* base = nullptr;
  size_t length = 0;
  char* path = nullptr;  // on the heap; null without a name

  void operator()(void*) const noexcept {
    const KeepErrno keep;
    struct stat file = {};
    const bool has_name = path != nullptr && ::fstat(fd, &file) == 0 && is_path_of(file, path);
    if (base != nullptr) ::munmap(base, length);  // like the descriptor, a mapping holds the lock
    ::close(fd);
    // The lock belongs to the open file description, which a forked process may share: another
    // open() shows whether the lock is still held. The file is opened after the descriptor is
    // closed, since the process may have no descriptor left.
    const int other = has_name ? open_shm(path, ShmAccess::ReadOnly) : -1;
    if (other >= 0) {
      remove_abandoned(other, file, path);
      ::close(other);
    }
    std::free(path);
  }
};
template <>
inline constexpr const char* deleter_name_v<ShmSegment> = "ShmSegment";

/// Opens the file of a name and becomes one of its owners; `deleter` releases the ownership. If the
/// name is abandoned, removes it and fails with NotFound.
inline Error open_named(const char* path, ShmAccess access, ShmLayout& shm,
                        Deleter& deleter) noexcept {
  for (int attempt = 0; attempt < kShmAttempts; ++attempt, deleter.reset()) {
    const int fd = open_shm(path, access);
    if (fd < 0 && errno == ENOENT) return fail(Error::NotFound, "there is no such memory");
    if (fd < 0) return file_error("cannot open it", errno);
    deleter.emplace(nullptr, ShmSegment{fd});
    struct stat file;
    TENON_TRY(read_shm(fd, file, shm));
    char* const copy = deleter.stored<ShmSegment>()->path = ::strdup(path);
    if (copy == nullptr) return file_error("cannot open it", ENOMEM);
    if (remove_abandoned(fd, file, path)) {
      return fail(Error::NotFound, "it was abandoned by processes that ended");
    }
    if (::flock(fd, LOCK_SH | LOCK_NB) == 0 && is_path_of(file, path)) return Error::Ok;
    ::usleep(1000);  // a process that removes the name holds the lock for microseconds
  }
  return fail(Error::InUse, "another process keeps it locked");
}

/// Maps an open segment and makes a tensor over it. The tensor takes over `deleter`.
inline Error make_shm_tensor(const ShmLayout& shm, ShmAccess access, Deleter& deleter,
                             NewTensor& new_tensor) noexcept {
  const bool readonly = access == ShmAccess::ReadOnly;
  const int protection = readonly ? PROT_READ : PROT_READ | PROT_WRITE;
  ShmSegment& segment = *deleter.stored<ShmSegment>();
  void* const base = ::mmap(nullptr, shm.length, protection, MAP_SHARED, segment.fd, 0);
  if (base == MAP_FAILED) return file_error("cannot map it", errno);
  segment.base = base;
  segment.length = shm.length;
  return borrow_checked(DataPtr(static_cast<char*>(base) + kShmOffset, readonly),
                        shm.layout.sizes(), {}, shm.layout.strides(), CreateOptions(shm.type),
                        &deleter, new_tensor);
}

/// Reserves the bytes of a new file. Without that, a write would end the process with SIGBUS if
/// /dev/shm has no memory left.
inline Error reserve_shm(int fd, size_t length) noexcept {
  struct statvfs room;
  if (::fstatvfs(fd, &room) != 0) return file_error("cannot reserve the memory", errno);
  // f_blocks is 0 if /dev/shm has no limit: then the limit is the machine's memory.
  const auto machine = static_cast<fsblkcnt_t>(::sysconf(_SC_PHYS_PAGES));
  const fsblkcnt_t blocks = room.f_blocks != 0 ? room.f_bavail : machine;
  int code = (length - 1) / room.f_frsize < blocks ? 0 : ENOSPC;
  constexpr size_t kPiece =
      262144;  // in small pieces, since older kernels undo a call that a signal interrupts
  for (size_t at = 0; at < length && code == 0; at += kPiece) {
    const auto size = static_cast<off_t>((std::min)(kPiece, length - at));
    do code = ::posix_fallocate(fd, static_cast<off_t>(at), size);
    while (code == EINTR);
  }
  if (code == 0) return Error::Ok;
  return file_error("cannot reserve the memory in /dev/shm", code, Error::OutOfMemory);
}

/// Removes a name that is abandoned. Fails with InUse if the name has an owner, or the file holds
/// no tensor.
inline Error free_name(const char* path) noexcept {
  Deleter other;
  ShmLayout shm;
  const Error error = open_named(path, ShmAccess::ReadOnly, shm, other);
  if (error == Error::NotFound) return Error::Ok;
  if (error == Error::OutOfMemory) return error;
  return fail(Error::InUse,
              "the name is taken: ", error == Error::Ok ? "it has an owner" : last_error_message());
}

/// Gives the file its name, if no living process owns the name.
inline Error name_shm(int fd, const char* path) noexcept {
  char self[32];
  std::snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  for (int attempt = 0; attempt < kShmAttempts; ++attempt) {
    if (::linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return Error::Ok;
    if (errno != EEXIST) return file_error("cannot give it its name", errno);
    TENON_TRY(free_name(path));
  }
  return fail(Error::InUse, "the name is taken: ", last_error_message());
}

/// Makes shared memory and a tensor over it. If `name` is null, the memory has no name.
inline Error make_shm(const ShmName* name, const Dims& sizes, const TypeArg& type,
                      const Dims& strides, mode_t mode, NewTensor& new_tensor) noexcept {
  const KeepErrno keep;
  if (name != nullptr) TENON_TRY(name->check());
  ShmLayout shm;
  TENON_TRY(shm.set(type.value_or(ScalarType::Undefined), sizes, strides));
  ShmHeader header;
  header.type = static_cast<int32_t>(shm.type);
  header.rank = shm.layout.rank();
  std::copy(shm.layout.sizes().begin(), shm.layout.sizes().end(), header.sizes);
  std::copy(shm.layout.strides().begin(), shm.layout.strides().end(), header.strides);

  const int fd = name != nullptr
                     ? ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, mode | S_IRUSR)
                     : ::memfd_create("tenon", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return file_error("cannot make shared memory", errno);
  Deleter deleter(nullptr, ShmSegment{fd});
  if (name != nullptr) {
    char* const copy = deleter.stored<ShmSegment>()->path = ::strdup(name->path());
    if (copy == nullptr) return file_error("cannot make shared memory", ENOMEM);
    // The umask may have cleared the user's read permission, which the last owner needs.
    struct stat status;
    if (::fstat(fd, &status) != 0 || ::fchmod(fd, status.st_mode | S_IRUSR) != 0) {
      return file_error("cannot make shared memory", errno);
    }
    TENON_TRY(
        free_name(name->path()));  // before the reservation, which may need the abandoned memory
    TENON_TRY(reserve_shm(fd, shm.length));
  } else if (::ftruncate(fd, static_cast<off_t>(shm.length)) != 0 || ::fchmod(fd, 0600) != 0) {
    return file_error("cannot make so much shared memory", errno, Error::OutOfMemory);
  }
  if (::pwrite(fd, &header, sizeof header, 0) != sizeof header ||
      (name != nullptr ? ::flock(fd, LOCK_SH | LOCK_NB)
                       : ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) != 0) {
    return file_error("cannot make shared memory", errno);
  }
  TENON_TRY(make_shm_tensor(shm, ShmAccess::ReadWrite, deleter, new_tensor));
  return name != nullptr ? name_shm(fd, name->path()) : Error::Ok;
}

/// Makes a tensor over the shared memory of that name.
inline Error attach_shm(const ShmName& name, ShmAccess access, NewTensor& new_tensor) noexcept {
  const KeepErrno keep;
  TENON_TRY(name.check());
  Deleter deleter;
  ShmLayout shm;
  TENON_TRY(open_named(name.path(), access, shm, deleter));
  return make_shm_tensor(shm, access, deleter, new_tensor);
}

/// As above, by a descriptor.
inline Error attach_shm(int descriptor, ShmAccess access, NewTensor& new_tensor) noexcept {
  const KeepErrno keep;
  const int fd = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return file_error("cannot duplicate it", errno);
  Deleter deleter(nullptr, ShmSegment{fd});
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(Error::InvalidArgument,
                "not sealed against shrinking, as memory without a name is");
  }
  struct stat file;
  ShmLayout shm;
  TENON_TRY(read_shm(fd, file, shm));
  return make_shm_tensor(shm, access, deleter, new_tensor);
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct ShmCreate {
  const char* function;

  /// Makes a tensor in shared memory with this name, by which other processes attach the memory.
  /// The elements are zero, and begin at a page boundary. The strides are dense, or given ones with
  /// which no two elements overlap, as in empty_strided(). The tensor is DYNAMIC_BOUND; other
  /// processes do not see a resize.
  ///
  /// `name`: "/x", as for shm_open(): "/" and up to 255 other characters. If the name is abandoned,
  /// it is replaced.
  /// `mode`: the file's permissions, without the bits of umask(). The user's read permission is
  /// always set, so that an owner can find out whether it is the last.
  /// Ownership: the tensors of this name in all processes own the name. The memory is unmapped when
  /// this tensor is destroyed; the name is removed when the last of the tensors is. The top of this
  /// file describes killed processes and fork().
  /// Errors: InUse (the name has an owner, or is another program's memory); InvalidArgument (the
  /// name; invalid sizes or strides; strides that overlap or are negative); InvalidType
  /// (Undefined); OutOfMemory (also if /dev/shm is full); AccessFailed; NotSupported (in ATen mode,
  /// for a dtype that ATen lacks). After an error no memory and no name is left.
  /// Threads: any.
  /// Cost: O(bytes): the memory is reserved.
  /// Source: shm_open, with O_CREAT and O_EXCL; Python's multiprocessing.shared_memory.
  Out operator()(const ShmName& name, const Dims& sizes, const TypeArg& type,
                 const StridesArg& strides = {}, mode_t mode = 0600) const {
    NewTensor new_tensor;
    const Error error = make_shm(&name, sizes, type, strides, mode, new_tensor);
    return return_to_user<Out>(function, name.add_context_if(error), new_tensor);
  }

  /// Makes a tensor in shared memory without a name, for processes that receive its descriptor by
  /// fork() or over a UNIX socket (SCM_RIGHTS). The memory is sealed against shrinking and growing.
  /// Only this user has permissions: another user who receives a read-only descriptor cannot reopen
  /// the memory for writing.
  ///
  /// Ownership: the kernel frees the memory with its last mapping and descriptor, however processes
  /// end.
  /// Cost: O(1); a page is allocated when it is first used.
  /// Source: memfd_create.
  Out operator()(const Dims& sizes, const TypeArg& type, const StridesArg& strides = {}) const {
    NewTensor new_tensor;
    const Error error = make_shm(nullptr, sizes, type, strides, 0, new_tensor);
    return return_to_user<Out>(function, error, new_tensor);
  }
};

template <class Out>
struct ShmAttach {
  const char* function;

  /// Makes a tensor over shared memory that another process or this one made, with the sizes,
  /// strides and dtype that its header has.
  ///
  /// Ownership: the tensor is an owner of the name, like the tensor of shm_create(), which may be
  /// destroyed first.
  /// Errors: NotFound (no such name; an abandoned name, which is removed if permissions allow it);
  /// InvalidArgument (an invalid name; memory that does not hold a tensor; a header that does not
  /// describe this memory); InvalidType (in the header); NotSupported (another version of the
  /// header; ReadOnly in ATen mode before libtorch 2.13); AccessFailed (permissions; a folder, a
  /// pipe); InUse (another process keeps the file locked for longer than 0.1 seconds); OutOfMemory.
  /// Threads: any.
  /// Cost: O(1); a page is mapped when it is first used.
  /// Source: shm_open and mmap.
  Out operator()(const ShmName& name, ShmAccess access = ShmAccess::ReadOnly) const {
    NewTensor new_tensor;
    const Error error = attach_shm(name, access, new_tensor);
    return return_to_user<Out>(function, name.add_context_if(error), new_tensor);
  }

  /// Makes a tensor over the memory of a descriptor, which has no name.
  ///
  /// Ownership: the descriptor is duplicated; the caller closes the given one.
  /// Errors: also InvalidArgument (memory that is not sealed against shrinking, such as a file with
  /// a name); AccessFailed (not a descriptor, or not open for that access).
  Out operator()(int descriptor, ShmAccess access = ShmAccess::ReadOnly) const {
    NewTensor new_tensor;
    Error error = attach_shm(descriptor, access, new_tensor);
    if (error != Error::Ok) {
      error = fail(error, "descriptor ", descriptor, ": ", last_error_message());
    }
    return return_to_user<Out>(function, error, new_tensor);
  }
};

}  // namespace detail

inline constexpr detail::ShmCreate<TensorPtr> shm_create{"shm_create"};
inline constexpr detail::ShmAttach<TensorPtr> shm_attach{"shm_attach"};
inline constexpr detail::ShmCreate<Result<TensorPtr>> try_shm_create{"try_shm_create"};
inline constexpr detail::ShmAttach<Result<TensorPtr>> try_shm_attach{"try_shm_attach"};

namespace detail {

inline Error find_shm_fd(const TensorArg& t, int& fd) noexcept {
  TENON_TRY(check_metadata(t, "the tensor"));
  Deleter* const kept = deleter_of(t);
  const auto* const segment = kept == nullptr ? nullptr : kept->target<ShmSegment>();
  if (segment == nullptr) {
    return fail(Error::InvalidArgument, "neither shm_create() nor shm_attach() made the tensor");
  }
  fd = segment->fd;
  return Error::Ok;
}

}  // namespace detail

/// The descriptor of a tensor's shared memory, to pass to another process. The try_ form returns a
/// Result.
/// Ownership: the tensor keeps the descriptor, which is valid as long as the tensor's memory.
/// Errors, raised: InvalidArgument (a view, or a tensor that shm_create() or shm_attach() did not
/// make); InvalidState (an undefined tensor).
inline int shm_fd(ConstTensorArg t) {
  int fd = -1;
  detail::raise_if("shm_fd", detail::find_shm_fd(t, fd));
  return fd;
}
inline Result<int> try_shm_fd(ConstTensorArg t) noexcept {
  int fd = -1;
  TENON_TRY(detail::add_context_if("try_shm_fd", detail::find_shm_fd(t, fd)));
  return fd;
}

TENON_END_NAMESPACE
