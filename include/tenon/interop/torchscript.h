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

/// Describes values of a type, but for the name: their tensors are any tensors.
/// Errors: NotSupported for a type that no EValue is of.
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
  return fail(Error::NotSupported, "it is ", std::string_view(type.annotation_str()),
              ", which an EValue cannot be");
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
  if (from.defined()) {
    if (from.requires_grad()) from = from.detach();
    from = from.resolve_conj().resolve_neg();
  }
  return make_from_aten(from, TensorShapeDynamism::DYNAMIC_BOUND, to);
}

/// A value of TorchScript's.
///
/// Ownership: shares tensors' memory as from_aten() does; copies texts and lists.
/// Errors: NotSupported for a value that no EValue can be; those of from_aten() for tensors, but
/// gradients are left behind; what is thrown is c10's and EValue's.
inline Error from_ivalue(const c10::IValue& from, EValue& to) {
  if (from.isTensor()) {  // whose type takes long to make
    to = Tensor();
    return from_ivalue_tensor(from.toTensor(), to.toTensor());
  }
  ValueSpec spec;
  TENON_TRY(describe_type(*from.type(), spec));
  switch (spec.kind) {
    case ValueKind::Tensor:
    case ValueKind::None: to = EValue(); break;
    case ValueKind::Int: to = from.toInt(); break;
    case ValueKind::Double: to = from.toDouble(); break;
    case ValueKind::Bool: to = from.toBool(); break;
    case ValueKind::String: to = from.toStringRef(); break;
    case ValueKind::IntList: to = from.toIntVector(); break;
    case ValueKind::DoubleList: to = from.toDoubleVector(); break;
    case ValueKind::BoolList: to = from.toBoolList().vec(); break;
    case ValueKind::TensorList:
    case ValueKind::OptionalTensorList: {
      const c10::ArrayRef<c10::IValue> elements = from.toListRef();
      std::vector<Tensor> tensors(elements.size());
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (elements[i].isNone()) continue;
        TENON_TRY(blame_unless_ok("element", i, "",
                                  from_ivalue_tensor(elements[i].toTensor(), tensors[i])));
      }
      to = spec.kind == ValueKind::TensorList ? EValue(tensors)
                                              : EValue::optional_tensor_list(tensors);
    }
  }
  return Error::Ok;
}

/// A method with what its schema says of it.
class TorchScriptMethod {
 public:
  explicit TorchScriptMethod(torch::jit::Method method) : method_(std::move(method)) {}

  const char* name() const noexcept { return method_.name().c_str(); }

  Error describe(MethodMeta& meta) {
    const c10::FunctionSchema& schema = method_.function().getSchema();
    TENON_TRY(specs_.inputs.resize(0));
    for (size_t i = 1; i < schema.arguments().size(); ++i) {  // after self
      const c10::Argument& argument = schema.arguments()[i];
      TENON_TRY(add(argument.name(), *argument.real_type(), argument.default_value().has_value(),
                    "input", specs_.inputs));
    }
    TENON_TRY(specs_.outputs.resize(0));
    const c10::Type& type = *schema.returns().at(0).real_type();
    returns_tuple_ = type.kind() == c10::TypeKind::TupleType;
    if (returns_tuple_) {
      const auto& tuple = type.expectRef<c10::TupleType>();
      for (size_t i = 0; i < tuple.elements().size(); ++i) {
        TENON_TRY(add(tuple.schema() ? tuple.schema()->arguments()[i].name() : "",
                      *tuple.elements()[i], false, "output", specs_.outputs));
      }
    } else if (type.kind() != c10::TypeKind::NoneType) {
      TENON_TRY(add("", type, false, "output", specs_.outputs));
    }
    specs_.describe(meta);
    return Error::Ok;
  }

  Error call(Span<const EValue> inputs, Outputs& outputs) {
    std::vector<c10::IValue> stack(inputs.size());
    stack.reserve(inputs.size() + 1);  // and self
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& otherwise = method_.function().getSchema().arguments()[i + 1].default_value();
      if (inputs[i].isNone() && otherwise) {
        stack[i] = *otherwise;
      } else {
        TENON_TRY(
            blame_unless_ok("input", i, specs_.inputs[i].name(), to_ivalue(inputs[i], stack[i])));
      }
    }
    const c10::NoGradGuard without_gradients;
    const c10::IValue result = method_(std::move(stack));
    for (size_t i = 0; i < specs_.outputs.size(); ++i) {
      EValue made;
      TENON_TRY(blame_unless_ok(
          "output", i, specs_.outputs[i].name(),
          from_ivalue(returns_tuple_ ? result.toTupleRef().elements()[i] : result, made)));
      TENON_TRY(outputs.put(i, std::move(made)));
    }
    return Error::Ok;
  }

 private:
  static Error add(const std::string& name, const c10::Type& type, bool has_default,
                   const char* role, StoredArray<ValueSpec>& specs) {
    ValueSpec spec(name, ValueKind::None);
    TENON_TRY(check_spec(spec.tensor));
    const Error error = describe_type(type, spec);
    if (!has_default) TENON_TRY(blame_unless_ok(role, specs.size(), spec.name(), error));
    // An argument of a type that no EValue has gets its default in every run.
    if (error != Error::Ok) spec.kind = ValueKind::None;
    spec.is_optional = spec.is_optional || has_default;
    return specs.push_back(std::move(spec));
  }

  torch::jit::Method method_;
  MethodSpecs specs_;
  bool returns_tuple_ = false;
};

}  // namespace detail

/// A TorchScript file, scripted or traced, or a module that libtorch has loaded. The file is opened
/// when it is first needed, and put into evaluation mode.
///
/// Inputs have the names and kinds of the script's arguments; nothing is known of a tensor's sizes
/// and dtype. None, or no input, stands for an argument's default where it has one. An argument of
/// another type, such as a dict, always has its default; a method whose argument has none, or one
/// that gives such a type, is NotSupported. The elements of a tuple are one output each, with the
/// names that it gives them; a method that gives None has none.
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
/// be multiplied (2x3 and 4x5)"), NotSupported (a method's types, as above; an operator that this
/// libtorch or device lacks; what to_aten() and from_aten() refuse), OutOfMemory.
/// Threads: as Module's; several modules, several threads. libtorch computes on threads of its own.
/// Source: torch::jit::Module.
class TENON_EXPORT TorchScriptModule final : public Module {
 public:
  explicit TorchScriptModule(std::string path) noexcept : path_(std::move(path)) {}
  /// Shares a module that is loaded, `torch::jit::load(path, at::kCPU)`, and leaves its mode as it
  /// is.
  explicit TorchScriptModule(torch::jit::Module module) noexcept
      : module_(std::move(module)), is_loaded_(true) {}

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

 private:
  std::string path_;
  torch::jit::Module module_;
  bool is_loaded_ = false;
  std::vector<detail::TorchScriptMethod> methods_;
};

TENON_END_NAMESPACE
