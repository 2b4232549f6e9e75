// SPDX-License-Identifier: MIT
// Steps that lend a tensor's memory out and take lent memory in.
#pragma once

#include "fuzz/copy_steps.h"
#include "fuzz/program.h"
#include "fuzz/view_steps.h"

namespace fuzz {

/// Puts a description of lent memory into the table.
inline void add_export(Program& p, Export&& made) {
  Export& to = p.any_export();
  p.drop(to);
  to = std::move(made);
}

inline void check_blob(const tenon::Blob& blob, const Impl& impl) {
  FUZZ_CHECK(Program::list(blob.sizes) == impl.shape.sizes);
  FUZZ_CHECK(blob.dtype == impl.shape.type);
  FUZZ_CHECK(blob.device == impl.device);
  FUZZ_CHECK(blob.readonly == impl.readonly);
  FUZZ_CHECK(static_cast<int64_t>(blob.element_size) == impl.shape.item());
  const Vector strides = Program::list(blob.strides);
  FUZZ_CHECK(shape_of(impl.shape.type, impl.shape.sizes, strides, impl.shape.start).at ==
             impl.shape.at);
  if (impl.memory != nullptr && impl.numel() != 0) {
    FUZZ_CHECK(blob.data == impl.memory->real + impl.shape.start);
  }
}

inline void lend(const Slot& source, Export& lent) {
  lent.impl = view_of(source.impl, source.impl->shape);
  if (source.impl->borrow == nullptr) lent.real = source.tensor->impl().get();
}

inline void to_blob_step(Program& p) {
  Slot& source = p.any_slot();
  Export lent;
  if (p.in.choose(3) != 0) {
    auto made = tenon::try_to_blob(source.tensor);
    if (!p.settle(Program::check_defined(source), made.error())) return;
    lend(source, lent);
    lent.blob = std::move(*made);
  } else {
    Backend* owner = nullptr;
    bool is_placeholder = false;
    const Error expected = plan_clone(p, source, &tenon::host_backend(), owner, is_placeholder);
    auto made = tenon::try_to_owned_blob(source.tensor);
    if (!p.settle(expected, made.error())) return;
    lent.impl = clone_of(p, source, source.impl->shape.type, CastMode::Checked, owner, false);
    lent.impl->memory->real = static_cast<const char*>((*made).data);
    lent.impl = view_of(lent.impl, lent.impl->shape);  // the blob borrows the copy
    lent.blob = std::move(*made);
  }
  check_blob(lent.blob, *lent.impl);
  add_export(p, std::move(lent));
}

/// The Impl of a tensor over what was lent, which keeps it.
inline std::shared_ptr<Impl> import_of(const Export& lent, TensorShapeDynamism dynamism) {
  auto impl = std::make_shared<Impl>(*lent.impl);
  impl->settle(dynamism);
  impl->ownership = Ownership::Adopted;
  impl->owner = nullptr;
  impl->borrows = 0;
  impl->borrow = nullptr;
  impl->duty = lent.impl;
  impl->host = impl->device.is_cpu();
  return impl;
}

/// The Impl of a tensor that comes back: the lent one itself where the two are alike, else a view of
/// its memory, or one that keeps what was lent. Strides of size-1 dimensions, which the model lacks,
/// decide too, so what the tensor says of itself is believed.
inline std::shared_ptr<Impl> came_back(const Program& p, const Export& lent,
                                       TensorShapeDynamism dynamism,
                                       const Result<TensorPtr>& made) {
  const Impl& from = *lent.impl;
  const auto base = from.borrow->base;
  auto layer = import_of(lent, dynamism);
  if (!made.ok()) return layer;
  const Tensor& t = **made;
  if (t.ownership() == Ownership::View) {
    auto view = view_of(base, from.shape);
    view->settle(dynamism);
    view->readonly = from.readonly;
    if (view->numel() == 0) view->memory = from.memory;  // it has the blob's pointer
    return view;
  }
  // What keeps something that was lent has adopted it.
  bool is_same = t.ownership() != Ownership::Adopted || t.impl().get() == lent.real;
  bool is_known = false;
  for (const Slot& slot : p.slots) {
    if (slot.impl != base) continue;
    is_same = t.impl() == slot.tensor->impl();
    is_known = true;
  }
  if (is_same && !is_known) base->dynamism = t.shape_dynamism();  // a copy's, which nobody has seen
  return is_same ? base : layer;
}

inline void from_blob_step(Program& p) {
  Export& source = p.any_export();
  if (source.impl == nullptr || source.blob.element_size == 0) return;
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const size_t which = p.in.choose(3);
  const Impl& from = *source.impl;
  const bool is_null = from.memory == nullptr && from.numel() != 0;
  Error expected = is_null && !from.is_meta() ? Error::InvalidArgument : Error::Ok;
  auto impl = import_of(source, dynamism);
  if (which == 0) {
    auto made = tenon::try_from_blob(source.blob, dynamism);
    impl = came_back(p, source, dynamism, made);
    return p.add(expected, std::move(made), impl);
  }
  if (which == 1) {
    // With one more owner.
    p.releases.emplace_back();
    auto both = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>();
    both->first = std::make_shared<Duty>(p.releases.back());
    both->second = impl->duty;
    impl->duty = both;
    both = nullptr;
    return p.add(expected, tenon::try_from_blob(source.blob, Owner(p.releases.back()), dynamism),
                 impl);
  }
  Backend* const given = p.any_backend();
  if (given == nullptr) return;
  if (given->device() != from.device) expected = Error::InvalidArgument;
  if (expected == Error::Ok) {
    p.place(*impl, given == &tenon::host_backend() ? nullptr : given);
  }
  p.add(expected, tenon::try_from_blob(source.blob, dynamism, *given), impl);
}

/// Of lent memory, between which and a tensor elements are copied.
inline Error check_lent(const Program& p, const Impl& tensor, const Impl& lent) {
  if (tensor.shape.sizes != lent.shape.sizes) return Error::InvalidArgument;
  if (!lent.host && p.registered(lent.device) == nullptr) return Error::NotSupported;
  if (lent.numel() == 0) return Error::Ok;
  return lent.memory == nullptr ? Error::InvalidArgument : Error::Ok;
}
inline Error check_types(ScalarType from, ScalarType to, CastMode mode) {
  return mode == CastMode::Checked && from != to && !can_cast(from, to) ? Error::InvalidType
                                                                        : Error::Ok;
}

inline void assign_step(Program& p) {
  Slot& slot = p.any_slot();
  Export& lent = p.any_export();
  const CastMode mode = p.any_mode();
  const bool is_back = p.in.flip();
  const std::shared_ptr<Impl> impl = slot.impl;
  bool is_unsure = false;
  Error expected = is_back ? p.check_source(slot) : p.check_destination(slot, is_unsure);
  if (lent.impl == nullptr || lent.blob.element_size == 0) return;
  const std::shared_ptr<Impl> other = lent.impl;
  if (expected == Error::Ok) expected = check_lent(p, *impl, *other);
  if (!is_back) {
    if (expected == Error::Ok) expected = check_types(other->shape.type, impl->shape.type, mode);
    Elements elements;
    if (expected == Error::Ok) elements = cast(read(*other), impl->shape.type, mode);
    const Error got = tenon::assign(slot.tensor, lent.blob, mode);
    expected = unless_refused(is_unsure, expected, got);
    return settle_write(p, expected, got, impl, elements);
  }
  if (expected == Error::Ok && other->readonly) expected = Error::InvalidState;
  if (expected == Error::Ok && has_overlap(other->shape)) expected = Error::InvalidArgument;
  if (expected == Error::Ok) {
    is_unsure = !nests(other->shape.sizes, Program::list(lent.blob.strides));
    expected = check_types(impl->shape.type, other->shape.type, mode);
  }
  Elements elements;
  if (expected == Error::Ok) elements = cast(read(*impl), other->shape.type, mode);
  const Error got = tenon::copy_to(slot.tensor, lent.blob, mode);
  expected = unless_refused(is_unsure, expected, got);
  settle_write(p, expected, got, other, elements);
}

/// Checks a struct against the model.
inline void check_dlpack(const tenon::dlpack::DLTensor& t, const Impl& impl) {
  const auto rank = static_cast<size_t>(t.ndim);
  const Vector sizes(t.shape, t.shape + rank);
  FUZZ_CHECK(sizes == impl.shape.sizes);
  const Vector strides(t.strides, t.strides + rank);
  FUZZ_CHECK(shape_of(impl.shape.type, sizes, strides, impl.shape.start).at == impl.shape.at);
  if (impl.numel() == 0) return;
  FUZZ_CHECK(static_cast<const char*>(t.data) + t.byte_offset ==
             impl.memory->real + impl.shape.start);
}

inline void to_dlpack_step(Program& p) {
  Slot& source = p.any_slot();
  const size_t which = p.in.choose(4);
  Error expected = Program::check_defined(source);
  Backend* owner = nullptr;
  bool is_placeholder = false;
  if (which == 2) expected = plan_clone(p, source, nullptr, owner, is_placeholder);
  if (expected == Error::Ok) {
    const Impl& from = *source.impl;
    const tenon::Device device = which != 2 || is_placeholder ? from.device
                                 : owner != nullptr           ? owner->device()
                                                              : tenon::Device();
    const bool is_known =
        device.type() != tenon::DeviceType::Meta && device.type() != tenon::DeviceType::Expr;
    if (which == 3 && from.readonly) {
      expected = Error::NotSupported;
    } else if (!is_known) {
      expected = Error::NotSupported;
    } else if (from.is_placeholder()) {
      expected = Error::InvalidState;
    }
  }
  Export lent;
  if (which == 2) {
    // Before the call, in which a backend's code may drop or change the source.
    if (expected == Error::Ok) {
      lent.impl = clone_of(p, source, source.impl->shape.type, CastMode::Checked, owner, false);
    }
    auto made = tenon::try_to_dlpack(source.tensor, true);
    if (!p.settle(expected, made.error())) return;
    lent.managed = *made;
    lent.impl->memory->real = static_cast<const char*>(lent.managed->dl_tensor.data);
    lent.impl = view_of(lent.impl, lent.impl->shape);  // the struct borrows the copy
    FUZZ_CHECK((lent.managed->flags & tenon::dlpack::kDLPackIsCopied) != 0);
  } else if (which < 2) {
    auto made = tenon::try_to_dlpack(source.tensor);
    if (!p.settle(expected, made.error())) return;
    lent.managed = *made;
    lend(source, lent);
    FUZZ_CHECK(((lent.managed->flags & tenon::dlpack::kDLPackReadOnly) != 0) ==
               lent.impl->readonly);
  } else {
    auto made = tenon::try_to_dlpack_legacy(source.tensor);
    if (!p.settle(expected, made.error())) return;
    lent.legacy = *made;
    lend(source, lent);
  }
  check_dlpack(lent.managed != nullptr ? lent.managed->dl_tensor : lent.legacy->dl_tensor,
               *lent.impl);
  add_export(p, std::move(lent));
}

inline void from_dlpack_step(Program& p) {
  Export& source = p.any_export();
  if (source.managed == nullptr && source.legacy == nullptr) return;
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const bool copies = p.in.choose(4) == 0;
  const tenon::detail::Optional<bool> copy =
      copies ? tenon::detail::Optional<bool>(true) : tenon::none;
  const Export lent = std::exchange(source, Export());  // taken, also on failure
  Error expected = Error::Ok;
  Backend* owner = nullptr;
  if (copies && !lent.impl->device.is_cpu()) {
    owner = p.registered(lent.impl->device);
    if (owner == nullptr) expected = Error::NotSupported;
  }
  auto made = lent.managed != nullptr
                  ? tenon::try_from_dlpack(lent.managed, copy, tenon::none, dynamism)
                  : tenon::try_from_dlpack(lent.legacy, copy, tenon::none, dynamism);
  std::shared_ptr<Impl> impl;
  if (!copies) {
    impl = came_back(p, lent, dynamism, made);
  } else if (expected == Error::Ok && made.ok()) {
    const Shape& shape = lent.impl->shape;
    const Vector order = Program::list((*made)->dim_order());
    impl = p.make_owned(dense_shape(shape.type, shape.sizes, order), dynamism, owner);
    write(*impl, read(*lent.impl));
  }
  p.add(expected, std::move(made), impl);
}

}  // namespace fuzz
