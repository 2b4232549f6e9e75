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
inline Error unless_refused(bool is_unsure, Error expected, Error got) {
  return is_unsure && got == Error::InvalidArgument ? got : expected;
}

/// Values of a C++ type, moved or copied, dense or with gaps.
template <class T>
void make_values(Program& p) {
  constexpr ScalarType type = tenon::CppTypeToScalarType<T>::value;
  const TensorShapeDynamism dynamism = p.any_dynamism();
  Vector sizes, order, strides;
  Shape shape;
  bool is_unsure = false;
  Error expected = choose_owned_shape(p, type, sizes, order, strides, shape, is_unsure);
  const bool moves = p.in.flip();
  Backend* const given = p.any_backend();
  auto impl = p.make_owned(shape, dynamism, p.where(given));
  const Bytes bytes = noise(type, impl->reach(), p.in.take<uint8_t>());
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (impl->memory != nullptr) {
    impl->memory->bytes = bytes;
    impl->memory->known.assign(bytes.size(), 1);
  }
  if (moves && impl->owner == nullptr) impl->ownership = Ownership::Adopted;
  auto made = with_backend(given, [&](auto&... backend) {
    return moves ? tenon::try_make_tensor_ptr(sizes, std::move(values), order, strides, dynamism,
                                              backend...)
                 : tenon::try_make_tensor_ptr(sizes, values, order, strides, dynamism, backend...);
  });
  expected = unless_refused(is_unsure, expected, made.error());
  p.add(expected, std::move(made), impl);
}

/// Of one number in all elements, or of any.
inline void make_new(Program& p) {
  const ScalarType type = p.any_type();
  const TensorShapeDynamism dynamism = p.any_dynamism();
  Backend* const given = p.any_backend();
  const bool is_full = p.in.choose(8) != 3;
  const Vector sizes = p.any_sizes();
  const int64_t value = is_full ? any_value(p, type) : 0;
  auto impl = p.make_owned(dense_shape(type, sizes), dynamism, p.where(given));
  if (is_full && impl->memory != nullptr) {
    write(*impl, Elements(type, impl->numel(), number(type, value)));
  }
  auto made = with_backend(given, [&](auto&... backend) {
    return is_full ? tenon::try_full(sizes, value, type, dynamism, backend...)
                   : tenon::try_empty(sizes, type, dynamism, backend...);
  });
  p.add(Error::Ok, std::move(made), impl);
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
  const bool has_deleter = which >= 2 && which <= 4;
  const bool has_owner = which >= 4;
  impl->readonly = p.in.choose(4) == 0;
  impl->ownership = which < 2 ? Ownership::Borrowed : Ownership::Adopted;
  void* const start = bytes.data() + impl->shape.start;
  p.releases.emplace_back();
  Release* const release = &p.releases.back();
  impl->duty = which < 2 ? nullptr : std::make_shared<Duty>(*release, has_deleter + has_owner);
  const auto what = p.in.take<uint8_t>();
  const auto slot = p.in.take<uint8_t>();
  tenon::TensorPtrMaker maker =
      tenon::for_blob(tenon::detail::DataPtr(start, impl->readonly), sizes, type)
          .strides(strides)
          .dynamism(dynamism);
  if (has_owner) maker = std::move(maker).owner(Owner(*release));
  if (which == 3) {
    maker = std::move(maker).deleter(CountingDeleter<64>{&p, release, start, what, slot});
  } else if (has_deleter) {
    maker = std::move(maker).deleter(CountingDeleter<1>{&p, release, start, what, slot});
  }
  if (which == 1 || which == 5) {
    Backend& given = which == 5 && p.in.flip() ? static_cast<Backend&>(p.backends.arena)
                                               : static_cast<Backend&>(p.backends.host);
    p.place(*impl, &given);
    maker = std::move(maker).backend(given);
  }
  p.add(Error::Ok, std::move(maker).try_make_tensor_ptr(), impl);
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
    case 0:
    case 2: return make_values<float>(p);
    case 1:
    case 3: return make_values<int64_t>(p);
    case 6:
    case 9: return make_over(p);
    case 7: return make_placeholder(p);
    default: return make_new(p);
  }
}

}  // namespace fuzz
