// SPDX-License-Identifier: MIT
// from_executorch of an EValue: what a method of ExecuTorch's takes or gives, as tenon's EValue.
// The other way there is none: an EValue of its runtime owns nothing, so it is made, where it is
// used, of numbers and of what to_executorch() gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/interop/executorch_error.h"
#include "tenon/interop/executorch_tensor.h"
#include "tenon/module/evalue.h"
#include "tenon/module/stored_array.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"

#if defined(TENON_HAS_EXECUTORCH)

#include <executorch/runtime/core/evalue.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads EValues of ExecuTorch's. Each tensor keeps `owner`, if there is one, and is borrowed else.
class ExecutorchReader {
 public:
  explicit ExecutorchReader(const std::shared_ptr<const void>& owner) noexcept : owner_(owner) {}

  /// `value` is None before.
  Error read(const ::executorch::runtime::EValue& from, EValue& value) const noexcept {
    using ::executorch::runtime::Tag;
    switch (from.tag) {
      case Tag::None: return Error::Ok;
      case Tag::Tensor: return read_value(from.payload.as_tensor, value);
      case Tag::Int: return put(from.payload.copyable_union.as_int, value);
      case Tag::Double: return put(from.payload.copyable_union.as_double, value);
      case Tag::Bool: return put(from.payload.copyable_union.as_bool, value);
      case Tag::String: return copy("String", from.tryToString(), value);
      case Tag::ListInt: return copy("ListInt", from.tryToIntList(), value);
      case Tag::ListDouble: return copy("ListDouble", from.tryToDoubleList(), value);
      case Tag::ListBool: return copy("ListBool", from.tryToBoolList(), value);
      case Tag::ListTensor: return read_list("ListTensor", from.tryToTensorList(), value);
      case Tag::ListOptionalTensor:
        return read_list("ListOptionalTensor", from.tryToListOptionalTensor(), value);
      case Tag::ListScalar: break;  // which its runtime cannot make
    }
    return fail(Error::NotSupported, {"tenon has no EValue for ExecuTorch's of tag number ",
                                      static_cast<uint32_t>(from.tag)});
  }

 private:
  template <class T>
  using Got = ::executorch::runtime::Result<T>;
  template <class T>
  using List = ::executorch::aten::ArrayRef<T>;
  using TheirTensor = ::executorch::aten::Tensor;

  /// An EValue throws when memory for a text or a list is out.
  template <class T>
  static Error put(const T& from, EValue& value) noexcept {
    return call_safely([&] {
      value = EValue(from);
      return Error::Ok;
    });
  }
  template <class T>
  static Error copy(const char* kind, const Got<T>& got, EValue& value) noexcept {
    TENON_TRY(check_executorch(got.error(), "reading a ", kind));
    return put(got.get(), value);
  }

  Error read_tensor(const TheirTensor& from, Tensor& tensor) const noexcept {
    Draft& draft = ImplAccess::impl(tensor);
    if (owner_.use_count() == 0) {
      std::nullptr_t nothing = nullptr;
      return make_from_executorch(&from, nothing, draft);
    }
    auto keep = [kept = owner_](void*) noexcept {};
    return make_from_executorch(&from, keep, draft);
  }
  Error read_tensor(const std::optional<TheirTensor>& from, Tensor& tensor) const noexcept {
    return from.has_value() ? read_tensor(*from, tensor) : Error::Ok;
  }
  Error read_value(const TheirTensor& from, EValue& value) const noexcept {
    Tensor tensor;
    TENON_TRY(read_tensor(from, tensor));
    value = std::move(tensor);
    return Error::Ok;
  }
  template <class T>
  Error read_list(const char* kind, const Got<List<T>>& got, EValue& value) const noexcept {
    TENON_TRY(check_executorch(got.error(), "reading a ", kind));
    const List<T> from = got.get();
    StoredArray<Tensor> tensors;
    TENON_TRY(tensors.reserve(from.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      Tensor tensor;
      if (const Error error = read_tensor(from[i], tensor); error != Error::Ok) {
        return fail(error, {"element ", i, " of a ", kind, ": ", last_error_message()});
      }
      TENON_TRY(tensors.push_back(std::move(tensor)));
    }
    const ArrayRef<Tensor> read(tensors.data(), tensors.size());
    return call_safely([&] {
      if constexpr (std::is_same_v<T, TheirTensor>) {
        value = EValue(read);
      } else {
        value = EValue::optional_tensor_list(read);
      }
      return Error::Ok;
    });
  }

  const std::shared_ptr<const void>& owner_;
};

}  // namespace detail

template <class Out>
typename FromExecutorch<Out>::Value FromExecutorch<Out>::operator()(
    const ::executorch::runtime::EValue& value, const std::shared_ptr<const void>& owner) const {
  EValue made;
  const Error error = detail::ExecutorchReader(owner).read(value, made);
  return detail::finish_value<Value>(function, error, std::move(made));
}

template <class Out>
typename FromExecutorch<Out>::Value FromExecutorch<Out>::operator()(
    const ::executorch::runtime::EValue& value) const {
  return (*this)(value, nullptr);
}

TENON_END_NAMESPACE

#endif
