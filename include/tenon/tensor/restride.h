// SPDX-License-Identifier: MIT
// The same elements in other sizes: whether strides can say it, and which.
#pragma once

#include "tenon/core/layout.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Replaces the -1 in `sizes`, if there is one, by what makes them hold `numel` elements.
/// Errors: InvalidArgument when they cannot or could in several ways, or hold another number.
inline Error infer_size(Dims& sizes, int64_t numel, size_t element_size) noexcept {
  constexpr size_t kNone = SIZE_MAX;
  size_t inferred = kNone;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != -1) continue;
    if (TENON_UNLIKELY(inferred != kNone)) {
      return fail(Error::InvalidArgument, "sizes ", sizes,
                  " have more than one dimension to be inferred");
    }
    inferred = d;
  }
  if (inferred != kNone) sizes[inferred] = 1;
  int64_t count = 0;
  TENON_TRY(compute_numel(sizes, element_size, count));
  if (inferred == kNone) {
    if (TENON_UNLIKELY(count != numel)) {
      return fail(Error::InvalidArgument, "sizes ", sizes, " hold ", count,
                  " elements, the tensor has ", numel);
    }
    return Error::Ok;
  }
  if (TENON_UNLIKELY(count == 0 || numel % count != 0)) {
    sizes[inferred] = -1;
    return fail(Error::InvalidArgument, count == 0 && numel == 0 ? "any size" : "no size",
                " for the -1 in sizes ", sizes, " makes them hold the ", numel,
                " elements of the tensor");
  }
  sizes[inferred] = numel / count;
  return Error::Ok;
}

/// Finds strides with which `wanted` has the elements of (sizes, strides) in the same order. Both
/// hold the same number of elements, not 0.
///
/// Consecutive dimensions that step through memory evenly, as a single one would, make a run. A
/// wanted dimension may divide a run but not span two, so with the longest possible runs there are
/// such strides exactly when each wanted dimension, from the innermost on, divides what is left.
/// Errors: NotSupported when there are none.
/// Source: at::detail::computeStride.
inline Error restride(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, const Dims& wanted,
                      Dims& out) noexcept {
  if (TENON_UNLIKELY(!out.resize_for_overwrite(wanted.size()))) return check_dims("strides", out);
  size_t left = sizes.size();  // dimensions that are in no run yet
  int64_t room = 1;            // elements of the run that the wanted dimensions do not count yet
  int64_t stride = 1;          // between those
  const auto next_run = [&] {
    while (left > 0 && sizes[left - 1] == 1) --left;
    if (left == 0) return;
    --left;
    room = sizes[left];
    stride = strides[left];
    int64_t span = 0;
    while (left > 0 &&
           (sizes[left - 1] == 1 || (multiply(room, stride, span) && strides[left - 1] == span))) {
      room *= sizes[--left];
    }
  };
  next_run();
  for (size_t d = wanted.size(); d-- > 0;) {
    if (room == 1 && wanted[d] != 1) next_run();
    if (TENON_UNLIKELY(room % wanted[d] != 0)) {
      return fail(Error::NotSupported, "sizes ", wanted, " of a tensor of sizes ", sizes,
                  " and strides ", strides, " need a copy; contiguous() makes one");
    }
    out[d] = stride;
    room /= wanted[d];
    // May overflow once the run is used up: then only dimensions of size 1 have this stride.
    static_cast<void>(multiply(stride, wanted[d], stride));
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
