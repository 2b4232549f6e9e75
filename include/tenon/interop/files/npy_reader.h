// SPDX-License-Identifier: MIT
// Reads an array in NumPy's .npy format from a file, from memory or from an archive.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tenon/interop/files/file.h"
#include "tenon/interop/files/npy_header.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

/// How read_npy() reads a file's elements.
enum class NpyMemory : uint8_t {
  Copy,  ///< reads the elements into the tensor's own memory
  /// Maps the file privately: writes to the tensor do not reach the file. The tensor's deleter
  /// unmaps the file. Until then, a process that writes to the file in place may change the tensor,
  /// and if the file is truncated, reading beyond its new end ends the process with SIGBUS.
  /// numpy.save() to the same path truncates and writes in place; write_npy() replaces the file,
  /// unless FileWrite::InPlace is given. The bytes of a Bool are not checked: casts and prints take
  /// any byte but 0 as true, but data<bool>() is only valid for 0 and 1. Elements that are
  /// misaligned or in the other byte order are copied; on systems without mmap, all are.
  Map,
};

namespace detail {

/// A source of a .npy file's bytes.
class NpySource {
 public:
  /// `total` is the size of the whole source in bytes; the array begins at `start`.
  NpySource(uint64_t total, size_t start) noexcept : size(total), begin(start) {}
  /// Reads `count` bytes at `offset` of the array. Callers read in order, except that they may read
  /// the first kNpyPreamble bytes again.
  virtual Error read(size_t offset, void* out, size_t count) noexcept = 0;
  /// Returns the source's bytes before `end` as memory that `release` releases; null if the source
  /// is not in memory and cannot be mapped.
  virtual DataPtr map(size_t end, Deleter& release) noexcept = 0;

  uint64_t size;
  size_t begin;
  uintptr_t address = 0;  // of the source in memory; 0 for a file, whose mapping begins at a page
  size_t most_text = kNpyMaxText;  // longer texts of headers are refused

 protected:
  ~NpySource() = default;
};

/// An open file.
class NpyFileSource final : public NpySource {
 public:
  NpyFileSource(InputFile& file, size_t start) noexcept
      : NpySource(file.size(), start), file_(file) {}
  Error read(size_t offset, void* out, size_t count) noexcept override {
    return file_.read(begin + offset, out, count);
  }
  DataPtr map(size_t end, Deleter& release) noexcept override { return file_.map(end, release); }

 private:
  InputFile& file_;
};

/// Bytes in memory.
class NpyBytesSource final : public NpySource {
 public:
  NpyBytesSource(const void* bytes, uint64_t total, size_t start) noexcept
      : NpySource(total, start), bytes_(static_cast<const unsigned char*>(bytes)) {}
  Error read(size_t offset, void* out, size_t count) noexcept override {
    if (count != 0) std::memcpy(out, bytes_ + begin + offset, count);
    return Error::Ok;
  }
  DataPtr map(size_t, Deleter&) noexcept override { return static_cast<void*>(nullptr); }

 private:
  const unsigned char* bytes_;
};

/// The header of an array that begins at source.begin.
struct NpyArray {
  NpyHeader header;
  NpyRange text;          // position of the header's text
  Dims order;             // the dim order in which the elements are dense; empty for row-major
  size_t begin = 0;       // of the elements, in the whole source
  uintptr_t address = 0;  // of the elements, like NpySource::address
  size_t nbytes = 0;
  /// Whether elements in memory can be used in place.
  bool is_usable() const noexcept {
    return !header.swapped && address % number_size(header.type) == 0 && nbytes != 0;
  }
};

/// Reads the text of the header at source.begin. `freer` frees the text.
inline Error read_npy_text(NpySource& source, NpyRange& range, std::string_view& text,
                           Deleter& freer) noexcept {
  if (source.begin > source.size) {
    return fail(Error::InvalidArgument, "the offset ", source.begin, " lies beyond the ",
                source.size, " bytes");
  }
  if (source.begin == source.size && source.begin != 0) {
    return fail(Error::InvalidArgument, "there is no array at offset ", source.begin,
                ", where the bytes end");
  }
  const uint64_t size = source.size - source.begin;
  unsigned char preamble[kFileKindBytes];
  auto count = static_cast<size_t>(size < kNpyPreamble ? size : kNpyPreamble);
  TENON_TRY(source.read(0, preamble, count));
  if (!begins_as_npy(preamble, count)) {  // enough to identify the format
    count = static_cast<size_t>(size < kFileKindBytes ? size : kFileKindBytes);
    TENON_TRY(source.read(0, preamble, count));
  }
  TENON_TRY(parse_npy_preamble(preamble, count, size, range));
  if (range.size > source.most_text) {
    return fail(Error::InvalidArgument, "the header has ", range.size, " bytes; expected at most ",
                source.most_text, " for so few packed bytes");
  }
  auto* const characters = static_cast<char*>(std::malloc(range.size + 1));
  freer = Deleter(characters, &std::free);
  if (characters == nullptr) return fail(Error::OutOfMemory, "out of memory for the header");
  TENON_TRY(source.read(range.begin, characters, range.size));
  text = {characters, range.size};
  return Error::Ok;
}

/// Checks the sizes in array.header against the source's size, and finds the elements, which follow
/// the text.
inline Error find_npy_elements(const NpySource& source, NpyArray& array) noexcept {
  const uint64_t size = source.size - source.begin;
  const NpyRange& text = array.text;
  NpyHeader& header = array.header;
  const size_t rank = header.sizes.size();
  if (header.per_item != 1) {
    header.sizes.push_back(static_cast<int64_t>(header.per_item));
    TENON_TRY(check_dims("the shape with its elements' bytes", header.sizes));
  }

  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(header.sizes, elementSize(header.type), numel));
  const size_t nbytes = static_cast<size_t>(numel) * elementSize(header.type);
  if (nbytes > size - text.end()) {
    return fail(Error::InvalidArgument, "sizes ", header.sizes, " of ", header.type, " need ",
                nbytes, " bytes of data, but only ", size - text.end(), " follow the header");
  }
  for (size_t d = rank; header.fortran_order && d-- > 0;) {
    array.order.push_back(static_cast<int64_t>(d));
  }
  if (!array.order.empty() && rank != header.sizes.size()) {
    array.order.push_back(static_cast<int64_t>(rank));
  }
  array.begin = source.begin + text.end();
  array.address = source.address + array.begin;
  array.nbytes = nbytes;
  return Error::Ok;
}

/// Reads the header. If `requested` is not Undefined, it replaces the file's dtype.
inline Error read_npy_header(NpySource& source, ScalarType requested, NpyArray& array) noexcept {
  Deleter freer;
  std::string_view text;
  TENON_TRY(read_npy_text(source, array.text, text, freer));
  TENON_TRY(NpyParser(text, requested).parse(array.header));
  return find_npy_elements(source, array);
}

/// Describes an array of any dtype.
struct NpyDescription {
  std::string dtype;
  ScalarType type = ScalarType::Undefined;  // Undefined if read_npy() needs a type
  Dims sizes;
  uint64_t nbytes = 0;     // of the elements; 0 if unknown
  bool is_usable = false;  // like NpyArray::is_usable(), or if read as bytes
};

/// Reads the header of an array of any dtype, also one that read_npy() refuses or reads only with a
/// type.
inline Error describe_npy(NpySource& source, NpyDescription& out) {
  NpyArray array;
  NpyHeader written;
  Deleter freer;
  std::string_view text;
  std::string_view descr;
  TENON_TRY(read_npy_text(source, array.text, text, freer));
  TENON_TRY(NpyParser(text).parse(written, &descr));
  out.dtype = descr;
  out.sizes = written.sizes;
  Error error = NpyParser(text).parse(array.header);
  if (error == Error::Ok) {
    out.type = array.header.type;
  } else if (error == Error::NotSupported) {
    array.header = {};
    error = NpyParser(text, ScalarType::Byte).parse(array.header);
    if (error == Error::NotSupported) return Error::Ok;  // object arrays are not readable
  }
  TENON_TRY(error);
  TENON_TRY(find_npy_elements(source, array));
  out.nbytes = array.nbytes;
  out.is_usable = array.is_usable();
  return Error::Ok;
}

/// Reads the array that begins at source.begin; sets `end` to the position of its end.
inline Error read_npy(NpySource& source, NpyMemory memory, ScalarType requested, size_t& end,
                      NewTensor& new_tensor) noexcept {
  NpyArray array;
  TENON_TRY(read_npy_header(source, requested, array));
  const NpyHeader& header = array.header;
  const size_t nbytes = array.nbytes;
  CreateOptions opts(header.type);
  end = array.begin + nbytes;
  if (memory == NpyMemory::Map && array.is_usable()) {
    Deleter release;
    const DataPtr base = source.map(end, release);
    if (base.get() != nullptr) {
      const DataPtr data(static_cast<void*>(static_cast<char*>(base.get()) + array.begin),
                         base.is_readonly());
      return borrow_checked(data, header.sizes, array.order, {}, opts, &release, new_tensor);
    }
  }
  Layout layout;
  TENON_TRY(lay_out_new(header.sizes, {&array.order, nullptr}, opts.type, layout));
  TENON_TRY(make_owned(layout, opts, false, new_tensor));
  void* const data = fields(new_tensor).data;
  TENON_TRY(source.read(array.text.end(), data, nbytes));
  if (header.type == ScalarType::Bool) make_bools_0_or_1(data, nbytes);
  if (header.swapped) swap_byte_order(data, nbytes, number_size(header.type));
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
