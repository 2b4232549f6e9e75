// SPDX-License-Identifier: MIT
// ZipWriter: a zip archive in an OutputFile, by minizip.
#pragma once

#if !__has_include(<minizip/zip.h>)
#error "tenon: interop/npz.h needs <minizip/zip.h> (Debian: libminizip-dev)"
#endif
#include <minizip/zip.h>

#include <string>

#include "tenon/interop/files/file_writer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

class ZipWriter {
 public:
  ZipWriter() noexcept = default;
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;
  ~ZipWriter() {
    if (zip_ != nullptr) ::zipClose(zip_, nullptr);
  }

  /// `file` is open, and stays so. A pipe is refused: minizip goes back in the file.
  Error open(OutputFile& file) noexcept {
    const KeepErrno keep;
    file_ = file.file();
    if (::fseeko(file_, 0, SEEK_CUR) != 0) return file_error("cannot seek in it", errno);
    zlib_filefunc64_def calls{};
    calls.opaque = this;
    calls.zopen64_file = [](void* self, const void*, int) -> void* { return self; };
    calls.zread_file = [](void*, void*, void*, uLong) -> uLong { return 0; };
    calls.zwrite_file = [](void* self, void*, const void* bytes, uLong count) -> uLong {
      return static_cast<ZipWriter*>(self)->put(bytes, count);
    };
    calls.ztell64_file = [](void* self, void*) -> ZPOS64_T {
      auto* const zip = static_cast<ZipWriter*>(self);
      const off_t at = ::ftello(zip->file_);
      zip->note(at >= 0);
      return static_cast<ZPOS64_T>(at);
    };
    calls.zseek64_file = [](void* self, void*, ZPOS64_T offset, int origin) -> long {
      const int from = origin == ZLIB_FILEFUNC_SEEK_SET   ? SEEK_SET
                       : origin == ZLIB_FILEFUNC_SEEK_CUR ? SEEK_CUR
                                                          : SEEK_END;
      auto* const zip = static_cast<ZipWriter*>(self);
      const int code = ::fseeko(zip->file_, static_cast<off_t>(offset), from);
      zip->note(code == 0);  // it writes what is in the buffer
      return code;
    };
    calls.zclose_file = [](void*, void*) -> int { return 0; };
    calls.zerror_file = [](void*, void*) -> int { return 0; };
    zip_ = ::zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &calls);
    return zip_ != nullptr ? Error::Ok : file_error("cannot write", ENOMEM);
  }

  /// Begins an entry of at most `size` bytes. A stored one begins at a multiple of 64 bytes.
  Error begin(const std::string& name, uint64_t size, bool deflated) noexcept {
    const KeepErrno keep;
    zip_fileinfo info{};
    info.tmz_date.tm_mday = 1;  // 1980, as in numpy.savez()'s
    info.tmz_date.tm_year = 1980;
    info.external_fa = uLong{0100600} << 16;  // a file that its user reads and writes
    // Deflating may make it larger, by a part in a thousand.
    const bool is_large = size >= UINT32_MAX - UINT32_MAX / 64;
    unsigned char extra[kAlignment + kLeastExtra] = {0x35, 0xd9};  // Android's, for alignment
    size_t count = 0;
    if (!deflated) {
      const auto at = static_cast<uint64_t>(::ftello(file_));
      const uint64_t end = at + 30 + name.size() + (is_large ? 20 : 0) + kLeastExtra;
      const uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
      count = kLeastExtra + static_cast<size_t>(padding);
      extra[2] = static_cast<unsigned char>(count - 4);
      extra[4] = kAlignment;
    }
    constexpr uLong kUnix = 3u << 8 | 45;
    constexpr uLong kUtf8 = 1u << 11;
    const int code = ::zipOpenNewFileInZip4_64(
        zip_, name.c_str(), &info, extra, static_cast<uInt>(count), nullptr, 0, nullptr,
        deflated ? Z_DEFLATED : 0, Z_DEFAULT_COMPRESSION, 0, -MAX_WBITS, DEF_MEM_LEVEL,
        Z_DEFAULT_STRATEGY, nullptr, 0, kUnix, kUtf8, is_large ? 1 : 0);
    return code == ZIP_OK ? Error::Ok : failed();
  }
  Error write(const void* data, size_t nbytes, Progress* progress) noexcept {
    const KeepErrno keep;
    const auto* bytes = static_cast<const char*>(data);
    while (nbytes != 0) {
      const size_t count = nbytes > Progress::kPart ? Progress::kPart : nbytes;
      if (::zipWriteInFileInZip(zip_, bytes, static_cast<unsigned>(count)) != ZIP_OK) {
        return failed();
      }
      if (progress != nullptr) TENON_TRY(progress->add(count));
      bytes += count;
      nbytes -= count;
    }
    return Error::Ok;
  }
  Error end() noexcept {
    const KeepErrno keep;
    return ::zipCloseFileInZip(zip_) == ZIP_OK ? Error::Ok : failed();
  }
  /// Writes the directory.
  Error finish() noexcept {
    const KeepErrno keep;
    const int code = ::zipClose(std::exchange(zip_, nullptr), nullptr);
    return code == ZIP_OK && code_ == 0 ? Error::Ok : failed();
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kLeastExtra = 6;  // a number, a size and the alignment, of two bytes each

  uLong put(const void* bytes, uLong count) noexcept {
    errno = 0;
    const size_t written = std::fwrite(bytes, 1, count, file_);
    note(written == count);
    return static_cast<uLong>(written);
  }
  void note(bool succeeded) noexcept {
    if (!succeeded && code_ == 0) code_ = errno != 0 ? errno : EIO;
  }
  /// minizip's own failures are of memory.
  Error failed() const noexcept { return file_error("cannot write", code_ != 0 ? code_ : ENOMEM); }

  std::FILE* file_ = nullptr;
  int code_ = 0;  // of the first call that failed
  zipFile zip_ = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
