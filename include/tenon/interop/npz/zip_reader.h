// SPDX-License-Identifier: MIT
// ZipReader: the entries of a zip archive in memory, by minizip.
#pragma once

#if !__has_include(<minizip/unzip.h>)
#error "tenon: interop/npz.h needs <minizip/unzip.h> (Debian: libminizip-dev)"
#endif
#include <minizip/unzip.h>

#include <string>
#include <vector>

#include "tenon/interop/file.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What an archive says of an entry.
struct ZipEntry {
  std::string name;
  unz64_file_pos position{};
  uint64_t data = 0;  // where its bytes begin in the archive
  uint64_t packed = 0;
  uint64_t size = 0;
  uLong crc = 0;
  uLong method = 0;  // 0 stored, 8 deflated
  bool is_encrypted = false;
};

inline Error fail_zip(const char* what) noexcept {
  return fail(Error::InvalidArgument, "the zip archive is cut or broken: ", what);
}

/// Not for several threads: each opens one.
class ZipReader {
 public:
  ZipReader() noexcept = default;
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;
  ~ZipReader() {
    if (zip_ != nullptr) ::unzClose(zip_);
  }

  /// The bytes stay while this lives.
  Error open(const unsigned char* bytes, uint64_t size) noexcept {
    const KeepErrno keep;
    errno = 0;
    bytes_ = bytes;
    size_ = size;
    // minizip does not find the end of an archive without entries, which is all there is of it.
    if (size >= 22 && std::memcmp(bytes, "PK\5\6", 4) == 0) return Error::Ok;
    zlib_filefunc64_def calls{};
    calls.opaque = this;
    calls.zopen64_file = [](void* self, const void*, int) -> void* { return self; };
    calls.zread_file = [](void* self, void*, void* out, uLong count) -> uLong {
      return static_cast<ZipReader*>(self)->take(out, count);
    };
    calls.zwrite_file = [](void*, void*, const void*, uLong) -> uLong { return 0; };
    calls.ztell64_file = [](void* self, void*) -> ZPOS64_T {
      return static_cast<ZipReader*>(self)->at_;
    };
    calls.zseek64_file = [](void* self, void*, ZPOS64_T offset, int origin) -> long {
      return static_cast<ZipReader*>(self)->seek(offset, origin);
    };
    calls.zclose_file = [](void*, void*) -> int { return 0; };
    calls.zerror_file = [](void*, void*) -> int { return 0; };
    zip_ = ::unzOpen2_64("", &calls);
    return zip_ != nullptr ? Error::Ok : failed("there is no end of its directory");
  }

  /// Reads the directory.
  Error list(std::vector<ZipEntry>& entries) {
    const KeepErrno keep;
    errno = 0;
    if (zip_ == nullptr) return Error::Ok;
    std::string name(size_t{1} << 16, '\0');  // as long as one can be, and a zero
    int code = ::unzGoToFirstFile(zip_);
    for (; code == UNZ_OK; code = ::unzGoToNextFile(zip_)) {
      unz_file_info64 info;
      ZipEntry entry;
      if (::unzGetCurrentFileInfo64(zip_, &info, name.data(), name.size(), nullptr, 0, nullptr,
                                    0) != UNZ_OK ||
          ::unzGetFilePos64(zip_, &entry.position) != UNZ_OK) {
        return failed("its directory");
      }
      entry.name.assign(name, 0, info.size_filename);
      entry.packed = info.compressed_size;
      entry.size = info.uncompressed_size;
      entry.crc = info.crc;
      entry.method = info.compression_method;
      entry.is_encrypted = (info.flag & 1) != 0;
      entries.push_back(std::move(entry));
    }
    return code == UNZ_END_OF_LIST_OF_FILE ? Error::Ok : failed("its directory");
  }

  /// Checks an entry, and finds where its bytes are.
  Error locate(ZipEntry& entry) noexcept {
    const KeepErrno keep;
    errno = 0;
    if (entry.is_encrypted) return fail(Error::NotSupported, "it is encrypted");
    if (entry.method != 0 && entry.method != Z_DEFLATED) {
      return fail(Error::NotSupported, "it is packed by method ", entry.method,
                  ", expected 0 (stored) or 8 (deflated)");
    }
    // Before memory is asked for: deflate makes no more than 1032 bytes of one.
    const bool is_possible =
        entry.method == 0 ? entry.size == entry.packed : entry.size / 1032 <= entry.packed;
    if (!is_possible || entry.packed > size_) {
      return fail(Error::InvalidArgument, "it cannot have ", entry.size, " bytes in ", entry.packed,
                  " of an archive of ", size_);
    }
    unz64_file_pos position = entry.position;
    const int code = ::unzGoToFilePos64(zip_, &position);
    // Raw: minizip would leak when there is no memory to inflate.
    if (code != UNZ_OK || ::unzOpenCurrentFile2(zip_, nullptr, nullptr, 1) != UNZ_OK) {
      return failed("its local header");
    }
    entry.data = ::unzGetCurrentFileZStreamPos64(zip_);
    ::unzCloseCurrentFile(zip_);
    if (entry.data > size_ || entry.packed > size_ - entry.data) {
      return fail(Error::InvalidArgument, "its ", entry.packed, " bytes, at offset ", entry.data,
                  ", reach beyond the archive's ", size_);
    }
    return Error::Ok;
  }

 private:
  /// minizip does not say when there was no memory; malloc() does. `errno` was 0 before.
  static Error failed(const char* what) noexcept {
    return errno == ENOMEM ? file_error("cannot read the zip archive", ENOMEM) : fail_zip(what);
  }
  uLong take(void* out, uLong count) noexcept {
    const uint64_t left = size_ - at_;
    if (count > left) count = static_cast<uLong>(left);
    if (count != 0) std::memcpy(out, bytes_ + at_, count);
    at_ += count;
    return count;
  }
  long seek(uint64_t offset, int origin) noexcept {
    const uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                          : origin == ZLIB_FILEFUNC_SEEK_CUR ? at_
                                                             : size_;
    if (offset > size_ - from) return -1;
    at_ = from + offset;
    return 0;
  }

  const unsigned char* bytes_ = nullptr;
  uint64_t size_ = 0;
  uint64_t at_ = 0;
  unzFile zip_ = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
