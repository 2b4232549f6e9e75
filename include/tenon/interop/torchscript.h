// SPDX-License-Identifier: MIT
// TorchScriptModule: a .pt file as a module, run by libtorch.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<torch/csrc/jit/runtime/jit_exception.h>)
#error \
    "tenon: interop/torchscript.h needs exceptions and libtorch's TorchScript in the include path"
#endif

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
// Has torch::jit::load. <torch/script.h>, the documented one, takes a third longer to compile.
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/interop/aten.h"
#include "tenon/interop/file.h"
#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What went wrong, of a text that the interpreter puts a traceback of the script in front of, or
/// of any other: its first line.
inline std::string_view without_traceback(std::string_view text) noexcept {
  constexpr std::string_view kTraceback =
      "The following operation failed in the TorchScript interpreter.";
  constexpr std::string_view kError = "\nRuntimeError: ";
  if (text.substr(0, kTraceback.size()) == kTraceback) {
    const size_t at = text.rfind(kError);
    if (at != std::string_view::npos) text.remove_prefix(at + kError.size());
  }
  text.remove_prefix((std::min)(text.find_first_not_of(" \n"), text.size()));
  return text.substr(0, text.find('\n'));
}

/// What libtorch said, as an error. Only by its text can be told that the interpreter ran out of
/// memory.
TENON_COLD inline Error fail_torchscript(std::string_view text,
                                         Error error = Error::InvalidArgument) noexcept {
  text = without_traceback(text);
  for (const char* const sign : {"can't allocate memory", "out of memory"}) {
    if (text.find(sign) != std::string_view::npos) error = Error::OutOfMemory;
  }
  return fail(error, "libtorch: ", text);
}

/// Calls `f`, which returns an Error and may throw what libtorch and scripts throw: that becomes
/// InvalidArgument, unless memory is out or there is no such operator.
template <class F>
Error call_torchscript(F&& f) noexcept {
  try {
    return f();
  } catch (const Exception& e) {  // ours
    return fail(e.error(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, "out of memory in libtorch");
  } catch (const c10::NotImplementedError& e) {
    return fail_torchscript(e.what_without_backtrace(), Error::NotSupported);
  } catch (const c10::Error& e) {
    return fail_torchscript(e.what_without_backtrace());
  } catch (const torch::jit::JITException& e) {  // raised by the script
    return fail_torchscript(e.getOriginalMsg().value_or(e.what()));
  } catch (const std::exception& e) {
    return fail_torchscript(e.what());
  }
}

/// The list of such elements; None for no list.
inline ValueKind list_kind_of(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::TensorType: return ValueKind::TensorList;
    case c10::TypeKind::IntType: return ValueKind::IntList;
    case c10::TypeKind::FloatType: return ValueKind::DoubleList;
    case c10::TypeKind::BoolType: return ValueKind::BoolList;
    case c10::TypeKind::OptionalType:
      return element.containedType(0)->kind() == c10::TypeKind::TensorType
                 ? ValueKind::OptionalTensorList
                 : ValueKind::None;
    default: return ValueKind::None;
  }
}

TENON_COLD inline Error fail_type(const c10::Type& type) {
  return fail(Error::NotSupported, "it is ", std::string_view(type.annotation_str()),
              ", which an EValue cannot be");
}

/// Describes values of a type, but for the name: their tensors are any tensors.
/// Errors: NotSupported for a type that EValue cannot hold.
inline Error describe_type(const c10::Type& type, ValueSpec& spec) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: spec.kind = ValueKind::Tensor; return Error::Ok;
    case c10::TypeKind::NoneType: spec.kind = ValueKind::None; return Error::Ok;
    case c10::TypeKind::IntType: spec.kind = ValueKind::Int; return Error::Ok;
    case c10::TypeKind::FloatType: spec.kind = ValueKind::Double; return Error::Ok;
    case c10::TypeKind::BoolType: spec.kind = ValueKind::Bool; return Error::Ok;
    case c10::TypeKind::StringType: spec.kind = ValueKind::String; return Error::Ok;
    case c10::TypeKind::OptionalType:
      spec.is_optional = true;
      return describe_type(*type.containedType(0), spec);
    case c10::TypeKind::ListType:
      spec.kind = list_kind_of(*type.containedType(0));
      if (spec.kind != ValueKind::None) return Error::Ok;
      break;
    default: break;
  }
  return fail_type(type);
}

/// Tensors of which, with `has_none`, the undefined ones become None.
inline Error to_ivalue_list(ArrayRef<Tensor> tensors, bool has_none, c10::IValue& to) {
  const c10::TypePtr tensor = c10::TensorType::get();
  c10::impl::GenericList list(has_none ? c10::OptionalType::create(tensor) : tensor);
  list.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor made;
    if (!has_none || TensorArg(tensors[i]).defined()) {
      TENON_TRY(blame_unless_ok("element", i, "", make_aten(tensors[i], made)));
    }
    list.push_back(made.defined() ? c10::IValue(std::move(made)) : c10::IValue());
  }
  to = std::move(list);
  return Error::Ok;
}

/// A value as TorchScript has it.
///
/// Ownership: shares tensors' memory as to_aten() does, that of read-only ones too; copies texts
/// and lists.
/// Errors: those of to_aten() for tensors, but for read-only ones; what is thrown is c10's.
inline Error to_ivalue(const EValue& from, c10::IValue& to) {
  switch (from.kind()) {
    case ValueKind::None: to = c10::IValue(); break;
    case ValueKind::Tensor: {
      at::Tensor made;
      TENON_TRY(make_aten(from.toTensor(), made));
      to = std::move(made);
      break;
    }
    case ValueKind::Int: to = from.toInt(); break;
    case ValueKind::Double: to = from.toDouble(); break;
    case ValueKind::Bool: to = from.toBool(); break;
    case ValueKind::String: to = std::string(from.toString()); break;
    case ValueKind::TensorList: return to_ivalue_list(from.toTensorList(), false, to);
    case ValueKind::OptionalTensorList:
      return to_ivalue_list(from.toOptionalTensorList(), true, to);
    case ValueKind::IntList: to = from.toIntList().vec(); break;
    case ValueKind::DoubleList: to = from.toDoubleList().vec(); break;
    case ValueKind::BoolList: to = from.toBoolList().vec(); break;
  }
  return Error::Ok;
}

/// The tensor over an at::Tensor's storage, without what from_aten() refuses and can be done
/// without: gradients, and a conjugation or negation that has been put off.
inline Error from_ivalue_tensor(at::Tensor from, Tensor& to) {
  if (from.requires_grad()) from = from.detach();
  from = from.resolve_conj().resolve_neg();
  return make_from_aten(from, TensorShapeDynamism::DYNAMIC_BOUND, to);
}

/// A value of TorchScript's that is not a list, a tuple or a dict. An undefined tensor is None.
///
/// Ownership: shares a tensor's memory as from_aten() does; copies a text.
/// Errors: NotSupported for a value that EValue cannot hold; those of from_aten() for a tensor, but
/// gradients are left behind; what is thrown is c10's and EValue's.
inline Error from_ivalue(const c10::IValue& from, EValue& to) {
  if (from.isTensor()) {
    if (!from.toTensor().defined()) return Error::Ok;
    to = Tensor();
    return from_ivalue_tensor(from.toTensor(), to.toTensor());
  }
  if (from.isInt()) {
    to = from.toInt();
  } else if (from.isDouble()) {
    to = from.toDouble();
  } else if (from.isBool()) {
    to = from.toBool();
  } else if (from.isString()) {
    to = from.toStringRef();
  } else if (!from.isNone()) {
    return fail_type(*from.type());
  }
  return Error::Ok;
}

/// An argument of a method, or a part of one. A leaf is one input; the parts of a tuple, and those
/// of a dict or a list that was taken apart, are inputs from `first` on.
struct TorchScriptInput {
  bool is_leaf() const noexcept { return parts.empty() && count == 1; }

  c10::TypePtr type;                     // what is in an Optional
  std::optional<c10::IValue> otherwise;  // used if none of its inputs is given
  std::optional<std::string> refusal;    // of a leaf of a type that EValue cannot hold
  size_t first = 0;
  size_t count = 0;
  std::vector<TorchScriptInput> parts;
  std::vector<std::string> keys;  // of a dict
};

/// A dict or a list of a method's that the caller has taken apart.
struct TorchScriptSplit {
  std::string input;
  std::vector<std::string> elements;
  bool is_found = false;
};

// How deep a value or a type may be nested, and of how many parts it may be. A list may contain
// itself, and a tuple whose parts are one tuple has twice as many parts as that.
inline constexpr size_t kMaxNesting = 64;
inline constexpr size_t kMaxParts = size_t{1} << 20;

inline Error check_nesting(size_t depth, size_t parts) noexcept {
  if (TENON_UNLIKELY(depth > kMaxNesting)) {
    return fail(Error::NotSupported, "it is nested more than ", kMaxNesting, " deep");
  }
  if (TENON_UNLIKELY(parts > kMaxParts)) {
    return fail(Error::NotSupported, "it is of more than ", kMaxParts, " parts");
  }
  return Error::Ok;
}
/// Of a type, so that what describes one need not check.
inline Error check_nesting(const c10::Type& type, size_t& parts, size_t depth = 0) {
  TENON_TRY(check_nesting(depth, ++parts));
  if (type.kind() == c10::TypeKind::ClassType) return Error::Ok;  // which may contain itself
  for (const c10::TypePtr& part : type.containedTypes()) {
    TENON_TRY(check_nesting(*part, parts, depth + 1));
  }
  return Error::Ok;
}

/// Appends the leaves of a value: the elements of tuples and lists and the values of dicts, in
/// their order. Counts the parts, the leaves among them.
/// Errors: NotSupported for too many or too deep ones.
/// Source: torch.utils._pytree, by which torch.export and so ExecuTorch flattens.
inline Error flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves, size_t& parts,
                     size_t depth = 0) {
  TENON_TRY(check_nesting(depth, ++parts));
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      TENON_TRY(flatten(element, leaves, parts, depth + 1));
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      TENON_TRY(flatten(element, leaves, parts, depth + 1));
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      TENON_TRY(flatten(entry.value(), leaves, parts, depth + 1));
    }
  } else {
    leaves.push_back(value);
  }
  return Error::Ok;
}

/// Whether a value of that type may flatten to more or fewer leaves than another, or to leaves of
/// other kinds.
inline bool varies(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::NumberType: return true;
    case c10::TypeKind::OptionalType:
      return type.containedType(0)->kind() == c10::TypeKind::TupleType ||
             varies(*type.containedType(0));
    case c10::TypeKind::TupleType:
      for (const auto& element : type.containedTypes()) {
        if (varies(*element)) return true;
      }
      return false;
    default: return false;
  }
}

/// The name of an element, as torch.export makes it: "state_0", or by its field "state_h"; of
/// something without a name, the field.
inline std::string name_element(const std::string& of, const c10::TupleType& tuple, size_t i) {
  const bool has_field = tuple.schema() != nullptr;
  if (of.empty()) return has_field ? tuple.schema()->arguments()[i].name() : "";
  return of + '_' + (has_field ? tuple.schema()->arguments()[i].name() : std::to_string(i));
}

/// A method with what its schema says of it.
class TorchScriptMethod {
 public:
  explicit TorchScriptMethod(torch::jit::Method method) : method_(std::move(method)) {}

  const char* name() const noexcept { return method_.name().c_str(); }

  /// Takes an input apart from now on.
  /// Errors: InvalidState once a module refers to the description; NotFound. Nothing is changed.
  Error split(std::string_view input, std::vector<std::string> elements) {
    if (TENON_UNLIKELY(is_in_use_)) {
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
      TENON_TRY(blame_if("the result", flatten(result, leaves, parts)));
    }
    if (!knows_outputs_) TENON_TRY(outputs.resize(leaves.size()));
    refusals_.clear();
    for (size_t i = 0; i < leaves.size(); ++i) {
      EValue made;
      const Error error = from_ivalue(leaves[i], made);
      if (error == Error::NotSupported && !outputs.is_set(i)) {
        refusals_.emplace(i, message_of(error));
        if (TENON_UNLIKELY(refusals_.size() == leaves.size())) return refuse_output(0);
        made = EValue();
      } else {
        TENON_TRY(blame_unless_ok("output", i, output_name(i), error));
      }
      TENON_TRY(outputs.put(i, std::move(made)));
    }
    return Error::Ok;
  }

  /// Why output i of the last run is None; Ok where that is its value.
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
      TENON_TRY(blame_unless_ok("input", specs_.inputs.size(), argument.name().c_str(),
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
    TENON_TRY(blame_if("the result", check_nesting(type, parts)));
    knows_outputs_ = !varies(type);
    returns_ = type.kind() != c10::TypeKind::NoneType;
    return knows_outputs_ && returns_ ? add_output("", type) : Error::Ok;
  }
  Error refuse_output(size_t i) const noexcept {
    return blame_unless_ok("output", i, output_name(i), explain_none(i));
  }
  const char* output_name(size_t i) const noexcept {
    return knows_outputs_ ? specs_.outputs[i].name() : "";
  }
  /// A value of a type; None for one that EValue cannot hold, and why.
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

  /// Describes an argument, or with `is_optional` a part of one that may be None.
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
  /// A dict by texts.
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

  /// An argument, or a part of one, from its inputs.
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
      if (TENON_UNLIKELY(input.refusal.has_value())) {
        error = fail(Error::NotSupported, input.refusal->c_str());
      } else if (TENON_UNLIKELY(!is_given && input.type->kind() != c10::TypeKind::NoneType)) {
        error =
            fail(Error::InvalidState, "it is missing, but other parts of the argument are given");
      } else {
        error = to_ivalue(value, to);
      }
      return blame_unless_ok("input", input.first, specs_.inputs[input.first].name(), error);
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

/// A TorchScript file, scripted or traced, or a module that libtorch has loaded. The file is opened
/// when it is first needed, and put into evaluation mode.
///
/// Inputs have the names and kinds of the script's arguments; nothing is known of a tensor's sizes
/// and dtype. None, or no input, stands for an argument's default where it has one. A tuple's
/// elements are one input each ("state_0"); if none is given, the tuple's default or None is used.
/// Elements of a dict or list become inputs by split_input(). An argument that EValue cannot hold
/// always has its default; a run of a method whose argument has none is NotSupported.
/// Outputs: the elements of tuples and lists and the values of dicts, in their order and to any
/// depth, are one output each, as in ExecuTorch's export. A method that gives None has none.
/// Outputs are known before a run unless the return type contains a list, dict, number, Any or
/// Union, or an optional tuple. A value that EValue cannot hold is None, and get_output() says what
/// it is; a run that gives nothing else is NotSupported, as is such a value for an output that was
/// set. So is a sparse tensor, though the method's description says Tensor. A result that is nested
/// more than 64 deep, as a list that contains itself is, or has more than 2^20 parts is
/// NotSupported.
///
/// Ownership: libtorch gets the inputs' own memory, and what it gives is shared as by from_aten():
/// outputs outlive the module, and one may be an input's memory or the module's, as the script has
/// it. It writes to an input where the script does, as in `x.add_(1)`. A tensor that was set for an
/// output gets a copy. A read-only tensor may be an input; whether the script writes to it is
/// neither known beforehand nor prevented. Outputs that share its memory are read-only. In ATen
/// mode inputs and outputs are the at::Tensors themselves.
/// Gradients: none are recorded. Outputs do not require them.
/// Errors: as Module's. NotFound, AccessFailed (the file), InvalidArgument (it is no TorchScript;
/// what the script raises; what operators refuse, "forward: libtorch: mat1 and mat2 shapes cannot
/// be multiplied (2x3 and 4x5)"), NotSupported (types, as above; an operator that this libtorch or
/// device lacks; what to_aten() and from_aten() refuse), OutOfMemory.
/// Threads: as Module's; several modules, several threads. libtorch computes on threads of its own.
/// Source: torch::jit::Module.
class TENON_EXPORT TorchScriptModule final : public Module {
 public:
  explicit TorchScriptModule(std::string path) noexcept : path_(std::move(path)) {}
  /// Shares a module that is loaded, `torch::jit::load(path, at::kCPU)`, and leaves its mode as it
  /// is.
  explicit TorchScriptModule(torch::jit::Module module) noexcept
      : module_(std::move(module)), is_loaded_(true) {}

  /// Makes each element of a dict by texts, or of a list, an input, as they are in a program that
  /// ExecuTorch exported: `split_input("state", {"h", "c"})` makes of `state: Dict[str, Tensor]`
  /// the inputs "state_h" and "state_c", in that order. A list has as many elements as there are
  /// names, which need no meaning. In a tuple, the input's name is as in "state_0".
  ///
  /// To be called before the method's first use. Loads the module if nothing has yet.
  /// Errors: NotFound (the method; the input, or it has been split already); InvalidArgument (a key
  /// of a dict twice); InvalidState after the method's first use; those of loading.
  [[nodiscard]] Error split_input(std::string_view input, std::vector<std::string> elements) {
    return split_input("forward", input, std::move(elements));
  }
  [[nodiscard]] Error split_input(std::string_view method, std::string_view input,
                                  std::vector<std::string> elements) {
    return detail::blame_if("split_input", detail::call_libtorch([&] {
                              TENON_TRY(load());
                              for (detail::TorchScriptMethod& made : methods_) {
                                if (detail::is_name(method, made.name()))
                                  return made.split(input, std::move(elements));
                              }
                              return detail::fail(Error::NotFound, "there is no method \"", method,
                                                  '"');
                            }));
  }

  /// The module itself: its parameters, its mode. Loads it if nothing has yet.
  /// Errors: those of loading, which are raised.
  torch::jit::Module& module() {
    detail::raise_if("module", load());
    return module_;
  }

 protected:
  Error load() override {
    if (!is_loaded_) {
      detail::InputFile file;  // for its errors, which tell more than libtorch's
      Error error = file.open(path_.c_str());
      if (error == Error::Ok) {
        error = detail::call_torchscript([&] {
          torch::jit::Module loaded = torch::jit::load(path_);
          loaded.eval();
          module_ = std::move(loaded);
          return Error::Ok;
        });
      }
      if (TENON_UNLIKELY(error != Error::Ok)) return detail::FilePath(path_).blame(error);
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
