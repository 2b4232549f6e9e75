// SPDX-License-Identifier: MIT
// Values on the stack of torch's stable ABI. A slot has a number, or it owns a tensor's handle, a
// text, a list of values, or for "T?" another slot. The callee becomes the owner of the objects in
// the inputs' slots, and the caller the owner of those in the outputs' slots.
// Source: torch/csrc/stable/stableivalue_conversions.h of torch 2.15.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/runtimes/aoti_handles.h"
#include "tenon/interop/runtimes/torch_stable_schema.h"

extern "C" {
struct StableListOpaque;
using StableListHandle = StableListOpaque*;
struct StringOpaque;
using StringHandle = StringOpaque*;
using StableIValue = uint64_t;
}

TENON_BEGIN_NAMESPACE
namespace detail {

using StableList = std::vector<StableIValue>;

/// The bytes of a number or a pointer, as the first of eight bytes.
template <class T>
StableIValue to_stack(T value) noexcept {
  static_assert(sizeof(T) <= sizeof(StableIValue));
  StableIValue made = 0;
  std::memcpy(&made, &value, sizeof value);
  return made;
}
template <class T>
T from_stack(StableIValue value) noexcept {
  T made;
  std::memcpy(&made, &value, sizeof made);
  return made;
}

// --- What slots own ------------------------------------------------------------------------------

inline bool owns_something(std::string_view type) noexcept {
  return type == "Tensor" || type == "str" || (!type.empty() && type.back() == '?') ||
         (!type.empty() && type.back() == ']');
}
/// Zeroes all slots that own `pointer`: `slot`, or slots that `slot` owns.
inline void forget_stable(std::string_view type, StableIValue& slot,
                          StableIValue pointer) noexcept {
  if (slot == 0 || !owns_something(type)) return;
  if (slot == pointer) {
    slot = 0;
  } else if (take_optional(type)) {
    forget_stable(type, *from_stack<StableIValue*>(slot), pointer);
  } else if (take_list(type) && owns_something(type)) {
    for (StableIValue& each : *from_stack<StableList*>(slot)) forget_stable(type, each, pointer);
  }
}

/// The slots of a call, with the types of a schema.
struct StableSlots {
  const std::vector<StableArgument>& types;
  StableIValue* values;

  /// Deletes everything that the slots own, each object once: a kernel may return one handle for
  /// several outputs.
  void drop() const noexcept {
    for (size_t i = 0; i < types.size(); ++i) drop(types[i].type, values[i]);
  }

 private:
  void drop(std::string_view type, StableIValue& slot) const noexcept {
    if (slot == 0 || !owns_something(type)) return;
    const StableIValue own = slot;
    const std::string_view full = type;
    if (take_optional(type)) {
      drop(type, *from_stack<StableIValue*>(own));
    } else if (take_list(type)) {
      for (StableIValue& each : *from_stack<StableList*>(own)) drop(type, each);
    }
    for (size_t i = 0; i < types.size(); ++i) forget_stable(types[i].type, values[i], own);
    if (full.back() == '?') {
      delete from_stack<StableIValue*>(own);  // for libraries built for torch before 2.13
    } else if (full.back() == ']') {
      delete from_stack<StableList*>(own);
    } else if (full == "str") {
      delete from_stack<std::string*>(own);
    } else {
      Tensor taken;
      static_cast<void>(take_aoti_tensor(from_stack<AtenTensorHandle>(own), taken));
    }
  }
};

// --- Values -------------------------------------------------------------------------------------

/// Whether slots can hold values of the type. They cannot hold a Scalar, whose type may vary.
inline bool is_stable_type(std::string_view type) noexcept {
  std::string_view element = type;
  static_cast<void>(take_optional(element));
  static_cast<void>(take_list(element));
  return is_value_type(type) && element != "Scalar";
}
TENON_COLD inline Error fail_stable_type(std::string_view type) noexcept {
  return fail(Error::NotSupported, "torch's stable ABI passes no value of type ", type);
}

/// Writes a value from convert_value() to a slot. After an error or an exception the slot owns the
/// objects that were made before it.
/// Errors: NotSupported; OutOfMemory.
inline Error push_stable(std::string_view type, const EValue& value, StableIValue& slot) {
  slot = 0;
  if (!is_stable_type(type)) return fail_stable_type(type);
  if (take_optional(type)) {
    if (value.isNone()) return Error::Ok;
    auto* const inner = new StableIValue(0);
    slot = to_stack(inner);
    return push_stable(type, value, *inner);
  }
  if (take_list(type)) {
    auto* const list = new StableList;
    slot = to_stack(list);
    const auto push = [&](const auto& elements) {
      list->reserve(elements.size());
      for (const auto& each : elements) {
        list->push_back(0);
        EValue element(each);
        if (type == "Tensor?" && !element.toTensor().defined()) element = EValue();
        TENON_TRY(push_stable(type, element, list->back()));
      }
      return Error::Ok;
    };
    if (value.isIntList()) return push(value.toIntList());
    if (value.isDoubleList()) return push(value.toDoubleList());
    if (value.isBoolList()) return push(value.toBoolList());
    if (value.isStringList()) return push(value.toStringList());
    if (value.isTensorList()) return push(value.toTensorList());
    return push(value.toOptionalTensorList());
  }
  if (type == "Tensor") {
    AtenTensorHandle handle = nullptr;
    TENON_TRY(make_aoti_handle(value.toTensor(), handle));
    slot = to_stack(handle);
  } else if (type == "str") {
    slot = to_stack(new std::string(value.toString()));
  } else if (type == "Device") {
    // The index in the lower half, the type in the upper; the CPU's is 0.
    const std::string_view device = value.toString();
    if (device != "cpu" && device != "cpu:0") {
      return fail(Error::NotSupported, "the device is ", device, ", expected cpu");
    }
    slot = device == "cpu" ? to_stack(int32_t{-1}) : 0;
  } else if (type == "int") {
    slot = to_stack(value.toInt());
  } else if (type == "float") {
    slot = to_stack(value.toDouble());
  } else if (type == "bool") {
    slot = to_stack(value.toBool());
  } else {
    slot = to_stack(static_cast<int32_t>(value.toInt()));
  }
  return Error::Ok;
}

/// Reads a slot's value. The slot keeps what it owns.
/// Errors: NotSupported; InvalidArgument for a null handle; OutOfMemory.
inline Error read_stable(std::string_view type, StableIValue slot, EValue& out) {
  out = EValue();
  if (!is_stable_type(type)) return fail_stable_type(type);
  if (take_optional(type)) {
    return slot == 0 ? Error::Ok : read_stable(type, *from_stack<StableIValue*>(slot), out);
  }
  const bool is_list = take_list(type);
  if (slot == 0 && (is_list || type == "str" || type == "Tensor")) {
    return fail(Error::InvalidArgument, "the handle of a value of type ", type, " is null");
  }
  if (is_list) {
    std::vector<Tensor> tensors;
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    for (const StableIValue each : *from_stack<StableList*>(slot)) {
      EValue element;
      TENON_TRY(read_stable(type, each, element));
      if (element.isNone()) {
        tensors.emplace_back();
      } else if (element.isTensor()) {
        tensors.push_back(element.toTensor());
      } else if (element.isDouble()) {
        reals.push_back(element.toDouble());
      } else if (element.isString()) {
        texts.emplace_back(element.toString());
      } else {
        ints.push_back(element.toScalar().to<int64_t>());
      }
    }
    const ValueKind kind = kind_of_list(type);
    out = kind == ValueKind::TensorList           ? EValue(tensors)
          : kind == ValueKind::OptionalTensorList ? EValue::optional_tensor_list(tensors)
          : kind == ValueKind::DoubleList         ? EValue(reals)
          : kind == ValueKind::StringList         ? EValue(texts)
          : kind == ValueKind::BoolList ? EValue(std::vector<bool>(ints.begin(), ints.end()))
                                        : EValue(ints);
  } else if (type == "Tensor") {
    Tensor* tensor = nullptr;
    TENON_TRY(find_aoti_tensor(from_stack<AtenTensorHandle>(slot), tensor));
    out = EValue(*tensor);
  } else if (type == "str") {
    out = EValue(*from_stack<std::string*>(slot));
  } else if (type == "Device") {
    if (slot >> 32 != 0) {
      return fail(Error::NotSupported, "torch's device type is ", slot >> 32,
                  ", expected 0, the CPU");
    }
    out = EValue("cpu");
  } else if (type == "int") {
    out = EValue(from_stack<int64_t>(slot));
  } else if (type == "float") {
    out = EValue(from_stack<double>(slot));
  } else if (type == "bool") {
    out = EValue(from_stack<bool>(slot));
  } else {
    out = EValue(int64_t{from_stack<int32_t>(slot)});
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
