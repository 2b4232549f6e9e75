// SPDX-License-Identifier: MIT
// Where elements lie, as OpenCL's copies and our kernels take it.
#pragma once

#include "opencl_backend.h"

/// How many dimensions the kernels take.
inline constexpr size_t kMaxKernelDims = 8;

/// A copy as OpenCL's functions for rectangles take it: {bytes of a row, rows, slices}.
struct Rectangle {
  size_t region[3];
  size_t to_row;
  size_t to_slice;
  size_t from_row;
  size_t from_slice;

  /// Whether there is one: both sides by growing addresses, and slices of whole rows.
  bool describe(const tenon::StridedCopy& copy) {
    if (copy.rank != 1 && copy.rank != 2) return false;
    using Dim = tenon::StridedCopy::Dim;
    const size_t row = copy.nbytes;
    const Dim rows = copy.dims[copy.rank - 1];
    const Dim slices = copy.rank == 2
                           ? copy.dims[0]
                           : Dim{1, rows.size * rows.dst_stride, rows.size * rows.src_stride};
    const auto fits = [&](int64_t row_pitch, int64_t slice_pitch) {
      return row_pitch >= static_cast<int64_t>(row) && slice_pitch >= rows.size * row_pitch &&
             slice_pitch % row_pitch == 0;
    };
    if (!fits(rows.dst_stride, slices.dst_stride) || !fits(rows.src_stride, slices.src_stride))
      return false;
    region[0] = row;
    region[1] = static_cast<size_t>(rows.size);
    region[2] = static_cast<size_t>(slices.size);
    to_row = static_cast<size_t>(rows.dst_stride);
    to_slice = static_cast<size_t>(slices.dst_stride);
    from_row = static_cast<size_t>(rows.src_stride);
    from_slice = static_cast<size_t>(slices.src_stride);
    return true;
  }
};

/// Where a kernel finds a tensor's elements; the same struct is in opencl_kernels.h.
struct Places {
  cl_ulong offset;
  cl_ulong rank = 0;
  cl_ulong sizes[kMaxKernelDims] = {};
  cl_long strides[kMaxKernelDims] = {};

  explicit Places(size_t first) : offset(first) {}
  void add(int64_t size, int64_t stride) {
    sizes[rank] = static_cast<cl_ulong>(size);
    strides[rank++] = stride;
  }
  /// Fails for a tensor of more dimensions than kernels take, and for one between elements.
  static tenon::Error describe(const tenon::TensorView& out, Places& places) {
    const size_t size = elementSize(out.type);
    if (out.sizes.size() > kMaxKernelDims || places.offset % size != 0) {
      return tenon::Error::NotSupported;
    }
    for (size_t d = 0; d < out.sizes.size(); ++d) {
      places.add(out.sizes[d], out.strides[d] * static_cast<int64_t>(size));
    }
    if (out.sizes.empty()) places.add(1, 0);
    return tenon::Error::Ok;
  }
};
