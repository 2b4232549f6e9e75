// SPDX-License-Identifier: MIT
// EValues to and from TorchScript's c10::IValue, and which of its types an EValue can be.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/interop/aten.h"
#include "tenon/interop/torchscript_error.h"
#include "tenon/module/evalue.h"
#include "tenon/module/names.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

#if defined(TENON_HAS_TORCHSCRIPT)
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// The list of such elements; None for no list.
inline ValueKind list_kind_of(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::TensorType: return ValueKind::TensorList;
    case c10::TypeKind::IntType: return ValueKind::IntList;
    case c10::TypeKind::FloatType: return ValueKind::DoubleList;
    case c10::TypeKind::BoolType: return ValueKind::BoolList;
    case c10::TypeKind::OptionalType:
      return element.containedType(0)->kind() == c10::TypeKind::TensorType
                 ? ValueKind::OptionalTensorList
                 : ValueKind::None;
    default: return ValueKind::None;
  }
}

TENON_COLD inline Error fail_type(const c10::Type& type) {
  return fail(Error::NotSupported,
              {"it is ", TextPart{type.annotation_str()}, ", which an EValue cannot be"});
}

/// Describes values of a type, but for the name: their tensors are any tensors.
/// Errors: NotSupported for a type that no EValue is of.
inline Error describe_type(const c10::Type& type, ValueSpec& spec) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: spec.kind = ValueKind::Tensor; return Error::Ok;
    case c10::TypeKind::NoneType: spec.kind = ValueKind::None; return Error::Ok;
    case c10::TypeKind::IntType: spec.kind = ValueKind::Int; return Error::Ok;
    case c10::TypeKind::FloatType: spec.kind = ValueKind::Double; return Error::Ok;
    case c10::TypeKind::BoolType: spec.kind = ValueKind::Bool; return Error::Ok;
    case c10::TypeKind::StringType: spec.kind = ValueKind::String; return Error::Ok;
    case c10::TypeKind::OptionalType:
      spec.is_optional = true;
      return describe_type(*type.containedType(0), spec);
    case c10::TypeKind::ListType:
      spec.kind = list_kind_of(*type.containedType(0));
      if (spec.kind != ValueKind::None) return Error::Ok;
      break;
    default: break;
  }
  return fail_type(type);
}

/// Calls `convert(i)` for each element of a list, and says which one failed.
template <class Convert>
Error convert_elements(size_t count, const Convert& convert) {
  for (size_t i = 0; i < count; ++i) {
    const Error error = convert(i);
    if (TENON_UNLIKELY(error != Error::Ok)) return blame_value("element", i, "", error);
  }
  return Error::Ok;
}

template <class T>
c10::List<T> to_ivalue_list(ArrayRef<T> values) {
  c10::List<T> list;
  list.reserve(values.size());
  for (const T value : values) list.push_back(value);
  return list;
}

/// Tensors of which, with `has_none`, the undefined ones become None.
inline Error to_ivalue_list(ArrayRef<Tensor> tensors, bool has_none, c10::IValue& to) {
  const c10::TypePtr tensor = c10::TensorType::get();
  c10::impl::GenericList list(has_none ? c10::OptionalType::create(tensor) : tensor);
  list.reserve(tensors.size());
  const auto convert = [&](size_t i) {
    at::Tensor made;
    if (!has_none || TensorArg(tensors[i]).defined()) {
      TENON_TRY(make_aten(tensors[i], made, Readonly::Passed));
    }
    list.push_back(made.defined() ? c10::IValue(std::move(made)) : c10::IValue());
    return Error::Ok;
  };
  TENON_TRY(convert_elements(tensors.size(), convert));
  to = std::move(list);
  return Error::Ok;
}

/// A value as TorchScript has it.
///
/// Ownership: shares tensors' memory as to_aten() does, that of read-only ones too; copies texts
/// and lists.
/// Errors: those of to_aten() for tensors, but for read-only ones; what is thrown is c10's.
inline Error to_ivalue(const EValue& from, c10::IValue& to) {
  switch (from.kind()) {
    case ValueKind::None: to = c10::IValue(); break;
    case ValueKind::Tensor: {
      at::Tensor made;
      TENON_TRY(make_aten(from.toTensor(), made, Readonly::Passed));
      to = std::move(made);
      break;
    }
    case ValueKind::Int: to = from.toInt(); break;
    case ValueKind::Double: to = from.toDouble(); break;
    case ValueKind::Bool: to = from.toBool(); break;
    case ValueKind::String: to = std::string(from.toString()); break;
    case ValueKind::TensorList: return to_ivalue_list(from.toTensorList(), false, to);
    case ValueKind::OptionalTensorList:
      return to_ivalue_list(from.toOptionalTensorList(), true, to);
    case ValueKind::IntList: to = to_ivalue_list(from.toIntList()); break;
    case ValueKind::DoubleList: to = to_ivalue_list(from.toDoubleList()); break;
    case ValueKind::BoolList: to = to_ivalue_list(from.toBoolList()); break;
  }
  return Error::Ok;
}

/// The tensor over an at::Tensor's storage, without what from_aten() refuses and can be done
/// without: gradients, and a conjugation or negation that has been put off.
inline Error from_ivalue_tensor(at::Tensor from, Tensor& to) {
  if (from.defined()) {
    if (from.requires_grad()) from = from.detach();
    from = from.resolve_conj().resolve_neg();
  }
  Slot<Tensor> made;
  TENON_TRY(make_from_aten(from, TensorShapeDynamism::DYNAMIC_BOUND, made.draft()));
  TENON_TRY(made.commit());
  to = made.take();
  return Error::Ok;
}

/// Errors: NotSupported for a list of other elements.
inline Error from_ivalue_list(const c10::IValue& from, EValue& to) {
  const ValueKind kind = list_kind_of(*from.toList().elementType());
  switch (kind) {
    case ValueKind::IntList: to = from.toIntVector(); return Error::Ok;
    case ValueKind::DoubleList: to = from.toDoubleVector(); return Error::Ok;
    case ValueKind::BoolList: to = from.toBoolList().vec(); return Error::Ok;
    case ValueKind::TensorList:
    case ValueKind::OptionalTensorList: break;
    default: return fail_type(*from.type());
  }
  const c10::ArrayRef<c10::IValue> elements = from.toListRef();
  std::vector<Tensor> tensors(elements.size());
  const auto convert = [&](size_t i) {
    return elements[i].isNone() ? Error::Ok
                                : from_ivalue_tensor(elements[i].toTensor(), tensors[i]);
  };
  TENON_TRY(convert_elements(elements.size(), convert));
  to = kind == ValueKind::TensorList ? EValue(tensors) : EValue::optional_tensor_list(tensors);
  return Error::Ok;
}

/// A value of TorchScript's.
///
/// Ownership: shares tensors' memory as from_aten() does; copies texts and lists.
/// Errors: NotSupported for a value that no EValue can be; those of from_aten() for tensors, but
/// gradients are left behind; what is thrown is c10's and EValue's.
inline Error from_ivalue(const c10::IValue& from, EValue& to) {
  if (from.isList()) return from_ivalue_list(from, to);
  if (from.isNone()) {
    to = EValue();
  } else if (from.isTensor()) {
    Tensor tensor;
    TENON_TRY(from_ivalue_tensor(from.toTensor(), tensor));
    to = std::move(tensor);
  } else if (from.isInt()) {
    to = from.toInt();
  } else if (from.isDouble()) {
    to = from.toDouble();
  } else if (from.isBool()) {
    to = from.toBool();
  } else if (from.isString()) {
    to = from.toStringRef();
  } else {
    return fail_type(*from.type());
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
