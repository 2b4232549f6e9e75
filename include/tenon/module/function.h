// SPDX-License-Identifier: MIT
// A FunctionModule's method: a callable of any type, with its specs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/core/result.h"
#include "tenon/module/evalue.h"
#include "tenon/module/names.h"
#include "tenon/module/outputs.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Writes its outputs: `f(inputs, outputs)`, which returns nothing or an Error.
template <class F>
inline constexpr bool writes_outputs_v = std::is_invocable_v<F&, Span<const EValue>, Span<EValue>>;
/// Returns them.
template <class F>
inline constexpr bool returns_outputs_v =
    !writes_outputs_v<F> && (std::is_invocable_v<F&, Span<const EValue>> ||
                             std::is_invocable_v<F&, const std::vector<EValue>&>);

/// A method: this head, and behind it in one block the callable.
class Function {
 public:
  /// Null when memory is out.
  /// Ownership: takes `f`. Throws what moving it throws, or copying it, if a member is const.
  template <class F>
  static Stored<Function> make(BackendState* where, Text name, F&& f) {
    using Callable = std::decay_t<F>;
    constexpr size_t kPadding = alignof(Callable) > alignof(void*) ? alignof(Callable) : 0;
    Stored<Function> made =
        make_stored<Function>(where, kPadding + sizeof(Callable), where, std::move(name));
    if (TENON_UNLIKELY(made == nullptr)) return made;
    auto* at = reinterpret_cast<char*>(made.get() + 1);
    at += (uintptr_t{0} - reinterpret_cast<uintptr_t>(at)) % alignof(Callable);
    made->callable_ = ::new (static_cast<void*>(at)) Callable(std::forward<F>(f));
    made->call_ = [](Function& self, Span<const EValue> inputs, Outputs& outputs) {
      auto& callable = *static_cast<Callable*>(self.callable_);
      if constexpr (writes_outputs_v<Callable>) {
        return self.call_writing(callable, inputs, outputs);
      } else if constexpr (std::is_invocable_v<Callable&, Span<const EValue>>) {
        return self.take(callable(inputs), outputs);
      } else {
        const std::vector<EValue> copies = inputs.vec();
        return self.take(callable(copies), outputs);
      }
    };
    made->destroy_ = [](void* callable) noexcept { static_cast<Callable*>(callable)->~Callable(); };
    return made;
  }
  Function(BackendState* where, Text&& name) noexcept
      : name_(std::move(name)), inputs_(where), outputs_(where) {}
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function() {
    if (destroy_ != nullptr) destroy_(callable_);
  }

  const char* name() const noexcept { return name_.c_str(); }
  Error name_error() const noexcept { return name_.error(); }

  Error set_inputs(const ValueSpecs& specs) noexcept {
    knows_inputs_ = true;
    return store(inputs_, "input", specs);
  }
  Error set_outputs(const ValueSpecs& specs) noexcept {
    knows_outputs_ = true;
    return store(outputs_, "output", specs);
  }
  void describe(MethodMeta& meta) const noexcept {
    meta.inputs = ArrayRef<ValueSpec>(inputs_.data(), inputs_.size());
    meta.outputs = ArrayRef<ValueSpec>(outputs_.data(), outputs_.size());
    meta.knows_inputs = knows_inputs_;
    meta.knows_outputs = knows_outputs_;
  }
  Error call(Span<const EValue> inputs, Outputs& outputs) { return call_(*this, inputs, outputs); }

 private:
  static Error store(StoredArray<ValueSpec>& to, const char* role,
                     const ValueSpecs& specs) noexcept {
    TENON_TRY(to.resize(specs.size()));
    for (size_t i = 0; i < specs.size(); ++i) {
      to[i] = specs[i];
      const Error error = check_spec(to[i].tensor);
      if (TENON_UNLIKELY(error != Error::Ok)) return blame_value(role, i, to[i].name(), error);
    }
    return Error::Ok;
  }

  template <class = void>
  Error check_output(size_t i, const EValue& value) const noexcept {
    if (!knows_outputs_) return Error::Ok;
    const Error error = check_value(outputs_[i], value);
    return TENON_UNLIKELY(error != Error::Ok) ? blame_value("output", i, outputs_[i].name(), error)
                                              : error;
  }

  // What a callable may return: outputs, one output, or a Result of either.
  template <class = void>
  Error take(std::vector<EValue>&& values, Outputs& outputs) const noexcept {
    if (!knows_outputs_) TENON_TRY(outputs.resize(values.size()));
    if (TENON_UNLIKELY(values.size() != outputs.size())) {
      return fail(Error::InvalidState,
                  {name(), " gave ", values.size(), " outputs, expected ", outputs.size()});
    }
    for (size_t i = 0; i < values.size(); ++i) TENON_TRY(check_output(i, values[i]));
    for (size_t i = 0; i < values.size(); ++i) TENON_TRY(outputs.put(i, std::move(values[i])));
    return Error::Ok;
  }
  template <class = void>
  Error take(EValue&& value, Outputs& outputs) const noexcept {
    if (!knows_outputs_) TENON_TRY(outputs.resize(1));
    if (TENON_UNLIKELY(outputs.size() != 1)) {
      return fail(Error::InvalidState, {name(), " gave one output, expected ", outputs.size()});
    }
    TENON_TRY(check_output(0, value));
    return outputs.put(0, std::move(value));
  }
  template <class T>
  Error take(Result<T>&& result, Outputs& outputs) const {  // throws what T's conversion does
    if (TENON_UNLIKELY(!result.ok())) return fail(result.error(), {result.message()});
    return take(std::move(*result), outputs);
  }

  template <class F>
  Error call_writing(F& callable, Span<const EValue> inputs, Outputs& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) TENON_TRY(provide(i, outputs));
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Span<const EValue>, Span<EValue>>>) {
      callable(inputs, outputs.values());
    } else {
      TENON_TRY(callable(inputs, outputs.values()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) TENON_TRY(check_output(i, outputs.values()[i]));
    return Error::Ok;
  }

  /// Gives a callable a tensor to write to: the one that was set; a copy of it, if it must not be
  /// written to yet; one by the spec.
  template <class = void>
  Error provide(size_t i, Outputs& outputs) const {
    if (outputs.target(i) != nullptr) return Error::Ok;
    if (outputs.is_set(i)) return outputs.save(i);
    return knows_outputs_ ? outputs.make(i, outputs_[i]) : Error::Ok;
  }

  Text name_;
  void* callable_ = nullptr;
  Error (*call_)(Function& self, Span<const EValue> inputs, Outputs& outputs) = nullptr;
  void (*destroy_)(void* callable) noexcept = nullptr;
  bool knows_inputs_ = false;
  bool knows_outputs_ = false;
  StoredArray<ValueSpec> inputs_;
  StoredArray<ValueSpec> outputs_;
};

}  // namespace detail
TENON_END_NAMESPACE
