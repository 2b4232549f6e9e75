// SPDX-License-Identifier: MIT
// FunctionModule: plain functions as a module, for what no runtime has to run, and for bare metal.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/module/function.h"
#include "tenon/module/module.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE

/// A module whose methods are callables of this program.
///
/// A callable takes the inputs, as a Span<const EValue> or a const std::vector<EValue>&, and
/// returns a std::vector<EValue>, anything that converts to one EValue, or a Result of either. Or
/// it writes: `f(Span<const EValue> inputs, Span<EValue> outputs)`, which returns nothing or an
/// Error, finds in `outputs` the tensors that were set and, for an output whose spec gives all
/// sizes or max_sizes, one that the module makes; the others are None, to be assigned. In place of
/// a set tensor that shares memory with an input or an earlier set output it finds a copy, which is
/// copied back. That form needs no heap: with an ArenaBackend, run() takes all that it needs,
/// outputs too, from the arena.
///
/// A callable may run other methods of the module, and add some.
///
/// Ownership: takes the callables and keeps them until it is destroyed. With `memory`, they and
/// everything else the module keeps is there if that backend keeps metadata, and outputs are made
/// there; the backend outlives the module. On the heap even then: names that a Text or a
/// NameList does not hold inline, shapes of more than 6 dimensions, and the texts and lists of
/// EValues. A made output is written again in the next run unless somebody still shares it then.
/// Errors: as Module's; what a callable throws becomes one, by its own code or Internal. The
/// constructors raise InvalidArgument (a spec that cannot be met) and OutOfMemory; what moving the
/// callable throws becomes one too.
/// Cost: a run allocates nothing itself, but for outputs that are shared when the next ones are
/// made, for the first copy of one that shares memory, and for shapes of more than 6 dimensions.
class TENON_EXPORT FunctionModule final : public Module {
 public:
  /// Without methods; or with one, `forward`, of which nothing is checked where no specs are given.
  FunctionModule() noexcept : FunctionModule(nullptr) {}
  explicit FunctionModule(Backend& memory) noexcept : FunctionModule(&memory) {}
  template <class F,
            std::enable_if_t<detail::writes_outputs_v<F> || detail::returns_outputs_v<F>, int> = 0>
  explicit FunctionModule(F f) : FunctionModule() {
    detail::raise_if("FunctionModule", add("forward", std::move(f), nullptr, nullptr));
  }
  template <class F>
  FunctionModule(F f, Backend& memory) : FunctionModule(memory) {
    detail::raise_if("FunctionModule", add("forward", std::move(f), nullptr, nullptr));
  }
  template <class F>
  FunctionModule(F f, const ValueSpecs& inputs) : FunctionModule() {
    detail::raise_if("FunctionModule", add("forward", std::move(f), &inputs, nullptr));
  }
  template <class F>
  FunctionModule(F f, const ValueSpecs& inputs, Backend& memory) : FunctionModule(memory) {
    detail::raise_if("FunctionModule", add("forward", std::move(f), &inputs, nullptr));
  }
  template <class F>
  FunctionModule(F f, const ValueSpecs& inputs, const ValueSpecs& outputs) : FunctionModule() {
    detail::raise_if("FunctionModule", add("forward", std::move(f), &inputs, &outputs));
  }
  template <class F>
  FunctionModule(F f, const ValueSpecs& inputs, const ValueSpecs& outputs, Backend& memory)
      : FunctionModule(memory) {
    detail::raise_if("FunctionModule", add("forward", std::move(f), &inputs, &outputs));
  }

  /// Adds a method, with specs as in the constructors.
  /// Errors: InvalidArgument (there is one of that name; a spec that cannot be met), OutOfMemory.
  /// Nothing is added then.
  template <class F>
  [[nodiscard]] Error add_method(std::string_view name, F f) {
    return blamed_add(add(name, std::move(f), nullptr, nullptr));
  }
  template <class F>
  [[nodiscard]] Error add_method(std::string_view name, F f, const ValueSpecs& inputs) {
    return blamed_add(add(name, std::move(f), &inputs, nullptr));
  }
  template <class F>
  [[nodiscard]] Error add_method(std::string_view name, F f, const ValueSpecs& inputs,
                                 const ValueSpecs& outputs) {
    return blamed_add(add(name, std::move(f), &inputs, &outputs));
  }

 protected:
  size_t count_methods() const noexcept override { return functions_.size(); }
  const char* name_of(size_t method) const noexcept override { return functions_[method]->name(); }
  Error prepare(size_t method, MethodMeta& meta) override {
    functions_[method]->describe(meta);
    return Error::Ok;
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    return functions_[method]->call(inputs, outputs);
  }

 private:
  explicit FunctionModule(Backend* memory) noexcept
      : Module(memory), functions_(detail::storage_of(memory)) {}

  static Error blamed_add(Error error) noexcept {
    return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("add_method", error) : error;
  }

  template <class F>
  Error add(std::string_view name, F&& f, const ValueSpecs* inputs, const ValueSpecs* outputs) {
    static_assert(
        detail::writes_outputs_v<std::decay_t<F>> || detail::returns_outputs_v<std::decay_t<F>>,
        "a method is callable as f(Span<const EValue>), f(const std::vector<EValue>&) or "
        "f(Span<const EValue>, Span<EValue>)");
    return detail::call_safely([&] {
      return adopt(detail::Function::make(functions_.where(), Text(name), std::forward<F>(f)),
                   inputs, outputs);
    });
  }
  Error adopt(detail::Stored<detail::Function> function, const ValueSpecs* inputs,
              const ValueSpecs* outputs) noexcept {
    if (TENON_UNLIKELY(function == nullptr || function->name_error() != Error::Ok)) {
      return detail::fail(Error::OutOfMemory, {"out of memory for a method"});
    }
    for (const auto& other : functions_) {
      if (TENON_UNLIKELY(std::string_view(other->name()) == function->name())) {
        return detail::fail(Error::InvalidArgument,
                            {"there is a method \"", function->name(), "\" already"});
      }
    }
    if (inputs != nullptr) TENON_TRY(function->set_inputs(*inputs));
    if (outputs != nullptr) TENON_TRY(function->set_outputs(*outputs));
    return functions_.push_back(std::move(function));
  }

  detail::StoredArray<detail::Stored<detail::Function>> functions_;
};

TENON_END_NAMESPACE
