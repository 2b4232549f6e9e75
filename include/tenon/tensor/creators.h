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
#include <optional>
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

/// No axis, no second size: for the optional arguments of iota and eye.
inline constexpr std::nullopt_t none = std::nullopt;

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
    return fail(Error::InvalidState, "the source tensor is undefined");
  }
  const TensorImpl& from = *source->unsafeGetTensorImpl();
  parts.type = type == ScalarType::Undefined ? from.scalar_type() : type;
  parts.dynamism = dynamism;
  TENON_TRY(check_type(parts.type));
  return like_layout(ImplAccess::layout(from), elementSize(parts.type), parts.layout);
}

/// Makes the planned tensor with every element `value`.
inline Error make_filled(ImplParts&& parts, const Scalar& value, TensorImplPtr& impl) noexcept {
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

/// How many of start, start + step, … lie before `end`.
inline Error arange_count(int64_t start, int64_t end, int64_t step, int64_t& count) noexcept {
  if (TENON_UNLIKELY(step == 0 || (step > 0 ? end < start : end > start))) {
    return fail(Error::InvalidArgument, "step ", step, " does not lead from ", start, " to ", end);
  }
  // Unsigned differences hold any two int64 values.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t steps = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (TENON_UNLIKELY(steps > static_cast<uint64_t>(INT64_MAX))) {
    return fail(Error::InvalidArgument, "the element count overflows 64 bits");
  }
  count = static_cast<int64_t>(steps);
  return Error::Ok;
}
inline Error arange_count(double start, double end, double step, int64_t& count) noexcept {
  const bool finite = start - start == 0 && end - end == 0 && step - step == 0;
  if (TENON_UNLIKELY(!finite || step == 0 || (step > 0 ? end < start : end > start))) {
    return fail(Error::InvalidArgument, "step ", step, " does not lead from ", start, " to ", end);
  }
  const double steps = (end - start) / step;
  if (TENON_UNLIKELY(!(steps < 9.2e18))) {
    return fail(Error::InvalidArgument, "the element count overflows 64 bits");
  }
  count = static_cast<int64_t>(steps);
  if (static_cast<double>(count) < steps) ++count;
  return Error::Ok;
}

/// Writes start + step * i for i in [first, first + count) as elements of `type`; the step is
/// exact, so no error accumulates.
template <class Number>
void store_sequence(ScalarType type, void* out, Number start, Number step, int64_t first,
                    int64_t count) noexcept {
  constexpr int64_t kChunk = 64;
  Number exact[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = count - i < kChunk ? count - i : kChunk;
    for (int64_t k = 0; k < n; ++k) exact[k] = start + step * static_cast<Number>(first + i + k);
    store_exact(type, static_cast<char*>(out) + i * static_cast<int64_t>(elementSize(type)), n,
                scalar_type_of<Number>(), exact);
  }
}

template <class Number>
Error make_arange(Number start, Number end, Number step, ScalarType type,
                  TensorShapeDynamism dynamism, TensorImplPtr& impl) noexcept {
  int64_t count = 0;
  TENON_TRY(arange_count(start, end, step, count));
  ImplParts parts;
  TENON_TRY(plan_created({count}, {}, type, dynamism, parts));
  if (count > 0) {
    // The values are monotonic: where both ends fit, all do.
    alignas(16) unsigned char element[16];
    TENON_TRY(store_scalar(type, start, element));
    TENON_TRY(store_scalar(type, start + step * static_cast<Number>(count - 1), element));
  }
  TENON_TRY(make_owned(std::move(parts), Contents::Uninitialized, impl));
  store_sequence(type, ImplAccess::raw_mutable_data(*impl), start, step, 0, count);
  return Error::Ok;
}

inline Error make_arange(const Scalar& start, const Scalar& end, const Scalar& step,
                         std::optional<ScalarType> type, TensorShapeDynamism dynamism,
                         TensorImplPtr& impl) noexcept {
  for (const Scalar* argument : {&start, &end, &step}) {
    if (TENON_UNLIKELY(argument->isComplex())) {
      return fail(Error::InvalidType, "the complex value ", *argument, " has no order");
    }
  }
  if (start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true)) {
    for (const Scalar* argument : {&start, &end, &step}) {
      if (TENON_UNLIKELY(!argument->fits<int64_t>())) {
        return fail(Error::InvalidArgument, "the value ", *argument, " does not fit Long");
      }
    }
    return make_arange(start.to<int64_t>(), end.to<int64_t>(), step.to<int64_t>(),
                       type.value_or(ScalarType::Long), dynamism, impl);
  }
  return make_arange(start.to<double>(), end.to<double>(), step.to<double>(),
                     type.value_or(ScalarType::Float), dynamism, impl);
}

/// Counts along `axis`, or through all elements in row-major order.
inline Error make_iota(const Dims& sizes, std::optional<int64_t> axis, ScalarType type,
                       TensorShapeDynamism dynamism, TensorImplPtr& impl) noexcept {
  ImplParts parts;
  TENON_TRY(plan_created(sizes, {}, type, dynamism, parts));
  const auto rank = static_cast<int64_t>(sizes.size());
  if (TENON_UNLIKELY(axis.has_value() && (*axis < -rank || *axis >= rank))) {
    return fail(Error::OutOfBounds, "axis ", *axis, " is out of range for ", rank, " dimensions");
  }
  const int64_t numel = parts.layout.numel;
  int64_t length = numel;  // values before they start over
  int64_t inner = 1;       // elements with one value
  if (axis.has_value()) {
    const auto d = static_cast<size_t>(*axis < 0 ? *axis + rank : *axis);
    length = sizes[d];
    inner = parts.layout.strides[d];
  }
  if (numel > 0) {
    alignas(16) unsigned char element[16];
    TENON_TRY(store_scalar(type, length - 1, element));
  }
  TENON_TRY(make_owned(std::move(parts), Contents::Uninitialized, impl));
  auto* out = static_cast<char*>(ImplAccess::raw_mutable_data(*impl));
  const auto size = static_cast<int64_t>(elementSize(type));
  if (inner == 1) {
    for (int64_t done = 0; done < numel; done += length) {
      store_sequence<int64_t>(type, out + done * size, 0, 1, 0, length);
    }
    return Error::Ok;
  }
  for (int64_t done = 0, value = 0; done < numel;
       done += inner, value = value + 1 < length ? value + 1 : 0) {
    alignas(16) unsigned char element[16];
    store_exact(type, element, 1, ScalarType::Long, &value);
    fill_elements(out + done * size, inner, element, elementSize(type));
  }
  return Error::Ok;
}

inline Error make_eye(int64_t n, int64_t m, ScalarType type, TensorShapeDynamism dynamism,
                      TensorImplPtr& impl) noexcept {
  ImplParts parts;
  TENON_TRY(plan_created({n, m}, {}, type, dynamism, parts));
  alignas(16) unsigned char one[16];
  TENON_TRY(store_scalar(type, 1, one));
  TENON_TRY(make_owned(std::move(parts), Contents::Zero, impl));
  auto* out = static_cast<char*>(ImplAccess::raw_mutable_data(*impl));
  const auto size = static_cast<int64_t>(elementSize(type));
  for (int64_t i = 0; i < n && i < m; ++i)
    std::memcpy(out + (i * m + i) * size, one, elementSize(type));
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

template <class Out>
struct Arange {
  const char* function;

  /// start, start + step, … below `end` (above, for a negative step): Long when all arguments are
  /// integral, else Float, unless a type is given. Errors, besides: InvalidArgument when the step
  /// is 0 or leads away from `end`. Source: at::arange.
  Out operator()(const Scalar& end) const {
    return make(0, end, 1, none, TensorShapeDynamism::DYNAMIC_BOUND);
  }
  Out operator()(const Scalar& start, const Scalar& end, const Scalar& step = 1) const {
    return make(start, end, step, none, TensorShapeDynamism::DYNAMIC_BOUND);
  }
  Out operator()(const Scalar& start, const Scalar& end, const Scalar& step, ScalarType type,
                 TENON_DETAIL_DYNAMISM) const {
    return make(start, end, step, type, dynamism);
  }

 private:
  Out make(const Scalar& start, const Scalar& end, const Scalar& step,
           std::optional<ScalarType> type, TensorShapeDynamism dynamism) const {
    TensorImplPtr impl;
    const Error error = detail::make_arange(start, end, step, type, dynamism, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

template <class Out>
struct Iota {
  const char* function;

  /// 0, 1, 2, … through all elements in row-major order, or along `axis`, where each element is its
  /// index there. Errors, besides: OutOfBounds for the axis; InvalidArgument when the largest value
  /// does not fit the type. Source: Nx.iota.
  Out operator()(const Dims& sizes, std::optional<int64_t> axis = none,
                 ScalarType type = ScalarType::Long, TENON_DETAIL_DYNAMISM) const {
    TensorImplPtr impl;
    const Error error = detail::make_iota(sizes, axis, type, dynamism, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
};

template <class Out>
struct Eye {
  const char* function;

  /// Ones on the main diagonal of n rows and m columns (n by default), zeros elsewhere. Source:
  /// at::eye, Nx.eye.
  Out operator()(int64_t n, std::optional<int64_t> m = none, ScalarType type = ScalarType::Float,
                 TENON_DETAIL_DYNAMISM) const {
    TensorImplPtr impl;
    const Error error = detail::make_eye(n, m.value_or(n), type, dynamism, impl);
    return detail::finish<Out>(function, error, std::move(impl));
  }
  Out operator()(int64_t n, ScalarType type, TENON_DETAIL_DYNAMISM) const {
    return (*this)(n, none, type, dynamism);
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
inline constexpr Arange<TensorPtr> arange{"arange"};
inline constexpr Iota<TensorPtr> iota{"iota"};
inline constexpr Eye<TensorPtr> eye{"eye"};

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
inline constexpr Arange<Result<TensorPtr>> try_arange{"try_arange"};
inline constexpr Iota<Result<TensorPtr>> try_iota{"try_iota"};
inline constexpr Eye<Result<TensorPtr>> try_eye{"try_eye"};

TENON_END_NAMESPACE
