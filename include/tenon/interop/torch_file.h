// SPDX-License-Identifier: MIT
// TorchFile: reads tensors and values from files of torch.save, without PyTorch. Needs minizip and
// zlib.
#pragma once

#include <memory>

#include "tenon/interop/files/file_tensor.h"
#include "tenon/interop/files/torch_evalue.h"
#include "tenon/interop/files/torch_names.h"
#include "tenon/interop/files/torch_writer.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Makes a tensor over the file's bytes, or a copy of the bytes from the tensor's first to its last
/// element.
inline Error make_torch_tensor(const std::shared_ptr<const TorchArchive>& file,
                               const TorchTensorInfo& info, NewTensor& tensor) noexcept {
  if (info.refused != nullptr) return fail(Error::NotSupported, info.refused);
  const ScalarType type = own_type(info.type);
  uint64_t span = 0;
  compute_torch_span(info, span);
  const uint64_t numel = span;
  return make_file_tensor(file, file->bytes.data + info.offset,
                          static_cast<size_t>(numel) * elementSize(type), type, info.sizes,
                          info.strides, info.is_copied, file->is_swapped, tensor);
}

}  // namespace detail

/// Reads the tensors and values of a file of torch.save (.pt, .pth, .bin, .ckpt), by name.
///
/// A name joins the keys of dicts and the indices in lists by dots: "model.layer1.weight",
/// "optimizer.state.0.exp_avg". If the file holds a single tensor, the tensor's name is "". If keys
/// contain dots, two tensors may have the same name: both are listed, and get() by that name fails.
///
/// The file is mapped and its pickle is read. get() returns read-only tensors over the mapping,
/// with the strides that were saved: two tensors of one storage share memory. Each tensor keeps the
/// mapping, so it may outlive this object. While one of them lives, the file must not be changed or
/// shortened in place: reading past its end ends the process with SIGBUS. A CUDA tensor is stored
/// like a CPU tensor, and read as one.
///
/// No code of a file is ever run. A file may hold what torch.load(weights_only=True) accepts:
/// dicts, lists, tuples, sets, numbers, texts, bytes, dtypes, devices, tensors and parameters; also
/// argparse.Namespace and defaultdict, which are read as dicts. A file with any other class or
/// function is refused, and the error names the class or function. Tensors that are sparse,
/// quantized, nested or without data are listed, but get() refuses them.
/// Ownership: copies of this object share the mapping.
/// Threads: immutable; any number of threads may use it.
/// Source: torch.load(mmap=True, weights_only=True).
class TorchFile {
 public:
  /// Makes an object without tensors and values.
  TorchFile() noexcept = default;

  /// Opens a file of the zip form, or of the old form that PyTorch wrote before 1.6.
  /// Errors: NotFound; AccessFailed; InvalidArgument, whose message has the byte or the tensor
  /// (another kind of file; a broken archive or pickle; a tensor beyond its storage); NotSupported
  /// (a class or function; a pickle of more than 256 MiB; a deflated archive); OutOfMemory.
  /// Cost: O(pickle); of each storage one page is read.
  static Result<TorchFile> open(const detail::FilePath& path) noexcept {
    TorchFile opened;
    Error error = path.check();
    if (error == Error::Ok) {
      error = opened.fill(path.c_str());
      if (error == Error::Ok) return opened;
      error = path.add_context(error);
    }
    return detail::add_context("TorchFile::open", error);
  }
  /// Opens a file in memory, without a copy: get() returns tensors over the bytes; they keep the
  /// bytes' owner.
  /// Errors: those above, except NotFound and AccessFailed; also InvalidArgument (the bytes are not
  /// contiguous, or not in host memory); InvalidState (an undefined tensor).
  static Result<TorchFile> open(const detail::FileContent& bytes) noexcept {
    TorchFile opened;
    const Error error = opened.fill(bytes);
    if (error == Error::Ok) return opened;
    return detail::add_context("TorchFile::open", error);
  }

  /// How many tensors the file has.
  size_t size() const noexcept { return infos().size(); }
  /// The descriptions of all tensors, in the file's order; valid as long as this object.
  ArrayRef<TorchTensorInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return {};
    return contents_->infos;
  }
  /// The description of the tensor of that name; null if there is none. If several tensors have the
  /// name, the first.
  const TorchTensorInfo* find(std::string_view name) const noexcept TENON_LIFETIMEBOUND {
    if (contents_ == nullptr) return nullptr;
    const auto found = contents_->tensor_names.find(name);
    return found.empty() ? nullptr : &contents_->infos[found[0].second];
  }

  /// The tensor of that name.
  /// Ownership: a read-only view of the mapping; if is_copied is set, a read-only copy.
  /// Errors: NotFound; InvalidArgument (two tensors of that name); NotSupported (`refused` has the
  /// reason); OutOfMemory.
  Result<TensorPtr> get(std::string_view name) const noexcept {
    size_t i = 0;
    const Error error = find("tensor", &Contents::tensor_names, name, i);
    if (error == Error::Ok) return make(i);
    return detail::add_context("TorchFile::get", error);
  }
  /// The tensor that infos()[i] describes.
  /// Errors: also OutOfBounds.
  Result<TensorPtr> get(size_t i) const noexcept {
    if (i < size()) return make(i);
    return detail::fail(Error::OutOfBounds, "TorchFile::get: tensor ", i, " of ", size());
  }

  /// The names of values that are not tensors, in the file's order: an epoch, a text, a list of
  /// integers.
  std::vector<std::string> value_names() const {
    std::vector<std::string> names;
    if (contents_ == nullptr) return names;
    for (const detail::TorchValue& value : contents_->values) names.push_back(value.name);
    return names;
  }
  /// The value of that name: a number, a flag, None, a text, or a list of numbers, flags or texts.
  /// Bytes, dtypes and devices are returned as texts: "torch.float32", "cuda:0".
  /// Errors: NotFound; InvalidArgument (two values of that name); NotSupported (a complex number,
  /// an integer beyond 64 bits); OutOfMemory.
  Result<EValue> value(std::string_view name) const noexcept {
    size_t i = 0;
    const Error error = find("value", &Contents::value_names, name, i);
    if (error == Error::Ok) return value(i);
    return detail::add_context("TorchFile::value", error);
  }
  /// The value that value_names()[i] names.
  /// Errors: also OutOfBounds.
  Result<EValue> value(size_t i) const noexcept {
    if (contents_ == nullptr || i >= contents_->values.size()) {
      return detail::fail(Error::OutOfBounds, "TorchFile::value: value ", i, " of ",
                          contents_ == nullptr ? size_t{0} : contents_->values.size());
    }
    const detail::TorchValue& found = contents_->values[i];
    EValue made;
    const Error error = detail::call_safely(
        [&] { return detail::make_torch_value(contents_->file->graph, found.value, made); });
    if (error == Error::Ok) return made;
    return detail::add_context("TorchFile::value", detail::add_name(error, "value", found.name));
  }

  /// The entries of one dict or list, with shorter names: in under("model"), "model.fc.weight" is
  /// "fc.weight".
  /// Ownership: shares the mapping.
  /// Errors: NotFound; OutOfMemory.
  Result<TorchFile> under(std::string_view prefix) const noexcept {
    TorchFile part;
    const Error error = detail::call_safely([&] {
      auto contents = std::make_shared<Contents>();
      if (contents_ != nullptr) {
        contents->file = contents_->file;
        contents_->copy_under(prefix, *contents);
      }
      if (contents->infos.empty() && contents->values.empty()) {
        return detail::fail(Error::NotFound, "nothing is in \"", detail::ShownText(prefix).text,
                            "\"");
      }
      contents->sort();
      part.contents_ = std::move(contents);
      return Error::Ok;
    });
    if (error != Error::Ok) return detail::add_context("TorchFile::under", error);
    return part;
  }

 private:
  struct Contents {
    std::shared_ptr<const detail::TorchArchive> file;
    std::vector<TorchTensorInfo> infos;
    std::vector<detail::TorchValue> values;
    detail::NameIndex tensor_names;
    detail::NameIndex value_names;

    void sort() {
      for (const TorchTensorInfo& info : infos) tensor_names.add(info.name);
      for (const detail::TorchValue& value : values) value_names.add(value.name);
      tensor_names.sort();
      value_names.sort();
    }
    void copy_under(std::string_view prefix, Contents& out) const {
      const auto is_under = [&](std::string_view name) {
        return name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix &&
               name[prefix.size()] == '.';
      };
      for (const TorchTensorInfo& info : infos) {
        if (!is_under(info.name)) continue;
        out.infos.push_back(info);
        out.infos.back().name.erase(0, prefix.size() + 1);
      }
      for (const detail::TorchValue& value : values) {
        if (is_under(value.name)) {
          out.values.push_back({value.name.substr(prefix.size() + 1), value.value});
        }
      }
    }
  };

  /// `from`: a path or a FileContent.
  template <class From>
  Error fill(const From& from) noexcept {
    return detail::call_safely([&] {
      auto contents = std::make_shared<Contents>();
      auto file = std::make_shared<detail::TorchArchive>();
      TENON_TRY(file->open(from));
      TENON_TRY(detail::TorchLister(*file, contents->infos, contents->values).list());
      contents->file = std::move(file);
      contents->sort();
      contents_ = std::move(contents);
      return Error::Ok;
    });
  }

  /// `what`: "tensor" or "value".
  Error find(const char* what, detail::NameIndex Contents::*names, std::string_view name,
             size_t& i) const noexcept {
    if (contents_ == nullptr) return detail::NameIndex().find(what, name, i);
    const Error error = ((*contents_).*names).find(what, name, i);
    const bool asks_value = names == &Contents::value_names;
    const auto& others = asks_value ? contents_->tensor_names : contents_->value_names;
    if (error != Error::NotFound || others.find(name).empty()) return error;
    return detail::fail(
        error, last_error_message(),
        asks_value ? "; it is a tensor: use get()" : "; it is a value: use value()");
  }
  Result<TensorPtr> make(size_t i) const noexcept {
    const TorchTensorInfo& info = contents_->infos[i];
    detail::NewTensor new_tensor;
    const Error error = detail::add_name(
        detail::make_torch_tensor(contents_->file, info, new_tensor), "tensor", info.name);
    return detail::return_to_user<Result<TensorPtr>>("TorchFile::get", error, new_tensor);
  }

  std::shared_ptr<const Contents> contents_;
};

TENON_END_NAMESPACE
