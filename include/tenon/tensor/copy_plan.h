// SPDX-License-Identifier: MIT
// CopyPlan and plan_copy: how copy_ would copy.
#pragma once

#include <string>

#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE

/// How copy_() would copy between two tensors.
struct CopyPlan : detail::ElementPlan {};

namespace detail {

TENON_TEMPLATE_INLINE Error find_copy_plan(const TensorArg& dst, const TensorArg& src,
                                           CastMode mode, ElementPlan& plan) noexcept {
  MemoryLocation to;
  MemoryLocation from;
  TENON_TRY(find_both(dst, src, to, from));
  TENON_TRY(check_copy(to, from, mode));
  plan_locations(to, from, mode, plan);
  return Error::Ok;
}

}  // namespace detail

/// The plan of copy_() with these arguments. Refuses what copy_() refuses, as an Exception, in the
/// try_ form as a Result.
template <class = void>
CopyPlan plan_copy(TensorArg dst, TensorArg src, CastMode mode = CastMode::Checked) {
  CopyPlan plan;
  detail::raise_if("plan_copy", detail::find_copy_plan(dst, src, mode, plan));
  return plan;
}
template <class = void>
Result<CopyPlan> try_plan_copy(TensorArg dst, TensorArg src,
                               CastMode mode = CastMode::Checked) noexcept {
  CopyPlan plan;
  TENON_TRY(detail::add_context_if("try_plan_copy", detail::find_copy_plan(dst, src, mode, plan)));
  return plan;
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
