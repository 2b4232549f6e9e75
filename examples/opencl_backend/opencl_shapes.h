// SPDX-License-Identifier: MIT
// Where elements lie, as OpenCL's copies and our kernels take it.
#pragma once

#include "opencl_backend.h"

/// How many dimensions the kernels take, once those that lie like one are merged.
inline constexpr size_t kMaxKernelDims = 8;

/// The sizes of two views, and where their elements lie; in bytes.
struct Shape {
  struct Dim {
    int64_t size;
    int64_t to;
    int64_t from;
  };
  Dim dims[tenon::kMaxDims];
  size_t rank = 0;
  int64_t count = 1;
  int64_t to_first = 0;  // of the first element, from element 0
  int64_t from_first = 0;

  Shape(const tenon::TensorView& to, const tenon::TensorView& from) {
    for (const int64_t n : to.sizes) count *= n;
    if (count == 0) return;  // then strides mean nothing either
    const auto size = static_cast<int64_t>(elementSize(to.type));
    for (size_t d = 0; d < to.sizes.size(); ++d) {
      if (to.sizes[d] == 1) continue;  // its stride means nothing
      dims[rank++] = {to.sizes[d], to.strides[d] * size, from.strides[d] * size};
    }
  }

  /// For what may be done in any order: that of the destination's memory.
  void sort() {
    for (size_t i = 0; i < rank; ++i) {
      Dim dim = dims[i];
      if (dim.to < 0) {  // backwards: turned around, on both sides
        to_first += (dim.size - 1) * dim.to;
        from_first += (dim.size - 1) * dim.from;
        dim.to = -dim.to;
        dim.from = -dim.from;
      }
      size_t at = i;
      for (; at > 0 && dims[at - 1].to < dim.to; --at) dims[at] = dims[at - 1];
      dims[at] = dim;
    }
  }

  /// Makes one dimension of neighbours that lie like one on both sides.
  void merge() {
    size_t kept = 0;
    for (size_t i = 1; i < rank; ++i) {
      Dim& outer = dims[kept];
      const Dim& inner = dims[i];
      if (outer.to == inner.to * inner.size && outer.from == inner.from * inner.size) {
        outer = {outer.size * inner.size, inner.to, inner.from};
      } else {
        dims[++kept] = inner;
      }
    }
    if (rank != 0) rank = kept + 1;
  }

  /// Takes the last dimension away if its elements are consecutive. Returns the bytes of what is
  /// copied as one from then on: of a row or an element.
  size_t take_row(size_t element_size) {
    const auto size = static_cast<int64_t>(element_size);
    if (rank == 0 || dims[rank - 1].to != size || dims[rank - 1].from != size) return element_size;
    --rank;
    count /= dims[rank].size;
    return element_size * static_cast<size_t>(dims[rank].size);
  }
};

/// The same as OpenCL's functions for rectangles take it: {bytes of a row, rows, slices}.
struct Rectangle {
  size_t region[3];
  size_t to_row;
  size_t to_slice;
  size_t from_row;
  size_t from_slice;

  /// Whether there is one: both sides by growing addresses, and slices of whole rows.
  bool describe(const Shape& shape, size_t row) {
    if (shape.rank != 1 && shape.rank != 2) return false;
    const Shape::Dim rows = shape.dims[shape.rank - 1];
    const Shape::Dim slices =
        shape.rank == 2 ? shape.dims[0] : Shape::Dim{1, rows.size * rows.to, rows.size * rows.from};
    const auto fits = [&](int64_t row_pitch, int64_t slice_pitch) {
      return row_pitch >= static_cast<int64_t>(row) && slice_pitch >= rows.size * row_pitch &&
             slice_pitch % row_pitch == 0;
    };
    if (!fits(rows.to, slices.to) || !fits(rows.from, slices.from)) return false;
    region[0] = row;
    region[1] = static_cast<size_t>(rows.size);
    region[2] = static_cast<size_t>(slices.size);
    to_row = static_cast<size_t>(rows.to);
    to_slice = static_cast<size_t>(slices.to);
    from_row = static_cast<size_t>(rows.from);
    from_slice = static_cast<size_t>(slices.from);
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
    Shape shape(out, out);
    shape.merge();
    if (shape.rank > kMaxKernelDims || places.offset % elementSize(out.type) != 0) {
      return tenon::Error::NotSupported;
    }
    for (size_t d = 0; d < shape.rank; ++d) places.add(shape.dims[d].size, shape.dims[d].to);
    if (shape.rank == 0) places.add(1, 0);
    return tenon::Error::Ok;
  }
};
