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
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Makes a tensor like `source` with memory of its own; a `type` of Undefined stands for the
/// source's. Dense strides are kept, others become dense in the same dim order.
TENON_LAZY Error make_like(const TensorArg& source, ScalarType type, TensorShapeDynamism dynamism,
                           Contents contents, Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const TensorFields& from = fields(source);
  if (type == ScalarType::Undefined) type = from.type;
  TENON_TRY(check_type(type));
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(from.layout.numel, elementSize(type), nbytes));
  TENON_TRY(start_owned_draft(nbytes, contents, draft));
  ImplFields& made = fields(draft);
  TENON_TRY(
      make_dense_layout(from.layout.sizes, &from.layout.dim_order, elementSize(type), made.layout));
  // Dense strides can still differ from these in dimensions of size 1 and in shapes without
  // elements.
  if (from.layout.is_dense()) made.layout.strides = from.layout.strides;
  made.type = type;
  made.settle(dynamism);
  return check_dims("strides", made.layout.strides);
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
TENON_LAZY void fill_new(Draft& draft, const FillElement& element) noexcept {
  if (element.contents == Contents::Zero) return;
  const ImplFields& made = fields(draft);
  fill_elements(made.data, made.layout.reach(), element.bytes, elementSize(made.type));
}

TENON_LAZY Error make_full(const Dims& sizes, const Dims& strides, const Scalar& value,
                           ScalarType type, TensorShapeDynamism dynamism, Draft& draft) noexcept {
  FillElement element;
  TENON_TRY(make_fill_element(type, value, element));
  TENON_TRY(make_owned(sizes, {}, strides, type, dynamism, element.contents, draft));
  fill_new(draft, element);
  return Error::Ok;
}

TENON_LAZY Error make_full_like(const TensorArg& source, const Scalar& value, ScalarType type,
                                TensorShapeDynamism dynamism, Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  if (type == ScalarType::Undefined) type = fields(source).type;
  FillElement element;
  TENON_TRY(make_fill_element(type, value, element));
  TENON_TRY(make_like(source, type, dynamism, element.contents, draft));
  fill_new(draft, element);
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
    detail::Made<Out> made;
    return made.finish(function,
                       detail::make_owned(sizes, {}, strides, detail::own_type(type), dynamism,
                                          detail::Contents::Uninitialized, made.draft()));
  }
};

template <class Out>
struct Empty {
  const char* function;

  /// Uninitialised memory, not even touched.
  /// Source: at::empty.
  Out operator()(const Dims& sizes, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    return EmptyStrided<Out>{function}(sizes, {}, type, dynamism);
  }
};

template <class Out>
struct EmptyLike {
  const char* function;

  /// Uninitialised, with the source's sizes, its dtype unless another is given, and its strides
  /// when they are dense, else dense ones in its dim order.
  /// Source: at::empty_like.
  Out operator()(TensorArg source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    detail::Made<Out> made;
    return made.finish(function, detail::make_like(source, detail::own_type(type), dynamism,
                                                   detail::Contents::Uninitialized, made.draft()));
  }
};

template <class Out>
struct FullStrided {
  const char* function;

  /// Every element is `value`, which must fit the type; gaps are filled too.
  /// Source: executorch full_strided.
  Out operator()(const Dims& sizes, const Dims& strides, const Scalar& value,
                 ScalarType type = ScalarType::Float, TENON_DETAIL_DYNAMISM) const {
    detail::Made<Out> made;
    return made.finish(function, detail::make_full(sizes, strides, value, detail::own_type(type),
                                                   dynamism, made.draft()));
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

  /// `value` in the shape, type and memory order of empty_like().
  /// Source: at::full_like.
  Out operator()(TensorArg source, const Scalar& value, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    detail::Made<Out> made;
    return made.finish(function, detail::make_full_like(source, value, detail::own_type(type),
                                                        dynamism, made.draft()));
  }
};

/// zeros and ones.
/// Source: at::zeros, at::ones. zeros of a large tensor uses the system's zero pages, untouched.
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
  Out operator()(TensorArg source, ScalarType type = ScalarType::Undefined,
                 TENON_DETAIL_DYNAMISM) const {
    return FullLike<Out>{function}(source, kValue, type, dynamism);
  }
};

template <class Out>
struct ScalarTensor {
  const char* function;

  /// A 0-d STATIC tensor of a value, Float unless a type is given.
  /// Source: at::scalar_tensor.
  Out operator()(const Scalar& value, ScalarType type = ScalarType::Float) const {
    detail::Made<Out> made;
    return made.finish(function,
                       detail::make_from_scalar(value, detail::own_type(type), made.draft()));
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
