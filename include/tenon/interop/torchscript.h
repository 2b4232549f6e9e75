// SPDX-License-Identifier: MIT
// TorchScriptModule: runs a TorchScript file (.pt) by libtorch.
#pragma once

#include "tenon/interop/runtimes/torchscript_values.h"

#include <c10/core/GradMode.h>
// Declares torch::jit::load. The documented <torch/script.h> takes a third longer to compile.
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/interop/files/file.h"
#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An argument of a method, or a part of an argument. A leaf is one input. The parts of a tuple, or
/// of a dict or list that was split, are `count` inputs from `first` on.
struct TorchScriptInput {
  bool is_leaf() const noexcept { return parts.empty() && count == 1; }

  c10::TypePtr type;                     // without Optional
  std::optional<c10::IValue> otherwise;  // the default, used if none of its inputs is given
  std::optional<std::string> refusal;    // of a leaf: the reason why EValue cannot hold it
  size_t first = 0;
  size_t count = 0;
  std::vector<TorchScriptInput> parts;
  std::vector<std::string> keys;  // of a dict
};

/// A dict or a list that the caller split into inputs.
struct TorchScriptSplit {
  std::string input;
  std::vector<std::string> elements;
  bool is_found = false;
};

/// A method, with specs made from its schema.
class TorchScriptMethod {
 public:
  explicit TorchScriptMethod(torch::jit::Method method) : method_(std::move(method)) {}

  const char* name() const noexcept { return method_.name().c_str(); }

  /// Makes each element of an input an input itself.
  /// Errors: InvalidState (a module already refers to the description); NotFound. After an error
  /// nothing has changed.
  Error split(std::string_view input, std::vector<std::string> elements) {
    if (is_in_use_) {
      return fail(Error::InvalidState, name(), " has been used already");
    }
    splits_.push_back({std::string(input), std::move(elements)});
    const Error error = describe();
    if (error != Error::Ok) splits_.pop_back();
    return error;
  }
  Error describe(MethodMeta& meta) {
    TENON_TRY(describe());
    specs_.describe(meta);
    meta.knows_outputs = knows_outputs_;
    is_in_use_ = true;
    return Error::Ok;
  }

  Error call(Span<const EValue> inputs, Outputs& outputs) {
    std::vector<c10::IValue> stack(inputs_.size());
    stack.reserve(inputs_.size() + 1);  // and self
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TENON_TRY(make_input(inputs_[i], inputs, stack[i]));
    }
    const c10::NoGradGuard without_gradients;
    std::vector<c10::IValue> leaves;
    size_t parts = 0;
    if (c10::IValue result = method_(std::move(stack)); returns_) {
      TENON_TRY(add_context_if("the result", flatten(result, leaves, parts)));
    }
    if (!knows_outputs_) TENON_TRY(outputs.resize(leaves.size()));
    refusals_.clear();
    for (size_t i = 0; i < leaves.size(); ++i) {
      EValue made;
      const Error error = from_ivalue(leaves[i], made);
      if (error == Error::NotSupported && !outputs.is_set(i)) {
        refusals_.emplace(i, message_of(error));
        if (refusals_.size() == leaves.size()) {
          return add_context_if("output", 0, output_name(0), explain_none(0));
        }
        made = EValue();
      } else {
        TENON_TRY(add_context_if("output", i, output_name(i), error));
      }
      TENON_TRY(outputs.put(i, std::move(made)));
    }
    return Error::Ok;
  }

  /// Fails with the reason why output i of the last run is None; Ok if its value is None.
  Error explain_none(size_t i) const noexcept {
    const auto found = refusals_.find(i);
    return found == refusals_.end() ? Error::Ok : fail(Error::NotSupported, found->second.c_str());
  }

 private:
  Error describe() {
    const c10::FunctionSchema& schema = method_.function().getSchema();
    TENON_TRY(specs_.inputs.resize(0));
    inputs_.clear();
    for (TorchScriptSplit& split : splits_) split.is_found = false;
    for (size_t i = 1; i < schema.arguments().size(); ++i) {  // after self
      const c10::Argument& argument = schema.arguments()[i];
      const auto& otherwise = argument.default_value();
      size_t parts = 0;
      TENON_TRY(add_context_if("input", specs_.inputs.size(), argument.name().c_str(),
                               check_nesting(*argument.real_type(), parts)));
      inputs_.emplace_back();
      if (otherwise.has_value()) inputs_.back().otherwise = *otherwise;
      TENON_TRY(add_input(argument.name(), argument.real_type(), false, inputs_.back()));
    }
    for (const TorchScriptSplit& split : splits_) {
      if (split.is_found) continue;
      return fail(Error::NotFound, name(), " has no list or str-keyed dict input \"", split.input,
                  "\" left to split");
    }
    TENON_TRY(specs_.outputs.resize(0));
    const c10::Type& type = *schema.returns().at(0).real_type();
    size_t parts = 0;
    TENON_TRY(add_context_if("the result", check_nesting(type, parts)));
    knows_outputs_ = !varies(type);
    returns_ = type.kind() != c10::TypeKind::NoneType;
    return knows_outputs_ && returns_ ? add_output("", type) : Error::Ok;
  }
  const char* output_name(size_t i) const noexcept {
    return knows_outputs_ ? specs_.outputs[i].name() : "";
  }
  /// Describes a value by its type. If EValue cannot hold such a value, the spec's kind is None,
  /// and `refusal` is the reason.
  static Error make_spec(const std::string& name, const c10::Type& type, ValueSpec& spec,
                         std::optional<std::string>& refusal) {
    spec = ValueSpec(name, ValueKind::None);
    TENON_TRY(check_spec(spec.tensor));
    const Error error = describe_type(type, spec);
    if (error != Error::NotSupported) return error;
    spec.kind = ValueKind::None;
    refusal = message_of(error);
    return Error::Ok;
  }

  /// Describes an argument or a part of it. `is_optional`: whether it may be None.
  Error add_input(const std::string& name, const c10::TypePtr& type, bool is_optional,
                  TorchScriptInput& input) {
    input.type = type;
    if (type->kind() == c10::TypeKind::OptionalType) {
      input.type = type->containedType(0);
      if (!input.otherwise) input.otherwise = c10::IValue();
    }
    is_optional = is_optional || input.otherwise.has_value();
    input.first = specs_.inputs.size();
    const auto add_part = [&](const std::string& part_name, const c10::TypePtr& part_type) {
      input.parts.emplace_back();
      return add_input(part_name, part_type, is_optional, input.parts.back());
    };
    const auto split = std::find_if(splits_.begin(), splits_.end(), [&](const auto& each) {
      return each.input == name && !each.is_found;
    });
    const bool is_list = input.type->kind() == c10::TypeKind::ListType;
    if (const auto* tuple = input.type->castRaw<c10::TupleType>()) {
      for (size_t i = 0; i < tuple->elements().size(); ++i) {
        TENON_TRY(add_part(name_element(name, *tuple, i), tuple->elements()[i]));
      }
    } else if (split != splits_.end() && (is_list || is_table(*input.type))) {
      input.keys = split->elements;
      split->is_found = true;
      for (auto key = input.keys.begin(); key != input.keys.end() && !is_list; ++key) {
        if (std::find(input.keys.begin(), key, *key) == key) continue;
        return fail(Error::InvalidArgument, name, " is split by the key \"", *key, "\" twice");
      }
      for (const std::string& key : input.keys) {
        TENON_TRY(add_part(name + '_' + key, input.type->containedType(is_list ? 0 : 1)));
      }
    } else {
      ValueSpec spec;
      TENON_TRY(make_spec(name, *input.type, spec, input.refusal));
      if (input.refusal && (is_list || is_table(*input.type))) {
        *input.refusal += "; split_input() makes its elements inputs";
      }
      if (input.refusal) spec.is_supported = false;
      spec.is_optional = is_optional;
      TENON_TRY(specs_.inputs.push_back(std::move(spec)));
    }
    input.count = specs_.inputs.size() - input.first;
    return Error::Ok;
  }
  /// Whether a type is a dict with keys of type str.
  static bool is_table(const c10::Type& type) {
    return type.kind() == c10::TypeKind::DictType &&
           type.containedType(0)->kind() == c10::TypeKind::StringType;
  }
  Error add_output(const std::string& name, const c10::Type& type) {
    if (const auto* tuple = type.castRaw<c10::TupleType>()) {
      for (size_t i = 0; i < tuple->elements().size(); ++i) {
        TENON_TRY(add_output(name_element(name, *tuple, i), *tuple->elements()[i]));
      }
      return Error::Ok;
    }
    ValueSpec spec;
    std::optional<std::string> refusal;
    TENON_TRY(make_spec(name, type, spec, refusal));
    return specs_.outputs.push_back(std::move(spec));
  }

  /// Makes an argument, or a part of it, from its inputs.
  Error make_input(const TorchScriptInput& input, Span<const EValue> inputs, c10::IValue& to) {
    const size_t end = input.first + input.count;
    bool is_given = false;
    for (size_t i = input.first; i < end; ++i) is_given = is_given || !inputs[i].isNone();
    if (!is_given && input.otherwise) {
      to = *input.otherwise;
      return Error::Ok;
    }
    if (input.is_leaf()) {
      const EValue& value = inputs[input.first];
      Error error = Error::Ok;
      if (input.refusal.has_value()) {
        error = fail(Error::NotSupported, input.refusal->c_str());
      } else if (!is_given && input.type->kind() != c10::TypeKind::NoneType) {
        error =
            fail(Error::InvalidState, "it is missing, but other parts of the argument are given");
      } else if (value.isString() && input.type->kind() == c10::TypeKind::ListType) {
        to = to_ivalue_texts(value.toStringList());
      } else {
        error = to_ivalue(value, to);
      }
      return add_context_if("input", input.first, specs_.inputs[input.first].name(), error);
    }
    std::vector<c10::IValue> parts(input.parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      TENON_TRY(make_input(input.parts[i], inputs, parts[i]));
    }
    if (const auto tuple = input.type->cast<c10::TupleType>()) {
      to = tuple->schema() != nullptr ? c10::ivalue::Tuple::createNamed(std::move(parts), tuple)
                                      : c10::ivalue::Tuple::create(std::move(parts));
    } else if (input.type->kind() == c10::TypeKind::ListType) {
      c10::impl::GenericList list(input.type->containedType(0));
      for (c10::IValue& part : parts) list.push_back(std::move(part));
      to = std::move(list);
    } else {
      c10::impl::GenericDict dict(input.type->containedType(0), input.type->containedType(1));
      for (size_t i = 0; i < parts.size(); ++i) dict.insert(input.keys[i], std::move(parts[i]));
      to = std::move(dict);
    }
    return Error::Ok;
  }

  torch::jit::Method method_;
  MethodSpecs specs_;
  std::vector<TorchScriptSplit> splits_;
  std::vector<TorchScriptInput> inputs_;
  std::map<size_t, std::string> refusals_;  // of outputs of the last run
  bool knows_outputs_ = false;
  bool returns_ = true;
  bool is_in_use_ = false;
};

}  // namespace detail

/// Runs a TorchScript file, scripted or traced, or a module that libtorch has loaded. A file is
/// opened at the first use, and its module is put into evaluation mode.
///
/// Inputs have the names and kinds of the script's arguments; a tensor's sizes and dtype are
/// unknown. If an input is None or missing, the argument's default is used, if there is one. Each
/// element of a tuple is an input ("state_0"); if no element is given, the tuple's default or None
/// is used. split_input() makes each element of a dict or list an input. For an argument that
/// EValue cannot hold, its default is always used; if it has none, a run fails with NotSupported.
/// Outputs: each element of a tuple or list and each value of a dict is an output, in order and to
/// any depth, as in ExecuTorch's export. A method that returns None has no outputs. The outputs are
/// known before a run, unless the return type contains a list, dict, number, Any or Union, or an
/// optional tuple. A value that EValue cannot hold is None, and get_output() returns the reason. A
/// run fails with NotSupported if it returns only such values, or such a value for an output that
/// was set. Sparse tensors are such values, although the method's description says Tensor. A run
/// fails with NotSupported, too, if its result is nested more than 64 deep, as a list that contains
/// itself is, or has more than 2^20 parts.
///
/// Ownership: libtorch uses the inputs' memory in place, and its outputs are shared as by
/// from_aten(). They may outlive the module. An output shares memory with an input or the module if
/// the script returns that tensor. The script may write to an input, as in `x.add_(1)`. If a tensor
/// was set for an output, the output is copied to it. A read-only tensor may be an input, but tenon
/// cannot know or prevent that the script writes to it. Outputs that share a read-only input's
/// memory are read-only. In ATen mode, inputs and outputs are the at::Tensors themselves.
/// Gradients: none are recorded, and outputs do not require grad.
/// Errors: those of Module. NotFound, AccessFailed (the file), InvalidArgument (it is not
/// TorchScript; exceptions of the script; errors of operators, "forward: libtorch: mat1 and mat2
/// shapes cannot be multiplied (2x3 and 4x5)"), NotSupported (types, as above; an operator that
/// this libtorch or device lacks; tensors that to_aten() and from_aten() refuse), OutOfMemory.
/// Threads: as for Module; several modules may run on several threads. libtorch computes on its own
/// threads.
/// Source: torch::jit::Module.
class TENON_EXPORT TorchScriptModule final : public Module {
 public:
  /// Makes a module of the model at a path, which the first use reads.
  explicit TorchScriptModule(std::string path) noexcept : path_(std::move(path)) {}
  /// Shares a module that was loaded, as by `torch::jit::load(path, at::kCPU)`, and does not change
  /// its mode.
  explicit TorchScriptModule(torch::jit::Module module) noexcept
      : module_(std::move(module)), is_loaded_(true) {}

  /// Makes each element of a dict with text keys, or of a list, an input, as in a program that
  /// ExecuTorch exported: `split_input("state", {"h", "c"})` replaces `state: Dict[str, Tensor]` by
  /// the inputs "state_h" and "state_c", in that order. A list must have as many elements as
  /// `elements` has names, which can be chosen freely. To split an element of a tuple, pass its
  /// input's name, such as "state_0".
  ///
  /// Call this before the method's first use. Loads the module if it is not loaded yet.
  /// Errors: NotFound (there is no such method or input, or the input has already been split);
  /// InvalidArgument (a key that occurs twice); InvalidState (after the method's first use); those
  /// of loading.
  [[nodiscard]] Error split_input(std::string_view input, std::vector<std::string> elements) {
    return split_input("forward", input, std::move(elements));
  }
  [[nodiscard]] Error split_input(std::string_view method, std::string_view input,
                                  std::vector<std::string> elements) {
    return detail::add_context_if("split_input", detail::call_libtorch([&] {
                                    TENON_TRY(load());
                                    for (detail::TorchScriptMethod& made : methods_) {
                                      if (detail::is_name(method, made.name()))
                                        return made.split(input, std::move(elements));
                                    }
                                    return detail::fail(Error::NotFound, "there is no method \"",
                                                        method, '"');
                                  }));
  }

  /// libtorch's module, for access to its parameters and its mode. Loads the module if it is not
  /// loaded yet.
  /// Errors, raised: those of loading.
  torch::jit::Module& module() {
    detail::raise_if("module", load());
    return module_;
  }

 protected:
  Error load() override {
    if (!is_loaded_) {
      detail::InputFile file;  // its errors are more specific
      Error error = file.open(path_.c_str());
      if (error == Error::Ok) {
        error = detail::call_torchscript([&] {
          torch::jit::Module loaded = torch::jit::load(path_);
          loaded.eval();
          module_ = std::move(loaded);
          return Error::Ok;
        });
      }
      if (error != Error::Ok) return detail::FilePath(path_).add_context(error);
      is_loaded_ = true;
    }
    if (!methods_.empty()) return Error::Ok;
    return detail::call_libtorch([&] {
      std::vector<detail::TorchScriptMethod> methods;
      for (const torch::jit::Method& method : module_.get_methods()) {
        methods.emplace_back(method);
      }
      methods_.swap(methods);
      return Error::Ok;
    });
  }
  size_t count_methods() const noexcept override { return methods_.size(); }
  const char* name_of(size_t method) const noexcept override { return methods_[method].name(); }
  Error prepare(size_t method, MethodMeta& meta) override {
    return detail::call_libtorch([&] { return methods_[method].describe(meta); });
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    return detail::call_torchscript([&] { return methods_[method].call(inputs, outputs); });
  }
  Error explain_none(size_t method, size_t output) const noexcept override {
    return methods_[method].explain_none(output);
  }

 private:
  std::string path_;
  torch::jit::Module module_;
  bool is_loaded_ = false;
  std::vector<detail::TorchScriptMethod> methods_;
};

TENON_END_NAMESPACE
