// SPDX-License-Identifier: MIT
// copy_, fill_, zero_, contiguous, to: moving elements between tensors, and plan_copy, which says
// how.
#pragma once

#include <string>

#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/normalize.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/kept.h"
#include "tenon/tensor/view_shape.h"

TENON_BEGIN_NAMESPACE

/// Whether a copy between memories that overlap may allocate.
enum class CopyPolicy : uint8_t {
  AllowTemporary,  ///< the source goes by way of a temporary of its size
  NoTemporary,     ///< such a copy is refused
};

namespace detail {

/// Whether the elements can be written, each by itself, and where they are.
TENON_LAZY Error find_destination(const TensorArg& tensor, const char* role,
                                  Place& place) noexcept {
  TENON_TRY(check_defined(tensor, role));
  const TensorFields& to = fields(tensor);
  if (TENON_UNLIKELY(to.readonly)) return fail(Error::InvalidState, role, " is read-only");
  TENON_TRY(find_place(to, role, place));
  if (TENON_UNLIKELY(to.layout.may_overlap())) {
    return fail(Error::InvalidArgument, role, " has strides ", to.layout.strides(), " for sizes ",
                to.layout.sizes(), ", at which elements may share memory");
  }
  return Error::Ok;
}

/// Where the elements to be read are.
TENON_LAZY Error find_source(const TensorArg& tensor, const char* role, Place& place) noexcept {
  TENON_TRY(check_defined(tensor, role));
  return find_place(fields(tensor), role, place);
}

/// Errors: InvalidArgument unless sizes of 1, and dimensions that are missing in front, make `from`
/// become `to`.
TENON_LAZY Error check_broadcast(const Dims& from, const Dims& to) noexcept {
  bool fits = from.size() <= to.size();
  for (size_t d = 0; fits && d < from.size(); ++d) {
    fits = from[d] == 1 || from[d] == to[d + to.size() - from.size()];
  }
  if (fits) return Error::Ok;
  return fail(Error::InvalidArgument, "sizes ", from, " of the source do not broadcast to sizes ",
              to, " of the destination");
}

/// Two memories between which elements are to be copied.
struct CopyJob {
  Place dst;
  Place src;
};

/// Whether a plan's elements are the same on both sides.
inline bool is_in_place(const CopyPlan& plan, const TensorView& dst,
                        const TensorView& src) noexcept {
  bool same = dst.type == src.type && plan.dst == plan.src;
  for (size_t i = 0; i < plan.rank; ++i) {
    same = same && plan.dims[i].dst_stride == plan.dims[i].src_stride;
  }
  return same;
}

/// Checks a copy, except for the tensors that it is between, and plans it.
TENON_LAZY Error plan_job(const CopyJob& job, CastMode mode, CopyPlan& plan) noexcept {
  const TensorView& dst = job.dst.view;
  const TensorView& src = job.src.view;
  TENON_TRY(check_cast(src.type, dst.type, mode));
  for (const Dims* dims : {&dst.sizes, &dst.strides, &src.sizes, &src.strides}) {
    TENON_TRY(check_dims("a shape", *dims));
  }
  TENON_TRY(check_broadcast(src.sizes, dst.sizes));
  plan_elements(plan, dst, src, mode);
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  if (job.dst.backend != job.src.backend) return Error::Ok;  // addresses of their own
  if (!touch(byte_range(dst), byte_range(src))) return Error::Ok;
  if (is_in_place(plan, dst, src)) {
    plan.kind = CopyKind::Alias;
  } else if (plan.kind != CopyKind::Memcpy || job.dst.backend != nullptr) {
    // One block of the host's is moved by move_block().
    plan.kind = CopyKind::Staged;
    plan.temporary_nbytes = static_cast<size_t>(source_unit(plan));
    for (size_t i = 0; i < plan.rank; ++i) {
      if (plan.dims[i].src_stride != 0) {
        plan.temporary_nbytes *= static_cast<size_t>(plan.dims[i].size);
      }
    }
  }
  return Error::Ok;
}

/// Copies by way of a temporary.
TENON_LAZY Error run_staged(CopyPlan& plan, CastFunction cast) noexcept {
  HostBuffer buffer;
  TENON_TRY(buffer.allocate(plan.temporary_nbytes));
  CopyPlan part;
  detach(plan, true, buffer.data(), part);
  finish_plan(part);
  finish_plan(plan);
  run_plan(part, nullptr);
  run_plan(plan, cast);
  return Error::Ok;
}

/// Copies between memories that may overlap:
///
///     the same elements, or none       nothing
///     of the host, apart               run_plan()
///     of the host, one block each      move_block(), whether they overlap or not
///     of the host, overlapping else    by way of a temporary, which the policy has to allow
///     a backend's, overlapping         copy_between(), if the policy allows a temporary
///     a backend's, apart               copy_between()
TENON_COMPILED_ONCE Error run_job(const CopyJob& job, CastMode mode, CopyPolicy policy,
                                  CastFunction cast) noexcept {
  CopyPlan plan;
  TENON_TRY(plan_job(job, mode, plan));
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  const bool is_staged = plan.kind == CopyKind::Staged;
  if (TENON_UNLIKELY(is_staged && policy == CopyPolicy::NoTemporary)) {
    return fail(Error::NotSupported, "the tensors overlap, which needs a temporary of ",
                plan.temporary_nbytes, " bytes");
  }
  if (job.dst.backend != nullptr || job.src.backend != nullptr) {
    return copy_between(job.dst, job.src, mode, cast);
  }
  if (is_staged) return run_staged(plan, cast);
  if (plan.kind == CopyKind::Memcpy) {
    move_block(plan.dst, plan.src, plan.nbytes);
  } else {
    run_plan(plan, cast);
  }
  return Error::Ok;
}

/// `kept` keeps both tensors until it goes.
TENON_LAZY Error make_job(const TensorArg& dst, const TensorArg& src, CopyJob& job,
                          KeptTensor (&kept)[2]) noexcept {
  TENON_TRY(find_destination(dst, "the destination", job.dst));
  TENON_TRY(find_source(src, "the source", job.src));
  TENON_TRY(kept[0].keep(dst, job.src.backend != nullptr));
  return kept[1].keep(src, job.dst.backend != nullptr);
}

/// Checks a list of a Normalize, of which `name` is the name.
TENON_LAZY Error check_channels(const FloatList& list, const char* name, int64_t dim,
                                int64_t channels) noexcept {
  if (TENON_UNLIKELY(list.error() != Error::Ok)) {
    return fail(list.error(), TENON_OUT_OF_MEMORY " for the values of ", name);
  }
  if (list.size() <= 1 || list.size() == static_cast<uint64_t>(channels)) return Error::Ok;
  return fail(Error::InvalidArgument, name, " has ", list.size(), " values, dimension ", dim,
              " of the destination has ", channels);
}

/// Checks what a normalising copy has besides another, and finds the dimension of the channels.
TENON_LAZY Error check_normalize(const CopyJob& job, const Normalize& normalize, CastMode mode,
                                 size_t& dim) noexcept {
  const ScalarType from = job.src.view.type;
  const ScalarType to = job.dst.view.type;
  const bool rounds = isIntegralType(to, false) && !isComplexType(from);
  if (TENON_UNLIKELY(isComplexType(from) ||
                     !(isFloatingType(to) || (rounds && mode == CastMode::Saturate)))) {
    return fail(Error::InvalidType, "values of ", from, " cannot be normalised to ", to,
                rounds ? ", except with CastMode::Saturate" : "");
  }
  const Dims& sizes = job.dst.view.sizes;
  TENON_TRY(wrap_dim_or_scalar(normalize.dim, sizes.size(), dim));
  const int64_t channels = sizes.empty() ? 1 : sizes[dim];
  TENON_TRY(check_channels(normalize.mean, "mean", normalize.dim, channels));
  TENON_TRY(check_channels(normalize.stddev, "stddev", normalize.dim, channels));
  for (size_t c = 0; c < normalize.stddev.size(); ++c) {
    if (TENON_UNLIKELY(normalize.stddev[c] == 0)) {
      return fail(Error::InvalidArgument, "stddev[", c, "] is 0");
    }
  }
  return check_broadcast(job.src.view.sizes, sizes);
}

/// A place of the host's for the elements of a view, row-major.
TENON_LAZY Error make_host_place(const TensorView& like, HostBuffer& buffer, Place& here) noexcept {
  Layout dense;
  TENON_TRY(Layout::dense(like.sizes, nullptr, elementSize(like.type), dense));
  TENON_TRY(buffer.allocate(static_cast<size_t>(dense.numel) * elementSize(like.type)));
  here.view = {buffer.data(), like.type, Device(), like.sizes, dense.strides()};
  return check_lists(here.view);
}

/// Copies and normalises memories that overlap, or that a backend has: by way of a temporary for
/// the source, one for the result, or both.
TENON_LAZY TENON_COLD Error run_normalize_staged(const CopyJob& job, const Normalize& normalize,
                                                 size_t dim, CastMode mode) noexcept {
  const bool stages_dst = job.dst.backend != nullptr;
  const bool stages_src = job.src.backend != nullptr || !stages_dst;
  constexpr auto kPolicy = CopyPolicy::NoTemporary;  // what is staged overlaps nothing
  HostBuffer buffers[2];
  CopyJob in{{}, job.src};
  CopyJob out{job.dst, {}};
  if (stages_dst) TENON_TRY(make_host_place(job.dst.view, buffers[0], out.src));
  if (stages_src) {
    TENON_TRY(make_host_place(job.src.view, buffers[1], in.dst));
    TENON_TRY(run_job(in, CastMode::Checked, kPolicy, nullptr));
  }
  NormalizePlan plan;
  plan_normalized(plan, (stages_dst ? out.src : job.dst).view, (stages_src ? in.dst : job.src).view,
                  normalize, dim, mode);
  run_normalized(plan);
  return stages_dst ? run_job(out, CastMode::Checked, kPolicy, nullptr) : Error::Ok;
}

/// Copies and normalises: in one pass where both memories are the host's and do not overlap, or are
/// the same elements.
TENON_COMPILED_ONCE Error run_normalize_job(const CopyJob& job, const Normalize& normalize,
                                            CastMode mode) noexcept {
  size_t dim = 0;
  TENON_TRY(check_normalize(job, normalize, mode, dim));
  const TensorView& dst = job.dst.view;
  const TensorView& src = job.src.view;
  NormalizePlan plan;
  plan_normalized(plan, dst, src, normalize, dim, mode);
  if (plan.copy.kind == CopyKind::Alias) return Error::Ok;
  if (job.dst.backend != nullptr || job.src.backend != nullptr ||
      (touch(byte_range(dst), byte_range(src)) && !is_in_place(plan.copy, dst, src))) {
    return run_normalize_staged(job, normalize, dim, mode);
  }
  run_normalized(plan);
  return Error::Ok;
}

/// Writes the element at `element` to all of the tensor.
TENON_LAZY Error fill_place(const TensorFields& tensor, const Place& out,
                            const void* element) noexcept {
  if (tensor.layout.numel == 0) return Error::Ok;
  return produce(
      tensor, out, "constant",
      [&](Backend& backend, const auto& view) { return backend.constant(view, element); },
      [&](const TensorView& dst) noexcept -> Error {
        const TensorView src{const_cast<void*>(element), dst.type, Device(), {}, {}};
        copy_elements(dst, src, CastMode::Checked, nullptr);
        return Error::Ok;
      });
}

TENON_LAZY Error fill_with(const TensorArg& tensor, const Scalar& value) noexcept {
  Place out;
  TENON_TRY(find_destination(tensor, "the tensor", out));
  alignas(16) unsigned char element[16] = {};
  TENON_TRY(store_scalar(fields(tensor).type, value, element));
  KeptTensor kept;
  TENON_TRY(kept.keep(tensor, out.backend != nullptr));
  return fill_place(fields(tensor), out, element);
}

TENON_LAZY Error zero(const TensorArg& tensor) noexcept {
  Place out;
  TENON_TRY(find_destination(tensor, "the tensor", out));
  constexpr unsigned char element[16] = {};  // all zero bits are zero in every type
  KeptTensor kept;
  TENON_TRY(kept.keep(tensor, out.backend != nullptr));
  return fill_place(fields(tensor), out, element);
}

/// Makes a row-major copy with the source's backend, whose code may drop the handle or change the
/// tensor.
TENON_LAZY Error make_contiguous(const TensorArg& source, const Plan& plan, Draft& draft) noexcept {
  CopyJob job;
  TENON_TRY(find_place(fields(source), "the source tensor", job.src));
  Borrow held;
  TENON_TRY(held.hold(source));
  TENON_TRY(new_row_major(job.src.view.sizes, plan, false, draft));
  job.dst = place_of_new(fields(draft), view_of(fields(draft)));
  return run_job(job, CastMode::Checked, CopyPolicy::NoTemporary, nullptr);
}

template <class Out>
Out contiguous(const char* function, const TensorArg& tensor) {
  if (check_defined(tensor, "the tensor") == Error::Ok && fields(tensor).layout.is_contiguous()) {
    return tensor.tensor();
  }
  const Tensor handle = tensor.defined() ? tensor.tensor() : Tensor();  // the caller's may go
  const TensorArg source(handle);
  Plan plan(ScalarType::Undefined);
  Draft draft;
  bool is_placeholder = false;
  Error error = plan_like(source, plan, is_placeholder);
  if (error == Error::Ok) {
    plan.dynamism = fields(source).dynamism;
    error = is_placeholder ? new_placeholder(fields(source), plan, draft)
                           : make_contiguous(source, plan, draft);
  }
  return finish_new<Out>(function, error, draft, plan.backend);
}

template <class Out>
Out to_type(const char* function, const TensorArg& tensor, TypeArg type, CastMode mode) {
  if (check_defined(tensor, "the tensor") == Error::Ok &&
      fields(tensor).type == type.value_or(ScalarType::Undefined)) {
    return tensor.tensor();
  }
  return clone<Out>(function, tensor, plan_of(ScalarType::Undefined, type), mode,
                    {&cast_elements<>, &check_cast});
}

}  // namespace detail

/// Copies the elements of `src` to `dst`, at any strides of both, broadcasting `src` to the sizes
/// of `dst` and converting its type.
///
/// Memories that overlap give the result of copying through a temporary, which is allocated only
/// then, unless both are one block.
/// Errors: InvalidState (an undefined tensor, a placeholder, a read-only destination),
/// InvalidArgument (sizes that do not broadcast; a destination whose elements may share memory),
/// InvalidType (a cast that canCast() refuses, with CastMode::Checked), NotSupported (a template;
/// memory that the host cannot reach and for which no backend is registered; overlap with
/// CopyPolicy::NoTemporary), OutOfMemory (for the temporary, or shapes of more dimensions than
/// TENON_INLINE_DIMS). Nothing is changed then. Where a backend fails, the destination may be
/// written in part.
/// Threads: the caller locks out other users of `dst`, and writers of `src`.
/// Source: at::Tensor::copy_; CastMode is tenon's.
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked,
                          CopyPolicy policy = CopyPolicy::AllowTemporary) noexcept {
  detail::CopyJob job;
  detail::KeptTensor kept[2];
  Error error = detail::make_job(dst, src, job, kept);
  if (error == Error::Ok) error = detail::run_job(job, mode, policy, &detail::cast_elements<>);
  return detail::blame_if("copy_", error);
}
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, CopyPolicy policy) noexcept {
  return copy_(dst, src, CastMode::Checked, policy);
}

/// Copies as above and normalises on the way, in one pass: see Normalize. Source elements first
/// become float, rounded once if they are of more bits; the results are cast from float. To Float
/// there is nothing to cast: CastMode::Saturate does not clamp there.
///
/// Memories that overlap give the result of copying through a temporary; the same elements need
/// none. What the host cannot reach goes by way of its memory.
/// Errors: as above, and InvalidType (a complex source; a destination that is neither floating nor,
/// with CastMode::Saturate, of integers), OutOfBounds (a `dim` that the destination does not have),
/// InvalidArgument (a list of neither one value nor one for each channel; a stddev of 0),
/// OutOfMemory (for a list). Nothing is changed then.
template <class = void>
[[nodiscard]] Error copy_(TensorArg dst, TensorArg src, const Normalize& normalize,
                          CastMode mode = CastMode::Checked) noexcept {
  detail::CopyJob job;
  detail::KeptTensor kept[2];
  Error error = detail::make_job(dst, src, job, kept);
  if (error == Error::Ok) error = detail::run_normalize_job(job, normalize, mode);
  return detail::blame_if("copy_", error);
}

/// What copy_() with these arguments would do. Refuses what copy_() refuses, as an Exception.
template <class = void>
CopyPlan plan_copy(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked) {
  CopyPlan plan;
  detail::CopyJob job;
  detail::KeptTensor kept[2];
  Error error = detail::make_job(dst, src, job, kept);
  if (error == Error::Ok) error = detail::plan_job(job, mode, plan);
  detail::raise_if("plan_copy", error);
  return plan;
}

/// Writes a value, which must fit the dtype, to all elements.
///
/// Errors: as copy_()'s of the destination; InvalidType and InvalidArgument as full()'s of the
/// value.
/// Source: at::Tensor::fill_, where values that do not fit wrap.
template <class = void>
[[nodiscard]] Error fill_(TensorArg tensor, const Scalar& value) noexcept {
  return detail::blame_if("fill_", detail::fill_with(tensor, value));
}

/// Writes zero to all elements.
/// Errors: as copy_()'s of the destination.
/// Source: at::Tensor::zero_.
template <class = void>
[[nodiscard]] Error zero_(TensorArg tensor) noexcept {
  return detail::blame_if("zero_", detail::zero(tensor));
}

/// The tensor itself when it is contiguous, else a row-major copy that owns its memory, of the same
/// backend; on cpu for pinned and managed memory without a backend. The try_ form returns a Result.
/// Errors: InvalidState (an undefined tensor, a placeholder), NotSupported (memory that nobody can
/// reach), OutOfMemory.
/// Source: at::Tensor::contiguous.
template <class = void>
Tensor contiguous(detail::ConstTensorArg tensor) {
  return detail::contiguous<Tensor>("contiguous", tensor);
}
template <class = void>
Result<Tensor> try_contiguous(detail::ConstTensorArg tensor) {
  return detail::contiguous<Result<Tensor>>("try_contiguous", tensor);
}

/// The tensor itself when it has the type, else a converted copy that owns its memory, with strides
/// as clone_tensor_ptr() chooses them. The try_ form returns a Result.
/// Errors: as clone_tensor_ptr(), but the copy of pinned or managed memory without a backend is on
/// cpu.
/// Source: at::Tensor::to; CastMode is tenon's.
template <class = void>
Tensor to(detail::ConstTensorArg tensor, ScalarType type, CastMode mode = CastMode::Checked) {
  return detail::to_type<Tensor>("to", tensor, type, mode);
}
template <class = void>
Result<Tensor> try_to(detail::ConstTensorArg tensor, ScalarType type,
                      CastMode mode = CastMode::Checked) {
  return detail::to_type<Result<Tensor>>("try_to", tensor, type, mode);
}

/// "transpose {1024, 1024} of 4 bytes, Float, 4194304 bytes in all".
template <class = void>
std::string to_string(const CopyPlan& plan) {
  char text[detail::kMessageCapacity];
  detail::Message out(text, sizeof text);
  const auto put = [&](const auto&... parts) { (append(out, parts), ...); };
  put(plan.kind, " {");
  for (size_t i = 0; i < plan.rank; ++i) put(i == 0 ? "" : ", ", plan.dims[i].size);
  put("} of ", plan.unit, " bytes, ", plan.src_type);
  if (plan.src_type != plan.dst_type) put(" to ", plan.dst_type);
  put(", ", plan.nbytes, " bytes in all");
  if (plan.temporary_nbytes != 0) put(", by way of a temporary of ", plan.temporary_nbytes);
  return text;
}

TENON_END_NAMESPACE
