// SPDX-License-Identifier: MIT
// Shapes, bytes and pseudo-random numbers, for tests that compare with enumerated elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace tests {

using Vector = std::vector<int64_t>;
/// Exactly as many bytes on the heap as asked for, so that a sanitizer sees an access beyond them.
using Bytes = std::vector<unsigned char>;

/// The offsets of all elements, in row-major order of their indices.
inline Vector element_offsets(const Vector& sizes, const Vector& strides, int64_t first = 0) {
  Vector out = {first};
  for (size_t d = 0; d < sizes.size(); ++d) {
    Vector next;
    for (int64_t at : out) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(at + i * strides[d]);
    }
    out = next;
  }
  return out;
}

/// The order of dimensions of a row-major layout.
inline Vector row_major(size_t rank) {
  Vector order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}
/// Strides of dense memory with the dimensions in this order, outermost first.
inline Vector dense_strides(const Vector& sizes, const Vector& order) {
  Vector strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    stride *= sizes[d] == 0 ? 1 : sizes[d];
  }
  return strides;
}

/// A fixed sequence of pseudo-random numbers.
struct Rng {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z;
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>((next() >> 33) % static_cast<uint64_t>(high - low + 1));
  }
};

/// Random bytes, made eight at a time: unoptimised tests of kernels spend most of their time here.
inline void fill_with_noise(Rng& random, Bytes& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const uint64_t word = random.next();
    const size_t n = bytes.size() - done < sizeof word ? bytes.size() - done : sizeof word;
    std::memcpy(&bytes[done], &word, n);
    done += n;
  }
}

}  // namespace tests
