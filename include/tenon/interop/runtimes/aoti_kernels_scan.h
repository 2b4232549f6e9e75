// SPDX-License-Identifier: MIT
// Kernels that scan along a dimension: each element of the result depends on the elements up to it.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls f(T(), Sum()): T is the computed type, Sum the type of torch's sums. Sums of integers are
/// unsigned, so that they wrap.
template <class F>
Error on_sum_type(ScalarType type, const F& f) {
  using C = std::complex<double>;
  if (type <= ScalarType::Long) return f(int64_t(), uint64_t());  // Byte and signed integers
  if (type == ScalarType::Half || type == ScalarType::BFloat16) return f(float(), float());
  if (type == ScalarType::Float) return f(float(), double());
  if (type == ScalarType::Double) return f(double(), double());
  if (type == ScalarType::ComplexFloat) return f(std::complex<float>(), C());
  if (type == ScalarType::ComplexDouble) return f(C(), C());
  return fail(Error::NotSupported, "a scan of ", type, " elements is not supported");
}

/// Scans each row: sum i is next(sum i - 1, element i), and becomes element i of the result.
/// `first` is the sum before element 0.
template <class Sum, class T, class Next>
void scan_dense(const DenseRows& rows, const T* from, T* to, Sum first, const Next& next) {
  rows.each([&](int64_t begin) {
    Sum sum = first;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t at = begin + i * rows.inner;
      sum = next(sum, static_cast<Sum>(from[at]));
      to[at] = static_cast<T>(sum);
    }
  });
}

/// cumsum and cumprod.
template <class Next>
AOTITorchError scan_rows(const char* function, AtenTensorHandle self, int64_t dim,
                         const int32_t* dtype, AtenTensorHandle* ret, int first,
                         const Next& next) noexcept {
  return aoti_answer(function, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    size_t d = 0;
    TENON_TRY(read_dim(dim, given.sizes().size(), d));
    const ScalarType own = given.scalar_type();
    ScalarType type = isIntegralType(own, true) ? ScalarType::Long : own;
    if (dtype != nullptr) TENON_TRY(read_torch_type(*dtype, type));
    return on_sum_type(type, [&](auto zero, auto zero_sum) {
      using T = decltype(zero);
      using Sum = decltype(zero_sum);
      // Elements are converted to the result's type first, as narrow types drop bits.
      Tensor narrow;
      Tensor dense;
      TENON_TRY(make_dense(given, type, narrow));
      TENON_TRY(make_dense(narrow, computed_type(type), dense));
      AotiResult result;
      TENON_TRY(result.make(given.sizes(), type, computed_type(type)));
      scan_dense(DenseRows(given.sizes(), d), dense_data<T>(dense), result.data<T>(),
                 static_cast<Sum>(first), next);
      return result.finish(ret);
    });
  });
}

/// log(exp(x) + exp(y)).
template <class T>
T log_add_exp(T x, T y) noexcept {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  const T low = (std::min)(x, y);
  const T high = (std::max)(x, y);
  if (low == high && std::isinf(low)) return low;
  return std::log1p(std::exp(low - high)) + high;
}
template <class T>
std::complex<T> log_add_exp(std::complex<T> x, std::complex<T> y) noexcept {
  constexpr T kNoNumber = std::numeric_limits<T>::quiet_NaN();
  if (x != x || y != y) return {kNoNumber, kNoNumber};
  const std::complex<T> low = x.real() < y.real() ? x : y;
  const std::complex<T> high = x.real() < y.real() ? y : x;
  if (low.real() == high.real() && std::isinf(low.real())) {
    return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
  }
  return std::log(std::exp(low - high) + T{1}) + high;
}

/// For each element of a row: the extreme of the elements up to it, and its index, the last one if
/// several elements are equal. After a NaN the extreme is NaN.
template <class Replaces>
AOTITorchError scan_extremes(const char* function, AtenTensorHandle self, int64_t dim,
                             AtenTensorHandle* values, AtenTensorHandle* indices,
                             const Replaces& replaces) noexcept {
  return aoti_answer(function, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    size_t d = 0;
    TENON_TRY(read_dim(dim, given.sizes().size(), d));
    const ScalarType type = given.scalar_type();
    TENON_TRY(check_compared_type(type, true));
    Tensor dense;
    TENON_TRY(make_dense(given, computed_type(type), dense));
    AotiResult value;
    AotiResult place;
    TENON_TRY(value.make(given.sizes(), type, computed_type(type)));
    TENON_TRY(place.make(given.sizes(), ScalarType::Long, ScalarType::Long));
    TENON_TRY(on_computed_type(type, [&](auto zero) {
      using T = decltype(zero);
      const T* const from = dense_data<T>(dense);
      T* const to = value.data<T>();
      auto* const places = place.data<int64_t>();
      const DenseRows rows(given.sizes(), d);
      rows.each([&](int64_t begin) {
        int64_t best = 0;
        for (int64_t i = 0; i < rows.count; ++i) {
          const int64_t at = begin + i * rows.inner;
          const T so_far = from[begin + best * rows.inner];
          const bool is_nan = from[at] != from[at];
          if (is_nan || (so_far == so_far && replaces(from[at], so_far))) best = i;
          to[at] = from[begin + best * rows.inner];
          places[at] = best;
        }
      });
      return Error::Ok;
    }));
    return finish_all({{&value, values}, {&place, indices}});
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_cumsum(AtenTensorHandle self, int64_t dim, int32_t* dtype,
                                     AtenTensorHandle* ret0) {
  return scan_rows(__func__, self, dim, dtype, ret0, 0, [](auto sum, auto x) { return sum + x; });
}
AOTITorchError aoti_torch_cpu_cumprod(AtenTensorHandle self, int64_t dim, int32_t* dtype,
                                      AtenTensorHandle* ret0) {
  return scan_rows(__func__, self, dim, dtype, ret0, 1,
                   [](auto sum, auto x) { return multiply_elements(sum, x); });
}
AOTITorchError aoti_torch_cpu_logcumsumexp(AtenTensorHandle self, int64_t dim,
                                           AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    size_t d = 0;
    TENON_TRY(read_dim(dim, given.sizes().size(), d));
    const ScalarType type = given.scalar_type();
    return on_sum_type(type, [&](auto zero, auto zero_sum) {
      using T = decltype(zero);
      using Sum = decltype(zero_sum);
      if constexpr (std::is_same_v<T, int64_t>) {
        return fail(Error::NotSupported, "logarithms of ", type,
                    " elements are not supported; convert them to Float");
      } else {
        Tensor dense;
        TENON_TRY(make_dense(given, computed_type(type), dense));
        AotiResult result;
        TENON_TRY(result.make(given.sizes(), type, computed_type(type)));
        scan_dense(DenseRows(given.sizes(), d), dense_data<T>(dense), result.data<T>(),
                   Sum(-std::numeric_limits<double>::infinity()),
                   [](Sum sum, Sum x) { return log_add_exp(x, sum); });
        return result.finish(ret0);
      }
    });
  });
}

AOTITorchError aoti_torch_cpu_cummax(AtenTensorHandle self, int64_t dim, AtenTensorHandle* ret0,
                                     AtenTensorHandle* ret1) {
  return scan_extremes(__func__, self, dim, ret0, ret1, [](auto x, auto y) { return x >= y; });
}
AOTITorchError aoti_torch_cpu_cummin(AtenTensorHandle self, int64_t dim, AtenTensorHandle* ret0,
                                     AtenTensorHandle* ret1) {
  return scan_extremes(__func__, self, dim, ret0, ret1, [](auto x, auto y) { return x <= y; });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
