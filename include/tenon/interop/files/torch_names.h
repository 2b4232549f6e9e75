// SPDX-License-Identifier: MIT
// Gives the tensors and values of a torch.save file their names: "model.layer1.weight".
#pragma once

#include <algorithm>
#include <string>

#include "tenon/core/strides.h"
#include "tenon/interop/files/torch_archive.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE

/// Describes a tensor in a file of torch.save.
/// Threads: as a plain value.
struct TorchTensorInfo {
  std::string name;        ///< "model.layer1.weight"; empty if the file is a tensor
  const char* dtype = "";  ///< PyTorch's name for it, "float32"
  ScalarType type = ScalarType::Undefined;  ///< Undefined where get() refuses it
  Dims sizes;                               ///< in elements; PyTorch's, of packed numbers too
  Dims strides;                             ///< in elements; empty where get() refuses it
  std::string storage;                      ///< its storage's key; tensors of one share memory
  uint64_t offset = 0;                      ///< of its first element in the file
  uint64_t nbytes = 0;                      ///< of its elements
  bool requires_grad = false;               ///< as it was saved; tenon ignores it
  /// Whether get() has to copy: the numbers are not aligned, or are not in the host's byte order.
  bool is_copied = false;
  /// If get() refuses the tensor, the reason and a workaround: "a sparse tensor; save x.to_dense(),
  /// …". Else null.
  const char* refused = nullptr;
  /// Set for float4_e2m1fn_x2 and float8_e8m0fnu: get() returns their bytes, and `type` is Byte. A
  /// byte of float4_e2m1fn_x2 holds two numbers: unpack() doubles the last size.
  PackedType packed = PackedType::Undefined;
};

namespace detail {

/// A value that is not a tensor: a scalar, a text, or a list of numbers, flags or texts.
struct TorchValue {
  std::string name;
  uint32_t value;
};

/// Computes how many elements lie from a tensor's first to its last in memory; false if the number
/// does not fit 64 bits or a stride is negative.
inline bool compute_torch_span(const TorchTensorInfo& info, uint64_t& span) noexcept {
  int64_t last = 0;
  for (size_t i = 0; i < info.sizes.size(); ++i) {
    int64_t steps = 0;
    if (info.strides[i] < 0 || !multiply(info.sizes[i] - 1, info.strides[i], steps) ||
        !add(last, steps, last)) {
      return false;
    }
  }
  span = static_cast<uint64_t>(last) + 1;
  return true;
}

/// Walks the containers, names the tensors and values, and checks the tensors.
class TorchLister {
 public:
  TorchLister(TorchArchive& file, std::vector<TorchTensorInfo>& infos,
              std::vector<TorchValue>& values)
      : file_(file),
        graph_(file.graph),
        infos_(infos),
        values_(values),
        left_(kRoom + kRoomPerByte * file.pickle_bytes) {}

  /// Errors: InvalidArgument, with the tensor's name.
  Error list() { return walk(file_.root, 0); }

 private:
  /// Limits the memory for names: without a limit, a small pickle could need any amount, since a
  /// container may be in many others.
  static constexpr uint64_t kRoom = uint64_t{1} << 20;
  static constexpr uint64_t kRoomPerByte = 128;
  static constexpr int kMaxDepth = 100;

  Error spend(uint64_t bytes) noexcept {
    if (bytes > left_) {
      return fail(Error::InvalidArgument, "\"", ShownText(name_).text,
                  "\": the names take more than ", kRoom + kRoomPerByte * file_.pickle_bytes,
                  " bytes: containers contain themselves or are in many others, or have very many "
                  "elements of different kinds");
    }
    left_ -= bytes;
    return Error::Ok;
  }

  Error walk(uint32_t value, int depth) {
    if (depth > kMaxDepth) {
      return fail(Error::InvalidArgument, "\"", ShownText(name_).text, "\": more than ", kMaxDepth,
                  " containers are nested");
    }
    TENON_TRY(spend(8));
    switch (number_of(graph_.kind(value))) {
      case number_of(PickleKind::Tensor):
        return add_tensor(graph_.tensors[graph_.values[value].index]);
      case number_of(PickleKind::Dict): return walk_dict(graph_.values[value], depth);
      case number_of(PickleKind::Pairs): return walk_pairs(graph_.values[value], depth);
      case number_of(PickleKind::List):
        if (!is_plain(graph_.values[value])) return walk_list(graph_.values[value], depth);
        break;
      default: break;
    }
    TENON_TRY(spend(sizeof(TorchValue) + sizeof(size_t) + name_.size()));
    values_.push_back({name_, value});
    return Error::Ok;
  }
  /// Whether a list has only numbers, only flags or only texts.
  bool is_plain(const PickleValue& list) noexcept {
    PickleKind all = PickleKind::None;
    for (uint32_t cell = list.first; cell != 0; cell = graph_.cells[cell].next) {
      PickleKind kind = graph_.kind(graph_.cells[cell].value);
      if (kind == PickleKind::Float) kind = PickleKind::Int;
      const bool is_known =
          kind == PickleKind::Int || kind == PickleKind::Bool || kind == PickleKind::Text;
      if (!is_known || (all != PickleKind::None && kind != all)) return false;
      all = kind;
      if (spend(1) != Error::Ok) return true;
    }
    return true;
  }
  Error walk_list(const PickleValue& list, int depth) {
    uint64_t i = 0;
    for (uint32_t cell = list.first; cell != 0; cell = graph_.cells[cell].next) {
      TENON_TRY(walk_in(std::to_string(i++), graph_.cells[cell].value, depth));
    }
    return Error::Ok;
  }
  Error walk_dict(const PickleValue& dict, int depth) {
    uint64_t i = 0;
    for (uint32_t cell = dict.first; cell != 0; ++i) {
      const PickleCell key = graph_.cells[cell];
      const PickleCell entry = graph_.cells[key.next];
      TENON_TRY(walk_entry(key.value, i, entry.value, depth));
      cell = entry.next;
    }
    return Error::Ok;
  }
  Error walk_pairs(const PickleValue& pairs, int depth) {
    uint64_t i = 0;
    for (uint32_t cell = pairs.first; cell != 0; cell = graph_.cells[cell].next) {
      const uint32_t pair = graph_.cells[cell].value;
      TENON_TRY(walk_entry(graph_.element(pair, 0), i++, graph_.element(pair, 1), depth));
    }
    return Error::Ok;
  }
  /// Walks entry `i` of a dict. A key that is neither a text nor a number is named by its index.
  Error walk_entry(uint32_t key, uint64_t i, uint32_t value, int depth) {
    const PickleValue& from = graph_.values[key];
    switch (number_of(from.kind)) {
      case number_of(PickleKind::Text):
      case number_of(PickleKind::Bytes): return walk_in(from.view(), value, depth);
      case number_of(PickleKind::Int): return walk_in(std::to_string(from.integer), value, depth);
      case number_of(PickleKind::Bool):
        return walk_in(from.integer != 0 ? "True" : "False", value, depth);
      case number_of(PickleKind::None): return walk_in("None", value, depth);
      default: return walk_in("#" + std::to_string(i), value, depth);
    }
  }
  Error walk_in(std::string_view key, uint32_t value, int depth) {
    const size_t outer = name_.size();
    TENON_TRY(spend(key.size()));
    if (depth != 0) name_ += '.';
    name_ += key;
    TENON_TRY(walk(value, depth + 1));
    name_.resize(outer);
    return Error::Ok;
  }

  Error add_tensor(const TorchTensor& tensor) {
    const size_t key = tensor.refused == nullptr ? graph_.storages[tensor.storage].key.size() : 0;
    TENON_TRY(spend(sizeof(TorchTensorInfo) + sizeof(size_t) + name_.size() + key +
                    2 * sizeof(int64_t) * tensor.rank));
    TorchTensorInfo& info = infos_.emplace_back();
    info.name = name_;
    const Error error = describe(tensor, info);
    if (error == Error::Ok) return error;
    return fail(error, "tensor \"", ShownText(name_).text, "\": ", last_error_message());
  }
  void copy_numbers(uint32_t list, size_t rank, Dims& out) const {
    uint32_t cell = graph_.values[list].first;
    for (; rank > 0; --rank, cell = graph_.cells[cell].next) {
      out.push_back(graph_.values[graph_.cells[cell].value].integer);
    }
  }
  Error describe(const TorchTensor& tensor, TorchTensorInfo& info) {
    const TorchDtype& dtype = kTorchDtypes[tensor.dtype];
    info.dtype = dtype.name;
    info.requires_grad = tensor.requires_grad;
    copy_numbers(tensor.sizes, tensor.rank, info.sizes);
    info.refused = tensor.refused;
    if (info.refused == nullptr && dtype.type == own::ScalarType::Undefined) {
      info.refused = "tenon has no such dtype; save x.view(torch.uint8), or another dtype";
    }
    if (info.refused != nullptr) return Error::Ok;
    info.type = public_type(dtype.type);
    info.packed = dtype.packed;
    copy_numbers(tensor.strides, tensor.rank, info.strides);
    const TorchStorage& storage = graph_.storages[tensor.storage];
    info.storage = storage.key;
    ptrdiff_t numel = 0;
    TENON_TRY(check_dims("the sizes", info.sizes));
    TENON_TRY(check_dims("the strides", info.strides));
    TENON_TRY(compute_numel(info.sizes, dtype.size, numel));
    info.nbytes = static_cast<uint64_t>(numel) * dtype.size;
    TorchRegion region;
    TENON_TRY(file_.find(storage, region));
    // Bounds of the storage (in the old form, of a view of the storage), as bytes of the region.
    const uint64_t element = kTorchDtypes[storage.dtype].size;
    const uint64_t room = region.size / element;
    if (storage.begin > room || storage.numel > room - storage.begin) {
      const uint64_t last = storage.begin + std::max<uint64_t>(storage.numel, 1) - 1;
      return fail(Error::InvalidArgument, "elements ", storage.begin, " to ", last,
                  " reach beyond its storage, ", region.size, " bytes from byte ", region.begin);
    }
    const uint64_t size = storage.numel * element;
    info.offset = region.begin + storage.begin * element;
    if (numel != 0) {
      uint64_t span = 0;
      const bool is_inside = compute_torch_span(info, span) && tensor.offset >= 0 &&
                             static_cast<uint64_t>(tensor.offset) <= size / dtype.size &&
                             span <= size / dtype.size - static_cast<uint64_t>(tensor.offset);
      if (!is_inside) {
        return fail(Error::InvalidArgument, "sizes ", info.sizes, ", strides ", info.strides,
                    " from element ", tensor.offset, " reach beyond its storage, ", size,
                    " bytes from byte ", info.offset);
      }
      info.offset += static_cast<uint64_t>(tensor.offset) * dtype.size;
    }
    const size_t number = number_size(dtype.type);
    info.is_copied =
        numel != 0 && (reinterpret_cast<uintptr_t>(file_.bytes.data + info.offset) % number != 0 ||
                       (file_.is_swapped && number > 1));
    return Error::Ok;
  }

  TorchArchive& file_;
  const PickleGraph& graph_;
  std::vector<TorchTensorInfo>& infos_;
  std::vector<TorchValue>& values_;
  std::string name_;
  uint64_t left_;
};

}  // namespace detail
TENON_END_NAMESPACE
