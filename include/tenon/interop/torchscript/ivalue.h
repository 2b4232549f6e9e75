// SPDX-License-Identifier: MIT
// What TorchScript throws as tenon's errors, EValues to and from its c10::IValue, and which of its
// types an EValue can be.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<torch/csrc/jit/runtime/jit_exception.h>)
#error \
    "tenon: interop/torchscript.h needs exceptions and libtorch's TorchScript in the include path"
#endif

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include "tenon/interop/aten.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What went wrong, of a text that the interpreter puts a traceback of the script in front of, or
/// of any other: its first line.
inline std::string_view without_traceback(std::string_view text) noexcept {
  constexpr std::string_view kTraceback =
      "The following operation failed in the TorchScript interpreter.";
  constexpr std::string_view kError = "\nRuntimeError: ";
  if (text.substr(0, kTraceback.size()) == kTraceback) {
    const size_t at = text.rfind(kError);
    if (at != std::string_view::npos) text.remove_prefix(at + kError.size());
  }
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  return text.substr(0, text.find('\n'));
}

/// What libtorch said, as an error. Only by its text can be told that the interpreter ran out of
/// memory.
TENON_COLD inline Error fail_torchscript(std::string_view text,
                                         Error error = Error::InvalidArgument) noexcept {
  text = without_traceback(text);
  for (const char* const sign : {"can't allocate memory", "out of memory"}) {
    if (text.find(sign) != std::string_view::npos) error = Error::OutOfMemory;
  }
  return fail(error, "libtorch: ", text);
}

/// Calls `f`, which returns an Error and may throw what libtorch and scripts throw: InvalidArgument,
/// unless memory is out or there is no such operator.
template <class F>
Error call_torchscript(F&& f) noexcept {
  try {
    return f();
  } catch (const Exception& e) {  // ours
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
  return fail(Error::NotSupported, "it is ", std::string_view(type.annotation_str()),
              ", which an EValue cannot be");
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

/// Tensors of which, with `has_none`, the undefined ones become None.
inline Error to_ivalue_list(ArrayRef<Tensor> tensors, bool has_none, c10::IValue& to) {
  const c10::TypePtr tensor = c10::TensorType::get();
  c10::impl::GenericList list(has_none ? c10::OptionalType::create(tensor) : tensor);
  list.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor made;
    if (!has_none || TensorArg(tensors[i]).defined()) {
      TENON_TRY(blame_unless_ok("element", i, "", make_aten(tensors[i], made)));
    }
    list.push_back(made.defined() ? c10::IValue(std::move(made)) : c10::IValue());
  }
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
  return make_from_aten(from, TensorShapeDynamism::DYNAMIC_BOUND, to);
}

/// A value of TorchScript's.
///
/// Ownership: shares tensors' memory as from_aten() does; copies texts and lists.
/// Errors: NotSupported for a value that no EValue can be; those of from_aten() for tensors, but
/// gradients are left behind; what is thrown is c10's and EValue's.
inline Error from_ivalue(const c10::IValue& from, EValue& to) {
  ValueSpec spec;
  TENON_TRY(describe_type(*from.type(), spec));
  switch (spec.kind) {
    case ValueKind::None: to = EValue(); break;
    case ValueKind::Tensor:
      to = Tensor();
      return from_ivalue_tensor(from.toTensor(), to.toTensor());
    case ValueKind::Int: to = from.toInt(); break;
    case ValueKind::Double: to = from.toDouble(); break;
    case ValueKind::Bool: to = from.toBool(); break;
    case ValueKind::String: to = from.toStringRef(); break;
    case ValueKind::IntList: to = from.toIntVector(); break;
    case ValueKind::DoubleList: to = from.toDoubleVector(); break;
    case ValueKind::BoolList: to = from.toBoolList().vec(); break;
    case ValueKind::TensorList:
    case ValueKind::OptionalTensorList: {
      const c10::ArrayRef<c10::IValue> elements = from.toListRef();
      std::vector<Tensor> tensors(elements.size());
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (elements[i].isNone()) continue;
        TENON_TRY(blame_unless_ok("element", i, "",
                                  from_ivalue_tensor(elements[i].toTensor(), tensors[i])));
      }
      to = spec.kind == ValueKind::TensorList ? EValue(tensors)
                                              : EValue::optional_tensor_list(tensors);
    }
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
