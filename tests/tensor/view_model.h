// SPDX-License-Identifier: MIT
// A tensor as the list of its elements' addresses, and what each view does to that: knows nothing
// of strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"
#include "tensor/helpers.h"

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

  int64_t address(const Vector& index) const {
    int64_t i = 0;
    for (size_t d = 0; d < sizes.size(); ++d) i = i * sizes[d] + index[d];
    return at[static_cast<size_t>(i)];
  }
};

// Calls f(index) for every index of a shape, the last dimension fastest.
template <class F>
void for_each_index(const Vector& sizes, F&& f) {
  if (product(sizes) == 0) return;
  Vector index(sizes.size(), 0);
  for (;;) {
    f(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The model of `sizes` whose element at an index is the old one's at old_index(index).
template <class F>
Model mapped(const Model& old, const Vector& sizes, F&& old_index) {
  Model made = old;
  made.sizes = sizes;
  made.at.clear();
  for_each_index(sizes, [&](const Vector& i) { made.at.push_back(old.address(old_index(i))); });
  if (!made.at.empty()) made.start = made.at[0];
  return made;
}

// Whether strides, in whole elements, can describe where the elements are.
inline bool has_strides(const Model& m) {
  if (m.at.empty()) return true;
  Vector steps(m.sizes.size(), 0);
  for (size_t d = 0; d < m.sizes.size(); ++d) {
    if (m.sizes[d] == 1) continue;
    Vector one(m.sizes.size(), 0);
    one[d] = 1;
    steps[d] = m.address(one) - m.at[0];
    if (steps[d] % m.item() != 0) return false;
  }
  bool even = true;
  for_each_index(m.sizes, [&](const Vector& index) {
    int64_t expected = m.at[0];
    for (size_t d = 0; d < index.size(); ++d) expected += index[d] * steps[d];
    even = even && m.address(index) == expected;
  });
  return even;
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
inline Expected with_indices(const Model& old, size_t d, const Vector& kept) {
  Vector sizes = old.sizes;
  sizes[d] = static_cast<int64_t>(kept.size());
  return {Error::Ok, mapped(old, sizes, [&](Vector index) {
            index[d] = kept[static_cast<size_t>(index[d])];
            return index;
          })};
}
inline Expected selected(const Model& old, int64_t dim, int64_t index) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  const auto d = static_cast<size_t>(dim);
  if (!wraps(index, old.sizes[d])) return refused(Error::OutOfBounds);
  Expected expected = with_indices(old, d, {index});
  expected.model.sizes.erase(expected.model.sizes.begin() + static_cast<ptrdiff_t>(dim));
  return expected;
}
inline Expected sliced(const Model& old, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  if (step <= 0) return refused(Error::InvalidArgument);
  const int64_t size = old.sizes[static_cast<size_t>(dim)];
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  if (end < 0) end += size;
  Vector kept;
  for (int64_t i = start; i < end && i < size; i += step) kept.push_back(i);
  return with_indices(old, static_cast<size_t>(dim), kept);
}
inline Expected narrowed(const Model& old, int64_t dim, int64_t start, int64_t length) {
  if (!wraps(dim, old.rank())) return refused(Error::OutOfBounds);
  if (length < 0) return refused(Error::InvalidArgument);
  const int64_t size = old.sizes[static_cast<size_t>(dim)];
  if (start < 0) start += size;
  if (start < 0 || start + length > size) return refused(Error::OutOfBounds);
  Vector kept;
  for (int64_t i = 0; i < length; ++i) kept.push_back(start + i);
  return with_indices(old, static_cast<size_t>(dim), kept);
}

inline Expected transposed(const Model& old, int64_t dim0, int64_t dim1) {
  if (!wraps_or_scalar(dim0, old.rank()) || !wraps_or_scalar(dim1, old.rank())) {
    return refused(Error::OutOfBounds);
  }
  if (old.rank() == 0) return {Error::Ok, old};
  const auto a = static_cast<size_t>(dim0);
  const auto b = static_cast<size_t>(dim1);
  Vector sizes = old.sizes;
  std::swap(sizes[a], sizes[b]);
  return {Error::Ok, mapped(old, sizes, [&](Vector index) {
            std::swap(index[a], index[b]);
            return index;
          })};
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
inline Expected flipped(const Model& old, Vector dims) {
  const Error error = wrap_all(dims, old.rank());
  if (error != Error::Ok) return refused(error);
  if (old.rank() == 0) return {Error::Ok, old};
  return {Error::Ok, mapped(old, old.sizes, [&](Vector index) {
            for (int64_t dim : dims) {
              const auto d = static_cast<size_t>(dim);
              index[d] = old.sizes[d] - 1 - index[d];
            }
            return index;
          })};
}
inline Expected squeezed(const Model& old) {
  Expected expected{Error::Ok, old};
  expected.model.sizes.clear();
  for (int64_t size : old.sizes) {
    if (size != 1) expected.model.sizes.push_back(size);
  }
  return expected;
}
inline Expected squeezed(const Model& old, int64_t dim) {
  if (!wraps_or_scalar(dim, old.rank())) return refused(Error::OutOfBounds);
  Expected expected{Error::Ok, old};
  if (old.rank() != 0 && old.sizes[static_cast<size_t>(dim)] == 1) {
    expected.model.sizes.erase(expected.model.sizes.begin() + static_cast<ptrdiff_t>(dim));
  }
  return expected;
}

inline Expected unsqueezed(const Model& old, int64_t dim) {
  if (!wraps(dim, old.rank() + 1)) return refused(Error::OutOfBounds);
  Expected expected{Error::Ok, old};
  expected.model.sizes.insert(expected.model.sizes.begin() + static_cast<ptrdiff_t>(dim), 1);
  return expected;
}

inline Expected expanded(const Model& old, Vector sizes) {
  if (sizes.size() < old.sizes.size()) return refused(Error::InvalidArgument);
  const size_t added = sizes.size() - old.sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d < added) {
      if (sizes[d] < 0) return refused(Error::InvalidArgument);
      continue;
    }
    const int64_t size = old.sizes[d - added];
    if (sizes[d] == -1) sizes[d] = size;
    if (sizes[d] < 0 || (size != 1 && sizes[d] != size)) return refused(Error::InvalidArgument);
  }
  return {Error::Ok, mapped(old, sizes, [&](const Vector& index) {
            Vector from(index.begin() + static_cast<ptrdiff_t>(added), index.end());
            for (size_t d = 0; d < from.size(); ++d) from[d] = old.sizes[d] == 1 ? 0 : from[d];
            return from;
          })};
}

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
  Expected expected{Error::Ok, old};
  expected.model.sizes = sizes;
  return has_strides(expected.model) ? expected : refused(Error::NotSupported);
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
    low = at < low ? at : low;
    high = at > high ? at : high;
  }
  Expected expected{Error::Ok, old};
  Model& model = expected.model;
  model.sizes = sizes;
  model.start = old.start + offset * old.item();
  model.at.clear();
  bool within = true;
  for_each_index(sizes, [&](const Vector& index) {
    int64_t at = model.start;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d] * old.item();
    model.at.push_back(at);
    within = within && at >= low && at <= high;
  });
  if (model.at.empty()) within = model.start >= low && model.start <= high + old.item();
  return within ? expected : refused(Error::OutOfBounds);
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
  const auto address = reinterpret_cast<uintptr_t>(memory + old.start);
  if (!model.at.empty() && address % alignment != 0) return refused(Error::InvalidArgument);
  return expected;
}

}  // namespace tests::view_model
