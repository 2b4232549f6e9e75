// SPDX-License-Identifier: MIT
// Steps that make tensors: of values, over memory, by creators.
#pragma once

#include "fuzz/program.h"

namespace fuzz {

/// Calls f() with a backend, or without one where it is null.
template <class F>
auto with_backend(Backend* given, const F& f) {
  return given == nullptr ? f() : f(*given);
}

/// The bytes of a small whole number.
inline Bytes number(ScalarType type, int64_t value) {
  unsigned char bits[8];
  tests::write_bits(bits, 8, static_cast<uint64_t>(value));
  Bytes out(tenon::elementSize(type));
  tests::cast_by_hand(type, out.data(), ScalarType::Long, bits, CastMode::Truncate);
  return out;
}
/// One that is exact in all types.
inline int64_t any_value(Program& p, ScalarType type) {
  return static_cast<int64_t>(p.in.choose(type == ScalarType::Bool ? 2 : 8));
}

/// A shape for a tensor that owns its memory, or the error of its lists.
inline Error choose_owned_shape(Program& p, ScalarType type, Vector& sizes, Vector& order,
                                Vector& strides, Shape& shape, bool& is_unsure) {
  sizes = p.any_sizes();
  switch (p.in.choose(4)) {
    case 0: order = p.any_order(sizes.size()); break;
    case 1: strides = p.any_strides(sizes.size()); break;
    default: break;
  }
  if (strides.empty()) {
    shape = dense_shape(type, sizes, order.empty() ? row_major(sizes.size()) : order);
    return Error::Ok;
  }
  shape = shape_of(type, sizes, strides);
  if (shape.at.empty()) return Error::Ok;
  if (*std::min_element(shape.at.begin(), shape.at.end()) < 0) return Error::InvalidArgument;
  if (has_overlap(shape)) return Error::InvalidArgument;
  int64_t reach = 1;
  for (size_t d = 0; d < sizes.size(); ++d) reach += (sizes[d] - 1) * strides[d];
  // Elements that lie as close as can be nest; with gaps some that do not collide may be refused.
  is_unsure = reach != static_cast<int64_t>(shape.at.size());
  return Error::Ok;
}

/// The expected error, or the refusal if the strides may be refused and were.
template <class T>
Error unless_refused(bool is_unsure, Error expected, const Result<T>& got) {
  return is_unsure && got.error() == Error::InvalidArgument ? got.error() : expected;
}

/// Values of a C++ type, moved or copied, cast or not, dense or with gaps.
template <class T>
void make_values(Program& p) {
  constexpr ScalarType from = tenon::CppTypeToScalarType<T>::value;
  const bool has_type = p.in.flip();
  const ScalarType type = has_type ? p.any_type() : from;
  const TensorShapeDynamism dynamism = p.any_dynamism();
  Vector sizes, order, strides;
  Shape shape;
  bool is_unsure = false;
  Error expected = choose_owned_shape(p, type, sizes, order, strides, shape, is_unsure);
  const bool may_refuse_shape = expected != Error::Ok || is_unsure;
  const bool moves = p.in.flip();
  Backend* const given = p.any_backend();
  auto impl = p.make_owned(shape, dynamism, p.where(given));
  int64_t count = impl->reach();
  if (p.in.choose(8) == 0) {
    count += 1;
    if (expected == Error::Ok) expected = Error::InvalidArgument;
    is_unsure = false;
  }
  if (has_type && !can_cast(from, type)) {
    expected = Error::InvalidType;
    is_unsure = false;
  }
  Bytes bytes = noise(from, count, p.in.take<uint8_t>());
  std::vector<T> values(static_cast<size_t>(count));
  if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (expected == Error::Ok && type != from &&
      impl->memory != nullptr) {  // else nothing is made of them
    for (const T& value : values) {
      unsigned char element[16];
      const Error fits =
          tenon::detail::store_scalar(type, tenon::detail::load_scalar(from, &value), element);
      if (fits != Error::Ok) expected = fits;
    }
  }
  if (expected == Error::Ok && impl->memory != nullptr) {
    Elements elements(from, 0);
    elements.bytes = bytes;
    elements.known.assign(bytes.size(), 1);
    const Elements made = cast(elements, type, CastMode::Checked);
    impl->memory->bytes = made.bytes;
    impl->memory->known = made.known;
  }
  if (moves && impl->owner == nullptr && type == from) impl->ownership = Ownership::Adopted;
  auto made = with_backend(given, [&](auto&... backend) {
    const tenon::detail::TypeArg asked(type);
    if (has_type) {
      return moves ? tenon::try_make_tensor_ptr(sizes, std::move(values), order, strides, asked,
                                                dynamism, backend...)
                   : tenon::try_make_tensor_ptr(sizes, values, order, strides, asked, dynamism,
                                                backend...);
    }
    return moves ? tenon::try_make_tensor_ptr(sizes, std::move(values), order, strides, dynamism,
                                              backend...)
                 : tenon::try_make_tensor_ptr(sizes, values, order, strides, dynamism, backend...);
  });
  expected = unless_refused(is_unsure, expected, made);
  // Strides are laid out before the type is looked at.
  if (expected == Error::InvalidType && may_refuse_shape &&
      made.error() == Error::InvalidArgument) {
    expected = Error::InvalidArgument;
  }
  p.add(expected, std::move(made), impl);
}

/// Bytes that are taken as a type's elements.
inline void make_bytes(Program& p) {
  const ScalarType type = p.any_type();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const Vector sizes = p.any_sizes();
  Backend* const given = p.any_backend();
  const bool moves = p.in.flip();
  auto impl = p.make_owned(dense_shape(type, sizes), dynamism, p.where(given));
  Bytes bytes = noise(type, impl->numel(), p.in.take<uint8_t>());
  if (impl->memory != nullptr) {
    const auto reader = impl->memory->reader;
    impl->memory = std::make_shared<Memory>(bytes);
    impl->memory->reader = reader;
  }
  if (moves && impl->owner == nullptr) impl->ownership = Ownership::Adopted;
  std::vector<uint8_t> values(bytes.begin(), bytes.end());
  auto made = with_backend(given, [&](auto&... backend) {
    return moves ? tenon::try_from_bytes(sizes, std::move(values), type, dynamism, backend...)
                 : tenon::try_from_bytes(sizes, values, type, dynamism, backend...);
  });
  p.add(Error::Ok, std::move(made), impl);
}

/// Creators that are given sizes.
inline void make_new(Program& p) {
  const ScalarType type = p.any_type();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  Backend* const given = p.any_backend();
  const size_t which = p.in.choose(8);
  if (which < 4) {
    const Vector sizes = p.any_sizes();
    auto impl = p.make_owned(dense_shape(type, sizes), dynamism, p.where(given));
    const int64_t value = which == 2 ? any_value(p, type) : which == 1 ? 1 : 0;
    if (which != 3 && impl->memory != nullptr) {
      write(*impl, Elements(type, impl->numel(), number(type, value)));
    }
    p.add(Error::Ok,
          with_backend(given,
                       [&](auto&... backend) {
                         switch (which) {
                           case 0: return tenon::try_zeros(sizes, type, dynamism, backend...);
                           case 1: return tenon::try_ones(sizes, type, dynamism, backend...);
                           case 2: return tenon::try_full(sizes, value, type, dynamism, backend...);
                           default: return tenon::try_empty(sizes, type, dynamism, backend...);
                         }
                       }),
          impl);
    return;
  }
  if (which == 4) {
    Vector sizes, order, strides;
    Shape shape;
    bool is_unsure = false;
    Error expected = choose_owned_shape(p, type, sizes, order, strides, shape, is_unsure);
    if (strides.empty()) shape = dense_shape(type, sizes);
    auto impl = p.make_owned(shape, dynamism, p.where(given));
    const int64_t value = any_value(p, type);
    if (impl->memory != nullptr && expected == Error::Ok) {
      // Gaps too.
      const Bytes one = number(type, value);
      const Elements all(type, impl->reach(), one);
      impl->memory->bytes = all.bytes;
      impl->memory->known = all.known;
    }
    auto made = with_backend(given, [&](auto&... backend) {
      return tenon::try_full_strided(sizes, strides, value, type, dynamism, backend...);
    });
    expected = unless_refused(is_unsure, expected, made);
    return p.add(expected, std::move(made), impl);
  }
  if (which == 5) {
    // Counted, along an axis or through all elements.
    constexpr ScalarType kWide[] = {ScalarType::Int, ScalarType::Long, ScalarType::Float,
                                    ScalarType::Double, ScalarType::Short};
    const ScalarType wide = kWide[p.in.choose(std::size(kWide))];
    const Vector sizes = p.any_sizes();
    const auto rank = static_cast<int64_t>(sizes.size());
    const bool has_axis = p.in.flip();
    const int64_t axis = p.any_number();
    auto impl = p.make_owned(dense_shape(wide, sizes), dynamism, p.where(given));
    Error expected = Error::Ok;
    if (has_axis && (axis < -rank || axis >= rank)) expected = Error::OutOfBounds;
    if (expected == Error::Ok && impl->memory != nullptr) {
      Elements elements(wide, 0);
      for (int64_t i = 0; i < impl->numel(); ++i) {
        int64_t value = i;
        if (has_axis) {
          const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
          for (size_t inner = d + 1; inner < sizes.size(); ++inner) value /= sizes[inner];
          value %= sizes[d];
        }
        const Bytes one = number(wide, value);
        elements.bytes.insert(elements.bytes.end(), one.begin(), one.end());
      }
      elements.known.assign(elements.bytes.size(), 1);
      write(*impl, elements);
    }
    auto made = with_backend(given, [&](auto&... backend) {
      return has_axis ? tenon::try_iota(sizes, axis, wide, dynamism, backend...)
                      : tenon::try_iota(sizes, wide, dynamism, backend...);
    });
    return p.add(expected, std::move(made), impl);
  }
  if (which == 6) {
    const auto n = static_cast<int64_t>(p.in.choose(6));
    const auto m = static_cast<int64_t>(p.in.choose(6));
    auto impl = p.make_owned(dense_shape(type, {n, m}), dynamism, p.where(given));
    if (impl->memory != nullptr) {
      Elements elements(type, 0);
      for (int64_t i = 0; i < n * m; ++i) {
        const Bytes one = number(type, i / m == i % m ? 1 : 0);
        elements.bytes.insert(elements.bytes.end(), one.begin(), one.end());
      }
      elements.known.assign(elements.bytes.size(), 1);
      write(*impl, elements);
    }
    auto made = with_backend(
        given, [&](auto&... backend) { return tenon::try_eye(n, m, type, dynamism, backend...); });
    return p.add(Error::Ok, std::move(made), impl);
  }
  const int64_t value = any_value(p, type);
  auto impl = p.make_owned(dense_shape(type, {}), dynamism, p.where(given));
  if (impl->memory != nullptr) write(*impl, Elements(type, 1, number(type, value)));
  p.add(Error::Ok,
        with_backend(
            given,
            [&](auto&... backend) { return tenon::try_scalar_tensor(value, type, backend...); }),
        impl);
}

/// Whose the memory is of a tensor like `from`, which has none: a clone of a meta tensor is one.
inline Ownership placeholder_ownership(const Impl& from) {
  return from.is_meta() && from.ownership != Ownership::Borrowed ? Ownership::Owned
                                                                 : Ownership::Borrowed;
}

/// Of the sizes and the type of another tensor.
inline void make_like(Program& p) {
  const Slot& source = p.any_slot();
  Backend* const given = p.any_backend();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const bool has_type = p.in.flip();
  const ScalarType chosen = p.any_type();
  Error expected = Program::check_defined(source);
  auto impl = std::make_shared<Impl>();
  int64_t value = 0;
  if (expected == Error::Ok) {
    const Impl& from = *source.impl;
    const ScalarType type = has_type ? chosen : from.shape.type;
    value = any_value(p, type);
    Backend* owner = given != nullptr ? p.where(given) : from.owner;
    if (given == nullptr && owner == nullptr && !from.device.is_cpu() && !from.is_meta()) {
      owner = p.registered(from.device);
      if (owner == nullptr) expected = Error::NotSupported;
    }
    const bool is_placeholder = from.is_meta() && from.owner == nullptr && given == nullptr;
    impl = p.make_owned(dense_shape(type, from.shape.sizes, Program::order_of(source)), dynamism,
                        owner);
    if (is_placeholder) {
      impl->shape = from.shape;
      impl->shape.type = type;
      impl->memory = nullptr;
      impl->ownership = placeholder_ownership(from);
      impl->device = from.device;
      impl->host = false;
      impl->capacity = std::min(from.reach(), from.numel());
    }
    if (impl->memory != nullptr) {
      write(*impl, Elements(type, impl->numel(), number(type, value)));
    }
  }
  auto made = with_backend(given, [&](auto&... backend) {
    if (source.tensor == nullptr) return tenon::try_full_like(source.tensor, value);
    return has_type ? tenon::try_full_like(source.tensor, value, chosen, dynamism, backend...)
                    : tenon::try_full_like(source.tensor, value, dynamism, backend...);
  });
  if (impl->is_meta() && impl->memory == nullptr && expected == Error::Ok &&
      impl->owner == nullptr && !made.ok()) {
    expected = made.error();
  }
  p.add(expected, std::move(made), impl);
}

/// A deleter, which may be too large to lie in a tensor. It may use tensors.
template <size_t kSize>
struct CountingDeleter {
  Program* program;
  Release* release;
  void* expected;
  uint8_t what;
  uint8_t which;
  char padding[kSize] = {};
  void operator()(void* p) noexcept {
    FUZZ_CHECK(p == expected);
    ++release->done;
    program->interfere(what, which, true);
  }
};
/// What a tensor keeps alive until after its deleter has run.
struct Owner {
  explicit Owner(Release& of) : release(&of) {}
  Owner(Owner&& other) noexcept : release(std::exchange(other.release, nullptr)) {}
  Owner& operator=(Owner&&) = delete;
  ~Owner() {
    if (release != nullptr) ++release->done;
  }
  Release* release;
};

/// Over memory of the program's, lent or given with a deleter and owners.
inline void make_over(Program& p) {
  const ScalarType type = p.any_type();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const Vector sizes = p.any_sizes();
  const bool has_strides = p.in.flip();
  const Vector strides = has_strides ? p.any_strides(sizes.size()) : Vector();
  auto impl = std::make_shared<Impl>();
  impl->shape =
      has_strides && !sizes.empty() ? shape_of(type, sizes, strides) : dense_shape(type, sizes);
  const int64_t low = impl->lowest();
  impl->settle(dynamism);
  for (int64_t& at : impl->shape.at) at -= low;
  impl->shape.start = -low;
  // As many bytes as they reach, so that a sanitizer sees an access beyond them.
  int64_t end = 0;
  for (const int64_t at : impl->shape.at) end = std::max(end, at + impl->shape.item());
  const int64_t count = end / impl->shape.item();
  p.lent.push_back(noise(type, count, p.in.take<uint8_t>()));
  Bytes& bytes = p.lent.back();
  bytes.shrink_to_fit();
  impl->memory = std::make_shared<Memory>(bytes);
  impl->memory->real = reinterpret_cast<const char*>(bytes.data());
  const size_t which = p.in.choose(6);
  impl->readonly = p.in.choose(4) == 0;
  impl->ownership = which < 2 ? Ownership::Borrowed : Ownership::Adopted;
  void* const start = bytes.data() + impl->shape.start;
  const tenon::detail::DataPtr data(start, impl->readonly);
  if (which >= 2) {
    p.releases.emplace_back();
    impl->duty = std::make_shared<Duty>(p.releases.back());
  }
  Release* const release = which >= 2 ? &p.releases.back() : nullptr;
  const auto what = p.in.take<uint8_t>();
  const auto slot = p.in.take<uint8_t>();
  const auto make = [&]() -> Result<TensorPtr> {
    switch (which) {
      case 0: return tenon::try_from_blob(data, sizes, strides, type, dynamism);
      case 1: {
        if (has_strides)
          return tenon::try_make_tensor_ptr(sizes, data, {}, strides, type, dynamism);
        Backend* const given = &p.backends.host;
        p.place(*impl, given);
        return tenon::try_from_blob(data, sizes, type, dynamism, *given);
      }
      case 2:
        return tenon::try_from_blob(data, sizes, strides, type,
                                    CountingDeleter<1>{&p, release, start, what, slot}, dynamism);
      case 3:
        return tenon::try_make_tensor_ptr(sizes, data, {}, strides, type, dynamism,
                                          CountingDeleter<64>{&p, release, start, what, slot});
      case 4: {
        // The deleter first, then the owners.
        p.releases.emplace_back();
        Release& second = p.releases.back();
        auto both = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>();
        both->first = std::move(impl->duty);
        both->second = std::make_shared<Duty>(second);
        impl->duty = both;
        return tenon::for_blob(data, sizes, type)
            .strides(strides)
            .owner(Owner(second))
            .dynamism(dynamism)
            .deleter(CountingDeleter<1>{&p, release, start, what, slot})
            .try_make_tensor_ptr();
      }
      default: {
        Backend* const given = p.in.flip() ? static_cast<Backend*>(&p.backends.arena)
                                           : static_cast<Backend*>(&p.backends.host);
        p.place(*impl, given);
        return tenon::for_blob(data, sizes, type)
            .owner(Owner(*release))
            .strides(strides)
            .backend(*given)
            .dynamism(dynamism)
            .try_make_tensor_ptr();
      }
    }
  };
  auto made = make();
  p.add(Error::Ok, std::move(made), impl);
}

inline void make_placeholder(Program& p) {
  const ScalarType type = p.any_type();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  const Vector sizes = p.any_sizes();
  auto impl = std::make_shared<Impl>();
  impl->shape = dense_shape(type, sizes);
  impl->settle(dynamism);
  impl->ownership = Ownership::Borrowed;
  p.add(Error::Ok, tenon::try_make_tensor_ptr(sizes, nullptr, type, dynamism), impl);
}

inline void make_step(Program& p) {
  switch (p.in.choose(10)) {
    case 0: return make_values<float>(p);
    case 1: return make_values<int32_t>(p);
    case 2: return make_values<double>(p);
    case 3: return make_values<int64_t>(p);
    case 4: return make_bytes(p);
    case 5: return make_like(p);
    case 6:
    case 9: return make_over(p);
    case 7: return make_placeholder(p);
    default: return make_new(p);
  }
}

}  // namespace fuzz
