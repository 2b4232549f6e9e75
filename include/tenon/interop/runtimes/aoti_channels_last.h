// SPDX-License-Identifier: MIT
// The dim orders that torch's kernels for images give to their results.
#pragma once

#include "tenon/core/layout.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether a tensor of rank 4 or 5 has its channels innermost, by c10's rules.
/// Source: c10::is_channels_last_strides_2d_s4, c10::is_channels_last_strides_3d_s5.
inline bool has_channels_last(const Dims& sizes, const Dims& strides) noexcept {
  const size_t rank = sizes.size();
  if ((rank != 4 && rank != 5) || strides[1] == 0) return false;
  int64_t least = 0;
  for (size_t k = 0; k < rank; ++k) {  // from the innermost: channels, then the others
    const size_t d = k == 0 ? 1 : k == rank - 1 ? 0 : rank - k;
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return false;
    least = strides[d] * (sizes[d] > 1 ? sizes[d] : 1);
  }
  return true;
}
inline bool has_channels_last(const Layout& layout) noexcept {
  return has_channels_last(layout.sizes(), layout.strides());
}

/// Sets dense strides for `sizes`, with dimension `channels` innermost.
inline void set_channels_last(const Dims& sizes, size_t channels, Dims& strides) noexcept {
  strides = sizes;
  int64_t distance = 1;
  const auto place = [&](size_t d) {
    strides[d] = distance;
    // The product is unsigned, so that it may overflow: the function that makes the tensor refuses
    // such sizes.
    distance = static_cast<int64_t>(static_cast<uint64_t>(distance) *
                                    static_cast<uint64_t>(sizes[d] > 1 ? sizes[d] : 1));
  };
  place(channels);
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d != channels) place(d);
  }
}

}  // namespace detail
TENON_END_NAMESPACE
