// SPDX-License-Identifier: MIT
// Walks and reads strided host memory in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Visits the elements of host memory in row-major order, in runs along the innermost dimension.
class RowMajorWalk {
 public:
  /// From element `first` <= numel on.
  explicit RowMajorWalk(const TensorView& view, int64_t first = 0) noexcept
      : left_(merge(view)), row_(plan_, 1) {
    left_ -= first;
    if (left_ == 0 || first == 0) return;
    // In ptrdiff_t: some processors have no 64-bit division.
    const auto length = static_cast<ptrdiff_t>(row_.plane.count_i);
    row_.move_to(static_cast<ptrdiff_t>(first) / length);
    index_ = static_cast<ptrdiff_t>(first) % length;
  }

  /// The number of elements not visited yet.
  int64_t left() const noexcept { return left_; }

  struct Run {
    char* data;
    int64_t count;
    int64_t stride;  ///< in bytes
  };
  /// The next run, of at most `most` <= left() elements.
  Run next(int64_t most) noexcept {
    const Plane& row = row_.plane;
    const int64_t rest = row.count_i - index_;
    const Run run{const_cast<char*>(row.in) + index_ * row.in_step_i, most < rest ? most : rest,
                  row.in_step_i};
    index_ += run.count;
    left_ -= run.count;
    if (index_ == row.count_i) {
      index_ = 0;
      row_.next();
    }
    return run;
  }

 private:
  /// Sets the plan's source to the view, with dimensions merged that lie like one. Returns numel.
  int64_t merge(const TensorView& view) noexcept {
    int64_t numel = 1;
    for (const int64_t size : view.sizes) numel *= size;
    if (numel == 0) return 0;  // strides may be too large to multiply
    plan_.src = view.data;
    plan_.unit = elementSize(own_type(view.type));
    for (size_t d = 0; d < view.sizes.size(); ++d) {
      const auto size = static_cast<ptrdiff_t>(view.sizes[d]);
      if (size == 1) continue;
      const ptrdiff_t stride = static_cast<ptrdiff_t>(view.strides[d]) * source_unit(plan_);
      if (plan_.rank != 0 && plan_.dims[plan_.rank - 1].src_stride == size * stride) {
        ElementPlan::Dim& outer = plan_.dims[plan_.rank - 1];
        outer = {outer.size * size, 0, stride};
      } else {
        plan_.dims[plan_.rank++] = {size, 0, stride};
      }
    }
    return numel;
  }

  ElementPlan plan_;
  int64_t left_;
  BlockWalk row_;
  int64_t index_ = 0;  // in the row
};

/// Reads host memory, without a copy of the whole, whatever its strides.
class ElementReader {
 public:
  explicit ElementReader(const TensorView& view) noexcept
      : walk_(view), size_(static_cast<int64_t>(elementSize(own_type(view.type)))) {}

  /// The number of unread elements.
  int64_t left() const noexcept { return walk_.left(); }

  /// The next `count` <= left() elements: in place if they are consecutive, else gathered in
  /// `buffer`.
  const char* next(int64_t count, char* buffer) noexcept {
    for (int64_t done = 0; done < count;) {
      const RowMajorWalk::Run run = walk_.next(count - done);
      if (run.count == count && run.stride == size_) return run.data;
      copy_strided(buffer + done * size_, size_, run.data, run.stride, run.count,
                   static_cast<size_t>(size_));
      done += run.count;
    }
    return buffer;
  }

 private:
  RowMajorWalk walk_;
  int64_t size_;
};

}  // namespace detail
TENON_END_NAMESPACE
