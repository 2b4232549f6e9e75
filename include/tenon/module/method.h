// SPDX-License-Identifier: MIT
// Method: a method's state in a module, and the checks of its inputs and outputs.
#pragma once

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
  /// Sets all inputs; on error, none.
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
  /// Sets an output's tensor; null removes the set tensor.
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
  /// Adds the specs to the descriptions of all inputs; on error, of none.
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
  /// Checks the inputs of a run: `values`, with a set input in place of each None, and set inputs
  /// after the last value. `passed` is valid until `arguments` changes.
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
  unsigned uses = 0;  // calls at work on the method, which must not be unloaded meanwhile
  BackendState* metadata_backend;
  StoredArray<ValueSpec> described{metadata_backend};  // inputs, after describe_inputs()
  StoredArray<EValue> inputs{metadata_backend};        // the set inputs
  StoredArray<EValue> arguments{metadata_backend};     // a run's inputs, if some are set inputs
  Outputs outputs;
};

}  // namespace detail

TENON_END_NAMESPACE
