// SPDX-License-Identifier: MIT
// SafeTensors, write_safetensors: read and write tensors in safetensors files, the format of
// Hugging Face. Needs nlohmann-json.
#pragma once

#include <memory>
#include <set>

#include "tenon/interop/files/file_content.h"
#include "tenon/interop/files/file_tensor.h"
#include "tenon/interop/files/file_writer.h"
#include "tenon/interop/files/name_index.h"
#include "tenon/interop/files/named_tensor.h"
#include "tenon/interop/files/safetensors_header.h"
#include "tenon/interop/files/safetensors_shards.h"
#include "tenon/interop/files/safetensors_writer.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

/// Reads the tensors of a safetensors file, or of a model in several files, by name or by index in
/// the order of their bytes.
///
/// The file is mapped, and only its header is read: get() returns tensors over the mapping. Each
/// tensor keeps the mapping, so it may outlive this object. The tensors are read-only: functions
/// that write fail with InvalidState, and clone_tensor_ptr() makes a writable copy. While one of
/// them lives, the file must not be changed or shortened in place: reading past its end ends the
/// process with SIGBUS. write_safetensors() may write to the same path: it puts a new file there,
/// unless it writes in place.
///
/// Each get() copies a tensor whose bytes are misaligned (SafeTensorInfo::is_copied). The bytes of
/// a Bool are not checked: data<bool>() is only valid for 0 and 1. F4, F6_E2M3, F6_E3M2 and F8_E8M0
/// are not dtypes of tensors: get() returns their bytes as a Byte tensor, whose last size is the
/// number of bytes in a row; if rows do not end at a byte boundary, the tensor is 1-d. unpack() of
/// exchange/packed.h converts such a tensor to numbers.
/// Ownership: copies of this object share the mapping.
/// Threads: immutable; any number of threads may use it.
/// Source: safetensors' safe_open.
class SafeTensors {
 public:
  /// Makes an object without tensors and metadata.
  SafeTensors() noexcept = default;

  /// Opens a file. If its name ends with .json, it is the index of a model whose tensors are in
  /// several files next to it, such as model.safetensors.index.json: each tensor that the index
  /// lists is read from its file; other tensors in these files are ignored. The metadata of all
  /// files is joined; if a key occurs twice, the first file's value counts.
  /// Errors: NotFound; AccessFailed; InvalidArgument, whose message has the tensor, the field and
  /// the offset (JSON that the format does not allow; keys that occur twice; offsets that overlap,
  /// leave gaps, lie beyond the file or do not fit the shape and dtype; a header of more than 100
  /// MB); OutOfMemory.
  /// Cost: O(header); a page of the elements is read when it is first used.
  static Result<SafeTensors> open(const detail::FilePath& path) noexcept {
    Error error = path.check();
    if (error != Error::Ok) return detail::add_context("SafeTensors::open", error);
    SafeTensors opened;
    error = opened.fill([&](Contents& contents) {
      const std::string_view name = path.c_str();
      const std::string_view end = ".json";
      const bool is_index =
          name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
      return is_index ? open_index(name, contents) : contents.add(path.c_str());
    });
    if (error == Error::Ok) return opened;
    return detail::add_context("SafeTensors::open", path.add_context(error));
  }
  /// Opens a file in memory, without a copy: get() returns tensors over the bytes; they keep the
  /// bytes' owner.
  /// Ownership: if a Blob has no owner, the caller keeps its memory until this object and the
  /// tensors are gone.
  /// Errors: those above, except NotFound and AccessFailed; also InvalidArgument (the bytes are not
  /// contiguous, or not in host memory); InvalidState (an undefined tensor).
  static Result<SafeTensors> open(const detail::FileContent& bytes) noexcept {
    SafeTensors opened;
    const Error error = opened.fill([&](Contents& contents) { return contents.add(bytes); });
    if (error == Error::Ok) return opened;
    return detail::add_context("SafeTensors::open", error);
  }

  /// How many tensors the file has.
  size_t size() const noexcept { return infos().size(); }
  /// The descriptions of all tensors; valid as long as this object.
  ArrayRef<SafeTensorInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return {};
    return contents_->header.infos;
  }
  /// The file's metadata: texts by key.
  std::map<std::string, std::string> metadata() const {
    if (contents_ == nullptr) return {};
    return contents_->header.metadata;
  }
  /// The description of the tensor of that name; null if there is none.
  const SafeTensorInfo* find(std::string_view name) const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return nullptr;
    const auto found = contents_->names.find(name);
    return found.empty() ? nullptr : &contents_->header.infos[found[0].second];
  }

  /// The tensor of that name.
  /// Ownership: a read-only view of the mapping; if is_copied is set, a read-only copy.
  /// Errors: NotFound; OutOfMemory.
  Result<TensorPtr> get(std::string_view name) const noexcept {
    const SafeTensorInfo* const info = find(name);
    if (info != nullptr) return make(*info);
    return detail::fail(Error::NotFound, "SafeTensors::get: there is no tensor \"",
                        detail::ShownText(name).text, "\" among the ", size());
  }
  /// The tensor that infos()[i] describes.
  /// Errors: also OutOfBounds.
  Result<TensorPtr> get(size_t i) const noexcept {
    if (i < size()) return make(infos()[i]);
    return detail::fail(Error::OutOfBounds, "SafeTensors::get: tensor ", i, " of ", size());
  }

 private:
  struct Contents {
    detail::SafeTensorsHeader header;
    detail::NameIndex names;
    std::vector<std::shared_ptr<const detail::FileBytes>> files;

    /// `from`: a path or a FileContent.
    template <class From>
    Error add(const From& from) {
      auto file = std::make_shared<detail::FileBytes>();
      TENON_TRY(file->open(from));
      TENON_TRY(detail::read_safetensors_header(file->data, file->size, header));
      files.push_back(std::move(file));
      return Error::Ok;
    }
    Error sort() {
      for (const SafeTensorInfo& info : header.infos) names.add(info.name);
      names.sort();
      return names.check_unique("tensor");
    }
  };

  template <class Read>
  Error fill(const Read& read) noexcept {
    return detail::call_safely([&] {
      auto contents = std::make_shared<Contents>();
      TENON_TRY(read(*contents));
      TENON_TRY(contents->sort());
      contents_ = std::move(contents);
      return Error::Ok;
    });
  }
  static Error open_index(std::string_view path, Contents& all) {
    detail::FileBytes index;
    TENON_TRY(index.open(path.data()));
    detail::SafeTensorsMap files;
    const std::string_view text(reinterpret_cast<const char*>(index.data), index.size);
    if (index.size > detail::kSafeTensorsMaxHeader) {
      return detail::fail(Error::InvalidArgument, "the index has ", index.size,
                          " bytes, more than a header may have");
    }
    TENON_TRY(detail::read_safetensors_index(text, files));
    const std::string folder(path.substr(0, path.rfind('/') + 1));  // npos + 1 is 0
    std::set<std::string> names;
    for (const auto& [tensor, file] : files) names.insert(file);
    for (const std::string& name : names) {
      Contents one;
      Error error = one.add((folder + name).c_str());
      if (error == Error::Ok) error = one.sort();
      if (error != Error::Ok) return detail::FilePath(name).add_context(error);
      for (SafeTensorInfo& info : one.header.infos) {
        const auto entry = files.find(info.name);
        if (entry == files.end() || entry->second != name) continue;
        files.erase(entry);
        info.file = all.files.size();
        all.header.infos.push_back(std::move(info));
      }
      all.header.metadata.merge(one.header.metadata);
      all.files.push_back(std::move(one.files[0]));
    }
    if (files.empty()) return Error::Ok;
    return detail::fail(Error::InvalidArgument, "weight_map: there is no tensor \"",
                        detail::ShownText(files.begin()->first).text, "\" in ",
                        detail::ShownText(files.begin()->second).text);
  }

  Result<TensorPtr> make(const SafeTensorInfo& info) const noexcept {
    const std::shared_ptr<const detail::FileBytes>& file = contents_->files[info.file];
    const bool is_packed = info.packed != PackedType::Undefined;
    const auto nbytes = static_cast<size_t>(info.nbytes);
    const Dims sizes =
        is_packed ? detail::packed_byte_sizes(info.sizes, static_cast<int64_t>(nbytes), info.packed)
                  : info.sizes;
    detail::NewTensor new_tensor;
    const Error error =
        detail::add_name(detail::make_file_tensor(
                             file, file->data + info.offset, nbytes,
                             is_packed ? own::ScalarType::Byte : detail::own_type(info.type), sizes,
                             {}, info.is_copied, detail::host_is_big_endian(), new_tensor),
                         "tensor", info.name);
    return detail::return_to_user<Result<TensorPtr>>("SafeTensors::get", error, new_tensor);
  }

  std::shared_ptr<const Contents> contents_;
};

/// Writes a safetensors file. An existing file is replaced once the new one is complete and on the
/// disk, and stays unchanged after an error, unless FileWrite says otherwise. The elements begin at
/// a multiple of 64 bytes. The tensors with the widest numbers come first, so that every tensor is
/// aligned; tensors of equally wide numbers keep the list's order. A tensor that is not contiguous,
/// or not in host memory, is copied first, one tensor at a time.
///
/// `to` may also be a tensor or a function, as in write_npy(). A function receives the bytes in
/// parts: the whole file is never in memory.
///
/// Ownership: reads the tensors. `on_progress` gets the number of bytes written.
/// Errors: InvalidArgument (a name that occurs twice; a name or text that is not UTF-8;
/// "__metadata__" as a name); NotSupported (ComplexHalf, ComplexDouble; memory that the host cannot
/// read); InvalidState (undefined; a placeholder); AccessFailed, with the system's text;
/// OutOfMemory; the error of an exception from on_progress.
/// Source: safetensors' save_file.
[[nodiscard]] inline Error write_safetensors(
    const detail::FileTarget& to, const std::vector<NamedTensor>& tensors,
    const std::map<std::string, std::string>& metadata = {},
    const ProgressFunction& on_progress = {}, FileWrite how = FileWrite::Replace) noexcept {
  Error error = to.check();
  if (error == Error::Ok) {
    error = detail::call_safely(
        [&] { return detail::write_safetensors(to, tensors, metadata, on_progress, how); });
    if (error == Error::Ok) return error;
    error = to.add_context(error);
  }
  return detail::add_context("write_safetensors", error);
}

TENON_END_NAMESPACE
