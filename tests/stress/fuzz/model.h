// SPDX-License-Identifier: MIT
// The model of a tensor: its memory is a vector of bytes, its elements a list of their addresses
// there. It knows nothing of strides, and calls nothing of the library but sizes of elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz/input.h"
#include "kernels/cast_reference.h"
#include "support/shapes.h"
#include "tenon/tenon.h"
#include "tensor/view_model.h"

namespace fuzz {

using tenon::Backend;
using tenon::CastMode;
using tenon::Error;
using tenon::Ownership;
using tenon::ScalarType;
using tenon::TensorShapeDynamism;
using tests::Bytes;
using tests::dense_strides;
using tests::row_major;
using tests::Vector;

/// Sizes, type and the addresses of all elements, in bytes from the memory's first one.
using Shape = tests::view_model::Model;

inline int64_t item_size(ScalarType type) { return static_cast<int64_t>(tenon::elementSize(type)); }
inline int64_t product(const Vector& sizes) { return tests::view_model::product(sizes); }

/// Memory, and which bytes of it somebody wrote.
struct Memory {
  explicit Memory(size_t nbytes) : bytes(nbytes), known(nbytes, 0) {}
  explicit Memory(Bytes written) : bytes(std::move(written)), known(bytes.size(), 1) {}

  Bytes bytes;
  std::vector<char> known;
  const char* real = nullptr;  // where its first byte really is
  Backend* reader = nullptr;   // who reads it; null for the host
};

/// How often a release was due, and how often it happened.
struct Release {
  int due = 0;
  int done = 0;
};
/// The duty to release so many times. It is due when the last holder drops it.
struct Duty {
  explicit Duty(Release& of, int times = 1) : release(of), count(times) {}
  Duty(const Duty&) = delete;
  Duty& operator=(const Duty&) = delete;
  ~Duty() { release.due += count; }
  Release& release;
  int count;
};

struct Borrow;

/// A tensor without its handles.
struct Impl {
  Shape shape;
  std::shared_ptr<Memory> memory;  // null for a placeholder, a template, a deallocated tensor
  int64_t capacity = 0;            // in elements, from element 0 upward
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  Ownership ownership = Ownership::Owned;
  bool readonly = false;
  bool deallocated = false;
  Backend* owner = nullptr;  // whose memory it is; null for the heap's and the caller's
  tenon::Device device;
  bool host = true;                // whether the host may touch the memory
  std::shared_ptr<void> duty;      // what goes with the memory
  std::shared_ptr<Borrow> borrow;  // of a view: of what it is one
  int borrows = 0;                 // how many are alive

  int64_t numel() const { return static_cast<int64_t>(shape.at.size()); }
  bool is_meta() const { return device.type() == tenon::DeviceType::Meta; }
  bool is_placeholder() const { return memory == nullptr && numel() != 0; }

  /// Elements from element 0 to the end of the highest one.
  int64_t reach() const {
    int64_t reach = 0;
    for (int64_t at : shape.at) reach = std::max(reach, (at - shape.start) / shape.item() + 1);
    return reach;
  }
  int64_t lowest() const {
    int64_t low = shape.start;
    for (int64_t at : shape.at) low = std::min(low, at);
    return low;
  }
  /// What follows from shape.
  void settle(TensorShapeDynamism asked) {
    dynamism = shape.sizes.empty() ? TensorShapeDynamism::STATIC : asked;
    capacity = std::min(reach(), numel());
  }
  bool is_contiguous() const {
    for (size_t i = 0; i < shape.at.size(); ++i) {
      if (shape.at[i] != shape.start + static_cast<int64_t>(i) * shape.item()) return false;
    }
    return true;
  }
};

/// Keeps an Impl alive and counts as a borrow of it.
struct Borrow {
  explicit Borrow(std::shared_ptr<Impl> of) : base(std::move(of)) { ++base->borrows; }
  Borrow(const Borrow&) = delete;
  Borrow& operator=(const Borrow&) = delete;
  ~Borrow() { --base->borrows; }
  std::shared_ptr<Impl> base;
};

/// A borrow of what `source` is a view of, or of itself.
inline std::shared_ptr<Borrow> borrow(const std::shared_ptr<Impl>& source) {
  return std::make_shared<Borrow>(source->borrow != nullptr ? source->borrow->base : source);
}
/// Whether a deleter may run when it lets its memory go: its own, or that of what it is a view of.
inline bool has_deleter(const Impl& impl) {
  return impl.duty != nullptr || (impl.borrow != nullptr && impl.borrow->base->duty != nullptr);
}
/// Whether others use the memory of `impl`.
inline bool is_shared(const Impl& impl) {
  return impl.borrows > 0 || (impl.borrow != nullptr && impl.borrow->base.use_count() > 1);
}

/// The shape of sizes and strides, which are in elements.
inline Shape shape_of(ScalarType type, const Vector& sizes, const Vector& strides,
                      int64_t start = 0) {
  Shape shape;
  shape.type = type;
  shape.sizes = sizes;
  shape.start = start;
  shape.at = tests::element_offsets(sizes, tests::view_model::in_bytes(strides, shape), start);
  return shape;
}
inline Shape dense_shape(ScalarType type, const Vector& sizes, const Vector& order,
                         int64_t start = 0) {
  return shape_of(type, sizes, dense_strides(sizes, order), start);
}
inline Shape dense_shape(ScalarType type, const Vector& sizes) {
  return dense_shape(type, sizes, row_major(sizes.size()));
}

/// Random bytes of valid elements.
inline Bytes noise(ScalarType type, int64_t count, uint64_t seed) {
  tests::Rng random{seed};
  return tests::random_elements(random, type, static_cast<size_t>(count));
}

/// Elements by value, with which bytes are known.
struct Elements {
  ScalarType type = ScalarType::Byte;
  Bytes bytes;
  std::vector<char> known;

  Elements() = default;
  Elements(ScalarType t, int64_t count)
      : type(t), bytes(static_cast<size_t>(count * item_size(t))), known(bytes.size(), 0) {}
  /// Copies of one element.
  Elements(ScalarType t, int64_t count, const Bytes& one) : Elements(t, 0) {
    for (int64_t i = 0; i < count; ++i) bytes.insert(bytes.end(), one.begin(), one.end());
    known.assign(bytes.size(), 1);
  }
};

/// The elements in row-major order.
inline Elements read(const Impl& impl) {
  Elements out(impl.shape.type, impl.numel());
  if (impl.memory == nullptr) return out;
  const auto item = static_cast<size_t>(impl.shape.item());
  for (size_t i = 0; i < impl.shape.at.size(); ++i) {
    for (size_t b = 0; b < item; ++b) {
      const size_t from = static_cast<size_t>(impl.shape.at[i]) + b;
      out.bytes[i * item + b] = impl.memory->bytes[from];
      out.known[i * item + b] = impl.memory->known[from];
    }
  }
  return out;
}
inline void write(const Impl& impl, const Elements& in) {
  const auto item = static_cast<size_t>(impl.shape.item());
  for (size_t i = 0; i < impl.shape.at.size(); ++i) {
    for (size_t b = 0; b < item; ++b) {
      const size_t to = static_cast<size_t>(impl.shape.at[i]) + b;
      impl.memory->bytes[to] = in.bytes[i * item + b];
      impl.memory->known[to] = in.known[i * item + b];
    }
  }
}
/// Marks the elements as unknown.
inline void forget(const Impl& impl) {
  if (impl.memory != nullptr) write(impl, Elements(impl.shape.type, impl.numel()));
}

inline Elements cast(const Elements& from, ScalarType to, CastMode mode) {
  if (from.type == to) return from;
  const auto item = static_cast<size_t>(item_size(from.type));
  const auto made = static_cast<size_t>(item_size(to));
  const size_t count = from.bytes.size() / item;
  Elements out(to, static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const auto first = from.known.begin() + static_cast<ptrdiff_t>(i * item);
    const bool known = std::find(first, first + static_cast<ptrdiff_t>(item), 0) ==
                       first + static_cast<ptrdiff_t>(item);
    std::fill_n(out.known.begin() + static_cast<ptrdiff_t>(i * made), made, known ? 1 : 0);
    if (!known) continue;
    tests::cast_by_hand(to, out.bytes.data() + i * made, from.type, from.bytes.data() + i * item,
                        mode);
  }
  return out;
}

/// Whether copies convert without a CastMode: not floating to integral, complex to real, and other
/// types to Bool.
inline bool can_cast(ScalarType from, ScalarType to) {
  if (tenon::isComplexType(from) && !tenon::isComplexType(to)) return false;
  if (tenon::isFloatingType(from) && tenon::isIntegralType(to, false)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}

/// Elements of `from` sizes repeated to `to` sizes. False where they do not broadcast.
inline bool broadcast(const Elements& in, const Vector& from, const Vector& to, Elements& out) {
  if (from.size() > to.size()) return false;
  const size_t added = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[d + added]) return false;
  }
  const int64_t count = product(to);
  const auto item = static_cast<size_t>(item_size(in.type));
  out = Elements(in.type, count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i;
    int64_t step = 1;
    int64_t at = 0;
    for (size_t d = to.size(); d-- > 0;) {
      const int64_t index = left % to[d];
      left /= to[d];
      if (d < added) continue;
      if (from[d - added] != 1) at += index * step;
      step *= from[d - added];
    }
    const auto source = static_cast<ptrdiff_t>(static_cast<size_t>(at) * item);
    const auto target = static_cast<ptrdiff_t>(static_cast<size_t>(i) * item);
    std::copy_n(in.bytes.begin() + source, item, out.bytes.begin() + target);
    std::copy_n(in.known.begin() + source, item, out.known.begin() + target);
  }
  return true;
}

/// Whether two elements have a byte in common.
inline bool has_overlap(const Shape& shape) {
  Vector sorted = shape.at;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] < shape.item()) return true;
  }
  return false;
}
/// Whether the bytes from the lowest to the highest element of two tensors meet.
inline bool touches(const Impl& a, const Impl& b) {
  if (a.memory == nullptr || a.memory != b.memory || a.numel() == 0 || b.numel() == 0) return false;
  const auto range = [](const Shape& s) {
    const auto both = std::minmax_element(s.at.begin(), s.at.end());
    return std::make_pair(*both.first, *both.second + s.item());
  };
  const auto x = range(a.shape);
  const auto y = range(b.shape);
  return x.first < y.second && y.first < x.second;
}

}  // namespace fuzz
