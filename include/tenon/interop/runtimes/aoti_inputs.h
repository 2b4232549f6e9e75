// SPDX-License-Identifier: MIT
// An input in the strides that a model was compiled for: its code reads memory by those of the
// example that it was exported with, whatever the tensor says.
#pragma once

#include "tenon/interop/libraries/element_types.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A copy in the strides of a spec. Where it leaves them open, the copy has no gaps.
/// Errors: NotSupported for strides by which elements share memory, unless `given` repeats its
/// elements along the same dimensions; those of allocation.
inline Error copy_to_strides(const TensorSpec& spec, const Tensor& given, Tensor& copy) noexcept {
  const Layout& from = fields(TensorArg(given)).layout;
  Dims strides = strides_of(spec, from);
  TENON_TRY(check_dims("strides", strides));
  Dims sizes = from.sizes();  // with 1 where elements repeat
  TENON_TRY(check_dims("sizes", sizes));
  const size_t element_size = elementSize(fields(TensorArg(given)).type);
  const auto is_open = [&spec](size_t d) noexcept {
    return d < spec.strides.size() && spec.strides[d] < 0;
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 0 && from.strides()[d] == 0) sizes[d] = 1;
    if (is_open(d)) strides[d] = 0;
  }
  Layout to;
  TENON_TRY(make_layout(sizes, {}, strides, element_size, to));
  int64_t next = to.required_span_size();
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!is_open(d)) continue;
    strides[d] = next;
    if (!multiply(next, sizes[d], next)) return fail_shape(sizes, element_size);
  }
  TENON_TRY(make_layout(sizes, {}, strides, element_size, to));
  if (to.may_overlap()) {
    return fail(Error::NotSupported, "its strides are ", from.strides(), ", the model reads it by ",
                strides,
                ", where elements share memory: expand() or as_strided() gives such a "
                "tensor; or export the model with an example of other strides");
  }
  Result<Tensor> source = try_as_strided(given, sizes, from.strides());
  TENON_TRY(source);
  Result<TensorPtr> made = try_empty_strided(sizes, strides, given.scalar_type());
  TENON_TRY(made);
  if (!fields(TensorArg(**made)).is_host_accessible()) {
    return fail_host_access(fields(TensorArg(**made)));
  }
  TENON_TRY(copy_(**made, *source));
  Result<Tensor> view = try_as_strided(**made, from.sizes(), strides);
  TENON_TRY(view);
  copy = std::move(*view);
  return Error::Ok;
}

/// The tensor that a model is given for `given`: that itself, a view with the strides of size-1
/// dimensions that the model's own check expects, or a copy.
/// Errors: NotSupported for a spec without strides, unless `is_row_major` makes up for that, and
/// where a copy is needed but not allowed, or would have elements that share memory.
inline Error hand_over(const ValueSpec& spec, bool is_row_major, const Tensor& given,
                       Tensor& handed) noexcept {
  const Layout& from = fields(TensorArg(given)).layout;
  handed = given;
  if (from.numel == 0 || from.rank() == 0) return Error::Ok;
  if (!has_layout(spec.tensor) && !is_row_major && from.numel != 1) {
    return fail(Error::NotSupported,
                "nothing says by which strides the model reads it: neither the package nor its "
                "source; TensorSpec::strides for describe_inputs() does, or "
                "AotiOptions::assume_row_major");
  }
  bool is_same = true;
  bool is_negative = false;  // torch has no such strides
  for (size_t d = 0; d < from.rank(); ++d) {
    is_same &= from.strides()[d] == stride_of(spec.tensor, from, d);
    is_negative |= from.strides()[d] < 0 && from.sizes()[d] != 1;
  }
  if (is_same && !is_negative) return Error::Ok;
  if (!is_negative && has_strides(spec.tensor, from)) {
    Result<Tensor> view = try_as_strided(given, from.sizes(), strides_of(spec.tensor, from));
    TENON_TRY(view);
    handed = std::move(*view);
    return Error::Ok;
  }
  if (!spec.copies_strides) {
    return fail(Error::NotSupported, "its strides are ", from.strides(), ", the model reads it by ",
                strides_of(spec.tensor, from));
  }
  return copy_to_strides(spec.tensor, given, handed);
}

}  // namespace detail
TENON_END_NAMESPACE
