// SPDX-License-Identifier: MIT
// Steps that change a tensor's shape or memory in place.
#pragma once

#include "fuzz/program.h"

namespace fuzz {

/// Why a tensor cannot leave its memory for a larger one.
inline Error check_growth(const Impl& impl) {
  if (impl.ownership == Ownership::Borrowed || impl.ownership == Ownership::View) {
    return Error::NotSupported;
  }
  if (impl.lowest() < impl.shape.start) return Error::NotSupported;
  if (impl.owner == nullptr && !impl.device.is_cpu()) return Error::NotSupported;
  return impl.borrows > 0 ? Error::InUse : Error::Ok;
}

/// Moves the model to memory of `capacity` elements, keeping the first `kept`.
inline void grow(const Program& p, Impl& impl, int64_t capacity, int64_t kept) {
  const int64_t item = impl.shape.item();
  if (!impl.is_meta()) {
    auto memory = p.new_memory(impl, capacity * item);
    if (impl.memory != nullptr) {
      for (int64_t i = 0; i < kept * item; ++i) {
        const auto from = static_cast<size_t>(impl.shape.start + i);
        memory->bytes[static_cast<size_t>(i)] = impl.memory->bytes[from];
        memory->known[static_cast<size_t>(i)] = impl.memory->known[from];
      }
    }
    impl.memory = memory;
  }
  for (int64_t& at : impl.shape.at) at -= impl.shape.start;
  impl.shape.start = 0;
  impl.capacity = capacity;
  impl.ownership = Ownership::Owned;
  impl.duty = nullptr;
}

inline Error expect_resize(const Slot& slot, const Vector& sizes, bool& grows) {
  if (Program::check_defined(slot) != Error::Ok) return Error::InvalidState;
  const Impl& impl = *slot.impl;
  if (impl.dynamism == TensorShapeDynamism::STATIC) return Error::NotSupported;
  if (sizes == impl.shape.sizes) return Error::Ok;
  int64_t numel = 1;
  int64_t room = PTRDIFF_MAX / impl.shape.item();
  for (const int64_t size : sizes) {
    if (size < 0) return Error::InvalidArgument;
    if (size > 1) room /= size;
    numel = room == 0 ? numel : numel * size;
  }
  if (room == 0) return Error::InvalidArgument;
  if (numel <= impl.capacity) return Error::Ok;
  if (impl.dynamism == TensorShapeDynamism::DYNAMIC_BOUND) return Error::InvalidArgument;
  grows = true;
  return check_growth(impl);
}

/// Changes the model before the call if that cannot fail, so that a deleter that runs in it finds
/// the new state. With a deleter no backend is therefore made to fail.
template <class Change, class Call>
void call_and_change(Program& p, Impl* impl, Error expected, bool grows, const Change& change,
                     const Call& call) {
  if (impl != nullptr && has_deleter(*impl)) p.backends.trouble.kind = Trouble::Kind::None;
  const bool is_certain = p.backends.trouble.kind == Trouble::Kind::None;
  if (is_certain && expected == Error::Ok) change();
  // What a backend's code does while a tensor grows finds it in use.
  const bool is_lent = grows && !is_certain;
  if (is_lent) ++impl->borrows;
  const Error got = call();
  if (is_lent) --impl->borrows;
  if (p.settle(expected, got) && !is_certain) change();
}

/// What a resize is expected to do.
struct Resize {
  Error error = Error::Ok;
  bool grows = false;
  Vector order;
  int64_t kept = 0;
  int64_t capacity = 0;
};
inline Resize plan_resize(const Slot& slot, const Vector& sizes) {
  Resize plan;
  plan.error = expect_resize(slot, sizes, plan.grows);
  if (plan.error != Error::Ok) return plan;
  const Impl& impl = *slot.impl;
  const bool keeps_order = sizes.size() == impl.shape.sizes.size();
  plan.order = row_major(sizes.size());
  if (keeps_order && slot.tensor->dim() == static_cast<int64_t>(sizes.size())) {
    plan.order = Program::order_of(slot);
  }
  plan.kept = std::min(impl.reach(), product(sizes));
  plan.capacity = impl.capacity;
  return plan;
}
inline void run_resize(const Program& p, const Resize& plan, Impl& impl, const Vector& sizes) {
  if (sizes == impl.shape.sizes) return;
  if (plan.grows) {
    // It asks for twice the capacity, and for what is needed if that fails. A pool asks twice.
    const Backend* const owner = impl.owner;
    const bool is_pooled = owner == &p.backends.pooled_device || owner == &p.backends.pooled_host ||
                           owner == &p.backends.tracked_pool;
    const int64_t numel = product(sizes);
    const bool doubles = 2 * plan.capacity > numel && (!p.backends.trouble.happened || is_pooled);
    grow(p, impl, doubles ? 2 * plan.capacity : numel, plan.kept);
  }
  impl.shape = dense_shape(impl.shape.type, sizes, plan.order, impl.shape.start);
  if (sizes.empty()) impl.dynamism = TensorShapeDynamism::STATIC;
}
/// The model alone.
inline Error resize_model(const Program& p, const Slot& slot, const Vector& sizes) {
  const Resize plan = plan_resize(slot, sizes);
  if (plan.error == Error::Ok) run_resize(p, plan, *slot.impl, sizes);
  return plan.error;
}
inline void resize(Program& p, Slot& slot, const Vector& sizes) {
  const Resize plan = plan_resize(slot, sizes);
  const std::shared_ptr<Impl> impl = slot.impl;
  call_and_change(
      p, impl.get(), plan.error, plan.grows, [&] { run_resize(p, plan, *impl, sizes); },
      [&] { return tenon::resize_tensor_ptr(slot.tensor, sizes); });
}

inline void resize_step(Program& p) {
  Slot& slot = p.any_slot();
  Vector sizes = p.any_sizes();
  if (slot.impl != nullptr && p.in.flip()) sizes.resize(slot.impl->shape.sizes.size(), 2);
  if (!sizes.empty() && p.in.choose(8) == 0) {
    // Negative, or more than the address space.
    if (p.in.flip()) {
      sizes[0] = -1;
    } else {
      sizes.resize(sizes.size() + 2, int64_t{1} << 61);
    }
  } else if (product(sizes) > 512) {
    return;
  }
  const std::shared_ptr<Impl> impl = slot.impl;
  resize(p, slot, sizes);
  Program::learn_address(slot);
}

inline void reserve_step(Program& p) {
  Slot& slot = p.any_slot();
  const bool is_absurd = p.in.choose(16) == 0;
  const size_t nbytes = is_absurd ? SIZE_MAX - p.in.choose(256) : 8 * p.in.choose(256);
  Error expected = Program::check_defined(slot);
  const std::shared_ptr<Impl> impl = slot.impl;
  const auto item = impl != nullptr ? static_cast<size_t>(impl->shape.item()) : 1;
  const bool grows = expected == Error::Ok && nbytes > static_cast<size_t>(impl->capacity) * item;
  if (grows) {
    if (is_absurd) {
      expected = Error::InvalidArgument;
    } else if (impl->dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND) {
      expected = Error::NotSupported;
    } else {
      expected = check_growth(*impl);
    }
  }
  const auto change = [&] {
    const auto asked = static_cast<int64_t>((nbytes + item - 1) / item);
    if (grows) grow(p, *impl, std::max(asked, impl->reach()), impl->reach());
  };
  call_and_change(p, impl.get(), expected, grows, change,
                  [&] { return tenon::reserve_tensor_ptr(slot.tensor, nbytes); });
  Program::learn_address(slot);
}

inline void forget_memory(Impl& impl) {
  impl.deallocated = true;
  impl.memory = nullptr;
  impl.owner = nullptr;
  impl.capacity = 0;
  impl.borrow = nullptr;
  impl.duty = nullptr;
}
inline void deallocate(Slot& slot) {
  if (slot.impl == nullptr) return;
  const std::shared_ptr<Impl> impl = slot.impl;
  const auto expected = impl->deallocated  ? tenon::Deallocation::AlreadyDeallocated
                        : is_shared(*impl) ? tenon::Deallocation::InUse
                                           : tenon::Deallocation::Ok;
  if (expected == tenon::Deallocation::Ok) forget_memory(*impl);
  FUZZ_CHECK(tenon::backend_deallocate(slot.tensor) == expected);
}
inline void deallocate_step(Program& p) { deallocate(p.any_slot()); }

/// Other memory of the caller's.
inline void set_data_step(Program& p) {
  Slot& slot = p.any_slot();
  if (slot.impl == nullptr || slot.impl->owner != nullptr || !slot.impl->host) return;
  Impl& impl = *slot.impl;
  const bool is_null = p.in.flip();
  const Error expected = impl.deallocated ? Error::InvalidState : Error::Ok;
  const int64_t low = impl.lowest();
  int64_t end = impl.shape.start + impl.capacity * impl.shape.item();
  for (const int64_t at : impl.shape.at) end = std::max(end, at + impl.shape.item());
  p.lent.push_back(noise(impl.shape.type, (end - low) / impl.shape.item(), p.in.take<uint8_t>()));
  Bytes& bytes = p.lent.back();
  Error got = Error::Ok;
  void* const start = is_null ? nullptr : bytes.data() + (impl.shape.start - low);
  try {
    slot.tensor->unsafeGetTensorImpl()->set_data(start);
  } catch (const tenon::Exception& e) {
    got = e.error();
  }
  if (!p.settle(expected, got)) return;
  impl.ownership = Ownership::Borrowed;
  impl.readonly = false;
  if (impl.dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND) impl.settle(impl.dynamism);
  for (int64_t& at : impl.shape.at) at -= low;
  impl.shape.start -= low;
  impl.memory = nullptr;
  if (is_null || (bytes.empty() && impl.numel() == 0)) return;
  impl.memory = std::make_shared<Memory>(bytes);
  impl.memory->real = reinterpret_cast<const char*>(bytes.data());
}

}  // namespace fuzz
