// SPDX-License-Identifier: MIT
// Blob: memory with its shape and its owner, to pass between libraries.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE

/// A description of memory, with its owner. Blob::of() or to_blob() makes a Blob, or the program
/// fills in the fields; the functions that take a Blob check it. Later versions only append fields.
///
/// Ownership: copies share `owner`, which keeps the memory alive; without an owner the caller
/// keeps the memory alive.
/// Threads: like std::shared_ptr; the owner may be dropped on any thread.
struct Blob {
  /// Element 0, on any device. Null if there are no elements, and for a placeholder.
  void* data = nullptr;
  Dims sizes = {};  ///< one size for each dimension
  /// In elements; any values. Empty for contiguous memory.
  detail::StridesArg strides = {};
  /// Must be set: functions refuse Undefined.
  ScalarType dtype = ScalarType::Undefined;
  Device device = {};  ///< where the memory is
  /// In bytes; must be that of the dtype. 0: not given.
  size_t element_size = 0;
  bool readonly = false;                        ///< whether it must not be written
  std::shared_ptr<const void> owner = nullptr;  ///< keeps the memory alive; null: the caller does

  /// A blob of host memory with the pointer's dtype, `Blob::of(data, {2, 3})`. The blob is
  /// read-only if the pointer is to const. Empty strides mean contiguous memory.
  /// Ownership: `owner`, if it is given, keeps the memory alive.
  template <class P, detail::IfPointer<P> = 0>
  static Blob of(P data, Dims sizes, detail::StridesArg strides = {},
                 std::shared_ptr<const void> owner = {}) noexcept {
    static_assert(detail::is_typed_v<P>,
                  "raw bytes need a dtype: Blob::of(data, sizes, ScalarType::Float)");
    const detail::DataPtr p(data);
    return {p.get(), std::move(sizes), std::move(strides), detail::public_type(p.type()), {},
            0,       p.is_readonly(),  std::move(owner)};
  }
  /// A blob of raw bytes, which need a dtype: `Blob::of(bytes, {2, 3}, ScalarType::Half)`. For
  /// void*, char*, unsigned char*, std::byte* and the literal nullptr.
  template <class P, detail::IfPointer<P> = 0>
  static Blob of(P data, Dims sizes, detail::StridesArg strides, detail::TypeArg type,
                 std::shared_ptr<const void> owner = {}) noexcept {
    static_assert(detail::is_untyped_v<P>,
                  "the pointer says its dtype; pass a void* to reinterpret the bytes");
    const detail::DataPtr p(data);
    const ScalarType dtype = detail::public_type(type.value_or(own::ScalarType::Undefined));
    return {p.get(), std::move(sizes), std::move(strides), dtype, {},
            0,       p.is_readonly(),  std::move(owner)};
  }
  template <class P, detail::IfPointer<P> = 0>
  static Blob of(P data, Dims sizes, detail::TypeArg type,
                 std::shared_ptr<const void> owner = {}) noexcept {
    return of(data, std::move(sizes), Dims(), type, std::move(owner));
  }

  template <class VoidPointerAndTypeNeeded, class... More,
            detail::IfNoElement<VoidPointerAndTypeNeeded> = 0>
  static Blob of(const VoidPointerAndTypeNeeded*, const Dims&, More&&...)
      TENON_MISTAKE("no dtype has such elements: Blob::of(static_cast<void*>(data), sizes, type)");
  template <class SmartPointerNeedsGet, class... More,
            detail::IfSmartPointer<SmartPointerNeedsGet> = 0>
  static Blob of(const SmartPointerNeedsGet&, const Dims&, const More&...)
      TENON_MISTAKE("Blob::of(data.get(), sizes, strides, data) keeps a shared_ptr's data alive");
  template <class ContainerNeedsData, class... More, detail::IfContainer<ContainerNeedsData> = 0>
  static Blob of(const ContainerNeedsData&, const Dims& = {}, const More&...)
      TENON_MISTAKE("Blob::of takes a pointer: Blob::of(container.data(), sizes)");
  template <class TensorNeedsToBlob, class... More, detail::IfTensor<TensorNeedsToBlob> = 0>
  static Blob of(const TensorNeedsToBlob&, const More&...)
      TENON_MISTAKE("to_blob(t) describes a tensor's memory");

  /// ATen's name for `dtype`.
  ScalarType scalar_type() const noexcept { return dtype; }

  /// A blob of memory whose strides are in bytes: NumPy's strides, OpenCV's step, a camera's pitch.
  /// The blob is read-only if the pointer is to const. Strides may be 0 or negative; empty strides
  /// mean contiguous memory. The strides of dimensions of size 1 are ignored, and all strides if
  /// there are no elements.
  /// Ownership: none; set `owner`.
  /// Errors: InvalidArgument for a stride that is not a multiple of the element's size; InvalidType
  /// for a pointer to elements of another type; those of as_view().
  template <class T>
  static Result<Blob> from_byte_strides(T* data, const Dims& sizes, const Dims& byte_strides,
                                        ScalarType dtype, Device device = {}) noexcept;

  /// The memory as a view, without `owner` and `readonly`; empty strides become dense strides.
  /// `data` may be null.
  /// Ownership: the view owns its lists, not the memory, which must outlive it.
  /// Errors: InvalidArgument for sizes and strides that no tensor can have, and for an
  /// element_size that is neither 0 nor that of the dtype; InvalidType for an Undefined dtype;
  /// InvalidState when to_blob() made the blob and the tensor's backend is gone (needs RTTI);
  /// OutOfMemory (more dimensions than TENON_INLINE_DIMS).
  ViewWithLists as_view() const;

  /// The strides in bytes, as in NumPy, OpenCV and the buffer protocol; dense if `strides` is
  /// empty.
  /// Errors: those of as_view().
  Dims byte_strides() const;

  /// Bytes from the lowest element to the end of the highest, gaps included; 0 without elements.
  /// With negative strides the bytes begin below `data`.
  /// Errors: those of as_view().
  size_t nbytes() const;
};

namespace detail {

TENON_TEMPLATE_INLINE Error check_element_size(const Blob& blob) noexcept {
  const ScalarType type = own_type(blob.dtype);
  if (type == ScalarType::Undefined) {
    return fail(
        Error::InvalidType,
        "the blob's dtype is Undefined; fill in the field, or let Blob::of(data, sizes) take "
        "the pointer's");
  }
  TENON_TRY(check_type(type));
  const size_t expected = elementSize(type);
  if (blob.element_size != 0 && blob.element_size != expected) {
    return fail(Error::InvalidArgument, "the blob's element_size is ", blob.element_size,
                ", but an element of ", type, " has ", expected,
                expected == 1 ? " byte" : " bytes");
  }
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error make_blob_layout(const Blob& blob, Layout& layout) noexcept {
  TENON_TRY(check_element_size(blob));
  return make_layout(blob.sizes, {}, blob.strides, elementSize(own_type(blob.dtype)), layout);
}

/// Checks that the memory still exists, as far as the owner knows.
TENON_TEMPLATE_INLINE Error check_owner(const Blob& blob) noexcept {
  const MemoryHold* const hold = hold_in(blob.owner);
  return hold == nullptr ? Error::Ok : hold->check("the blob");
}
/// The blob as a view that refers to the lists of `layout`.
TENON_TEMPLATE_INLINE Error make_blob_view(const Blob& blob, Layout& layout,
                                           TensorView& view) noexcept {
  TENON_TRY(check_owner(blob));
  TENON_TRY(make_blob_layout(blob, layout));
  view = {blob.data, blob.dtype, blob.device, layout.sizes(), layout.strides()};
  return Error::Ok;
}

/// as_view(), but without "as_view" in error texts.
TENON_TEMPLATE_INLINE Error copy_blob_view(const Blob& blob, ViewWithLists& copy) noexcept {
  TensorView view;
  Layout layout;
  TENON_TRY(make_blob_view(blob, layout, view));
  return copy_lists(view, copy);
}

/// Converts a blob's strides from bytes to elements.
TENON_TEMPLATE_INLINE Error divide_strides(Blob& blob) noexcept {
  TENON_TRY(check_element_size(blob));
  TENON_TRY(check_dims("sizes", blob.sizes));
  TENON_TRY(check_dims("byte_strides", blob.strides));
  const size_t rank = blob.sizes.size();
  if (!blob.strides.empty() && blob.strides.size() != rank) {
    return fail(Error::InvalidArgument, "byte_strides ", blob.strides, " and sizes ", blob.sizes,
                " differ in length");
  }
  const ScalarType type = own_type(blob.dtype);
  const auto size = static_cast<int64_t>(elementSize(type));
  bool has_elements = true;
  for (const int64_t n : blob.sizes) has_elements &= n != 0;
  for (size_t d = 0; d < blob.strides.size(); ++d) {
    const int64_t bytes = blob.strides[d];
    if (bytes % size != 0 && blob.sizes[d] > 1 && has_elements) {
      return fail(Error::InvalidArgument, "the stride of dimension ", d, " is ", bytes,
                  " bytes, which is no multiple of the ", size, " bytes of an element of ", type);
    }
    blob.strides[d] = bytes / size;
  }
  Layout layout;
  return make_blob_layout(blob, layout);
}

/// Copies everything but the owner.
TENON_TEMPLATE_INLINE Error describe_blob(const TensorArg& source, Blob& blob) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  TENON_TRY(check_data_backend(from, "the source tensor"));
  if (from.opaque && from.device.is_host_accessible()) {
    return fail(Error::NotSupported, "the source tensor is in memory on ", from.device,
                " that only its backend reaches, which a Blob cannot say");
  }
  blob.data = from.data;
  blob.sizes = from.layout.sizes();
  blob.strides = from.layout.strides();
  TENON_TRY(check_dims("sizes", blob.sizes));
  TENON_TRY(check_dims("strides", blob.strides));
  blob.dtype = public_type(from.type);
  blob.device = from.device;
  blob.element_size = elementSize(from.type);
  blob.readonly = from.readonly;
  return Error::Ok;
}
TENON_TEMPLATE_INLINE Error make_blob(const TensorArg& source, Blob& blob) noexcept {
  TENON_TRY(describe_blob(source, blob));
  return make_owner(source, blob.owner);
}

/// A tensor over the blob's memory. `owners` keep the memory alive; `kept` is the hold in
/// blob.owner, if to_blob() made that owner. If the options name a backend, the memory belongs to
/// that backend.
template <class Out, class... Options>
Out make_from_blob(const char* function, const Blob& blob, [[maybe_unused]] MemoryHold& kept,
                   Deleter& owners, Options&... options) {
  static_assert(!has_type_v<Options...>, "a blob says its dtype");
  static_assert(!has_device_v<Options...>, "a blob says its device");
  CreateOptions opts = create_options_of(own_type(blob.dtype), options...);
  opts.device = blob.device;
  NewTensor new_tensor;
  Error error = check_element_size(blob);
  if constexpr (has_backend_v<Options...>) {
    const Device device = opts.requested->device();
    if (error == Error::Ok && blob.device != device) {
      error = fail(Error::InvalidArgument, "the blob is on ", blob.device, ", memory of backend ",
                   opts.requested->name(), " on ", device);
    }
  }
  constexpr bool kTakesBack = kKnowsOwners && !has_backend_v<Options...>;
  if constexpr (kTakesBack) {
    if (error == Error::Ok && kept.share(blob.data, own_type(blob.dtype), blob.device, blob.sizes,
                                         blob.strides, opts.dynamism, blob.readonly, new_tensor)) {
      typename IsResult<Out>::Value handle;
      error = make_handle(new_tensor, handle, metadata_backend_for(opts.backend));
      return return_to_user<Out>(function, error, std::move(handle));
    }
  }
  if (error == Error::Ok) {
    error = borrow_checked(DataPtr(blob.data, blob.readonly), blob.sizes, {}, blob.strides, opts,
                           &owners, new_tensor);
  }
  if constexpr (has_backend_v<Options...>) {
    if (error == Error::Ok) error = attach_backend(*opts.requested, new_tensor);
  } else if (error == Error::Ok && !blob.device.is_cpu()) {
    error = check_borrowed(fields(new_tensor));
  }
  if constexpr (kTakesBack) {
    if (error == Error::Ok && kept.attach(fields(new_tensor))) {
      fields(new_tensor).deleter.reset();  // drops the owner
    }
  }
  return return_to_user<Out>(function, error, new_tensor);
}

/// A blob over a copy of a tensor; the copy's data and metadata are on the heap.
TENON_TEMPLATE_INLINE Result<Blob> make_owned_blob(const char* function,
                                                   const ConstTensorArg& source) noexcept {
  const Result<Tensor> copy = clone<Result<Tensor>>(function, source, options_in(host_backend()));
  if (!copy.ok()) return copy.error();
  Blob blob;
  return return_to_user<Result<Blob>>(function, make_blob(*copy, blob), std::move(blob));
}

/// A Deleter's callable that keeps two owners until it is destroyed.
template <class Owner>
struct KeepBoth {
  // Not an aggregate: GCC 11 leaks an aggregate's first member when the second's move throws.
  KeepBoth(std::shared_ptr<const void>&& first, Owner&& second)
      : blob_owner(std::move(first)), owner(std::move(second)) {}
  void operator()(void*) const noexcept {}

  std::shared_ptr<const void> blob_owner;
  Owner owner;  // last: destroyed first
};

}  // namespace detail

inline ViewWithLists Blob::as_view() const {
  ViewWithLists copy;
  detail::raise_if("as_view", detail::copy_blob_view(*this, copy));
  return copy;
}

inline Dims Blob::byte_strides() const {
  TensorView view;
  detail::Layout layout;
  Error error = detail::make_blob_view(*this, layout, view);
  Dims byte_strides(view.strides);
  if (error == Error::Ok) error = detail::check_dims("strides", byte_strides);
  detail::raise_if("byte_strides", error);
  // Unsigned, which cannot overflow: a dimension of size 1 may have any stride.
  const uint64_t size = elementSize(detail::own_type(view.type));
  for (int64_t& stride : byte_strides) {
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * size);
  }
  return byte_strides;
}

inline size_t Blob::nbytes() const {
  detail::Layout layout;
  detail::raise_if("nbytes", detail::make_blob_layout(*this, layout));
  // Unsigned: the difference of two signed numbers may overflow.
  return (static_cast<size_t>(layout.offsets.max + 1) - static_cast<size_t>(layout.offsets.min)) *
         elementSize(detail::own_type(dtype));
}

template <class T>
Result<Blob> Blob::from_byte_strides(T* data, const Dims& sizes, const Dims& byte_strides,
                                     ScalarType dtype, Device device) noexcept {
  const detail::DataPtr memory(data);
  Blob blob{memory.get(), sizes, byte_strides, dtype, device, 0, memory.is_readonly()};
  Error error = detail::check_pointer_type(memory, detail::own_type(dtype));
  if (error == Error::Ok) error = detail::divide_strides(blob);
  return detail::return_to_user<Result<Blob>>("from_byte_strides", error, std::move(blob));
}

namespace detail {

/// to_blob().
template <class Out>
Out to_blob(const char* function, const TensorArg& source) {
  Blob blob;
  const Error error = make_blob(source, blob);
  return return_to_user<Out>(function, error, std::move(blob));
}

}  // namespace detail

/// A description of a tensor's memory, with any strides, device and dtype, read-only or not. `data`
/// is null for a placeholder.
///
/// Ownership: shares the memory, not the shape: the blob's owner keeps the memory alive after the
/// tensor is gone, and while the owner lives the tensor cannot grow (InUse), as if a view shared
/// its memory. For a tensor over a raw TensorImpl* the owner is null; the caller keeps the memory
/// alive.
/// from_blob() of this blob returns the tensor itself if it still matches the blob, else a view.
/// Without RTTI, in ATen mode, and if from_blob() is given a backend or an owner, each round trip
/// nests one more owner: do not repeat round trips in a loop.
/// Errors: InvalidState for an undefined tensor; OutOfMemory.
/// Cost: one allocation; three if there are more dimensions than TENON_INLINE_DIMS.
TENON_TEMPLATE_INLINE Blob to_blob(const TensorArg& source) {
  return detail::to_blob<Blob>("to_blob", source);
}
TENON_TEMPLATE_INLINE Result<Blob> try_to_blob(const TensorArg& source) {
  return detail::to_blob<Result<Blob>>("try_to_blob", source);
}

/// A blob that owns a copy of a tensor on the heap: other threads may use the copy, and it may
/// outlive arenas, backends and devices. Keeps dtype, sizes and dense strides; other strides become
/// dense. Never allocates from the backend of a BackendScope or of the tensor.
///
/// Ownership: `owner` frees the copy, on any thread.
/// Errors: InvalidState for an undefined or a deallocated tensor, for a placeholder, and if the
/// tensor's backend is gone; NotSupported for memory that neither the host nor a registered backend
/// can reach; OutOfMemory, and the backend's errors.
template <class = void>
Blob to_owned_blob(ConstTensorArg source) {
  return detail::make_owned_blob("to_owned_blob", source).value();
}
template <class = void>
Result<Blob> try_to_owned_blob(ConstTensorArg source) noexcept {
  return detail::make_owned_blob("try_to_owned_blob", source);
}

namespace detail {  // function objects

template <class Out>
template <class... Options, IfOptions<Options...>>
Out FromBlob<Out>::operator()(Blob blob, Options&&... options) const {
  MemoryHold kept = held_by(blob.owner);
  if (const Error error = kept.check("the blob"); error != Error::Ok) {
    return return_to_user<Out>(function, error);
  }
  Deleter owners;
  // Not `owner != nullptr`: a shared_ptr may own something and point to null.
  if (blob.owner.use_count() != 0) {
    owners = Deleter(blob.data, [owner = std::move(blob.owner)](void*) noexcept {});
  }
  return make_from_blob<Out>(function, blob, kept, owners, options...);
}

template <class Out>
template <class Owner, class... Options,
          std::enable_if_t<!is_only_deleter_v<Owner> && !is_option_v<Owner>, int>,
          IfOptions<Options...>>
Out FromBlob<Out>::operator()(Blob blob, Owner owner, Options&&... options) const {
  static_assert(!std::is_convertible_v<Owner, const Backend*>, "a backend is given by reference");
  if (const Error error = check_owner(blob); error != Error::Ok) {
    return return_to_user<Out>(function, error);
  }
  Deleter owners(blob.data, KeepBoth<Owner>(std::move(blob.owner), std::move(owner)));
  MemoryHold none_kept;
  return make_from_blob<Out>(function, blob, none_kept, owners, options...);
}

/// Checks that accessor() accepts the blob. The view refers to the lists of `layout`.
template <class T, size_t N>
Error check_blob_access(const Blob& blob, Layout& layout, TensorView& view) noexcept {
  TENON_TRY(make_blob_view(blob, layout, view));
  TENON_TRY((check_access<T, N>("blob", view)));
  if (blob.readonly && !std::is_const_v<T>) {
    return fail(Error::InvalidState, "the blob is read-only");
  }
  return Error::Ok;
}

}  // namespace detail

/// Indexed access to a blob's elements, `accessor<float, 2>(blob)[i][j]`; for a read-only blob T is
/// const. The try_ form returns a Result.
///
/// Ownership: none; the memory must outlive the accessor. A blob with an owner keeps the memory
/// alive.
/// Errors: those of accessor() of a TensorView and of Blob::as_view(), and InvalidState for a
/// read-only blob unless T is const.
template <class T, size_t N>
TensorAccessor<T, N> accessor(const Blob& blob) {
  TensorView view;
  detail::Layout layout;
  detail::raise_if("accessor", detail::check_blob_access<T, N>(blob, layout, view));
  return detail::accessor_of<T, N>(view);
}
template <class T, size_t N>
Result<TensorAccessor<T, N>> try_accessor(const Blob& blob) noexcept {
  TensorView view;
  detail::Layout layout;
  TENON_TRY(
      detail::add_context_if("try_accessor", detail::check_blob_access<T, N>(blob, layout, view)));
  return detail::accessor_of<T, N>(view);
}

/// As Blob::as_view(), but returns the error.
inline Result<ViewWithLists> try_as_view(const Blob& blob) noexcept {
  ViewWithLists copy;
  TENON_TRY(detail::add_context_if("try_as_view", detail::copy_blob_view(blob, copy)));
  return copy;
}

TENON_END_NAMESPACE
