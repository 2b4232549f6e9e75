// SPDX-License-Identifier: MIT
// An array in a zip archive: its bytes as read_npy() asks for them, and its checksum.
#pragma once

#include <zlib.h>

#include <memory>

#include "tenon/interop/file_writer.h"
#include "tenon/interop/npy/npy_reader.h"
#include "tenon/interop/npz/zip_reader.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An entry of an archive in memory. A stored one's bytes are where they are, and `owner` keeps
/// them; a deflated one's are unpacked in order.
class ZipSource final : public NpySource {
 public:
  ZipSource(ZipReader& zip, ZipEntry& entry, const unsigned char* archive,
            std::shared_ptr<const void> owner, Progress progress) noexcept
      : NpySource(0, 0),
        zip_(zip),
        entry_(entry),
        archive_(archive),
        owner_(std::move(owner)),
        progress_(progress) {}

  Error enter() noexcept {
    TENON_TRY(zip_.enter(entry_));
    const bool is_stored = entry_.method == 0;
    begin = is_stored ? static_cast<size_t>(entry_.data) : 0;
    size = begin + entry_.size;
    return Error::Ok;
  }

  Error read(size_t offset, void* out, size_t count) noexcept override {
    auto* bytes = static_cast<unsigned char*>(out);
    // Some of the first bytes are asked for twice.
    for (; count != 0 && offset < at_ && offset < sizeof first_; --count)
      *bytes++ = first_[offset++];
    while (count != 0) {
      const size_t part = count < kPart ? count : kPart;
      if (entry_.method == 0) {
        std::memcpy(bytes, archive_ + begin + at_, part);
        crc_ = ::crc32_z(crc_, bytes, part);
      } else {
        TENON_TRY(zip_.read(bytes, part));
      }
      for (size_t i = 0; i < part && at_ + i < sizeof first_; ++i) first_[at_ + i] = bytes[i];
      at_ += part;
      unreported_ += part;
      if (unreported_ >= Progress::kPart || at_ == entry_.size) {
        TENON_TRY(progress_.add(std::exchange(unreported_, 0)));
      }
      bytes += part;
      count -= part;
    }
    return Error::Ok;
  }

  DataPtr map(size_t, Deleter& release) noexcept override {
    if (entry_.method != 0) return static_cast<void*>(nullptr);
    release = Deleter(nullptr, [owner = owner_](void*) noexcept {});
    is_mapped_ = true;
    return DataPtr(const_cast<unsigned char*>(archive_), kHasOwnTensors);
  }

  /// Once the array, which ends at `end`, was read: the entry ends there, and its checksum fits.
  Error finish(size_t end) noexcept {
    if (end != size) {
      return fail(Error::InvalidArgument, "the array ends at byte ", end - begin,
                  ", but its file in the archive has ", entry_.size);
    }
    if (is_mapped_) return Error::Ok;
    if (entry_.method != 0) return zip_.leave();
    return crc_ == entry_.crc ? Error::Ok : fail_zip("the checksum differs");
  }

 private:
  /// What the processor's cache holds between the copy and the checksum.
  static constexpr size_t kPart = size_t{1} << 18;

  ZipReader& zip_;
  ZipEntry& entry_;
  const unsigned char* archive_;
  std::shared_ptr<const void> owner_;
  Progress progress_;
  unsigned char first_[kNpyPreamble] = {};
  size_t at_ = 0;
  size_t unreported_ = 0;
  uLong crc_ = 0;
  bool is_mapped_ = false;
};

}  // namespace detail
TENON_END_NAMESPACE
