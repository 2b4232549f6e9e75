// SPDX-License-Identifier: MIT
// Conversions between TorchScript's errors, types and values and tenon's.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<torch/csrc/jit/runtime/jit_exception.h>)
#error \
    "tenon: interop/torchscript.h needs exceptions and libtorch's TorchScript in the include path"
#endif

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/aten.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The first line of an error's text, without the interpreter's traceback in front of it.
inline std::string_view without_traceback(std::string_view text) noexcept {
  constexpr std::string_view kTraceback =
      "The following operation failed in the TorchScript interpreter.";
  constexpr std::string_view kError = "\nRuntimeError: ";
  if (text.substr(0, kTraceback.size()) == kTraceback) {
    const size_t at = text.rfind(kError);
    if (at != std::string_view::npos) text.remove_prefix(at + kError.size());
  }
  text.remove_prefix((std::min)(text.find_first_not_of(" \n"), text.size()));
  return text.substr(0, text.find('\n'));
}

/// Fails with libtorch's text. Only the text tells whether the interpreter ran out of memory.
TENON_COLD inline Error fail_torchscript(std::string_view text,
                                         Error error = Error::InvalidArgument) noexcept {
  text = without_traceback(text);
  for (const char* const sign : {"can't allocate memory", "out of memory"}) {
    if (text.find(sign) != std::string_view::npos) error = Error::OutOfMemory;
  }
  return fail(error, "libtorch: ", text);
}

/// Calls `f`, which returns an Error. Exceptions of libtorch and scripts become InvalidArgument, or
/// OutOfMemory, or NotSupported for a missing operator.
template <class F>
Error call_torchscript(F&& f) noexcept {
  try {
    return f();
  } catch (const Exception& e) {  // tenon's
    return fail(e.error(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, "out of memory in libtorch");
  } catch (const c10::NotImplementedError& e) {
    return fail_torchscript(e.what_without_backtrace(), Error::NotSupported);
  } catch (const c10::Error& e) {
    return fail_torchscript(e.what_without_backtrace());
  } catch (const torch::jit::JITException& e) {  // raised by the script
    return fail_torchscript(e.getOriginalMsg().value_or(e.what()));
  } catch (const std::exception& e) {
    return fail_torchscript(e.what());
  }
}

/// The kind of a list of elements of that type; None if EValue has no such list.
inline ValueKind list_kind_of(const c10::Type& element) {
  switch (number_of(element.kind())) {
    case number_of(c10::TypeKind::TensorType): return ValueKind::TensorList;
    case number_of(c10::TypeKind::IntType): return ValueKind::IntList;
    case number_of(c10::TypeKind::FloatType): return ValueKind::DoubleList;
    case number_of(c10::TypeKind::BoolType): return ValueKind::BoolList;
    case number_of(c10::TypeKind::StringType): return ValueKind::StringList;
    case number_of(c10::TypeKind::OptionalType):
      return element.containedType(0)->kind() == c10::TypeKind::TensorType
                 ? ValueKind::OptionalTensorList
                 : ValueKind::None;
    default: return ValueKind::None;
  }
}

TENON_COLD inline Error fail_type(const c10::Type& type) {
  return fail(Error::NotSupported, "it is ", std::string_view(type.annotation_str()),
              ", which an EValue cannot be");
}

/// Sets a spec's kind and is_optional by a type. A type does not have a tensor's sizes and dtype.
/// Errors: NotSupported for a type that EValue cannot hold.
inline Error describe_type(const c10::Type& type, ValueSpec& spec) {
  switch (number_of(type.kind())) {
    case number_of(c10::TypeKind::TensorType): spec.kind = ValueKind::Tensor; return Error::Ok;
    case number_of(c10::TypeKind::NoneType): spec.kind = ValueKind::None; return Error::Ok;
    case number_of(c10::TypeKind::IntType): spec.kind = ValueKind::Int; return Error::Ok;
    case number_of(c10::TypeKind::FloatType): spec.kind = ValueKind::Double; return Error::Ok;
    case number_of(c10::TypeKind::BoolType): spec.kind = ValueKind::Bool; return Error::Ok;
    case number_of(c10::TypeKind::StringType): spec.kind = ValueKind::String; return Error::Ok;
    case number_of(c10::TypeKind::OptionalType):
      spec.is_optional = true;
      return describe_type(*type.containedType(0), spec);
    case number_of(c10::TypeKind::ListType):
      spec.kind = list_kind_of(*type.containedType(0));
      if (spec.kind != ValueKind::None) return Error::Ok;
      break;
    default: break;
  }
  return fail_type(type);
}

/// Makes a list of tensors. With `has_none`, undefined ones become None.
inline Error to_ivalue_list(ArrayRef<Tensor> tensors, bool has_none, c10::IValue& to) {
  const c10::TypePtr tensor = c10::TensorType::get();
  c10::impl::GenericList list(has_none ? c10::OptionalType::create(tensor) : tensor);
  list.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor made;
    if (!has_none || TensorArg(tensors[i]).defined()) {
      TENON_TRY(add_context_if("element", i, "", make_aten(tensors[i], made)));
    }
    list.push_back(made.defined() ? c10::IValue(std::move(made)) : c10::IValue());
  }
  to = std::move(list);
  return Error::Ok;
}

inline c10::IValue to_ivalue_texts(ArrayRef<std::string_view> texts) {
  c10::List<std::string> list;
  list.reserve(texts.size());
  for (const std::string_view text : texts) list.push_back(std::string(text));
  return list;
}

/// Converts a value to TorchScript's.
///
/// Ownership: shares tensors' memory as to_aten() does, even read-only memory; copies texts and
/// lists.
/// Errors: those of to_aten() for tensors, except for read-only ones. Throws what c10 throws.
inline Error to_ivalue(const EValue& from, c10::IValue& to) {
  switch (from.kind()) {
    case ValueKind::None: to = c10::IValue(); break;
    case ValueKind::Tensor: {
      at::Tensor made;
      TENON_TRY(make_aten(from.toTensor(), made));
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
    case ValueKind::IntList: to = from.toIntList().vec(); break;
    case ValueKind::DoubleList: to = from.toDoubleList().vec(); break;
    case ValueKind::BoolList: to = from.toBoolList().vec(); break;
    case ValueKind::StringList: to = to_ivalue_texts(from.toStringList()); break;
  }
  return Error::Ok;
}

/// Makes a tensor over an at::Tensor's storage. Unlike from_aten(), it drops gradients, and
/// resolves lazy conjugation and negation.
inline Error from_ivalue_tensor(at::Tensor from, Tensor& to) {
  if (from.requires_grad()) from = from.detach();
  from = from.resolve_conj().resolve_neg();
  return make_from_aten(from, TensorShapeDynamism::DYNAMIC_BOUND, to);
}

/// Converts a value of TorchScript's that is not a list, a tuple or a dict. An undefined tensor is
/// None.
///
/// Ownership: shares a tensor's memory as from_aten() does; copies a text.
/// Errors: NotSupported for a value that EValue cannot hold; those of from_aten() for a tensor.
/// Gradients are dropped. Throws what c10 and EValue throw.
inline Error from_ivalue(const c10::IValue& from, EValue& to) {
  if (from.isTensor()) {
    if (!from.toTensor().defined()) return Error::Ok;
    to = Tensor();
    return from_ivalue_tensor(from.toTensor(), to.toTensor());
  }
  if (from.isInt()) {
    to = from.toInt();
  } else if (from.isDouble()) {
    to = from.toDouble();
  } else if (from.isBool()) {
    to = from.toBool();
  } else if (from.isString()) {
    to = from.toStringRef();
  } else if (!from.isNone()) {
    return fail_type(*from.type());
  }
  return Error::Ok;
}

// Limits for values and types: a list may contain itself, and where each tuple contains the next
// one twice, the number of parts doubles at each level.
inline constexpr size_t kMaxNesting = 64;
inline constexpr size_t kMaxParts = size_t{1} << 20;

inline Error check_nesting(size_t depth, size_t parts) noexcept {
  if (depth > kMaxNesting) {
    return fail(Error::NotSupported, "it is nested more than ", kMaxNesting, " deep");
  }
  if (parts > kMaxParts) {
    return fail(Error::NotSupported, "it has more than ", kMaxParts, " parts");
  }
  return Error::Ok;
}
/// Checks a type once, so that the functions that describe it need not check it.
inline Error check_nesting(const c10::Type& type, size_t& parts, size_t depth = 0) {
  TENON_TRY(check_nesting(depth, ++parts));
  if (type.kind() == c10::TypeKind::ClassType) return Error::Ok;  // may contain itself
  for (const c10::TypePtr& part : type.containedTypes()) {
    TENON_TRY(check_nesting(*part, parts, depth + 1));
  }
  return Error::Ok;
}

/// Appends the leaves of a value in order: the elements of tuples and lists and the values of
/// dicts. Counts all parts.
/// Errors: NotSupported for too many or too deeply nested parts.
/// Source: torch.utils._pytree, by which torch.export and ExecuTorch flatten.
inline Error flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves, size_t& parts,
                     size_t depth = 0) {
  TENON_TRY(check_nesting(depth, ++parts));
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      TENON_TRY(flatten(element, leaves, parts, depth + 1));
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      TENON_TRY(flatten(element, leaves, parts, depth + 1));
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      TENON_TRY(flatten(entry.value(), leaves, parts, depth + 1));
    }
  } else {
    leaves.push_back(value);
  }
  return Error::Ok;
}

/// Whether values of that type may flatten to different numbers of leaves, or to leaves of
/// different kinds.
inline bool varies(const c10::Type& type) {
  switch (number_of(type.kind())) {
    case number_of(c10::TypeKind::ListType):
    case number_of(c10::TypeKind::DictType):
    case number_of(c10::TypeKind::AnyType):
    case number_of(c10::TypeKind::UnionType):
    case number_of(c10::TypeKind::NumberType): return true;
    case number_of(c10::TypeKind::OptionalType):
      return type.containedType(0)->kind() == c10::TypeKind::TupleType ||
             varies(*type.containedType(0));
    case number_of(c10::TypeKind::TupleType):
      for (const auto& element : type.containedTypes()) {
        if (varies(*element)) return true;
      }
      return false;
    default: return false;
  }
}

/// The name that torch.export gives to element i of the tuple `of`: "state_0", or "state_h" if the
/// element is the field "h". If `of` is empty, the field's name alone, or "" without fields.
inline std::string name_element(const std::string& of, const c10::TupleType& tuple, size_t i) {
  const bool has_field = tuple.schema() != nullptr;
  if (of.empty()) return has_field ? tuple.schema()->arguments()[i].name() : "";
  return of + '_' + (has_field ? tuple.schema()->arguments()[i].name() : std::to_string(i));
}

}  // namespace detail
TENON_END_NAMESPACE
