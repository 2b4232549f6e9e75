// SPDX-License-Identifier: MIT
// Copies checked against a loop over all indices.
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/cast_reference.h"
#include "kernels/helpers.h"
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
  tenon::TensorView view() { return {bytes.data() + first, type, {}, sizes, strides}; }
};

inline bool one_in(Rng& random, int64_t n) { return random.between(1, n) == 1; }

template <class C>
auto pick(Rng& random, const C& values) {
  const auto last = static_cast<int64_t>(std::size(values)) - 1;
  return values[static_cast<size_t>(random.between(0, last))];
}

inline void shuffle(Rng& random, Vector& values) {
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  }
}

/// Up to 8 dimensions of at most `most` elements together, around the sizes of pixels and blocks.
inline Vector random_sizes(Rng& random, int64_t most) {
  static const int64_t lengths[] = {1, 2, 2, 3, 3, 4, 4, 16, 17, 64, 65};
  Vector sizes;
  int64_t numel = 1;
  for (int64_t rank = random.between(0, 8); rank > 0; --rank) {
    int64_t length = one_in(random, 3) ? random.between(1, 40) : pick(random, lengths);
    while (numel * length > most) length = (length + 1) / 2;
    numel *= length;
    sizes.push_back(one_in(random, 100) ? 0 : length);
    if (numel * 2 > most) break;
  }
  shuffle(random, sizes);
  return sizes;
}

/// Strides of distinct elements: the dimensions nested in some order, perhaps with gaps, perhaps
/// some of them reversed.
inline Vector random_strides(Rng& random, const Vector& sizes) {
  Vector order = row_major(sizes.size());
  if (one_in(random, 2)) shuffle(random, order);
  const bool has_gaps = one_in(random, 3);
  const bool has_reversed = one_in(random, 3);
  Vector strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    if (has_gaps && one_in(random, 2)) stride += random.between(1, 3);
    strides[d] = has_reversed && one_in(random, 2) ? -stride : stride;
    stride *= sizes[d] == 0 ? 1 : sizes[d];
  }
  return strides;
}

/// The same, or with elements repeated, or overlapping.
inline Vector random_source_strides(Rng& random, const Vector& sizes) {
  Vector strides = random_strides(random, sizes);
  const bool repeats = one_in(random, 5);
  const bool overlaps = one_in(random, 20);
  for (int64_t& stride : strides) {
    if (repeats && one_in(random, 3)) stride = 0;
    if (overlaps) stride = random.between(-2, 2);
  }
  return strides;
}

/// Gives the source random elements and the destination random bytes.
inline void fill_both(Rng& random, Strided& dst, Strided& src) {
  const size_t lead = src.bytes.size() % elementSize(src.type);
  const Bytes elements =
      random_elements(random, src.type, src.bytes.size() / elementSize(src.type));
  if (!elements.empty()) std::memcpy(src.bytes.data() + lead, elements.data(), elements.size());
  fill_with_noise(random, dst.bytes);
}

/// Whether copy_elements() writes the bytes that a loop writes and leaves the others, with every
/// instruction set. Both memories get random contents.
inline bool is_copied(Rng& random, Strided& dst, Strided& src, CastMode mode) {
  fill_both(random, dst, src);
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
