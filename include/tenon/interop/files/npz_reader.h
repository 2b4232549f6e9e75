// SPDX-License-Identifier: MIT
// ZipReader lists the entries of a zip archive in memory: minizip reads its directory. ZipSource
// reads the bytes of an entry, which is a .npy file, and checks its checksum.
#pragma once

#if !__has_include(<minizip/unzip.h>)
#error "tenon: interop/npz.h and torch_file.h need <minizip/unzip.h> (Debian: libminizip-dev)"
#endif

#include <minizip/unzip.h>
#include <zlib.h>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tenon/interop/files/file.h"
#include "tenon/interop/files/file_writer.h"
#include "tenon/interop/files/npy_reader.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An archive's description of an entry.
struct ZipEntry {
  std::string name;
  uint64_t local = 0;  // position of its local header in the archive
  uint64_t end = 0;    // position of the next local header, or the directory
  uint64_t data = 0;   // position of its bytes, once locate_zip_entry() has found them
  uint64_t packed = 0;
  uint64_t size = 0;
  uLong crc = 0;
  uLong method = 0;  // 0 stored, 8 deflated
  bool is_encrypted = false;
};

inline Error fail_zip(const char* what) noexcept {
  return fail(Error::InvalidArgument, "the zip archive is cut or broken: ", what);
}

/// A number in the archive, of `count` bytes.
inline uint64_t read_zip_number(const unsigned char* bytes, size_t count) noexcept {
  uint64_t number = 0;
  while (count-- > 0) number = number << 8 | bytes[count];
  return number;
}

/// Checks an entry, and finds its bytes. No other entry may share them, and the local header must
/// have the entry's name: so the entries together unpack to at most about 1032 times the archive's
/// size.
/// Errors: InvalidArgument; NotSupported. Source: Python's zipfile.
inline Error locate_zip_entry(const unsigned char* bytes, uint64_t size, ZipEntry& entry) noexcept {
  if (entry.is_encrypted) return fail(Error::NotSupported, "it is encrypted");
  if (entry.method != 0 && entry.method != Z_DEFLATED) {
    return fail(Error::NotSupported, "it is packed by method ", entry.method,
                ", expected 0 (stored) or 8 (deflated)");
  }
  // Checked before memory is allocated: one deflated byte unpacks to at most 1032 bytes.
  const bool is_possible =
      entry.method == 0 ? entry.size == entry.packed : entry.size / 1032 <= entry.packed;
  if (!is_possible || entry.packed > size) {
    return fail(Error::InvalidArgument, "it cannot have ", entry.size, " bytes, packed to ",
                entry.packed, " of an archive of ", size);
  }
  constexpr uint64_t kHeader = 30;
  if (entry.local > size || size - entry.local < kHeader ||
      std::memcmp(bytes + entry.local, "PK\3\4", 4) != 0) {
    return fail(Error::InvalidArgument, "it has no header at offset ", entry.local);
  }
  const unsigned char* const header = bytes + entry.local;
  const uint64_t name_size = read_zip_number(header + 26, 2);
  entry.data = entry.local + kHeader + name_size + read_zip_number(header + 28, 2);
  if (entry.data > size || name_size != entry.name.size() ||
      std::memcmp(header + kHeader, entry.name.data(), entry.name.size()) != 0) {
    return fail(Error::InvalidArgument, "its header, at offset ", entry.local,
                ", has another file's name");
  }
  if (entry.data > size || entry.packed > size - entry.data) {
    return fail(Error::InvalidArgument, "its ", entry.packed, " bytes, at offset ", entry.data,
                ", reach beyond the archive's ", size);
  }
  if (entry.data + entry.packed > entry.end) {
    return fail(Error::InvalidArgument, "its ", entry.packed, " bytes, at offset ", entry.data,
                ", overlap the next file of the archive, or its directory, at ", entry.end);
  }
  return Error::Ok;
}

/// Reads the directory of an archive.
class ZipReader {
 public:
  ZipReader() noexcept = default;
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;
  ~ZipReader() {
    if (zip_ != nullptr) ::unzClose(zip_);
  }

  /// The caller keeps the bytes as long as this object exists.
  Error open(const unsigned char* bytes, uint64_t size) noexcept {
    const KeepErrno keep;
    errno = 0;
    bytes_ = bytes;
    size_ = size;
    // minizip does not find the end of an archive without entries, which consists of nothing else.
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
    // Room for the longest possible name and its final zero.
    std::string name(size_t{1} << 16, '\0');
    std::vector<unsigned char> extra(name.size());
    uint64_t directory = size_;
    int code = ::unzGoToFirstFile(zip_);
    if (code == UNZ_OK) directory = ::unzGetOffset64(zip_);
    for (; code == UNZ_OK; code = ::unzGoToNextFile(zip_)) {
      unz_file_info64 info;
      ZipEntry entry;
      const uint64_t at = ::unzGetOffset64(zip_);
      if (::unzGetCurrentFileInfo64(zip_, &info, name.data(), name.size(), extra.data(),
                                    extra.size(), nullptr, 0) != UNZ_OK ||
          at > size_ || size_ - at < 46 || std::memcmp(bytes_ + at, "PK\1\2", 4) != 0) {
        return failed("its directory");
      }
      entry.name.assign(name, 0, info.size_filename);
      entry.crc = info.crc;
      entry.method = info.compression_method;
      entry.is_encrypted = (info.flag & 1) != 0;
      entry.packed = read_zip_number(bytes_ + at + 20, 4);
      entry.size = read_zip_number(bytes_ + at + 24, 4);
      entry.local = read_zip_number(bytes_ + at + 42, 4);
      widen(extra.data(), info.size_file_extra, entry);
      entries.push_back(std::move(entry));
    }
    if (code != UNZ_END_OF_LIST_OF_FILE) return failed("its directory");
    std::vector<ZipEntry*> by_place;
    for (ZipEntry& entry : entries) by_place.push_back(&entry);
    std::sort(by_place.begin(), by_place.end(), [](const ZipEntry* a, const ZipEntry* b) {
      return a->local != b->local ? a->local > b->local : a > b;
    });
    uint64_t next = directory;
    for (ZipEntry* const entry : by_place) {  // the last first
      entry->end = next;
      next = entry->local;
    }
    return Error::Ok;
  }

 private:
  /// minizip does not report when memory ran out; malloc() does, by errno, which was 0 before.
  static Error failed(const char* what) noexcept {
    return errno == ENOMEM ? file_error("cannot read the zip archive", ENOMEM) : fail_zip(what);
  }
  /// Reads 64-bit numbers from the extra field if 32 bits are not enough. minizip 1.1 (Debian's)
  /// does not read them where `long` has 64 bits.
  static void widen(const unsigned char* extra, size_t size, ZipEntry& entry) noexcept {
    while (size >= 4) {
      const uint64_t id = read_zip_number(extra, 2);
      const uint64_t length = read_zip_number(extra + 2, 2);
      auto count = static_cast<size_t>(length);
      extra += 4;
      size -= 4;
      if (count > size) return;
      const unsigned char* field = extra;
      extra += count;
      size -= count;
      if (id != 1) continue;
      for (uint64_t* const number : {&entry.size, &entry.packed, &entry.local}) {
        if (*number != UINT32_MAX || count < 8) continue;
        *number = read_zip_number(field, 8);
        field += 8;
        count -= 8;
      }
    }
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
    const uint64_t to = from + offset;  // modulo 2^64: minizip also goes back
    if (to > size_) return -1;
    at_ = to;
    return 0;
  }

  const unsigned char* bytes_ = nullptr;
  uint64_t size_ = 0;
  uint64_t at_ = 0;
  unzFile zip_ = nullptr;
};

/// An entry of an archive in memory. A stored entry is used in place, and `owner` keeps its bytes;
/// a deflated entry is unpacked in order.
class ZipSource final : public NpySource {
 public:
  ZipSource(ZipEntry& entry, const FileBytes& archive, std::shared_ptr<const void> owner,
            Progress progress) noexcept
      : NpySource(0, 0),
        entry_(entry),
        archive_(archive),
        owner_(std::move(owner)),
        progress_(progress) {
    address = reinterpret_cast<uintptr_t>(archive.data);
  }
  ZipSource(const ZipSource&) = delete;
  ZipSource& operator=(const ZipSource&) = delete;
  ~ZipSource() { ::inflateEnd(&inflating_); }

  Error enter() noexcept {
    TENON_TRY(locate_zip_entry(archive_.data, archive_.size, entry_));
    const bool is_stored = entry_.method == 0;
    const uint64_t data = entry_.data;
    begin = is_stored ? static_cast<size_t>(data) : 0;
    size = begin + entry_.size;
    // Deflate can expand a byte to 1000 bytes: this limits the headers of a hostile archive.
    const uint64_t most = entry_.packed * kMostUnpacked + kShortText;
    if (!is_stored && most < most_text) most_text = static_cast<size_t>(most);
    // Raw deflate, without zlib's header.
    if (is_stored || ::inflateInit2(&inflating_, -MAX_WBITS) == Z_OK) return Error::Ok;
    return file_error("cannot inflate", ENOMEM);
  }

  Error read(size_t offset, void* out, size_t count) noexcept override {
    auto* bytes = static_cast<unsigned char*>(out);
    // The caller reads the first bytes twice: a copy of them is kept.
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

  /// Called after the array was read, which ends at `end`. Checks that the entry ends there too,
  /// and checks its checksum.
  Error finish(size_t end) noexcept {
    if (end != size) {
      return fail(Error::InvalidArgument, "the array ends at byte ", end - begin,
                  ", but its file in the archive has ", entry_.size, " bytes");
    }
    if (is_mapped_ || crc_ == entry_.crc) return Error::Ok;
    return fail_zip("the checksum differs");
  }

 private:
  /// Unpacks the next bytes.
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
  /// A part stays in the processor's cache between the copy and the checksum.
  static constexpr size_t kPart = size_t{1} << 18;

  ZipEntry& entry_;
  const FileBytes& archive_;
  std::shared_ptr<const void> owner_;
  Progress progress_;
  unsigned char first_[kNpyPreamble] = {};
  z_stream inflating_ = {};
  uint64_t taken_ = 0;  // packed bytes that were used
  size_t at_ = 0;
  uLong crc_ = 0;
  bool is_mapped_ = false;
};

}  // namespace detail
TENON_END_NAMESPACE
