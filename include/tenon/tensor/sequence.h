// SPDX-License-Identifier: MIT
// arange, iota and eye: tensors whose values follow from their position.
//
// As in creators.h, these are function objects with try_ forms. The tensors own their memory.
#pragma once

#include "tenon/tensor/creators.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Counts the values start, start + step, … before `end`.
TENON_TEMPLATE_INLINE Error arange_count(int64_t start, int64_t end, int64_t step,
                                         int64_t& count) noexcept {
  if (step == 0 || (step > 0 ? end < start : end > start)) {
    return fail(Error::InvalidArgument, "step ", step, " does not lead from ", start, " to ", end);
  }
  // An unsigned type holds the difference of any two int64_t values.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t steps = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (steps > static_cast<uint64_t>(INT64_MAX)) {
    return fail(Error::InvalidArgument, "the element count overflows 64 bits");
  }
  count = static_cast<int64_t>(steps);
  return Error::Ok;
}
TENON_TEMPLATE_INLINE Error arange_count(double start, double end, double step,
                                         int64_t& count) noexcept {
  // Checks the ends first: inf - inf would set FE_INVALID.
  if (!is_finite(start) || !is_finite(end) || !is_finite(end - start)) {
    return fail(Error::InvalidArgument, "the distance from ", start, " to ", end, " is not finite");
  }
  if (!is_finite(step) || step == 0 || (step > 0 ? end < start : end > start)) {
    return fail(Error::InvalidArgument, "step ", step, " does not lead from ", start, " to ", end);
  }
  const double steps = (end - start) / step;
  if (!(steps < 9.2e18)) {
    return fail(Error::InvalidArgument, "the element count overflows 64 bits");
  }
  count = static_cast<int64_t>(steps);
  if (static_cast<double>(count) < steps) ++count;
  return Error::Ok;
}

/// start + step * i. Integers are computed with wrapping, since the product alone may not fit.
inline int64_t sequence_value(int64_t start, int64_t step, int64_t i) noexcept {
  return static_cast<int64_t>(static_cast<uint64_t>(start) +
                              static_cast<uint64_t>(step) * static_cast<uint64_t>(i));
}
inline double sequence_value(double start, double step, int64_t i) noexcept {
  return start + step * static_cast<double>(i);
}

/// Writes next(0), next(1), … as elements of `type`.
template <class Number, class Next>
void store_numbers(ScalarType type, void* out, int64_t count, const Next& next) noexcept {
  constexpr int64_t kChunk = 64;
  Number exact[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = count - i < kChunk ? count - i : kChunk;
    for (int64_t k = 0; k < n; ++k) exact[k] = next(i + k);
    store_exact(type, static_cast<char*>(out) + i * static_cast<int64_t>(elementSize(type)), n,
                scalar_type_of<Number>(), exact);
  }
}

/// Writes start, start + step, … as elements of type T.
template <class T>
TENON_VECTORIZE void write_range(void* out, int64_t start, int64_t step, int64_t count) noexcept {
  auto value = static_cast<uint64_t>(start);
  for (int64_t i = 0; i < count; ++i, value += static_cast<uint64_t>(step)) {
    store_element(out, i, static_cast<T>(value));
  }
}
template <class T>
TENON_VECTORIZE void write_range(void* out, double start, double step, int64_t count) noexcept {
  constexpr int64_t kChunk = 1024;  // indices fit 32 bits, which vector instructions convert
  for (int64_t i = 0; i < count; i += kChunk) {
    const auto first = static_cast<double>(i);
    const auto n = static_cast<int32_t>(count - i < kChunk ? count - i : kChunk);
    for (int32_t k = 0; k < n; ++k) {
      // The step is exact, so no error accumulates.
      store_element(out, i + k, static_cast<T>(start + step * (first + k)));
    }
  }
}
/// The same for any type; fast for common types.
template <class Number>
void store_range(ScalarType type, void* out, Number start, Number step, int64_t count) noexcept {
  constexpr auto kMost = static_cast<Number>(int64_t{1} << 52);
  const Number last = sequence_value(start, step, count - 1);
  // Integers within ±2^52 are exact in double, so they are rounded only once, to float.
  const bool is_exact = start > -kMost && start < kMost && last > -kMost && last < kMost;
  if (type == ScalarType::Float && (std::is_same_v<Number, double> || is_exact)) {
    return write_range<float>(out, static_cast<double>(start), static_cast<double>(step), count);
  }
  if (type == scalar_type_of<Number>()) return write_range<Number>(out, start, step, count);
  store_numbers<Number>(type, out, count,
                        [&](int64_t i) { return sequence_value(start, step, i); });
}

template <class Number>
Error make_range(Number start, Number end, Number step, const CreateOptions& opts,
                 NewTensor& tensor) noexcept {
  const ScalarType type = opts.type;
  int64_t count = 0;
  TENON_TRY(arange_count(start, end, step, count));
  TENON_TRY(check_type(type));
  if (count > 0) {
    // The values are monotonic: where both ends fit, all do.
    alignas(16) unsigned char element[16] = {};
    TENON_TRY(store_scalar(type, start, element));
    TENON_TRY(store_scalar(type, sequence_value(start, step, count - 1), element));
  }
  TENON_TRY(make_owned_row_major({count}, opts, false, tensor));
  return fill_new(fields(tensor), count, "", nullptr, [&](void* out) noexcept {
    store_range(type, out, start, step, count);
    return Error::Ok;
  });
}

/// Whether all of a range's arguments are integers, for the default type.
inline bool is_integral_range(const Scalar& start, const Scalar& end, const Scalar& step) noexcept {
  return start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
}

TENON_TEMPLATE_INLINE Error make_arange(const Scalar& start, const Scalar& end, const Scalar& step,
                                        const CreateOptions& opts, NewTensor& tensor) noexcept {
  for (const Scalar* argument : {&start, &end, &step}) {
    if (argument->isComplex()) {
      return fail(Error::InvalidType, "the complex value ", *argument, " has no order");
    }
  }
  if (is_integral_range(start, end, step)) {
    for (const Scalar* argument : {&start, &end, &step}) {
      if (!argument->fits<int64_t>()) {
        return fail(Error::InvalidArgument, "the value ", *argument, " does not fit Long");
      }
    }
    return make_range(start.to<int64_t>(), end.to<int64_t>(), step.to<int64_t>(), opts, tensor);
  }
  return make_range(start.to<double>(), end.to<double>(), step.to<double>(), opts, tensor);
}

/// Counts along `axis`, or through all elements in row-major order.
TENON_TEMPLATE_INLINE Error make_iota(const Dims& sizes, OptionalIndex axis,
                                      const CreateOptions& opts, NewTensor& tensor) noexcept {
  const ScalarType type = opts.type;
  TENON_TRY(check_type(type));
  TENON_TRY(check_dims("sizes", sizes));
  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(sizes, elementSize(type), numel));
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t dim = axis.value_or(0);
  if (dim == INT64_MIN) {
    return fail(Error::OutOfBounds, "the axis is above int64_t's range");
  }
  if (axis.has_value() && (dim < -rank || dim >= rank)) {
    return fail(Error::OutOfBounds, "axis ", dim, " is out of range for ", rank, " dimensions");
  }
  if (dim < 0) dim += rank;
  int64_t length = numel;  // values before they repeat
  int64_t inner = 1;       // consecutive elements with one value
  if (axis.has_value()) {
    auto d = static_cast<size_t>(dim);
    length = sizes[d];
    while (numel > 0 && ++d < sizes.size()) inner *= sizes[d];
  }
  if (numel > 0) {
    alignas(16) unsigned char element[16] = {};
    TENON_TRY(store_scalar(type, length - 1, element));
  }
  TENON_TRY(make_owned_row_major(sizes, opts, false, tensor));
  const OptionalIndex wrapped = axis.has_value() ? OptionalIndex(dim) : axis;
  return fill_new(
      fields(tensor), numel, "iota",
      [&](Backend& backend, const auto& out) { return backend.iota(out, wrapped); },
      [&](void* out) noexcept {
        if (!axis.has_value()) return store_range<int64_t>(type, out, 0, 1, numel), Error::Ok;
        int64_t value = 0;
        int64_t left = inner;  // elements still to get this value
        store_numbers<int64_t>(type, out, numel, [&](int64_t) {
          const int64_t now = value;
          if (--left == 0) {
            left = inner;
            value = value + 1 < length ? value + 1 : 0;
          }
          return now;
        });
        return Error::Ok;
      });
}

TENON_TEMPLATE_INLINE Error make_eye(const Dims& sizes, const CreateOptions& opts,
                                     NewTensor& tensor) noexcept {
  alignas(16) unsigned char one[16] = {};
  TENON_TRY(store_scalar(opts.type, 1, one));
  TENON_TRY(make_owned_row_major(sizes, opts, true, tensor));
  const int64_t n = sizes[0];
  const int64_t m = sizes[1];
  const bool is_zero = opts.backend == nullptr;
  return fill_new(
      fields(tensor), n * m, "eye",
      [](Backend& backend, const auto& out) { return backend.eye(out); },
      [&](void* data) noexcept {
        auto* const out = static_cast<char*>(data);
        const size_t size = elementSize(opts.type);
        if (!is_zero) std::memset(out, 0, static_cast<size_t>(n * m) * size);
        for (int64_t i = 0; i < n && i < m; ++i) {
          std::memcpy(out + (i * m + i) * static_cast<int64_t>(size), one, size);
        }
        return Error::Ok;
      });
}

}  // namespace detail

// The arguments of each may end in options, as in creators.h.

namespace detail {  // function objects

template <class Out>
struct Arange {
  const char* function;

  /// A 1-d tensor of the values start, start + step, … below `end` (above it, for a negative step).
  /// By default start is 0 and step is 1. The type is Long if all arguments are integers, else
  /// Float, unless a type is given. Rounding may add or drop the last value.
  /// Ownership: owns its memory.
  /// Errors: those of full(); InvalidArgument when the step is 0 or leads away from `end`.
  /// Cost: that of empty(), and O(elements).
  /// Source: at::arange.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const tenon::Scalar& end, Options&&... options) const {
    return (*this)(0, end, 1, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const tenon::Scalar& start, const tenon::Scalar& end, Options&&... options) const {
    return (*this)(start, end, 1, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const tenon::Scalar& start, const tenon::Scalar& end, const tenon::Scalar& step,
                 Options&&... options) const {
    const auto otherwise =
        is_integral_range(start, end, step) ? own::ScalarType::Long : own::ScalarType::Float;
    const CreateOptions opts = create_options_of(otherwise, options...);
    NewTensor tensor;
    const Error error = make_arange(start, end, step, opts, tensor);
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Scalar&, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
};

template <class Out>
struct Iota {
  const char* function;

  /// 0, 1, 2, … through all elements in row-major order, or along `axis`: each element is then its
  /// index in that dimension. The type is Long unless one is given.
  /// Ownership: owns its memory.
  /// Errors: those of empty(); OutOfBounds for an axis that the sizes do not have; InvalidArgument
  /// when the largest value does not fit the type.
  /// Cost: that of empty(), and O(elements).
  /// Source: Nx.iota.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, Options&&... options) const {
    return (*this)(sizes, none, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(const Dims& sizes, OptionalIndex axis, Options&&... options) const {
    const CreateOptions opts = create_options_of(own::ScalarType::Long, options...);
    NewTensor tensor;
    const Error error = make_iota(sizes, axis, opts, tensor);
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(const Dims&, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
};

template <class Out>
struct Eye {
  const char* function;

  /// A matrix of n rows and m columns (n by default) with ones on the main diagonal and zeros
  /// elsewhere. The type is Float unless one is given.
  /// Ownership: owns its memory.
  /// Errors: those of zeros().
  /// Cost: that of zeros().
  /// Source: at::eye, Nx.eye.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(DimArg n, Options&&... options) const {
    return (*this)(n, n, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(DimArg n, None, Options&&... options) const {
    return (*this)(n, n, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(DimArg n, DimArg m, Options&&... options) const {
    const CreateOptions opts = create_options_of(own::ScalarType::Float, options...);
    NewTensor tensor;
    const Error error = make_eye({n, m}, opts, tensor);
    return return_to_user<Out>(function, error, tensor, opts.backend);
  }
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(DimArg, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
};

}  // namespace detail

inline constexpr detail::Arange<TensorPtr> arange{"arange"};
inline constexpr detail::Iota<TensorPtr> iota{"iota"};
inline constexpr detail::Eye<TensorPtr> eye{"eye"};

inline constexpr detail::Arange<Result<TensorPtr>> try_arange{"try_arange"};
inline constexpr detail::Iota<Result<TensorPtr>> try_iota{"try_iota"};
inline constexpr detail::Eye<Result<TensorPtr>> try_eye{"try_eye"};

TENON_END_NAMESPACE
