// SPDX-License-Identifier: MIT
// Calls operators without a C function for AOTInductor's models: custom operators, and operators of
// PyTorch that torch's C functions lack (median, unique, linalg). The package lists the calls in
// JSON. A call goes to the function that register_torch_operator() or a library for torch's stable
// ABI registered. Needs nlohmann-json.
//
// Include this header in one source file of the program, and export its functions, as
// interop/aoti_shim.h says. Then AotiModel::load() finds the operators, and names the missing ones
// in its error.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#if !__has_include(<nlohmann/json.hpp>)
#error "tenon: interop/aoti_proxy.h needs <nlohmann/json.hpp> (Debian: nlohmann-json3-dev)"
#endif
#include <nlohmann/json.hpp>

#include "tenon/interop/runtimes/aoti_shim_functions.h"
#include "tenon/interop/runtimes/aoti_source.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using ProxyJson = nlohmann::json;

/// The member of that name; null if there is none.
inline const ProxyJson* json_member(const ProxyJson& object, const char* name) noexcept {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found != object.end() ? &*found : nullptr;
}
inline Error json_text(const ProxyJson& object, const char* name, std::string& out) {
  const ProxyJson* const found = json_member(object, name);
  if (found == nullptr || !found->is_string()) {
    return fail(Error::InvalidArgument, "the package's JSON of operators lacks the text \"", name,
                "\"");
  }
  out = found->get<std::string>();
  return Error::Ok;
}
/// torch's number for an enumerator of the schema of exported programs; -1 if torch has none.
/// Source: torch/_export/serde/schema.py.
inline int64_t exported_enum(std::string_view kind, const ProxyJson& value) noexcept {
  const int64_t n = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (kind == "as_layout") return n == 7 ? 0 : -1;  // strided
  if (kind == "as_memory_format") {
    constexpr int kFormats[] = {-1, 0, 2, 3, 1};
    return n >= 0 && n < 5 ? kFormats[n] : -1;
  }
  if (kind != "as_scalar_type") return -1;
  constexpr int kLater[] = {27, 24, 23, 26, 25, 44, 28, 29};  // from 28 on
  if (n >= 1 && n <= 12) return n - 1;
  if (n == 13) return 15;
  return n >= 28 && n < 36 ? kLater[n - 28] : -1;
}

/// An argument that the model passes with a call.
struct ProxyArgument {
  size_t input = 0;  // index of the operator's input
  bool is_tensor = false;
  bool is_list = false;
  std::vector<bool> is_there;  // of a list: for each element, false if it is None
};
/// A result, and the arguments that the model passes to receive it.
struct ProxyResult {
  enum class Kind { None, Tensor, List, Int } kind = Kind::None;
  std::vector<ValueSpec> specs;  // specs of the result's tensors
};

/// One call of an operator in a model.
struct ProxyNode {
  std::string name;            // "aten::median.dim"
  std::vector<EValue> inputs;  // the operator's inputs; None for those that the model passes
  std::vector<ProxyArgument> arguments;
  std::vector<ProxyResult> results;
  size_t tensors = 0;  // number of tensors that the model passes, also for results
  size_t ints = 0;

  Error read(const ProxyJson& node, const StableSchema& schema, std::string_view source) {
    std::vector<bool> is_given(schema.inputs.size(), false);
    for (const StableArgument& each : schema.inputs) inputs.push_back(each.default_value);
    const ProxyJson* const given = json_member(node, "inputs");
    const ProxyJson* const outputs = json_member(node, "outputs");
    if (given == nullptr || !given->is_array() || outputs == nullptr || !outputs->is_array()) {
      return fail(Error::InvalidArgument,
                  "the package's JSON lacks the lists \"inputs\" and \"outputs\"");
    }
    for (const ProxyJson& each : *given) {
      std::string argument;
      TENON_TRY(json_text(each, "name", argument));
      size_t i = 0;
      while (i < inputs.size() && schema.inputs[i].name != argument) ++i;
      const ProxyJson* const value = json_member(each, "arg");
      if (i == inputs.size() || is_given[i] || value == nullptr || !value->is_object() ||
          value->size() != 1) {
        return fail(Error::InvalidArgument, "the model passes an argument ", argument,
                    ", which the registered schema does not have, or passes it twice");
      }
      is_given[i] = true;
      TENON_TRY(add_context_if(
          "input", i, argument.c_str(),
          read_input(i, schema.inputs[i].type, value->begin().key(), value->begin().value())));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_given[i] || schema.inputs[i].has_default) continue;
      return fail(Error::InvalidArgument, "the model passes no ", schema.inputs[i].name,
                  ", for which the registered schema has no default");
    }
    if (outputs->size() != schema.outputs.size()) {
      return fail(Error::InvalidArgument, "the model takes ", outputs->size(),
                  " outputs, but the registered schema has ", schema.outputs.size());
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      TENON_TRY(add_context_if("output", i, "",
                               read_output(schema.outputs[i].type, (*outputs)[i], source)));
    }
    return Error::Ok;
  }

 private:
  static Error fail_kind(std::string_view kind, std::string_view type) noexcept {
    return fail(Error::NotSupported, "the model passes ", kind, " for a ", type);
  }
  Error pass(size_t i, bool is_tensor, bool is_list, std::vector<bool> is_there) {
    const auto count = std::count(is_there.begin(), is_there.end(), true);
    (is_tensor ? tensors : ints) += static_cast<size_t>(count);
    arguments.push_back({i, is_tensor, is_list, std::move(is_there)});
    return Error::Ok;
  }
  /// The model passes tensors and integers with each call, except integers for a float argument.
  /// Other values are in the JSON.
  Error read_input(size_t i, std::string_view type, std::string_view kind, const ProxyJson& value) {
    std::string_view element = type;
    static_cast<void>(take_optional(element));
    const bool is_list = take_list(element);
    const bool takes_tensors = element == "Tensor" || element == "Tensor?";
    const bool takes_ints = element == "int" || element == "Scalar";
    EValue fixed;
    if (kind == "as_none") {
      fixed = EValue();
    } else if (kind == "as_optional_tensor") {
      if (json_member(value, "as_tensor") != nullptr) return pass(i, true, false, {true});
    } else if (is_list) {
      if (!value.is_array()) return fail_kind(kind, type);
      std::vector<bool> is_there(value.size(), true);
      std::vector<double> reals;
      std::vector<bool> flags;
      for (size_t k = 0; k < value.size(); ++k) {
        const ProxyJson& each = value[k];
        is_there[k] = json_member(each, "as_none") == nullptr;
        double real = 0;
        if (read_real(each, real)) reals.push_back(real);
        if (each.is_boolean()) flags.push_back(each.get<bool>());
      }
      const bool is_empty = value.empty();
      const bool are_ints = kind == "as_ints" || kind == "as_sym_ints";
      if (takes_tensors && (is_empty || kind == "as_tensors" || kind == "as_optional_tensors")) {
        return pass(i, true, true, std::move(is_there));
      }
      if (takes_ints && (are_ints || (is_empty && element == "int"))) {
        return pass(i, false, true, std::vector<bool>(value.size(), true));
      }
      if (element == "bool" && flags.size() == value.size()) {
        fixed = EValue(flags);
      } else if ((element == "float" || element == "Scalar") && reals.size() == value.size()) {
        fixed = EValue(reals);
      } else {
        return fail_kind(kind, type);
      }
    } else if (kind == "as_tensor" && element == "Tensor") {
      return pass(i, true, false, {true});
    } else if ((kind == "as_int" || kind == "as_sym_int") && takes_ints) {
      return pass(i, false, false, {true});
    } else if (is_enum_type(element)) {
      // A default in the schema is an integer: torch's number.
      const bool is_own = kind == "as_int" && value.is_number_integer();
      const int64_t number = is_own ? value.get<int64_t>() : exported_enum(kind, value);
      if (number < 0) return fail_kind(kind, type);
      fixed = EValue(number);
    } else if (kind == "as_float" || kind == "as_int") {
      double real = 0;
      if (!read_real(value, real)) return fail_kind(kind, type);
      fixed = EValue(real);
    } else if (kind == "as_bool" && value.is_boolean()) {
      fixed = EValue(value.get<bool>());
    } else if (kind == "as_string" && value.is_string()) {
      fixed = EValue(value.get<std::string>());
    } else if (kind == "as_device") {
      std::string device;
      TENON_TRY(json_text(value, "type", device));
      fixed = EValue(device);
    } else {
      return fail_kind(kind, type);
    }
    return convert_value(type, fixed, inputs[i]);
  }
  static bool read_real(const ProxyJson& value, double& out) {
    if (value.is_number()) {
      out = value.get<double>();
    } else if (value == "Infinity" || value == "-Infinity") {
      out = std::numeric_limits<double>::infinity() * (value == "Infinity" ? 1 : -1);
    } else if (value == "NaN") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else {
      return false;
    }
    return true;
  }
  Error read_output(std::string_view type, const ProxyJson& output, std::string_view source) {
    if (!output.is_object() || output.size() != 1) {
      return fail(Error::InvalidArgument, "the package's JSON does not describe it");
    }
    const std::string& kind = output.begin().key();
    const ProxyJson& value = output.begin().value();
    const ProxyJson* tensor = json_member(output, "as_tensor");
    const bool is_optional = take_optional(type) && kind == "as_optional_tensor";
    if (is_optional) tensor = json_member(value, "as_tensor");
    ProxyResult result;
    if (kind == "as_int" && type == "int") {
      result.kind = ProxyResult::Kind::Int;
      ++ints;
    } else if (tensor != nullptr && type == "Tensor") {
      result.kind = ProxyResult::Kind::Tensor;
      TENON_TRY(read_spec(*tensor, source, result.specs));
    } else if (kind == "as_tensors" && type == "Tensor[]" && value.is_array()) {
      result.kind = ProxyResult::Kind::List;
      for (const ProxyJson& each : value) TENON_TRY(read_spec(each, source, result.specs));
    } else if (kind != "as_none" && !is_optional) {
      return fail(Error::NotSupported, "the model takes ", kind, " of a ", type);
    }
    tensors += result.specs.size();
    results.push_back(std::move(result));
    return Error::Ok;
  }
  /// Finds the sizes, strides and dtype that the model's source code expects of a result.
  static Error read_spec(const ProxyJson& tensor, std::string_view source,
                         std::vector<ValueSpec>& specs) {
    std::string buffer;
    TENON_TRY(json_text(tensor, "name", buffer));
    ValueSpec spec{ValueKind::Tensor};
    const std::string_view line =
        text_between(source, "assert_size_stride(" + buffer + ", {", ");");
    const size_t middle = line.find("}, {");
    const size_t end = line.find("}, \"torch.");
    if (middle != std::string_view::npos && end != std::string_view::npos && middle + 4 <= end) {
      const std::vector<std::string_view> sizes = source_list(line.substr(0, middle));
      const std::vector<std::string_view> strides =
          source_list(line.substr(middle + 4, end - middle - 4));
      std::vector<int64_t> size_values;
      std::vector<int64_t> stride_values;
      for (const std::string_view word : sizes) size_values.push_back(source_number(word));
      for (const std::string_view word : strides) stride_values.push_back(source_number(word));
      TensorSpec made;
      made.sizes = Dims(size_values);
      made.type = public_type(type_of_python_name(text_between(line, "cached_torch_dtype_", ",")));
      if (sizes.size() == strides.size()) {
        TENON_TRY(find_source_order(sizes, strides, made.dim_order));
        if (made.dim_order.empty()) made.strides = Dims(stride_values);
      }
      if (check_spec(made) == Error::Ok) spec = ValueSpec(std::move(made));
      spec.copies_strides = true;
    }
    specs.push_back(std::move(spec));
    return Error::Ok;
  }
};

/// The calls of operators in one model.
/// Threads: any thread may use this; nothing changes after read().
struct AotiProxy {
  std::vector<ProxyNode> nodes;

  static Error fail_json() noexcept {
    return fail(Error::InvalidArgument, "the package's list of operators is not the JSON of nodes");
  }
  /// Reads the package's JSON.
  /// Errors: InvalidArgument; NotSupported (values that tenon's operators cannot take).
  Error read(const std::string& json, std::string_view source, std::vector<std::string>& missing) {
    const ProxyJson all = ProxyJson::parse(json, nullptr, false);
    const ProxyJson* const list = json_member(all, "nodes");
    if (list == nullptr || !list->is_array()) return fail_json();
    for (const ProxyJson& each : *list) {
      const ProxyJson* const node = json_member(each, "node");
      if (node == nullptr) return fail_json();
      ProxyNode& made = nodes.emplace_back();
      TENON_TRY(json_text(*node, "target", made.name));
      const StableCall call = look_up_stable(made.name);
      const StableImplementation& found = call.implementation;
      if (call.schema == nullptr || (found.kernel == nullptr && found.function == nullptr)) {
        if (std::count(missing.begin(), missing.end(), made.name) == 0) {
          missing.push_back(made.name);
        }
        continue;
      }
      const Error error = made.read(*node, *call.schema, source);
      if (error != Error::Ok) return fail(error, made.name, ": ", message_of(error));
    }
    std::sort(missing.begin(), missing.end());
    return Error::Ok;
  }
  Error call(int index, int num_ints, const int64_t* ints, int num_tensors,
             AtenTensorHandle* tensors) const {
    if (index < 0 || static_cast<size_t>(index) >= nodes.size()) {
      return fail(Error::InvalidArgument, "the model calls operator ", index,
                  ", but its package has ", nodes.size());
    }
    const ProxyNode& node = nodes[static_cast<size_t>(index)];
    const Error error = call(node, num_ints, ints, num_tensors, tensors);
    return error == Error::Ok ? error : fail(error, node.name, ": ", message_of(error));
  }

 private:
  static Error call(const ProxyNode& node, int num_ints, const int64_t* ints, int num_tensors,
                    AtenTensorHandle* tensors) {
    if (num_ints < 0 || static_cast<size_t>(num_ints) != node.ints || num_tensors < 0 ||
        static_cast<size_t>(num_tensors) != node.tensors) {
      return fail(Error::InvalidArgument, "the model passes ", num_tensors, " tensors and ",
                  num_ints, " integers, but its package says ", node.tensors, " and ", node.ints);
    }
    std::vector<EValue> inputs = node.inputs;
    for (const ProxyArgument& argument : node.arguments) {
      std::vector<Tensor> tensor_list;
      std::vector<int64_t> int_list;
      for (const bool is_there : argument.is_there) {
        if (!argument.is_tensor) {
          int_list.push_back(*ints++);
          continue;
        }
        Tensor* found = nullptr;
        if (is_there) TENON_TRY(find_aoti_tensor(*tensors++, found));
        tensor_list.push_back(is_there ? *found : Tensor());
      }
      EValue& input = inputs[argument.input];
      if (!argument.is_list) {
        input = argument.is_tensor ? EValue(tensor_list[0]) : EValue(int_list[0]);
      } else {
        input = argument.is_tensor ? EValue(tensor_list) : EValue(int_list);
      }
    }
    StableCall operation;
    TENON_TRY(find_stable_operator(node.name, operation));
    std::vector<EValue> outputs;
    TENON_TRY(call_stable(operation, inputs, outputs));
    return give(node, outputs, ints, tensors);
  }
  /// Checks all results, and then stores them.
  static Error give(const ProxyNode& node, const std::vector<EValue>& outputs, const int64_t* ints,
                    AtenTensorHandle* tensors) {
    if (outputs.size() != node.results.size()) {
      return fail(Error::InvalidState,
                  "its registered schema has changed since the model was loaded");
    }
    std::vector<std::pair<Tensor*, Tensor>> given;  // the tensors of handles, and their new values
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ProxyResult& result = node.results[i];
      const EValue& output = outputs[i];
      if (result.kind == ProxyResult::Kind::Int) {
        const int64_t expected = *ints++;
        if (output.isInt() && output.toInt() == expected) continue;
        return fail(Error::InvalidArgument, "output ", i, " is ", output,
                    ", but the model was compiled for ", expected);
      }
      const bool is_list = result.kind == ProxyResult::Kind::List;
      const ArrayRef<Tensor> list = is_list && output.isTensorList() ? output.toTensorList()
                                    : output.isTensor() ? ArrayRef<Tensor>(&output.toTensor(), 1)
                                                        : ArrayRef<Tensor>();
      if (result.kind == ProxyResult::Kind::None) continue;
      if (list.size() != result.specs.size()) {
        return fail(Error::InvalidArgument, "output ", i, " is ", output,
                    ", but the model was compiled for ", result.specs.size(), " tensors");
      }
      for (size_t k = 0; k < list.size(); ++k) {
        Tensor* to = nullptr;
        TENON_TRY(find_aoti_tensor(*tensors++, to));
        Tensor handed;
        TENON_TRY(add_context_if("output", i, "", fit(result.specs[k], list[k], handed)));
        given.emplace_back(to, std::move(handed));
      }
    }
    for (auto& [to, tensor] : given) *to = std::move(tensor);
    return Error::Ok;
  }
  /// Makes `handed`, a tensor with the layout of `spec`: compiled code reads results by that
  /// layout, without a check.
  static Error fit(const ValueSpec& spec, const Tensor& tensor, Tensor& handed) noexcept {
    const TensorArg arg(tensor);
    TENON_TRY(check_defined(arg, "the tensor"));
    TENON_TRY(check_data_backend(fields(arg), "the tensor"));
    TENON_TRY(check_has_data(fields(arg)));
    handed = tensor;
    if (!spec.is_described) return Error::Ok;
    TENON_TRY(check_tensor(spec.tensor, arg, true));
    return has_layout(spec.tensor) ? hand_over(spec, true, tensor, handed) : Error::Ok;
  }
};

inline Error read_aoti_proxy(const std::string& json, std::string_view source,
                             std::shared_ptr<AOTIProxyExecutorOpaque>& made,
                             std::vector<std::string>& missing) {
  auto proxy = std::make_shared<AotiProxy>();
  TENON_TRY(proxy->read(json, source, missing));
  auto* const handle = reinterpret_cast<AOTIProxyExecutorOpaque*>(proxy.get());
  made = std::shared_ptr<AOTIProxyExecutorOpaque>(std::move(proxy), handle);
  return Error::Ok;
}

[[maybe_unused]] const ReadAotiProxy kReader = aoti_proxy_reader = &read_aoti_proxy;

}  // namespace detail
TENON_END_NAMESPACE

extern "C" {

TENON_EXPORT AOTITorchError aoti_torch_proxy_executor_call_function(
    AOTIProxyExecutorOpaque* proxy_executor, int extern_node_index, int num_ints,
    int64_t* flatten_int_args, int num_tensors, AtenTensorHandle* flatten_tensor_args) {
  return tenon::detail::aoti_answer(__func__, [&] {
    if (proxy_executor == nullptr) {
      return tenon::detail::fail(
          tenon::Error::InvalidState,
          "the model calls an operator, but the JSON that names it was not beside its library");
    }
    return reinterpret_cast<tenon::detail::AotiProxy*>(proxy_executor)
        ->call(extern_node_index, num_ints, flatten_int_args, num_tensors, flatten_tensor_args);
  });
}

}  // extern "C"
