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
#include "tenon/tensor/make_impl.h"
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
TENON_LAZY Error make_placeholder(const TensorFields& from, ScalarType type,
                                  TensorShapeDynamism dynamism, Draft& draft) noexcept {
  TENON_TRY(check_type(type));
  TENON_TRY(start_draft(draft));
  ImplFields& made = fields(draft);
  TENON_TRY(make_layout(from.layout.sizes, Dims(from.layout.dim_order), from.layout.strides,
                        elementSize(type), made.layout));
  made.type = type;
  made.device = from.device;
  made.settle(dynamism);
  return Error::Ok;
}

/// Makes a tensor like `source` with memory of its own. Dense strides are kept, others become dense
/// in the same dim order.
template <class Where>
Error make_like(const TensorFields& from, Making<Where> making, Contents contents,
                Draft& draft) noexcept {
  TENON_TRY(check_type(making.type));
  const size_t element_size = elementSize(making.type);
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(from.layout.numel, element_size, nbytes));
  TENON_TRY(start_owned(making.where, nbytes, contents, draft));
  ImplFields& made = fields(draft);
  TENON_TRY(
      make_dense_layout(from.layout.sizes, &from.layout.dim_order, element_size, made.layout));
  // Dense strides can still differ from these in dimensions of size 1 and in shapes without
  // elements.
  if (from.layout.is_dense()) made.layout.strides = from.layout.strides;
  made.type = making.type;
  made.settle(making.dynamism);
  return check_dims("strides", made.layout.strides);
}

/// create() of a tensor like `source`: of its type and in its backend's memory, unless options say
/// otherwise.
template <class Out, class Make>
Out create_like(const char* function, const TensorArg& source, const CreatorOptions& options,
                const Make& make) {
  Error error = check_defined(source, "the source tensor");
  Backend* backend = nullptr;
  ScalarType type = ScalarType::Undefined;
  if (error == Error::Ok) {
    const TensorFields& from = fields(source);
    type = options.type.value_or(from.type);
    if (type == ScalarType::Undefined) type = from.type;
    if (TENON_UNLIKELY(from.is_template() && from.backend == nullptr &&
                       options.given_backend() == nullptr)) {
      Made<Out> made;
      return made.finish(function, make_placeholder(from, type, options.dynamism, made.draft()));
    }
    error = find_backend_like(from, options.given_backend(), backend);
  }
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create<Out>(function, type, options.dynamism, backend, make);
}

/// A value as an element of a type, and whether its bytes are all zero.
struct FillElement {
  unsigned char bytes[16] = {};
  Contents contents = Contents::Uninitialized;
};
TENON_LAZY Error make_fill_element(ScalarType type, const Scalar& value,
                                   FillElement& element) noexcept {
  constexpr unsigned char zero[16] = {};
  TENON_TRY(store_scalar(type, value, element.bytes));
  if (std::memcmp(element.bytes, zero, sizeof zero) == 0) element.contents = Contents::Zero;
  return Error::Ok;
}

/// Writes it to all elements of a new tensor, gaps included, unless its memory came zeroed.
template <class Where>
Error fill_new(Where where, const ImplFields& made, const FillElement& element) noexcept {
  if (std::is_same_v<Where, OnHost> && element.contents == Contents::Zero) return Error::Ok;
  return produce_constant(where, made, element.bytes, [&](void* out) noexcept {
    fill_elements(out, made.layout.reach(), element.bytes, elementSize(made.type));
    return Error::Ok;
  });
}

template <class Where>
Error make_full(const Dims& sizes, const Dims& strides, const FillElement& element,
                Making<Where> making, Draft& draft) noexcept {
  TENON_TRY(make_owned(sizes, {}, strides, making, element.contents, draft));
  return fill_new(making.where, fields(draft), element);
}

template <class Where>
Error make_full_like(const TensorFields& source, const Scalar& value, Making<Where> making,
                     Draft& draft) noexcept {
  FillElement element;
  TENON_TRY(make_fill_element(making.type, value, element));
  TENON_TRY(make_like(source, making, element.contents, draft));
  return fill_new(making.where, fields(draft), element);
}

}  // namespace detail

// Each of these may end in options: a type, a dynamism, a backend. The type is Float unless given, of
// _like the source's; the dynamism is DYNAMIC_BOUND; the backend is the thread's default, of _like
// the source's.

template <class Out>
struct EmptyStrided {
  const char* function;

  /// Uninitialised elements at the given strides, dense ones for `{}`. Gaps are allocated too.
  /// Source: at::empty_strided, executorch::extension::empty_strided.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, Options&&... options) const {
    return make(sizes, strides, CreatorOptions(options...));
  }

  /// What it does, for its relative.
  Out make(const Dims& sizes, const Dims& strides, const CreatorOptions& options) const {
    return detail::create<Out>(
        function, options, own::ScalarType::Float, [&](const auto& making, auto& made) noexcept {
          return detail::make_owned(sizes, {}, strides, making, detail::Contents::Uninitialized,
                                    made.draft());
        });
  }
};

template <class Out>
struct Empty {
  const char* function;

  /// Uninitialised memory, not even touched.
  /// Source: at::empty.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, Options&&... options) const {
    return EmptyStrided<Out>{function}.make(sizes, {}, CreatorOptions(options...));
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
    return detail::create_like<Out>(
        function, source, CreatorOptions(options...), [&](const auto& making, auto& made) noexcept {
          return detail::make_like(detail::fields(source), making, detail::Contents::Uninitialized,
                                   made.draft());
        });
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
    return make(sizes, strides, value, CreatorOptions(options...));
  }

  /// What it does, for its relatives.
  Out make(const Dims& sizes, const Dims& strides, const Scalar& value,
           const CreatorOptions& options) const {
    detail::FillElement element;
    const auto type = options.type.value_or(own::ScalarType::Float);
    const Error error = detail::make_fill_element(type, value, element);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::Made<Out>().finish(function, error);
    return make(sizes, strides, element, options);
  }
  Out make(const Dims& sizes, const Dims& strides, const detail::FillElement& element,
           const CreatorOptions& options) const {
    return detail::create<Out>(
        function, options, own::ScalarType::Float, [&](const auto& making, auto& made) noexcept {
          return detail::make_full(sizes, strides, element, making, made.draft());
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
    return FullStrided<Out>{function}.make(sizes, {}, value, CreatorOptions(options...));
  }
};

template <class Out>
struct FullLike {
  const char* function;

  /// `value` in the shape, type and memory order of empty_like().
  /// Source: at::full_like.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(detail::ConstTensorArg source, const Scalar& value, Options&&... options) const {
    return detail::create_like<Out>(
        function, source, CreatorOptions(options...), [&](const auto& making, auto& made) noexcept {
          return detail::make_full_like(detail::fields(source), value, making, made.draft());
        });
  }
};

/// zeros and ones.
/// Source: at::zeros, at::ones. zeros of a large tensor uses the system's zero pages, untouched.
template <class Out, int64_t kValue>
struct Constant {
  const char* function;
  /// Zero is zero bits in every type.
  static constexpr auto value() noexcept {
    if constexpr (kValue == 0) {
      return detail::FillElement{{}, detail::Contents::Zero};
    } else {
      return kValue;
    }
  }
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, Options&&... options) const {
    return FullStrided<Out>{function}.make(sizes, {}, value(), CreatorOptions(options...));
  }
};
template <class Out, int64_t kValue>
struct ConstantStrided {
  const char* function;
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, const Dims& strides, Options&&... options) const {
    return FullStrided<Out>{function}.make(sizes, strides, Constant<Out, kValue>::value(),
                                           CreatorOptions(options...));
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

inline constexpr Empty<TensorPtr> empty{"empty"};
inline constexpr EmptyLike<TensorPtr> empty_like{"empty_like"};
inline constexpr EmptyStrided<TensorPtr> empty_strided{"empty_strided"};
inline constexpr Full<TensorPtr> full{"full"};
inline constexpr FullLike<TensorPtr> full_like{"full_like"};
inline constexpr FullStrided<TensorPtr> full_strided{"full_strided"};
inline constexpr Constant<TensorPtr, 0> zeros{"zeros"};
inline constexpr ConstantLike<TensorPtr, 0> zeros_like{"zeros_like"};
inline constexpr ConstantStrided<TensorPtr, 0> zeros_strided{"zeros_strided"};
inline constexpr Constant<TensorPtr, 1> ones{"ones"};
inline constexpr ConstantLike<TensorPtr, 1> ones_like{"ones_like"};
inline constexpr ConstantStrided<TensorPtr, 1> ones_strided{"ones_strided"};
inline constexpr ScalarTensor<TensorPtr> scalar_tensor{"scalar_tensor"};

inline constexpr Empty<Result<TensorPtr>> try_empty{"try_empty"};
inline constexpr EmptyLike<Result<TensorPtr>> try_empty_like{"try_empty_like"};
inline constexpr EmptyStrided<Result<TensorPtr>> try_empty_strided{"try_empty_strided"};
inline constexpr Full<Result<TensorPtr>> try_full{"try_full"};
inline constexpr FullLike<Result<TensorPtr>> try_full_like{"try_full_like"};
inline constexpr FullStrided<Result<TensorPtr>> try_full_strided{"try_full_strided"};
inline constexpr Constant<Result<TensorPtr>, 0> try_zeros{"try_zeros"};
inline constexpr ConstantLike<Result<TensorPtr>, 0> try_zeros_like{"try_zeros_like"};
inline constexpr ConstantStrided<Result<TensorPtr>, 0> try_zeros_strided{"try_zeros_strided"};
inline constexpr Constant<Result<TensorPtr>, 1> try_ones{"try_ones"};
inline constexpr ConstantLike<Result<TensorPtr>, 1> try_ones_like{"try_ones_like"};
inline constexpr ConstantStrided<Result<TensorPtr>, 1> try_ones_strided{"try_ones_strided"};
inline constexpr ScalarTensor<Result<TensorPtr>> try_scalar_tensor{"try_scalar_tensor"};

TENON_END_NAMESPACE
