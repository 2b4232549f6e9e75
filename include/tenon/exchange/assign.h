// SPDX-License-Identifier: MIT
// assign and copy_to: filling a pre-allocated tensor from foreign memory, and the way back.
#pragma once

#include <cstddef>

#include "tenon/exchange/blob.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/kept.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A copy between a tensor, which is kept, and foreign memory.
struct AssignJob : CopyJob {
  KeptTensor kept;
};

/// Finds the blob's memory, which must have the tensor's sizes, and who reaches it.
TENON_LAZY Error find_blob(const Blob& blob, const TensorFields& tensor, Place& place) noexcept {
  TensorView& view = place.view;
  TENON_TRY(make_blob_view(blob, view));
  const ArrayRef<int64_t> sizes = tensor.layout.sizes();
  if (TENON_UNLIKELY(view.sizes != sizes)) {
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
    TENON_TRY(find_mover(blob.device, "the blob", place.backend));
  }
  if (tensor.layout.numel == 0) return Error::Ok;
  if (TENON_UNLIKELY(blob.data == nullptr)) {
    return fail(Error::InvalidArgument, "the blob's data is null");
  }
  if (blob.device.is_cpu()) return Error::Ok;
  Layout layout;
  TENON_TRY(make_blob_layout(blob, layout));
  return check_memory(blob.device, blob.data, view.type, layout);
}

/// Describes plain memory: contiguous elements of the tensor's dtype.
TENON_LAZY Error find_bytes(const void* data, size_t nbytes, const TensorFields& tensor,
                            Place& place) noexcept {
  if (TENON_UNLIKELY(nbytes != tensor.nbytes())) {
    return fail(Error::InvalidArgument, nbytes, " bytes were given, sizes ", tensor.layout.sizes(),
                " of ", tensor.type, " need ", tensor.nbytes());
  }
  if (TENON_UNLIKELY(data == nullptr && nbytes != 0)) {
    return fail(Error::InvalidArgument, "the data pointer is null");
  }
  Layout layout;
  TENON_TRY(Layout::dense(tensor.layout.sizes(), nullptr, elementSize(tensor.type), layout));
  place.view = {const_cast<void*>(data), tensor.type, Device(), layout.sizes(), layout.strides()};
  return check_lists(place.view);
}

/// Finds and keeps the tensor, and finds the blob that it is to be filled from.
TENON_LAZY Error find_both(const TensorArg& out, const Blob& blob, AssignJob& job) noexcept {
  TENON_TRY(find_destination(out, "the tensor", job.dst));
  TENON_TRY(job.kept.keep(out, !blob.device.is_cpu()));
  return find_blob(blob, fields(out), job.src);
}

TENON_LAZY Error plan_assign(const TensorArg& out, const Blob& blob, CastMode mode,
                             AssignJob& job) noexcept {
  TENON_TRY(find_both(out, blob, job));
  return check_cast(job.src.view.type, job.dst.view.type, mode);
}
TENON_LAZY Error plan_assign(const TensorArg& out, const void* data, size_t nbytes,
                             AssignJob& job) noexcept {
  TENON_TRY(find_destination(out, "the tensor", job.dst));
  TENON_TRY(job.kept.keep(out, false));
  return find_bytes(data, nbytes, fields(out), job.src);
}

TENON_LAZY Error plan_copy_to(const TensorArg& tensor, const Blob& blob, AssignJob& job) noexcept {
  TENON_TRY(find_source(tensor, "the tensor", job.src));
  TENON_TRY(job.kept.keep(tensor, !blob.device.is_cpu()));
  TENON_TRY(find_blob(blob, fields(tensor), job.dst));
  if (TENON_UNLIKELY(blob.readonly)) return fail(Error::InvalidState, "the blob is read-only");
  Layout layout;
  const TensorView& out = job.dst.view;
  TENON_TRY(make_layout(out.sizes, {}, out.strides, elementSize(out.type), layout));
  if (TENON_UNLIKELY(layout.may_overlap())) {
    return fail(Error::InvalidArgument, "the blob has strides ", out.strides, " for sizes ",
                out.sizes, ", at which elements may share memory");
  }
  return Error::Ok;
}

/// Runs a job, unless planning it gave an error.
TENON_LAZY Error finish_job(const char* function, Error error, CopyJob& job, CastMode mode,
                            CastFunction cast) noexcept {
  if (error == Error::Ok) error = run_job(job, mode, CopyPolicy::AllowTemporary, cast);
  return blame_if(function, error);
}

}  // namespace detail

/// Fills a tensor, an output that was allocated in advance say, from a blob of the same sizes, at
/// any strides of both: a legacy system's buffer, a camera's padded rows.
///
/// Ownership: borrows both for the length of the call. Nothing beyond the elements of either is
/// touched. A blob over the tensor's own memory is copied by way of a temporary.
/// Errors: InvalidState (an undefined tensor, a placeholder, a read-only tensor), InvalidArgument
/// (other sizes; an element_size that is not the dtype's; null data; a shape that make_layout()
/// refuses; a tensor whose elements may share memory; memory that is not on the blob's device, as
/// DeviceBackend::check_memory() finds out), InvalidType (a cast that canCast() refuses,
/// with CastMode::Checked), NotSupported (memory that the host cannot reach, where no backend is
/// registered for its device), OutOfMemory. Nothing is changed then.
template <class = void>
[[nodiscard]] Error assign(TensorArg out, const Blob& blob,
                           CastMode mode = CastMode::Checked) noexcept {
  detail::AssignJob job;
  return detail::finish_job("assign", detail::plan_assign(out, blob, mode, job), job, mode,
                            &detail::cast_elements<>);
}

/// The same, and normalises on the way: see Normalize and copy_() with one.
/// Errors: as above and as that copy_()'s.
template <class = void>
[[nodiscard]] Error assign(TensorArg out, const Blob& blob, const Normalize& normalize,
                           CastMode mode = CastMode::Checked) noexcept {
  detail::AssignJob job;
  Error error = detail::find_both(out, blob, job);
  if (error == Error::Ok) error = detail::run_normalize_job(job, normalize, mode);
  return detail::blame_if("assign", error);
}

/// Fills a tensor of any strides from contiguous, row-major elements of its dtype: exactly
/// `nbytes` bytes.
/// Errors: as above; InvalidArgument for another byte count.
template <class = void>
[[nodiscard]] Error assign(TensorArg out, const void* data, size_t nbytes) noexcept {
  detail::AssignJob job;
  return detail::finish_job("assign", detail::plan_assign(out, data, nbytes, job), job,
                            CastMode::Checked, nullptr);
}

/// Whether assign() with these arguments would succeed, memory for a temporary aside. Where not,
/// last_error_message() says why.
template <class = void>
[[nodiscard]] bool can_assign(TensorArg out, const Blob& blob,
                              CastMode mode = CastMode::Checked) noexcept {
  detail::AssignJob job;
  return detail::blame_if("can_assign", detail::plan_assign(out, blob, mode, job)) == Error::Ok;
}
template <class = void>
[[nodiscard]] bool can_assign(TensorArg out, const void* data, size_t nbytes) noexcept {
  detail::AssignJob job;
  return detail::blame_if("can_assign", detail::plan_assign(out, data, nbytes, job)) == Error::Ok;
}

/// Writes a tensor's elements to a blob of the same sizes: the way back, with the same rules.
/// Errors: as assign(); InvalidState for a read-only blob.
template <class = void>
[[nodiscard]] Error copy_to(TensorArg tensor, const Blob& blob,
                            CastMode mode = CastMode::Checked) noexcept {
  detail::AssignJob job;
  return detail::finish_job("copy_to", detail::plan_copy_to(tensor, blob, job), job, mode,
                            &detail::cast_elements<>);
}

/// Writes a tensor's elements, contiguous and row-major, to exactly `nbytes` bytes of memory.
/// Errors: as assign().
template <class = void>
[[nodiscard]] Error copy_to(TensorArg tensor, void* data, size_t nbytes) noexcept {
  detail::AssignJob job;
  Error error = detail::find_source(tensor, "the tensor", job.src);
  if (error == Error::Ok) error = job.kept.keep(tensor, false);
  if (error == Error::Ok) error = detail::find_bytes(data, nbytes, detail::fields(tensor), job.dst);
  return detail::finish_job("copy_to", error, job, CastMode::Checked, nullptr);
}

TENON_END_NAMESPACE
