// SPDX-License-Identifier: MIT
// empty, full, zeros and ones with their _like and _strided forms, and scalar_tensor.
//
// Each is a function object with a try_ twin that returns a Result. All own their memory, aligned
// to TENON_DATA_ALIGNMENT: the host's, or a backend's. Errors of all: InvalidArgument (a shape that
// make_layout() refuses, overlapping or negative strides, a value that does not fit the type),
// InvalidType (Undefined; a floating value for an integral type, a complex one for a real type),
// OutOfMemory.
#pragma once

#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// The backend for a tensor like `from`: the one that was given, else that of its memory, else the
/// one that is registered for its device; null for the host's heap.
inline Error find_backend_like(const TensorFields& from, Backend* given,
                               Backend*& backend) noexcept {
  if (given != nullptr) {
    backend = unless_host_heap(given);
    return Error::Ok;
  }
  TENON_TRY(find_owner(from, "the source tensor", backend));
  if (backend != nullptr || from.device.is_cpu() || from.is_template()) return Error::Ok;
  backend = find_backend(from.device);
  if (backend != nullptr || from.is_host_accessible()) return Error::Ok;
  return find_registered(from.device, "the source tensor", backend);
}

/// A tensor without data like `from`, on its device.
TENON_LAZY TENON_COLD Error make_placeholder(const TensorFields& from, ScalarType type,
                                             TensorShapeDynamism dynamism, Draft& draft) noexcept {
  TENON_TRY(check_type(type));
  TENON_TRY(new_impl(draft));
  ImplFields& made = fields(draft);
  made.layout = from.layout;
  TENON_TRY(made.layout.check(elementSize(type)));
  made.type = type;
  made.device = from.device;
  made.settle(dynamism);
  return Error::Ok;
}

/// Fills in where a tensor like `source` is to be: of its type and in its backend's memory, unless
/// options say otherwise. `placeholder` is set where it has no memory, because the source has none.
TENON_LAZY Error find_like(const TensorArg& source, const CreatorOptions& options, Making& making,
                           bool& placeholder) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  making.like = &from;
  making.lay_out = &lay_out_like<>;
  making.check_type = options.check_type();
  making.dynamism = options.dynamism;
  making.type = options.type.value_or(from.type);
  if (making.type == ScalarType::Undefined) making.type = from.type;  // as in ExecuTorch
  placeholder = from.is_template() && from.backend == nullptr && options.given_backend() == nullptr;
  if (placeholder) return Error::Ok;
  return find_backend_like(from, options.given_backend(), making.backend);
}

/// create() of a tensor like `source`.
template <class Out, class Make>
Out create_like(const char* function, const TensorArg& source, const CreatorOptions& options,
                const Make& make) {
  Making making;
  bool placeholder = false;
  const Error error = find_like(source, options, making, placeholder);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create<Out>(function, making, [&](Making& asked, auto& made) noexcept -> Error {
    if (TENON_UNLIKELY(placeholder)) {
      return make_placeholder(fields(source), asked.type, asked.dynamism, made.draft());
    }
    return make(asked, made);
  });
}

inline constexpr unsigned char kZeroElement[16] = {};

/// Makes all elements zero, which is zero bits in every type.
inline void set_zero(Making& making) noexcept {
  making.contents = Contents::Zero;
  making.element = kZeroElement;
}
/// Makes all elements `value`, kept in the 16 bytes at `element`.
template <bool kIsFloat>
Error set_element(Making& making, const Scalar& value, unsigned char* element) noexcept {
  std::memset(element, 0, sizeof kZeroElement);
  TENON_TRY(store_scalar<kIsFloat>(making.type, value, element));
  if (std::memcmp(element, kZeroElement, sizeof kZeroElement) == 0) {
    set_zero(making);
  } else {
    making.element = element;
    making.fill = &fill_elements<>;
  }
  return Error::Ok;
}

/// What the elements of a new tensor are; `bytes` has room for one. kIsFloat: see store_scalar().
struct Uninitialized {
  template <bool kIsFloat>
  static Error set(Making&, unsigned char*) noexcept {
    return Error::Ok;
  }
};
template <int64_t kValue>
struct Fixed {
  template <bool kIsFloat>
  static Error set(Making& making, unsigned char* bytes) noexcept {
    if constexpr (kValue != 0) return set_element<kIsFloat>(making, kValue, bytes);
    set_zero(making);
    return Error::Ok;
  }
};
struct Given {
  template <bool kIsFloat>
  static Error set(Making& making, unsigned char* bytes, const Scalar& value) noexcept {
    return set_element<kIsFloat>(making, value, bytes);
  }
};

template <class Out, class Elements, bool kIsFloat, class... Value>
Out create_of(const char* function, Making& making, const Value&... value) {
  unsigned char bytes[16];
  const Error error = Elements::template set<kIsFloat>(making, bytes, value...);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create_new<Out>(function, making);
}

}  // namespace detail

// Creators of given elements, which may be a value, in three forms. Each may end in options: a
// type, a dynamism, a backend. The type is Float unless given, of _like the source's; the dynamism
// is DYNAMIC_BOUND; the backend is the thread's default, of _like the source's.

/// name(sizes, value)
template <class Out, class Elements, class... Value>
struct Creator {
  const char* function;

  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Value&... value, Options&&... options) const {
    detail::Making making = detail::making_of(CreatorOptions(options...), own::ScalarType::Float);
    making.sizes = &sizes;
    return detail::create_of<Out, Elements, !detail::has_type_v<Options...>>(function, making,
                                                                             value...);
  }
  template <class NumberNeedsBraces, class... More,
            std::enable_if_t<std::is_integral_v<NumberNeedsBraces>, int> = 0>
  Out operator()(NumberNeedsBraces, const More&...) const
      TENON_MISTAKE("sizes need braces, as in ones({3})");
};

/// name_strided(sizes, strides, value): dense ones for `{}`. Gaps are allocated, and filled, too.
template <class Out, class Elements, class... Value>
struct StridedCreator {
  const char* function;

  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, const Value&... value,
                 Options&&... options) const {
    detail::Making making = detail::making_of(CreatorOptions(options...), own::ScalarType::Float);
    making.sizes = &sizes;
    detail::set_strides(making, &detail::lay_out_owned<>, detail::Strides{nullptr, &strides});
    return detail::create_of<Out, Elements, !detail::has_type_v<Options...>>(function, making,
                                                                             value...);
  }
};

/// name_like(source, value): the source's sizes, its dtype unless another is given, and its strides
/// when they are dense, else dense ones in its dim order.
template <class Out, class Elements, class... Value>
struct LikeCreator {
  const char* function;

  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, const Value&... value, Options&&... options) const {
    unsigned char bytes[16];
    return detail::create_like<Out>(
        function, source, CreatorOptions(options...),
        [&](detail::Making& making, auto& made) noexcept -> Error {
          TENON_TRY(Elements::template set<false>(making, bytes, value...));
          return detail::make_new(making, made.draft());
        });
  }
};

template <class Out>
using Empty = Creator<Out, detail::Uninitialized>;
template <class Out, int64_t kValue>
using Constant = Creator<Out, detail::Fixed<kValue>>;

template <class Out>
struct ScalarTensor {
  const char* function;

  /// A 0-d STATIC tensor of a value, Float unless a type is given.
  /// Source: at::scalar_tensor.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Scalar& value, Options&&... options) const {
    return detail::create_scalar<Out>(function, value, CreatorOptions(options...),
                                      own::ScalarType::Float);
  }
};

// A creator and its try_ twin, which returns a Result.
#define TENON_CREATOR(name, Form, ...)                       \
  inline constexpr Form<TensorPtr, __VA_ARGS__> name{#name}; \
  inline constexpr Form<Result<TensorPtr>, __VA_ARGS__> try_##name { "try_" #name }

/// Uninitialised memory, not even touched.
/// Source: at::empty, at::empty_strided, at::empty_like.
TENON_CREATOR(empty, Creator, detail::Uninitialized);
TENON_CREATOR(empty_strided, StridedCreator, detail::Uninitialized);
TENON_CREATOR(empty_like, LikeCreator, detail::Uninitialized);

/// Every element is `value`, which must fit the type: Float unless given, whatever the value.
/// Source: executorch::extension::full; at::full, which takes the value's type and wraps what does
/// not fit.
TENON_CREATOR(full, Creator, detail::Given, Scalar);
TENON_CREATOR(full_strided, StridedCreator, detail::Given, Scalar);
TENON_CREATOR(full_like, LikeCreator, detail::Given, Scalar);

/// full() of 0 and 1. Large zeros are the system's zero pages, untouched.
/// Source: at::zeros, at::ones.
TENON_CREATOR(zeros, Creator, detail::Fixed<0>);
TENON_CREATOR(zeros_strided, StridedCreator, detail::Fixed<0>);
TENON_CREATOR(zeros_like, LikeCreator, detail::Fixed<0>);
TENON_CREATOR(ones, Creator, detail::Fixed<1>);
TENON_CREATOR(ones_strided, StridedCreator, detail::Fixed<1>);
TENON_CREATOR(ones_like, LikeCreator, detail::Fixed<1>);
#undef TENON_CREATOR

inline constexpr ScalarTensor<TensorPtr> scalar_tensor{"scalar_tensor"};
inline constexpr ScalarTensor<Result<TensorPtr>> try_scalar_tensor{"try_scalar_tensor"};

TENON_END_NAMESPACE
