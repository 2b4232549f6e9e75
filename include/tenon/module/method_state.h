// SPDX-License-Identifier: MIT
// MethodState: what a module keeps of a method: its description, inputs and outputs.
#pragma once

#include <cstddef>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/module/evalue.h"
#include "tenon/module/list_arg.h"
#include "tenon/module/narrow_spec.h"
#include "tenon/module/outputs.h"
#include "tenon/module/stored_array.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

struct MethodState {
  explicit MethodState(Backend* memory = nullptr, size_t number_ = 0) noexcept
      : number(number_),
        described(storage_of(memory)),
        inputs(storage_of(memory)),
        given(storage_of(memory)),
        outputs(memory) {}

  /// Errors: InvalidState while the method runs, since what it was given has to stay.
  Error check_idle() const noexcept;
  /// Errors: OutOfBounds unless index < count, or where the count is not known, within reason.
  Error check_index(const char* role, size_t index, bool known, size_t count) const noexcept;
  Error check_input(const EValue& value, size_t index) const noexcept;
  /// Adds to what is known of the inputs: to all of them or none.
  Error describe(const ValueSpecs& specs) noexcept;
  /// Sets an input, or the first ones: all of them or none.
  Error put_input(const EValue& value, size_t index) noexcept;
  Error put_inputs(const EValues& values) noexcept;
  /// The inputs of a run, checked: those given, as they are, unless some that were set are to stand
  /// among them. `passed` is valid until `given` changes.
  Error gather(const EValues& values, Span<const EValue>& passed) noexcept;

  MethodMeta meta;
  size_t number;  // of the method
  bool ready = false;
  bool runs = false;
  bool has_run = false;
  StoredArray<ValueSpec> described;  // the inputs, if that was added to
  StoredArray<EValue> inputs;        // those that were set
  StoredArray<EValue> given;         // what a run gets, when that is put together
  Outputs outputs;
};

inline Error MethodState::check_idle() const noexcept {
  return TENON_UNLIKELY(runs) ? fail(Error::InvalidState, {meta.name, " is running"}) : Error::Ok;
}

inline Error MethodState::check_index(const char* role, size_t index, bool known,
                                      size_t count) const noexcept {
  if (TENON_UNLIKELY(known && index >= count)) {
    return fail(Error::OutOfBounds, {role, ' ', index, " is out of range: ", meta.name, " has ",
                                     count, ' ', role, count == 1 ? "" : "s"});
  }
  if (TENON_UNLIKELY(!known && index >= kMaxValues)) {
    return fail(Error::OutOfBounds, {role, ' ', index, " is out of range: how many ", role, "s ",
                                     meta.name, " has is not known, at most ", kMaxValues});
  }
  return Error::Ok;
}

inline Error MethodState::check_input(const EValue& value, size_t index) const noexcept {
  if (!meta.knows_inputs) return Error::Ok;
  const ValueSpec& spec = meta.inputs[index];
  if (TENON_UNLIKELY(value.isNone() && !spec.is_optional && spec.kind != ValueKind::None)) {
    return fail(Error::InvalidState,
                {"input ", index, InParentheses{spec.name()}, " is not given"});
  }
  const Error error = check_value(spec, value);
  if (TENON_UNLIKELY(error != Error::Ok)) {
    return blame_value("input", index, spec.name(), error);
  }
  return Error::Ok;
}

inline Error MethodState::describe(const ValueSpecs& specs) noexcept {
  TENON_TRY(check_idle());
  if (TENON_UNLIKELY(meta.knows_inputs && specs.size() != meta.inputs.size())) {
    return fail(Error::InvalidArgument,
                {specs.size(), " specs are given, ", meta.name, " has ", meta.inputs.size(),
                 meta.inputs.size() == 1 ? " input" : " inputs"});
  }
  for (size_t i = specs.size(); i < inputs.size(); ++i) {
    if (TENON_UNLIKELY(!inputs[i].isNone())) {
      return fail(Error::InvalidArgument,
                  {"input ", i, " was set, but ", specs.size(),
                   specs.size() == 1 ? " spec is" : " specs are", " given"});
    }
  }
  StoredArray<ValueSpec> made(described.where());
  TENON_TRY(made.reserve(specs.size()));
  for (size_t i = 0; i < specs.size(); ++i) {
    ValueSpec spec = specs[i];
    const Error error =
        meta.knows_inputs ? narrow_spec(meta.inputs[i], spec) : check_spec(spec.tensor);
    if (TENON_UNLIKELY(error != Error::Ok)) return blame_value("input", i, spec.name(), error);
    TENON_TRY(made.push_back(std::move(spec)));
  }
  described.swap(made);
  meta.inputs = ArrayRef<ValueSpec>(described.data(), described.size());
  meta.knows_inputs = true;
  return Error::Ok;
}

inline Error MethodState::put_input(const EValue& value, size_t index) noexcept {
  TENON_TRY(check_index("input", index, meta.knows_inputs, meta.inputs.size()));
  if (!value.isNone()) TENON_TRY(check_input(value, index));
  if (inputs.size() <= index) {
    TENON_TRY(inputs.resize(meta.knows_inputs ? meta.inputs.size() : index + 1));
  }
  inputs[index] = value;
  return Error::Ok;
}

inline Error MethodState::put_inputs(const EValues& values) noexcept {
  for (size_t i = 0; i < values.size(); ++i) {
    TENON_TRY(check_index("input", i, meta.knows_inputs, meta.inputs.size()));
    if (!values[i].isNone()) TENON_TRY(check_input(values[i], i));
  }
  if (inputs.size() < values.size()) {
    TENON_TRY(inputs.resize(meta.knows_inputs ? meta.inputs.size() : values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) inputs[i] = values[i];
  return Error::Ok;
}

inline Error MethodState::gather(const EValues& values, Span<const EValue>& passed) noexcept {
  if (TENON_UNLIKELY(meta.knows_inputs && values.size() > meta.inputs.size())) {
    return fail(Error::InvalidArgument,
                {values.size(), " inputs are given, ", meta.name, " has ", meta.inputs.size()});
  }
  size_t count = meta.knows_inputs ? meta.inputs.size() : values.size();
  for (size_t i = count; i < inputs.size(); ++i) {
    if (!inputs[i].isNone()) count = i + 1;
  }
  bool complete = values.size() == count;
  for (size_t i = 0; complete && i < inputs.size() && i < count; ++i) {
    complete = !values[i].isNone() || inputs[i].isNone();
  }
  passed = Span<const EValue>(values.data(), values.size());
  if (!complete) {
    TENON_TRY(given.resize(count));
    for (size_t i = 0; i < count; ++i) {
      if (i < values.size() && !values[i].isNone()) {
        given[i] = values[i];
      } else if (i < inputs.size()) {
        given[i] = inputs[i];
      }
    }
    passed = Span<const EValue>(given.data(), count);
  }
  for (size_t i = 0; i < count; ++i) TENON_TRY(check_input(passed[i], i));
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
