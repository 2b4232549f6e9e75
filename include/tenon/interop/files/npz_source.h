// SPDX-License-Identifier: MIT
// An array in a zip archive: its bytes as read_npy() asks for them, and its checksum.
#pragma once

#include <zlib.h>

#include <memory>

#include "tenon/interop/files/file_writer.h"
#include "tenon/interop/files/npy_reader.h"
#include "tenon/interop/files/npz_reader.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An entry of an archive in memory. A stored one's bytes are where they are, and `owner` keeps
/// them; a deflated one's are unpacked in order.
class ZipSource final : public NpySource {
 public:
  ZipSource(ZipEntry& entry, const FileBytes& archive, std::shared_ptr<const void> owner,
            Progress progress) noexcept
      : NpySource(0, 0),
        entry_(entry),
        archive_(archive),
        owner_(std::move(owner)),
        progress_(progress) {}
  ZipSource(const ZipSource&) = delete;
  ZipSource& operator=(const ZipSource&) = delete;
  ~ZipSource() { ::inflateEnd(&inflating_); }

  Error enter() noexcept {
    TENON_TRY(locate_zip_entry(archive_.data, archive_.size, entry_));
    const bool is_stored = entry_.method == 0;
    const uint64_t data = entry_.data;
    begin = is_stored ? static_cast<size_t>(data) : 0;
    size = begin + entry_.size;
    // Deflate can make 1000 bytes of one: limits what a hostile archive's headers unpack to.
    const uint64_t most = entry_.packed * kMostUnpacked + kShortText;
    if (!is_stored && most < most_text) most_text = static_cast<size_t>(most);
    // Without the header of zlib's own files.
    if (is_stored || ::inflateInit2(&inflating_, -MAX_WBITS) == Z_OK) return Error::Ok;
    return file_error("cannot inflate", ENOMEM);
  }

  Error read(size_t offset, void* out, size_t count) noexcept override {
    auto* bytes = static_cast<unsigned char*>(out);
    // Some of the first bytes are asked for twice.
    for (; count != 0 && offset < at_ && offset < sizeof first_; --count)
      *bytes++ = first_[offset++];
    while (count != 0) {
      const size_t part = count < kPart ? count : kPart;
      if (entry_.method == 0) {
        std::memcpy(bytes, archive_.data + begin + at_, part);
      } else {
        TENON_TRY(inflate(bytes, part));
      }
      crc_ = ::crc32_z(crc_, bytes, part);
      for (size_t i = 0; i < part && at_ + i < sizeof first_; ++i) first_[at_ + i] = bytes[i];
      at_ += part;
      TENON_TRY(progress_.add(part));
      bytes += part;
      count -= part;
    }
    return Error::Ok;
  }

  DataPtr map(size_t, Deleter& release) noexcept override {
    if (entry_.method != 0) return static_cast<void*>(nullptr);
    release = Deleter(nullptr, [owner = owner_](void*) noexcept {});
    is_mapped_ = true;
    return DataPtr(const_cast<unsigned char*>(archive_.data), kHasReadOnly);
  }

  /// Once the array, which ends at `end`, was read: the entry ends there, and its checksum fits.
  Error finish(size_t end) noexcept {
    if (end != size) {
      return fail(Error::InvalidArgument, "the array ends at byte ", end - begin,
                  ", but its file in the archive has ", entry_.size);
    }
    if (is_mapped_ || crc_ == entry_.crc) return Error::Ok;
    return fail_zip("the checksum differs");
  }

 private:
  /// Makes the next bytes.
  Error inflate(unsigned char* out, size_t count) noexcept {
    inflating_.next_out = out;
    inflating_.avail_out = static_cast<uInt>(count);
    while (inflating_.avail_out != 0) {
      const uint64_t left = entry_.packed - taken_;
      const auto part = static_cast<uInt>(left < kMostIn ? left : kMostIn);
      inflating_.next_in = const_cast<Bytef*>(archive_.data + entry_.data + taken_);
      inflating_.avail_in = part;
      const int code = ::inflate(&inflating_, Z_NO_FLUSH);
      taken_ += part - inflating_.avail_in;
      if (code != Z_OK && !(code == Z_STREAM_END && inflating_.avail_out == 0)) {
        return code == Z_MEM_ERROR ? file_error("cannot inflate", ENOMEM)
                                   : fail_zip("its deflated bytes");
      }
    }
    return Error::Ok;
  }

  static constexpr uint64_t kMostUnpacked = 64;
  static constexpr uint64_t kShortText = 4096;
  static constexpr uint64_t kMostIn = uint64_t{1} << 30;
  /// What the processor's cache holds between the copy and the checksum.
  static constexpr size_t kPart = size_t{1} << 18;

  ZipEntry& entry_;
  const FileBytes& archive_;
  std::shared_ptr<const void> owner_;
  Progress progress_;
  unsigned char first_[kNpyPreamble] = {};
  z_stream inflating_ = {};
  uint64_t taken_ = 0;  // of the packed bytes
  size_t at_ = 0;
  uLong crc_ = 0;
  bool is_mapped_ = false;
};

}  // namespace detail
TENON_END_NAMESPACE
