// SPDX-License-Identifier: MIT
// Products of 8-bit floating-point matrices with scales, and of groups of matrices.
#pragma once

#include "tenon/interop/runtimes/aoti_plain_product.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads a scale for the whole matrix, or a scale for each of `count` rows or columns.
inline Error read_scales(AtenTensorHandle handle, const char* name, int64_t count, Tensor& dense) {
  TENON_TRY(read_dense(handle, name, ScalarType::Float, dense));
  if (dense.numel() == 1 || dense.numel() == count) return Error::Ok;
  return fail(Error::InvalidArgument, name, " has sizes ", dense.sizes(), ", expected 1 or ", count,
              " elements");
}
inline bool is_float8(ScalarType type) noexcept {
  return type == ScalarType::Float8_e4m3fn || type == ScalarType::Float8_e5m2;
}

/// The checked matrices of _scaled_mm.
struct ScaledProduct {
  Tensor a;
  Tensor b;
  Tensor a_scales;
  Tensor b_scales;
  Tensor bias;

  Error read(AtenTensorHandle self, AtenTensorHandle mat2, AtenTensorHandle scale_a,
             AtenTensorHandle scale_b, const AtenTensorHandle* given_bias) {
    TENON_TRY(read_of_rank(self, "self", 2, a));
    TENON_TRY(read_of_rank(mat2, "mat2", 2, b));
    for (const Tensor* t : {&a, &b}) {
      if (!is_float8(t->scalar_type())) {
        return fail(Error::NotSupported, "a matrix has type ", t->scalar_type(),
                    ", expected Float8_e4m3fn or Float8_e5m2");
      }
    }
    TENON_TRY(check_product_sizes(a, b, a.sizes()[0], b.sizes()[1]));
    TENON_TRY(read_scales(scale_a, "scale_a", a.sizes()[0], a_scales));
    TENON_TRY(read_scales(scale_b, "scale_b", b.sizes()[1], b_scales));
    if (given_bias == nullptr || *given_bias == nullptr) return Error::Ok;
    TENON_TRY(read_dense(*given_bias, "bias", ScalarType::Float, bias));
    if (bias.numel() == b.sizes()[1]) return Error::Ok;
    return fail(Error::InvalidArgument, "bias has sizes ", bias.sizes(), ", expected ",
                b.sizes()[1], " elements");
  }
  /// Writes the product to a dense Float matrix.
  Error run(AotiResult& result) const {
    TENON_TRY(plain_product(result.work(), nullptr, a, b, 0, 1));
    float* to = result.data<float>();
    const int64_t n = b.sizes()[1];
    for (int64_t i = 0; i < result.tensor().numel(); ++i) {
      const int64_t row = a_scales.numel() == 1 ? 0 : i / n;
      const int64_t column = b_scales.numel() == 1 ? 0 : i % n;
      to[i] *= dense_data<float>(a_scales)[row] * dense_data<float>(b_scales)[column];
      if (bias.defined()) to[i] += dense_data<float>(bias)[i % n];
    }
    return Error::Ok;
  }
};

#pragma GCC visibility push(default)
extern "C" {

/// scale_result is for other devices: torch's kernel for the CPU ignores it too.
AOTITorchError aoti_torch_cpu__scaled_mm(AtenTensorHandle self, AtenTensorHandle mat2,
                                         AtenTensorHandle scale_a, AtenTensorHandle scale_b,
                                         AtenTensorHandle* bias, AtenTensorHandle*,
                                         int32_t* out_dtype, int32_t, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    ScaledProduct product;
    TENON_TRY(product.read(self, mat2, scale_a, scale_b, bias));
    const ScalarType type =
        out_dtype != nullptr ? type_of_torch_number(*out_dtype) : product.a.scalar_type();
    if (!isFloatingType(type)) {
      return fail(Error::NotSupported, "out_dtype is torch's dtype ", *out_dtype,
                  ", expected a floating type");
    }
    AotiResult result;
    const Dims sizes{product.a.sizes()[0], product.b.sizes()[1]};
    TENON_TRY(result.make(sizes, type, ScalarType::Float));
    TENON_TRY(product.run(result));
    return result.finish(ret0);
  });
}
AOTITorchError aoti_torch_cpu__scaled_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                             AtenTensorHandle mat2, AtenTensorHandle scale_a,
                                             AtenTensorHandle scale_b, AtenTensorHandle* bias,
                                             AtenTensorHandle*, int32_t* out_dtype, int32_t) {
  return aoti_answer(__func__, [&] {
    ScaledProduct product;
    Tensor to;
    TENON_TRY(read_of_rank(out, "out", 2, to));
    TENON_TRY(product.read(self, mat2, scale_a, scale_b, bias));
    TENON_TRY(check_product_sizes(product.a, product.b, to.sizes()[0], to.sizes()[1]));
    if (out_dtype != nullptr && type_of_torch_number(*out_dtype) != to.scalar_type()) {
      return fail(Error::InvalidType, "out has type ", to.scalar_type(),
                  ", expected torch's dtype ", *out_dtype);
    }
    AotiResult result;
    TENON_TRY(result.use(to, ScalarType::Float));
    TENON_TRY(product.run(result));
    return result.finish();
  });
}

/// Multiplies two batches of matrices, as torch.nn.functional.grouped_mm does. A single matrix in
/// place of a batch is cut into groups that end at the indices in `offs`: along the dimension that
/// is not summed, or if both arguments are single matrices along the summed dimension.
AOTITorchError aoti_torch_cpu__grouped_mm(AtenTensorHandle self, AtenTensorHandle mat2,
                                          AtenTensorHandle* offs, AtenTensorHandle* bias,
                                          int32_t* out_dtype, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor a;
    Tensor b;
    TENON_TRY(read_aoti(self, "self", a));
    TENON_TRY(read_aoti(mat2, "mat2", b));
    TENON_TRY(check_same_type(a, b));
    const ScalarType type = a.scalar_type();
    const size_t x = a.sizes().size();
    const size_t y = b.sizes().size();
    if (x < 2 || x > 3 || y < 2 || y > 3 || computed_type(type) != ScalarType::Float ||
        (bias != nullptr && *bias != nullptr) ||
        (out_dtype != nullptr && type_of_torch_number(*out_dtype) != type)) {
      return fail(Error::NotSupported, "grouped products of sizes ", a.sizes(), " and ", b.sizes(),
                  " of ", type,
                  " are not supported, expected rank 2 or 3, Float, BFloat16 or Half, no bias, and "
                  "the same out_dtype");
    }
    const bool has_ends = offs != nullptr && *offs != nullptr;
    if (has_ends == (x == 3 && y == 3)) {
      return fail(Error::InvalidArgument, "grouped products of sizes ", a.sizes(), " and ",
                  b.sizes(), has_ends ? " take no offs" : " need offs");
    }
    const int64_t m = a.sizes()[x - 2];
    const int64_t n = b.sizes()[y - 1];
    const int64_t k = a.sizes()[x - 1];
    Tensor ends;
    int64_t groups = x == 3 ? a.sizes()[0] : y == 3 ? b.sizes()[0] : 0;
    if (has_ends) {
      TENON_TRY(read_of_rank(*offs, "offs", 1, ends));
      if (ends.scalar_type() != ScalarType::Int) {
        return fail(Error::InvalidType, "offs has type ", ends.scalar_type(), ", expected Int");
      }
      TENON_TRY(make_dense(ends, ScalarType::Int, ends));
      if (x == 2 && y == 2) groups = ends.numel();
    }
    const int64_t cut = x == 3 ? n : y == 3 ? m : k;  // size of the dimension that offs cuts
    bool fits = b.sizes()[y - 2] == k && (!has_ends || ends.numel() == groups) &&
                (x != 3 || y != 3 || b.sizes()[0] == groups);
    int64_t before = 0;
    for (int64_t g = 0; fits && has_ends && g < groups; ++g) {
      const int64_t end = dense_data<int32_t>(ends)[g];
      fits = end >= before && end <= cut;
      before = end;
    }
    if (!fits) {
      return fail(Error::InvalidArgument, "sizes ", a.sizes(), " and ", b.sizes(), " and ", groups,
                  " groups", has_ends ? " that end at offs" : "", " do not fit together");
    }
    // Rows begin at multiples of 16 bytes, as in torch.
    AotiShape shape;
    const int64_t unit = 16 / static_cast<int64_t>(elementSize(type));
    const int64_t row = (n + unit - 1) / unit * unit;
    shape.type = type;
    if (x == y) shape.sizes.push_back(groups);
    if (x == y) shape.strides.push_back(m * row);
    shape.sizes.push_back(m);
    shape.sizes.push_back(n);
    shape.strides.push_back(row);
    shape.strides.push_back(1);
    AotiResult result;
    TENON_TRY(result.make(shape, ScalarType::Float));
    TENON_TRY(zero_(result.work()));
    before = 0;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t count = has_ends ? dense_data<int32_t>(ends)[g] - before : 0;
      const auto part = [&](const Tensor& whole, int64_t dim, Tensor& made) {
        TENON_ASSIGN(made, try_narrow(whole, dim, before, count));
        return Error::Ok;
      };
      const auto one = [&](const Tensor& whole, Tensor& made) {
        TENON_ASSIGN(made, try_select(whole, 0, g));
        return Error::Ok;
      };
      Tensor left;
      Tensor right;
      Tensor to = result.work();
      TENON_TRY(x == 3 ? one(a, left) : part(a, y == 3 ? 0 : 1, left));
      TENON_TRY(y == 3 ? one(b, right) : part(b, x == 3 ? 1 : 0, right));
      TENON_TRY(x == y ? one(result.work(), to) : part(result.work(), x == 3 ? 1 : 0, to));
      TENON_TRY(plain_product(to, nullptr, left, right, 0, 1));
      before += count;
    }
    return result.finish(ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
