// SPDX-License-Identifier: MIT
// Gguf: reads tensors and metadata from GGUF files, the format of ggml and llama.cpp.
#pragma once

#include <memory>

#include "tenon/interop/files/file_content.h"
#include "tenon/interop/files/file_tensor.h"
#include "tenon/interop/files/gguf_header.h"
#include "tenon/module/evalue.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The end of the file name of one part of a model: "-00001-of-00003.gguf".
struct GgufPartName {
  char text[64];
  GgufPartName(uint64_t part, uint64_t count) noexcept {
    std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf",
                  static_cast<unsigned long long>(part + 1),
                  static_cast<unsigned long long>(count));
  }
};

/// Makes an Int, a Double or a Bool of a metadata number. `bits`: its bytes in the file.
inline Error read_gguf_scalar(own::ScalarType type, uint64_t bits, EValue& value) noexcept {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(elementSize(type));
  if (type == own::ScalarType::Float) {
    const auto word = static_cast<uint32_t>(bits);
    float number = 0;
    std::memcpy(&number, &word, sizeof number);
    value = number;
  } else if (type == own::ScalarType::Double) {
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    value = number;
  } else if (type == own::ScalarType::Bool) {
    value = bits != 0;
  } else if (type == own::ScalarType::UInt64 && bits > uint64_t{INT64_MAX}) {
    return fail(Error::NotSupported, bits, " does not fit an Int, a signed 64-bit integer");
  } else if (type == own::ScalarType::Char || type == own::ScalarType::Short ||
             type == own::ScalarType::Int) {
    value = static_cast<int64_t>(bits << unused) >> unused;  // extends the sign
  } else {
    value = static_cast<int64_t>(bits);
  }
  return Error::Ok;
}

}  // namespace detail

/// Reads the tensors and the metadata of a GGUF file, or of a model in several files, by name or by
/// index in the file's order.
///
/// The file is mapped, and only its header is read: get() returns tensors over the mapping. Each
/// tensor keeps the mapping, so it may outlive this object. The tensors are read-only: functions
/// that write fail with InvalidState, and clone_tensor_ptr() makes a writable copy. While one of
/// them lives, the file must not be changed or shortened in place: reading past its end ends the
/// process with SIGBUS.
///
/// Sizes are row-major: ggml's ne = {columns, rows} is {rows, columns} here, as in NumPy. F32, F16,
/// BF16, F64 and I8 to I64 have the dtype of that name. A quantised tensor is a Byte tensor of
/// {rows, bytes of a row}: its GgufInfo has the type's name, the sizes in elements, and how many
/// elements and bytes a block has.
/// Ownership: copies of this object share the mapping.
/// Threads: immutable; any number of threads may use it.
/// Source: Python's gguf.GGUFReader; ggml's gguf_init_from_file.
class Gguf {
 public:
  /// Makes an object without tensors and metadata.
  Gguf() noexcept = default;

  /// Opens a file of version 2 or 3. If a model is in several files, "x-00001-of-00003.gguf", pass
  /// the path of any part: all parts are opened as one, with the metadata of the first. A part that
  /// was renamed is opened alone.
  /// Errors: NotFound (also for a part that is missing); AccessFailed; InvalidArgument, whose
  /// message has the key or the tensor and the byte (numbers and texts that the file cannot hold;
  /// names that occur twice; tensors that overlap or lie beyond the file; rows that are not whole
  /// blocks; parts that do not belong together); NotSupported (version 1, big-endian files, arrays
  /// of arrays); OutOfMemory.
  /// Cost: O(header), whose texts are not copied; a page of the elements is read when it is first
  /// used.
  static Result<Gguf> open(const detail::FilePath& path) noexcept {
    Error error = path.check();
    if (error != Error::Ok) return detail::add_context("Gguf::open", error);
    Gguf opened;
    error = opened.fill([&](Contents& contents) { return contents.open(path.c_str()); });
    if (error == Error::Ok) return opened;
    return detail::add_context("Gguf::open", path.add_context(error));
  }
  /// Opens a file in memory, without a copy: get() returns tensors over the bytes; they keep the
  /// bytes' owner. A part of a model in several files is opened alone.
  /// Ownership: if a Blob has no owner, the caller keeps its memory until this object and the
  /// tensors are gone.
  /// Errors: those above, except NotFound and AccessFailed; also InvalidArgument (the bytes are not
  /// contiguous, or not in host memory); InvalidState (an undefined tensor).
  static Result<Gguf> open(const detail::FileContent& bytes) noexcept {
    Gguf opened;
    const Error error = opened.fill([&](Contents& contents) { return contents.add(bytes); });
    if (error == Error::Ok) return opened;
    return detail::add_context("Gguf::open", error);
  }

  /// How many tensors the file has.
  size_t size() const noexcept { return infos().size(); }
  /// The descriptions of all tensors; valid as long as this object.
  ArrayRef<GgufInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return {};
    return contents_->header.infos;
  }
  /// The description of the tensor of that name; null if there is none.
  const GgufInfo* find(std::string_view name) const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return nullptr;
    const auto found = contents_->names.find(name);
    return found.empty() ? nullptr : &contents_->header.infos[found[0].second];
  }

  /// The tensor of that name.
  /// Ownership: a read-only view of the mapping; if is_copied is set, a read-only copy.
  /// Errors: NotFound; NotSupported (a type that tenon does not know); OutOfMemory.
  Result<TensorPtr> get(std::string_view name) const noexcept {
    const GgufInfo* const info = find(name);
    if (info != nullptr) return make(*info);
    const Error error = detail::fail(Error::NotFound, "there is no tensor \"",
                                     detail::ShownText(name).text, "\" among the ", size());
    return detail::add_context("Gguf::get", add_part(error));
  }
  /// The tensor that infos()[i] describes.
  /// Errors: also OutOfBounds.
  Result<TensorPtr> get(size_t i) const noexcept {
    if (i < size()) return make(infos()[i]);
    return detail::fail(Error::OutOfBounds, "Gguf::get: tensor ", i, " of ", size());
  }

  /// The keys of the metadata and their types; valid as long as this object.
  ArrayRef<GgufEntry> metadata() const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return {};
    return contents_->header.metadata;
  }
  /// The entry of that key; null if there is none.
  const GgufEntry* find_metadata(std::string_view key) const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return nullptr;
    const auto found = contents_->header.keys.find(key);
    return found.empty() ? nullptr : &contents_->header.metadata[found[0].second];
  }
  /// The value of a key: an Int, a Double, a Bool or a String; of an array, a Tensor or a
  /// StringList: `get_metadata("llama.context_length").value().toInt()`.
  /// Ownership: a copy; get_texts() does not copy.
  /// Errors: NotFound; NotSupported (a UINT64 that an Int cannot hold); OutOfMemory.
  Result<EValue> get_metadata(std::string_view key) const noexcept {
    EValue value;
    const GgufEntry* const entry = find_metadata(key);
    Error error = entry == nullptr ? fail_no_key() : Error::Ok;
    if (error == Error::Ok) {
      error = detail::call_safely([&] { return read_value(*entry, value); });
    }
    if (error == Error::Ok) return value;
    return fail_for_key("Gguf::get_metadata", key, error);
  }
  /// The texts of an array, such as "tokenizer.ggml.tokens"; a single text is a list of one.
  /// Ownership: the texts refer to the file's bytes: they are valid as long as this object, a copy
  /// of it, or a tensor from it exists.
  /// Errors: NotFound; InvalidType (numbers); OutOfMemory.
  /// Cost: O(bytes of the texts).
  Result<std::vector<std::string_view>> get_texts(std::string_view key) const noexcept {
    std::vector<std::string_view> texts;
    const GgufEntry* const entry = find_metadata(key);
    Error error = entry == nullptr ? fail_no_key() : Error::Ok;
    if (error == Error::Ok) {
      error = detail::call_safely([&] { return read_texts(*entry, texts); });
    }
    if (error == Error::Ok) return texts;
    return fail_for_key("Gguf::get_texts", key, error);
  }

 private:
  struct Contents {
    detail::GgufHeader header;
    detail::NameIndex names;  // of the tensors
    std::vector<std::shared_ptr<const detail::FileBytes>> files;
    uint64_t part = 0;   // index of the part; of all parts together, the first's
    uint64_t parts = 0;  // how many parts the metadata states; 0 if it states none

    /// `from`: a path or a FileContent.
    template <class From>
    Error add(const From& from) {
      auto file = std::make_shared<detail::FileBytes>();
      TENON_TRY(file->open(from));
      files.push_back(std::move(file));
      const detail::FileBytes& bytes = *files.back();
      TENON_TRY(detail::read_gguf_header(bytes.data, bytes.size, header));
      part = number("split.no");
      parts = number("split.count");
      return Error::Ok;
    }
    Error open(const char* path) {
      TENON_TRY(add(path));
      if (parts < 2) return Error::Ok;
      std::string_view folder = path;
      const detail::GgufPartName own(part, parts);
      const std::string_view end = own.text;
      if (folder.size() < end.size() || folder.substr(folder.size() - end.size()) != end) {
        return Error::Ok;
      }
      folder.remove_suffix(end.size());
      Contents all;
      for (uint64_t i = 0; i < parts; ++i) {
        const std::string name = std::string(folder) + detail::GgufPartName(i, parts).text;
        Contents one;
        Error error = one.add(name.c_str());
        if (error == Error::Ok && (one.part != i || one.parts != parts)) {
          error = detail::fail(Error::InvalidArgument, "its metadata says that it is part ",
                               one.part + 1, " of ", one.parts);
        }
        if (error != Error::Ok) return add_part_name(i, error);
        if (i == 0) {
          all = std::move(one);
          continue;
        }
        for (GgufInfo& info : one.header.infos) {
          info.file = all.files.size();
          all.header.infos.push_back(std::move(info));
        }
        all.files.push_back(std::move(one.files[0]));
      }
      *this = std::move(all);
      const uint64_t expected = number("split.tensors.count");
      if (expected == 0 || expected == header.infos.size()) return Error::Ok;
      return detail::fail(Error::InvalidArgument, "the parts have ", header.infos.size(),
                          " tensors, but split.tensors.count is ", expected);
    }
    Error add_part_name(uint64_t i, Error error) const noexcept {
      return detail::fail(error, "part ", i + 1, " of ", parts, ": ", last_error_message());
    }
    /// An integer of the metadata; 0 if the key is missing.
    uint64_t number(const char* key) const noexcept {
      const auto found = header.keys.find(key);
      if (found.empty()) return 0;
      const GgufEntry& entry = header.metadata[found[0].second];
      const auto type = detail::own_type(entry.type);
      uint64_t bits = 0;
      if (entry.is_array || !isIntegralType(type, false)) return 0;
      detail::GgufReader reader(files[0]->data, files[0]->size, entry.offset);
      return reader.read(elementSize(type), bits) == Error::Ok ? bits : 0;
    }
  };

  template <class Read>
  Error fill(const Read& read) noexcept {
    return detail::call_safely([&] {
      auto contents = std::make_shared<Contents>();
      TENON_TRY(read(*contents));
      for (const GgufInfo& info : contents->header.infos) contents->names.add(info.name);
      contents->names.sort();
      TENON_TRY(contents->names.check_unique("tensor"));
      contents_ = std::move(contents);
      return Error::Ok;
    });
  }

  /// If the file is one part of a model, opened alone, says so in the error's message.
  Error add_part(Error error) const noexcept {
    if (contents_ == nullptr || contents_->parts < 2 || contents_->files.size() > 1) return error;
    return detail::fail(error, last_error_message(), "; the file is part ", contents_->part + 1,
                        " of ", contents_->parts, ", whose names end with ",
                        detail::GgufPartName(contents_->part, contents_->parts).text);
  }
  Error fail_no_key() const noexcept {
    return add_part(
        detail::fail(Error::NotFound, "it is not among the ", metadata().size(), " keys"));
  }
  static Error fail_for_key(const char* function, std::string_view key, Error error) noexcept {
    return detail::fail(error, function, ": key \"", detail::ShownText(key).text,
                        "\": ", last_error_message());
  }

  detail::GgufReader value_reader(const GgufEntry& entry) const noexcept {
    const detail::FileBytes& file = *contents_->files[0];
    return {file.data, file.size, entry.offset};
  }
  Error read_texts(const GgufEntry& entry, std::vector<std::string_view>& texts) const {
    if (entry.type != ScalarType::Undefined) {
      return detail::fail(Error::InvalidType, "it is ", entry.is_array ? "an array of " : "",
                          entry.dtype, ", expected texts");
    }
    detail::GgufReader reader = value_reader(entry);
    texts.resize(static_cast<size_t>(entry.count));
    for (std::string_view& text : texts) TENON_TRY(reader.read_text(text));
    return Error::Ok;
  }
  Error read_value(const GgufEntry& entry, EValue& value) const {
    const auto type = detail::own_type(entry.type);
    if (type == own::ScalarType::Undefined) {
      std::vector<std::string_view> texts;
      TENON_TRY(read_texts(entry, texts));
      value = entry.is_array ? EValue(texts) : EValue(texts[0]);
      return Error::Ok;
    }
    if (!entry.is_array) {
      uint64_t bits = 0;
      detail::GgufReader reader = value_reader(entry);
      TENON_TRY(reader.read(elementSize(type), bits));
      return detail::read_gguf_scalar(type, bits, value);
    }
    detail::NewTensor new_tensor;
    TENON_TRY(detail::make_owned_row_major({static_cast<int64_t>(entry.count)},
                                           detail::CreateOptions(type), false, new_tensor));
    detail::TensorFields& made = detail::fields(new_tensor);
    if (made.nbytes() != 0) {
      std::memcpy(made.data, contents_->files[0]->data + entry.offset, made.nbytes());
    }
    detail::exchange_little_endian(type, made.data, made.nbytes());
    value = EValue(detail::return_to_user<TensorPtr>("Gguf::get_metadata", Error::Ok, new_tensor));
    return Error::Ok;
  }

  Result<TensorPtr> make(const GgufInfo& info) const noexcept {
    const std::shared_ptr<const detail::FileBytes>& file = contents_->files[info.file];
    auto type = detail::own_type(info.type);
    detail::NewTensor new_tensor;
    Dims sizes = info.sizes;
    Error error = Error::Ok;
    if (info.block_size == 0) {
      error = detail::fail(Error::NotSupported, "ggml's ", info.dtype.c_str(),
                           " is not a type that tenon knows");
    } else if (info.type == ScalarType::Undefined) {
      type = own::ScalarType::Byte;
      error = detail::make_ggml_byte_sizes(info, sizes);
    }
    if (error == Error::Ok) {
      error = detail::make_file_tensor(file, file->data + info.offset,
                                       static_cast<size_t>(info.nbytes), type, sizes, {},
                                       info.is_copied, detail::host_is_big_endian(), new_tensor);
    }
    error = detail::add_name(error, "tensor", info.name);
    return detail::return_to_user<Result<TensorPtr>>("Gguf::get", error, new_tensor);
  }

  std::shared_ptr<const Contents> contents_;
};

TENON_END_NAMESPACE
