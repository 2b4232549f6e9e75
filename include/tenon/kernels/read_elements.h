// SPDX-License-Identifier: MIT
// ElementReader: the elements of a strided memory in row-major order, some at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_plan.h"
#include "tenon/kernels/vector.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads host memory, without a copy of the whole, whatever its strides.
class ElementReader {
 public:
  explicit ElementReader(const TensorView& view) noexcept
      : at_(static_cast<const char*>(view.data)),
        size_(static_cast<int64_t>(elementSize(own_type(view.type)))) {
    for (size_t d = 0; d < view.sizes.size(); ++d) left_ *= view.sizes[d];
    if (left_ == 0) return;  // strides may be too large to multiply
    for (size_t d = 0; d < view.sizes.size(); ++d) {
      const Dim dim{view.sizes[d], view.strides[d] * size_, 0};
      if (dim.size == 1) continue;
      if (rank_ != 0 && dims_[rank_ - 1].stride == dim.size * dim.stride) {  // lie like one
        dims_[rank_ - 1] = {dims_[rank_ - 1].size * dim.size, dim.stride, 0};
      } else {
        dims_[rank_++] = dim;
      }
    }
  }

  /// How many elements were not read yet.
  int64_t left() const noexcept { return left_; }

  /// The next `count` elements, of which there are as many left: where they lie if they are
  /// consecutive, else gathered in `buffer`.
  const char* next(int64_t count, char* buffer) noexcept {
    left_ -= count;
    if (rank_ == 0 || (rank_ == 1 && dims_[0].stride == size_)) {
      const char* const here = at_;
      at_ += count * size_;
      return here;
    }
    Dim& row = dims_[rank_ - 1];
    for (int64_t done = 0; done < count;) {
      const int64_t rest = row.size - row.index;
      const int64_t n = count - done < rest ? count - done : rest;
      copy_strided(buffer + done * size_, size_, at_, row.stride, n, static_cast<size_t>(size_));
      done += n;
      row.index += n;
      at_ += n * row.stride;
      for (size_t d = rank_; d-- > 0 && dims_[d].index == dims_[d].size;) {
        at_ -= dims_[d].size * dims_[d].stride;
        dims_[d].index = 0;
        if (d == 0) break;
        ++dims_[d - 1].index;
        at_ += dims_[d - 1].stride;
      }
    }
    return buffer;
  }

 private:
  struct Dim {
    int64_t size;
    int64_t stride;  // in bytes
    int64_t index;
  };

  const char* at_;
  int64_t size_;
  int64_t left_ = 1;
  size_t rank_ = 0;
  Dim dims_[kMaxLongDims];
};

}  // namespace detail
TENON_END_NAMESPACE
