// SPDX-License-Identifier: MIT
// PyTorch's operators for eigenvalues and singular values, by Jacobi rotations, and for
// pseudoinverses and exponentials of matrices. All compute in double.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/interop/runtimes/aoti_kernel_matrices.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Zeros of type double.
inline Error make_doubles(const Dims& sizes, Tensor& made) {
  TENON_ASSIGN(const TensorPtr zeros, try_zeros(sizes, ScalarType::Double));
  made = *zeros;
  return Error::Ok;
}
inline double* doubles(const Tensor& t) noexcept {
  return static_cast<double*>(fields(TensorArg(t)).data);
}

inline double dot(const double* a, const double* b, int64_t n) noexcept {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
/// Divides the numbers by their largest magnitude, so that squares do not overflow. Sets `scale` to
/// that magnitude.
/// Errors: InvalidArgument for infinities and NaN.
inline Error scale_down(double* x, int64_t count, double& scale) {
  scale = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) {
      return fail(Error::InvalidArgument, "a matrix has an element that is ", x[i],
                  ", so its decomposition does not converge");
    }
    scale = (std::max)(scale, std::abs(x[i]));
  }
  if (scale == 0) scale = 1;
  for (int64_t i = 0; i < count; ++i) x[i] /= scale;
  return Error::Ok;
}
/// The rotation that makes `product` 0. That is the inner product of two columns, whose squared
/// lengths are `first` and `second`; or an off-diagonal element of a symmetric matrix, whose
/// diagonal elements are `first` and `second`.
struct Rotation {
  double cosine = 1;
  double sine = 0;

  Rotation(double product, double first, double second) noexcept {
    const double theta = (second - first) / (2 * product);
    const double tangent = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0));
    cosine = 1 / std::sqrt(tangent * tangent + 1);
    sine = tangent * cosine;
  }
  void apply(double* a, double* b, int64_t n, int64_t step) const noexcept {
    for (int64_t i = 0; i < n * step; i += step) {
      const double x = a[i];
      a[i] = cosine * x - sine * b[i];
      b[i] = sine * x + cosine * b[i];
    }
  }
};
constexpr int kMaxJacobiSweeps = 60;  // usually about ten are needed

/// Diagonalizes a symmetric n x n matrix. Its eigenvalues are then on its diagonal, and its
/// eigenvectors are the columns of v, which must be the identity before.
inline Error diagonalize(double* a, double* v, int64_t n) {
  const double least = std::numeric_limits<double>::epsilon() * std::sqrt(dot(a, a, n * n)) /
                       static_cast<double>((std::max)(n, int64_t{1}));
  for (int sweep = 0; sweep < kMaxJacobiSweeps; ++sweep) {
    bool has_turned = false;
    for (int64_t q = 1; q < n; ++q) {
      for (int64_t p = 0; p < q; ++p) {
        if (std::abs(a[q * n + p]) <= least) continue;
        has_turned = true;
        const Rotation turn(a[q * n + p], a[p * n + p], a[q * n + q]);
        turn.apply(a + p * n, a + q * n, n, 1);
        turn.apply(a + p, a + q, n, n);
        turn.apply(v + p * n, v + q * n, n, 1);
      }
    }
    if (!has_turned) return Error::Ok;
  }
  return fail(Error::InvalidState, "the eigenvalues did not converge");
}
/// Rotates the columns of `a`, a tall m x n matrix, until they are orthogonal. Applies the same
/// rotations to the columns of v, which is n x n.
inline Error orthogonalize(double* a, double* v, int64_t m, int64_t n) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const double tolerance = kEpsilon * std::sqrt(static_cast<double>(m));
  // columns with a smaller squared length count as 0
  const double least = kEpsilon * kEpsilon * dot(a, a, m * n);
  for (int sweep = 0; sweep < kMaxJacobiSweeps; ++sweep) {
    bool has_turned = false;
    for (int64_t q = 1; q < n; ++q) {
      for (int64_t p = 0; p < q; ++p) {
        const double pp = dot(a + p * m, a + p * m, m);
        const double qq = dot(a + q * m, a + q * m, m);
        const double pq = dot(a + p * m, a + q * m, m);
        if (std::abs(pq) <= tolerance * std::sqrt(pp) * std::sqrt(qq)) continue;
        if ((std::min)(pp, qq) <= least) continue;
        has_turned = true;
        const Rotation turn(pq, pp, qq);
        turn.apply(a + p * m, a + q * m, m, 1);
        turn.apply(v + p * n, v + q * n, n, 1);
      }
    }
    if (!has_turned) return Error::Ok;
  }
  return fail(Error::InvalidState, "the singular values did not converge");
}
/// Sets column `done` of a matrix of m rows to a unit vector that is orthogonal to all columns
/// before it.
inline void add_orthogonal_column(double* a, int64_t m, int64_t done) noexcept {
  double* const to = a + done * m;
  // Starts from the unit vector that has the largest part outside the span of these columns.
  int64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < m; ++i) {
    double taken = 0;
    for (int64_t c = 0; c < done; ++c) taken += a[c * m + i] * a[c * m + i];
    if (taken < least) best = i;
    least = (std::min)(least, taken);
  }
  std::fill(to, to + m, 0.0);
  to[best] = 1;
  for (int times = 0; times < 2; ++times) {
    for (int64_t c = 0; c < done; ++c) {
      const double along = dot(a + c * m, to, m);
      for (int64_t i = 0; i < m; ++i) to[i] -= along * a[c * m + i];
    }
    const double length = std::sqrt(dot(to, to, m));
    for (int64_t i = 0; i < m; ++i) to[i] /= length;
  }
}
/// The indices that sort the numbers in ascending order.
inline std::vector<int64_t> ascending_order(const std::vector<double>& numbers) {
  std::vector<int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const double a = numbers[static_cast<size_t>(i)];
    const double b = numbers[static_cast<size_t>(j)];
    return a != b ? a < b : i < j;
  });
  return order;
}
inline void set_identity(double* a, int64_t n) noexcept {
  for (int64_t i = 0; i < n * n; ++i) a[i] = i % (n + 1) == 0;
}

/// The singular value decomposition U S Vᵀ of a batch of matrices.
struct SingularValues {
  ColumnMatrices u;
  ColumnMatrices v;
  Tensor s;
  int64_t rank = 0;  // number of singular values

  /// U and V have `rank` columns; with `is_full` they are square.
  Error find(const Tensor& given, bool is_full) {
    const Dims batch(batch_of(given));
    ColumnMatrices a;  // tall or square: the transpose of a wide matrix
    const bool is_wide = given.sizes().end()[-2] < given.sizes().back();
    Tensor tall = given;
    TENON_TRY(turn_matrices(is_wide, tall));
    TENON_TRY(a.read(tall, ScalarType::Double));
    const int64_t m = a.rows;
    const int64_t n = rank = a.columns;
    ColumnMatrices& left = is_wide ? v : u;
    ColumnMatrices& right = is_wide ? u : v;
    ColumnMatrices turned;
    TENON_TRY(left.make_zeros(batch, m, is_full ? m : n, ScalarType::Double));
    TENON_TRY(right.make_zeros(batch, n, n, ScalarType::Double));
    TENON_TRY(turned.make_zeros(batch, n, n, ScalarType::Double));
    TENON_TRY(make_doubles(with_sizes(batch, {n}), s));
    std::vector<double> lengths(static_cast<size_t>(n));
    for (int64_t k = 0; k < product(batch); ++k) {
      auto* const from = a.at<double>(k);
      double scale = 0;
      TENON_TRY(scale_down(from, m * n, scale));
      set_identity(turned.at<double>(k), n);
      TENON_TRY(orthogonalize(from, turned.at<double>(k), m, n));
      double longest = 0;
      for (int64_t c = 0; c < n; ++c) {
        const double length = std::sqrt(dot(from + c * m, from + c * m, m));
        lengths[static_cast<size_t>(c)] = -length;
        longest = (std::max)(longest, length);
      }
      const std::vector<int64_t> order = ascending_order(lengths);
      const double least =
          longest * static_cast<double>(m) * std::numeric_limits<double>::epsilon();
      auto* const to = left.at<double>(k);
      for (int64_t c = 0; c < left.columns; ++c) {
        if (c >= n) {
          add_orthogonal_column(to, m, c);
          continue;
        }
        const int64_t at = order[static_cast<size_t>(c)];
        const double length = -lengths[static_cast<size_t>(at)];
        doubles(s)[k * n + c] = length * scale;
        std::copy_n(turned.at<double>(k) + at * n, n, right.at<double>(k) + c * n);
        if (length <= least) {  // too short to have a direction
          add_orthogonal_column(to, m, c);
          continue;
        }
        for (int64_t i = 0; i < m; ++i) to[c * m + i] = from[at * m + i] / length;
      }
    }
    return Error::Ok;
  }
};
inline Error run_svd(AtenIn in, AtenOut& out) {
  Tensor a;
  TENON_TRY(read_matrices(in[0], "A", a));
  const ScalarType type = a.scalar_type();
  SingularValues found;
  const bool gives_vectors = in[2].toBool();
  TENON_TRY(found.find(a, gives_vectors && in[1].toBool()));
  if (!gives_vectors) {
    TENON_TRY(give_empty(type, out));
    TENON_TRY(give_dense(found.s, type, out));
    return give_empty(type, out);
  }
  TENON_ASSIGN(const Tensor u, found.u.matrices());
  TENON_TRY(give_by_columns(u, type, out));
  TENON_TRY(give_dense(found.s, type, out));
  return give_by_columns(found.v.memory, type, out);
}

/// Copies one triangle of symmetric matrices to the other.
inline void mirror(const ColumnMatrices& a, bool from_upper) noexcept {
  const int64_t n = a.rows;
  for (int64_t k = 0; k < product(batch_of(a.memory)); ++k) {
    for (int64_t c = 0; c < n; ++c) {
      for (int64_t r = 0; r < c; ++r) {
        double& upper = a.at<double>(k)[c * n + r];
        double& lower = a.at<double>(k)[r * n + c];
        (from_upper ? lower : upper) = from_upper ? upper : lower;
      }
    }
  }
}
inline Error run_eigh(AtenIn in, AtenOut& out) {
  Tensor given;
  TENON_TRY(read_squares(in[0], "A", given));
  const std::string_view triangle = in[1].toString();
  if (triangle.size() != 1 || std::string_view("LlUu").find(triangle[0]) > 3) {
    return fail(Error::InvalidArgument, "UPLO is \"", triangle, "\", expected \"L\" or \"U\"");
  }
  const ScalarType type = given.scalar_type();
  const Dims batch(batch_of(given));
  ColumnMatrices a;
  ColumnMatrices v;
  ColumnMatrices sorted;
  Tensor values;
  TENON_TRY(a.read(given, ScalarType::Double));
  mirror(a, triangle == "U" || triangle == "u");
  const int64_t n = a.rows;
  TENON_TRY(v.make_zeros(batch, n, n, ScalarType::Double));
  TENON_TRY(sorted.make_zeros(batch, n, n, ScalarType::Double));
  TENON_TRY(make_doubles(with_sizes(batch, {n}), values));
  std::vector<double> diagonal(static_cast<size_t>(n));
  for (int64_t k = 0; k < product(batch); ++k) {
    auto* const from = a.at<double>(k);
    double scale = 0;
    TENON_TRY(scale_down(from, n * n, scale));
    set_identity(v.at<double>(k), n);
    TENON_TRY(diagonalize(from, v.at<double>(k), n));
    for (int64_t c = 0; c < n; ++c) diagonal[static_cast<size_t>(c)] = from[c * (n + 1)];
    const std::vector<int64_t> order = ascending_order(diagonal);
    for (int64_t c = 0; c < n; ++c) {
      const int64_t at = order[static_cast<size_t>(c)];
      doubles(values)[k * n + c] = from[at * (n + 1)] * scale;
      std::copy_n(v.at<double>(k) + at * n, n, sorted.at<double>(k) + c * n);
    }
  }
  TENON_TRY(give_dense(values, type, out));
  if (!in[2].toBool()) return give_empty(type, out);
  TENON_ASSIGN(const Tensor vectors, sorted.matrices());
  return give_by_columns(vectors, type, out);
}

/// Reads a tolerance of pinv: one number for each matrix. `without` is the default.
inline Error read_limits(const EValue& value, const Dims& batch, double without, Tensor& read) {
  if (value.isNone()) {
    TENON_TRY(make_doubles(batch, read));
    return fill_(read, without);
  }
  TENON_TRY(read_operand(value, read));
  TENON_ASSIGN(read, try_expand(read, batch));
  return make_dense(read, ScalarType::Double, read);
}
/// Computes V S⁺ Uᵀ, where S⁺ has 1 / s for each singular value s above the tolerance, and 0 for
/// the others.
inline Error run_pinv(AtenIn in, AtenOut& out) {
  Tensor given;
  TENON_TRY(read_matrices(in[0], "self", given));
  const Dims batch(batch_of(given));
  const ScalarType type = given.scalar_type();
  const bool is_hermitian = in[3].toBool();
  if (is_hermitian) {
    TENON_TRY(check_square(given, "self"));
    ColumnMatrices lower;
    TENON_TRY(lower.read(given, ScalarType::Double));
    mirror(lower, false);
    TENON_ASSIGN(given, lower.matrices());
  }
  const int64_t m = given.sizes().end()[-2];
  const int64_t n = given.sizes().back();
  const double epsilon = type == ScalarType::Double ? std::numeric_limits<double>::epsilon()
                                                    : double{std::numeric_limits<float>::epsilon()};
  Tensor absolute;
  Tensor relative;
  TENON_TRY(read_limits(in[1], batch, 0, absolute));
  TENON_TRY(read_limits(in[2], batch, epsilon * static_cast<double>((std::max)(m, n)), relative));
  SingularValues found;
  TENON_TRY(found.find(given, false));
  Tensor made;
  TENON_TRY(make_doubles(with_sizes(batch, {n, m}), made));
  for (int64_t k = 0; k < product(batch) && found.rank != 0; ++k) {
    const double* const s = doubles(found.s) + k * found.rank;
    // As in torch, the default of rtol is 0 if atol is above 0.
    const bool has_default = in[2].isNone() && doubles(absolute)[k] > 0;
    const double limit =
        (std::max)(doubles(absolute)[k], has_default ? 0 : doubles(relative)[k] * s[0]);
    double* const to = doubles(made) + k * n * m;
    for (int64_t c = 0; c < found.rank; ++c) {
      if (!(s[c] > limit)) continue;
      for (int64_t i = 0; i < n; ++i) {
        const double scaled = found.v.at<double>(k)[c * n + i] / s[c];
        for (int64_t j = 0; j < m; ++j) to[i * m + j] += scaled * found.u.at<double>(k)[c * m + j];
      }
    }
  }
  return give_dense(made, type, out);
}

/// to = a b / divisor, for n x n matrices. With `adds_identity` the identity is added.
inline void multiply_squares(const double* a, const double* b, int64_t n, double divisor,
                             bool adds_identity, double* to) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    std::fill_n(to + i * n, n, 0.0);
    for (int64_t k = 0; k < n; ++k) {
      const double factor = a[i * n + k] / divisor;
      for (int64_t j = 0; j < n; ++j) to[i * n + j] += factor * b[k * n + j];
    }
    if (adds_identity) to[i * n + i] += 1;
  }
}
/// Halves each matrix until its norm is at most 1/2, sums the exponential series, and squares the
/// result once for each halving.
inline Error run_matrix_exp(AtenIn in, AtenOut& out) {
  constexpr int kTerms = 18;  // enough for double precision if the norm is at most 1/2
  Tensor given;
  Tensor a;
  Tensor made;
  TENON_TRY(read_squares(in[0], "self", given));
  const ScalarType type = given.scalar_type();
  const int64_t n = given.sizes().back();
  TENON_TRY(make_doubles(Dims(given.sizes()), a));
  TENON_TRY(convert(a, given));
  TENON_TRY(make_doubles(Dims(given.sizes()), made));
  std::vector<double> work(static_cast<size_t>(n * n));
  for (int64_t k = 0; k < product(batch_of(given)); ++k) {
    double* const x = doubles(a) + k * n * n;
    double* const to = doubles(made) + k * n * n;
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += std::abs(x[i * n + j]);
      norm = (std::max)(norm, sum);
    }
    const int times = std::isfinite(norm) && norm > 0 ? (std::max)(0, std::ilogb(norm) + 2) : 0;
    for (int64_t i = 0; i < n * n; ++i) x[i] = std::ldexp(x[i], -times);
    set_identity(to, n);
    for (int term = kTerms; term > 0; --term) {
      std::copy_n(to, n * n, work.data());
      multiply_squares(x, work.data(), n, term, true, to);
    }
    for (int i = 0; i < times; ++i) {
      std::copy_n(to, n * n, work.data());
      multiply_squares(work.data(), work.data(), n, 1, false, to);
    }
  }
  return give_dense(made, type, out);
}

}  // namespace detail
TENON_END_NAMESPACE
