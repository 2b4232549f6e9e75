// SPDX-License-Identifier: MIT
// Steps that move elements: between tensors, to new ones, to other backends.
#pragma once

#include "fuzz/make_steps.h"
#include "fuzz/program.h"
#include "fuzz/resize_steps.h"

namespace fuzz {

/// Whether copying between them may take a temporary.
inline bool may_stage(const Slot& a, const Slot& b) { return touches(*a.impl, *b.impl); }

/// Updates the model after a write of `elements`: they are there if it succeeded, and unknown if a
/// backend failed.
inline void settle_write(Program& p, Error expected, Error got, const std::shared_ptr<Impl>& impl,
                         const Elements& elements) {
  if (p.settle(expected, got)) {
    if (impl->memory != nullptr) write(*impl, elements);
  } else if (p.backends.trouble.happened && impl != nullptr && expected == Error::Ok) {
    forget(*impl);
  }
}

/// Another tensor over the memory of `slot` and of its sizes; any tensor if there is none.
inline Slot& any_overlapping(Program& p, const Slot& slot) {
  Slot& first = p.any_slot();
  for (Slot& other : p.slots) {
    if (slot.impl != nullptr && slot.impl->memory != nullptr && other.impl != nullptr &&
        other.impl != slot.impl && other.impl->memory == slot.impl->memory &&
        other.impl->shape.sizes == slot.impl->shape.sizes) {
      return other;
    }
  }
  return first;
}

inline void copy_step(Program& p) {
  Slot& dst = p.any_slot();
  Slot& src = p.in.flip() ? p.any_slot() : any_overlapping(p, dst);
  const CastMode mode = p.any_mode();
  const bool may_allocate = p.in.choose(4) != 0;
  const auto policy =
      may_allocate ? tenon::CopyPolicy::AllowTemporary : tenon::CopyPolicy::NoTemporary;
  bool is_unsure = false;
  Error expected = p.check_destination(dst, is_unsure);
  if (expected == Error::Ok) expected = p.check_source(src);
  Elements elements;
  if (expected == Error::Ok) {
    const Impl& from = *src.impl;
    const Impl& to = *dst.impl;
    if (mode == CastMode::Checked && from.shape.type != to.shape.type &&
        !can_cast(from.shape.type, to.shape.type)) {
      expected = Error::InvalidType;
    } else if (!broadcast(read(from), from.shape.sizes, to.shape.sizes, elements)) {
      expected = Error::InvalidArgument;
    } else {
      elements = cast(elements, to.shape.type, mode);
    }
  }
  const std::shared_ptr<Impl> impl = dst.impl;
  const Error got = tenon::copy_(dst.tensor, src.tensor, mode, policy);
  expected = unless_refused(is_unsure, expected, got);
  if (!may_allocate && expected == Error::Ok && got == Error::NotSupported) {
    FUZZ_CHECK(may_stage(dst, src));
    expected = got;
  }
  settle_write(p, expected, got, impl, elements);
}

inline void fill_step(Program& p) {
  Slot& slot = p.any_slot();
  const bool is_zero = p.in.flip();
  bool is_unsure = false;
  Error expected = p.check_destination(slot, is_unsure);
  const std::shared_ptr<Impl> impl = slot.impl;
  int64_t value = 0;
  Elements elements;
  if (expected == Error::Ok) {
    const ScalarType type = impl->shape.type;
    if (!is_zero) value = any_value(p, type);
    elements = Elements(type, impl->numel(), number(type, value));
    if (!is_zero && elements.type == ScalarType::Byte && p.in.choose(4) == 0) {
      value = 256;
      expected = Error::InvalidArgument;
      is_unsure = false;
    }
  }
  const Error got = is_zero ? tenon::zero_(slot.tensor) : tenon::fill_(slot.tensor, value);
  expected = unless_refused(is_unsure, expected, got);
  settle_write(p, expected, got, impl, elements);
}

/// Where a clone is to be, or why there is none.
inline Error plan_clone(const Program& p, const Slot& source, Backend* given, Backend*& owner,
                        bool& is_placeholder) {
  const Error error = Program::check_defined(source);
  if (error != Error::Ok) return error;
  const Impl& from = *source.impl;
  const bool has_nothing = from.is_meta() || from.is_placeholder();
  owner = nullptr;
  is_placeholder = false;
  if (given == nullptr && from.owner == nullptr && (from.device.is_cpu() || has_nothing)) {
    is_placeholder = has_nothing;
    return Error::Ok;
  }
  if (given != nullptr) {
    owner = given == &tenon::host_backend() ? nullptr : given;
  } else if (from.owner != nullptr) {
    owner = from.owner;
  } else {
    owner = p.registered(from.device);
    if (owner == nullptr) return Error::NotSupported;
  }
  const bool to_template = owner != nullptr && owner->device().type() == tenon::DeviceType::Meta;
  if (has_nothing && !to_template) return p.check_source(source);
  return to_template ? Error::Ok : p.check_source(source);
}

/// Whose the memory is of a clone of `from`, which has none.
inline Ownership placeholder_ownership(const Impl& from) {
  return from.is_meta() && from.ownership != Ownership::Borrowed ? Ownership::Owned
                                                                 : Ownership::Borrowed;
}

/// The clone of a tensor.
inline std::shared_ptr<Impl> clone_of(const Program& p, const Slot& source, ScalarType type,
                                      CastMode mode, Backend* owner, bool is_placeholder) {
  const Impl& from = *source.impl;
  auto impl = p.make_owned(dense_shape(type, from.shape.sizes, Program::order_of(source)),
                           from.dynamism, owner);
  if (is_placeholder) {
    impl->shape = shape_of(type, from.shape.sizes, Program::list(source.tensor->strides()));
    impl->settle(from.dynamism);
    impl->memory = nullptr;
    impl->ownership = placeholder_ownership(from);
    impl->device = from.device;
    impl->host = from.device.is_cpu();
  } else if (impl->memory != nullptr) {
    write(*impl, cast(read(from), type, mode));
  }
  return impl;
}

inline void clone_step(Program& p) {
  Slot& source = p.any_slot();
  const size_t which = p.in.choose(6);
  const bool has_type = p.in.flip();
  const ScalarType chosen = p.any_type();
  Backend* const given = p.any_backend();
  Backend* owner = nullptr;
  bool is_placeholder = false;
  const TensorPtr& t = source.tensor;
  const auto type_of = [&](bool asked) {
    return asked || source.impl == nullptr ? chosen : source.impl->shape.type;
  };
  const auto model = [&](Error expected, bool asked, CastMode mode) {
    return expected == Error::Ok ? clone_of(p, source, type_of(asked), mode, owner, is_placeholder)
                                 : nullptr;
  };
  const auto refuses_cast = [&](CastMode mode) {
    return Program::check_defined(source) == Error::Ok && mode == CastMode::Checked &&
           source.impl->shape.type != chosen && !can_cast(source.impl->shape.type, chosen);
  };
  switch (which) {
    case 0:
    case 1: {
      Error expected = plan_clone(p, source, given, owner, is_placeholder);
      if (has_type && refuses_cast(CastMode::Checked)) expected = Error::InvalidType;
      auto impl = model(expected, has_type, CastMode::Checked);
      auto made = with_backend(given, [&](auto&... backend) {
        return has_type ? tenon::try_clone_tensor_ptr(t, chosen, backend...)
                        : tenon::try_clone_tensor_ptr(t, backend...);
      });
      return p.add(expected, std::move(made), impl);
    }
    case 2: {
      const CastMode mode = p.any_mode();
      if (Program::check_defined(source) == Error::Ok && source.impl->shape.type == chosen) {
        return p.add(Error::Ok, tenon::try_to(t, chosen, mode), source.impl);
      }
      Error expected = plan_clone(p, source, nullptr, owner, is_placeholder);
      if (refuses_cast(mode)) expected = Error::InvalidType;
      auto impl = model(expected, true, mode);
      return p.add(expected, tenon::try_to(t, chosen, mode), impl);
    }
    case 3: {
      Error expected = Program::check_defined(source);
      if (expected == Error::Ok && source.impl->is_contiguous()) {
        return p.add(Error::Ok, tenon::try_contiguous(t), source.impl);
      }
      std::shared_ptr<Impl> impl;
      if (expected == Error::Ok) {
        impl = p.row_major_copy(source, source.impl->shape.sizes, expected);
      }
      return p.add(expected, tenon::try_contiguous(t), impl);
    }
    case 4: {
      if (given == nullptr) {
        // To a device.
        const size_t target = p.in.choose(3);
        const tenon::Device device = target == 0   ? tenon::Device()
                                     : target == 1 ? p.backends.device.device()
                                                   : p.backends.other.device();
        Backend* const there = target == 0 ? &tenon::host_backend() : p.registered(device);
        Error expected = there == nullptr ? Error::NotFound
                                          : plan_clone(p, source, there, owner, is_placeholder);
        auto impl = model(expected, false, CastMode::Checked);
        return p.add(expected, tenon::try_clone_tensor_ptr_to(t, device), impl);
      }
      const Error expected = plan_clone(p, source, given, owner, is_placeholder);
      auto impl = model(expected, false, CastMode::Checked);
      return p.add(expected, tenon::try_backend_copy(t, *given), impl);
    }
    default: {
      if (given == nullptr) return;
      const std::shared_ptr<Impl> from = source.impl;
      Error expected = Program::check_defined(source);
      if (expected == Error::Ok) {
        const bool lives_there = from->owner != nullptr  ? from->owner == given
                                 : from->device.is_cpu() ? given == &tenon::host_backend()
                                                         : from->device == given->device() &&
                                                               p.registered(from->device) == given;
        if (lives_there) return p.add(Error::Ok, tenon::try_backend_transfer(t, *given), from);
        expected =
            is_shared(*from) ? Error::InUse : plan_clone(p, source, given, owner, is_placeholder);
      }
      auto impl = model(expected, false, CastMode::Checked);
      // Before the call, as its deleter runs in it.
      if (from != nullptr && has_deleter(*from)) p.backends.trouble.kind = Trouble::Kind::None;
      const bool is_certain = p.backends.trouble.kind == Trouble::Kind::None;
      if (expected == Error::Ok && is_certain) forget_memory(*from);
      auto made = tenon::try_backend_transfer(t, *given);
      if (made.ok() && !is_certain) forget_memory(*from);
      return p.add(expected, std::move(made), impl);
    }
  }
}

}  // namespace fuzz
