// SPDX-License-Identifier: MIT
// TorchScriptModule: a .pt file as a module, run by libtorch.
#pragma once

#include "tenon/interop/file.h"
#include "tenon/interop/torchscript/ivalue.h"
#include "tenon/module/module.h"

// Has torch::jit::load. <torch/script.h>, the documented one, takes a third longer to compile.
#include <torch/csrc/jit/serialization/import.h>

#include <c10/core/GradMode.h>

TENON_BEGIN_NAMESPACE
namespace detail {

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
      const Error error = load_file();
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
  Error load_file() {
    detail::InputFile file;  // for its errors, which tell more than libtorch's
    TENON_TRY(file.open(path_.c_str()));
    return detail::call_torchscript([&] {
      torch::jit::Module loaded = torch::jit::load(path_);
      loaded.eval();
      module_ = std::move(loaded);
      return Error::Ok;
    });
  }

  std::string path_;
  torch::jit::Module module_;
  bool is_loaded_ = false;
  std::vector<detail::TorchScriptMethod> methods_;
};

TENON_END_NAMESPACE
