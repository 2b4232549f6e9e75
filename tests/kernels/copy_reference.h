// SPDX-License-Identifier: MIT
// Copies checked against a loop over all indices.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cast_reference.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy_elements.h"

namespace tests {

/// The offset of every element, in row-major order of the indices.
inline Vector offsets_of(const Vector& sizes, const Vector& strides) {
  return element_offsets(sizes, strides);
}

/// Elements in memory of exactly their extent, after `lead` bytes that misalign them.
struct Strided {
  ScalarType type;
  Vector sizes;
  Vector strides;
  Bytes bytes;
  size_t first = 0;  ///< byte of element 0

  Strided(ScalarType element_type, const Vector& shape, const Vector& steps, size_t lead = 0)
      : type(element_type), sizes(shape), strides(steps) {
    int64_t low = 0;
    int64_t high = 0;
    bool is_empty = false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      is_empty = is_empty || sizes[d] == 0;
      const int64_t reach = sizes[d] < 2 ? 0 : (sizes[d] - 1) * strides[d];
      (reach < 0 ? low : high) += reach;
    }
    const auto size = static_cast<int64_t>(elementSize(type));
    if (is_empty) return;
    bytes.resize(lead + static_cast<size_t>((high - low + 1) * size));
    first = lead + static_cast<size_t>(-low * size);
  }
  unsigned char* at(int64_t offset) {
    return bytes.data() + static_cast<int64_t>(first) +
           offset * static_cast<int64_t>(elementSize(type));
  }
  tenon::own::TensorView view() {
    return {bytes.data() + first, tenon::detail::own_type(type), {}, sizes, strides};
  }
};

/// Strides of dense memory with the dimensions in this order, outermost first.
inline Vector dense_strides(const Vector& sizes, const Vector& order) {
  Vector strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

/// Whether copy_elements() writes the bytes that a loop writes and leaves the others, with every
/// instruction set. Both memories get random contents.
inline bool is_copied(Rng& random, Strided& dst, Strided& src, CastMode mode) {
  const size_t lead = src.bytes.size() % elementSize(src.type);
  const Bytes elements =
      random_elements(random, src.type, src.bytes.size() / elementSize(src.type));
  if (!elements.empty()) std::memcpy(src.bytes.data() + lead, elements.data(), elements.size());
  fill_with_noise(random, dst.bytes);
  const Bytes before = dst.bytes;
  const Vector to = offsets_of(dst.sizes, dst.strides);
  const Vector from = offsets_of(dst.sizes, src.strides);
  for (size_t i = 0; i < to.size(); ++i) {
    cast_by_hand(dst.type, dst.at(to[i]), src.type, src.at(from[i]), mode);
  }
  const Bytes expected = dst.bytes;
  bool right = true;
  for_each_isa([&] {
    dst.bytes = before;
    tenon::detail::copy_elements(dst.view(), src.view(), mode, &tenon::detail::cast_elements<>);
    right = right && dst.bytes == expected;
  });
  return right;
}

}  // namespace tests
