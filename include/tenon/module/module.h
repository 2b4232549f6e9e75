// SPDX-License-Identifier: MIT
// Module: a model, independent of its runtime.
#pragma once

#include <vector>

#include "tenon/module/method.h"

TENON_BEGIN_NAMESPACE

/// Methods with inputs and outputs: `forward(x)`, `forward({x, y})`, `execute("encode", x)`.
///
/// The module checks inputs by their specs before the runtime gets them, and passes them without a
/// copy. It copies only a tensor whose strides are not the spec's, if the spec has copies_strides.
/// Undefined tensors, meta tensors and placeholders are refused, in lists too. Inputs set by
/// set_input() stay until they are replaced. A run uses them in place of None and of inputs that
/// the call does not pass. An output set by set_output() stays too: the runtime writes to the set
/// tensor, or the module copies the runtime's result there. The set tensor may alias an input or
/// another output, as recurrent state does: results are the same as without aliases. Elements that
/// two outputs share get the last output's values.
///
/// Ownership: shares the set tensors, and the last outputs until the method's next run.
/// Errors: every function returns InvalidArgument, InvalidType and InvalidState as
/// ValueSpec::check() ("forward: input 0 (image): dimension 1 (rows) is 9, expected 8"); NotFound
/// for an unknown method; OutOfBounds for an unknown input or output; InvalidState to run or
/// describe a method during its own run; the runtime's errors. After an error, set inputs and
/// outputs stay set; the last run's outputs are gone if the new run had begun.
/// Threads: a module is used on one thread at a time; different modules may be used on different
/// threads.
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
  /// `TENON_ASSIGN(Tensor y, model.run(x));`. Further inputs may have been set. run(method, inputs)
  /// returns no output; get_output() does.
  /// Errors: also InvalidArgument if there is not one output, InvalidType if the output is not a
  /// tensor: before the run if the model describes its outputs, else after the run.
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
    const EValue held = value;  // for the reason given in set_output()
    return change("set_input", method, [&](Method& m) { return m.put_inputs({&held, 1}, index); });
  }
  template <class TextNeedsEValueNumberNeedsIndex,
            std::enable_if_t<std::is_arithmetic_v<TextNeedsEValueNumberNeedsIndex>, int> = 0>
  Error set_input(std::string_view, TextNeedsEValueNumberNeedsIndex) TENON_MISTAKE(
      "a number for a method needs its index, set_input(method, 5, 0); a text for forward is "
      "EValue(text)");
  /// Sets the first inputs, as many as `values`; on error, none.
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
  /// Removes the tensor that was set for an output.
  [[nodiscard]] Error set_output(None, size_t index = 0) {
    return set_output("forward", none, index);
  }
  [[nodiscard]] Error set_output(std::string_view method, None, size_t index = 0) {
    return change("set_output", method, [&](Method& m) { return m.put_output(nullptr, index); });
  }

  /// An output of the method's last run.
  /// Errors: InvalidState if the method has not run, or its last run failed; NotSupported for a
  /// value that EValue cannot hold, such as a map: the message names the value's kind.
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
  /// The outputs of the last run of a method.
  /// Errors: those of get_output().
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
  /// Adds to the module's description of a method's inputs: names for messages, sizes that the
  /// description leaves open, or everything if the module has no description. method_meta() and the
  /// checks use the result.
  ///
  /// One spec for each input. Parts that a spec leaves out (no name, -1, dtype Undefined) stay
  /// unchanged, and so does is_optional.
  /// Errors: also InvalidArgument and InvalidType for a spec that no value can meet, for a spec
  /// that contradicts the known spec, and for fewer specs than set inputs. Nothing is changed then.
  [[nodiscard]] Error describe_inputs(ValueSpecs specs) { return describe("forward", specs); }
  [[nodiscard]] Error describe_inputs(std::string_view method, ValueSpecs specs) {
    return describe(method, specs);
  }
  /// Prepares a method, which its first use would do otherwise.
  [[nodiscard]] Error load_method(std::string_view method = "forward") {
    return change("load_method", method, [](Method&) { return Error::Ok; });
  }
  /// Undoes load_method(): drops the method's set inputs and outputs, its last outputs, everything
  /// that describe_inputs() added, and the runtime's state for the method. The method's next use
  /// prepares it anew. Returns Ok for a method that is not loaded.
  /// Errors: also InvalidState while a function of the module, such as run(), is at work on the
  /// method; the runtime's. After an error the method is as it was.
  [[nodiscard]] Error unload_method(std::string_view method = "forward") {
    return detail::add_context_if("unload_method", drop(method));
  }
  /// Whether load_method() or a use has prepared the method. Does not load the module: returns
  /// false for an unknown name too.
  bool is_method_loaded(std::string_view method = "forward") const noexcept {
    for (const auto& made : methods_) {
      if (made != nullptr && detail::is_name(method, made->meta.name)) return true;
    }
    return false;
  }

 protected:
  /// With `memory`, the module's state (set inputs and outputs, last outputs) is in that backend's
  /// memory, if the backend keeps metadata, as an arena does; the backend must outlive the module.
  explicit Module(Backend* memory = nullptr) noexcept : memory_(memory) {}

  // A runtime implements these functions. They return an Error, with a text from
  // set_error(Error::X, parts...); exceptions become errors.

  /// Opens the model. Called before the other functions, and again until it succeeds.
  virtual Error load() { return Error::Ok; }
  /// The number of methods; must not decrease.
  virtual size_t count_methods() const noexcept = 0;
  /// A method's name; must not change.
  virtual const char* name_of(size_t method) const noexcept = 0;
  /// Prepares a method and describes it. Called once, and again after unload(). Lists that `meta`
  /// refers to must live as long as the module, or until unload(). `meta` already has the name.
  virtual Error prepare(size_t method, MethodMeta& meta) = 0;
  /// Runs a prepared method on checked inputs. Pass each output to outputs.put(), or write the
  /// output to outputs.target(i), if that is not null.
  virtual Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) = 0;
  /// Says why output `output` of the last run is None: returns an error if EValue cannot hold the
  /// value, Ok if the value is None.
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
    Error error = find(name, method);
    if (error == Error::Ok) {
      ++method->uses;
      error = f(*method);
      --method->uses;
    }
    return detail::add_context_if(function, error);
  }
  Error put_inputs(std::string_view name, const EValues& values) noexcept {
    return change("set_inputs", name, [&](Method& m) { return m.put_inputs(values, 0); });
  }
  Error describe(std::string_view name, const ValueSpecs& specs) noexcept {
    return change("describe_inputs", name, [&](Method& m) { return m.describe(specs); });
  }
  /// Runs the method on `inputs`, unless `inputs` is null, and returns the outputs of the last run.
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
  size_t number_of(std::string_view name, size_t count) const noexcept {
    size_t number = 0;
    for (; number < count; ++number) {
      // A prepared method stores its name; some runtimes look names up in the file.
      const bool is_ready = number < methods_.size() && methods_[number] != nullptr;
      if (detail::is_name(name, is_ready ? methods_[number]->meta.name : name_of(number))) break;
    }
    return number;
  }
  Error fail_unknown(std::string_view name, size_t count) const noexcept {
    return detail::fail(Error::NotFound, "there is no method \"", name,
                        "\"; the first method: ", count == 0 ? "none" : name_of(0));
  }
  Error drop(std::string_view name) noexcept {
    TENON_TRY(open());
    const size_t count = count_methods();
    const size_t index = number_of(name, count);
    if (index == count) return fail_unknown(name, count);
    if (index >= methods_.size() || methods_[index] == nullptr) return Error::Ok;
    Method& method = *methods_[index];
    if (method.uses != 0) {
      return detail::fail(Error::InvalidState, method.meta.name, " is running, or being changed");
    }
    method.uses = 1;
    method.runs = true;  // the runtime may call the module
    const Error error = detail::call_safely([&] { return unload(index); });
    method.uses = 0;
    method.runs = false;
    TENON_TRY(error);
    const detail::Stored<Method> dropped =
        std::move(methods_[index]);  // deleters may load the method again
    return Error::Ok;
  }
  // Virtual, so that they run in the library that made the module and owns its state.
  virtual Error find(std::string_view name, Method*& found) noexcept;
  virtual Error start(Method& method, const EValues& inputs) noexcept;

 protected:
  /// Optional: frees what prepare() made for a method, which is not running. After an error the
  /// method must be as it was.
  virtual Error unload(size_t method) {
    static_cast<void>(method);
    return Error::Ok;
  }

 private:
#if !TENON_BARE_METAL  // bare metal loads no libraries
  // Reserved for further optional functions, which return Error: see docs/versions.md.
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
  const size_t index = number_of(name, count);
  if (index == count) return fail_unknown(name, count);
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
    const detail::LastError text = detail::last_error();  // deleters may overwrite the error
    drop_values();
    detail::last_error() = text;
  }
  method.runs = false;
  return error;
}

TENON_END_NAMESPACE
