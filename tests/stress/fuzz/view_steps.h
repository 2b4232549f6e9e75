// SPDX-License-Identifier: MIT
// Steps that make views and handles, and drop them.
#pragma once

#include "fuzz/program.h"

namespace fuzz {

using tests::view_model::Expected;

/// The Impl of a view of `source`.
inline std::shared_ptr<Impl> view_of(const std::shared_ptr<Impl>& source, const Shape& shape) {
  auto impl = std::make_shared<Impl>(*source);
  impl->shape = shape;
  impl->settle(source->dynamism);
  impl->ownership = Ownership::View;
  impl->duty = nullptr;
  impl->borrows = 0;
  impl->borrow = borrow(source);
  return impl;
}

inline int64_t any_dim(Program& p) {
  const int64_t n = p.any_number();
  return n < 0 ? n % 3 : n % 4;
}
inline Vector any_dims(Program& p, size_t rank) {
  Vector dims = p.any_order(rank);
  if (p.in.choose(4) == 0) dims.resize(p.in.choose(4), any_dim(p));
  return dims;
}
/// Sizes of as many elements.
inline Vector any_refactoring(Program& p, int64_t numel) {
  Vector sizes;
  int64_t left = numel;
  for (size_t n = p.in.choose(5); n > 0; --n) {
    const auto size = static_cast<int64_t>(p.in.choose(5)) + 1;
    if (size > 1 && left % size != 0) continue;
    sizes.push_back(size);
    left /= size;
  }
  switch (p.in.choose(4)) {
    case 0: sizes.push_back(-1); break;
    case 1: sizes.insert(sizes.begin(), p.any_number()); break;
    default: sizes.insert(sizes.begin(), left);
  }
  return sizes;
}

/// The address whose alignment the model checks: the memory's, or one for a null pointer.
inline const char* memory_of(const Impl& impl) {
  const auto start = static_cast<uintptr_t>(impl.shape.start);
  const bool is_there = impl.memory != nullptr && impl.memory->real != nullptr;
  const auto real = is_there ? reinterpret_cast<uintptr_t>(impl.memory->real) : 64 - start;
  return reinterpret_cast<const char*>(real);
}

inline void view_step(Program& p) {
  using namespace tests::view_model;
  Slot& source = p.any_slot();
  const size_t which = p.in.choose(16);
  const bool is_there = Program::check_defined(source) == Error::Ok;
  const Shape none = shape_of(ScalarType::Byte, {}, {});
  const Shape& old = is_there ? source.impl->shape : none;
  const size_t rank = old.sizes.size();
  Expected expected;
  const auto finish = [&](Result<Tensor>&& made) {
    if (!is_there) expected.error = Error::InvalidState;
    p.add(expected.error, std::move(made),
          expected.error == Error::Ok ? view_of(source.impl, expected.model) : nullptr);
  };
  // A row-major copy where there are no strides for the sizes.
  const auto finish_or_copy = [&](const auto& call) {
    if (!is_there || expected.error != Error::NotSupported) return finish(call());
    auto impl = p.row_major_copy(source, expected.model.sizes, expected.error);
    p.add(expected.error, call(), impl);
  };
  const TensorPtr& t = source.tensor;
  switch (which) {
    case 0:
    case 1: {
      const Vector sizes = any_refactoring(p, is_there ? source.impl->numel() : 1);
      expected = viewed(old, sizes);
      if (which == 0) return finish(tenon::try_view(t, sizes));
      return finish_or_copy([&] { return tenon::try_reshape(t, sizes); });
    }
    case 2:
    case 3: {
      const int64_t dim = any_dim(p);
      const int64_t index = p.any_number();
      expected = selected(old, dim, index);
      return finish(tenon::try_select(t, dim, index));
    }
    case 4:
    case 5: {
      const int64_t dim = any_dim(p);
      const int64_t start = p.any_number();
      const int64_t end = p.any_number();
      const auto step = static_cast<int64_t>(p.in.choose(6)) - 1;
      expected = sliced(old, dim, start, end, step);
      return finish(tenon::try_slice(t, dim, start, end, step));
    }
    case 6:
    case 7: {
      const Vector dims = any_dims(p, rank);
      expected = permuted(old, dims);
      return finish(tenon::try_permute(t, dims));
    }
    case 8:
    case 9:
    case 10:
    case 11: {
      if (rank >= 9) return;
      Vector sizes = old.sizes;
      for (int64_t& size : sizes) {
        if (size == 1 && p.in.flip()) size = static_cast<int64_t>(p.in.choose(4));
      }
      for (size_t n = p.in.choose(3); n > 0; --n) {
        sizes.insert(sizes.begin(), static_cast<int64_t>(p.in.choose(5)) - 1);
      }
      if (!sizes.empty() && p.in.choose(4) == 0) sizes[p.in.choose(sizes.size())] = -1;
      if (std::abs(product(sizes)) > 512) return;
      expected = expanded(old, sizes);
      return finish(tenon::try_expand(t, sizes));
    }
    case 12: {
      const Vector dims = any_dims(p, rank);
      expected = flipped(old, dims);
      return finish(tenon::try_flip(t, dims));
    }
    case 13: {
      const ScalarType type = p.any_type();
      const char* const memory = is_there ? memory_of(*source.impl) : nullptr;
      if (is_there) expected = retyped(old, type, memory);
      return finish(tenon::try_view_as_type(t, type));
    }
    default: {
      const Vector sizes = p.any_sizes();
      Vector strides = p.any_strides(sizes.size());
      const int64_t offset = p.any_number() + p.in.take<int8_t>() % 16;
      if (which == 14) {
        expected = restrided(old, sizes, strides, offset);
        return finish(tenon::try_as_strided(t, sizes, strides, offset));
      }
      if (sizes.empty()) return;  // stands for the source's
      expected = restrided(old, sizes, strides, offset);
      if (!is_there) expected.error = Error::InvalidState;
      return p.add(expected.error, tenon::try_make_tensor_ptr(t, sizes, {}, strides, offset),
                   expected.error == Error::Ok ? view_of(source.impl, expected.model) : nullptr);
    }
  }
}

/// Another handle to the same impl.
inline void share_step(Program& p) {
  Slot& source = p.any_slot();
  p.add(Program::check_defined(source), tenon::try_make_tensor_ptr(source.tensor), source.impl);
}

inline void drop_step(Program& p) {
  if (p.in.choose(3) == 0) return p.drop(p.any_export());
  p.drop(p.any_slot());
}

}  // namespace fuzz
