// SPDX-License-Identifier: MIT
// Operators of torch.linalg, for matrices of Float and Double, by plain loops. For matrices of
// hundreds of rows, register LAPACK's or Eigen's functions instead, by register_torch_operator().
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernels_eigenvalues.h"
#include "tenon/interop/runtimes/aoti_kernels_solve.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Computes the Cholesky factorization L Lᵀ. Writes L to the lower triangle, and 0 above the
/// diagonal. Returns LAPACK's info.
template <class T>
int32_t factor_cholesky(T* a, int64_t n) noexcept {
  int32_t info = 0;
  for (int64_t j = 0; j < n; ++j) {
    T* const column = a + j * n;
    std::fill_n(column, j, T(0));
    if (info != 0) continue;
    if (!(column[j] > 0)) {
      info = static_cast<int32_t>(j + 1);
      continue;
    }
    column[j] = std::sqrt(column[j]);
    for (int64_t i = j + 1; i < n; ++i) column[i] /= column[j];
    for (int64_t c = j + 1; c < n; ++c) {
      for (int64_t i = c; i < n; ++i) a[c * n + i] -= column[i] * column[c];
    }
  }
  return info;
}
inline Error run_cholesky(AtenIn in, AtenOut& out) {
  Tensor a;
  TENON_TRY(read_squares(in[0], "self", a));
  const bool is_upper = in[1].toBool();
  const Dims batch(batch_of(a));
  const int64_t count = product(batch);
  Tensor from = a;
  TENON_TRY(turn_matrices(is_upper, from));
  ColumnMatrices l;
  TENON_TRY(l.read(from));
  std::vector<int32_t> infos(static_cast<size_t>(count));
  on_floating_type(a.scalar_type(), [&](auto zero) {
    for (int64_t k = 0; k < count; ++k) {
      infos[static_cast<size_t>(k)] = factor_cholesky(l.at<decltype(zero)>(k), l.rows);
    }
  });
  if (in[2].toBool()) {
    TENON_TRY(check_infos(infos.data(), count, "linalg.cholesky_ex", batch.empty()));
  }
  Tensor factor = l.memory;
  TENON_TRY(turn_matrices(!is_upper, factor));
  TENON_TRY(give_by_columns(factor, a.scalar_type(), out));
  return give_ints(infos, batch, out);
}
inline Error run_solve_triangular(AtenIn in, AtenOut& out) {
  Tensor a;
  Tensor b;
  TENON_TRY(read_squares(in[0], "A", a));
  TENON_TRY(read_matrices(in[1], "B", b));
  const bool is_left = in[3].toBool();
  if (a.scalar_type() != b.scalar_type() ||
      b.sizes().end()[is_left ? -2 : -1] != a.sizes().back()) {
    return fail(Error::InvalidArgument, "A has sizes ", a.sizes(), " and type ", a.scalar_type(),
                ", B has sizes ", b.sizes(), " and type ", b.scalar_type(), "; they do not fit");
  }
  Dims batch(batch_of(b));
  TENON_TRY(broadcast_sizes(batch_of(a), batch));
  Tensor sides = b;
  TENON_TRY(turn_matrices(!is_left, sides));
  ColumnMatrices factors;
  ColumnMatrices x;
  TENON_TRY(factors.copy(a, batch));
  TENON_TRY(x.copy(sides, batch));
  on_floating_type(a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < product(batch); ++k) {
      solve_triangular(factors.at<T>(k), x.at<T>(k), x.rows, x.columns, in[2].toBool(), !is_left,
                       in[4].toBool());
    }
  });
  Tensor solution = x.memory;
  TENON_TRY(turn_matrices(is_left, solution));
  return give_by_columns(solution, a.scalar_type(), out);
}

/// Computes Q from `reflections`, with as many columns as q has.
inline void make_q(const ColumnMatrices& reflections, const Tensor& taus, ColumnMatrices& q) {
  on_floating_type(q.memory.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t m = q.rows;
    const int64_t count = taus.sizes().back();
    for (int64_t k = 0; k < product(batch_of(q.memory)); ++k) {
      T* const to = q.at<T>(k);
      for (int64_t i = 0; i < (std::min)(m, q.columns); ++i) to[i * (m + 1)] = 1;
      for (int64_t i = count - 1; i >= 0; --i) {
        reflect(reflections.at<T>(k) + i * (m + 1), dense_data<T>(taus)[k * count + i], m - i,
                to + i, q.columns, m);
      }
    }
  });
}
inline Error run_qr(AtenIn in, AtenOut& out) {
  Tensor a;
  TENON_TRY(read_matrices(in[0], "A", a));
  const std::string_view mode = in[1].toString();
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    return fail(Error::InvalidArgument, "mode is \"", mode,
                "\", expected \"reduced\", \"complete\" or \"r\"");
  }
  const ScalarType type = a.scalar_type();
  const Dims batch(batch_of(a));
  ColumnMatrices x;
  ColumnMatrices q;
  ColumnMatrices r;
  TENON_TRY(x.read(a));
  const int64_t m = x.rows;
  const int64_t n = x.columns;
  const int64_t count = (std::min)(m, n);
  const int64_t width = mode == "complete" ? m : count;
  TENON_ASSIGN(const TensorPtr taus, try_zeros(with_sizes(batch, {count}), type));
  TENON_TRY(q.make_zeros(batch, m, mode == "r" ? 0 : width, type));
  TENON_TRY(r.make_zeros(batch, width, n, type));
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < product(batch); ++k) {
      factor_qr(x.at<T>(k), m, n, static_cast<T*>(fields(TensorArg(*taus)).data) + k * count);
      for (int64_t c = 0; c < n; ++c) {
        std::copy_n(x.at<T>(k) + c * m, (std::min)(c + 1, count), r.at<T>(k) + c * width);
      }
    }
  });
  if (mode == "r") {
    TENON_TRY(give_empty(type, out));
  } else {
    make_q(x, *taus, q);
    TENON_ASSIGN(const Tensor all, q.matrices());
    TENON_TRY(give_by_columns(all, type, out));
  }
  TENON_ASSIGN(const Tensor triangles, r.matrices());
  return give_by_columns(triangles, type, out);
}
inline Error run_householder_product(AtenIn in, AtenOut& out) {
  Tensor a;
  Tensor taus;
  TENON_TRY(read_matrices(in[0], "input", a));
  TENON_TRY(read_operand(in[1], taus));
  ColumnMatrices reflections;
  ColumnMatrices q;
  const Dims batch(batch_of(a));
  TENON_TRY(reflections.read(a));
  const int64_t count = taus.sizes().empty() ? -1 : taus.sizes().back();
  if (taus.scalar_type() != a.scalar_type() || reflections.rows < reflections.columns ||
      count > reflections.columns || taus.sizes() != with_sizes(batch, {count})) {
    return fail(Error::InvalidArgument, "the reflections have sizes ", a.sizes(),
                ", tau has sizes ", taus.sizes(), " and type ", taus.scalar_type(),
                "; they do not fit");
  }
  TENON_TRY(make_dense(taus, a.scalar_type(), taus));
  TENON_TRY(q.make_zeros(batch, reflections.rows, reflections.columns, a.scalar_type()));
  make_q(reflections, taus, q);
  TENON_ASSIGN(const Tensor all, q.matrices());
  return give_by_columns(all, a.scalar_type(), out);
}

inline Error run_check_errors(AtenIn in, AtenOut&) {
  Tensor infos;
  TENON_TRY(read_operand(in[0], infos));
  if (infos.scalar_type() != ScalarType::Int) {
    return fail(Error::InvalidType, "info has type ", infos.scalar_type(), ", expected Int");
  }
  TENON_TRY(make_dense(infos, ScalarType::Int, infos));
  return check_infos(dense_data<int32_t>(infos), infos.numel(), in[1].toString(), in[2].toBool());
}

inline constexpr AtenOperator kLinalgOperators[] = {
    {"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     run_check_errors},
    {"aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     run_inv},
    {"aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
     "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
     run_solve},
    {"aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor "
     "LU, Tensor pivots, Tensor info)",
     run_lu_factor},
    {"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", run_lu},
    {"aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
     "adjoint=False) -> Tensor",
     run_lu_solve},
    {"aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     [](AtenIn in, AtenOut& out) { return run_determinant(in, out, false); }},
    {"aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor "
     "pivots)",
     [](AtenIn in, AtenOut& out) { return run_determinant(in, out, true); }},
    {"aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
     "(Tensor L, Tensor info)",
     run_cholesky},
    {"aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
     "unitriangular=False) -> Tensor",
     run_solve_triangular},
    {"aten::linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", run_qr},
    {"aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
     run_householder_product},
    {"aten::_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, "
     "Tensor eigenvectors)",
     run_eigh},
    {"aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
     "driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     run_svd},
    {"aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
     "bool hermitian=False) -> Tensor",
     run_pinv},
    {"aten::linalg_matrix_exp(Tensor self) -> Tensor", run_matrix_exp},
};

}  // namespace detail
TENON_END_NAMESPACE
