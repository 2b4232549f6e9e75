// SPDX-License-Identifier: MIT
// A .pt2 package: the library of one of its models, unpacked to a temporary file, and the files
// that belong to it.
#pragma once

#include "tenon/interop/files/temporary_file.h"

/// TENON_AOTI_ZIP=0: interop/aoti.h opens only .so files, and does not need minizip.
#if !defined(TENON_AOTI_ZIP)
#define TENON_AOTI_ZIP 1
#endif
#if TENON_AOTI_ZIP
#if !__has_include(<minizip/unzip.h>)
#error "tenon: interop/aoti.h needs <minizip/unzip.h>; TENON_AOTI_ZIP=0 is for .so files alone"
#endif
#include <minizip/unzip.h>
#endif

#include <algorithm>
#include <string>
#include <vector>

TENON_BEGIN_NAMESPACE
namespace detail {

/// The files of one model in a package.
struct AotiPackage {
  TemporaryFile library;
  std::vector<uint8_t> weights;  // if they are beside the library
  std::string metadata = "{}";   // JSON: an object of texts
  std::string source;            // source of the library
  std::string operators;         // JSON: calls of operators that have no C function
};

#if TENON_AOTI_ZIP

/// Computes CRC-32, the checksum of zip files, with tables for 8 bytes (Kounavis, Berry 2005).
/// zlib's function is not used, since a program with minizip does not link zlib.
class Crc32 {
 public:
  Crc32() noexcept {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit) rest = rest % 2 != 0 ? rest >> 1 ^ 0xedb88320u : rest >> 1;
      table_[0][i] = rest;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t i = 0; i < 256; ++i) {
        const uint32_t before = table_[k - 1][i];
        table_[k][i] = before >> 8 ^ table_[0][before % 256];
      }
    }
  }
  void add(const char* data, size_t count) noexcept {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (; count >= 8; count -= 8, bytes += 8) {
      const uint32_t first = rest_ ^ (uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 |
                                      uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24);
      rest_ = table_[7][first % 256] ^ table_[6][first >> 8 & 255] ^ table_[5][first >> 16 & 255] ^
              table_[4][first >> 24] ^ table_[3][bytes[4]] ^ table_[2][bytes[5]] ^
              table_[1][bytes[6]] ^ table_[0][bytes[7]];
    }
    for (; count > 0; --count) rest_ = rest_ >> 8 ^ table_[0][(rest_ ^ *bytes++) & 255];
  }
  uint32_t value() const noexcept { return ~rest_; }

 private:
  uint32_t table_[8][256];
  uint32_t rest_ = ~0u;
};

/// An archive, open for reading.
class PackageReader {
 public:
  PackageReader() noexcept = default;
  PackageReader(const PackageReader&) = delete;
  PackageReader& operator=(const PackageReader&) = delete;
  ~PackageReader() {
    if (zip_ != nullptr) ::unzClose(zip_);
  }

  Error open(const char* path) noexcept {
    TENON_TRY(file_.open(path));
    size_ = file_.size();
    zip_ = ::unzOpen64(path);
    return zip_ != nullptr ? Error::Ok : fail_broken();
  }
  /// Calls f(name) for each entry; `f` may read that entry.
  /// Errors: InvalidArgument if the entries cannot be in the file, for example because they
  /// overlap, or if their unpacked size is more than kMostUnpacked times the file's.
  template <class F>
  Error each(const F& f) {
    std::string name;
    uint64_t packed_room = size_;
    uint64_t unpacked_room = size_ * kMostUnpacked;
    int code = ::unzGoToFirstFile(zip_);
    for (; code == UNZ_OK; code = ::unzGoToNextFile(zip_)) {
      unz_file_info64 info;
      name.resize(4096);
      if (::unzGetCurrentFileInfo64(zip_, &info, name.data(), name.size(), nullptr, 0, nullptr,
                                    0) != UNZ_OK ||
          info.size_filename >= name.size()) {
        return fail_broken();
      }
      is_stored_ = info.compression_method == 0;
      if (info.compressed_size > packed_room ||
          (is_stored_ && info.compressed_size != info.uncompressed_size)) {
        return fail_broken();
      }
      if (info.uncompressed_size > unpacked_room) {
        return fail(Error::InvalidArgument, "the package unpacks to more than ", kMostUnpacked,
                    " times its ", size_, " bytes");
      }
      packed_room -= info.compressed_size;
      unpacked_room -= info.uncompressed_size;
      entry_size_ = info.uncompressed_size;
      entry_checksum_ = static_cast<uint32_t>(info.crc);
      name.resize(info.size_filename);
      TENON_TRY(f(name));
    }
    return code == UNZ_END_OF_LIST_OF_FILE ? Error::Ok : fail_broken();
  }
  /// Passes the current entry's bytes to write(data, count), in parts.
  /// Errors: InvalidArgument for a broken entry or a wrong checksum.
  template <class F>
  Error read(const F& write) {
    if (::unzOpenCurrentFile(zip_) != UNZ_OK) return fail_broken();
    std::vector<char> part(size_t{1} << 18);
    if (is_stored_) {
      const uint64_t begin = ::unzGetCurrentFileZStreamPos64(zip_);
      static_cast<void>(::unzCloseCurrentFile(zip_));  // nothing was read
      return read_stored(begin, part, write);
    }
    Error error = Error::Ok;
    uint64_t total = 0;
    int count = 1;
    while (count > 0 && error == Error::Ok) {
      count = ::unzReadCurrentFile(zip_, part.data(), static_cast<unsigned>(part.size()));
      total += count > 0 ? static_cast<uint64_t>(count) : 0;
      if (count > 0) error = write(part.data(), static_cast<size_t>(count));
    }
    const int code = ::unzCloseCurrentFile(zip_);
    TENON_TRY(error);
    return count == 0 && code == UNZ_OK && total == entry_size_ ? Error::Ok : fail_broken();
  }

 private:
  // weights and code become at most 10 times smaller
  static constexpr uint64_t kMostUnpacked = 100;

  static Error fail_broken() noexcept {
    return fail(Error::InvalidArgument, "the package is cut or broken");
  }
  /// Like read(), but reads stored bytes directly from the file. minizip copies them one by one,
  /// which would take half of the time to open a model of 50 MB.
  template <class F>
  Error read_stored(uint64_t begin, std::vector<char>& part, const F& write) {
    if (begin > size_ || entry_size_ > size_ - begin) return fail_broken();
    Crc32 checksum;
    for (uint64_t done = 0; done < entry_size_;) {
      const auto count = static_cast<size_t>((std::min)(entry_size_ - done, uint64_t{part.size()}));
      const uint64_t at = begin + done;
      TENON_TRY(file_.read(static_cast<size_t>(at), part.data(), count));
      checksum.add(part.data(), count);
      TENON_TRY(write(part.data(), count));
      done += count;
    }
    return checksum.value() == entry_checksum_ ? Error::Ok : fail_broken();
  }

  unzFile zip_ = nullptr;
  InputFile file_;
  uint64_t size_ = 0;
  uint64_t entry_size_ = 0;  // of the current entry, unpacked
  uint32_t entry_checksum_ = 0;
  bool is_stored_ = false;
};

inline bool ends_with(const std::string& text, const char* end) noexcept {
  const size_t size = std::strlen(end);
  return text.size() >= size && text.compare(text.size() - size, size, end) == 0;
}

/// Unpacks the model of that name.
/// Errors: InvalidArgument for a broken package; NotFound for an unknown model, with the name of a
/// known one; AccessFailed for the temporary file.
inline Error read_aoti_package(const char* path, const std::string& model, AotiPackage& package) {
  PackageReader zip;
  TENON_TRY(zip.open(path));
  const std::string root = "/data/aotinductor/";
  std::string another;
  bool has_library = false;
  bool has_metadata = false;
  bool has_source = false;
  bool has_weights = false;
  bool has_operators = false;
  const auto once = [](bool& has, const std::string& name) {
    if (!std::exchange(has, true)) return Error::Ok;
    return fail(Error::InvalidArgument, "the package has a second ", name.c_str());
  };
  TENON_TRY(zip.each([&](const std::string& name) {
    // <archive>/data/aotinductor/<model>/<file>; only the model's name may have slashes.
    const size_t at = (std::min)(name.find('/'), name.size());
    if (name.compare(at, root.size(), root) != 0) return Error::Ok;
    const size_t begin = at + root.size();
    const size_t end = name.rfind('/');
    if (end < begin) return Error::Ok;
    const std::string owner = name.substr(begin, end - begin);
    const bool is_library = ends_with(name, ".so");
    if (is_library && owner != model) another = owner;
    if (owner != model) return Error::Ok;
    const auto append_to = [&](std::string& text) {
      return zip.read([&](const char* data, size_t count) {
        text.append(data, count);
        return Error::Ok;
      });
    };
    if (ends_with(name, "wrapper_metadata.json")) {
      TENON_TRY(once(has_metadata, name));
      package.metadata.clear();
      return append_to(package.metadata);
    }
    if (ends_with(name, "wrapper.cpp")) {
      TENON_TRY(once(has_source, name));
      return append_to(package.source);
    }
    if (ends_with(name, "wrapper.json")) {
      TENON_TRY(once(has_operators, name));
      return append_to(package.operators);
    }
    if (ends_with(name, "_weights.blob")) {
      TENON_TRY(once(has_weights, name));
      return zip.read([&](const char* data, size_t count) {
        package.weights.insert(package.weights.end(), data, data + count);
        return Error::Ok;
      });
    }
    if (!is_library) return Error::Ok;
    TENON_TRY(once(has_library, name));
    TENON_TRY(package.library.create());
    return zip.read(
        [&](const char* data, size_t count) { return package.library.write(data, count); });
  }));
  if (has_library) return Error::Ok;
  return fail(Error::NotFound, "the package has no model \"", model.c_str(),
              another.empty() ? "\"" : "\"; it has the model ", another.c_str());
}

#else

inline Error read_aoti_package(const char*, const std::string&, AotiPackage&) {
  return fail(Error::NotSupported, "it is a package, which TENON_AOTI_ZIP=0 excludes");
}

#endif

}  // namespace detail
TENON_END_NAMESPACE
