// SPDX-License-Identifier: MIT
// NpzFile, write_npz: read and write tensors in NumPy's .npz files, which are zip archives of .npy
// files. Needs minizip and zlib.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/interop/files/file_content.h"
#include "tenon/interop/files/name_index.h"
#include "tenon/interop/files/npz_reader.h"
#include "tenon/interop/files/npz_writer.h"
#include "tenon/interop/npy.h"

TENON_BEGIN_NAMESPACE

/// Describes an array of an .npz file.
/// Threads: as a plain value.
struct NpzInfo {
  std::string name;   ///< the entry's name without ".npy"
  std::string dtype;  ///< as in NpyInfo; empty if the entry is not an array
  /// Undefined if get() needs a type, since tenon lacks the dtype, or if the entry is not an array.
  ScalarType type = ScalarType::Undefined;
  Dims sizes;                  ///< in elements of the file's dtype
  uint64_t nbytes = 0;         ///< of the .npy file
  uint64_t packed_nbytes = 0;  ///< of the .npy file in the archive, deflated or not
  bool is_deflated = false;    ///< whether the array is deflated
  /// Whether get() copies even with NpyMemory::Map: the array is deflated, misaligned, or in the
  /// other byte order.
  bool is_copied = false;
};

/// Reads the arrays of an .npz file, by name or by index in the file's order.
///
/// The file is mapped. open() reads its directory, find() and infos() read headers of arrays, and
/// get() reads an array. While this object or a tensor over the mapping lives, the file must not be
/// changed or shortened in place: reading past its end ends the process with SIGBUS. write_npz()
/// may write to the same path, unless it writes in place.
///
/// Entries that overlap, or whose local header has another name, are refused, as Python's zipfile
/// refuses them. A deflated header of more than 4 KiB plus 64 times its packed bytes is refused
/// too: this limits the time that infos() spends on a hostile archive.
/// Ownership: copies of this object share the mapping.
/// Threads: any number of threads may use it.
/// Source: numpy.load and its NpzFile.
class NpzFile {
 public:
  /// Makes an object without arrays.
  NpzFile() noexcept = default;

  /// Opens a file.
  /// Errors: NotFound; AccessFailed; InvalidArgument (not a zip archive, a broken directory, two
  /// arrays of one name); OutOfMemory.
  /// Cost: O(number of arrays): only the directory is read.
  static Result<NpzFile> open(const detail::FilePath& path) noexcept {
    NpzFile opened;
    Error error = path.check();
    if (error == Error::Ok) {
      error = opened.fill(path.c_str());
      if (error == Error::Ok) return opened;
      error = path.add_context(error);
    }
    return detail::add_context("NpzFile::open", error);
  }
  /// Opens an archive in memory, without a copy. With NpyMemory::Map, get() returns tensors over
  /// the bytes; they keep the bytes' owner.
  /// Ownership: if a Blob has no owner, the caller keeps its memory until this object and the
  /// tensors are gone.
  /// Errors: those above, except NotFound and AccessFailed; also InvalidArgument (the bytes are not
  /// contiguous, or not in host memory); InvalidState (an undefined tensor).
  static Result<NpzFile> open(const detail::FileContent& bytes) noexcept {
    NpzFile opened;
    const Error error = opened.fill(bytes);
    if (error == Error::Ok) return opened;
    return detail::add_context("NpzFile::open", error);
  }

  /// How many arrays the file has.
  size_t size() const noexcept { return contents_ == nullptr ? 0 : contents_->entries.size(); }
  /// The descriptions of all arrays, valid as long as this object. Reads all headers. If an array's
  /// header cannot be read, its `dtype` is empty, and get() returns the error.
  ArrayRef<NpzInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return {};
    contents_->describe(0, size());
    return contents_->infos;
  }
  /// The description of the array of that name; null if there is none. Reads its header.
  const NpzInfo* find(std::string_view name) const noexcept TENON_LIFETIMEBOUND {
    const size_t i = index_of(name);
    if (i == size()) return nullptr;
    contents_->describe(i, i + 1);
    return &contents_->infos[i];
  }

  /// Reads an array.
  ///
  /// Ownership: copies the elements, and checks the archive's checksum. With NpyMemory::Map, the
  /// tensor is a read-only view of the mapping, which it keeps: the elements are not read, and the
  /// checksum is not checked. If is_copied is set, the tensor is a read-only copy instead.
  /// `on_progress` gets the number of bytes copied.
  /// Errors: NotFound; those of from_npy(); NotSupported (an encrypted entry; an entry packed by
  /// another method than deflate); InvalidArgument (also a broken archive, or a wrong checksum);
  /// the error of an exception from on_progress.
  Result<TensorPtr> get(std::string_view name, NpyMemory memory = NpyMemory::Copy,
                        const ProgressFunction& on_progress = {}) const noexcept {
    return read(index_of(name), name, detail::ScalarType::Undefined, memory, on_progress);
  }
  /// Reads the array that infos()[i] describes.
  /// Errors: also OutOfBounds.
  Result<TensorPtr> get(size_t i, NpyMemory memory = NpyMemory::Copy,
                        const ProgressFunction& on_progress = {}) const noexcept {
    if (i >= size()) return out_of_bounds(i);
    return read(i, {}, detail::ScalarType::Undefined, memory, on_progress);
  }
  /// As above, for dtypes that NumPy or tenon lacks: see read_npy() with a type.
  Result<TensorPtr> get(std::string_view name, ScalarType type, NpyMemory memory = NpyMemory::Copy,
                        const ProgressFunction& on_progress = {}) const noexcept {
    const Error error = detail::check_type(detail::own_type(type));
    if (error != Error::Ok) return detail::add_context("NpzFile::get", error);
    return read(index_of(name), name, detail::own_type(type), memory, on_progress);
  }
  Result<TensorPtr> get(size_t i, ScalarType type, NpyMemory memory = NpyMemory::Copy,
                        const ProgressFunction& on_progress = {}) const noexcept {
    const Error error = detail::check_type(detail::own_type(type));
    if (error != Error::Ok) return detail::add_context("NpzFile::get", error);
    if (i >= size()) return out_of_bounds(i);
    return read(i, {}, detail::own_type(type), memory, on_progress);
  }

 private:
  struct Contents {
    detail::FileBytes bytes;
    std::vector<detail::ZipEntry> entries;
    detail::NameIndex names;
    // Headers, read on demand.
    mutable std::mutex mutex;
    mutable std::vector<NpzInfo> infos;
    mutable std::vector<bool> is_described;
    mutable size_t described = 0;  // how many headers were read

    Error list() {
      detail::ZipReader zip;
      Error error = zip.open(bytes.data, bytes.size);
      if (error == Error::Ok) error = zip.list(entries);
      if (error == Error::InvalidArgument && (bytes.size < 2 || bytes.data[0] != 'P')) {
        TENON_TRY(detail::fail_for_kind(bytes.data, bytes.size, "an .npz file"));
      }
      TENON_TRY(error);
      const auto is_array = [](const detail::ZipEntry& entry) {
        const std::string& name = entry.name;
        return name.size() >= 4 && name.compare(name.size() - 4, 4, ".npy") == 0;
      };
      if (!entries.empty() && std::none_of(entries.begin(), entries.end(), is_array)) {
        TENON_TRY(detail::fail_for_kind(bytes.data, bytes.size, "an .npz file, of .npy files"));
      }
      infos.resize(entries.size());
      is_described.resize(entries.size());
      for (size_t i = 0; i < entries.size(); ++i) {
        const detail::ZipEntry& entry = entries[i];
        NpzInfo& info = infos[i];
        info.name = entry.name;
        const size_t stem = info.name.size() - std::min<size_t>(info.name.size(), 4);
        if (info.name.compare(stem, 4, ".npy") == 0) info.name.resize(stem);
        info.nbytes = entry.size;
        info.packed_nbytes = entry.packed;
        info.is_deflated = entry.method != 0;
      }
      for (const NpzInfo& info : infos) names.add(info.name);
      names.sort();
      return names.check_unique("array");
    }
    /// Reads the headers of these entries.
    void describe(size_t begin, size_t end) const noexcept {
      const std::lock_guard<std::mutex> lock(mutex);
      if (described == entries.size()) return;
      for (size_t i = begin; i < end; ++i) {
        if (is_described[i]) continue;
        // After an error the dtype stays empty. The header is not read again, since other threads
        // may already use its NpzInfo.
        static_cast<void>(detail::call_safely([&] { return describe(entries[i], infos[i]); }));
        is_described[i] = true;
        ++described;
      }
    }
    Error describe(detail::ZipEntry entry, NpzInfo& info) const {
      detail::ZipSource source(entry, bytes, nullptr, {});
      detail::NpyDescription found;
      TENON_TRY(source.enter());
      TENON_TRY(detail::describe_npy(source, found));
      info.dtype = std::move(found.dtype);
      info.type = detail::public_type(found.type);
      info.sizes = found.sizes;
      info.is_copied = found.nbytes != 0 && (info.is_deflated || !found.is_usable);
      return Error::Ok;
    }
  };

  /// `from`: a path or a FileContent.
  template <class From>
  Error fill(const From& from) noexcept {
    return detail::call_safely([&] {
      auto contents = std::make_shared<Contents>();
      TENON_TRY(contents->bytes.open(from));
      TENON_TRY(contents->list());
      contents_ = std::move(contents);
      return Error::Ok;
    });
  }
  /// The index of a name, or size().
  size_t index_of(std::string_view name) const noexcept {
    if (contents_ == nullptr) return 0;
    const auto found = contents_->names.find(name);
    return found.empty() ? size() : found[0].second;
  }

  Error out_of_bounds(size_t i) const noexcept {
    return detail::fail(Error::OutOfBounds, "NpzFile::get: array ", i, " of ", size());
  }

  /// If i is size(), fails: there is no array `name`.
  Result<TensorPtr> read(size_t i, std::string_view name, detail::ScalarType type, NpyMemory memory,
                         const ProgressFunction& on_progress) const noexcept {
    detail::NewTensor new_tensor;
    Error error = Error::Ok;
    if (i >= size()) {
      error = detail::fail(Error::NotFound, "it is not among the ", size(), " arrays");
    } else {
      detail::ZipEntry entry;
      error = detail::call_safely([&] {
        entry = contents_->entries[i];
        return Error::Ok;
      });
      name = contents_->infos[i].name;
      detail::ZipSource source(entry, contents_->bytes, contents_, {on_progress, entry.size});
      if (error == Error::Ok) error = source.enter();
      size_t end = 0;
      if (error == Error::Ok) error = detail::read_npy(source, memory, type, end, new_tensor);
      if (error == Error::Ok) error = source.finish(end);
      if (error == Error::Ok && memory == NpyMemory::Map) {
        detail::fields(new_tensor).readonly = detail::kHasReadOnly;
      }
    }
    if (error != Error::Ok) {
      error = detail::fail(error, "array \"", detail::ShownText(name).text,
                           "\": ", last_error_message());
    }
    return detail::return_to_user<Result<TensorPtr>>("NpzFile::get", error, new_tensor);
  }

  std::shared_ptr<const Contents> contents_;
};

namespace detail {

/// `tensors` is a copy: on_progress may change the caller's.
inline Error write_npz(const FileTarget& to, std::vector<NamedTensor> tensors, bool deflated,
                       const ProgressFunction& on_progress, FileWrite how) {
  constexpr size_t kMost = UINT16_MAX - 1;  // minizip writes no larger number of files
  if (tensors.size() > kMost) {
    return fail(Error::NotSupported, tensors.size(), " arrays, expected at most ", kMost);
  }
  TENON_TRY(check_names(tensors));
  std::vector<size_t> sizes;
  uint64_t total = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::string& name = tensor.name;
    if (name.empty() || name.size() > 60000 || name.find('\0') != name.npos) {
      return fail(Error::InvalidArgument, "the name \"", ShownText(name).text,
                  "\" is empty, longer than 60000 bytes or has a zero character");
    }
    const ConstTensorArg arg(tensor.tensor);
    NpyType type;  // checked before an old file is changed
    if (const Error error = find_npy_type(arg, type); error != Error::Ok) {
      return fail(error, "array \"", ShownText(name).text, "\": ", last_error_message());
    }
    sizes.push_back(fields(arg).nbytes());
    total += sizes.back();
  }
  OutputFile file;
  ZipWriter zip;  // destroyed first
  Progress progress(on_progress, total);
  TENON_TRY(file.open(to, how));
  TENON_TRY(zip.open(file));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& tensor = tensors[i];
    NpyImage image;
    Error error = make_npy_image(ConstTensorArg(tensor.tensor), image);
    const HostBytes& elements = image.elements;
    if (error == Error::Ok && elements.nbytes != sizes[i]) {
      error = fail(Error::InvalidState, "it was resized while the file was written");
    }
    if (error == Error::Ok) {
      error = zip.begin(tensor.name + ".npy", image.header_size + elements.nbytes, deflated);
    }
    if (error == Error::Ok) error = zip.write(image.header, image.header_size, nullptr);
    if (error == Error::Ok) error = zip.write(elements.data, elements.nbytes, &progress);
    if (error == Error::Ok) error = zip.end();
    if (error != Error::Ok) {
      return fail(error, "array \"", ShownText(tensor.name).text, "\": ", last_error_message());
    }
  }
  TENON_TRY(zip.finish());
  return file.commit(true);
}

}  // namespace detail

/// Whether write_npz() compresses arrays.
enum class NpzPacking : uint8_t {
  Store,    ///< not compressed, and aligned for NpyMemory::Map; numpy.savez
  Deflate,  ///< numpy.savez_compressed
};

/// Writes an .npz file, as numpy.savez() does. An existing file is replaced once the new one is
/// complete and on the disk, and stays unchanged after an error, unless FileWrite says otherwise.
/// Each array is written as by write_npy(). The elements of an array that is not deflated begin at
/// a multiple of 64 bytes of the file. Arrays may exceed 4 GiB.
///
/// `to` may also be a tensor or a function, as in write_npy(). A function receives each array once
/// the array is complete: until then the array's packed bytes are held in memory, since the
/// checksum precedes them in the file.
///
/// Ownership: reads the tensors. `on_progress` gets the bytes of the elements.
/// Errors: those of write_npy(); InvalidArgument (a name that occurs twice, is empty, has a zero
/// character, has more than 60000 bytes, or is not UTF-8); NotSupported (more than 65534 arrays);
/// AccessFailed (also a pipe); the error of an exception from on_progress.
/// Source: numpy.savez, numpy.savez_compressed.
[[nodiscard]] inline Error write_npz(const detail::FileTarget& to,
                                     const std::vector<NamedTensor>& tensors,
                                     NpzPacking packing = NpzPacking::Store,
                                     const ProgressFunction& on_progress = {},
                                     FileWrite how = FileWrite::Replace) noexcept {
  Error error = to.check();
  if (error == Error::Ok) {
    error = detail::call_safely([&] {
      return detail::write_npz(to, tensors, packing == NpzPacking::Deflate, on_progress, how);
    });
    if (error == Error::Ok) return error;
    error = to.add_context(error);
  }
  return detail::add_context("write_npz", error);
}

TENON_END_NAMESPACE
