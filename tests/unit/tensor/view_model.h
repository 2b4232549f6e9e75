// SPDX-License-Identifier: MIT
// A tensor as the list of its elements' addresses, and what each view does to that: knows nothing
// of strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "support/shapes.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"

namespace tests::view_model {

using namespace tenon;

inline int64_t product(const Vector& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

// A tensor: where its elements are, in bytes from the first byte of the memory, in row-major order
// of their indices.
struct Model {
  ScalarType type = ScalarType::Byte;
  Vector sizes;
  Vector at;
  int64_t start = 0;  // where element 0 would be

  int64_t item() const { return static_cast<int64_t>(tenon::elementSize(type)); }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }

  int64_t& operator[](const Vector& index) {
    int64_t i = 0;
    for (size_t d = 0; d < sizes.size(); ++d) i = i * sizes[d] + index[d];
    return at[static_cast<size_t>(i)];
  }
};

// The same elements in other sizes.
inline Model resized(Model model, const Vector& sizes) {
  model.sizes = sizes;
  return model;
}

// The model of `sizes` whose element at an index is the old one's at old_index(index).
template <class F>
Model mapped(Model old, const Vector& sizes, F&& old_index) {
  Model made = resized(old, sizes);
  made.at.clear();
  Vector index(sizes.size(), 0);
  for (int64_t left = product(sizes); left > 0; --left) {
    made.at.push_back(old[old_index(index)]);
    for (size_t d = sizes.size(); d > 0 && ++index[d - 1] == sizes[d - 1];) index[--d] = 0;
  }
  if (!made.at.empty()) made.start = made.at[0];
  return made;
}

// Strides in bytes.
inline Vector in_bytes(Vector strides, const Model& model) {
  for (int64_t& stride : strides) stride *= model.item();
  return strides;
}

// Whether strides, in whole elements, can describe where the elements are.
inline bool has_strides(Model m) {
  if (m.at.empty()) return true;
  Vector steps(m.sizes.size(), 0);
  for (size_t d = 0; d < m.sizes.size(); ++d) {
    if (m.sizes[d] == 1) continue;
    Vector one(m.sizes.size(), 0);
    one[d] = 1;
    steps[d] = m[one] - m.at[0];
    if (steps[d] % m.item() != 0) return false;
  }
  return element_offsets(m.sizes, steps, m.at[0]) == m.at;
}

// What a function should make of a model, or its error.
struct Expected {
  Error error = Error::Ok;
  Model model;
};
inline Expected refused(Error error) { return {error, {}}; }

inline bool wraps(int64_t& dim, int64_t rank) {
  if (dim < -rank || dim >= rank) return false;
  if (dim < 0) dim += rank;
  return true;
}

// ATen's reading: rank 0 passes for rank 1.
inline bool wraps_or_scalar(int64_t& dim, int64_t rank) { return wraps(dim, rank == 0 ? 1 : rank); }

// `kept` are the indices that stay of dimension d.
inline Model with_indices(const Model& old, size_t d, const Vector& kept) {
  Vector sizes = old.sizes;
  sizes[d] = static_cast<int64_t>(kept.size());
  return mapped(old, sizes, [&](Vector index) {
    index[d] = kept[static_cast<size_t>(index[d])];
    return index;
  });
}
inline Expected selected(const Model& old, int64_t dim, int64_t index) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  const auto d = static_cast<size_t>(dim);
  if (!wraps(index, old.sizes[d])) return refused(Error::OutOfBounds);
  Model model = with_indices(old, d, {index});
  model.sizes.erase(model.sizes.begin() + static_cast<ptrdiff_t>(dim));
  return {Error::Ok, model};
}
inline Expected sliced(const Model& old, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  if (step <= 0) return refused(Error::InvalidArgument);
  const int64_t size = old.sizes[static_cast<size_t>(dim)];
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  if (end < 0) end += size;
  Vector kept;
  for (int64_t i = start; i < end && i < size; i += step) kept.push_back(i);
  return {Error::Ok, with_indices(old, static_cast<size_t>(dim), kept)};
}
inline Expected narrowed(const Model& old, int64_t dim, int64_t start, int64_t length) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  if (length < 0) return refused(Error::InvalidArgument);
  const int64_t size = old.sizes[static_cast<size_t>(dim)];
  if (start < 0) start += size;
  if (start < 0 || start + length > size) return refused(Error::OutOfBounds);
  Vector kept;
  for (int64_t i = 0; i < length; ++i) kept.push_back(start + i);
  return {Error::Ok, with_indices(old, static_cast<size_t>(dim), kept)};
}

inline Error wrap_all(Vector& dims, int64_t rank) {
  Vector seen(static_cast<size_t>(rank + 1), 0);
  for (int64_t& dim : dims) {
    if (!wraps_or_scalar(dim, rank)) return Error::OutOfBounds;
    if (seen[static_cast<size_t>(dim)]++ != 0) return Error::InvalidArgument;
  }
  return Error::Ok;
}
inline Expected permuted(const Model& old, Vector dims) {
  if (static_cast<int64_t>(dims.size()) != old.rank()) return refused(Error::InvalidArgument);
  const Error error = wrap_all(dims, old.rank());
  if (error != Error::Ok) return refused(error);
  Vector sizes;
  for (int64_t d : dims) sizes.push_back(old.sizes[static_cast<size_t>(d)]);
  return {Error::Ok, mapped(old, sizes, [&](const Vector& index) {
            Vector from(index.size());
            for (size_t i = 0; i < index.size(); ++i) from[static_cast<size_t>(dims[i])] = index[i];
            return from;
          })};
}
inline Expected transposed(const Model& old, int64_t dim0, int64_t dim1) {
  if (!wraps_or_scalar(dim0, old.rank()) || !wraps_or_scalar(dim1, old.rank())) {
    return refused(Error::OutOfBounds);
  }
  Vector dims(old.sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  if (!dims.empty()) std::swap(dims[static_cast<size_t>(dim0)], dims[static_cast<size_t>(dim1)]);
  return permuted(old, dims);
}
inline Expected moved(const Model& old, const Vector& source, const Vector& destination) {
  if (source.size() != destination.size()) return refused(Error::InvalidArgument);
  const auto n = static_cast<size_t>(old.rank() == 0 ? 1 : old.rank());
  Vector from_of(n, -1);
  std::vector<bool> is_moved(n, false);
  for (size_t i = 0; i < source.size(); ++i) {
    int64_t from = source[i];
    int64_t to = destination[i];
    if (!wraps_or_scalar(from, old.rank())) return refused(Error::OutOfBounds);
    if (is_moved[static_cast<size_t>(from)]) return refused(Error::InvalidArgument);
    if (!wraps_or_scalar(to, old.rank())) return refused(Error::OutOfBounds);
    if (from_of[static_cast<size_t>(to)] != -1) return refused(Error::InvalidArgument);
    is_moved[static_cast<size_t>(from)] = true;
    from_of[static_cast<size_t>(to)] = from;
  }
  if (old.rank() == 0) return {Error::Ok, old};
  for (size_t d = 0; d < n; ++d) {
    if (is_moved[d]) continue;
    *std::find(from_of.begin(), from_of.end(), -1) = static_cast<int64_t>(d);
  }
  return permuted(old, from_of);
}
inline Expected diagonal_of(const Model& old, int64_t offset, int64_t dim1, int64_t dim2) {
  if (!wraps_or_scalar(dim1, old.rank()) || !wraps_or_scalar(dim2, old.rank())) {
    return refused(Error::OutOfBounds);
  }
  if (dim1 == dim2) return refused(Error::InvalidArgument);
  Vector rows;  // with an element of the diagonal
  Vector sizes;
  for (int64_t d = 0; d < old.rank(); ++d) {
    const int64_t size = old.sizes[static_cast<size_t>(d)];
    if (d != dim1 && d != dim2) sizes.push_back(size);
    for (int64_t i = 0; d == dim1 && i < size; ++i) {
      if (i + offset >= 0 && i + offset < old.sizes[static_cast<size_t>(dim2)]) rows.push_back(i);
    }
  }
  sizes.push_back(static_cast<int64_t>(rows.size()));
  return {Error::Ok, mapped(old, sizes, [&](const Vector& index) {
            const int64_t row = rows[static_cast<size_t>(index.back())];
            Vector from;
            size_t next = 0;
            for (int64_t d = 0; d < old.rank(); ++d) {
              from.push_back(d == dim1 ? row : d == dim2 ? row + offset : index[next++]);
            }
            return from;
          })};
}
inline Expected flipped(const Model& old, Vector dims) {
  const Error error = wrap_all(dims, old.rank());
  if (error != Error::Ok) return refused(error);
  Model model = old;
  for (int64_t dim : dims) {
    if (old.rank() == 0) continue;
    Vector reversed(static_cast<size_t>(old.sizes[static_cast<size_t>(dim)]));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    model = with_indices(model, static_cast<size_t>(dim), reversed);
  }
  return {Error::Ok, model};
}
inline Expected squeezed(const Model& old) {
  Vector sizes = old.sizes;
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
  return {Error::Ok, resized(old, sizes)};
}
inline Expected squeezed(const Model& old, int64_t dim) {
  if (!wraps_or_scalar(dim, old.rank())) return refused(Error::OutOfBounds);
  Vector sizes = old.sizes;
  const auto at = sizes.begin() + static_cast<ptrdiff_t>(dim);
  if (!sizes.empty() && *at == 1) sizes.erase(at);
  return {Error::Ok, resized(old, sizes)};
}
inline Expected unsqueezed(const Model& old, int64_t dim) {
  if (!wraps(dim, old.rank() + 1)) return refused(Error::OutOfBounds);
  Vector sizes = old.sizes;
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(dim), 1);
  return {Error::Ok, resized(old, sizes)};
}

inline Expected expanded(const Model& old, const Vector& sizes) {
  if (sizes.size() < old.sizes.size()) return refused(Error::InvalidArgument);
  const size_t added = sizes.size() - old.sizes.size();
  Vector padded(added, 1);
  padded.insert(padded.end(), old.sizes.begin(), old.sizes.end());
  Model model = resized(old, padded);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == padded[d] || (sizes[d] == -1 && d >= added)) continue;
    if (sizes[d] < 0 || padded[d] != 1) return refused(Error::InvalidArgument);
    model = with_indices(model, d, Vector(static_cast<size_t>(sizes[d]), 0));
  }
  return {Error::Ok, model};
}

// Without strides for the sizes NotSupported, and the model of a copy all the same.
inline Expected viewed(const Model& old, Vector sizes) {
  int64_t others = 1;
  int inferred = 0;
  for (int64_t size : sizes) {
    if (size < -1) return refused(Error::InvalidArgument);
    inferred += size == -1;
    others *= size == -1 ? 1 : size;
  }
  const int64_t numel = product(old.sizes);
  if (inferred > 1) return refused(Error::InvalidArgument);
  if (inferred == 1) {
    if (others == 0 || numel % others != 0) return refused(Error::InvalidArgument);
    for (int64_t& size : sizes) size = size == -1 ? numel / others : size;
  } else if (others != numel) {
    return refused(Error::InvalidArgument);
  }
  const Model model = resized(old, sizes);
  return {has_strides(model) ? Error::Ok : Error::NotSupported, model};
}
inline Expected flattened(const Model& old, int64_t start, int64_t end) {
  if (!wraps_or_scalar(start, old.rank()) || !wraps_or_scalar(end, old.rank())) {
    return refused(Error::OutOfBounds);
  }
  if (start > end) return refused(Error::InvalidArgument);
  if (old.rank() == 0) return viewed(old, {1});
  const auto first = old.sizes.begin() + static_cast<ptrdiff_t>(start);
  const auto last = old.sizes.begin() + static_cast<ptrdiff_t>(end + 1);
  Vector sizes(old.sizes.begin(), first);
  sizes.push_back(product(Vector(first, last)));
  sizes.insert(sizes.end(), last, old.sizes.end());
  return viewed(old, sizes);
}

inline Expected restrided(const Model& old, const Vector& sizes, const Vector& strides,
                          int64_t offset) {
  int64_t low = old.start;
  int64_t high = old.at.empty() ? low - old.item() : low;
  for (int64_t at : old.at) {
    low = std::min(low, at);
    high = std::max(high, at);
  }
  Model model = resized(old, sizes);
  model.start = old.start + offset * old.item();
  model.at = element_offsets(sizes, in_bytes(strides, old), model.start);
  bool within = !model.at.empty() || (model.start >= low && model.start <= high + old.item());
  for (int64_t at : model.at) within = within && at >= low && at <= high;
  return within ? Expected{Error::Ok, model} : refused(Error::OutOfBounds);
}

inline Expected retyped(const Model& old, ScalarType type, const char* memory) {
  Expected expected{Error::Ok, old};
  Model& model = expected.model;
  model.type = type;
  if (model.item() != old.item()) {
    if (old.rank() == 0) return refused(Error::InvalidArgument);
    int64_t& last = model.sizes.back();
    const int64_t bytes = last * old.item();
    if (bytes % model.item() != 0) return refused(Error::InvalidArgument);
    last = bytes / model.item();
    // Every byte of every element, in order; then whole elements of the type.
    model.at.clear();
    Vector each;
    for (int64_t at : old.at) {
      for (int64_t i = 0; i < old.item(); ++i) each.push_back(at + i);
    }
    for (size_t i = 0; i < each.size(); ++i) {
      const int64_t within = static_cast<int64_t>(i) % model.item();
      if (within == 0) model.at.push_back(each[i]);
      if (each[i] != model.at.back() + within) return refused(Error::InvalidArgument);
    }
  }
  if (!has_strides(model)) return refused(Error::InvalidArgument);
  const bool complex = type == ScalarType::ComplexHalf || type == ScalarType::ComplexFloat ||
                       type == ScalarType::ComplexDouble;
  const auto alignment = static_cast<uintptr_t>(complex ? model.item() / 2 : model.item());
  const auto address = reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(old.start);
  if (!model.at.empty() && address % alignment != 0) return refused(Error::InvalidArgument);
  return expected;
}

}  // namespace tests::view_model
