// SPDX-License-Identifier: MIT
// Blob: memory with its shape, and whoever keeps it alive, to be passed between libraries.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE

/// Memory described, with its owner: a plain struct to fill in, as `Blob{data, {2, 3}}`, or to get
/// from to_blob(). Nothing in it is checked before it is used.
///
/// Ownership: copies share `owner`, which keeps the memory alive; without one the memory is the
/// lender's to keep.
/// Threads: like std::shared_ptr; the owner may be dropped on any thread.
struct Blob {
  /// Element 0, on any device. Null without elements, and in the blob of a placeholder.
  void* data = nullptr;
  Dims sizes = {};
  /// In elements, of any value; empty for contiguous memory.
  Dims strides = {};
  /// As for a void*, Float unless said otherwise.
  ScalarType dtype = ScalarType::Float;
  Device device = {};
  /// In bytes, checked against the dtype's; 0 when not stated.
  size_t element_size = 0;
  bool readonly = false;
  std::shared_ptr<const void> owner = nullptr;

  /// The same memory without its owner and without the word whether it is read-only; strides are
  /// there, dense ones for empty ones. `data` may be null.
  /// Ownership: none; valid as long as the memory is.
  /// Errors: InvalidArgument for sizes and strides that make_layout() refuses, and for an
  /// element_size that is neither 0 nor the dtype's; InvalidType for an Undefined dtype;
  /// OutOfMemory (more than 6 dimensions). Hence not noexcept.
  TensorView as_view() const;
};

namespace detail {

inline Error check_element_size(const Blob& blob) noexcept {
  TENON_TRY(check_type(blob.dtype));
  const size_t expected = elementSize(blob.dtype);
  if (TENON_UNLIKELY(blob.element_size != 0 && blob.element_size != expected)) {
    return fail(Error::InvalidArgument,
                {"the blob's element_size is ", blob.element_size, ", but an element of ",
                 blob.dtype, " has ", expected, expected == 1 ? " byte" : " bytes"});
  }
  return Error::Ok;
}

/// What as_view() gives, for callers that report errors themselves.
TENON_LAZY Error make_blob_view(const Blob& blob, TensorView& view) noexcept {
  TENON_TRY(check_element_size(blob));
  Layout layout;
  TENON_TRY(make_layout(blob.sizes, {}, blob.strides, elementSize(blob.dtype), layout));
  view.data = blob.data;
  view.type = blob.dtype;
  view.device = blob.device;
  view.sizes = std::move(layout.sizes);
  view.strides = std::move(layout.strides);
  return Error::Ok;
}

TENON_LAZY Error make_blob(const TensorArg& source, Blob& blob) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const ImplFields& from = fields(source);
  blob.data = from.data;
  blob.sizes = from.layout.sizes;
  blob.strides = from.layout.strides;
  TENON_TRY(check_dims("sizes", blob.sizes));
  TENON_TRY(check_dims("strides", blob.strides));
  blob.dtype = from.type;
  blob.device = from.device;
  blob.element_size = elementSize(from.type);
  blob.readonly = from.readonly;
  // A handle over a raw TensorImpl* has nothing to keep: that memory is the caller's.
  TensorImplPtr base = from.base;
  if (base == nullptr && source.tensor().use_count() != 0) base = source.tensor().impl();
  if (base == nullptr) return Error::Ok;
  // The owner is a view without a shape: it keeps the memory and counts as a borrow, as views do.
  TensorImplPtr keeper;
  TENON_TRY(new_impl(keeper));
  fields(base).borrows.add();
  fields(keeper).ownership = Ownership::View;
  fields(keeper).base = std::move(base);
  blob.owner = std::move(keeper);
  return Error::Ok;
}

/// A tensor over the blob's memory; `deleter` keeps the owners.
TENON_LAZY Error make_from_blob(const Blob& blob, TensorShapeDynamism dynamism, Deleter& deleter,
                                TensorImplPtr& impl) noexcept {
  TENON_TRY(check_element_size(blob));
  const DataPtr data = blob.readonly ? DataPtr(static_cast<const void*>(blob.data)) : blob.data;
  return make_from_pointer(data, blob.sizes, {}, blob.strides, blob.dtype, dynamism, blob.device,
                           deleter, impl);
}

/// What a Deleter holds to keep a tensor's memory alive: nothing is called, members are dropped.
template <class Owner>
struct KeepBoth {
  std::shared_ptr<const void> blob_owner;
  Owner owner;  // last, so that it goes first
  void operator()(void*) const noexcept {}
};

}  // namespace detail

inline TensorView Blob::as_view() const {
  TensorView view;
  const Error error = detail::make_blob_view(*this, view);
  if (TENON_UNLIKELY(error != Error::Ok)) {
    detail::raise_message(detail::blame("as_view", error), last_error_message());
  }
  return view;
}

template <class Out>
struct ToBlob {
  const char* function;

  /// Describes a tensor's memory, to be passed on: any strides, device and dtype, read-only or not.
  /// That of a placeholder has null data.
  ///
  /// Ownership: shares the memory, not the shape: the blob's owner keeps it alive after the tensor
  /// is gone, and while it lives the tensor cannot grow (InUse), as with a view. A tensor over a
  /// raw TensorImpl* has nothing to share: no owner, the memory is the caller's to keep.
  /// Errors: InvalidState for an undefined tensor; OutOfMemory.
  /// Cost: one allocation; three with more than 6 dimensions.
  Out operator()(const TensorArg& source) const {
    Blob blob;
    const Error error = detail::make_blob(source, blob);
    if (TENON_UNLIKELY(error != Error::Ok)) {
      const Error named = detail::blame(function, error);
      if constexpr (detail::IsResult<Out>::value) {
        return named;
      } else {
        detail::raise_message(named, last_error_message());
      }
    }
    return Out(std::move(blob));
  }
};

inline constexpr ToBlob<Blob> to_blob{"to_blob"};
inline constexpr ToBlob<Result<Blob>> try_to_blob{"try_to_blob"};

template <class Out>
Out FromBlob<Out>::operator()(Blob blob, TensorShapeDynamism dynamism) const {
  detail::Made<Out> made;
  Deleter release;
  // Not `owner != nullptr`: an owner may hold something and point to nothing.
  if (blob.owner.use_count() != 0) {
    release = Deleter(blob.data, [kept = std::move(blob.owner)](void*) noexcept {});
  }
  return made.finish(function, detail::make_from_blob(blob, dynamism, release, made.impl()));
}

template <class Out>
template <class Owner,
          std::enable_if_t<
              !detail::is_deleter_v<Owner> && !std::is_same_v<Owner, TensorShapeDynamism>, int>>
Out FromBlob<Out>::operator()(Blob blob, Owner owner, TensorShapeDynamism dynamism) const {
  using Kept = detail::Keepable<Owner>;
  detail::Made<Out> made;
  Kept kept(std::move(owner));
  Error error = detail::check_kept<Owner>(kept);
  Deleter release(blob.data, detail::KeepBoth<Kept>{std::move(blob.owner), std::move(kept)});
  if (error == Error::Ok) error = detail::make_from_blob(blob, dynamism, release, made.impl());
  return made.finish(function, error);
}

/// Indexed access to a blob's elements, `accessor<float, 2>(blob)[i][j]`; T is const for a
/// read-only one.
///
/// Ownership: none; the memory must stay, the blob keeps it alive if it has an owner.
/// Errors: those of accessor() of a view and of Blob::as_view(), and InvalidState for a read-only
/// blob unless T is const.
template <class T, size_t N>
TensorAccessor<T, N> accessor(const Blob& blob) {
  TensorView view;
  Error error = detail::make_blob_view(blob, view);
  if (error == Error::Ok) {
    error = detail::check_access("blob", view, CppTypeToScalarType<T>::value, N);
  }
  if (TENON_UNLIKELY(error == Error::Ok && blob.readonly && !std::is_const_v<T>)) {
    error = detail::fail(Error::InvalidState, {"the blob is read-only"});
  }
  if (TENON_UNLIKELY(error != Error::Ok)) {
    detail::raise_message(detail::blame("accessor", error), last_error_message());
  }
  return TensorAccessor<T, N>(static_cast<T*>(view.data), view.sizes.data(), view.strides.data());
}

TENON_END_NAMESPACE
