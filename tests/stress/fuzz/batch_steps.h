// SPDX-License-Identifier: MIT
// Steps that join tensors.
#pragma once

#include "fuzz/copy_steps.h"
#include "fuzz/program.h"
#include "fuzz/view_steps.h"

namespace fuzz {

/// What joining tensors is to make.
struct Joined {
  Error error = Error::Ok;
  Vector sizes;
  Elements elements;
};

inline Joined join(const Program& p, const std::vector<const Slot*>& list, bool is_stack,
                   int64_t dim) {
  Joined joined;
  const auto refuse = [&](Error error) {
    joined.error = error;
    return joined;
  };
  if (list.empty()) return refuse(Error::InvalidArgument);
  std::vector<const Impl*> pieces;
  size_t d = 0;
  for (const Slot* slot : list) {
    const Error error = p.check_source(*slot);
    if (error != Error::Ok) return refuse(error);
    const Impl& impl = *slot->impl;
    const Impl& first = *list[0]->impl;
    if (impl.shape.type != first.shape.type) return refuse(Error::InvalidType);
    if (impl.device != first.device) return refuse(Error::InvalidArgument);
    const Vector& sizes = impl.shape.sizes;
    if (!is_stack && sizes == Vector{0}) continue;
    if (pieces.empty()) {
      const auto rank = static_cast<int64_t>(sizes.size()) + (is_stack ? 1 : 0);
      int64_t wrapped = dim;
      if (!tests::view_model::wraps(wrapped, rank)) return refuse(Error::OutOfBounds);
      d = static_cast<size_t>(wrapped);
    } else {
      Vector as_first = sizes;
      const Vector& wanted = pieces[0]->shape.sizes;
      if (as_first.size() != wanted.size()) return refuse(Error::InvalidArgument);
      if (!is_stack) as_first[d] = wanted[d];
      if (as_first != wanted) return refuse(Error::InvalidArgument);
    }
    pieces.push_back(&impl);
  }
  const ScalarType type = list[0]->impl->shape.type;
  joined.elements = Elements(type, 0);
  joined.sizes = {0};
  if (pieces.empty()) return joined;
  joined.sizes = pieces[0]->shape.sizes;
  const auto at = joined.sizes.begin() + static_cast<ptrdiff_t>(d);
  const int64_t outer = product(Vector(joined.sizes.begin(), at));
  if (is_stack) {
    joined.sizes.insert(at, static_cast<int64_t>(pieces.size()));
  } else {
    joined.sizes[d] = 0;
    for (const Impl* piece : pieces) joined.sizes[d] += piece->shape.sizes[d];
  }
  for (int64_t o = 0; o < outer; ++o) {
    for (const Impl* piece : pieces) {
      const Elements all = read(*piece);
      const auto part = static_cast<ptrdiff_t>(all.bytes.size()) / outer;
      joined.elements.bytes.insert(joined.elements.bytes.end(), all.bytes.begin() + o * part,
                                   all.bytes.begin() + (o + 1) * part);
      joined.elements.known.insert(joined.elements.known.end(), all.known.begin() + o * part,
                                   all.known.begin() + (o + 1) * part);
    }
  }
  return joined;
}

inline void join_step(Program& p) {
  std::vector<const Slot*> list(p.in.choose(4));
  std::vector<Tensor> tensors;
  size_t total = 0;
  for (const Slot*& slot : list) {
    slot = &p.any_slot();
    tensors.push_back(slot->tensor != nullptr ? *slot->tensor : Tensor());
    total += slot->impl != nullptr ? slot->impl->shape.at.size() : 0;
  }
  if (total > 600) return;
  const bool is_stack = p.in.flip();
  const int64_t dim = any_dim(p);
  Joined joined = join(p, list, is_stack, dim);
  if (p.in.flip()) {
    Slot& out = p.any_slot();
    bool is_unsure = false;
    Error expected = p.check_destination(out, is_unsure);
    const std::shared_ptr<Impl> impl = out.impl;
    if (expected == Error::Ok) expected = joined.error;
    if (expected == Error::Ok && impl->shape.type != joined.elements.type) {
      expected = Error::InvalidType;
    } else if (expected == Error::Ok && impl->shape.sizes != joined.sizes) {
      expected = Error::InvalidArgument;
    }
    const Error got = is_stack ? tenon::stack_out(out.tensor, tensors, dim)
                               : tenon::cat_out(out.tensor, tensors, dim);
    expected = unless_refused(is_unsure, expected, got);
    return settle_write(p, expected, got, impl, joined.elements);
  }
  std::shared_ptr<Impl> impl;
  if (joined.error == Error::Ok) {
    const Impl& first = *list[0]->impl;
    Backend* owner = first.owner;
    if (owner == nullptr && !first.device.is_cpu()) owner = p.registered(first.device);
    impl = p.make_owned(dense_shape(joined.elements.type, joined.sizes),
                        TensorShapeDynamism::DYNAMIC_BOUND, owner);
    write(*impl, joined.elements);
  }
  p.add(joined.error, is_stack ? tenon::try_stack(tensors, dim) : tenon::try_cat(tensors, dim),
        impl);
}

}  // namespace fuzz
