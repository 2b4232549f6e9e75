// SPDX-License-Identifier: MIT
// FunctionModule: functions of this program as a module, without a runtime; for bare metal too.
#pragma once

#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether F writes its outputs: f(inputs, outputs) returns nothing or an Error.
template <class F>
inline constexpr bool writes_outputs_v = std::is_invocable_v<F&, Span<const EValue>, Span<EValue>>;
/// Whether F returns its outputs.
template <class F>
inline constexpr bool returns_outputs_v =
    !writes_outputs_v<F> && (std::is_invocable_v<F&, Span<const EValue>> ||
                             std::is_invocable_v<F&, const std::vector<EValue>&>);

/// A method's head; the callable follows in the same block.
struct Function {
  Function(BackendState* metadata_backend, std::string_view name_) noexcept
      : name(name_), specs(metadata_backend) {}
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function() {
    if (destroy != nullptr) destroy(callable);
  }

  Text name;
  void* callable = nullptr;
  void (*destroy)(void* callable) noexcept = nullptr;
  Error (*call)(Function& self, Span<const EValue> inputs, Outputs& outputs) = nullptr;
  // Set if there are specs; else `make` is not linked.
  Error (*make)(Outputs& outputs, size_t i, const ValueSpec& spec) noexcept = nullptr;
  Error (*finish)(const Function&, Span<EValue> values, Error error) noexcept = nullptr;
  bool knows_inputs = false;
  bool knows_outputs = false;
  MethodSpecs specs;
};

// A callable may return outputs, one output, or a Result of either.
template <class = void>
Error take(const Function& function, Span<EValue> values, Outputs& outputs) noexcept {
  if (!function.knows_outputs) TENON_TRY(outputs.resize(values.size()));
  if (values.size() != outputs.size()) {
    return fail(Error::InvalidState, function.name.c_str(), " gave ", values.size(),
                values.size() == 1 ? " output" : " outputs", ", expected ", outputs.size());
  }
  for (size_t i = 0; i < values.size(); ++i) TENON_TRY(outputs.put(i, std::move(values[i])));
  return Error::Ok;
}
template <class T>
Error take_result(const Function& function, T&& result, Outputs& outputs) {
  using Type = std::decay_t<T>;
  if constexpr (std::is_same_v<Type, std::vector<EValue>>) {
    return take(function, result, outputs);
  } else if constexpr (IsResult<Type>::value) {
    if (!result.ok()) return fail(result.error(), result.message());
    return take_result(function, std::move(*result), outputs);
  } else {
    EValue value(std::forward<T>(result));  // may throw
    return take(function, Span<EValue>(&value, 1), outputs);
  }
}

/// Prepares the tensors that a callable writes to: the set output; a copy of the set output, if
/// that must not be overwritten yet; or a new tensor by the spec.
template <class = void>
Error provide_outputs(const Function& function, Outputs& outputs) {
  if (!function.knows_outputs && outputs.size() == 0) {
    return fail(Error::InvalidState, function.name.c_str(),
                " writes its outputs, but their number is unknown: use set_output()");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs.target(i) != nullptr) continue;
    if (outputs.is_set(i)) {
      TENON_TRY(outputs.save(i));
    } else if (function.knows_outputs) {
      TENON_TRY(function.make(outputs, i, function.specs.outputs[i]));
    }
  }
  return Error::Ok;
}

/// A callable's error, with its text. If an output of unknown size is None, and toTensor() failed
/// because of that, the text says why there was no tensor.
template <class = void>
Error finish_call(const Function& function, Span<EValue> values, Error error) noexcept {
  const char* const text = error == Error::Ok ? "" : message_of(error);
  const bool may_miss = error == Error::Ok || error == Error::InvalidType;
  for (size_t i = 0; i < values.size() && function.knows_outputs && may_miss; ++i) {
    const ValueSpec& spec = function.specs.outputs[i];
    if (!values[i].isNone() || spec.is_optional || !is_open(spec.tensor)) continue;
    return fail(Error::InvalidType, text, *text == '\0' ? "" : "; ", "output ",
                Numbered{i, spec.name()}, " is None: its spec, sizes ", spec.tensor.sizes,
                ", does not say what tensor to make; use set_output(tensor, ", i,
                ") or max_sizes in the spec, or assign a tensor");
  }
  return error;
}

template <class F>
Error call_function(Function& self, Span<const EValue> inputs, Outputs& outputs) {
  F& callable = *static_cast<F*>(self.callable);
  if constexpr (!writes_outputs_v<F>) {
    if constexpr (std::is_invocable_v<F&, Span<const EValue>>) {
      return take_result(self, callable(inputs), outputs);
    } else {
      const std::vector<EValue> copies = inputs.vec();
      return take_result(self, callable(copies), outputs);
    }
  } else {
    TENON_TRY(provide_outputs(self, outputs));
    const Error error = call_safely([&] {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, Span<const EValue>, Span<EValue>>>) {
        callable(inputs, outputs.values());
        return Error::Ok;
      } else {
        return callable(inputs, outputs.values());
      }
    });
    return self.finish != nullptr ? self.finish(self, outputs.values(), error) : error;
  }
}

/// Ownership: takes `f`. Throws what moving `f` throws (copying `f`, if it has a const member).
/// Errors: OutOfMemory.
template <class F>
Error make_function(Stored<Function>& made, BackendState* metadata_backend, std::string_view name,
                    F&& f) {
  using Callable = std::decay_t<F>;
  static_assert(writes_outputs_v<Callable> || returns_outputs_v<Callable>,
                "a method is callable as f(Span<const EValue>), f(const std::vector<EValue>&) or "
                "f(Span<const EValue>, Span<EValue>)");
  constexpr size_t kPadding = alignof(Callable) > alignof(void*) ? alignof(Callable) : 0;
  TENON_TRY(
      make_stored(made, metadata_backend, kPadding + sizeof(Callable), metadata_backend, name));
  auto* at = reinterpret_cast<char*>(made.get() + 1);
  at += (uintptr_t{0} - reinterpret_cast<uintptr_t>(at)) % alignof(Callable);
  made->callable = ::new (static_cast<void*>(at)) Callable(std::forward<F>(f));
  made->destroy = [](void* callable) noexcept { static_cast<Callable*>(callable)->~Callable(); };
  made->call = call_function<Callable>;
  return made->name.error();
}

}  // namespace detail

/// A module whose methods are callables of this program.
///
/// A callable has one of the two forms below. The first may take a const std::vector<EValue>& too,
/// and return anything that converts to an EValue. In the second each of `outputs` is the tensor
/// that was set; else, if the spec gives all sizes or max_sizes, a tensor of the maximum size, to
/// be resized; else None, to be assigned. A set tensor that shares memory with an input or an
/// earlier set output is replaced by a copy, which is copied back. Without specs of outputs (`{}`
/// means no outputs) set_output() determines their number. This form needs no heap: with an
/// ArenaBackend, run() takes all memory, outputs too, from the arena.
///
///     std::vector<EValue> f(Span<const EValue> inputs);  // or one EValue, or a Result of either
///     Error f(Span<const EValue> inputs, Span<EValue> outputs);  // or void: writes its outputs
///
/// A callable may run and add other methods of the module.
///
/// Ownership: owns the callables. With `memory`, outputs are made in that backend's memory and, if
/// it keeps metadata, the callables and the module's state too; the backend must outlive the
/// module. Without `memory`, outputs are made on the heap, in a BackendScope too. Always on the
/// heap: names longer than a Text or a NameList holds inline, shapes of more dimensions than
/// TENON_INLINE_DIMS, and texts and lists in EValues. The next run reuses an output that the module
/// made, unless it is still shared.
/// Errors: as Module's; a callable's exception becomes its error code, or Internal. The
/// constructors raise InvalidArgument (a spec that cannot be met), OutOfMemory, and an error for
/// what moving the callable throws.
/// Threads: as Module's; with an ArenaBackend one thread at a time, outputs included.
/// Cost: a run allocates only new outputs in place of those still shared, the first copy of an
/// output that shares memory, and shapes of more dimensions than TENON_INLINE_DIMS.
class TENON_EXPORT FunctionModule final : public Module {
  template <class F>
  using IfCallable =
      std::enable_if_t<detail::writes_outputs_v<F> || detail::returns_outputs_v<F>, int>;
  template <class F>
  using IfMistaken = std::enable_if_t<!detail::writes_outputs_v<F> &&
                                          !detail::returns_outputs_v<F> && !detail::is_backend_v<F>,
                                      int>;
  template <class B>
  using IfBackend = std::enable_if_t<detail::is_backend_v<B>, int>;

 public:
  /// Without methods, or with `forward`. Without specs nothing is checked.
  FunctionModule() noexcept : functions_(detail::metadata_backend_for(nullptr)) {}
  template <class B, IfBackend<B> = 0>
  explicit FunctionModule(B& memory) noexcept
      : Module(&memory), functions_(detail::metadata_backend_for(&memory)) {}
  template <class F, IfCallable<F> = 0>
  explicit FunctionModule(F f) : FunctionModule() {
    add_forward(std::move(f));
  }
  template <class F, IfCallable<F> = 0>
  FunctionModule(F f, ValueSpecs inputs, ValueSpecs outputs = none) : FunctionModule() {
    add_forward(std::move(f), inputs, outputs);
  }
  template <class F, class B, IfBackend<B> = 0>
  FunctionModule(F f, B& memory) : FunctionModule(memory) {
    add_forward(std::move(f));
  }
  template <class F, class B, IfBackend<B> = 0>
  FunctionModule(F f, ValueSpecs inputs, B& memory) : FunctionModule(memory) {
    add_forward(std::move(f), inputs, ValueSpecs(none));
  }
  template <class F, class B, IfBackend<B> = 0>
  FunctionModule(F f, ValueSpecs inputs, ValueSpecs outputs, B& memory) : FunctionModule(memory) {
    add_forward(std::move(f), inputs, outputs);
  }
  template <class CallableNeedsSpanOfEValue, IfMistaken<CallableNeedsSpanOfEValue> = 0>
  explicit FunctionModule(const CallableNeedsSpanOfEValue&, ValueSpecs = none, ValueSpecs = none)
      TENON_MISTAKE("a callable takes Span<const EValue>, or it and Span<EValue>");

  /// Adds a method, with specs as in the constructors.
  /// Errors: InvalidArgument (the name exists, or has a null character inside; a spec that cannot
  /// be met), OutOfMemory. Nothing is added then.
  template <class F>
  [[nodiscard]] Error add_method(std::string_view name, F f) {
    return detail::add_context_if("add_method", add(name, std::move(f)));
  }
  template <class F>
  [[nodiscard]] Error add_method(std::string_view name, F f, ValueSpecs inputs,
                                 ValueSpecs outputs = none) {
    return detail::add_context_if("add_method", add(name, std::move(f), inputs, outputs));
  }

 protected:
  size_t count_methods() const noexcept override { return functions_.size(); }
  const char* name_of(size_t method) const noexcept override {
    return functions_[method]->name.c_str();
  }
  Error prepare(size_t method, MethodMeta& meta) override {
    const detail::Function& function = *functions_[method];
    function.specs.describe(meta);
    meta.knows_inputs = function.knows_inputs;
    meta.knows_outputs = function.knows_outputs;
    return Error::Ok;
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    detail::Function& function = *functions_[method];
    TENON_TRY(function.call(function, inputs, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const EValue& value = outputs.values()[i];
      Error error = Error::Ok;
      const char* name = "";
      if (function.knows_outputs) {
        const ValueSpec& spec = function.specs.outputs[i];
        error = detail::check_value(spec, value);
        name = spec.name();
      } else if (value.isTensor() && !value.toTensor().defined()) {
        error = detail::fail(Error::InvalidState, "the tensor is undefined");
      }
      TENON_TRY(detail::add_context_if("output", i, name, error));
    }
    return Error::Ok;
  }

 private:
  template <class F, class... Specs>
  void add_forward(F&& f, const Specs&... specs) {
    detail::Stored<detail::Function> made;
    Error error = make(made, "forward", std::forward<F>(f), specs...);
    if (error == Error::Ok) error = functions_.push_back(std::move(made));
    detail::raise_if("FunctionModule", error);
  }
  template <class F, class... Specs>
  Error add(std::string_view name, F&& f, const Specs&... specs) {
    detail::Stored<detail::Function> made;
    TENON_TRY(make(made, name, std::forward<F>(f), specs...));
    TENON_TRY(check_name(made->name));  // only now: moving the callable may have added methods
    return functions_.push_back(std::move(made));
  }
  template <class F, class... Specs>
  Error make(detail::Stored<detail::Function>& made, std::string_view name, F&& f,
             const Specs&... specs) {
    TENON_TRY(detail::call_safely([&] {
      return detail::make_function(made, functions_.metadata_backend(), name, std::forward<F>(f));
    }));
    if constexpr (sizeof...(specs) != 0) TENON_TRY(describe(*made, specs...));
    return Error::Ok;
  }
  static Error describe(detail::Function& function, const ValueSpecs& inputs,
                        const ValueSpecs& outputs) noexcept {
    function.knows_inputs = inputs.is_given();
    function.knows_outputs = outputs.is_given();
    function.make = [](Outputs& outputs_, size_t i, const ValueSpec& spec) noexcept {
      return outputs_.make(i, spec);
    };
    function.finish = detail::finish_call<>;
    TENON_TRY(detail::store_specs("input", inputs, function.specs.inputs));
    return detail::store_specs("output", outputs, function.specs.outputs);
  }
  Error check_name(const detail::Text& text) const noexcept {
    const char* const name = text.c_str();
    if (!detail::is_name(text, name)) {
      return detail::fail(Error::InvalidArgument, "the name \"", name,
                          "\" has a null character inside");
    }
    for (const auto& other : functions_) {
      if (detail::is_name(other->name, name)) {
        return detail::fail(Error::InvalidArgument, "there is a method \"", name, "\" already");
      }
    }
    return Error::Ok;
  }

  detail::StoredArray<detail::Stored<detail::Function>> functions_;
};

TENON_END_NAMESPACE
