// SPDX-License-Identifier: MIT
// Copies elements between two strided memories of the same shape, converting when the types differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/fill.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Copies `count` elements of `element_size` bytes; strides in bytes.
TENON_LAZY void copy_run(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                         int64_t count, size_t element_size) noexcept {
  with_element_size(element_size, [&](auto bits) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&bits, in + i * in_stride, sizeof bits);
      std::memcpy(out + i * out_stride, &bits, sizeof bits);
    }
  });
}

/// Copies `in` to `out`: host memory, same sizes, not overlapping, canCast(in.type, out.type).
TENON_LAZY void copy_elements(const TensorView& out, const TensorView& in) noexcept {
  const size_t rank = out.sizes.size();
  const auto out_size = static_cast<int64_t>(elementSize(out.type));
  const auto in_size = static_cast<int64_t>(elementSize(in.type));
  for (int64_t size : out.sizes) {
    if (size == 0) return;
  }
  // In bytes. The stride of a size-1 dimension is never used, so it may be too large to multiply.
  const auto stride_of = [&](const TensorView& view, size_t d, int64_t element_size) {
    return out.sizes[d] == 1 ? 0 : view.strides[d] * element_size;
  };
  const int64_t row = rank == 0 ? 1 : out.sizes[rank - 1];
  const int64_t out_stride = rank == 0 ? 0 : stride_of(out, rank - 1, out_size);
  const int64_t in_stride = rank == 0 ? 0 : stride_of(in, rank - 1, in_size);

  const auto copy_row = [&](char* to, const char* from) {
    if (out.type == in.type) {
      return copy_run(to, out_stride, from, in_stride, row, elementSize(out.type));
    }
    constexpr int64_t kChunk = 64;
    char gathered[kChunk * 16];
    char converted[kChunk * 16];
    for (int64_t i = 0; i < row; i += kChunk) {
      const int64_t n = row - i < kChunk ? row - i : kChunk;
      copy_run(gathered, in_size, from + i * in_stride, in_stride, n, elementSize(in.type));
      cast_elements(out.type, converted, in.type, gathered, n);
      copy_run(to + i * out_stride, out_stride, converted, out_size, n, elementSize(out.type));
    }
  };

  // An odometer over all dimensions but the last.
  int64_t index[kMaxDims] = {};
  auto* to = static_cast<char*>(out.data);
  auto* from = static_cast<const char*>(in.data);
  for (;;) {
    copy_row(to, from);
    size_t d = rank == 0 ? 0 : rank - 1;
    for (; d-- > 0;) {
      to += stride_of(out, d, out_size);
      from += stride_of(in, d, in_size);
      if (++index[d] < out.sizes[d]) break;
      to -= stride_of(out, d, out_size) * out.sizes[d];
      from -= stride_of(in, d, in_size) * out.sizes[d];
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

}  // namespace detail
TENON_END_NAMESPACE
