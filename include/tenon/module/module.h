// SPDX-License-Identifier: MIT
// Module: a model, whatever runtime runs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/module/evalue.h"
#include "tenon/module/list_arg.h"
#include "tenon/module/method_state.h"
#include "tenon/module/names.h"
#include "tenon/module/outputs.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

/// Methods with inputs and outputs: `forward(x)`, `forward({x, y})`, `execute("encode", x)`.
///
/// Inputs are checked against what the module says of them before the runtime sees them, and are
/// passed without a copy. Inputs set by set_input() stay until they are set anew, and stand
/// wherever a call gives None or gives fewer; those of a call are for that call. An output set by
/// set_output() stays too: the runtime writes to that tensor, or what it gives is copied there. It
/// may share memory with inputs and other outputs, as a state that goes round does: every output
/// is what it would be if none did, but for elements that two outputs have in common: those are the
/// last one's.
///
/// Ownership: shares the tensors that were set, and those of the last outputs, until the next run
/// of the method.
/// Errors: every function gives InvalidArgument, InvalidType and InvalidState as ValueSpec::check()
/// does ("forward: input 0 (image): dimension 1 (rows) is 9, expected 8"); NotFound for a method
/// that there is not; OutOfBounds for an input or output that there is not; InvalidState to run or
/// describe a method from within its own run; what the runtime reports. After an error, inputs and
/// outputs that were set stay set; the outputs of the last run are gone if the new one had begun.
/// Threads: a module is used on one thread at a time.
/// Source: executorch::extension::Module.
class TENON_EXPORT Module {
 public:
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// Runs `forward`, and gives its outputs.
  Result<std::vector<EValue>> forward(const EValues& inputs = {}) {
    return collect("forward", start("forward", "forward", inputs));
  }
  /// Runs a method.
  Result<std::vector<EValue>> execute(std::string_view method, const EValues& inputs = {}) {
    return collect("execute", start("execute", method, inputs));
  }
  /// The same without a vector of outputs, which get_output() gives: needs no heap if the runtime
  /// does not.
  [[nodiscard]] Error run(std::string_view method = "forward", const EValues& inputs = {}) {
    return start("run", method, inputs).error;
  }

  /// Sets an input for the runs that follow; None takes it away.
  [[nodiscard]] Error set_input(const EValue& value, size_t index) {
    return set_input("forward", value, index);
  }
  [[nodiscard]] Error set_input(std::string_view method, const EValue& value, size_t index) {
    Method* found = nullptr;
    Error error = find(method, found);
    if (error == Error::Ok) error = found->put_input(value, index);
    return blamed("set_input", error);
  }
  /// Sets the first inputs, all of them or, after an error, none.
  [[nodiscard]] Error set_inputs(const EValues& values) { return set_inputs("forward", values); }
  [[nodiscard]] Error set_inputs(std::string_view method, const EValues& values) {
    Method* found = nullptr;
    Error error = find(method, found);
    if (error == Error::Ok) error = found->put_inputs(values);
    return blamed("set_inputs", error);
  }
  /// Sets the tensor to which an output is written.
  /// Errors: also InvalidState for a placeholder or a read-only tensor.
  [[nodiscard]] Error set_output(const TensorArg& tensor, size_t index = 0) {
    return set_output("forward", tensor, index);
  }
  [[nodiscard]] Error set_output(std::string_view method, const TensorArg& tensor,
                                 size_t index = 0) {
    return blamed("set_output", put_output(method, tensor, index));
  }
  /// Takes it away.
  [[nodiscard]] Error set_output(None, size_t index = 0) {
    return set_output("forward", none, index);
  }
  [[nodiscard]] Error set_output(std::string_view method, None, size_t index = 0) {
    return blamed("set_output", drop_output(method, index));
  }

  /// An output of the method's last run.
  /// Errors: InvalidState when there was none, or it failed.
  Result<EValue> get_output(size_t index = 0) { return get_output("forward", index); }
  Result<EValue> get_output(std::string_view method, size_t index = 0);
  Result<std::vector<EValue>> get_outputs(std::string_view method = "forward") {
    Run run;
    run.error = find_run(method, run.method);
    if (run.error != Error::Ok) run.error = detail::blame("get_outputs", run.error);
    return collect("get_outputs", run);
  }

  /// The methods' names, in the module's order.
  Result<std::vector<std::string>> method_names();
  /// What a method takes and gives.
  Result<MethodMeta> method_meta(std::string_view method = "forward") {
    Method* found = nullptr;
    const Error error = find(method, found);
    if (error != Error::Ok) return detail::blame("method_meta", error);
    return found->meta;
  }
  /// Adds to what the module knows of a method's inputs: names for messages, sizes that it leaves
  /// open, or all of it where it knows nothing. method_meta() and the checks take it in.
  ///
  /// One spec for each input; in one, what is left out (no name, -1, dtype Undefined) stays as it
  /// was, and so does is_optional.
  /// Errors: also InvalidArgument and InvalidType where a spec cannot be met, or contradicts what is
  /// known, or there are fewer than inputs that were set: nothing is changed then.
  [[nodiscard]] Error describe_inputs(const ValueSpecs& specs) {
    return describe_inputs("forward", specs);
  }
  [[nodiscard]] Error describe_inputs(std::string_view method, const ValueSpecs& specs) {
    Method* found = nullptr;
    Error error = find(method, found);
    if (error == Error::Ok) error = found->describe(specs);
    return blamed("describe_inputs", error);
  }
  /// Gets a method ready, which its first use does otherwise.
  [[nodiscard]] Error load_method(std::string_view method = "forward") {
    Method* found = nullptr;
    return blamed("load_method", find(method, found));
  }

 protected:
  /// With `memory` what a module keeps (inputs and outputs that are set, the last outputs) is in
  /// that backend's memory, if it keeps metadata, as an arena does; it outlives the module then.
  explicit Module(Backend* memory = nullptr) noexcept
      : memory_(memory), methods_(detail::storage_of(memory)) {}

  // What a runtime implements. Errors are reported by detail::fail(Error::X, {text}), and what is
  // thrown becomes one.

  /// Opens the model. Called before all others, until it succeeds.
  virtual Error load() { return Error::Ok; }
  /// How many methods there are; never fewer than before.
  virtual size_t count_methods() const noexcept = 0;
  /// The name of one, which stays as it is.
  virtual const char* name_of(size_t method) const noexcept = 0;
  /// Gets a method ready, once, and describes it; what `meta` refers to lives as long as the
  /// module. Its name is set.
  virtual Error prepare(size_t method, MethodMeta& meta) = 0;
  /// Runs a prepared method on inputs that have been checked. Each output goes to outputs.put(), or
  /// where there is a tensor for it, outputs.target(i), into that.
  virtual Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) = 0;
  /// Told of a tensor that is to be an output, undefined when it is none anymore: to refuse it.
  virtual Error bind_output(size_t method, size_t index, const Tensor& tensor) {
    static_cast<void>(method);
    static_cast<void>(index);
    static_cast<void>(tensor);
    return Error::Ok;
  }

 private:
  using Method = detail::MethodState;
  struct Run {
    Error error = Error::Ok;
    Method* method = nullptr;
  };

  static Error blamed(const char* function, Error error) noexcept {
    return TENON_UNLIKELY(error != Error::Ok) ? detail::blame(function, error) : error;
  }
  static Result<std::vector<EValue>> collect(const char* function, const Run& run) {
    if (TENON_UNLIKELY(run.error != Error::Ok)) return run.error;
    std::vector<EValue> outputs;
    const Error error = detail::call_safely([&] {
      const Span<EValue> values = run.method->outputs.values();
      outputs.assign(values.begin(), values.end());
      return Error::Ok;
    });
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame(function, error);
    return outputs;
  }

  Error open() noexcept;
  Error find(std::string_view name, Method*& found) noexcept;
  Error find_run(std::string_view name, Method*& found) noexcept;
  Error put_output(std::string_view name, const TensorArg& tensor, size_t index) noexcept;
  Error drop_output(std::string_view name, size_t index) noexcept;
  Error invoke_method(Method& method, const EValues& given) noexcept;
  Run start(const char* function, std::string_view name, const EValues& inputs) noexcept;

  Backend* memory_;
  bool loaded_ = false;
  detail::StoredArray<detail::Stored<Method>> methods_;
};

inline Error Module::open() noexcept {
  if (loaded_) return Error::Ok;
  TENON_TRY(detail::call_safely([&] { return load(); }));
  loaded_ = true;
  return Error::Ok;
}

inline Error Module::find(std::string_view name, Method*& found) noexcept {
  TENON_TRY(open());
  const size_t count = count_methods();
  size_t index = 0;
  while (index < count && name_of(index) != name) ++index;
  if (TENON_UNLIKELY(index == count)) {
    return detail::fail(Error::NotFound,
                        {"there is no method \"", detail::TextPart{name}, "\"; the module has ",
                         count, count == 1 ? " method" : " methods",
                         count == 0 ? "" : ", the first is ", count == 0 ? "" : name_of(0)});
  }
  TENON_TRY(methods_.reserve(count));
  while (methods_.size() < count) {
    auto method = detail::make_stored<Method>(methods_.where(), 0, memory_, methods_.size());
    if (TENON_UNLIKELY(method == nullptr)) {
      return detail::fail(Error::OutOfMemory, {"out of memory for a method"});
    }
    TENON_TRY(methods_.push_back(std::move(method)));
  }
  found = methods_[index].get();
  if (TENON_UNLIKELY(!found->ready)) {
    MethodMeta meta;
    meta.name = name_of(index);
    TENON_TRY(detail::call_safely([&] { return prepare(index, meta); }));
    found->meta = meta;
    found->ready = true;
  }
  return Error::Ok;
}

inline Error Module::find_run(std::string_view name, Method*& found) noexcept {
  TENON_TRY(find(name, found));
  if (TENON_UNLIKELY(!found->has_run)) {
    return detail::fail(Error::InvalidState, {found->meta.name, " has not run yet, or failed"});
  }
  return Error::Ok;
}

inline Result<EValue> Module::get_output(std::string_view method, size_t index) {
  Method* found = nullptr;
  Error error = find_run(method, found);
  if (error == Error::Ok) {
    error = found->check_index("output", index, true, found->outputs.size());
  }
  if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("get_output", error);
  return found->outputs.values()[index];
}

inline Result<std::vector<std::string>> Module::method_names() {
  std::vector<std::string> names;
  Error error = open();
  if (error == Error::Ok) {
    error = detail::call_safely([&] {
      for (size_t i = 0; i < count_methods(); ++i) names.emplace_back(name_of(i));
      return Error::Ok;
    });
  }
  if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("method_names", error);
  return names;
}

inline Error Module::put_output(std::string_view name, const TensorArg& tensor,
                                size_t index) noexcept {
  Method* method = nullptr;
  TENON_TRY(find(name, method));
  const MethodMeta& meta = method->meta;
  TENON_TRY(method->check_index("output", index, meta.knows_outputs, meta.outputs.size()));
  TENON_TRY(detail::check_defined(tensor, "the tensor"));
  const detail::TensorFields& fields = detail::fields(tensor);
  TENON_TRY(detail::check_has_data(fields));
  if (TENON_UNLIKELY(fields.readonly)) {
    return detail::fail(Error::InvalidState, {"the tensor is read-only"});
  }
  if (meta.knows_outputs) {
    const ValueSpec& spec = meta.outputs[index];
    const Error error = detail::check_value(spec, EValue(tensor.tensor()));
    if (error != Error::Ok) return detail::blame_value("output", index, spec.name(), error);
  }
  if (!method->outputs.is_set(index)) TENON_TRY(method->outputs.set(index, Tensor()));  // has room
  TENON_TRY(
      detail::call_safely([&] { return bind_output(method->number, index, tensor.tensor()); }));
  return method->outputs.set(index, tensor.tensor());
}

inline Error Module::drop_output(std::string_view name, size_t index) noexcept {
  Method* method = nullptr;
  TENON_TRY(find(name, method));
  const MethodMeta& meta = method->meta;
  TENON_TRY(method->check_index("output", index, meta.knows_outputs, meta.outputs.size()));
  if (!method->outputs.is_set(index)) return Error::Ok;
  TENON_TRY(detail::call_safely([&] { return bind_output(method->number, index, Tensor()); }));
  return method->outputs.set(index, Tensor());
}

inline Error Module::invoke_method(Method& method, const EValues& given) noexcept {
  Span<const EValue> inputs;
  TENON_TRY(method.gather(given, inputs));
  method.has_run = false;
  TENON_TRY(method.outputs.begin(inputs, method.meta.outputs.size()));
  TENON_TRY(detail::call_safely([&] { return invoke(method.number, inputs, method.outputs); }));
  TENON_TRY(detail::call_safely([&] { return method.outputs.deliver(); }));
  method.has_run = true;
  return Error::Ok;
}

inline Module::Run Module::start(const char* function, std::string_view name,
                                 const EValues& inputs) noexcept {
  Run run;
  run.error = find(name, run.method);
  if (run.error == Error::Ok) run.error = run.method->check_idle();
  if (run.error == Error::Ok) {
    run.method->runs = true;
    run.error = invoke_method(*run.method, inputs);
    for (EValue& value : run.method->given) value = EValue();  // for that run only
    if (run.error != Error::Ok && !run.method->has_run) run.method->outputs.clear();
    run.method->runs = false;
  }
  if (TENON_UNLIKELY(run.error != Error::Ok)) run.error = detail::blame(function, run.error);
  return run;
}

TENON_END_NAMESPACE
