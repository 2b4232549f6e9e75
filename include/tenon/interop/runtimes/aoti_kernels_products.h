// SPDX-License-Identifier: MIT
// Kernels for products and distances that interop/aoti_onednn.h lacks.
#pragma once

#include "tenon/interop/runtimes/aoti_plain_product.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Computes beta self + alpha a b in the computed type, and applies `change` to each element.
template <class Change>
Error add_matrix_product(const Tensor& self, const Tensor& a, const Tensor& b, double beta,
                         double alpha, const Dims& result_sizes, AtenTensorHandle* ret,
                         const Change& change) {
  const int64_t m = a.sizes()[0];
  const int64_t n = b.sizes()[1];
  TENON_TRY(check_product_sizes(a, b, m, n));
  TENON_TRY(check_same_type(a, b));
  TENON_TRY(check_same_type(a, self));
  TENON_TRY(check_broadcast(self.sizes(), Dims{m, n}));
  TENON_TRY(check_product_type(a.scalar_type()));
  TENON_TRY(check_product_factors(a.scalar_type(), beta, alpha));
  AotiResult result;
  TENON_TRY(result.make(result_sizes, a.scalar_type(), computed_type(a.scalar_type())));
  TENON_ASSIGN(const Tensor target, try_view(result.work(), {m, n}));
  TENON_TRY(plain_product(target, beta == 0 ? nullptr : &self, a, b, beta, alpha));
  TENON_TRY(change(result));
  return result.finish(ret);
}
inline Error add_matrix_product(const Tensor& self, const Tensor& a, const Tensor& b, double beta,
                                double alpha, const Dims& result_sizes, AtenTensorHandle* ret) {
  return add_matrix_product(self, a, b, beta, alpha, result_sizes, ret,
                            [](AotiResult&) { return Error::Ok; });
}

/// The distance between two rows of `count` elements, for the p of torch's cdist.
template <class T>
T distance_of(const T* a, const T* b, int64_t count, double p) noexcept {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T d = std::abs(a[i] - b[i]);
    if (p == 0) {
      sum += d != 0 ? T(1) : T(0);
    } else if (p == 1) {
      sum += d;
    } else if (p == 2) {
      sum += d * d;
    } else if (std::isinf(p)) {
      sum = d > sum || std::isnan(d) ? d : sum;
    } else {
      sum += std::pow(d, static_cast<T>(p));
    }
  }
  if (p == 2) return std::sqrt(sum);
  return p == 0 || p == 1 || std::isinf(p) ? sum : std::pow(sum, static_cast<T>(1 / p));
}
inline Error check_distance(const Tensor& x, double p) noexcept {
  const ScalarType type = x.scalar_type();
  if (type != ScalarType::Float && type != ScalarType::Double) {
    return fail(Error::NotSupported, "the tensors have type ", type, ", expected Float or Double");
  }
  if (p >= 0) return Error::Ok;
  return fail(Error::InvalidArgument, "p is ", p, ", expected at least 0");
}

/// A factor of _trilinear. It has a stride for each dimension of the product: 0 for dimensions that
/// the factor lacks or in which its size is 1.
struct TrilinearFactor {
  Tensor dense;
  std::vector<int64_t> strides;

  Error read(AtenTensorHandle handle, const int64_t* expand, int64_t expand_count,
             std::vector<int64_t>& sizes) {
    Tensor given;
    TENON_TRY(read_aoti(handle, "a factor", given));
    const ScalarType type = given.scalar_type();
    TENON_TRY(make_dense(given, computed_type(type), dense));
    ArrayRef<int64_t> added;
    TENON_TRY(read_values("expand", expand, expand_count, added));
    const size_t rank = given.sizes().size() + added.size();
    if (sizes.empty()) sizes.assign(rank, 1);
    std::vector<bool> is_added(rank);
    bool fits = sizes.size() == rank;
    for (const int64_t d : added) {
      fits = fits && d >= 0 && d < static_cast<int64_t>(rank) && !is_added[static_cast<size_t>(d)];
      if (fits) is_added[static_cast<size_t>(d)] = true;
    }
    size_t own = 0;
    for (size_t d = 0; fits && d < rank; ++d) {
      const int64_t size = is_added[d] ? 1 : dense.sizes()[own];
      strides.push_back(is_added[d] || size == 1 ? 0 : dense.strides()[own]);
      own += is_added[d] ? size_t{0} : 1;
      fits = sizes[d] == 1 || size == 1 || sizes[d] == size;
      if (size != 1) sizes[d] = size;
    }
    if (fits) return Error::Ok;
    return fail(Error::InvalidArgument, "a factor of sizes ", given.sizes(),
                " does not fit the other factors, of sizes ", ArrayRef<int64_t>(sizes));
  }
};

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_addbmm(AtenTensorHandle self, AtenTensorHandle batch1,
                                     AtenTensorHandle batch2, double beta, double alpha,
                                     AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor summand;
    Tensor a;
    Tensor b;
    TENON_TRY(read_aoti(self, "self", summand));
    TENON_TRY(read_of_rank(batch1, "batch1", 3, a));
    TENON_TRY(read_of_rank(batch2, "batch2", 3, b));
    const Dims x = a.sizes();
    const Dims y = b.sizes();
    if (x[0] != y[0] || x[2] != y[1]) {
      return fail(Error::InvalidArgument, "batches of sizes ", x, " and ", y, " have no product");
    }
    // The sum of the products is one product: of a's matrices side by side, and b's below each
    // other.
    TENON_ASSIGN(const Tensor turned, try_permute(a, {1, 0, 2}));
    TENON_ASSIGN(const Tensor left, try_reshape(turned, {x[1], x[0] * x[2]}));
    TENON_ASSIGN(const Tensor right, try_reshape(b, {x[0] * x[2], y[2]}));
    return add_matrix_product(summand, left, right, beta, alpha, {x[1], y[2]}, ret0);
  });
}

AOTITorchError aoti_torch_cpu_addmv(AtenTensorHandle self, AtenTensorHandle mat,
                                    AtenTensorHandle vec, double beta, double alpha,
                                    AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor summand;
    Tensor a;
    Tensor b;
    TENON_TRY(read_aoti(self, "self", summand));
    TENON_TRY(read_of_rank(mat, "mat", 2, a));
    TENON_TRY(read_of_rank(vec, "vec", 1, b));
    if (summand.sizes().size() > 1) {
      return fail(Error::InvalidArgument, "self has sizes ", summand.sizes(),
                  ", expected rank 0 or 1");
    }
    TENON_ASSIGN(const Tensor column, try_reshape(b, {b.numel(), 1}));
    TENON_ASSIGN(const Tensor added, try_reshape(summand, {summand.numel(), 1}));
    const Dims sizes{a.sizes()[0]};
    if (a.numel() != 0 || beta == 0) {
      return add_matrix_product(added, a, column, beta, alpha, sizes, ret0);
    }
    // As in torch, if the matrix is empty the result is beta self, with the sizes of self.
    TENON_TRY(check_product_sizes(a, column, sizes[0], 1));
    TENON_TRY(check_broadcast(added.sizes(), Dims{sizes[0], 1}));
    TENON_ASSIGN(const TensorPtr left,
                 try_empty({added.numel(), 0}, a.scalar_type(), host_backend()));
    TENON_ASSIGN(const TensorPtr right, try_empty({0, 1}, b.scalar_type(), host_backend()));
    return add_matrix_product(added, *left, *right, beta, alpha, Dims(summand.sizes()), ret0);
  });
}

AOTITorchError aoti_torch_cpu__addmm_activation(AtenTensorHandle self, AtenTensorHandle mat1,
                                                AtenTensorHandle mat2, double beta, double alpha,
                                                int32_t use_gelu, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor summand;
    Tensor a;
    Tensor b;
    TENON_TRY(read_aoti(self, "self", summand));
    TENON_TRY(read_of_rank(mat1, "mat1", 2, a));
    TENON_TRY(read_of_rank(mat2, "mat2", 2, b));
    if (isComplexType(a.scalar_type()) || (use_gelu != 0 && !isFloatingType(a.scalar_type()))) {
      return fail(Error::NotSupported, "an activation of ", a.scalar_type(),
                  " elements is not supported");
    }
    return add_matrix_product(
        summand, a, b, beta, alpha, {a.sizes()[0], b.sizes()[1]}, ret0, [&](AotiResult& result) {
          return on_computed_type(a.scalar_type(), [&](auto zero) {
            using T = decltype(zero);
            T* const x = result.data<T>();
            for (int64_t i = 0; i < result.tensor().numel(); ++i) {
              if (use_gelu == 0) {
                x[i] = x[i] < T(0) ? T(0) : x[i];
              } else if constexpr (!std::is_integral_v<T>) {
                x[i] *= (1 + std::erf(x[i] * static_cast<T>(0.70710678118654752440))) / 2;
              }
            }
            return Error::Ok;
          });
        });
  });
}

AOTITorchError aoti_torch_cpu__int_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                          AtenTensorHandle mat2) {
  return aoti_answer(__func__, [&] {
    Tensor to;
    Tensor a;
    Tensor b;
    TENON_TRY(read_of_rank(out, "out", 2, to));
    TENON_TRY(read_of_rank(self, "self", 2, a));
    TENON_TRY(read_of_rank(mat2, "mat2", 2, b));
    TENON_TRY(check_product_sizes(a, b, to.sizes()[0], to.sizes()[1]));
    const ScalarType left = a.scalar_type();
    if (to.scalar_type() != ScalarType::Int || b.scalar_type() != ScalarType::Char ||
        (left != ScalarType::Char && left != ScalarType::Byte)) {
      return fail(Error::InvalidType, "the matrices have types ", left, " and ", b.scalar_type(),
                  ", out has type ", to.scalar_type(), ", expected Char or Byte, Char, and Int");
    }
    // A sum of up to 512 products is exact in Float, which has 24 bits, any other in Double, which
    // has 53.
    const ScalarType type = a.sizes()[1] <= 512 ? ScalarType::Float : ScalarType::Double;
    AotiResult result;
    TENON_TRY(result.use(to, type));
    TENON_TRY(plain_product(result.work(), nullptr, a, b, 0, 1));
    return result.finish();
  });
}

AOTITorchError aoti_torch__mm_plus_mm_out(AtenTensorHandle out, AtenTensorHandle a,
                                          AtenTensorHandle b, AtenTensorHandle c,
                                          AtenTensorHandle d) {
  return aoti_answer(__func__, [&] {
    Tensor to;
    Tensor factors[4];
    TENON_TRY(read_of_rank(out, "out", 2, to));
    const AtenTensorHandle handles[] = {a, b, c, d};
    for (size_t i = 0; i < 4; ++i) {
      TENON_TRY(read_of_rank(handles[i], "a factor", 2, factors[i]));
      TENON_TRY(check_same_type(to, factors[i]));
    }
    for (const size_t i : {size_t{0}, size_t{2}}) {
      TENON_TRY(check_product_sizes(factors[i], factors[i + 1], to.sizes()[0], to.sizes()[1]));
    }
    TENON_TRY(check_product_type(to.scalar_type()));
    // The result is computed in separate memory, so that no failure leaves `out` half written.
    const ScalarType type = computed_type(to.scalar_type());
    TENON_TRY(check_writable(fields(TensorArg(to))));
    TENON_ASSIGN(const TensorPtr sum, try_empty(to.sizes(), type, host_backend()));
    TENON_TRY(plain_product(*sum, nullptr, factors[0], factors[1], 0, 1));
    TENON_TRY(plain_product(*sum, sum.get(), factors[2], factors[3], 1, 1));
    return convert(to, *sum);
  });
}

AOTITorchError aoti_torch_cpu__weight_int8pack_mm(AtenTensorHandle self, AtenTensorHandle mat2,
                                                  AtenTensorHandle scales, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor x;
    Tensor w;
    Tensor s;
    TENON_TRY(read_of_rank(self, "self", 2, x));
    TENON_TRY(read_of_rank(mat2, "mat2", 2, w));
    TENON_TRY(read_of_rank(scales, "scales", 1, s));
    const ScalarType type = x.scalar_type();
    TENON_TRY(check_same_type(x, s));
    const int64_t m = x.sizes()[0];
    const int64_t n = w.sizes()[0];
    if (w.scalar_type() != ScalarType::Char || computed_type(type) != ScalarType::Float) {
      return fail(Error::InvalidType, "the matrices have types ", type, " and ", w.scalar_type(),
                  ", expected Float, BFloat16 or Half, and Char");
    }
    TENON_ASSIGN(const Tensor turned, try_transpose(w, 0, 1));
    TENON_TRY(check_product_sizes(x, turned, m, s.sizes()[0]));
    AotiResult result;
    Tensor factors;
    TENON_TRY(make_dense(s, ScalarType::Float, factors));
    TENON_TRY(result.make(Dims{m, n}, type, ScalarType::Float));
    TENON_TRY(plain_product(result.work(), nullptr, x, turned, 0, 1));
    float* const to = result.data<float>();
    for (int64_t i = 0; i < m * n; ++i) to[i] *= dense_data<float>(factors)[i % n];
    return result.finish(ret0);
  });
}

/// Computes distances from differences, whatever compute_mode is. torch's other way, from products
/// of rows, loses digits.
AOTITorchError aoti_torch_cpu__cdist_forward(AtenTensorHandle x1, AtenTensorHandle x2, double p,
                                             int64_t* compute_mode, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    static_cast<void>(compute_mode);
    Tensor a;
    Tensor b;
    TENON_TRY(read_aoti(x1, "x1", a));
    TENON_TRY(read_aoti(x2, "x2", b));
    TENON_TRY(check_distance(a, p));
    TENON_TRY(check_distance(b, p));
    TENON_TRY(check_same_type(a, b));
    const ArrayRef<int64_t> left = a.sizes();
    const ArrayRef<int64_t> right = b.sizes();
    if (left.size() < 2 || right.size() < 2 || left.back() != right.back()) {
      return fail(Error::InvalidArgument, "the tensors have sizes ", left, " and ", right,
                  ", expected rank 2 or more, and rows of equal length");
    }
    // The batch dimensions broadcast.
    const int64_t rows = left[left.size() - 2];
    const int64_t columns = right[right.size() - 2];
    const int64_t count = left.back();
    Dims sizes(batch_of(a));
    TENON_TRY(broadcast_sizes(batch_of(b), sizes));
    Dims a_sizes = sizes;
    Dims b_sizes = sizes;
    for (const int64_t size : {rows, count}) a_sizes.push_back(size);
    for (const int64_t size : {columns, count}) b_sizes.push_back(size);
    for (const int64_t size : {rows, columns}) sizes.push_back(size);
    TENON_ASSIGN(const Tensor all_a, try_expand(a, a_sizes));
    TENON_ASSIGN(const Tensor all_b, try_expand(b, b_sizes));
    const ScalarType type = a.scalar_type();
    Tensor x;
    Tensor y;
    AotiResult result;
    TENON_TRY(make_dense(all_a, type, x));
    TENON_TRY(make_dense(all_b, type, y));
    TENON_TRY(result.make(sizes, type, type));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* to = result.data<T>();
      for (int64_t i = 0; i < result.tensor().numel(); ++i) {
        const int64_t row = i / columns;
        const int64_t column = row / rows * columns + i % columns;
        to[i] = distance_of(dense_data<T>(x) + row * count, dense_data<T>(y) + column * count,
                            count, p);
      }
    });
    return result.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu__pdist_forward(AtenTensorHandle self, double p,
                                             AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_of_rank(self, "self", 2, given));
    TENON_TRY(check_distance(given, p));
    const ScalarType type = given.scalar_type();
    const int64_t rows = given.sizes()[0];
    const int64_t count = given.sizes()[1];
    Tensor x;
    AotiResult result;
    TENON_TRY(make_dense(given, type, x));
    TENON_TRY(result.make(Dims{rows <= 1 ? 0 : rows * (rows - 1) / 2}, type, type));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* to = result.data<T>();
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = i + 1; j < rows; ++j) {
          *to++ = distance_of(dense_data<T>(x) + i * count, dense_data<T>(x) + j * count, count, p);
        }
      }
    });
    return result.finish(ret0);
  });
}

/// Sums i1 i2 i3 over the dimensions `sumdim`. Before, each factor gets a dimension of size 1 at
/// each index in its `expand`.
AOTITorchError aoti_torch_cpu__trilinear(AtenTensorHandle i1, AtenTensorHandle i2,
                                         AtenTensorHandle i3, const int64_t* expand1,
                                         int64_t expand1_len_, const int64_t* expand2,
                                         int64_t expand2_len_, const int64_t* expand3,
                                         int64_t expand3_len_, const int64_t* sumdim,
                                         int64_t sumdim_len_, int64_t, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    std::vector<int64_t> sizes;
    TrilinearFactor factors[3];
    TENON_TRY(factors[0].read(i1, expand1, expand1_len_, sizes));
    TENON_TRY(factors[1].read(i2, expand2, expand2_len_, sizes));
    TENON_TRY(factors[2].read(i3, expand3, expand3_len_, sizes));
    std::vector<bool> is_summed(sizes.size());
    ArrayRef<int64_t> sums;
    TENON_TRY(read_values("sumdim", sumdim, sumdim_len_, sums));
    for (const int64_t given : sums) {
      size_t d = 0;
      TENON_TRY(read_dim(given, sizes.size(), d));
      if (d < sizes.size()) is_summed[d] = true;
    }
    Dims kept;
    std::vector<int64_t> steps(sizes.size());  // strides of the result
    int64_t total = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (!is_summed[d]) kept.push_back(sizes[d]);
      total *= sizes[d];
    }
    int64_t step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      steps[d] = is_summed[d] ? 0 : step;
      step *= is_summed[d] ? 1 : sizes[d];
    }
    Tensor first;
    TENON_TRY(read_aoti(i1, "i1", first));
    for (const AtenTensorHandle handle : {i2, i3}) {
      Tensor other;
      TENON_TRY(read_aoti(handle, "a factor", other));
      TENON_TRY(check_same_type(first, other));
    }
    const ScalarType type = first.scalar_type();
    AotiResult result;
    TENON_TRY(result.make(kept, type, computed_type(type)));
    TENON_TRY(zero_(result.work()));
    TENON_TRY(on_computed_type(type, [&](auto zero) {
      using T = decltype(zero);
      std::vector<int64_t> at(sizes.size());
      for (int64_t n = 0; n < total; ++n) {
        int64_t places[4] = {};
        for (size_t d = 0; d < at.size(); ++d) {
          for (size_t f = 0; f < 3; ++f) places[f] += at[d] * factors[f].strides[d];
          places[3] += at[d] * steps[d];
        }
        result.data<T>()[places[3]] += dense_data<T>(factors[0].dense)[places[0]] *
                                       dense_data<T>(factors[1].dense)[places[1]] *
                                       dense_data<T>(factors[2].dense)[places[2]];
        for (size_t d = at.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
      }
      return Error::Ok;
    }));
    return result.finish(ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
