// SPDX-License-Identifier: MIT
// Makes EValues of the values in a torch.save file that are not tensors.
#pragma once

#include <string>
#include <vector>

#include "tenon/interop/files/torch_values.h"
#include "tenon/module/evalue.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Appends a text's characters to `bytes`, encoded as Latin-1; false if a character is beyond 255.
inline bool decode_latin1(std::string_view text, std::string& bytes) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
    } else if ((first == 0xc2 || first == 0xc3) && i + 1 < text.size()) {
      bytes += static_cast<char>(static_cast<unsigned>(first & 3) << 6 |
                                 (static_cast<unsigned char>(text[++i]) & 0x3fu));
    } else {
      return false;
    }
  }
  return true;
}

/// Makes a list of numbers, flags or texts. If one number is a float, all become floats.
inline EValue make_list(const PickleGraph& graph, const PickleValue& list) {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<bool> flags;
  std::vector<std::string_view> texts;
  bool is_real = false;
  PickleKind kind = PickleKind::Int;
  for (uint32_t cell = list.first; cell != 0; cell = graph.cells[cell].next) {
    const PickleValue& value = graph.values[graph.cells[cell].value];
    is_real = is_real || value.kind == PickleKind::Float;
    kind = value.kind;
  }
  for (uint32_t cell = list.first; cell != 0; cell = graph.cells[cell].next) {
    const PickleValue& value = graph.values[graph.cells[cell].value];
    if (kind == PickleKind::Text) {
      texts.push_back(value.view());
    } else if (kind == PickleKind::Bool) {
      flags.push_back(value.integer != 0);
    } else if (is_real) {
      reals.push_back(value.kind == PickleKind::Float ? value.real
                                                      : static_cast<double>(value.integer));
    } else {
      integers.push_back(value.integer);
    }
  }
  if (kind == PickleKind::Text) return EValue(texts);
  if (kind == PickleKind::Bool) return EValue(flags);
  return is_real ? EValue(reals) : EValue(integers);
}

/// Makes an EValue of value `id`.
/// Errors: NotSupported (a value that EValue cannot hold); OutOfMemory.
inline Error make_torch_value(const PickleGraph& graph, uint32_t id, EValue& made) {
  const PickleValue& value = graph.values[id];
  switch (number_of(value.kind)) {
    case number_of(PickleKind::None): return Error::Ok;
    case number_of(PickleKind::Bool): made = value.integer != 0; return Error::Ok;
    case number_of(PickleKind::Int): made = value.integer; return Error::Ok;
    case number_of(PickleKind::Float): made = value.real; return Error::Ok;
    case number_of(PickleKind::Text):
    case number_of(PickleKind::Bytes): made = EValue(value.view()); return Error::Ok;
    case number_of(PickleKind::Latin1): {
      std::string bytes;
      if (!decode_latin1(value.view(), bytes)) break;
      made = EValue(bytes);
      return Error::Ok;
    }
    case number_of(PickleKind::List): made = make_list(graph, value); return Error::Ok;
    case number_of(PickleKind::Device): {
      const uint32_t type = graph.cells[value.first].value;
      const uint32_t index = graph.cells[graph.cells[value.first].next].value;
      if (graph.kind(type) != PickleKind::Text) break;
      std::string name(graph.values[type].view());
      if (graph.kind(index) == PickleKind::Int) {
        name += ':' + std::to_string(graph.values[index].integer);
      }
      made = EValue(name);
      return Error::Ok;
    }
    case number_of(PickleKind::Global):
      if (value.global.global != TorchGlobal::Dtype) break;
      made = EValue(std::string("torch.") + kTorchDtypes[value.global.index].name);
      return Error::Ok;
    default: break;
  }
  const char* const what = value.kind == PickleKind::LongInt ? "an integer of more than 64 bits"
                           : value.kind == PickleKind::ComplexNumber ? "a complex number"
                           : value.kind == PickleKind::Storage       ? "a storage without a tensor"
                           : value.kind == PickleKind::Global        ? "a class"
                                                              : "a broken bytes object or device";
  return fail(Error::NotSupported, "it is ", what, ", which an EValue cannot hold");
}

}  // namespace detail
TENON_END_NAMESPACE
