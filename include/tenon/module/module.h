// SPDX-License-Identifier: MIT
// Module: a model, independent of its runtime.
#pragma once

#include <vector>

#include "tenon/module/outputs.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Stores specs, after checking that they can be met.
inline Error store_specs(const char* role, const ValueSpecs& specs,
                         StoredArray<ValueSpec>& to) noexcept {
  TENON_TRY(to.resize(specs.size()));
  for (size_t i = 0; i < specs.size(); ++i) {
    to[i] = specs[i];
    TENON_TRY(add_context_if(role, i, to[i].name(), check_spec(to[i].tensor)));
  }
  return Error::Ok;
}

/// Refuses undefined tensors, meta tensors and placeholders, but accepts undefined tensors in a
/// list of optional tensors.
inline Error check_tensors(const EValue& value) noexcept {
  const ArrayRef<Tensor> tensors = tensors_of(value);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ConstTensorArg tensor(tensors[i]);
    if (!tensor.defined() && value.isOptionalTensorList()) continue;
    Error error = check_metadata(tensor, "the tensor");
    if (error == Error::Ok) error = check_has_data(fields(tensor));
    TENON_TRY(value.isTensor() ? error : add_context_if("element", i, "", error));
  }
  return Error::Ok;
}

/// A method's state in a module.
struct Method {
  Method(Backend* memory, size_t number_) noexcept
      : number(number_), metadata_backend(metadata_backend_for(memory)), outputs(memory) {}

  Error check_index(const char* role, size_t index, bool known, size_t count) const noexcept {
    const size_t limit = known ? count : kMaxValues;
    if (index < limit) return Error::Ok;
    return fail(Error::OutOfBounds, role, ' ', index, " of ", meta.name,
                " is out of range, expected below ", limit);
  }
  Error check_idle() const noexcept {
    return runs ? fail(Error::InvalidState, meta.name, " is running") : Error::Ok;
  }
  Error check_has_run() const noexcept {
    if (has_run) return Error::Ok;
    return fail(Error::InvalidState, meta.name, " has not run yet, or failed");
  }
  /// Checks that there is one output, a tensor.
  Error check_single(size_t count, ValueKind first) const noexcept {
    if (count != 1) {
      return fail(Error::InvalidArgument, meta.name, " has ", count,
                  " outputs, run(tensor) returns one; forward(tensor) returns all");
    }
    if (first == ValueKind::Tensor) return Error::Ok;
    return fail(Error::InvalidType, "the output of ", meta.name, " is ", first,
                ", run(tensor) returns a tensor; forward(tensor) returns any value");
  }
  Error check_input(const EValue& value, size_t index) const noexcept {
    if (!meta.knows_inputs) return add_context_if("input", index, "", check_tensors(value));
    const ValueSpec& spec = meta.inputs[index];
    Error error = Error::Ok;
    if (value.isNone() && !spec.is_optional && spec.kind != ValueKind::None) {
      error = fail(Error::InvalidState, "it is not given");
    } else {
      error = check_value(spec, value);
      if (error == Error::Ok) error = check_tensors(value);
    }
    return add_context_if("input", index, spec.name(), error);
  }
  /// Sets all inputs or, on error, none.
  Error put_inputs(Span<const EValue> values, size_t first) noexcept {
    for (size_t i = 0; i < values.size(); ++i) {
      TENON_TRY(check_index("input", first + i, meta.knows_inputs, meta.inputs.size()));
      if (!values[i].isNone()) TENON_TRY(check_input(values[i], first + i));
    }
    const size_t count = meta.knows_inputs ? meta.inputs.size() : first + values.size();
    if (inputs.size() < count) TENON_TRY(inputs.resize(count));
    for (size_t i = 0; i < values.size(); ++i) inputs[first + i] = values[i];
    return Error::Ok;
  }
  /// Sets an output's tensor; null removes it.
  Error put_output(const Tensor* tensor, size_t index) noexcept {
    TENON_TRY(check_index("output", index, meta.knows_outputs, meta.outputs.size()));
    if (tensor == nullptr) {
      return outputs.is_set(index) ? outputs.set(index, Tensor()) : Error::Ok;
    }
    const TensorArg target(*tensor);
    TENON_TRY(check_defined(target, "the tensor"));
    TENON_TRY(check_has_data(fields(target)));
    if (fields(target).readonly) {
      return fail(Error::InvalidState, "the tensor is read-only");
    }
    if (meta.knows_outputs) {
      const ValueSpec& spec = meta.outputs[index];
      TENON_TRY(add_context_if("output", index, spec.name(), check_value(spec, EValue(*tensor))));
    }
    return outputs.set(index, *tensor);
  }
  /// Adds to the descriptions of all inputs or, on error, of none.
  Error describe(const ValueSpecs& specs) noexcept {
    TENON_TRY(check_idle());  // a running method reads the inputs
    size_t count = meta.inputs.size();
    for (size_t i = 0; i < inputs.size() && !meta.knows_inputs; ++i) {
      if (!inputs[i].isNone()) count = i + 1;
    }
    if (specs.size() < count || (meta.knows_inputs && specs.size() > count)) {
      return fail(Error::InvalidArgument, specs.size(), " specs are given for ",
                  meta.knows_inputs ? "" : "at least ", count, " inputs");
    }
    StoredArray<ValueSpec> made(metadata_backend);
    TENON_TRY(store_specs("input", specs, made));
    for (size_t i = 0; i < made.size() && meta.knows_inputs; ++i) {
      TENON_TRY(add_context_if("input", i, made[i].name(), narrow_spec(meta.inputs[i], made[i])));
    }
    described = std::move(made);
    meta.inputs = described;
    meta.knows_inputs = true;
    return Error::Ok;
  }
  /// Checks the inputs of a run: `values`, with set inputs in place of None and beyond its end.
  /// `passed` is valid until `arguments` changes.
  Error gather(const EValues& values, Span<const EValue>& passed) noexcept {
    if (meta.knows_inputs && values.size() > meta.inputs.size()) {
      return fail(Error::InvalidArgument, values.size(), " inputs are given, ", meta.name, " has ",
                  meta.inputs.size());
    }
    size_t count = meta.knows_inputs ? meta.inputs.size() : values.size();
    bool complete = values.size() == count;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].isNone()) continue;
      if (i >= count) count = i + 1;
      complete = complete && i < values.size() && !values[i].isNone();
    }
    passed = values;
    if (!complete) {
      TENON_TRY(arguments.resize(count));
      for (size_t i = 0; i < count; ++i) {
        const bool is_given = i < values.size() && !values[i].isNone();
        if (is_given || i < inputs.size()) arguments[i] = is_given ? values[i] : inputs[i];
      }
      passed = arguments;
    }
    for (size_t i = 0; i < count; ++i) TENON_TRY(check_input(passed[i], i));
    return Error::Ok;
  }

  MethodMeta meta;
  size_t number;
  bool runs = false;
  bool has_run = false;
  BackendState* metadata_backend;
  StoredArray<ValueSpec> described{metadata_backend};  // the inputs, if describe_inputs() added
  StoredArray<EValue> inputs{metadata_backend};        // those that were set
  StoredArray<EValue> arguments{metadata_backend};  // a run's inputs, if set inputs are among them
  Outputs outputs;
};

}  // namespace detail

/// Methods with inputs and outputs: `forward(x)`, `forward({x, y})`, `execute("encode", x)`.
///
/// Inputs are checked by their specs before the runtime gets them, and passed without a copy,
/// except tensors of other strides whose spec has copies_strides. Undefined tensors, meta tensors
/// and placeholders are refused, in lists too. Inputs set by set_input() stay until they are
/// replaced. A run uses them where the call passes None or fewer inputs. An output set by
/// set_output() stays too: the runtime writes to that tensor, or its result is copied there. It may
/// alias an input or another output, as recurrent state does: results are the same as without
/// aliases. Elements shared by two outputs get the last output's values.
///
/// Ownership: shares the set tensors, and the last outputs until the method's next run.
/// Errors: every function gives InvalidArgument, InvalidType and InvalidState as ValueSpec::check()
/// does ("forward: input 0 (image): dimension 1 (rows) is 9, expected 8"); NotFound for an unknown
/// method; OutOfBounds for an unknown input or output; InvalidState to run or describe a method
/// during its own run; the runtime's errors. After an error, set inputs and outputs stay set; the
/// last run's outputs are gone if the new run had begun.
/// Threads: a module is used on one thread at a time; several modules, several threads.
/// Source: executorch::extension::Module.
class TENON_EXPORT Module {
 public:
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// Runs `forward`, and returns its outputs.
  Result<std::vector<EValue>> forward(EValues inputs = {}) {
    return collect("forward", "forward", &inputs);
  }
  /// Runs a method.
  Result<std::vector<EValue>> execute(std::string_view method, EValues inputs = {}) {
    return collect("execute", method, &inputs);
  }
  /// Runs a method on a tensor and returns its only output, a tensor:
  /// `TENON_ASSIGN(Tensor y, model.run(x));`. Further inputs may have been set. With the method
  /// first, run() leaves the outputs to get_output().
  /// Errors: also InvalidArgument for another number of outputs, InvalidType for one of another
  /// kind: before the run if the model describes its outputs, else after it.
  Result<Tensor> run(ConstTensorArg input, std::string_view method = "forward") {
    const EValue value(input.defined() ? input.tensor() : Tensor());
    Tensor output;
    const Error error = change("run", method, [&](Method& m) {
      const auto specs = m.meta.outputs;
      if (m.meta.knows_outputs) {
        TENON_TRY(m.check_single(specs.size(), specs.empty() ? ValueKind::None : specs[0].kind));
      }
      TENON_TRY(start(m, value));
      const Span<EValue> values = m.outputs.values();
      TENON_TRY(m.check_single(values.size(), values.empty() ? ValueKind::None : values[0].kind()));
      output = values[0].toTensor();
      return Error::Ok;
    });
    if (error != Error::Ok) return error;
    return output;
  }
  Result<Tensor> run(std::nullptr_t) TENON_MISTAKE("run(tensor), run(\"method\"), or run()");
  /// Runs a method; get_output() returns its outputs. Needs no heap if the runtime needs none.
  [[nodiscard]] Error run(std::string_view method = "forward", EValues inputs = {}) {
    return change("run", method, [&](Method& m) { return start(m, inputs); });
  }

  /// Sets an input for later runs; None removes it.
  [[nodiscard]] Error set_input(const EValue& value, size_t index = 0) {
    return set_input("forward", value, index);
  }
  [[nodiscard]] Error set_input(std::string_view method, const EValue& value, size_t index = 0) {
    const EValue held = value;  // as in set_output()
    return change("set_input", method, [&](Method& m) { return m.put_inputs({&held, 1}, index); });
  }
  template <class TextNeedsEValueNumberNeedsIndex,
            std::enable_if_t<std::is_arithmetic_v<TextNeedsEValueNumberNeedsIndex>, int> = 0>
  Error set_input(std::string_view, TextNeedsEValueNumberNeedsIndex) TENON_MISTAKE(
      "a number for a method needs its index, set_input(method, 5, 0); a text for forward is "
      "EValue(text)");
  /// Sets the first inputs: all or, on error, none.
  [[nodiscard]] Error set_inputs(EValues values) { return put_inputs("forward", values); }
  [[nodiscard]] Error set_inputs(std::string_view method, EValues values) {
    return put_inputs(method, values);
  }
  /// Sets the tensor to which an output is written.
  /// Errors: also InvalidState for a placeholder or a read-only tensor.
  [[nodiscard]] Error set_output(const TensorArg& tensor, size_t index = 0) {
    return set_output("forward", tensor, index);
  }
  [[nodiscard]] Error set_output(std::string_view method, const TensorArg& tensor,
                                 size_t index = 0) {
    // Holds the tensor: the code of the module's backend may drop the caller's handle.
    const Tensor held = tensor.defined() ? tensor.tensor() : Tensor();
    return change("set_output", method, [&](Method& m) { return m.put_output(&held, index); });
  }
  /// Removes the tensor that was set.
  [[nodiscard]] Error set_output(None, size_t index = 0) {
    return set_output("forward", none, index);
  }
  [[nodiscard]] Error set_output(std::string_view method, None, size_t index = 0) {
    return change("set_output", method, [&](Method& m) { return m.put_output(nullptr, index); });
  }

  /// An output of the method's last run.
  /// Errors: InvalidState when there was no run, or it failed; NotSupported for a value that EValue
  /// cannot hold, such as a map: the message names its kind.
  Result<EValue> get_output(size_t index = 0) { return get_output("forward", index); }
  Result<EValue> get_output(std::string_view method, size_t index = 0) {
    EValue value;
    const Error error = change("get_output", method, [&](Method& m) {
      TENON_TRY(m.check_has_run());
      TENON_TRY(m.check_index("output", index, true, m.outputs.size()));
      value = m.outputs.values()[index];
      if (!value.isNone()) return Error::Ok;
      const char* const name = m.meta.knows_outputs ? m.meta.outputs[index].name() : "";
      return detail::add_context_if("output", index, name, detail::call_safely([&] {
                                      return explain_none(m.number, index);
                                    }));
    });
    if (error != Error::Ok) return error;
    return value;
  }
  Result<std::vector<EValue>> get_outputs(std::string_view method = "forward") {
    return collect("get_outputs", method, nullptr);
  }

  /// The methods' names, in the module's order.
  Result<std::vector<std::string>> method_names() {
    std::vector<std::string> names;
    const Error error = detail::call_safely([&] {
      TENON_TRY(open());
      for (size_t i = 0; i < count_methods(); ++i) names.emplace_back(name_of(i));
      return Error::Ok;
    });
    if (error != Error::Ok) return detail::add_context("method_names", error);
    return names;
  }
  /// Describes a method's inputs and outputs.
  Result<MethodMeta> method_meta(std::string_view method = "forward") {
    MethodMeta meta;
    const Error error = change("method_meta", method, [&](Method& m) {
      meta = m.meta;
      return Error::Ok;
    });
    if (error != Error::Ok) return error;
    return meta;
  }
  /// Adds to the module's description of a method's inputs: names for messages, sizes that it
  /// leaves open, or everything if it has none. method_meta() and the checks use it.
  ///
  /// One spec for each input. Parts left out (no name, -1, dtype Undefined) stay unchanged, as does
  /// is_optional.
  /// Errors: also InvalidArgument and InvalidType for a spec that cannot be met or contradicts the
  /// known one, and for fewer specs than set inputs: nothing is changed then.
  [[nodiscard]] Error describe_inputs(ValueSpecs specs) { return describe("forward", specs); }
  [[nodiscard]] Error describe_inputs(std::string_view method, ValueSpecs specs) {
    return describe(method, specs);
  }
  /// Prepares a method; else its first use does.
  [[nodiscard]] Error load_method(std::string_view method = "forward") {
    return change("load_method", method, [](Method&) { return Error::Ok; });
  }

 protected:
  /// With `memory`, the module's state (set inputs and outputs, last outputs) is in that backend's
  /// memory, if it keeps metadata, as an arena does; the backend must outlive the module.
  explicit Module(Backend* memory = nullptr) noexcept : memory_(memory) {}

  // Implemented by a runtime. They return an Error, with a text by set_error(Error::X, parts...);
  // exceptions become errors.

  /// Opens the model. Called first, and again until it succeeds.
  virtual Error load() { return Error::Ok; }
  /// The number of methods; must not decrease.
  virtual size_t count_methods() const noexcept = 0;
  /// A method's name; must not change.
  virtual const char* name_of(size_t method) const noexcept = 0;
  /// Prepares a method, once, and describes it. Lists that `meta` refers to must live as long as
  /// the module. `meta` already has the name.
  virtual Error prepare(size_t method, MethodMeta& meta) = 0;
  /// Runs a prepared method on checked inputs. Pass each output to outputs.put(), or write it to
  /// outputs.target(i), if that is not null.
  virtual Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) = 0;
  /// Why output `output` of the last run is None: an error if EValue cannot hold the value; Ok if
  /// the value is None.
  virtual Error explain_none(size_t method, size_t output) const noexcept {
    static_cast<void>(method);
    static_cast<void>(output);
    return Error::Ok;
  }

 private:
  using Method = detail::Method;

  /// Finds the method `name` and calls f(method).
  template <class F>
  Error change(const char* function, std::string_view name, const F& f) noexcept {
    Method* method = nullptr;
    const Error error = find(name, method);
    return detail::add_context_if(function, error == Error::Ok ? f(*method) : error);
  }
  Error put_inputs(std::string_view name, const EValues& values) noexcept {
    return change("set_inputs", name, [&](Method& m) { return m.put_inputs(values, 0); });
  }
  Error describe(std::string_view name, const ValueSpecs& specs) noexcept {
    return change("describe_inputs", name, [&](Method& m) { return m.describe(specs); });
  }
  /// The outputs of a run on these inputs; of the last run if `inputs` is null.
  Result<std::vector<EValue>> collect(const char* function, std::string_view name,
                                      const EValues* inputs) {
    std::vector<EValue> outputs;
    const Error error = change(function, name, [&](Method& method) {
      TENON_TRY(inputs != nullptr ? start(method, *inputs) : method.check_has_run());
      const Span<EValue> values = method.outputs.values();
      return detail::call_safely([&] {
        outputs.assign(values.begin(), values.end());
        return Error::Ok;
      });
    });
    if (error != Error::Ok) return error;
    return outputs;
  }
  Error open() noexcept {
    if (loaded_) return Error::Ok;
    TENON_TRY(detail::call_safely([&] { return load(); }));
    loaded_ = true;
    return Error::Ok;
  }
  // Virtual, so that they run in the library that made the module and owns its state.
  virtual Error find(std::string_view name, Method*& found) noexcept;
  virtual Error start(Method& method, const EValues& inputs) noexcept;
#if !TENON_BARE_METAL  // which loads no libraries
  // The places of optional functions to come, which return Error: see docs/versions.md.
  virtual Error reserved1() { return Error::NotSupported; }
  virtual Error reserved2() { return Error::NotSupported; }
  virtual Error reserved3() { return Error::NotSupported; }
  virtual Error reserved4() { return Error::NotSupported; }
#endif

  Backend* memory_ = nullptr;
  bool loaded_ = false;
  detail::StoredArray<detail::Stored<Method>> methods_{detail::metadata_backend_for(memory_)};
};

inline Error Module::find(std::string_view name, Method*& found) noexcept {
  TENON_TRY(open());
  const size_t count = count_methods();
  size_t index = 0;
  while (index < count && !detail::is_name(name, name_of(index))) ++index;
  if (index == count) {
    return detail::fail(Error::NotFound, "there is no method \"", name,
                        "\"; the first method: ", count == 0 ? "none" : name_of(0));
  }
  if (methods_.size() < count) TENON_TRY(methods_.resize(count));
  if (methods_[index] == nullptr) {
    detail::Stored<Method> made;
    TENON_TRY(detail::make_stored(made, methods_.metadata_backend(), 0, memory_, index));
    made->meta.name = name_of(index);
    TENON_TRY(detail::call_safely([&] { return prepare(index, made->meta); }));
    methods_[index] = std::move(made);
  }
  found = methods_[index].get();
  return Error::Ok;
}

inline Error Module::start(Method& method, const EValues& inputs) noexcept {
  TENON_TRY(method.check_idle());
  method.runs = true;
  Span<const EValue> passed;
  Error error = method.gather(inputs, passed);
  if (error == Error::Ok) {
    method.has_run = false;
    error = detail::call_safely([&] {
      TENON_TRY(method.outputs.begin(passed, method.meta.outputs.size()));
      TENON_TRY(invoke(method.number, passed, method.outputs));
      return method.outputs.deliver();
    });
    method.has_run = error == Error::Ok;
  }
  const auto drop_values = [&method] {
    if (!method.has_run) method.outputs.clear();
    for (EValue& value : method.arguments) value = EValue();  // inputs of this run only
  };
  if (error == Error::Ok) {
    drop_values();
  } else {
    const detail::LastError text = detail::last_error();  // deleters may overwrite it
    drop_values();
    detail::last_error() = text;
  }
  method.runs = false;
  return error;
}

TENON_END_NAMESPACE
