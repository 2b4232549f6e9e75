// SPDX-License-Identifier: MIT
// torch's operators that compute: sums, maxima, products, quotients, differences, bits. They are
// plain loops over dense arguments: libraries of operators call them only in addition to their own
// loops.
#pragma once

#include <cmath>
#include <complex>

#include "tenon/interop/runtimes/aoti_kernel_elements.h"
#include "tenon/interop/runtimes/aoti_kernels_elementwise.h"
#include "tenon/interop/runtimes/aoti_plain_product.h"
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a new result, or uses the tensor that the caller passes for it.
inline Error make_or_use(AotiResult& result, const Tensor& target, ArrayRef<int64_t> sizes,
                         ScalarType type) {
  if (!target.defined()) return result.make(sizes, type, computed_type(type));
  TENON_TRY(check_out(target, sizes, type));
  return result.use(target, computed_type(type));
}

// --- Reductions ---------------------------------------------------------------------------------

/// A tensor's elements as rows, each of which is reduced to one element.
struct AtenReduction {
  Dims sizes;   // of the result
  Tensor rows;  // dense, of the computed type
  int64_t count = 1;
  int64_t length = 1;

  Error read(const Tensor& from, ArrayRef<int64_t> dims, bool keeps, ScalarType computed) {
    const auto rank = static_cast<size_t>(from.dim());
    std::vector<bool> is_reduced((std::max)(rank, size_t{1}),
                                 dims.empty());  // also for a tensor of rank 0
    for (const int64_t dim : dims) {
      size_t d = 0;
      TENON_TRY(read_dim(dim, rank, d));
      if (is_reduced[d]) {
        return fail(Error::InvalidArgument, "dimension ", dim, " is given twice");
      }
      is_reduced[d] = true;
    }
    std::vector<int64_t> order;
    std::vector<int64_t> kept;
    for (size_t d = 0; d < rank; ++d) {
      if (!is_reduced[d]) order.push_back(static_cast<int64_t>(d));
      if (!is_reduced[d]) count *= from.sizes()[d];
      if (is_reduced[d]) length *= from.sizes()[d];
      if (!is_reduced[d] || keeps) kept.push_back(is_reduced[d] ? 1 : from.sizes()[d]);
    }
    for (size_t d = 0; d < rank; ++d) {
      if (is_reduced[d]) order.push_back(static_cast<int64_t>(d));
    }
    sizes = Dims(kept);
    TENON_ASSIGN(const Tensor moved, try_permute(from, Dims(order)));
    return make_dense(moved, computed, rows);
  }
};

/// Adds up elements; those of Float and narrower types in double.
inline Error aten_sum(AtenIn in, AtenOut& out) {
  const Tensor& from = in[0].toTensor();
  TENON_TRY(check_defined(from, "the tensor"));
  const bool has_out = in.size() == 5;
  ScalarType type = from.scalar_type();
  if (!in[3].isNone()) {
    TENON_TRY(read_dtype(in[3], type, type));
  } else if (has_out) {
    TENON_TRY(check_defined(in[4].toTensor(), "out"));
    type = in[4].toTensor().scalar_type();
  } else if (isIntegralType(type, true)) {
    type = ScalarType::Long;
  }
  const ArrayRef<int64_t> dims = in[1].isNone() ? ArrayRef<int64_t>() : in[1].toIntList();
  AtenReduction reduction;
  TENON_TRY(reduction.read(from, dims, in[2].toBool(), computed_type(type)));
  AotiResult result;
  TENON_TRY(make_or_use(result, has_out ? in[4].toTensor() : Tensor(), reduction.sizes, type));
  TENON_TRY(on_computed_number(type, [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const T* row = dense_data<T>(reduction.rows);
    for (int64_t i = 0; i < reduction.count; ++i, row += reduction.length) {
      Sum sum = Sum();
      for (int64_t k = 0; k < reduction.length; ++k) sum = sum + static_cast<Sum>(row[k]);
      result.data<T>()[i] = static_cast<T>(sum);
    }
    return Error::Ok;
  }));
  return give(result, out);
}
/// Finds the largest elements; NaN is larger than any number.
inline Error aten_amax(const Tensor& from, ArrayRef<int64_t> dims, bool keeps, AtenOut& out) {
  TENON_TRY(check_defined(from, "the tensor"));
  const ScalarType type = from.scalar_type();
  AtenReduction reduction;
  TENON_TRY(reduction.read(from, dims, keeps, computed_type(type)));
  if (reduction.length == 0 && (reduction.count != 0 || dims.empty())) {
    return fail(Error::InvalidArgument, "the tensor has no elements, so it has no maximum");
  }
  AotiResult result;
  TENON_TRY(result.make(reduction.sizes, type, computed_type(type)));
  TENON_TRY(on_computed_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T* row = dense_data<T>(reduction.rows);
    for (int64_t i = 0; i < reduction.count; ++i, row += reduction.length) {
      T most = row[0];
      for (int64_t k = 1; k < reduction.length && most == most; ++k) {
        if (row[k] > most || row[k] != row[k]) most = row[k];
      }
      result.data<T>()[i] = most;
    }
    return Error::Ok;
  }));
  return give(result, out);
}

// --- Products -----------------------------------------------------------------------------------

/// Multiplies tensors of rank 1 or more; their batches broadcast. The result goes to `target` if
/// that is defined.
inline Error aten_matmul(Tensor a, Tensor b, const Tensor& target, AtenOut& out) {
  TENON_TRY(check_defined(a, "the first tensor"));
  TENON_TRY(check_defined(b, "the second tensor"));
  const ScalarType type = a.scalar_type();
  TENON_TRY(check_same_type(a, b));
  TENON_TRY(check_product_type(type));
  if (a.dim() == 0 || b.dim() == 0) {
    return fail(Error::InvalidArgument, "the ranks are ", a.dim(), " and ", b.dim(),
                ", expected 1 or more");
  }
  const bool is_row = a.dim() == 1;
  const bool is_column = b.dim() == 1;
  if (is_row) {
    TENON_ASSIGN(a, try_unsqueeze(a, 0));
  }
  if (is_column) {
    TENON_ASSIGN(b, try_unsqueeze(b, 1));
  }
  const int64_t m = a.sizes()[static_cast<size_t>(a.dim()) - 2];
  const int64_t k = a.sizes()[static_cast<size_t>(a.dim()) - 1];
  const int64_t n = b.sizes()[static_cast<size_t>(b.dim()) - 1];
  if (b.sizes()[static_cast<size_t>(b.dim()) - 2] != k) {
    return fail(Error::InvalidArgument, "sizes ", a.sizes(), " and ", b.sizes(),
                " cannot be multiplied");
  }
  Dims batch(batch_of(a));
  TENON_TRY(broadcast_sizes(batch_of(b), batch));
  const int64_t count = product(batch);
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  const ScalarType computed = computed_type(type);
  const auto make_batch = [&](const Tensor& t, int64_t rows, int64_t width, Tensor& made) {
    std::vector<int64_t> wanted(batch.begin(), batch.end());
    wanted.insert(wanted.end(), {rows, width});
    TENON_ASSIGN(const Tensor all, try_expand(t, Dims(wanted)));
    TENON_TRY(make_dense(all, computed, made));
    TENON_ASSIGN(made, try_view(made, {count, rows, width}));
    return Error::Ok;
  };
  Tensor x;
  Tensor y;
  TENON_TRY(make_batch(a, m, k, x));
  TENON_TRY(make_batch(b, k, n, y));
  if (!is_row) sizes.push_back(m);
  if (!is_column) sizes.push_back(n);
  AotiResult result;
  TENON_TRY(make_or_use(result, target, sizes, type));
  TENON_ASSIGN(const Tensor products, try_view(result.work(), {count, m, n}));
  TENON_TRY(plain_product(products, nullptr, x, y, 0, 1));
  return give(result, out);
}
inline Error aten_mm(AtenIn in, AtenOut& out) {
  const Tensor& a = in[0].toTensor();
  const Tensor& b = in[1].toTensor();
  if (a.defined() && b.defined() && (a.dim() != 2 || b.dim() != 2)) {
    return fail(Error::InvalidArgument, "the ranks are ", a.dim(), " and ", b.dim(),
                ", expected 2");
  }
  return aten_matmul(a, b, in.size() == 3 ? in[2].toTensor() : Tensor(), out);
}

// --- Element by element -------------------------------------------------------------------------

enum class AtenBinary { Subtract, Divide, FloorDivide, And, Or, ShiftLeft, ShiftRight };

template <class T>
T floor_quotient(T a, T b) noexcept {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    const T q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
  } else {
    // As Python divides. Source: c10::div_floor_floating.
    if (b == 0) return a / b;
    const T mod = std::fmod(a, b);
    T div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= T(1);
    if (div == 0) return std::copysign(T(0), a / b);
    const T floored = std::floor(div);
    return div - floored > T(0.5) ? floored + T(1) : floored;
  }
}

/// One element of a result.
template <class T>
T compute_binary(AtenBinary op, T a, T b, T alpha, int64_t bits) noexcept {
  if constexpr (std::is_same_v<T, int64_t>) {
    const bool is_beyond = b < 0 || b >= bits;
    if (op == AtenBinary::And) return a & b;
    if (op == AtenBinary::Or) return a | b;
    if (op == AtenBinary::ShiftLeft) {
      return is_beyond ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    }
    if (op == AtenBinary::ShiftRight) return is_beyond ? (a < 0 ? -1 : 0) : a >> b;
    if (op == AtenBinary::FloorDivide) return floor_quotient(a, b);
    return static_cast<int64_t>(static_cast<uint64_t>(a) -
                                static_cast<uint64_t>(alpha) * static_cast<uint64_t>(b));
  } else {
    if (op == AtenBinary::Divide) return a / b;
    if constexpr (std::is_floating_point_v<T>) {
      if (op == AtenBinary::FloorDivide) return floor_quotient(a, b);
    }
    return a - alpha * b;
  }
}

/// Computes a - alpha b, a / b, and so on. The tensors broadcast.
inline Error aten_binary(const Tensor& a, const Tensor& b, AtenBinary op, double alpha,
                         AtenOut& out) {
  Elementwise job;
  TENON_TRY(check_readable(a, "the first tensor"));
  TENON_TRY(check_readable(b, "the second tensor"));
  job.add(a);
  job.add(b);
  ScalarType type = job.common_type();
  const bool is_bits = op >= AtenBinary::And;
  if (type == ScalarType::Undefined || (is_bits && !isIntegralType(type, true)) ||
      (op >= AtenBinary::ShiftLeft && type == ScalarType::Bool) ||
      (op == AtenBinary::Subtract &&  // alpha is a double
       (isIntegralType(type, true) || a.scalar_type() == ScalarType::Bool ||
        b.scalar_type() == ScalarType::Bool)) ||
      (op == AtenBinary::FloorDivide && (isComplexType(type) || type == ScalarType::Bool))) {
    return fail(Error::InvalidType, "types ", a.scalar_type(), " and ", b.scalar_type(),
                " are not supported");
  }
  if (op == AtenBinary::Divide && isIntegralType(type, true)) type = ScalarType::Float;
  TENON_TRY(job.begin(type, type));
  if (op == AtenBinary::FloorDivide && isIntegralType(type, false) && job.result().numel() != 0) {
    Tensor divisors;
    TENON_TRY(make_dense(b, ScalarType::Long, divisors));
    const auto* const all = dense_data<int64_t>(divisors);
    if (std::find(all, all + divisors.numel(), 0) != all + divisors.numel()) {
      return fail(Error::InvalidArgument, "an integer is divided by 0");
    }
  }
  const auto bits = static_cast<int64_t>(elementSize(type) * 8);
  TENON_TRY(on_computed_number(type, [&](auto zero) {
    using T = decltype(zero);
    const T factor = static_cast<decltype((std::abs)(T()))>(alpha);
    job.compute<T, T>([&](T x, T y) { return compute_binary<T>(op, x, y, factor, bits); });
    return Error::Ok;
  }));
  TENON_TRY(job.finish());
  return give(job.result(), out);
}

}  // namespace detail
TENON_END_NAMESPACE
