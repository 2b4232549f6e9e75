// SPDX-License-Identifier: MIT
// Operators that libraries for torch's stable ABI register, called with tenon's values.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/runtimes/aoti_handles.h"
#include "tenon/module/evalue.h"

extern "C" {
class TorchLibraryOpaque;
using TorchLibraryHandle = TorchLibraryOpaque*;
struct StableListOpaque;
using StableListHandle = StableListOpaque*;
struct StringOpaque;
using StringHandle = StringOpaque*;
using StableIValue = uint64_t;
}

TENON_BEGIN_NAMESPACE
namespace detail {

/// A value on the operators' stack: the bytes of a number or a handle, in the first of eight.
template <class T>
StableIValue to_stack(T value) noexcept {
  static_assert(sizeof(T) <= sizeof(StableIValue));
  StableIValue made = 0;
  std::memcpy(&made, &value, sizeof value);
  return made;
}
template <class T>
T from_stack(StableIValue value) noexcept {
  T made;
  std::memcpy(&made, &value, sizeof made);
  return made;
}

using StableKernel = void (*)(StableIValue* stack, uint64_t num_inputs, uint64_t num_outputs);

/// One operator, "ns::name" or "ns::name.overload".
struct StableOperator {
  std::string schema;  // "(Tensor x, float a) -> Tensor"; "" before it is defined
  StableKernel kernel = nullptr;
  const void* definer = nullptr;  // the libraries, whose unloading removes it
  const void* implementer = nullptr;
};

/// All operators. Locked for looking up, not while one runs.
struct StableOperators {
  std::mutex mutex;
  std::map<std::string, StableOperator, std::less<>> all;
};
TENON_EXPORT inline StableOperators& stable_operators() {
  static StableOperators& operators = *new StableOperators;  // libraries may be unloaded at exit
  return operators;
}

/// What a library registers its operators through.
struct StableLibrary {
  std::string ns;
  bool is_for_cpu = true;

  std::string name_of(std::string_view name) const {
    return name.find("::") != std::string_view::npos ? std::string(name)
                                                     : ns + "::" + std::string(name);
  }
};

/// The types of a schema's arguments, or of its results: "Tensor", "int?", "float[]".
/// Source: PyTorch's native_functions.yaml.
inline std::vector<std::string> schema_types(std::string_view list) {
  std::vector<std::string> types;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c != ',' || (depth != 0 && i < list.size())) continue;
    std::string_view item = list.substr(begin, i - begin);
    begin = i + 1;
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    if (item.empty() || item == "*") continue;  // "*": keywords only from here on
    std::string type;
    int aliases = 0;  // "Tensor(a!)" is a Tensor that is written to
    for (const char each : item) {
      if (each == ' ' && aliases == 0) break;
      aliases += each == '(' ? 1 : 0;
      if (aliases == 0) type += each;
      aliases -= each == ')' ? 1 : 0;
    }
    if (type == "SymInt") type = "int";
    types.push_back(std::move(type));
  }
  return types;
}
struct StableSchema {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  /// Reads "(Tensor x, float a=1) -> (Tensor, Tensor)".
  /// Errors: InvalidArgument.
  Error read(std::string_view text) {
    const size_t arrow = text.rfind("->");
    const size_t open = text.find('(');
    const size_t close = arrow == std::string_view::npos ? arrow : text.rfind(')', arrow);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return fail(Error::InvalidArgument, "the schema \"", std::string(text).c_str(),
                  "\" is not one of an operator");
    }
    inputs = schema_types(text.substr(open + 1, close - open - 1));
    std::string_view results = text.substr(arrow + 2);
    while (!results.empty() && results.front() == ' ') results.remove_prefix(1);
    if (!results.empty() && results.front() == '(' && results.back() == ')') {
      results = results.substr(1, results.size() - 2);
    }
    outputs = schema_types(results);
    return Error::Ok;
  }
};

TENON_COLD inline Error fail_stable_type(const char* type, const EValue& value) noexcept {
  return fail(Error::InvalidType, "the operator takes a ", type, ", not a ",
              toString(value.kind()));
}
/// Puts a value of this type on the stack, which owns it.
/// Errors: InvalidType for a value of another type; NotSupported for a type that is not one of
/// Tensor, int, float, bool and those with a "?"; OutOfMemory.
inline Error push_stable(const std::string& type, const EValue& value, StableIValue& out) {
  if (!type.empty() && type.back() == '?') {
    out = 0;
    if (value.isNone()) return Error::Ok;
    auto inner = std::make_unique<StableIValue>(0);
    TENON_TRY(push_stable(type.substr(0, type.size() - 1), value, *inner));
    out = to_stack(inner.release());  // which libraries for torch before 2.13 delete
    return Error::Ok;
  }
  if (type == "Tensor") {
    if (!value.isTensor()) return fail_stable_type("Tensor", value);
    AtenTensorHandle handle = nullptr;
    TENON_TRY(make_aoti_handle(value.toTensor(), handle));
    out = to_stack(handle);
  } else if (type == "int") {
    if (!value.isInt()) return fail_stable_type("int", value);
    out = to_stack(value.toInt());
  } else if (type == "float") {
    if (!value.isDouble() && !value.isInt()) return fail_stable_type("float", value);
    out = to_stack(value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble());
  } else if (type == "bool") {
    if (!value.isBool()) return fail_stable_type("bool", value);
    out = to_stack(value.toBool());
  } else {
    return fail(Error::NotSupported, "values of type ", type.c_str(),
                "; supported are Tensor, int, float, bool, and these with a \"?\"");
  }
  return Error::Ok;
}
/// Takes a value off the stack. Whether `type` is supported was checked.
inline Error pop_stable(const std::string& type, StableIValue value, EValue& out) {
  if (type.back() == '?') {
    const std::unique_ptr<StableIValue> inner(from_stack<StableIValue*>(value));
    out = EValue();
    return inner == nullptr ? Error::Ok : pop_stable(type.substr(0, type.size() - 1), *inner, out);
  }
  if (type == "Tensor") {
    Tensor tensor;
    TENON_TRY(take_aoti_tensor(from_stack<AtenTensorHandle>(value), tensor));
    out = EValue(std::move(tensor));
  } else if (type == "int") {
    out = EValue(from_stack<int64_t>(value));
  } else if (type == "float") {
    out = EValue(from_stack<double>(value));
  } else {
    out = EValue(from_stack<bool>(value));
  }
  return Error::Ok;
}
inline bool is_stable_type(std::string_view type) noexcept {
  if (!type.empty() && type.back() == '?') type.remove_suffix(1);
  return type == "Tensor" || type == "int" || type == "float" || type == "bool";
}

/// Finds an operator that can be called.
/// Errors: NotFound; NotSupported without a kernel for the CPU; InvalidArgument for its schema.
inline Error find_stable(std::string_view name, StableKernel& kernel, StableSchema& schema) {
  StableOperators& operators = stable_operators();
  const std::lock_guard<std::mutex> lock(operators.mutex);
  const auto entry = operators.all.find(name);
  if (entry == operators.all.end()) {
    return fail(Error::NotFound, "there is no operator ", std::string(name).c_str());
  }
  if (entry->second.kernel == nullptr) {
    return fail(Error::NotSupported, entry->first.c_str(), " has no kernel for the CPU");
  }
  kernel = entry->second.kernel;
  return schema.read(entry->second.schema);
}

inline Error call_stable(std::string_view name, Span<const EValue> inputs,
                         std::vector<EValue>& outputs) {
  StableKernel kernel = nullptr;
  StableSchema schema;
  TENON_TRY(find_stable(name, kernel, schema));
  if (inputs.size() != schema.inputs.size()) {
    return fail(Error::InvalidArgument, "it takes ", schema.inputs.size(), " inputs, got ",
                inputs.size());
  }
  for (const std::string& type : schema.outputs) {
    if (!is_stable_type(type)) {
      return fail(Error::NotSupported, "it returns a value of type ", type.c_str());
    }
  }
  outputs.resize(schema.outputs.size());
  std::vector<StableIValue> stack((std::max)(inputs.size(), outputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Error error = push_stable(schema.inputs[i], inputs[i], stack[i]);
    if (error == Error::Ok) continue;
    for (size_t k = 0; k < i; ++k) {  // what the operator would have taken
      EValue dropped;
      static_cast<void>(pop_stable(schema.inputs[k], stack[k], dropped));
    }
    return fail(error, "input ", i, ": ", message_of(error));
  }
  kernel(stack.data(), inputs.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    // A kernel may give one handle for several outputs: it was taken with the first of them.
    size_t k = 0;
    while (k < i && (schema.outputs[k].find("Tensor") != 0 || stack[k] != stack[i])) ++k;
    if (k < i && schema.outputs[i] == schema.outputs[k]) {
      outputs[i] = outputs[k];
    } else {
      TENON_TRY(pop_stable(schema.outputs[i], stack[i], outputs[i]));
    }
  }
  return Error::Ok;
}

}  // namespace detail

/// Calls an operator that a library for torch's stable ABI registered for the CPU, such as
/// "extension::scale", once that library is loaded.
///
/// Ownership: the operator reads and writes the tensors where they are, and may keep them. Outputs
/// are its own.
/// Errors: NotFound; NotSupported (no kernel for the CPU; values that are not of Tensor, int,
/// float, bool or one of these with a "?"); InvalidArgument (as many inputs as its schema has);
/// InvalidType; what it throws, with its text; OutOfMemory.
/// Threads: any; what the operator allows.
/// Source: torch.ops.
inline Result<std::vector<EValue>> call_torch_operator(std::string_view name,
                                                       Span<const EValue> inputs) noexcept {
  std::vector<EValue> outputs;
  const Error error =
      detail::call_safely([&] { return detail::call_stable(name, inputs, outputs); });
  if (error != Error::Ok) return detail::add_context("call_torch_operator", error);
  return outputs;
}
inline Result<std::vector<EValue>> call_torch_operator(
    std::string_view name, std::initializer_list<EValue> inputs) noexcept {
  return call_torch_operator(name, Span<const EValue>(inputs.begin(), inputs.size()));
}

TENON_END_NAMESPACE
