// SPDX-License-Identifier: MIT
// Kernels for matrix factorizations: they solve with triangular and Cholesky factors, and compute
// QR, for Float and Double, by plain loops. Matrices are stored by columns, like those of LAPACK
// and of torch's results.
#pragma once

#include <cmath>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Copies a tensor. The matrices in the copy's last two dimensions are stored by columns.
inline Error copy_by_columns(const Tensor& from, ScalarType type, Tensor& made) {
  AotiShape shape;
  shape.sizes = from.sizes();
  shape.strides = row_major_strides(shape.sizes);  // torch's strides, for empty matrices too
  TENON_TRY(shape.check());
  if (const size_t rank = shape.sizes.size(); rank >= 2) {
    shape.strides[rank - 2] = 1;
    shape.strides[rank - 1] = (std::max)(shape.sizes[rank - 2], int64_t{1});
  }
  shape.type = type;
  TENON_TRY(aoti_empty(shape, made));
  return convert(made, from);
}
inline Dims with_sizes(ArrayRef<int64_t> first, std::initializer_list<int64_t> last) {
  Dims sizes(first);
  for (const int64_t size : last) sizes.push_back(size);
  return sizes;
}

/// A dense batch of matrices that are stored by columns, for computations.
struct ColumnMatrices {
  Tensor memory;  // of sizes (…, columns, rows)
  int64_t rows = 0;
  int64_t columns = 0;

  /// The k-th matrix.
  template <class T>
  T* at(int64_t k) const noexcept {
    return static_cast<T*>(fields(TensorArg(memory)).data) + k * rows * columns;
  }
  /// Copies matrices, and broadcasts them to the batch.
  Error copy(const Tensor& from, ArrayRef<int64_t> batch) {
    const size_t rank = from.sizes().size();
    rows = from.sizes()[rank - 2];
    columns = from.sizes()[rank - 1];
    Dims sizes(batch);
    sizes.push_back(rows);
    sizes.push_back(columns);
    TENON_ASSIGN(const Tensor all, try_expand(from, sizes));
    return read(all);
  }
  Error read(const Tensor& from) { return read(from, from.scalar_type()); }
  Error read(const Tensor& from, ScalarType type) {
    const auto last = static_cast<int64_t>(from.sizes().size()) - 1;
    rows = from.sizes()[static_cast<size_t>(last) - 1];
    columns = from.sizes()[static_cast<size_t>(last)];
    TENON_ASSIGN(const Tensor turned, try_transpose(from, last - 1, last));
    TENON_ASSIGN(const TensorPtr made, try_empty(turned.sizes(), type, host_backend()));
    memory = *made;
    return copy_(memory, turned);
  }
  Error make_zeros(ArrayRef<int64_t> batch, int64_t row_count, int64_t column_count,
                   ScalarType type) {
    rows = row_count;
    columns = column_count;
    TENON_ASSIGN(const TensorPtr zeros, try_zeros(with_sizes(batch, {columns, rows}), type));
    memory = *zeros;
    return Error::Ok;
  }
  /// The matrices as a view with rows before columns.
  Result<Tensor> matrices() const {
    const auto last = static_cast<int64_t>(memory.sizes().size()) - 1;
    return try_transpose(memory, last - 1, last);
  }
  Error finish(AtenTensorHandle* ret) const {
    Tensor made;
    TENON_TRY(make_result(made));
    return make_aoti_handle(made, *ret);
  }
  /// Makes a result of these matrices, by columns.
  Error make_result(Tensor& made) const {
    TENON_ASSIGN(const Tensor all, matrices());
    return copy_by_columns(all, all.scalar_type(), made);
  }
};

/// Checks that a tensor's last two dimensions are matrices of Float or Double.
inline Error check_matrices(const Tensor& read, const char* name) {
  const ScalarType type = read.scalar_type();
  if (read.sizes().size() < 2) {
    return fail(Error::InvalidArgument, name, " has sizes ", read.sizes(),
                ", expected rank 2 or more");
  }
  if (type == ScalarType::Float || type == ScalarType::Double) return Error::Ok;
  return fail(Error::NotSupported, name, " has type ", type, ", expected Float or Double");
}
inline Error read_matrices(AtenTensorHandle handle, const char* name, Tensor& read) {
  TENON_TRY(read_aoti(handle, name, read));
  return check_matrices(read, name);
}
inline Error check_square(const Tensor& a, const char* name) noexcept {
  const size_t rank = a.sizes().size();
  if (a.sizes()[rank - 1] == a.sizes()[rank - 2]) return Error::Ok;
  return fail(Error::InvalidArgument, name, " has sizes ", a.sizes(), ", expected square matrices");
}
/// Reads square factors, and the right-hand sides of equations. Broadcasts their batches.
inline Error read_equations(AtenTensorHandle sides, AtenTensorHandle factor, const char* name,
                            ColumnMatrices& x, ColumnMatrices& factors) {
  Tensor a;
  Tensor b;
  TENON_TRY(read_matrices(sides, "self", b));
  TENON_TRY(read_matrices(factor, name, a));
  TENON_TRY(check_square(a, name));
  if (a.scalar_type() != b.scalar_type() || b.sizes()[b.sizes().size() - 2] != a.sizes().back()) {
    return fail(Error::InvalidArgument, name, " has sizes ", a.sizes(), " and type ",
                a.scalar_type(), ", self has sizes ", b.sizes(), " and type ", b.scalar_type(),
                "; they do not fit");
  }
  Dims batch(batch_of(b));
  TENON_TRY(broadcast_sizes(batch_of(a), batch));
  TENON_TRY(factors.copy(a, batch));
  return x.copy(b, batch);
}

/// Solves a x = b, or aᵀ x = b: x has b before and the solution after. Reads one triangle of `a`,
/// which is n x n; x has `count` columns.
template <class T>
void solve_triangular(const T* a, T* x, int64_t n, int64_t count, bool is_upper, bool is_transposed,
                      bool has_unit_diagonal) noexcept {
  const bool goes_down = is_upper == is_transposed;
  for (int64_t c = 0; c < count; ++c) {
    T* const to = x + c * n;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = goes_down ? step : n - 1 - step;
      const int64_t begin = goes_down ? 0 : i + 1;
      const int64_t end = goes_down ? i : n;
      T sum = to[i];
      for (int64_t k = begin; k < end; ++k) {
        sum -= (is_transposed ? a[i * n + k] : a[k * n + i]) * to[k];
      }
      to[i] = has_unit_diagonal ? sum : sum / a[i * n + i];
    }
  }
}
/// Solves with a Cholesky factor: with `is_upper` U of Uᵀ U, else L of L Lᵀ.
template <class T>
void solve_cholesky(const T* factor, T* x, int64_t n, int64_t count, bool is_upper) noexcept {
  solve_triangular(factor, x, n, count, is_upper, is_upper, false);
  solve_triangular(factor, x, n, count, is_upper, !is_upper, false);
}

/// Applies I - tau v vᵀ to `count` columns that are `distance` apart. v[0] counts as 1.
template <class T>
void reflect(const T* v, T tau, int64_t n, T* x, int64_t count, int64_t distance,
             int64_t step = 1) noexcept {
  for (int64_t c = 0; c < count; ++c) {
    T* const to = x + c * distance;
    T sum = to[0];
    for (int64_t i = 1; i < n; ++i) sum += v[i] * to[i * step];
    sum *= tau;
    to[0] -= sum;
    for (int64_t i = 1; i < n; ++i) to[i * step] -= sum * v[i];
  }
}
/// Finds the reflection that turns x into (alpha, 0, …), as LAPACK's larfg does. Stores alpha in
/// x[0] and v in x[1 …]. Returns tau.
template <class T>
T make_reflection(T* x, int64_t n) noexcept {
  T norm = 0;
  for (int64_t i = 1; i < n; ++i) norm = std::hypot(norm, x[i]);
  if (norm == 0) return 0;
  const T length = std::hypot(x[0], norm);
  const T alpha = x[0] >= 0 ? -length : length;
  const T tau = (alpha - x[0]) / alpha;
  for (int64_t i = 1; i < n; ++i) x[i] /= x[0] - alpha;
  x[0] = alpha;
  return tau;
}

/// Factors an m x n matrix into Q R by reflections, as LAPACK's geqrf does.
template <class T>
void factor_qr(T* a, int64_t m, int64_t n, T* tau) noexcept {
  for (int64_t i = 0; i < (std::min)(m, n); ++i) {
    T* const v = a + i * m + i;
    tau[i] = make_reflection(v, m - i);
    reflect(v, tau[i], m - i, v + m, n - i - 1, m);
  }
}

/// Makes P, L and U from the result of lu_factor(). Those that are not requested are empty.
inline Error unpack_lu(const Tensor& lu, const Tensor& given_pivots, bool unpack_data,
                       bool unpack_pivots, AotiResult& p, AotiResult& l, AotiResult& u) {
  const ScalarType type = lu.scalar_type();
  const size_t rank = lu.sizes().size();
  const int64_t m = lu.sizes()[rank - 2];
  const int64_t n = lu.sizes()[rank - 1];
  const int64_t k = (std::min)(m, n);
  const ArrayRef<int64_t> batch = batch_of(lu);
  const auto with = [&](std::initializer_list<int64_t> last) { return with_sizes(batch, last); };
  Tensor pivots;
  if (unpack_pivots) {
    if (given_pivots.scalar_type() != ScalarType::Int || given_pivots.sizes() != with({k})) {
      return fail(Error::InvalidArgument, "the pivots have sizes ", given_pivots.sizes(),
                  " and type ", given_pivots.scalar_type(), ", expected sizes ", with({k}),
                  " and Int");
    }
    TENON_TRY(make_dense(given_pivots, ScalarType::Int, pivots));
    for (int64_t i = 0; i < pivots.numel(); ++i) {
      const int32_t row = dense_data<int32_t>(pivots)[i];
      if (row < 1 || row > m) {
        return fail(Error::OutOfBounds, "a pivot is ", row, ", expected 1 to ", m);
      }
    }
  }
  Tensor dense;
  TENON_TRY(make_dense(lu, type, dense));
  TENON_TRY(p.make(unpack_pivots ? with({m, m}) : Dims{0}, type, type));
  TENON_TRY(l.make(unpack_data ? with({m, k}) : Dims{0}, type, type));
  TENON_TRY(u.make(unpack_data ? with({k, n}) : Dims{0}, type, type));
  TENON_TRY(zero_(p.work()));
  const int64_t made = p.tensor().numel() + l.tensor().numel() + u.tensor().numel();
  // without elements the batch sizes may be any
  const int64_t count = made == 0 ? 0 : product(batch);
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<int64_t> order(static_cast<size_t>(count == 0 ? 0 : m));
    for (int64_t b = 0; b < count; ++b) {
      const T* const from = dense_data<T>(dense) + b * m * n;
      for (int64_t i = 0; unpack_data && i < m; ++i) {
        for (int64_t j = 0; j < k; ++j) {
          l.data<T>()[(b * m + i) * k + j] = i > j ? from[i * n + j] : T(i == j ? 1 : 0);
        }
        for (int64_t j = 0; i < k && j < n; ++j) {
          u.data<T>()[(b * k + i) * n + j] = i <= j ? from[i * n + j] : T(0);
        }
      }
      if (!unpack_pivots) continue;
      for (int64_t i = 0; i < m; ++i) order[static_cast<size_t>(i)] = i;
      for (int64_t i = 0; i < k; ++i) {
        const int32_t row = dense_data<int32_t>(pivots)[b * k + i] - 1;
        std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(row)]);
      }
      for (int64_t i = 0; i < m; ++i) {
        p.data<T>()[(b * m + order[static_cast<size_t>(i)]) * m + i] = 1;
      }
    }
  });
  return Error::Ok;
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_triangular_solve(AtenTensorHandle self, AtenTensorHandle A,
                                               int32_t upper, int32_t transpose,
                                               int32_t unitriangular, AtenTensorHandle* ret0,
                                               AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    ColumnMatrices x;
    ColumnMatrices factors;
    TENON_TRY(read_equations(self, A, "A", x, factors));
    on_floating_type(x.memory.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_matrices(x.memory); ++k) {
        solve_triangular(factors.at<T>(k), x.at<T>(k), x.rows, x.columns, upper != 0,
                         transpose != 0, unitriangular != 0);
      }
    });
    Tensor solution;
    Tensor factor;
    TENON_TRY(x.make_result(solution));
    TENON_TRY(factors.make_result(factor));
    return make_handles({{solution, ret0}, {factor, ret1}});
  });
}

AOTITorchError aoti_torch_cpu_cholesky_solve(AtenTensorHandle self, AtenTensorHandle input2,
                                             int32_t upper, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    ColumnMatrices x;
    ColumnMatrices factors;
    TENON_TRY(read_equations(self, input2, "the factor", x, factors));
    on_floating_type(x.memory.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_matrices(x.memory); ++k) {
        solve_cholesky(factors.at<T>(k), x.at<T>(k), x.rows, x.columns, upper != 0);
      }
    });
    return x.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_cholesky_inverse(AtenTensorHandle self, int32_t upper,
                                               AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor a;
    TENON_TRY(read_matrices(self, "self", a));
    TENON_TRY(check_square(a, "self"));
    const int64_t n = a.sizes().back();
    ColumnMatrices factors;
    ColumnMatrices x;
    TENON_TRY(factors.read(a));
    TENON_TRY(x.read(a));
    TENON_TRY(zero_(x.memory));
    on_floating_type(a.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_matrices(a); ++k) {
        T* const to = x.at<T>(k);
        for (int64_t i = 0; i < n; ++i) to[i * n + i] = 1;
        solve_cholesky(factors.at<T>(k), to, n, n, upper != 0);
      }
    });
    return x.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_geqrf(AtenTensorHandle self, AtenTensorHandle* ret0,
                                    AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    Tensor a;
    TENON_TRY(read_matrices(self, "self", a));
    const ScalarType type = a.scalar_type();
    ColumnMatrices x;
    TENON_TRY(x.read(a));
    const int64_t count = (std::min)(x.rows, x.columns);
    Dims sizes(batch_of(a));
    sizes.push_back(count);
    AotiResult taus;
    TENON_TRY(taus.make(sizes, type, type));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_matrices(a); ++k) {
        factor_qr(x.at<T>(k), x.rows, x.columns, taus.data<T>() + k * count);
      }
    });
    Tensor made;
    TENON_TRY(x.make_result(made));
    TENON_TRY(taus.finish());
    return make_handles({{made, ret0}, {taus.tensor(), ret1}});
  });
}

/// Multiplies `other` by the Q of geqrf, or its transpose, from the left or the right.
AOTITorchError aoti_torch_cpu_ormqr(AtenTensorHandle self, AtenTensorHandle input2,
                                    AtenTensorHandle input3, int32_t left, int32_t transpose,
                                    AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor a;
    Tensor given_taus;
    Tensor other;
    TENON_TRY(read_matrices(self, "self", a));
    TENON_TRY(read_aoti(input2, "tau", given_taus));
    TENON_TRY(read_matrices(input3, "other", other));
    const ScalarType type = a.scalar_type();
    const ArrayRef<int64_t> batch = batch_of(a);
    std::vector<int64_t> expected = batch.vec();
    const int64_t count = given_taus.sizes().empty() ? -1 : given_taus.sizes().back();
    expected.push_back(count);
    const size_t side = other.sizes().size() - (left != 0 ? 2 : 1);
    for (const ScalarType given : {given_taus.scalar_type(), other.scalar_type()}) {
      if (given == type) continue;
      return fail(Error::InvalidType, "the reflections have type ", type,
                  ", tau or the matrices have type ", given, ", expected one type");
    }
    if (batch_of(other) != batch || given_taus.sizes() != ArrayRef<int64_t>(expected) ||
        other.sizes()[side] != a.sizes()[a.sizes().size() - 2] ||
        count != (std::min)(other.sizes()[side], a.sizes().back())) {
      return fail(Error::InvalidArgument, "the reflections have sizes ", a.sizes(), ", tau ",
                  given_taus.sizes(), ", the matrices ", other.sizes(), "; they do not fit");
    }
    ColumnMatrices v;
    ColumnMatrices x;
    Tensor taus;
    TENON_TRY(v.read(a));
    TENON_TRY(x.read(other));
    TENON_TRY(make_dense(given_taus, type, taus));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_matrices(other); ++k) {
        for (int64_t step = 0; step < count; ++step) {
          // Q is H0 H1 …: this decides in which order the reflections are applied.
          const int64_t i = (left != 0) == (transpose != 0) ? step : count - 1 - step;
          const T* const reflection = v.at<T>(k) + i * v.rows + i;
          const T tau = dense_data<T>(taus)[k * count + i];
          T* const to = x.at<T>(k);
          if (left != 0) {
            reflect(reflection, tau, v.rows - i, to + i, x.columns, x.rows);
          } else {
            reflect(reflection, tau, v.rows - i, to + i * x.rows, x.rows, 1, x.rows);
          }
        }
      }
    });
    return x.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_lu_unpack(AtenTensorHandle LU_data, AtenTensorHandle LU_pivots,
                                        int32_t unpack_data, int32_t unpack_pivots,
                                        AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                        AtenTensorHandle* ret2) {
  return aoti_answer(__func__, [&] {
    Tensor lu;
    Tensor given_pivots;
    TENON_TRY(read_matrices(LU_data, "LU_data", lu));
    TENON_TRY(read_aoti(LU_pivots, "LU_pivots", given_pivots));
    AotiResult p;
    AotiResult l;
    AotiResult u;
    TENON_TRY(unpack_lu(lu, given_pivots, unpack_data != 0, unpack_pivots != 0, p, l, u));
    return finish_all({{&p, ret0}, {&l, ret1}, {&u, ret2}});
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
