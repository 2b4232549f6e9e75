// SPDX-License-Identifier: MIT
// CopyPlan and plan_copy: how copy_() would copy, to be looked at or to be run many times.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The data for run(): the layouts and types that the plan was made for, and the prepared plan.
struct KeptCopy {
  Layout dst;
  Layout src;
  // Bytes from a tensor's element 0 to the plan's first element.
  ptrdiff_t dst_begin = 0;
  ptrdiff_t src_begin = 0;
  CopyPolicy policy = CopyPolicy::AllowTemporary;
  Conversion conversion{};  // if the types differ
  bool normalizes = false;
  Normalize normalize;
  NormalizePlan plan;  // without a Normalize only its `copy` is used
};

/// The error and text of an empty plan.
inline constexpr const char* kEmptyPlan =
    "the plan is empty: it was moved from, or not made by plan_copy()";

struct PlanAccess;

}  // namespace detail

/// How copy_() would copy between two tensors, made by plan_copy(). run() makes that copy between
/// these tensors, or others of the same shapes, without planning again: for a loop over frames or
/// tokens. `kind`, `rank`, `dims`, `unit`, `nbytes`, `temporary_nbytes` and the types describe the
/// copy, and to_string() prints them; run() does not read them.
///
///     const CopyPlan plan = plan_copy(planes, permute(frame, {2, 0, 1}), normalize);
///     while (next(frame)) check(plan.run(planes, permute(frame, {2, 0, 1})));
///
/// Ownership: the plan owns its lists, but not the tensors, which may be destroyed before it runs.
/// Threads: as a plain value. Several threads may run one plan at once, on memory that they do not
/// share.
class CopyPlan : public detail::ElementPlan {
 public:
  CopyPlan() noexcept = default;
  /// If there is no memory for the lists (of more than TENON_INLINE_DIMS dimensions or more than
  /// four channels), the copy is constructed all the same, and its run() returns OutOfMemory.
  CopyPlan(const CopyPlan&) noexcept = default;
  CopyPlan& operator=(const CopyPlan&) noexcept = default;
  /// Afterwards run() of `other` returns InvalidArgument.
  CopyPlan(CopyPlan&& other) noexcept : ElementPlan(other), kept_(std::move(other.kept_)) {
    other.kept_.plan.copy.dst_type = ScalarType::Undefined;
  }
  CopyPlan& operator=(CopyPlan&& other) noexcept {
    if (this == &other) return *this;
    ElementPlan::operator=(other);
    kept_ = std::move(other.kept_);
    other.kept_.plan.copy.dst_type = ScalarType::Undefined;
    return *this;
  }

  /// Copies `from` to `to` as copy_() does, with the other arguments that plan_copy() was given.
  /// Each tensor must have the dtype, sizes and strides of the planned one, except for strides of
  /// dimensions of size 1. The memory may be other memory, and may overlap.
  ///
  /// If the memories overlap, if the plan was made for a copy through a temporary, or if a backend
  /// copies, run() calls copy_(), which plans again.
  /// Errors: InvalidArgument (another dtype, sizes or strides than planned; a plan that plan_copy()
  /// did not make), copy_()'s, OutOfMemory (see the copy constructor). Nothing is changed then.
  /// Threads: the same as copy_()'s. The plan is only read.
  template <class = void>
  [[nodiscard]] Error run(TensorArg to, TensorArg from) const noexcept;

 private:
  friend detail::PlanAccess;

  detail::KeptCopy kept_;
};

namespace detail {

/// Gives the functions below access to a plan's private state.
struct PlanAccess {
  static KeptCopy& kept(CopyPlan& plan) noexcept { return plan.kept_; }
  static const KeptCopy& kept(const CopyPlan& plan) noexcept { return plan.kept_; }
};

/// Checks that a copy's lists were allocated.
TENON_TEMPLATE_INLINE Error check_lists(const KeptCopy& kept) noexcept {
  for (const FloatList* list : {&kept.normalize.mean, &kept.normalize.stddev}) {
    if (list->error() != Error::Ok) {
      return fail(list->error(), TENON_OUT_OF_MEMORY " for the values of a Normalize");
    }
  }
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error keep_normalized(const MemoryLocation& to, const MemoryLocation& from,
                                            const Normalize& normalize, CastMode mode,
                                            KeptCopy& kept) noexcept {
  size_t dim = 0;
  TENON_TRY(check_normalize(to.view, from.view, normalize, mode, dim));
  kept.normalizes = true;
  kept.normalize = normalize;
  TENON_TRY(check_lists(kept));
  if (kept.normalize.mean.empty()) kept.normalize.mean = {0};
  if (kept.normalize.stddev.empty()) kept.normalize.stddev = {1};
  plan_normalized(kept.plan, to.view, from.view, kept.normalize, dim, mode);
  ElementPlan& plan = kept.plan.copy;
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  if (to.backend == from.backend && sides_may_overlap(plan) && !is_in_place(plan)) {
    plan.kind = CopyKind::Staged;
    plan.temporary_nbytes = elementSize(own_type(from.view.type));
    for (const int64_t size : from.view.sizes) plan.temporary_nbytes *= static_cast<size_t>(size);
  }
  return Error::Ok;
}

/// Sets `piece` to a copy of `plan` over other memory. Copies only the dimensions in use.
inline void move_plan(ElementPlan& piece, const ElementPlan& plan, void* dst,
                      const void* src) noexcept {
  std::memcpy(static_cast<void*>(&piece), &plan, offsetof(ElementPlan, dims));
  for (size_t d = 0; d < plan.rank; ++d) piece.dims[d] = plan.dims[d];
  piece.dst = dst;
  piece.src = src;
}

TENON_TEMPLATE_INLINE Error make_copy_plan(const TensorArg& dst, const TensorArg& src,
                                           const Normalize* normalize, CastMode mode,
                                           CopyPolicy policy, CopyPlan& made) noexcept {
  MemoryLocation to;
  MemoryLocation from;
  TENON_TRY(find_both(dst, src, to, from));
  KeptCopy& kept = PlanAccess::kept(made);
  ElementPlan& plan = kept.plan.copy;
  if (normalize != nullptr) {
    TENON_TRY(keep_normalized(to, from, *normalize, mode, kept));
  } else {
    TENON_TRY(check_copy(to, from, mode));
    plan_locations(to, from, mode, plan);
    TENON_TRY(check_policy(plan, policy));
    if (plan.converts) {
      make_conversion(kept.conversion, own_type(to.view.type), own_type(from.view.type), mode);
    }
  }
  kept.policy = policy;
  move_plan(made, plan, plan.dst, plan.src);
  if (plan.dst != nullptr) {  // there are elements
    kept.dst_begin = static_cast<char*>(plan.dst) - static_cast<char*>(to.view.data);
    kept.src_begin = static_cast<const char*>(plan.src) - static_cast<char*>(from.view.data);
  }
  kept.dst = fields(dst).layout;
  kept.src = fields(src).layout;
  TENON_TRY(kept.dst.check());
  return kept.src.check();
}

/// Whether strides are equal, except those of dimensions of size 1. True if there are no elements.
inline bool are_strides_alike(const Layout& a, const Layout& b) noexcept {
  if (a.numel == 0) return true;
  for (size_t d = 0; d < a.rank(); ++d) {
    if (a.strides()[d] != b.strides()[d] && a.sizes()[d] != 1) return false;
  }
  return true;
}

/// Whether a tensor has the planned type and layout.
inline bool is_planned(const TensorFields& tensor, ScalarType type,
                       const Layout& planned) noexcept {
  const Layout& layout = tensor.layout;
  return tensor.type == type && planned.check() == Error::Ok && layout.sizes() == planned.sizes() &&
         ((layout.row_major && planned.row_major) || are_strides_alike(layout, planned));
}
/// The error of a tensor that differs from the planned one.
TENON_TEMPLATE_INLINE Error fail_planned(const TensorFields& tensor, const char* role,
                                         ScalarType type, const Layout& planned) noexcept {
  constexpr const char* kFor = ", the plan is for ";
  constexpr const char* kAnother = ": make another with plan_copy()";
  if (type == ScalarType::Undefined) return fail(Error::InvalidArgument, kEmptyPlan);
  TENON_TRY(planned.check());
  if (tensor.type != type) {
    return fail(Error::InvalidArgument, role, " has dtype ", tensor.type, kFor, type, kAnother);
  }
  const bool resized = tensor.layout.sizes() != planned.sizes();
  return fail(Error::InvalidArgument, role, resized ? " has sizes " : " has strides ",
              resized ? tensor.layout.sizes() : tensor.layout.strides(), kFor,
              resized ? planned.sizes() : planned.strides(), kAnother);
}

/// The bytes that a tensor with elements spans.
inline ByteRange byte_range(const TensorFields& tensor) noexcept {
  const auto size = static_cast<ptrdiff_t>(elementSize(tensor.type));
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  const OffsetRange& offsets = tensor.layout.offsets;
  return {data + static_cast<uintptr_t>(offsets.min * size),
          data + static_cast<uintptr_t>((offsets.max + 1) * size)};
}

/// A list in the order in which the plan visits the channels: from the end for a negative step.
inline ChannelValues channel_values(const FloatList& list, int64_t step) noexcept {
  return {list.data() + (step < 0 ? list.size() - 1 : 0), step};
}

/// Runs a plan on host memory of the planned shapes that does not overlap.
TENON_TEMPLATE_INLINE void run_kept(const KeptCopy& kept, void* dst, const void* src) noexcept {
  const NormalizePlan& plan = kept.plan;
  if (!kept.normalizes) {
    ElementPlan piece;
    move_plan(piece, plan.copy, dst, src);
    piece.conversion = &kept.conversion;
    return run_plan(piece, &cast_elements<>);
  }
  NormalizePlan piece;
  move_plan(piece.copy, plan.copy, dst, src);
  piece.scale = plan.scale;
  piece.mean = channel_values(kept.normalize.mean, plan.mean.step);
  piece.stddev = channel_values(kept.normalize.stddev, plan.stddev.step);
  piece.channels = plan.channels;
  piece.channel_dim = plan.channel_dim;
  run_normalized(piece);
}

TENON_TEMPLATE_INLINE Error run_copy_plan(const KeptCopy& kept, const TensorArg& dst,
                                          const TensorArg& src) noexcept {
  TENON_TRY(check_metadata(dst, "the destination"));
  TENON_TRY(check_metadata(src, "the source"));
  const TensorFields& to = fields(dst);
  const TensorFields& from = fields(src);
  const ElementPlan& plan = kept.plan.copy;
  if (kept.normalizes) TENON_TRY(check_lists(kept));
  const ScalarType to_type = own_type(plan.dst_type);
  const ScalarType from_type = own_type(plan.src_type);
  if (!is_planned(to, to_type, kept.dst)) {
    return fail_planned(to, "the destination", to_type, kept.dst);
  }
  if (!is_planned(from, from_type, kept.src)) {
    return fail_planned(from, "the source", from_type, kept.src);
  }
  if (has_host_elements(to) && has_host_elements(from) && !to.readonly) {
    char* const out = static_cast<char*>(to.data) + kept.dst_begin;
    const char* const in = static_cast<const char*>(from.data) + kept.src_begin;
    if (plan.kind == CopyKind::Memcpy) {
      move_dense(out, in, plan.nbytes);
      return Error::Ok;
    }
    if (plan.kind != CopyKind::Alias && plan.kind != CopyKind::Staged &&
        !overlap(byte_range(to), byte_range(from))) {
      run_kept(kept, out, in);
      return Error::Ok;
    }
  }
  if (!kept.normalizes) return copy_tensor(dst, src, plan.mode, kept.policy, &cast_elements<>);
  const Normalize normalize = kept.normalize;  // a backend's code may drop the plan
  return copy_tensor_normalized(dst, src, normalize, plan.mode);
}

}  // namespace detail

template <class>
[[nodiscard]] Error CopyPlan::run(TensorArg to, TensorArg from) const noexcept {
  return detail::add_context_if("CopyPlan::run", detail::run_copy_plan(kept_, to, from));
}

/// Plans the copy that copy_() would make with these arguments. What copy_() refuses is an
/// Exception, or in the try_ form a failed Result.
/// Errors: copy_()'s, and OutOfMemory (for shapes of more dimensions than TENON_INLINE_DIMS, and
/// for lists of a Normalize).
template <class = void>
CopyPlan plan_copy(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked,
                   CopyPolicy policy = CopyPolicy::AllowTemporary) {
  CopyPlan plan;
  detail::raise_if("plan_copy", detail::make_copy_plan(dst, src, nullptr, mode, policy, plan));
  return plan;
}
template <class = void>
CopyPlan plan_copy(TensorArg dst, TensorArg src, CopyPolicy policy) {
  return plan_copy(dst, src, CastMode::Checked, policy);
}
template <class = void>
CopyPlan plan_copy(TensorArg dst, TensorArg src, const Normalize& normalize,
                   CastMode mode = CastMode::Checked) {
  CopyPlan plan;
  detail::raise_if("plan_copy", detail::make_copy_plan(dst, src, &normalize, mode,
                                                       CopyPolicy::AllowTemporary, plan));
  return plan;
}
template <class = void>
Result<CopyPlan> try_plan_copy(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked,
                               CopyPolicy policy = CopyPolicy::AllowTemporary) noexcept {
  CopyPlan plan;
  TENON_TRY(detail::add_context_if("try_plan_copy",
                                   detail::make_copy_plan(dst, src, nullptr, mode, policy, plan)));
  return plan;
}
template <class = void>
Result<CopyPlan> try_plan_copy(TensorArg dst, TensorArg src, CopyPolicy policy) noexcept {
  return try_plan_copy(dst, src, CastMode::Checked, policy);
}
template <class = void>
Result<CopyPlan> try_plan_copy(TensorArg dst, TensorArg src, const Normalize& normalize,
                               CastMode mode = CastMode::Checked) noexcept {
  CopyPlan plan;
  TENON_TRY(detail::add_context_if(
      "try_plan_copy",
      detail::make_copy_plan(dst, src, &normalize, mode, CopyPolicy::AllowTemporary, plan)));
  return plan;
}

/// The plan as text: "transpose {1024, 1024} of 4 bytes, Float, 4194304 bytes in all".
template <class = void>
std::string to_string(const CopyPlan& made) {
  const detail::ElementPlan& plan = detail::PlanAccess::kept(made).plan.copy;
  if (plan.dst_type == ScalarType::Undefined) return detail::kEmptyPlan;
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
