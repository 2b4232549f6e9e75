// SPDX-License-Identifier: MIT
// What the fuzzers of bytes from outside share: hostile shapes, and what they mean, worked out by
// plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include <tenon/core/scalar_type.h>

#include "input.h"
#include "support/shapes.h"

namespace fuzz {

/// Wide enough for any sum of products of two 64-bit numbers that compute() below makes.
__extension__ typedef __int128 Wide;

using tests::Bytes;
using Numbers = tests::Vector;

struct NaiveType {
  tenon::ScalarType type;
  int64_t size;    // of an element, in bytes
  int64_t number;  // of one number of it: a complex one has two
};
inline constexpr NaiveType kTypes[] = {
#define TENON_FUZZ_TYPE(cpp_type, name)                                          \
  {tenon::ScalarType::name, int64_t{sizeof(cpp_type)},                           \
   tenon::isComplexType(tenon::ScalarType::name) ? int64_t{sizeof(cpp_type) / 2} \
                                                 : int64_t{sizeof(cpp_type)}},
    TENON_FORALL_SCALAR_TYPES(TENON_FUZZ_TYPE)
#undef TENON_FUZZ_TYPE
};
/// Null for a number that is no type.
inline const NaiveType* find_type(tenon::ScalarType type) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [type](const NaiveType& known) { return known.type == type; });
  return found == std::end(kTypes) ? nullptr : found;
}
inline const NaiveType& take_type(Input& in) { return kTypes[in.choose(std::size(kTypes))]; }

/// A size or a stride: mostly a small one, now and then one at an edge of what fits.
inline int64_t take_number(Input& in) {
  constexpr int64_t kEdges[] = {-1,
                                INT64_MIN,
                                INT64_MAX,
                                INT64_MIN + 1,
                                INT64_MAX / 2,
                                INT64_MAX / 4 + 1,
                                int64_t{1} << 31,
                                (int64_t{1} << 31) - 1,
                                int64_t{1} << 32,
                                int64_t{1} << 33,
                                int64_t{1} << 60,
                                int64_t{1} << 62,
                                65535,
                                1000,
                                -(int64_t{1} << 62),
                                -3};
  const uint8_t choice = in.take<uint8_t>();
  if (choice < 216) return choice % 6;
  if (choice < 252) return kEdges[in.choose(std::size(kEdges))];
  return in.take<int64_t>();
}

/// Sizes, few and small but for some.
inline Numbers take_sizes(Input& in) {
  const uint8_t choice = in.take<uint8_t>();
  Numbers sizes(choice < 240 ? choice % 6u : choice < 248 ? 6u + choice % 4u : choice % 67u);
  const bool ones = sizes.size() > 9;  // many other sizes would make too many elements
  for (int64_t& size : sizes) size = ones && in.choose(8) != 0 ? 1 : take_number(in);
  return sizes;
}

/// Strides for sizes, in elements: dense in some order, padded, backwards, of any value, or none.
inline Numbers take_strides(Input& in, const Numbers& sizes) {
  Numbers strides(sizes.size());
  const size_t kind = in.choose(6);
  int64_t next = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t d = kind == 1 ? i : sizes.size() - 1 - i;
    strides[d] = kind == 5 ? take_number(in) : next;
    if (kind == 5 && in.choose(3) == 0 && strides[d] != INT64_MIN) strides[d] = -strides[d];
    if (kind == 3 && in.flip()) strides[d] = -strides[d];
    if (kind == 4 && in.flip()) strides[d] = 0;
    // Of sizes that overflow, any stride will do.
    if (__builtin_mul_overflow(next, sizes[d] < 1 ? 1 : sizes[d], &next)) next = 1;
    if (kind == 2 && in.choose(3) == 0 && next < INT64_MAX) ++next;
  }
  return strides;
}

inline Numbers dense_strides(const Numbers& sizes) {
  Numbers strides(sizes.size());
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    if (__builtin_mul_overflow(next, sizes[d] < 1 ? 1 : sizes[d], &next)) next = 1;
  }
  return strides;
}

/// What sizes and strides mean, computed without overflow.
struct NaiveShape {
  bool valid = true;  // as docs say: no overflow of elements, bytes or offsets, no negative size
  int64_t numel = 1;
  int64_t lowest = 0;    // offset of an element, in elements
  int64_t highest = -1;  // of the last one; without elements before the lowest
};
inline NaiveShape compute(const Numbers& sizes, const Numbers& strides, int64_t element_size) {
  constexpr Wide kMost = PTRDIFF_MAX;
  NaiveShape shape;
  Wide product = element_size;
  bool empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) shape.valid = false;
    if (size > 0 && product <= kMost) product *= size;
    empty |= size == 0;
  }
  if (sizes.size() > 64 || product > kMost) shape.valid = false;
  if (!shape.valid) return shape;
  shape.numel = empty ? 0 : static_cast<int64_t>(product / element_size);
  if (empty) return shape;
  Wide lowest = 0;
  Wide highest = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Wide& end = strides[d] < 0 ? lowest : highest;
    end += Wide{sizes[d] - 1} * strides[d];
    if (end > kMost || -end > kMost) shape.valid = false;
    if (!shape.valid) return shape;
  }
  shape.valid = -lowest * element_size <= kMost && (highest + 1) * element_size <= kMost;
  shape.lowest = static_cast<int64_t>(lowest);
  shape.highest = static_cast<int64_t>(highest);
  return shape;
}

/// Calls f(offset) for each element in row-major order.
template <class F>
void for_each_offset(const Numbers& sizes, const Numbers& strides, const F& f) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  for (const int64_t offset : tests::element_offsets(sizes, strides)) f(offset);
}

/// The elements' bytes in row-major order; `first` is element 0. A Bool's are 0 or 1.
inline Bytes gather(const uint8_t* first, const Numbers& sizes, const Numbers& strides,
                    const NaiveType& type) {
  Bytes bytes;
  for_each_offset(sizes, strides, [&](int64_t offset) {
    const uint8_t* const element = first + offset * type.size;
    for (int64_t i = 0; i < type.size; ++i) {
      bytes.push_back(type.type == tenon::ScalarType::Bool && element[i] > 1 ? uint8_t{1}
                                                                             : element[i]);
    }
  });
  return bytes;
}

/// Whether two elements share a byte: in row-major order, each offset once.
inline bool overlaps(const Numbers& sizes, const Numbers& strides) {
  Numbers offsets;
  for_each_offset(sizes, strides, [&](int64_t offset) { offsets.push_back(offset); });
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

/// A block of exactly that many bytes, of a pattern, so that a sanitizer sees a step beyond either
/// end.
class Block {
 public:
  explicit Block(size_t size, uint8_t seed = 0) : size_(size), bytes_(new uint8_t[size]) {
    for (size_t i = 0; i < size; ++i) bytes_[i] = static_cast<uint8_t>(i * 37 + seed);
  }
  Block(const void* from, size_t size) : Block(size) {
    if (size != 0) std::memcpy(bytes_.get(), from, size);
  }
  uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  Bytes copy() const { return Bytes(data(), data() + size_); }

 private:
  size_t size_;
  std::unique_ptr<uint8_t[]> bytes_;
};

}  // namespace fuzz
