// SPDX-License-Identifier: MIT
// write_torch_file: writes a state_dict in torch.save's format. Needs minizip.
#pragma once

#include <map>
#include <tuple>

#include "tenon/interop/files/named_tensor.h"
#include "tenon/interop/files/npz_writer.h"
#include "tenon/interop/files/torch_types.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A tensor to write.
struct TorchEntry {
  const NamedTensor* tensor;
  const TorchDtype* dtype;
  uint64_t nbytes;
  size_t storage;  // the number of its storage in the file
  bool is_dense;   // whether its memory is written unchanged, with its strides; else row-major
};

/// Checks and describes a tensor.
inline Error describe_for_torch(const NamedTensor& tensor, TorchEntry& entry) noexcept {
  const ConstTensorArg arg(tensor.tensor);
  TENON_TRY(check_defined(arg, "it"));
  const TensorFields& from = fields(arg);
  MemoryLocation there;
  TENON_TRY(find_location(from, "it", there));
  entry = {&tensor, nullptr, from.nbytes(), 0, from.layout.is_dense()};
  for (const TorchDtype& dtype : kTorchDtypes) {
    if (dtype.type != from.type || &dtype == kTorchDtypes) continue;  // UntypedStorage's row
    entry.dtype = &dtype;
    break;  // a later row may have the same type: bits8 is Byte too
  }
  if (entry.dtype != nullptr) return Error::Ok;
  return fail(Error::NotSupported, "PyTorch has no dtype ", from.type);
}

/// Checks the tensors, and numbers their storages: tensors of one dtype over the same byte range
/// share a storage.
inline Error number_torch_storages(const std::vector<NamedTensor>& tensors,
                                   std::vector<TorchEntry>& entries,
                                   std::vector<const TorchEntry*>& storages) {
  TENON_TRY(check_names(tensors));
  entries.reserve(tensors.size());  // storages point to them
  std::map<std::tuple<const void*, uint64_t, ScalarType>, size_t> known;
  for (const NamedTensor& tensor : tensors) {
    TorchEntry& entry = entries.emplace_back();
    if (const Error error = describe_for_torch(tensor, entry); error != Error::Ok) {
      return fail(error, "tensor \"", ShownText(tensor.name).text, "\": ", last_error_message());
    }
    const ConstTensorArg arg(tensor.tensor);
    const TensorFields& from = fields(arg);
    entry.storage = storages.size();
    // Equal addresses of memory that only a backend can read do not mean that the memory is shared.
    if (entry.is_dense && entry.nbytes != 0 && from.is_host_accessible()) {
      entry.storage =
          known.try_emplace({from.data, entry.nbytes, from.type}, storages.size()).first->second;
    }
    if (entry.storage == storages.size()) storages.push_back(&entry);
  }
  constexpr size_t kMost = UINT16_MAX - 1 - 3;  // minizip's limit, less the three other files
  if (storages.size() <= kMost) return Error::Ok;
  return fail(Error::NotSupported, storages.size(), " storages, expected at most ", kMost);
}

/// Writes a pickle, of protocol 2.
class TorchPickle {
 public:
  std::string bytes = "\x80\x02";

  /// Adds a class or function, by its module and name.
  void add_global(const char* module, const std::string& name) {
    add_once(std::string("c").append(module).append("\n").append(name).append("\n"));
  }
  /// Adds a text that may occur several times.
  void add_word(const char* word) { add_once(text(word)); }
  void add_text(std::string_view word) { bytes += text(word); }
  void add_integer(int64_t value) {
    const bool is_byte = value >= 0 && value < 256;
    const bool is_int = value >= INT32_MIN && value <= INT32_MAX;
    bytes += is_byte ? "K" : is_int ? "J" : "\x8a\x08";
    append_number(bytes, static_cast<uint64_t>(value), is_byte ? 1 : is_int ? 4 : 8);
  }
  /// Adds an OrderedDict without entries.
  void add_ordered_dict() {
    add_global("collections", "OrderedDict");
    bytes += ")R";  // called without arguments
  }

 private:
  static void append_number(std::string& out, uint64_t value, int count) {
    for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i));
  }
  static std::string text(std::string_view word) {
    std::string code = "X";
    append_number(code, word.size(), 4);
    return code.append(word);
  }
  /// Adds the opcodes at their first occurrence; later occurrences refer to the pickle's memo.
  void add_once(const std::string& code) {
    const auto [at, is_new] = memo_.try_emplace(code, static_cast<char>(memo_.size()));
    bytes += is_new ? code + 'q' : "h";
    bytes += at->second;
  }

  std::map<std::string, char> memo_;  // fewer than 256
};

/// Appends a tensor to a pickle, as a call of the PyTorch function that makes the tensor.
inline Error pickle_torch_tensor(const TorchEntry& entry, TorchPickle& pickle) {
  const ConstTensorArg tensor(entry.tensor->tensor);
  const Layout& layout = fields(tensor).layout;
  const auto sizes = layout.sizes();
  const bool has_storage = *entry.dtype->storage != '\0';  // whether there is a storage class
  pickle.add_global("torch._utils", has_storage ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickle.bytes += "((";
  pickle.add_word("storage");
  pickle.add_global(has_storage ? "torch" : "torch.storage",
                    std::string(has_storage ? entry.dtype->storage : "Untyped") + "Storage");
  pickle.add_text(std::to_string(entry.storage));
  pickle.add_word("cpu");
  pickle.add_integer(static_cast<int64_t>(
      has_storage ? entry.nbytes / elementSize(fields(tensor).type) : entry.nbytes));
  pickle.bytes += "tQ";
  pickle.add_integer(0);  // the offset
  pickle.bytes += '(';
  for (const int64_t size : sizes) pickle.add_integer(size);
  pickle.bytes += "t(";
  if (entry.is_dense && !layout.is_contiguous()) {
    // A dimension of size 1 may have a negative stride, which PyTorch refuses.
    for (const int64_t stride : layout.strides()) pickle.add_integer(std::max<int64_t>(stride, 1));
  } else {
    Layout rows;
    TENON_TRY(rows.make_row_major(sizes, 1));
    for (const int64_t stride : rows.strides()) pickle.add_integer(stride);
  }
  pickle.bytes += "t\x89";    // requires_grad=False
  pickle.add_ordered_dict();  // backward_hooks
  if (!has_storage) pickle.add_global("torch", entry.dtype->name);
  pickle.bytes += "tR";
  return Error::Ok;
}

/// Finds a tensor's bytes: in the order of memory if the tensor is dense.
inline Error find_torch_bytes(const TorchEntry& entry, HostBytes& out) noexcept {
  const ConstTensorArg tensor(entry.tensor->tensor);
  TENON_TRY(check_defined(tensor, "it"));
  const TensorFields& from = fields(tensor);
  if (from.nbytes() != entry.nbytes || from.layout.is_dense() != entry.is_dense) {
    // A backend's code or on_progress resized the tensor.
    return fail(Error::InvalidState, "it was resized while it was written");
  }
  const size_t width = number_size(from.type);
  const bool is_swapped = host_is_big_endian() && width > 1;
  if (!entry.is_dense) {
    TENON_TRY(find_host_bytes(tensor, out, is_swapped));
  } else {
    const int64_t count = from.layout.numel;
    const int64_t one = 1;
    MemoryLocation there;
    TENON_TRY(find_location(from, "it", there));
    TENON_TRY(out.hold.hold(tensor));
    out.data = from.data;
    out.nbytes = static_cast<size_t>(entry.nbytes);
    if (is_swapped || there.backend != nullptr) {
      there.view.sizes = ArrayRef<int64_t>(&count, 1);
      there.view.strides = ArrayRef<int64_t>(&one, 1);
      TENON_TRY(copy_to_host(from, there, out));
    }
  }
  if (is_swapped) swap_byte_order(fields(out.copy).data, out.nbytes, width);
  return Error::Ok;
}

/// Writes one file of the archive.
inline Error write_torch_record(ZipWriter& zip, const std::string& name, const void* data,
                                size_t nbytes, Progress* progress) {
  TENON_TRY(zip.begin("archive/" + name, nbytes, false));
  TENON_TRY(zip.write(data, nbytes, progress));
  return zip.end();
}

/// `tensors` is a copy: on_progress may change the caller's.
inline Error write_torch_file(const FileTarget& to, std::vector<NamedTensor> tensors,
                              const ProgressFunction& on_progress, FileWrite how) {
  std::vector<TorchEntry> entries;
  std::vector<const TorchEntry*> storages;
  TENON_TRY(number_torch_storages(tensors, entries, storages));
  TorchPickle pickle;
  pickle.add_ordered_dict();
  for (const TorchEntry& entry : entries) {
    pickle.add_text(entry.tensor->name);
    TENON_TRY(pickle_torch_tensor(entry, pickle));
    pickle.bytes += 's';
  }
  pickle.bytes += '.';
  uint64_t total = 0;
  for (const TorchEntry* entry : storages) total += entry->nbytes;

  OutputFile file;
  ZipWriter zip;  // destroyed first
  Progress progress(on_progress, total);
  TENON_TRY(file.open(to, how));
  TENON_TRY(zip.open(file));
  TENON_TRY(write_torch_record(zip, "data.pkl", pickle.bytes.data(), pickle.bytes.size(), nullptr));
  TENON_TRY(write_torch_record(zip, "byteorder", "little", 6, nullptr));
  for (const TorchEntry* entry : storages) {
    HostBytes elements;
    Error error = find_torch_bytes(*entry, elements);
    if (error == Error::Ok) {
      error = write_torch_record(zip, "data/" + std::to_string(entry->storage), elements.data,
                                 elements.nbytes, &progress);
    }
    if (error != Error::Ok) {
      return fail(error, "tensor \"", ShownText(entry->tensor->name).text,
                  "\": ", last_error_message());
    }
  }
  TENON_TRY(write_torch_record(zip, "version", "3\n", 2, nullptr));
  TENON_TRY(zip.finish());
  return file.commit(true);
}

}  // namespace detail

/// Writes a state_dict, an OrderedDict of tensors, as torch.save() does. An existing file is
/// replaced once the new one is complete and on the disk, and stays unchanged after an error,
/// unless FileWrite says otherwise. torch.load() reads the file, also with weights_only and mmap.
/// torch.jit.load() does not: the file has no code.
///
/// The elements of each tensor begin at a multiple of 64 bytes. A dense tensor, transposed or not,
/// keeps its strides. A tensor that is not dense, or not in host memory, is copied to row-major
/// order, one tensor at a time. Tensors of one dtype over the same byte range, such as tied
/// weights, share a storage in the file and after torch.load(); tensors that overlap otherwise are
/// written separately.
///
/// Ownership: reads the tensors. `on_progress` gets the bytes of the elements.
/// Errors: InvalidArgument (a name that occurs twice, or is not UTF-8); NotSupported (more than
/// 65531 storages; memory that the host cannot read); InvalidState (undefined; a placeholder);
/// AccessFailed, with the system's text, and for a pipe; OutOfMemory; what on_progress threw.
/// Source: torch.save.
[[nodiscard]] inline Error write_torch_file(const detail::FileTarget& to,
                                            const std::vector<NamedTensor>& tensors,
                                            const ProgressFunction& on_progress = {},
                                            FileWrite how = FileWrite::Replace) noexcept {
  Error error = to.check();
  if (error == Error::Ok) {
    error = detail::call_safely(
        [&] { return detail::write_torch_file(to, tensors, on_progress, how); });
    if (error == Error::Ok) return error;
    error = to.add_context(error);
  }
  return detail::add_context("write_torch_file", error);
}

TENON_END_NAMESPACE
