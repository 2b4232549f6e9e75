// SPDX-License-Identifier: MIT
// copy_, fill_ and zero_. Includes contiguous and to.
#pragma once

#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/normalize.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/contiguous.h"
#include "tenon/tensor/location.h"
#include "tenon/tensor/view_shape.h"

TENON_BEGIN_NAMESPACE

/// Whether a copy between overlapping memories may allocate.
enum class CopyPolicy : uint8_t {
  AllowTemporary,  ///< the source goes through a temporary of its size
  NoTemporary,     ///< the copy is refused
};

namespace detail {

/// Whether there are elements, in memory that the host may access.
inline bool has_host_elements(const TensorFields& tensor) noexcept {
  return tensor.data != nullptr && tensor.layout.numel != 0 && tensor.is_host_accessible() &&
         (tensor.data_backend == nullptr || tensor.data_backend->is_alive());
}
inline bool is_host_block(const TensorFields& tensor) noexcept {
  return tensor.layout.row_major && has_host_elements(tensor);
}
/// The common copy: between row-major host memories of equal type and sizes, which may overlap.
/// Otherwise returns false and does nothing.
TENON_TEMPLATE_INLINE bool copy_dense(const TensorFields& to, const TensorFields& from) noexcept {
  if (!is_host_block(to) || !is_host_block(from) || to.readonly || to.type != from.type ||
      to.layout.sizes() != from.layout.sizes()) {
    return false;
  }
  move_dense(to.data, from.data, from.nbytes());
  return true;
}

/// Errors: InvalidArgument unless `from` broadcasts to `to` (NumPy's rule).
TENON_TEMPLATE_INLINE Error check_broadcast(ArrayRef<int64_t> from, ArrayRef<int64_t> to) noexcept {
  const size_t rank = from.size();
  bool fits = rank <= to.size();
  const int64_t* const theirs = to.end() - (fits ? rank : 0);
  for (size_t d = 0; fits && d < rank; ++d) fits = from[d] == 1 || from[d] == theirs[d];
  if (fits) return Error::Ok;
  return fail(Error::InvalidArgument, "sizes ", from, " of the source do not broadcast to sizes ",
              to, " of the destination");
}

/// Plans a copy between locations, which may overlap. The caller has done the checks.
TENON_TEMPLATE_INLINE void plan_locations(const MemoryLocation& to, const MemoryLocation& from,
                                          CastMode mode, ElementPlan& plan) noexcept {
  plan_elements(plan, to.view, from.view, mode);
  if (to.backend != from.backend || !sides_may_overlap(plan)) return;
  if (is_in_place(plan)) {
    plan.kind = CopyKind::Alias;
  } else if (to.backend == nullptr && is_shift(plan)) {
    plan.is_shift = true;
  } else {
    plan.kind = CopyKind::Staged;
    plan.temporary_nbytes = static_cast<size_t>(source_unit(plan));
    for (size_t i = 0; i < plan.rank; ++i) {
      if (plan.dims[i].src_stride != 0) {
        plan.temporary_nbytes *= static_cast<size_t>(plan.dims[i].size);
      }
    }
  }
}

/// Checks that the policy allows a temporary, if the copy needs one.
TENON_TEMPLATE_INLINE Error check_policy(const ElementPlan& plan, CopyPolicy policy) noexcept {
  if (plan.kind != CopyKind::Staged || policy == CopyPolicy::AllowTemporary) return Error::Ok;
  return fail(Error::NotSupported, "the tensors overlap, so the copy needs a temporary of ",
              plan.temporary_nbytes, " bytes");
}

/// Copies within host memory through a temporary. Cold: compiled for size.
TENON_TEMPLATE_INLINE TENON_COLD Error run_staged(ElementPlan& plan, CastFunction cast) noexcept {
  HostBuffer buffer;
  TENON_TRY(buffer.allocate(plan.temporary_nbytes));
  ElementPlan part;
  stage_side(plan, true, buffer.data(), part);
  finish_plan(part);
  finish_plan(plan);
  run_plan(part, nullptr);
  run_plan(plan, cast);
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error check_copy(const MemoryLocation& to, const MemoryLocation& from,
                                       CastMode mode) noexcept {
  TENON_TRY(check_cast(own_type(from.view.type), own_type(to.view.type), mode));
  return check_broadcast(from.view.sizes, to.view.sizes);
}

/// Copies between locations that may overlap, with all checks:
///
///     no elements, or the same ones        nothing
///     on the host, one dense block each    move_dense(), which allows overlap
///     on the host, not overlapping         run_plan()
///     on the host, overlapping:
///       all elements move equally far      shift_elements(), row by row
///       otherwise                          a temporary, if the policy allows it
///     in a backend, overlapping            copy_by_backend(), if the policy allows a temporary
///     in a backend, not overlapping        copy_by_backend()
TENON_COMPILED_ONCE Error copy_checked(const MemoryLocation& to, const MemoryLocation& from,
                                       CastMode mode, CopyPolicy policy,
                                       CastFunction cast) noexcept {
  TENON_TRY(check_copy(to, from, mode));
  ElementPlan plan;
  plan_locations(to, from, mode, plan);
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  TENON_TRY(check_policy(plan, policy));
  if (to.backend != nullptr || from.backend != nullptr) {
    return copy_by_backend(to, from, mode, cast);
  }
  if (plan.kind == CopyKind::Staged) return run_staged(plan, cast);
  if (plan.kind == CopyKind::Memcpy) {
    move_dense(plan.dst, plan.src, plan.nbytes);
  } else if (plan.is_shift) {
    shift_elements(plan);
  } else {
    run_plan(plan, cast);
  }
  return Error::Ok;
}

/// The locations of two tensors.
TENON_TEMPLATE_INLINE Error find_both(const TensorArg& dst, const TensorArg& src,
                                      MemoryLocation& to, MemoryLocation& from) noexcept {
  TENON_TRY(find_destination(dst, "the destination", to));
  return find_source(src, "the source", from);
}

/// Calls copy_checked() for two tensors, and holds both while a backend's code runs.
TENON_TEMPLATE_INLINE TENON_COLD Error copy_held(const TensorArg& dst, const TensorArg& src,
                                                 const MemoryLocation& to,
                                                 const MemoryLocation& from, CastMode mode,
                                                 CopyPolicy policy, CastFunction cast) noexcept {
  MemoryHold holds[2];
  TENON_TRY(holds[0].hold(dst));
  TENON_TRY(holds[1].hold(src));
  return copy_checked(to, from, mode, policy, cast);
}

TENON_TEMPLATE_INLINE Error copy_tensor(const TensorArg& dst, const TensorArg& src, CastMode mode,
                                        CopyPolicy policy, CastFunction cast) noexcept {
  TENON_TRY(check_metadata(dst, "the destination"));
  if (src.defined() && copy_dense(fields(dst), fields(src))) return Error::Ok;
  MemoryLocation to;
  MemoryLocation from;
  TENON_TRY(find_both(dst, src, to, from));
  const Error error = to.backend != nullptr || from.backend != nullptr
                          ? copy_held(dst, src, to, from, mode, policy, cast)
                          : copy_checked(to, from, mode, policy, cast);
  clear_after_baseline();  // GCC omits it at -Og after copying views
  return error;
}

/// Checks the list `name` of a Normalize.
TENON_TEMPLATE_INLINE Error check_channels(const FloatList& list, const char* name, int64_t dim,
                                           int64_t channels) noexcept {
  if (list.error() != Error::Ok) {
    return fail(list.error(), TENON_OUT_OF_MEMORY " for the values of ", name);
  }
  if (list.size() <= 1 || list.size() == static_cast<uint64_t>(channels)) return Error::Ok;
  return fail(Error::InvalidArgument, name, " has ", list.size(), " values, dimension ", dim,
              " of the destination has ", channels);
}

/// Checks the arguments of a normalising copy; sets `dim`, the channel dimension.
TENON_TEMPLATE_INLINE Error check_normalize(const TensorView& dst, const TensorView& src,
                                            const Normalize& normalize, CastMode mode,
                                            size_t& dim) noexcept {
  const ScalarType from = own_type(src.type);
  const ScalarType to = own_type(dst.type);
  const bool rounds = isIntegralType(to, false) && !isComplexType(from);
  if (isComplexType(from) || !(isFloatingType(to) || (rounds && mode == CastMode::Saturate))) {
    return fail(Error::InvalidType, "values of ", from, " cannot be normalised to ", to,
                rounds ? ", except with CastMode::Saturate" : "");
  }
  const ArrayRef<int64_t> sizes = dst.sizes;
  TENON_TRY(wrap_dim_or_scalar(normalize.dim, sizes.size(), dim));
  const int64_t channels = sizes.empty() ? 1 : sizes[dim];
  TENON_TRY(check_channels(normalize.mean, "mean", normalize.dim, channels));
  TENON_TRY(check_channels(normalize.stddev, "stddev", normalize.dim, channels));
  for (size_t c = 0; c < normalize.stddev.size(); ++c) {
    if (normalize.stddev[c] == 0) {
      return fail(Error::InvalidArgument, "stddev[", c, "] is 0");
    }
  }
  return check_broadcast(src.sizes, sizes);
}

/// Copies and normalises overlapping memories, or a backend's, through temporaries for the source,
/// the result, or both.
TENON_TEMPLATE_INLINE TENON_COLD Error normalize_staged(const MemoryLocation& to,
                                                        const MemoryLocation& from,
                                                        const Normalize& normalize, size_t dim,
                                                        CastMode mode) noexcept {
  const bool stages_to = to.backend != nullptr;
  const bool stages_from = from.backend != nullptr || !stages_to;
  HostElements out;
  HostElements in;
  if (stages_to) TENON_TRY(out.make(to.view));
  if (stages_from) {
    TENON_TRY(in.make(from.view));
    TENON_TRY(copy(in.location, from));
  }
  NormalizePlan plan;
  plan_normalized(plan, (stages_to ? out.location : to).view,
                  (stages_from ? in.location : from).view, normalize, dim, mode);
  run_normalized(plan);
  return stages_to ? copy(to, out.location) : Error::Ok;
}

/// Copies and normalises, in one pass if both are host memory and either do not overlap or are the
/// same elements.
TENON_COMPILED_ONCE Error copy_normalized(const MemoryLocation& to, const MemoryLocation& from,
                                          const Normalize& normalize, CastMode mode) noexcept {
  size_t dim = 0;
  TENON_TRY(check_normalize(to.view, from.view, normalize, mode, dim));
  NormalizePlan plan;
  plan_normalized(plan, to.view, from.view, normalize, dim, mode);
  if (plan.copy.kind == CopyKind::Alias) return Error::Ok;
  if (to.backend != nullptr || from.backend != nullptr ||
      (sides_may_overlap(plan.copy) && !is_in_place(plan.copy))) {
    return normalize_staged(to, from, normalize, dim, mode);
  }
  run_normalized(plan);
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error copy_tensor_normalized(const TensorArg& dst, const TensorArg& src,
                                                   const Normalize& normalize,
                                                   CastMode mode) noexcept {
  HeldLocation to;
  HeldLocation from;
  TENON_TRY(find_both(dst, src, to, from));
  TENON_TRY(to.keep_while_asking(dst, from.backend != nullptr));
  TENON_TRY(from.keep_while_asking(src, to.backend != nullptr));
  return copy_normalized(to, from, normalize, mode);
}

/// Writes `*element` to all elements of the tensor.
TENON_TEMPLATE_INLINE Error fill_constant(const TensorFields& tensor, const MemoryLocation& out,
                                          const void* element) noexcept {
  if (tensor.layout.numel == 0) return Error::Ok;
  return fill_location(
      tensor, out, "constant",
      [&](Backend& backend, const auto& view) { return backend.constant(view, element); },
      [&](const TensorView& dst) noexcept -> Error {
        const TensorView src{const_cast<void*>(element), dst.type, Device(), {}, {}};
        copy_elements(dst, src, CastMode::Checked, nullptr);
        return Error::Ok;
      });
}

TENON_TEMPLATE_INLINE Error fill_with(const TensorArg& tensor, const Scalar& value) noexcept {
  HeldLocation out;
  TENON_TRY(find_destination(tensor, "the tensor", out));
  alignas(16) unsigned char element[16] = {};
  TENON_TRY(store_scalar(fields(tensor).type, value, element));
  TENON_TRY(out.keep_while_asking(tensor, false));
  return fill_constant(fields(tensor), out, element);
}

TENON_TEMPLATE_INLINE Error zero(const TensorArg& tensor) noexcept {
  HeldLocation out;
  TENON_TRY(find_destination(tensor, "the tensor", out));
  TENON_TRY(out.keep_while_asking(tensor, false));
  return fill_constant(fields(tensor), out, kZeroElement);
}

}  // namespace detail

/// Copies the elements of `src` to `dst`, whatever the strides of both. Broadcasts `src` to the
/// sizes of `dst`, and converts its type.
///
/// If the memories overlap, the result is that of a copy through a temporary. A temporary is
/// allocated only if elements move by different distances, or dimensions interleave.
/// Errors: InvalidState (an undefined tensor, a placeholder, a read-only destination),
/// InvalidArgument (sizes that do not broadcast; a destination whose elements may share memory),
/// InvalidType (a cast that canCast() refuses, with CastMode::Checked), NotSupported (a meta
/// tensor; memory that the host cannot reach and for which no backend is registered; overlap with
/// CopyPolicy::NoTemporary), OutOfMemory (for the temporary, or with a backend for shapes of more
/// dimensions than TENON_INLINE_DIMS). Nothing is changed then. If a backend fails, the destination
/// may be partly written.
/// Threads: the caller locks out other users of `dst`, and writers of `src`.
/// Source: at::Tensor::copy_; CastMode is tenon's.
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked,
                          CopyPolicy policy = CopyPolicy::AllowTemporary) noexcept {
  return detail::add_context_if(
      "copy_", detail::copy_tensor(dst, src, mode, policy, &detail::cast_elements<>));
}
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, CopyPolicy policy) noexcept {
  return copy_(dst, src, CastMode::Checked, policy);
}
template <class ContainerNeedsTensor, class... More,
          detail::IfContainer<std::remove_reference_t<ContainerNeedsTensor>> = 0>
Error copy_(TensorArg, ContainerNeedsTensor&&, const More&...)
    TENON_MISTAKE("copy_ takes a tensor: copy_(t, make_tensor_ptr(sizes, values))");

/// Copies as the function above does, and normalises in the same pass: see Normalize. Source
/// elements are converted to float, rounded once if they have more bits; results are cast from
/// float. A Float destination needs no cast, so CastMode::Saturate does not clamp.
///
/// If the memories overlap, the result is that of a copy through a temporary; normalising in place
/// needs no temporary. Elements that the host cannot access are copied through host memory.
/// Errors: those of the function above, and InvalidType (a complex source; a destination whose
/// dtype is neither floating nor, with CastMode::Saturate, an integer type), OutOfBounds (a `dim`
/// that the destination does not have), InvalidArgument (a list of neither one value nor one for
/// each channel; a stddev of 0), OutOfMemory (for a list). Nothing is changed then.
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, const Normalize& normalize,
                          CastMode mode = CastMode::Checked) noexcept {
  return detail::add_context_if("copy_", detail::copy_tensor_normalized(dst, src, normalize, mode));
}

/// Writes a value to all elements. The value must fit the dtype.
///
/// Errors: copy_()'s for the destination; full()'s InvalidType and InvalidArgument for the value.
/// Source: at::Tensor::fill_, where values that do not fit wrap.
template <class = void>
[[nodiscard]] Error fill_(TensorArg tensor, const Scalar& value) noexcept {
  return detail::add_context_if("fill_", detail::fill_with(tensor, value));
}

/// Writes zero to all elements.
/// Errors: those of copy_() for the destination.
/// Source: at::Tensor::zero_.
template <class = void>
[[nodiscard]] Error zero_(TensorArg tensor) noexcept {
  return detail::add_context_if("zero_", detail::zero(tensor));
}

TENON_END_NAMESPACE
