// SPDX-License-Identifier: MIT
// empty, full, zeros, ones with their _like and _strided forms, scalar_tensor, arange, iota and
// eye.
//
// Each is a function object with a try_ twin that returns a Result. All own their memory, aligned
// to 64 bytes. Errors of all: InvalidArgument (a shape that make_layout() refuses, overlapping or
// negative strides, a value that does not fit the type), InvalidType (Undefined; a floating value
// for an integral type, a complex one for a real type), OutOfMemory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/layout.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/fill.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// The layout of a new tensor like `source`: its strides when they are dense, else dense in its dim
/// order.
inline Error like_layout(const Layout& source, size_t element_size, Layout& layout) noexcept {
  const bool dense = source.is_dense();
  return make_layout(source.sizes, Dims(source.dim_order), dense ? source.strides : Dims(),
                     element_size, layout);
}

/// The parts of a tensor that creators below own: dtype, layout, dynamism.
inline Error plan_created(const Dims& sizes, const Dims& strides, ScalarType type,
                          TensorShapeDynamism dynamism, ImplParts& parts) noexcept {
  TENON_TRY(check_type(type));
  parts.type = type;
  parts.dynamism = dynamism;
  TENON_TRY(make_layout(sizes, {}, strides, elementSize(type), parts.layout));
  return strides.empty() ? Error::Ok : check_owning_strides(parts.layout);
}

/// The same for a `_like` creator; a `type` of Undefined stands for the source's.
inline Error plan_like(const Tensor* source, ScalarType type, TensorShapeDynamism dynamism,
                       ImplParts& parts) noexcept {
  if (TENON_UNLIKELY(source == nullptr || !source->defined())) {
    return fail(Error::InvalidState, {"the source tensor is undefined"});
  }
  const TensorImpl& from = *source->unsafeGetTensorImpl();
  parts.type = type == ScalarType::Undefined ? from.scalar_type() : type;
  parts.dynamism = dynamism;
  TENON_TRY(check_type(parts.type));
  return like_layout(ImplAccess::layout(from), elementSize(parts.type), parts.layout);
}

/// Makes the planned tensor with every element `value`.
TENON_LAZY Error make_filled(ImplParts&& parts, const Scalar& value, TensorImplPtr& impl) noexcept {
  unsigned char element[16] = {};
  const ScalarType type = parts.type;
  const int64_t count = parts.layout.reach();
  TENON_TRY(store_scalar(type, value, element));
  constexpr unsigned char zero[16] = {};
  if (std::memcmp(element, zero, sizeof element) == 0) {
    return make_owned(std::move(parts), Contents::Zero, impl);
  }
  TENON_TRY(make_owned(std::move(parts), Contents::Uninitialized, impl));
  fill_elements(ImplAccess::raw_mutable_data(*impl), count, element, elementSize(type));
  return Error::Ok;
}

}  // namespace detail

#define TENON_DETAIL_DYNAMISM TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND

template <class Out>
struct EmptyStrided {
  const char* function;

  /// Uninitialised elements at the given strides, dense ones for `{}`. Gaps are allocated too.
  /// Source: at::empty_strided, executorch::extension::empty_strided.
  Out operator()(const Dims& sizes, const Dims& strides, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    detail::ImplParts parts;
    TensorImplPtr impl;
    Error error = detail::plan_created(sizes, strides, type, dynamism, parts);
    if (error == Error::Ok) {
      error = detail::make_owned(std::move(parts), detail::Contents::Uninitialized, impl);
    }
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

template <class Out>
struct Empty {
  const char* function;

  /// Uninitialised memory, not even touched. Source: at::empty.
  Out operator()(const Dims& sizes, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    return EmptyStrided<Out>{function}(sizes, {}, type, dynamism);
  }
};

template <class Out>
struct EmptyLike {
  const char* function;

  /// Uninitialised, with the source's sizes, its dtype unless another is given, and its strides
  /// when they are dense, else dense ones in its dim order. Source: at::empty_like.
  Out operator()(const Tensor& source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return make(&source, type, dynamism);
  }
  Out operator()(const TensorPtr& source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return make(source.get(), type, dynamism);
  }

 private:
  Out make(const Tensor* source, ScalarType type, TensorShapeDynamism dynamism) const {
    detail::ImplParts parts;
    TensorImplPtr impl;
    Error error = detail::plan_like(source, type, dynamism, parts);
    if (error == Error::Ok) {
      error = detail::make_owned(std::move(parts), detail::Contents::Uninitialized, impl);
    }
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

template <class Out>
struct FullStrided {
  const char* function;

  /// Every element is `value`, which must fit the type; gaps are filled too. Source: executorch
  /// full_strided.
  Out operator()(const Dims& sizes, const Dims& strides, const Scalar& value,
                 ScalarType type = ScalarType::Float, TENON_DETAIL_DYNAMISM) const {
    detail::ImplParts parts;
    TensorImplPtr impl;
    Error error = detail::plan_created(sizes, strides, type, dynamism, parts);
    if (error == Error::Ok) error = detail::make_filled(std::move(parts), value, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

template <class Out>
struct Full {
  const char* function;

  /// Every element is `value`, which must fit the type: Float unless given, whatever the value.
  /// Source: executorch::extension::full; at::full, which takes the value's type and wraps what
  /// does not fit.
  Out operator()(const Dims& sizes, const Scalar& value, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    return FullStrided<Out>{function}(sizes, {}, value, type, dynamism);
  }
};

template <class Out>
struct FullLike {
  const char* function;

  /// `value` in the shape, type and memory order of empty_like(). Source: at::full_like.
  Out operator()(const Tensor& source, const Scalar& value, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return make(&source, value, type, dynamism);
  }
  Out operator()(const TensorPtr& source, const Scalar& value,
                 ScalarType type = ScalarType::Undefined, TENON_DETAIL_DYNAMISM) const {
    return make(source.get(), value, type, dynamism);
  }

 private:
  template <class, int64_t>
  friend struct ConstantLike;

  Out make(const Tensor* source, const Scalar& value, ScalarType type,
           TensorShapeDynamism dynamism) const {
    detail::ImplParts parts;
    TensorImplPtr impl;
    Error error = detail::plan_like(source, type, dynamism, parts);
    if (error == Error::Ok) error = detail::make_filled(std::move(parts), value, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

/// zeros and ones. Source: at::zeros, at::ones. zeros of a large tensor uses the system's zero
/// pages, untouched.
template <class Out, int64_t kValue>
struct Constant {
  const char* function;
  Out operator()(const Dims& sizes, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    return FullStrided<Out>{function}(sizes, {}, kValue, type, dynamism);
  }
};
template <class Out, int64_t kValue>
struct ConstantStrided {
  const char* function;
  Out operator()(const Dims& sizes, const Dims& strides, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    return FullStrided<Out>{function}(sizes, strides, kValue, type, dynamism);
  }
};
template <class Out, int64_t kValue>
struct ConstantLike {
  const char* function;
  Out operator()(const Tensor& source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return FullLike<Out>{function}.make(&source, kValue, type, dynamism);
  }
  Out operator()(const TensorPtr& source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return FullLike<Out>{function}.make(source.get(), kValue, type, dynamism);
  }
};

template <class Out>
struct ScalarTensor {
  const char* function;

  /// A 0-d STATIC tensor of a value, Float unless a type is given. Source: at::scalar_tensor.
  Out operator()(const Scalar& value, ScalarType type = ScalarType::Float) const {
    TensorImplPtr impl;
    const Error error = detail::make_from_scalar(value, type, false, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

#undef TENON_DETAIL_DYNAMISM

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
