// SPDX-License-Identifier: MIT
// ATen mode: a tensor is an at::Tensor.
//
// Tensors made by tenon have a ManagedImpl, with fields that ATen's impl lacks: dynamism, capacity
// and ownership. For all other tensors see describe().
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tenon/aten/c10.h"
#include "tenon/backend/calls.h"
#include "tenon/core/scalar.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE

using Tensor = at::Tensor;
using TensorImpl = at::TensorImpl;
/// Shared metadata and memory.
using TensorImplPtr = c10::intrusive_ptr<at::TensorImpl>;
/// How programs hold a tensor that they own. Creators never return a null TensorPtr.
using TensorPtr = std::unique_ptr<at::Tensor>;

namespace detail {

/// The at::TensorImpl of a tensor that tenon made.
class TENON_EXPORT ManagedImpl final : public c10::TensorImpl {
 public:
  /// A new tensor, whose element 0 is at the start of the storage.
  ManagedImpl(c10::Storage&& storage, c10::DispatchKeySet keys, const TensorFields& fields)
      : c10::TensorImpl(std::move(storage), keys,
                        c10::scalarTypeToTypeMeta(public_type(fields.type))) {
    fill(fields, 0);
  }
  /// A view of `source`, with source's dispatch keys, as ATen makes views. Element 0 is `offset`
  /// elements after the start of the storage.
  ManagedImpl(const at::Tensor& source, const TensorFields& fields, int64_t offset)
      : c10::TensorImpl(VIEW, c10::Storage(source.storage()), source.key_set(),
                        c10::scalarTypeToTypeMeta(public_type(fields.type))) {
    fill(fields, offset);
    // Autograd then counts writes through the view as writes to the source.
    if (!is_inference()) set_version_counter(source.unsafeGetTensorImpl()->version_counter());
  }

  int64_t capacity;
  TensorShapeDynamism dynamism;
  Ownership ownership;
  bool deallocated = false;

 private:
  /// The shape is already checked; set_sizes_and_strides() would check it again.
  void fill(const TensorFields& fields, int64_t offset) {
    capacity = fields.capacity;
    dynamism = fields.dynamism;
    ownership = fields.ownership;
    const size_t rank = fields.layout.rank();
    sizes_and_strides_.resize(rank);
    for (size_t d = 0; d < rank; ++d) {
      sizes_and_strides_.size_at_unchecked(d) = fields.layout.sizes()[d];
      // Only unused strides are negative (of size 1, or without elements); ATen allows no negative
      // strides.
      sizes_and_strides_.stride_at_unchecked(d) = magnitude(fields.layout.strides()[d]);
    }
    storage_offset_ = offset;
    numel_ = fields.layout.numel;
    refresh_contiguous();
  }
};

/// Releases the impl behind a storage. All shared libraries have the same function, which
/// identifies tenon's storages.
TENON_EXPORT inline c10::DeleterFnPtr& release_impl() noexcept {
  static c10::DeleterFnPtr function = [](void* kept) {
    const TensorImplPtr last = std::move(static_cast<ImplFields*>(kept)->base);
  };
  return function;
}
/// The impl that tenon keeps behind a storage, with the owner and the deleter of the memory. ATen's
/// views share the storage, and so the impl. Null for a storage that tenon did not make.
inline ImplFields* fields_behind(const c10::DataPtr& data) noexcept {
  if (data.get_deleter() != release_impl()) return nullptr;
  return static_cast<ImplFields*>(data.get_context());
}
inline ImplFields* fields_behind(const c10::Storage& storage) noexcept {
  return fields_behind(storage.data_ptr());
}

/// `impl` as a ManagedImpl, or null. Uses typeid, which is much faster than dynamic_cast.
inline ManagedImpl* as_managed(c10::TensorImpl* impl) noexcept {
  return typeid(*impl) == typeid(ManagedImpl) ? static_cast<ManagedImpl*>(impl) : nullptr;
}

/// The storage's memory, for reading.
inline void* const_storage_data(const c10::Storage& storage) {
  const void* const data = storage.data();
  return const_cast<void*>(data);
}
/// The storage's memory, for writing: a lazy clone is copied first. libtorch 1.13 has neither lazy
/// clones nor mutable_data().
template <class Storage>
auto storage_data(const Storage& storage, int) -> decltype(storage.mutable_data()) {
  return storage.mutable_data();
}
template <class Storage>
void* storage_data(const Storage& storage, long) {
  return storage.data();
}

/// Why tenon cannot use a tensor: two pieces of text.
struct Refusal {
  Error error = Error::Ok;
  const char* reason = "";
  const char* detail = "";
};

/// Fills `made` from a defined tensor of any origin. Tensors that tenon did not make are Adopted;
/// they are DYNAMIC if the storage can be resized, else DYNAMIC_BOUND with the storage as the
/// bound. Materialises a lazy clone only if `writes`. A tensor that tenon made over read-only
/// memory is never materialised: functions that write refuse it, as in plain mode.
inline Refusal describe(const at::Tensor& tensor, bool writes, TensorFields& made) noexcept {
  try {
    c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    if (impl->layout() != c10::kStrided) {
      return {Error::NotSupported, " has a layout without strides, which tenon does not have", ""};
    }
    if (tensor.is_conj()) {
      return {Error::NotSupported, " is conjugated when it is read; resolve_conj() does it", ""};
    }
    if (tensor.is_neg()) {
      return {Error::NotSupported, " is negated when it is read; resolve_neg() does it", ""};
    }
    if (!impl->has_storage()) return {Error::NotSupported, " has no storage", ""};
    made.type = own_type(tensor.scalar_type());
    if (!isValidType(made.type)) {
      return {Error::InvalidType,
              " has a dtype that tenon does not have: ", c10::toString(tensor.scalar_type())};
    }
    if (from_c10(impl->device(), made.device) != Error::Ok) {
      return {Error::NotSupported, " is on a device that tenon does not have", ""};
    }
    const size_t size = elementSize(made.type);
    const Error error = make_layout({impl->sizes(), impl->strides()}, size, made.layout);
    if (error != Error::Ok) return {error, " has a shape that cannot be described", ""};
    const c10::Storage& storage = impl->unsafe_storage();
    const c10::DataPtr& pointer = storage.data_ptr();  // throws for some storages
    const ImplFields* const held = fields_behind(pointer);
    made.readonly = held != nullptr && held->readonly;
    auto* const memory = static_cast<char*>(writes && !made.readonly ? storage_data(storage, 0)
                                                                     : const_storage_data(storage));
    const size_t offset = static_cast<size_t>(impl->storage_offset()) * size;
    const size_t reach = static_cast<size_t>(made.layout.required_span_size()) * size;
    if (memory != nullptr && reach != 0 && offset + reach > storage.nbytes()) {
      return {Error::InvalidState, " has a storage that lacks some of its elements", ""};
    }
    made.data = memory == nullptr ? nullptr : memory + offset;
    made.data_backend = held == nullptr ? nullptr : held->data_backend;
    made.opaque = held != nullptr && held->opaque;
    if (const ManagedImpl* const managed = as_managed(impl)) {
      made.capacity = managed->capacity;
      made.dynamism = impl->dim() == 0 ? TensorShapeDynamism::STATIC : managed->dynamism;
      made.ownership = managed->ownership;
      made.deallocated = managed->deallocated;
      // ATen may have replaced or resized the storage: set_(), set_data(), resize_().
      const size_t room = storage.nbytes() < offset ? 0 : storage.nbytes() - offset;
      const auto most = static_cast<int64_t>(room / size);
      const bool is_least =
          made.capacity > most && (memory != nullptr || made.ownership == Ownership::Owned);
      if (is_least || (storage.resizable() && made.ownership != Ownership::View)) {
        made.capacity = most;
      }
    } else {
      made.finalize(storage.resizable() ? TensorShapeDynamism::DYNAMIC_UNBOUND
                                        : TensorShapeDynamism::DYNAMIC_BOUND);
      made.ownership = Ownership::Adopted;
      made.deallocated = memory == nullptr && made.layout.numel != 0 && !impl->device().is_meta();
      if (made.dynamism != TensorShapeDynamism::STATIC && storage.nbytes() >= offset) {
        made.capacity = static_cast<int64_t>((storage.nbytes() - offset) / size);
      }
    }
    return {};
  } catch (const std::bad_alloc&) {
    return {Error::OutOfMemory, " cannot be described: out of memory", ""};
  } catch (const std::exception&) {
    return {Error::NotSupported, " is of a kind that does not show its memory", ""};
  }
}

struct ArgAccess;

}  // namespace detail

/// As to_string() of tenon's Scalar of plain mode. A template, since numbers convert to a
/// c10::Scalar.
template <class S, std::enable_if_t<std::is_same_v<S, c10::Scalar>, int> = 0>
std::string to_string(const S& value) {
  char text[96];
  detail::Message message(text, sizeof text);
  append(message, own::Scalar(value));
  return text;
}

/// A tensor as an argument: a Tensor, or a TensorPtr, which may be null. A const handle does not
/// make the memory const, so functions that write accept const handles, and temporary views too.
///
/// Ownership: none; refers to the handle for the length of the call.
class TensorArg {
 public:
  TensorArg(const Tensor& tensor TENON_LIFETIMEBOUND) noexcept : TensorArg(&tensor, true) {}
  TensorArg(const TensorPtr& tensor TENON_LIFETIMEBOUND) noexcept : TensorArg(tensor.get(), true) {}

  bool defined() const noexcept { return tensor_ != nullptr && tensor_->defined(); }
  /// The handle. Must not be called for a null TensorPtr.
  const Tensor& tensor() const noexcept { return *tensor_; }

 private:
  friend struct detail::ArgAccess;
  friend class ConstTensorArg;

  TensorArg(const Tensor* tensor, bool writes) noexcept : tensor_(tensor) {
    if (defined()) refusal_ = detail::describe(*tensor_, writes, fields_);
  }

  const Tensor* tensor_;
  detail::TensorFields fields_;
  detail::Refusal refusal_;
};

/// A tensor that a function reads: converts from a Tensor, from a TensorPtr, which may be null, and
/// from a TensorArg. Reading does not materialise a lazy clone.
class ConstTensorArg : public TensorArg {
 public:
  ConstTensorArg(const Tensor& tensor TENON_LIFETIMEBOUND) noexcept : TensorArg(&tensor, false) {}
  ConstTensorArg(const TensorPtr& tensor TENON_LIFETIMEBOUND) noexcept
      : TensorArg(tensor.get(), false) {}
  ConstTensorArg(const TensorArg& tensor) noexcept : TensorArg(tensor) {}
};

namespace detail {

struct ArgAccess {
  static const Refusal& refusal(const TensorArg& tensor) noexcept { return tensor.refusal_; }
  static const TensorFields& fields(const TensorArg& tensor) noexcept { return tensor.fields_; }
  static TensorFields take(TensorArg& tensor) noexcept { return std::move(tensor.fields_); }
};

/// Whether the tensor is undefined, or tenon can use it.
inline bool is_described(const TensorArg& tensor) noexcept {
  return ArgAccess::refusal(tensor).error == Error::Ok;
}

/// Checks that the tensor is defined and that tenon can use it. `role` is the function's name for
/// the tensor: "the source tensor".
inline Error check_metadata(const TensorArg& tensor, const char* role) noexcept {
  if (!tensor.defined()) {
    return fail(Error::InvalidState, role, " is undefined");
  }
  const Refusal& refusal = ArgAccess::refusal(tensor);
  if (refusal.error != Error::Ok) {
    return fail(refusal.error, role, refusal.reason, refusal.detail);
  }
  return Error::Ok;
}

/// The fields of a tensor that passed check_metadata().
inline const TensorFields& fields(const TensorArg& tensor) noexcept {
  return ArgAccess::fields(tensor);
}
/// By value, since the fields are in the temporary argument.
inline TensorFields fields(TensorArg&& tensor) noexcept { return ArgAccess::take(tensor); }

/// As check_metadata(), and checks that the tensor was not deallocated.
inline Error check_defined(const TensorArg& tensor, const char* role) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  return check_not_deallocated(fields(tensor), role);
}

}  // namespace detail
TENON_END_NAMESPACE
