// SPDX-License-Identifier: MIT
// Operators of torch.linalg that solve equations, invert matrices and compute determinants by LU,
// for Float and Double.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernel_matrices.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Writes L, without its diagonal, and U to the m x n matrix. Returns LAPACK's info: the number of
/// the first pivot that is 0, or 0.
template <class T>
int32_t factor_lu(T* a, int64_t m, int64_t n, int32_t* pivots) noexcept {
  int32_t info = 0;
  for (int64_t j = 0; j < (std::min)(m, n); ++j) {
    T* const column = a + j * m;
    int64_t pivot = j;
    for (int64_t i = j + 1; i < m; ++i) {
      if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
    }
    pivots[j] = static_cast<int32_t>(pivot + 1);
    if (column[pivot] == 0) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    for (int64_t c = 0; c < n && pivot != j; ++c) std::swap(a[c * m + j], a[c * m + pivot]);
    for (int64_t i = j + 1; i < m; ++i) column[i] /= column[j];
    for (int64_t c = j + 1; c < n; ++c) {
      const T factor = a[c * m + j];
      for (int64_t i = j + 1; i < m; ++i) a[c * m + i] -= column[i] * factor;
    }
  }
  return info;
}
/// The factors of a batch of matrices.
struct LuFactors {
  ColumnMatrices lu;
  std::vector<int32_t> pivots;
  std::vector<int32_t> infos;
  Dims batch;

  int64_t pivot_count() const noexcept { return (std::min)(lu.rows, lu.columns); }
  /// Factors the transposes, if `is_transposed`.
  Error factor(const Tensor& a, bool is_transposed) {
    Tensor from = a;
    TENON_TRY(turn_matrices(is_transposed, from));
    TENON_TRY(lu.read(from));
    batch = batch_of(a);
    const int64_t count = product(batch);
    pivots.resize(static_cast<size_t>(count * pivot_count()));
    infos.resize(static_cast<size_t>(count));
    on_floating_type(a.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count; ++k) {
        infos[static_cast<size_t>(k)] =
            factor_lu(lu.at<T>(k), lu.rows, lu.columns, pivots.data() + k * pivot_count());
      }
    });
    return Error::Ok;
  }
  Error check(bool checks, const char* function) const {
    if (!checks) return Error::Ok;
    return check_infos(infos.data(), static_cast<int64_t>(infos.size()), function, batch.empty());
  }
  Error give_factors(AtenOut& out) const {
    TENON_ASSIGN(const Tensor all, lu.matrices());
    TENON_TRY(give_by_columns(all, all.scalar_type(), out));
    return give_ints(pivots, with_sizes(batch, {pivot_count()}), out);
  }
  Error give_infos(AtenOut& out) const { return give_ints(infos, batch, out); }
  /// The pivots as a tensor, which is valid as long as this object.
  Tensor pivot_tensor() {
    return *from_blob(pivots.data(), with_sizes(batch, {pivot_count()}), ScalarType::Int);
  }
};

/// Solves A X = B, or without `is_left` X A = B. A is the product P L U of the factors, or with
/// `is_transposed` the transpose of that product.
/// Errors: InvalidArgument; OutOfBounds for a pivot outside the matrix.
inline Error solve_by_lu(const Tensor& lu, const Tensor& given_pivots, const Tensor& b,
                         bool is_left, bool is_transposed, Tensor& solution) {
  const size_t rank = b.sizes().size();
  const int64_t n = lu.sizes().back();
  if (b.scalar_type() != lu.scalar_type() || b.sizes()[rank - (is_left ? 2 : 1)] != n) {
    return fail(Error::InvalidArgument, "A has sizes ", lu.sizes(), " and type ", lu.scalar_type(),
                ", B has sizes ", b.sizes(), " and type ", b.scalar_type(), "; they do not fit");
  }
  Dims batch(batch_of(b));
  TENON_TRY(broadcast_sizes(batch_of(lu), batch));
  ColumnMatrices factors;
  ColumnMatrices x;
  Tensor pivots;
  Tensor sides = b;
  TENON_TRY(turn_matrices(!is_left, sides));
  if (!is_left) is_transposed = !is_transposed;
  TENON_TRY(factors.copy(lu, batch));
  TENON_TRY(x.copy(sides, batch));
  TENON_ASSIGN(pivots, try_expand(given_pivots, with_sizes(batch, {n})));
  TENON_TRY(make_dense(pivots, ScalarType::Int, pivots));
  const auto* const rows = dense_data<int32_t>(pivots);
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    if (rows[i] >= 1 && rows[i] <= n) continue;
    return fail(Error::OutOfBounds, "a pivot is ", rows[i], ", expected 1 to ", n);
  }
  on_floating_type(lu.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < product(batch); ++k) {
      const T* const a = factors.at<T>(k);
      T* const to = x.at<T>(k);
      const auto permute = [&] {
        for (int64_t step = 0; step < n; ++step) {
          const int64_t i = is_transposed ? n - 1 - step : step;
          const int64_t row = rows[k * n + i] - 1;
          for (int64_t c = 0; c < x.columns; ++c) std::swap(to[c * n + i], to[c * n + row]);
        }
      };
      if (!is_transposed) permute();
      solve_triangular(a, to, n, x.columns, is_transposed, is_transposed, !is_transposed);
      solve_triangular(a, to, n, x.columns, !is_transposed, is_transposed, is_transposed);
      if (is_transposed) permute();
    }
  });
  solution = x.memory;
  TENON_TRY(turn_matrices(is_left, solution));
  return Error::Ok;
}
/// Returns a solution. It is stored by columns if A is on the left, else by rows.
inline Error give_solution(const Tensor& solution, bool is_left, AtenOut& out) {
  const ScalarType type = solution.scalar_type();
  return is_left ? give_by_columns(solution, type, out) : give_dense(solution, type, out);
}
/// Factors A, and solves for B.
inline Error solve_matrices(const Tensor& a, const Tensor& b, bool is_left, LuFactors& factors,
                            Tensor& solution) {
  TENON_TRY(factors.factor(a, false));
  TENON_ASSIGN(const Tensor lu, factors.lu.matrices());
  return solve_by_lu(lu, factors.pivot_tensor(), b, is_left, false, solution);
}
inline Error run_solve(AtenIn in, AtenOut& out) {
  Tensor a;
  Tensor b;
  TENON_TRY(read_squares(in[0], "A", a));
  TENON_TRY(read_operand(in[1], b));
  const bool is_left = in[2].toBool();
  const bool is_vector = b.sizes().size() == 1 ||
                         b.sizes() == ArrayRef<int64_t>(a.sizes().data(), a.sizes().size() - 1);
  if (is_vector) {
    TENON_ASSIGN(b, try_unsqueeze(b, -1));
  }
  TENON_TRY(check_matrices(b, "B"));
  if (is_vector && !is_left) {
    return fail(Error::InvalidArgument, "B is a vector, expected matrices because left is false");
  }
  LuFactors factors;
  Tensor solution;
  TENON_TRY(solve_matrices(a, b, is_left, factors, solution));
  TENON_TRY(factors.check(in[3].toBool(), "linalg.solve_ex"));
  if (is_vector) {
    TENON_ASSIGN(solution, try_select(solution, -1, 0));
  }
  TENON_TRY(give_solution(solution, is_left, out));
  TENON_TRY(factors.give_factors(out));
  return factors.give_infos(out);
}
inline Error run_inv(AtenIn in, AtenOut& out) {
  Tensor a;
  Tensor solution;
  LuFactors factors;
  TENON_TRY(read_squares(in[0], "A", a));
  const int64_t n = a.sizes().back();
  TENON_ASSIGN(const TensorPtr identity, try_zeros({n, n}, a.scalar_type()));
  TENON_ASSIGN(const Tensor diagonal, try_as_strided(*identity, {n}, {n + 1}));
  TENON_TRY(fill_(diagonal, 1));
  TENON_TRY(solve_matrices(a, *identity, true, factors, solution));
  TENON_TRY(factors.check(in[1].toBool(), "linalg.inv_ex"));
  TENON_TRY(give_by_columns(solution, a.scalar_type(), out));
  return factors.give_infos(out);
}
inline Error run_lu_solve(AtenIn in, AtenOut& out) {
  Tensor lu;
  Tensor pivots;
  Tensor b;
  Tensor solution;
  TENON_TRY(read_squares(in[0], "LU", lu));
  TENON_TRY(read_operand(in[1], pivots));
  TENON_TRY(read_matrices(in[2], "B", b));
  if (pivots.scalar_type() != ScalarType::Int ||
      pivots.sizes() != ArrayRef<int64_t>(lu.sizes().data(), lu.sizes().size() - 1)) {
    return fail(Error::InvalidArgument, "the pivots have sizes ", pivots.sizes(), " and type ",
                pivots.scalar_type(), ", LU has sizes ", lu.sizes(), "; they do not fit");
  }
  TENON_TRY(solve_by_lu(lu, pivots, b, in[3].toBool(), in[4].toBool(), solution));
  return give_solution(solution, in[3].toBool(), out);
}

inline Error factor_given(AtenIn in, LuFactors& factors) {
  Tensor a;
  TENON_TRY(read_matrices(in[0], "A", a));
  if (in[1].toBool()) return factors.factor(a, false);
  return fail(Error::NotSupported, "pivot is false, expected true, as in torch on the CPU");
}
inline Error run_lu_factor(AtenIn in, AtenOut& out) {
  LuFactors factors;
  TENON_TRY(factor_given(in, factors));
  TENON_TRY(factors.check(in[2].toBool(), "torch.linalg.lu_factor_ex"));
  TENON_TRY(factors.give_factors(out));
  return factors.give_infos(out);
}
inline Error run_lu(AtenIn in, AtenOut& out) {
  LuFactors factors;
  AotiResult results[3];
  TENON_TRY(factor_given(in, factors));
  TENON_ASSIGN(const Tensor all, factors.lu.matrices());
  TENON_TRY(unpack_lu(all, factors.pivot_tensor(), true, true, results[0], results[1], results[2]));
  for (AotiResult& each : results) TENON_TRY(give(each, out));
  return Error::Ok;
}
/// The determinant, or its sign and the logarithm of its magnitude.
inline Error run_determinant(AtenIn in, AtenOut& out, bool is_logarithm) {
  Tensor a;
  LuFactors factors;
  TENON_TRY(read_squares(in[0], "A", a));
  // As torch does, factors the transpose if the matrix is contiguous: the transpose is stored by
  // columns already.
  TENON_TRY(factors.factor(a, fields(TensorArg(a)).layout.is_contiguous()));
  const ScalarType type = a.scalar_type();
  const int64_t n = factors.lu.rows;
  AotiResult values;
  AotiResult logarithms;
  TENON_TRY(values.make(factors.batch, type, type));
  if (is_logarithm) TENON_TRY(logarithms.make(factors.batch, type, type));
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < product(factors.batch); ++k) {
      T value = 1;
      T sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T x = factors.lu.at<T>(k)[i * (n + 1)];
        if (factors.pivots[static_cast<size_t>(k * n + i)] != i + 1) value = -value;
        value *= is_logarithm ? std::isnan(x) ? x : static_cast<T>((x > 0) - (x < 0)) : x;
        if (is_logarithm) sum += std::log(std::abs(x));
      }
      values.data<T>()[k] = value;
      if (is_logarithm) logarithms.data<T>()[k] = sum;
    }
  });
  TENON_TRY(give(values, out));
  if (is_logarithm) TENON_TRY(give(logarithms, out));
  return factors.give_factors(out);
}

}  // namespace detail
TENON_END_NAMESPACE
