// SPDX-License-Identifier: MIT
// A .pt2 package: the library of one of its models, unpacked to a temporary file, with what lies
// beside it.
#pragma once

#include "tenon/interop/file.h"

#if !defined(TENON_AOTI_ZIP)
#define TENON_AOTI_ZIP 1
#endif
#if TENON_AOTI_ZIP
#if !__has_include(<minizip/unzip.h>)
#error "tenon: interop/aoti.h needs <minizip/unzip.h>; TENON_AOTI_ZIP=0 is for .so files alone"
#endif
#include <minizip/unzip.h>
#endif

#include <string>
#include <vector>

TENON_BEGIN_NAMESPACE
namespace detail {

/// A file that goes with this object.
class TemporaryFile {
 public:
  TemporaryFile() noexcept = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { remove(); }

  const char* path() const noexcept { return path_.c_str(); }
  void remove() noexcept {
    if (!path_.empty()) static_cast<void>(::unlink(path_.c_str()));
    path_.clear();
  }
  /// Makes it in $TMPDIR or /tmp, readable by this user alone.
  Error create(int& descriptor) {
    const char* const folder = std::getenv("TMPDIR");
    std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
    path += "/tenon-aoti-XXXXXX";
    descriptor = ::mkstemp(path.data());
    if (descriptor < 0) return file_error("cannot create a temporary file", errno);
    path_.swap(path);
    return Error::Ok;
  }

 private:
  std::string path_;
};

/// What a package has of one model.
struct AotiPackage {
  TemporaryFile library;
  std::vector<uint8_t> weights;  // if they lie beside the library
  std::string metadata;          // JSON: texts by names
};

#if TENON_AOTI_ZIP

/// An archive open for reading.
class ZipReader {
 public:
  explicit ZipReader(const char* path) noexcept : zip_(::unzOpen64(path)) {}
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;
  ~ZipReader() {
    if (zip_ != nullptr) ::unzClose(zip_);
  }

  Error check() const noexcept { return zip_ != nullptr ? Error::Ok : fail_broken(); }
  /// Calls f(name) for each entry; `f` may read that entry.
  template <class F>
  Error each(const F& f) {
    std::string name;
    int code = ::unzGoToFirstFile(zip_);
    for (; code == UNZ_OK; code = ::unzGoToNextFile(zip_)) {
      unz_file_info64 info;
      name.resize(4096);
      if (::unzGetCurrentFileInfo64(zip_, &info, name.data(), name.size(), nullptr, 0, nullptr,
                                    0) != UNZ_OK ||
          info.size_filename >= name.size()) {
        return fail_broken();
      }
      name.resize(info.size_filename);
      TENON_TRY(f(name));
    }
    return code == UNZ_END_OF_LIST_OF_FILE ? Error::Ok : fail_broken();
  }
  /// Passes the current entry's bytes to write(data, count), in parts.
  /// Errors: InvalidArgument for a broken one, by its checksum too.
  template <class F>
  Error read(const F& write) {
    if (::unzOpenCurrentFile(zip_) != UNZ_OK) return fail_broken();
    std::vector<char> part(size_t{1} << 16);
    Error error = Error::Ok;
    int count = 1;
    while (count > 0 && error == Error::Ok) {
      count = ::unzReadCurrentFile(zip_, part.data(), static_cast<unsigned>(part.size()));
      if (count > 0) error = write(part.data(), static_cast<size_t>(count));
    }
    const int code = ::unzCloseCurrentFile(zip_);
    TENON_TRY(error);
    return count == 0 && code == UNZ_OK ? Error::Ok : fail_broken();
  }

 private:
  static Error fail_broken() noexcept {
    return fail(Error::InvalidArgument, "the package is cut or broken");
  }

  unzFile zip_;
};

inline bool ends_with(const std::string& text, const char* end) noexcept {
  const size_t size = std::strlen(end);
  return text.size() >= size && text.compare(text.size() - size, size, end) == 0;
}

/// Unpacks the model of that name.
/// Errors: InvalidArgument for a broken package; NotFound for an unknown model, which names one;
/// AccessFailed for the temporary file.
inline Error read_aoti_package(const char* path, const std::string& model, AotiPackage& package) {
  ZipReader zip(path);
  TENON_TRY(zip.check());
  const std::string root = "/data/aotinductor/";
  std::string another;
  TENON_TRY(zip.each([&](const std::string& name) {
    const size_t at = name.find(root);
    const size_t end = at == std::string::npos ? at : name.find('/', at + root.size());
    if (end == std::string::npos) return Error::Ok;
    const std::string owner = name.substr(at + root.size(), end - at - root.size());
    const bool is_library = ends_with(name, ".so");
    if (is_library && owner != model) another = owner;
    if (owner != model) return Error::Ok;
    if (ends_with(name, "wrapper_metadata.json")) {
      return zip.read([&](const char* data, size_t count) {
        package.metadata.append(data, count);
        return Error::Ok;
      });
    }
    if (ends_with(name, "_weights.blob")) {
      return zip.read([&](const char* data, size_t count) {
        package.weights.insert(package.weights.end(), data, data + count);
        return Error::Ok;
      });
    }
    if (!is_library || *package.library.path() != '\0') return Error::Ok;
    int descriptor = -1;
    TENON_TRY(package.library.create(descriptor));
    Error error = zip.read([&](const char* data, size_t count) {
      while (count > 0) {
        const ssize_t written = ::write(descriptor, data, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return file_error("cannot write the temporary file", errno);
        data += written;
        count -= static_cast<size_t>(written);
      }
      return Error::Ok;
    });
    if (::close(descriptor) != 0 && error == Error::Ok) {
      error = file_error("cannot write the temporary file", errno);
    }
    return error;
  }));
  if (*package.library.path() != '\0') return Error::Ok;
  return fail(Error::NotFound, "the package has no library of a model \"", model.c_str(),
              another.empty() ? "\"" : "\"; it has one of ", another.c_str());
}

#else

inline Error read_aoti_package(const char*, const std::string&, AotiPackage&) {
  return fail(Error::NotSupported, "it is a package, and TENON_AOTI_ZIP is 0");
}

#endif

}  // namespace detail
TENON_END_NAMESPACE
