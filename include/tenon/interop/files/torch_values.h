// SPDX-License-Identifier: MIT
// PickleGraph: the values, tensors and storages that torch.save's pickles hold. TorchMaker: makes
// the tensors and containers of the graph.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "tenon/core/dims.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/files/torch_types.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class PickleKind : uint8_t {
  None,
  Bool,
  Int,
  LongInt,  // more than 64 bits
  Float,
  Text,
  Bytes,
  Latin1,  // bytes, stored as a text of Latin-1 characters
  List,    // or a tuple, a set, a torch.Size
  Dict,
  Pairs,  // a dict, as a list of lists of a key and a value
  ComplexNumber,
  Device,
  Global,
  Storage,
  Tensor,
};

/// A value. A text refers to the file's bytes. The elements of a container are a linked list of
/// cells; in a dict, keys and values alternate.
struct PickleValue {
  PickleKind kind = PickleKind::None;
  TorchFound global;
  bool is_namespace = false;
  uint32_t last = 0;  // index of the last cell
  uint64_t size = 0;  // of a text: bytes; of a container: cells
  union {
    int64_t integer = 0;
    double real;
    const char* text;  // of a text or a global's name
    uint32_t first;    // index of a container's first cell; 0 if empty
    uint32_t index;    // of a storage or tensor
  };
  std::string_view view() const noexcept { return {text, static_cast<size_t>(size)}; }
};
struct PickleCell {
  uint32_t value;
  uint32_t next;  // index of the next cell, which is larger; 0 at the end
};

struct TorchStorage {
  std::string_view key;
  uint64_t numel = 0;
  uint64_t begin = 0;  // in elements; not 0 for a view in the old form
  uint8_t dtype = 0;   // in kTorchDtypes
};
struct TorchTensor {
  const char* refused = nullptr;  // why get() refuses the tensor, and a workaround; else null
  uint32_t storage = 0;
  uint32_t sizes = 0;  // like strides, the index of a value: a list of integers
  uint32_t strides = 0;
  uint8_t dtype = 0;
  bool requires_grad = false;
  uint8_t rank = 0;    // kept, since the lists may grow after they were checked
  int64_t offset = 0;  // in elements
};

/// The result of reading pickles. A value is named by its index; index 0 is None.
struct PickleGraph {
  static constexpr uint32_t kNone = 0;
  static constexpr uint32_t kTrue = 1;
  static constexpr uint32_t kFalse = 2;

  std::vector<PickleValue> values{3};
  std::vector<PickleCell> cells{{kNone, 0}};  // index 0 marks the end of a list of cells
  std::vector<TorchStorage> storages;
  std::vector<TorchTensor> tensors;

  PickleGraph() {
    for (const uint32_t flag : {kTrue, kFalse}) {
      values[flag].kind = PickleKind::Bool;
      values[flag].integer = flag == kTrue ? 1 : 0;
    }
  }
  /// An element of a list; None beyond the end.
  uint32_t element(uint32_t list, size_t i) const noexcept {
    if (values[list].kind != PickleKind::List) return kNone;
    uint32_t cell = values[list].first;
    while (i-- > 0) cell = cells[cell].next;
    return cells[cell].value;
  }
  PickleKind kind(uint32_t value) const noexcept { return values[value].kind; }
  uint32_t add(const PickleValue& value) {
    values.push_back(value);
    return static_cast<uint32_t>(values.size() - 1);
  }
  uint32_t add(PickleKind kind) {
    PickleValue value;
    value.kind = kind;
    return add(value);
  }
};

/// Makes the results of the calls in a pickle. TorchUnpickler adds the byte position to its errors.
class TorchMaker {
 public:
  explicit TorchMaker(PickleGraph& graph) noexcept : graph_(graph) {}

  /// Sets `made` to the result of calling a global with a tuple of arguments.
  Error call(uint32_t function, uint32_t args, uint32_t& made) {
    if (graph_.values[function].global.global == TorchGlobal::Subclass) {
      // (function, class, its arguments, the attributes)
      function = graph_.element(args, 0);
      args = graph_.element(args, 2);
    }
    const PickleValue called = graph_.values[function];
    if (called.kind != PickleKind::Global || graph_.kind(args) != PickleKind::List) {
      return fail(Error::InvalidArgument,
                  "it calls a value that is not a function, or without a tuple of arguments");
    }
    const uint32_t first = graph_.element(args, 0);
    const bool has_none = graph_.values[args].size == 0;
    const PickleKind kind = graph_.kind(first);
    switch (number_of(called.global.global)) {
      case number_of(TorchGlobal::Namespace):
        made = graph_.add(PickleKind::Dict);
        graph_.values[made].is_namespace = true;
        return Error::Ok;
      case number_of(TorchGlobal::DefaultDict):
        made = graph_.add(PickleKind::Dict);
        return Error::Ok;
      case number_of(TorchGlobal::Dict):
        made = has_none                   ? graph_.add(PickleKind::Dict)
               : kind == PickleKind::List ? add_as(PickleKind::Pairs, first)
                                          : first;
        if (has_none || kind == PickleKind::List || kind == PickleKind::Dict) return Error::Ok;
        break;
      case number_of(TorchGlobal::List):
        made = has_none ? graph_.add(PickleKind::List) : first;
        if (has_none || kind == PickleKind::List) return Error::Ok;
        break;
      case number_of(TorchGlobal::Bytes):  // bytes, or a text and an encoding
        made = has_none                   ? graph_.add(PickleKind::Bytes)
               : kind == PickleKind::Text ? add_as(PickleKind::Latin1, first)
                                          : first;
        if (has_none || kind == PickleKind::Text || kind == PickleKind::Bytes ||
            kind == PickleKind::Latin1) {
          return Error::Ok;
        }
        break;
      case number_of(TorchGlobal::Layout):
        made = first;
        if (kind == PickleKind::Text) return Error::Ok;
        break;
      case number_of(TorchGlobal::ComplexNumber):
        made = add_as(PickleKind::ComplexNumber, args);
        return Error::Ok;
      case number_of(TorchGlobal::Device):
        made = add_as(PickleKind::Device, args);
        return Error::Ok;
      case number_of(TorchGlobal::Class):
      case number_of(TorchGlobal::Dtype):
      case number_of(TorchGlobal::Storage):
      case number_of(TorchGlobal::Subclass):
      case number_of(TorchGlobal::Unknown): break;
      default: {
        TorchTensor tensor;
        TENON_TRY(make_tensor(called.global.global, args, tensor));
        graph_.tensors.push_back(tensor);
        made = graph_.add(PickleKind::Tensor);
        graph_.values[made].index = static_cast<uint32_t>(graph_.tensors.size() - 1);
        return Error::Ok;
      }
    }
    return fail(Error::InvalidArgument, ShownText(called.view()).text,
                " has arguments that torch.save does not write");
  }

  /// Sets the entries of a Namespace from its state. The state of other objects, such as
  /// `_metadata` of a state_dict, is ignored.
  Error set_state(uint32_t of, uint32_t state) {
    PickleValue& made = graph_.values[of];
    if (made.kind == PickleKind::Tensor) {
      return fail(Error::InvalidArgument, "it sets a tensor's state");
    }
    if (made.is_namespace && graph_.kind(state) == PickleKind::Dict) made = graph_.values[state];
    return Error::Ok;
  }

  /// Makes a storage of the tuple ("storage", class, key, device, elements). In the old form a
  /// sixth element may be a view: (key, offset, elements).
  Error make_storage(uint32_t id, uint32_t& made) {
    const auto part = [&](size_t i) -> const PickleValue& {
      return graph_.values[graph_.element(id, i)];
    };
    if (part(0).kind != PickleKind::Text || part(0).view() != "storage" ||
        part(1).global.global != TorchGlobal::Storage || part(2).kind != PickleKind::Text) {
      return fail(Error::InvalidArgument,
                  "a persistent id is not that of a storage; save the weights alone: "
                  "torch.save(model.state_dict(), path)");
    }
    TorchStorage storage;
    storage.key = part(2).view();
    if (storage.key.size() > 255) {
      return fail(Error::InvalidArgument, "a storage's key has ", storage.key.size(),
                  " bytes, expected at most 255");
    }
    storage.dtype = part(1).global.index;
    TENON_TRY(set_size(graph_.element(id, 4), storage.numel));
    if (const uint32_t view = graph_.element(id, 5); graph_.kind(view) == PickleKind::List) {
      TENON_TRY(set_size(graph_.element(view, 1), storage.begin));
      TENON_TRY(set_size(graph_.element(view, 2), storage.numel));
    }
    graph_.storages.push_back(storage);
    made = graph_.add(PickleKind::Storage);
    graph_.values[made].index = static_cast<uint32_t>(graph_.storages.size() - 1);
    return Error::Ok;
  }

 private:
  uint32_t add_as(PickleKind kind, uint32_t of) {
    PickleValue value = graph_.values[of];
    value.kind = kind;
    return graph_.add(value);
  }
  Error set_size(uint32_t value, uint64_t& size) const noexcept {
    const PickleValue& number = graph_.values[value];
    if (number.kind != PickleKind::Int || number.integer < 0) {
      return fail(
          Error::InvalidArgument,
          "a storage's size, or the offset of a view of it, is not an integer of 0 or more");
    }
    size = static_cast<uint64_t>(number.integer);
    return Error::Ok;
  }

  Error make_tensor(TorchGlobal function, uint32_t args, TorchTensor& made) const noexcept {
    const auto arg = [&](size_t i) { return graph_.element(args, i); };
    const auto is_true = [&](size_t i) { return arg(i) == PickleGraph::kTrue; };
    switch (number_of(function)) {
      case number_of(TorchGlobal::Tensor):
        TENON_TRY(set_storage(args, made));
        made.requires_grad = is_true(4);
        return set_flags(arg(6), made);
      case number_of(TorchGlobal::TensorV3):
        TENON_TRY(set_storage(args, made));
        made.requires_grad = is_true(4);
        TENON_TRY(set_dtype(arg(6), made));
        return set_flags(arg(7), made);
      case number_of(TorchGlobal::Quantized):
        made.refused = "a quantized tensor; save x.dequantize(), or x.int_repr() and its scales";
        made.requires_grad = is_true(5);
        return set_storage(args, made);
      case number_of(TorchGlobal::Parameter):
        TENON_TRY(copy_tensor(arg(0), made));
        made.requires_grad = is_true(1);
        return Error::Ok;
      case number_of(TorchGlobal::CpuTensor): {
        TENON_TRY(copy_tensor(arg(0), made));
        const uint8_t old = made.dtype;
        TENON_TRY(set_dtype(arg(1), made));
        made.requires_grad = is_true(3);
        if (made.dtype != old)
          made.refused = "a tensor of a device, saved as another dtype; save x.cpu()";
        return Error::Ok;
      }
      case number_of(TorchGlobal::Meta):
        made.refused = "a meta tensor, which has no elements";
        made.requires_grad = is_true(3);
        TENON_TRY(set_dtype(arg(0), made));
        return set_shape(arg(1), arg(2), made);
      case number_of(TorchGlobal::Wrapper):
        made.refused = "a tensor of a class that keeps its elements elsewhere; save its parts";
        made.requires_grad = is_true(7);
        TENON_TRY(set_dtype(arg(1), made));
        return set_shape(arg(2), arg(3), made);
      case number_of(TorchGlobal::Nested):
        TENON_TRY(copy_tensor(arg(0), made));
        made.refused = "a nested tensor; save its unbind(), or to_padded_tensor()";
        return Error::Ok;
      default: {  // sparse: a layout, and (indices, values, sizes); CSR and others have two indices
        const uint32_t parts = arg(1);
        const size_t values = graph_.kind(graph_.element(parts, 2)) == PickleKind::Tensor ? 2 : 1;
        TENON_TRY(copy_tensor(graph_.element(parts, values), made));
        made.refused = "a sparse tensor; save x.to_dense(), or its indices and values";
        made.strides = PickleGraph::kNone;
        const uint32_t sizes = graph_.element(parts, values + 1);
        return set_shape(sizes, sizes, made);
      }
    }
  }
  Error copy_tensor(uint32_t value, TorchTensor& made) const noexcept {
    if (graph_.kind(value) != PickleKind::Tensor) {
      return fail(Error::InvalidArgument, "it makes a tensor from a value that is not a tensor");
    }
    made = graph_.tensors[graph_.values[value].index];
    return Error::Ok;
  }
  Error set_dtype(uint32_t value, TorchTensor& made) const noexcept {
    const TorchFound found = graph_.values[value].global;
    if (found.global != TorchGlobal::Dtype) {
      return fail(Error::InvalidArgument, "a tensor's dtype is not a dtype");
    }
    made.dtype = found.index;
    return Error::Ok;
  }
  Error set_storage(uint32_t args, TorchTensor& made) const noexcept {
    const PickleValue& storage = graph_.values[graph_.element(args, 0)];
    const PickleValue& offset = graph_.values[graph_.element(args, 1)];
    if (storage.kind != PickleKind::Storage || offset.kind != PickleKind::Int) {
      return fail(Error::InvalidArgument,
                  "a tensor's storage is not a storage, or its offset not an integer");
    }
    made.storage = storage.index;
    made.dtype = graph_.storages[storage.index].dtype;
    made.offset = offset.integer;
    return set_shape(graph_.element(args, 2), graph_.element(args, 3), made);
  }
  Error set_shape(uint32_t sizes, uint32_t strides, TorchTensor& made) const noexcept {
    for (const uint32_t list : {sizes, strides}) {
      const PickleValue& value = graph_.values[list];
      if (value.kind != PickleKind::List || value.size > kMaxDims) {
        return fail(Error::InvalidArgument,
                    "a tensor's sizes or strides are not a list of at most ", kMaxDims,
                    " integers");
      }
      for (uint32_t cell = value.first; cell != 0; cell = graph_.cells[cell].next) {
        if (graph_.kind(graph_.cells[cell].value) == PickleKind::Int) continue;
        return fail(Error::InvalidArgument, "a tensor's size or stride is not an integer");
      }
    }
    if (graph_.values[sizes].size != graph_.values[strides].size) {
      return fail(Error::InvalidArgument, "a tensor has ", graph_.values[sizes].size,
                  " sizes, but ", graph_.values[strides].size, " strides");
    }
    made.rank = static_cast<uint8_t>(graph_.values[sizes].size);
    made.sizes = sizes;
    made.strides = strides;
    return Error::Ok;
  }
  /// Reads a tensor's flags: {"conj": True}, {"neg": True}, or both.
  Error set_flags(uint32_t value, TorchTensor& made) const noexcept {
    const PickleValue& dict = graph_.values[value];
    if (dict.kind != PickleKind::Dict) return Error::Ok;
    if (dict.size > 16) return fail(Error::InvalidArgument, "a tensor has too many flags");
    for (uint32_t cell = dict.first; cell != 0; cell = graph_.cells[cell].next) {
      if (graph_.cells[cell].value != PickleGraph::kTrue) continue;
      made.refused = "a conjugated or negated view; save x.resolve_conj().resolve_neg()";
    }
    return Error::Ok;
  }

  PickleGraph& graph_;
};

}  // namespace detail
TENON_END_NAMESPACE
