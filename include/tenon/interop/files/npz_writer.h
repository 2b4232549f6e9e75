// SPDX-License-Identifier: MIT
// ZipWriter: writes a zip archive to an OutputFile, by minizip.
#pragma once

#if !__has_include(<minizip/zip.h>)
#error "tenon: interop/npz.h and torch_file.h need <minizip/zip.h> (Debian: libminizip-dev)"
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
    if (error_ == Error::Ok) error_ = Error::Internal;  // so that zipClose() writes nothing
    if (zip_ != nullptr) ::zipClose(zip_, nullptr);
  }

  /// `file` must be open; the archive does not close it. Fails for a pipe: minizip seeks back in
  /// the file.
  Error open(OutputFile& file) noexcept {
    const KeepErrno keep;
    file_ = &file;
    if (!file.can_seek()) return file_error("cannot seek in it", errno);
    zlib_filefunc64_def calls{};
    calls.opaque = this;
    calls.zopen64_file = [](void* self, const void*, int) -> void* { return self; };
    calls.zread_file = [](void*, void*, void*, uLong) -> uLong { return 0; };
    calls.zwrite_file = [](void* self, void*, const void* bytes, uLong count) -> uLong {
      auto* const zip = static_cast<ZipWriter*>(self);
      if (zip->error_ == Error::Ok) zip->note(zip->file_->put(bytes, count));
      return count;  // hides the error: minizip 1.1 leaks an entry whose header it cannot write
    };
    calls.ztell64_file = [](void* self, void*) -> ZPOS64_T {
      return static_cast<ZipWriter*>(self)->file_->tell();
    };
    calls.zseek64_file = [](void* self, void*, ZPOS64_T offset, int origin) -> long {
      auto* const zip = static_cast<ZipWriter*>(self);
      if (origin != ZLIB_FILEFUNC_SEEK_SET)
        return -1;  // minizip uses other origins only to add to an archive
      if (zip->error_ == Error::Ok) zip->note(zip->file_->seek(offset));
      return 0;
    };
    calls.zclose_file = [](void*, void*) -> int { return 0; };
    calls.zerror_file = [](void*, void*) -> int { return 0; };
    zip_ = ::zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &calls);
    return zip_ != nullptr ? Error::Ok : file_error("cannot write", ENOMEM);
  }

  /// Begins an entry of at most `size` bytes. The bytes of a stored entry begin at a multiple of 64
  /// bytes of the file.
  Error begin(const std::string& name, uint64_t size, bool deflated) noexcept {
    const KeepErrno keep;
    zip_fileinfo info{};
    info.tmz_date.tm_mday = 1;  // January 1, 1980, as numpy.savez() writes
    info.tmz_date.tm_year = 1980;
    info.external_fa = uLong{0100600} << 16;  // a file that only its user may read and write
    // Deflate may enlarge the bytes by a thousandth.
    const bool is_large = size >= UINT32_MAX - UINT32_MAX / 64;
    unsigned char extra[kAlignment + kLeastExtra] = {0x35, 0xd9};  // Android's field for alignment
    size_t count = 0;
    if (!deflated) {
      const uint64_t at = file_->tell();
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
    return result(code);
  }
  Error write(const void* data, size_t nbytes, Progress* progress) noexcept {
    const KeepErrno keep;
    const auto* bytes = static_cast<const char*>(data);
    while (nbytes != 0) {
      const size_t count = nbytes > Progress::kPart ? Progress::kPart : nbytes;
      TENON_TRY(result(::zipWriteInFileInZip(zip_, bytes, static_cast<unsigned>(count))));
      if (progress != nullptr) TENON_TRY(progress->add(count));
      bytes += count;
      nbytes -= count;
    }
    return Error::Ok;
  }
  Error end() noexcept {
    const KeepErrno keep;
    TENON_TRY(result(::zipCloseFileInZip(zip_)));
    return file_->flush();
  }
  /// Writes the directory.
  Error finish() noexcept {
    const KeepErrno keep;
    return result(::zipClose(std::exchange(zip_, nullptr), nullptr));
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kLeastExtra = 6;  // a number, a size and the alignment, of two bytes each

  void note(Error error) noexcept {
    error_ = error;
    if (error != Error::Ok) std::snprintf(why_, sizeof why_, "%s", last_error_message());
  }
  /// If no write failed, minizip's failure means that memory ran out.
  Error result(int code) const noexcept {
    if (error_ != Error::Ok) return fail(error_, static_cast<const char*>(why_));
    return code == ZIP_OK ? Error::Ok : file_error("cannot write", ENOMEM);
  }

  OutputFile* file_ = nullptr;
  Error error_ = Error::Ok;  // of the first call that failed
  char why_[256] = "";
  zipFile zip_ = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
