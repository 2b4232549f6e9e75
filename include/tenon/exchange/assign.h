// SPDX-License-Identifier: MIT
// assign and copy_to: copy foreign memory to an existing tensor, and back.
#pragma once

#include <cstddef>

#include "tenon/exchange/blob.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Finds the location of a blob, and checks that its sizes are the tensor's. The location refers to
/// the lists of `layout`.
TENON_TEMPLATE_INLINE Error find_blob(const Blob& blob, const TensorFields& tensor, Layout& layout,
                                      MemoryLocation& location) noexcept {
  TensorView& view = location.view;
  TENON_TRY(make_blob_view(blob, layout, view));
  const ArrayRef<int64_t> sizes = tensor.layout.sizes();
  if (view.sizes != sizes) {
    if (view.sizes.size() != sizes.size()) {
      return fail(Error::InvalidArgument, "the blob's sizes ", view.sizes, " and the tensor's ",
                  sizes, " differ in length");
    }
    size_t d = 0;
    while (view.sizes[d] == sizes[d]) ++d;
    return fail(Error::InvalidArgument, "dimension ", d, " is ", view.sizes[d],
                " in the blob's sizes ", view.sizes, " and ", sizes[d], " in the tensor's ", sizes);
  }
  if (!blob.device.is_host_accessible()) {
    TENON_TRY(set_location_backend(blob.device, "the blob", location));
  }
  if (tensor.layout.numel == 0) return Error::Ok;
  if (blob.data == nullptr) {
    return fail(Error::InvalidArgument, "the blob's data is null");
  }
  if (blob.device.is_cpu()) return Error::Ok;
  return check_device_pointer(blob.device, blob.data, own_type(view.type), layout);
}

/// Finds the location of contiguous elements of the tensor's dtype. The location refers to the
/// lists of `layout`.
TENON_TEMPLATE_INLINE Error find_bytes(const DataPtr& data, size_t nbytes,
                                       const TensorFields& tensor, Layout& layout,
                                       MemoryLocation& location) noexcept {
  if (check_pointer_type(data, tensor.type, "the tensor's dtype") != Error::Ok) {
    return fail(Error::InvalidType, last_error().text, ", or Blob::of(data, sizes) to convert");
  }
  if (nbytes != tensor.nbytes()) {
    return fail(Error::InvalidArgument, nbytes, " bytes were given, sizes ", tensor.layout.sizes(),
                " of ", tensor.type, " need ", tensor.nbytes());
  }
  if (data.get() == nullptr && nbytes != 0) {
    return fail(Error::InvalidArgument, "the data pointer is null");
  }
  TENON_TRY(layout.make_row_major(tensor.layout.sizes(), elementSize(tensor.type)));
  location.view = {data.get(), public_type(tensor.type), Device(), layout.sizes(),
                   layout.strides()};
  return Error::Ok;
}

/// The two sides of a copy between a tensor and memory with `layout`.
struct TensorAndMemory {
  HeldLocation tensor;
  MemoryLocation memory;
  Layout layout;

  TENON_TEMPLATE_INLINE Error find(const TensorArg& out, const Blob& blob) noexcept {
    TENON_TRY(find_destination(out, "the tensor", tensor));
    TENON_TRY(tensor.keep_while_asking(out, !blob.device.is_cpu()));
    return find_blob(blob, fields(out), layout, memory);
  }
  TENON_TEMPLATE_INLINE Error find(const TensorArg& out, const DataPtr& data,
                                   size_t nbytes) noexcept {
    TENON_TRY(find_destination(out, "the tensor", tensor));
    return find_bytes(data, nbytes, fields(out), layout, memory);
  }
};

TENON_TEMPLATE_INLINE Error check_assign(const TensorArg& out, const Blob& blob,
                                         CastMode mode) noexcept {
  TensorAndMemory at;
  TENON_TRY(at.find(out, blob));
  return check_cast(own_type(at.memory.view.type), own_type(at.tensor.view.type), mode);
}
TENON_TEMPLATE_INLINE Error check_assign(const TensorArg& out, const DataPtr& data,
                                         size_t nbytes) noexcept {
  TensorAndMemory at;
  return at.find(out, data, nbytes);
}

TENON_TEMPLATE_INLINE Error assign_blob(const TensorArg& out, const Blob& blob,
                                        CastMode mode) noexcept {
  TensorAndMemory at;
  TENON_TRY(at.find(out, blob));
  return copy_checked(at.tensor, at.memory, mode, CopyPolicy::AllowTemporary, &cast_elements<>);
}
TENON_TEMPLATE_INLINE Error assign_normalized(const TensorArg& out, const Blob& blob,
                                              const Normalize& normalize, CastMode mode) noexcept {
  TensorAndMemory at;
  TENON_TRY(at.find(out, blob));
  return copy_normalized(at.tensor, at.memory, normalize, mode);
}
TENON_TEMPLATE_INLINE Error assign_bytes(const TensorArg& out, const DataPtr& data,
                                         size_t nbytes) noexcept {
  TensorAndMemory at;
  TENON_TRY(at.find(out, data, nbytes));
  TENON_TRY(at.tensor.keep_while_asking(out, false));
  return copy_checked(at.tensor, at.memory, CastMode::Checked, CopyPolicy::AllowTemporary, nullptr);
}

TENON_TEMPLATE_INLINE Error copy_to_blob(const TensorArg& tensor, const Blob& blob,
                                         CastMode mode) noexcept {
  TensorAndMemory at;
  TENON_TRY(find_source(tensor, "the tensor", at.tensor));
  TENON_TRY(at.tensor.keep_while_asking(tensor, !blob.device.is_cpu()));
  TENON_TRY(find_blob(blob, fields(tensor), at.layout, at.memory));
  if (blob.readonly) return fail(Error::InvalidState, "the blob is read-only");
  TENON_TRY(check_distinct(at.layout, "the blob"));
  return copy_checked(at.memory, at.tensor, mode, CopyPolicy::AllowTemporary, &cast_elements<>);
}
TENON_TEMPLATE_INLINE Error copy_to_bytes(const TensorArg& tensor, const DataPtr& data,
                                          size_t nbytes) noexcept {
  TensorAndMemory at;
  TENON_TRY(find_source(tensor, "the tensor", at.tensor));
  if (data.is_readonly()) return fail(Error::InvalidState, "the data pointer is to const");
  TENON_TRY(find_bytes(data, nbytes, fields(tensor), at.layout, at.memory));
  TENON_TRY(at.tensor.keep_while_asking(tensor, false));
  return copy_checked(at.memory, at.tensor, CastMode::Checked, CopyPolicy::AllowTemporary, nullptr);
}

}  // namespace detail

/// Copies a blob, such as a camera's padded rows, to a tensor of the same sizes, such as an output
/// allocated in advance. Both may have any strides.
///
/// Ownership: borrows both for the length of the call. Accesses only their elements, not the gaps.
/// A blob that overlaps the tensor's memory is copied through a temporary.
/// Errors: InvalidState (an undefined tensor, a placeholder, a read-only tensor), InvalidArgument
/// (other sizes; an element_size that is not the dtype's; null data; an invalid shape; a tensor
/// whose elements may share memory; memory that is not on the blob's device, as
/// DeviceBackend::check_memory() says), InvalidType (an Undefined dtype; a cast that canCast()
/// refuses, with CastMode::Checked), NotSupported (memory that the host cannot reach, on a device
/// for which no backend is registered), OutOfMemory. After an error nothing has changed.
template <class = void>
[[nodiscard]] Error assign(TensorArg out, const Blob& blob,
                           CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if("assign", detail::assign_blob(out, blob, mode));
}

/// As above, and normalises the values: see Normalize, and copy_() with a Normalize.
/// Errors: as above, and those of that copy_().
template <class = void>
[[nodiscard]] Error assign(TensorArg out, const Blob& blob, const Normalize& normalize,
                           CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if("assign", detail::assign_normalized(out, blob, normalize, mode));
}

/// Copies `nbytes` bytes, contiguous row-major elements of the tensor's dtype, to a tensor of any
/// strides.
/// Errors: as above; InvalidArgument for another byte count; InvalidType for a pointer to elements
/// of another type. Raw bytes (void*, char*, unsigned char*, std::byte*) may be elements of any
/// type.
template <class = void>
[[nodiscard]] Error assign(TensorArg out, detail::DataPtr data, size_t nbytes) noexcept {
  return detail::add_context_if("assign", detail::assign_bytes(out, data, nbytes));
}
template <class ContainerNeedsBlob, class... More,
          detail::IfContainer<std::remove_reference_t<ContainerNeedsBlob>> = 0>
Error assign(TensorArg, ContainerNeedsBlob&&, const More&...)
    TENON_MISTAKE("assign takes a blob: assign(t, Blob::of(values.data(), sizes))");

/// Whether assign() with these arguments would succeed, unless memory for a temporary runs out. If
/// false, last_error_message() says why.
template <class = void>
[[nodiscard]] bool can_assign(TensorArg out, const Blob& blob,
                              CastMode mode = CastMode::Checked) noexcept {
  const Error error = detail::check_assign(out, blob, mode);
  return detail::add_context_if("can_assign", error) == Error::Ok;
}
template <class = void>
[[nodiscard]] bool can_assign(TensorArg out, detail::DataPtr data, size_t nbytes) noexcept {
  const Error error = detail::check_assign(out, data, nbytes);
  return detail::add_context_if("can_assign", error) == Error::Ok;
}

/// Copies a tensor to a blob of the same sizes, with assign()'s rules.
/// Errors: as assign(); InvalidState for a read-only blob.
template <class = void>
[[nodiscard]] Error copy_to(TensorArg tensor, const Blob& blob,
                            CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if("copy_to", detail::copy_to_blob(tensor, blob, mode));
}

/// Writes a tensor's elements, contiguous and row-major, to `nbytes` bytes of memory.
/// Errors: as assign(); InvalidState for a pointer to const.
template <class = void>
[[nodiscard]] Error copy_to(TensorArg tensor, detail::DataPtr data, size_t nbytes) noexcept {
  return detail::add_context_if("copy_to", detail::copy_to_bytes(tensor, data, nbytes));
}
template <class PointerToConst, std::enable_if_t<std::is_const_v<PointerToConst>, int> = 0>
Error copy_to(TensorArg, PointerToConst*, size_t) TENON_MISTAKE("copy_to writes to the memory");

TENON_END_NAMESPACE
