// SPDX-License-Identifier: MIT
// Products of matrices and of batches of matrices by plain loops, for each type that torch
// multiplies.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// c += alpha a b, of row-major m x k and k x n elements. Blocks of b stay in the cache, and each
/// row of c is read and written once for four rows of b.
template <class T>
TENON_VECTORIZE void add_product(int64_t m, int64_t n, int64_t k, T alpha, const T* a, const T* b,
                                 T* c) noexcept {
  constexpr int64_t kColumns = 256;
  constexpr int64_t kRows = 64;
  for (int64_t column = 0; column < n; column += kColumns) {
    const int64_t width = (std::min)(kColumns, n - column);
    for (int64_t row = 0; row < k; row += kRows) {
      const int64_t end = (std::min)(row + kRows, k);
      for (int64_t i = 0; i < m; ++i) {
        T* const to = c + i * n + column;
        const T* const factors = a + i * k;
        int64_t p = row;
        for (; p + 4 <= end; p += 4) {
          const T* const from = b + p * n + column;
          const T f0 = alpha * factors[p];
          const T f1 = alpha * factors[p + 1];
          const T f2 = alpha * factors[p + 2];
          const T f3 = alpha * factors[p + 3];
          for (int64_t j = 0; j < width; ++j) {
            to[j] +=
                (f0 * from[j] + f1 * from[j + n]) + (f2 * from[j + 2 * n] + f3 * from[j + 3 * n]);
          }
        }
        for (; p < end; ++p) {
          const T* const from = b + p * n + column;
          const T factor = alpha * factors[p];
          for (int64_t j = 0; j < width; ++j) to[j] += factor * from[j];
        }
      }
    }
  }
}

/// Writes a complex k x n matrix as a real 2k x 2n matrix: the real product of rows (re, im, re,
/// im, ...) with it is their complex product.
template <class T>
void spread_complex(int64_t k, int64_t n, const T* from, T* to) noexcept {
  for (int64_t p = 0; p < k; ++p, to += 2 * n) {
    for (int64_t j = 0; j < n; ++j, from += 2, to += 2) {
      to[0] = from[0];
      to[1] = from[1];
      to[2 * n] = -from[1];
      to[2 * n + 1] = from[0];
    }
  }
}

/// Calls f with the type in which products are computed. Integers are multiplied as unsigned, so
/// that they wrap as torch's do.
template <class F>
Error on_product_type(ScalarType type, const F& f) {
  if (type == ScalarType::Long) return f(uint64_t());
  if (type == ScalarType::Float || type == ScalarType::ComplexFloat) return f(float());
  if (type == ScalarType::Double || type == ScalarType::ComplexDouble) return f(double());
  return fail(Error::NotSupported, "products of type ", type, " are not supported");
}
template <class T>
T product_factor(double factor) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(factor));
  } else {
    return static_cast<T>(factor);
  }
}

/// Errors: NotSupported for types that torch does not multiply.
inline Error check_product_type(ScalarType type) noexcept {
  if (type != ScalarType::Bool && type != ScalarType::ComplexHalf && type != ScalarType::UInt16 &&
      type != ScalarType::UInt32 && type != ScalarType::UInt64) {
    return Error::Ok;
  }
  return fail(Error::NotSupported, "a product of ", type,
              " tensors is not supported, as in torch; convert them, for example to Int");
}
/// Errors: InvalidArgument for a factor that has a fraction although the tensors have integers.
inline Error check_product_factors(ScalarType type, double beta, double alpha) noexcept {
  if (!isIntegralType(type, true)) return Error::Ok;
  for (const double factor : {beta, alpha}) {
    if (!(factor >= -9e18 && factor <= 9e18 && factor == std::trunc(factor))) {
      return fail(Error::InvalidArgument, "a factor of ", type, " tensors is ", factor,
                  ", expected an integer");
    }
  }
  return Error::Ok;
}

inline Error read_of_rank(AtenTensorHandle handle, const char* name, size_t rank, Tensor& read) {
  TENON_TRY(read_aoti(handle, name, read));
  if (read.sizes().size() == rank) return Error::Ok;
  return fail(Error::InvalidArgument, name, " has sizes ", read.sizes(), ", expected rank ", rank);
}
inline Error check_same_type(const Tensor& a, const Tensor& b) noexcept {
  if (a.scalar_type() == b.scalar_type()) return Error::Ok;
  return fail(Error::InvalidType, "the tensors have types ", a.scalar_type(), " and ",
              b.scalar_type(), ", expected one type");
}
/// Checks matrices whose product is m x n.
inline Error check_product_sizes(const Tensor& a, const Tensor& b, int64_t m, int64_t n) noexcept {
  if (a.sizes()[1] == b.sizes()[0] && a.sizes()[0] == m && b.sizes()[1] == n) return Error::Ok;
  return fail(Error::InvalidArgument, "matrices of sizes ", a.sizes(), " and ", b.sizes(),
              " have no product of sizes ", Dims{m, n});
}

/// out = beta self + alpha a b, where self broadcasts, or alpha a b if `self` is null. The tensors
/// are matrices or batches of matrices of any strides and types; the caller has checked their
/// sizes.
inline Error plain_product(const Tensor& out, const Tensor* self, const Tensor& a, const Tensor& b,
                           double beta, double alpha) {
  const TensorFields& to = fields(TensorArg(out));
  TENON_TRY(check_product_type(to.type));
  TENON_TRY(check_product_factors(to.type, beta, alpha));
  const ScalarType type = computed_type(to.type);
  const size_t rank = to.layout.rank();
  const int64_t m = to.layout.sizes()[rank - 2];
  const int64_t n = to.layout.sizes()[rank - 1];
  const int64_t k = a.sizes()[rank - 1];
  const int64_t batches = rank == 2 ? 1 : to.layout.sizes()[0];
  Tensor x;
  Tensor y;
  TENON_TRY(make_dense(a, type, x));
  TENON_TRY(make_dense(b, type, y));
  AotiResult result;
  TENON_TRY(result.use(out, type));
  TENON_TRY(self == nullptr ? zero_(result.work()) : convert(result.work(), *self));
  TENON_TRY(on_product_type(type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t parts = isComplexType(type) ? 2 : 1;
    T* const c = result.data<T>();
    if (self != nullptr && beta != 1) {
      const T factor = product_factor<T>(beta);
      for (int64_t i = 0; i < to.layout.numel * parts; ++i) c[i] *= factor;
    }
    std::vector<T> spread(static_cast<size_t>(parts == 2 ? 4 * k * n : 0));
    for (int64_t i = 0; i < batches; ++i) {
      const T* right = dense_data<T>(y) + i * k * n * parts;
      if (parts == 2) {
        spread_complex(k, n, right, spread.data());
        right = spread.data();
      }
      add_product(m, n * parts, k * parts, product_factor<T>(alpha),
                  dense_data<T>(x) + i * m * k * parts, right, c + i * m * n * parts);
    }
    return Error::Ok;
  }));
  return result.finish();
}

}  // namespace detail
TENON_END_NAMESPACE
