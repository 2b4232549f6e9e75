// SPDX-License-Identifier: MIT
// empty, full, zeros, ones with their _like and _strided forms, scalar_tensor, arange, iota and
// eye.
//
// Each is a function object with a try_ twin that returns a Result. All own their memory, aligned
// to 64 bytes: the host's, or a backend's. Errors of all: InvalidArgument (a shape that make_layout() refuses, overlapping or
// negative strides, a value that does not fit the type), InvalidType (Undefined; a floating value
// for an integral type, a complex one for a real type), OutOfMemory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/layout.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/fill.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

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
  if (making.type == ScalarType::Undefined) making.type = from.type;
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
TENON_LAZY void fill_new_elements(void* out, int64_t count, const void* element,
                                  size_t element_size) noexcept {
  fill_elements(out, count, element, element_size);
}
/// Makes all elements `value`, kept in the 16 bytes at `element`.
TENON_LAZY Error set_element(Making& making, const Scalar& value, unsigned char* element) noexcept {
  std::memset(element, 0, sizeof kZeroElement);
  TENON_TRY(store_scalar(making.type, value, element));
  if (std::memcmp(element, kZeroElement, sizeof kZeroElement) == 0) {
    set_zero(making);
  } else {
    making.element = element;
    making.fill = &fill_new_elements<>;
  }
  return Error::Ok;
}

/// A Making of sizes, strides or nullptr, and options.
template <class Given>
Making making_of(const Dims& sizes, const Given& strides, const CreatorOptions& options) noexcept {
  Making making = making_of(options, ScalarType::Float);
  making.sizes = &sizes;
  set_strides(making, &lay_out_owned<>, strides);
  return making;
}

template <class Out, class Given>
Out create_full(const char* function, const Dims& sizes, const Given& strides, const Scalar& value,
                const CreatorOptions& options) {
  Making making = making_of(sizes, strides, options);
  unsigned char element[16];
  const Error error = set_element(making, value, element);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create_new<Out>(function, making);
}
template <class Out, class Given>
Out create_zeros(const char* function, const Dims& sizes, const Given& strides,
                 const CreatorOptions& options) {
  Making making = making_of(sizes, strides, options);
  set_zero(making);
  return create_new<Out>(function, making);
}
template <class Out, class Given>
Out create_empty(const char* function, const Dims& sizes, const Given& strides,
                 const CreatorOptions& options) {
  return create_new<Out>(function, making_of(sizes, strides, options));
}

}  // namespace detail

// Each of these may end in options: a type, a dynamism, a backend. The type is Float unless given, of
// _like the source's; the dynamism is DYNAMIC_BOUND; the backend is the thread's default, of _like
// the source's.

template <class Out>
struct Empty {
  const char* function;

  /// Uninitialised memory, not even touched.
  /// Source: at::empty.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, Options&&... options) const {
    return detail::create_empty<Out>(function, sizes, nullptr, CreatorOptions(options...));
  }
};

template <class Out>
struct EmptyStrided {
  const char* function;

  /// Uninitialised elements at the given strides, dense ones for `{}`. Gaps are allocated too.
  /// Source: at::empty_strided, executorch::extension::empty_strided.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, Options&&... options) const {
    return detail::create_empty<Out>(function, sizes, detail::Strides{nullptr, &strides},
                                     CreatorOptions(options...));
  }
};

template <class Out>
struct EmptyLike {
  const char* function;

  /// Uninitialised, with the source's sizes, its dtype unless another is given, and its strides
  /// when they are dense, else dense ones in its dim order.
  /// Source: at::empty_like.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, Options&&... options) const {
    return detail::create_like<Out>(function, source, CreatorOptions(options...),
                                    [](detail::Making& making, auto& made) noexcept {
                                      return detail::make_new(making, made.draft());
                                    });
  }
};

template <class Out>
struct Full {
  const char* function;

  /// Every element is `value`, which must fit the type: Float unless given, whatever the value.
  /// Source: executorch::extension::full; at::full, which takes the value's type and wraps what
  /// does not fit.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Scalar& value, Options&&... options) const {
    return detail::create_full<Out>(function, sizes, nullptr, value, CreatorOptions(options...));
  }
};

template <class Out>
struct FullStrided {
  const char* function;

  /// Every element is `value`, which must fit the type; gaps are filled too.
  /// Source: executorch full_strided.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, const Scalar& value,
                 Options&&... options) const {
    return detail::create_full<Out>(function, sizes, detail::Strides{nullptr, &strides}, value,
                                    CreatorOptions(options...));
  }
};

template <class Out>
struct FullLike {
  const char* function;

  /// `value` in the shape, type and memory order of empty_like().
  /// Source: at::full_like.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, const Scalar& value, Options&&... options) const {
    unsigned char element[16];
    return detail::create_like<Out>(function, source, CreatorOptions(options...),
                                    [&](detail::Making& making, auto& made) noexcept -> Error {
                                      TENON_TRY(detail::set_element(making, value, element));
                                      return detail::make_new(making, made.draft());
                                    });
  }
};

/// zeros and ones, as full() makes them.
/// Source: at::zeros, at::ones. zeros of a large tensor uses the system's zero pages, untouched.
template <class Out, int64_t kValue>
struct Constant {
  const char* function;
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, Options&&... options) const {
    const CreatorOptions asked(options...);
    if constexpr (kValue == 0) return detail::create_zeros<Out>(function, sizes, nullptr, asked);
    return detail::create_full<Out>(function, sizes, nullptr, kValue, asked);
  }
};
template <class Out, int64_t kValue>
struct ConstantStrided {
  const char* function;
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, Options&&... options) const {
    const CreatorOptions asked(options...);
    if constexpr (kValue == 0)
      return detail::create_zeros<Out>(function, sizes, detail::Strides{nullptr, &strides}, asked);
    return detail::create_full<Out>(function, sizes, detail::Strides{nullptr, &strides}, kValue,
                                    asked);
  }
};
template <class Out, int64_t kValue>
struct ConstantLike {
  const char* function;
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, Options&&... options) const {
    return FullLike<Out>{function}(source, kValue, options...);
  }
};

template <class Out>
using Zeros = Constant<Out, 0>;
template <class Out>
using ZerosLike = ConstantLike<Out, 0>;
template <class Out>
using ZerosStrided = ConstantStrided<Out, 0>;
template <class Out>
using Ones = Constant<Out, 1>;
template <class Out>
using OnesLike = ConstantLike<Out, 1>;
template <class Out>
using OnesStrided = ConstantStrided<Out, 1>;

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

/// The creators, and their try_ twins, which return a Result.
#define TENON_CREATOR(Creator, name)               \
  inline constexpr Creator<TensorPtr> name{#name}; \
  inline constexpr Creator<Result<TensorPtr>> try_##name { "try_" #name }
TENON_CREATOR(Empty, empty);
TENON_CREATOR(EmptyLike, empty_like);
TENON_CREATOR(EmptyStrided, empty_strided);
TENON_CREATOR(Full, full);
TENON_CREATOR(FullLike, full_like);
TENON_CREATOR(FullStrided, full_strided);
TENON_CREATOR(Zeros, zeros);
TENON_CREATOR(ZerosLike, zeros_like);
TENON_CREATOR(ZerosStrided, zeros_strided);
TENON_CREATOR(Ones, ones);
TENON_CREATOR(OnesLike, ones_like);
TENON_CREATOR(OnesStrided, ones_strided);
TENON_CREATOR(ScalarTensor, scalar_tensor);
#undef TENON_CREATOR

TENON_END_NAMESPACE
