// SPDX-License-Identifier: MIT
// Expected numbers and strides are torch 2.15's.
#include "tenon/interop/runtimes/aoti_kernels_linalg.h"

#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
#include "tensor/helpers.h"

namespace aoti_kernels_linalg_test {

using namespace tenon;
using tests::contains;

namespace {

using Values = std::vector<EValue>;

/// What an operator answers; empty where it refuses.
Values call(const char* name, std::initializer_list<EValue> inputs) {
  REQUIRE(detail::provide_operators(detail::kLinalgOperators) == Error::Ok);
  Result<Values> made = call_torch_operator(name, inputs);
  return made.ok() ? *std::move(made) : Values();
}
Tensor at(const Values& values, size_t i) { return values.at(i).toTensor(); }
Tensor floats(std::vector<int64_t> sizes, std::vector<float> values) {
  return *make_tensor_ptr(std::move(sizes), std::move(values));
}
Tensor ints(std::vector<int64_t> sizes, std::vector<int32_t> values) {
  return *make_tensor_ptr(std::move(sizes), std::move(values));
}
Tensor numbers(const Dims& sizes, ScalarType type = ScalarType::Double) {
  return to(*rand(sizes, ScalarType::Double), type, CastMode::Truncate);
}
bool is_near(const Tensor& given, const Tensor& expected) {
  return given.sizes() == expected.sizes() && given.scalar_type() == expected.scalar_type() &&
         allclose(given, expected, 1e-4, 1e-5);
}
Tensor turned(const Tensor& a) { return transpose(a, a.dim() - 2, a.dim() - 1); }
/// a b, of one batch.
Tensor times(const Tensor& a, const Tensor& b) {
  const int64_t m = a.sizes().end()[-2];
  const int64_t n = b.sizes().back();
  const int64_t k = a.sizes().back();
  const Tensor x = to(contiguous(a), ScalarType::Double);
  const Tensor y = to(contiguous(b), ScalarType::Double);
  Dims sizes(detail::batch_of(a));
  sizes.push_back(m);
  sizes.push_back(n);
  const TensorPtr made = zeros(sizes, ScalarType::Double);
  for (int64_t i = 0; i < made->numel(); ++i) {
    const int64_t batch = i / (m * n);
    for (int64_t j = 0; j < k; ++j) {
      made->mutable_data_ptr<double>()[i] +=
          x.const_data_ptr<double>()[(batch * m + i / n % m) * k + j] *
          y.const_data_ptr<double>()[(batch * k + j) * n + i % n];
    }
  }
  return to(*made, a.scalar_type(), CastMode::Truncate);
}
/// A batch of identities, or of S where it is given, of rows and columns.
Tensor diagonal(const Dims& batch, int64_t m, int64_t n, ScalarType type,
                const Tensor* s = nullptr) {
  Dims sizes = batch;
  sizes.push_back(m);
  sizes.push_back(n);
  const TensorPtr made = zeros(sizes, ScalarType::Double);
  const int64_t k = (std::min)(m, n);
  const Tensor values = s == nullptr ? *ones({1}) : to(*s, ScalarType::Double);
  for (int64_t b = 0; b < detail::product(batch); ++b) {
    for (int64_t i = 0; i < k; ++i) {
      made->mutable_data_ptr<double>()[(b * m + i) * n + i] =
          s == nullptr ? 1 : values.const_data_ptr<double>()[b * k + i];
    }
  }
  return to(*made, type, CastMode::Truncate);
}
Tensor identity_like(const Tensor& a) {
  return diagonal(detail::batch_of(a), a.sizes().end()[-2], a.sizes().back(), a.scalar_type());
}
const Tensor& example() {
  static const Tensor a = floats({3, 3}, {2, 1, 0, 4, 1, 3, 0, 5, 1});
  return a;
}

}  // namespace

TEST_CASE("aoti_kernels: LU, inverses, solutions and determinants as torch's",
          "[aoti_kernels_linalg]") {
  const Values factors = call("aten::linalg_lu_factor_ex", {example()});
  CHECK(is_near(at(factors, 0), floats({3, 3}, {4, 1, 3, 0, 5, 1, 0.5F, 0.1F, -1.6F})));
  CHECK(at(factors, 0).strides() == ArrayRef<int64_t>({1, 3}));
  CHECK(equal(at(factors, 1), ints({3}, {2, 3, 3})));
  CHECK(equal(at(factors, 2), ints({}, {0})));
  const Values inverse = call("aten::linalg_inv_ex", {example()});
  CHECK(is_near(times(example(), at(inverse, 0)), identity_like(example())));
  CHECK(at(inverse, 0).strides() == ArrayRef<int64_t>({1, 3}));
  // Of the transpose, since the matrix is contiguous.
  const Values det = call("aten::_linalg_det", {example()});
  CHECK(at(det, 0).item<float>() == Approx(-32));
  CHECK(is_near(at(det, 1), floats({3, 3}, {2, 4, 0, 0, 3, 1, 0.5F, -1.0F / 3, 16.0F / 3})));
  const Values log = call("aten::_linalg_slogdet", {turned(example())});
  CHECK(at(log, 0).item<float>() == -1);
  CHECK(at(log, 1).item<float>() == Approx(std::log(32.0)));

  const Tensor b = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Values right = call("aten::_linalg_solve_ex", {example(), b, false});
  CHECK(is_near(times(at(right, 0), example()), b));
  CHECK(at(right, 0).strides() == ArrayRef<int64_t>({3, 1}));
  const Tensor batch = numbers({2, 3, 3});
  const Tensor vectors = numbers({2, 3});  // a batch of vectors, whose strides torch swaps
  const Values solved = call("aten::_linalg_solve_ex", {batch, vectors});
  CHECK(is_near(times(batch, unsqueeze(at(solved, 0), -1)), unsqueeze(vectors, -1)));
  CHECK(at(solved, 0).strides() == ArrayRef<int64_t>({1, 2}));
  const Tensor many = numbers({4, 1, 3, 2});
  const Tensor wide = at(call("aten::_linalg_solve_ex", {batch, many}), 0);
  CHECK(wide.strides() == ArrayRef<int64_t>({12, 6, 1, 3}));
  CHECK(is_near(times(contiguous(expand(batch, {4, 2, 3, 3})), wide),
                contiguous(expand(many, {4, 2, 3, 2}))));
  for (const bool is_adjoint : {false, true}) {
    const Tensor lu = at(factors, 0);
    const Tensor x =
        at(call("aten::linalg_lu_solve", {lu, at(factors, 1), turned(b), true, is_adjoint}), 0);
    CHECK(is_near(times(is_adjoint ? turned(example()) : example(), x), contiguous(turned(b))));
    const Tensor y =
        at(call("aten::linalg_lu_solve", {lu, at(factors, 1), b, false, is_adjoint}), 0);
    CHECK(is_near(times(y, is_adjoint ? turned(example()) : example()), b));
  }
  CHECK(call("aten::linalg_lu_solve", {at(factors, 0), ints({3}, {1, 4, 3}), turned(b)}).empty());
  const Tensor tall = numbers({2, 4, 3});
  const Values plu = call("aten::linalg_lu", {tall});
  CHECK(is_near(times(at(plu, 0), times(at(plu, 1), at(plu, 2))), tall));
  CHECK(call("aten::linalg_lu", {tall, false}).empty());
}

TEST_CASE("aoti_kernels: singular and empty matrices", "[aoti_kernels_linalg]") {
  const Tensor pair = floats({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4});
  CHECK(equal(at(call("aten::linalg_inv_ex", {pair}), 1), ints({2}, {0, 2})));
  CHECK(call("aten::linalg_inv_ex", {pair, true}).empty());
  CHECK(contains(last_error_message(), "batch element 1, info 2"));
  CHECK(at(call("aten::_linalg_det", {pair}), 0).const_data_ptr<float>()[1] == 0);
  const Values log = call("aten::_linalg_slogdet", {pair});
  CHECK(at(log, 0).const_data_ptr<float>()[1] == 0);
  CHECK(at(log, 1).const_data_ptr<float>()[1] == -INFINITY);
  const Values low = call("aten::linalg_cholesky_ex", {floats({2, 2}, {4, 0, 2, 1})});
  CHECK(at(low, 1).item<int32_t>() == 2);
  const Tensor infos = ints({2}, {0, 1});
  CHECK(call("aten::_linalg_check_errors", {infos, std::string("linalg.cholesky"), false}).empty());
  CHECK(contains(last_error_message(), "linalg.cholesky: batch element 1, info 1"));
  CHECK(contains(last_error_message(), "positive-definite"));
  const std::string inv = "linalg.inv";
  const EValue checked[] = {*zeros({2}, ScalarType::Int), inv, false};
  CHECK(call_torch_operator("aten::_linalg_check_errors", checked).ok());

  const Tensor none = *zeros({2, 0, 0});
  CHECK(equal(at(call("aten::_linalg_det", {none}), 0), *ones({2})));
  CHECK(at(call("aten::linalg_inv_ex", {none}), 0).numel() == 0);
  CHECK(at(call("aten::_linalg_eigh", {none}), 0).sizes() == ArrayRef<int64_t>({2, 0}));
  CHECK(at(call("aten::linalg_inv_ex", {*zeros({0, 3, 3})}), 1).sizes() == ArrayRef<int64_t>({0}));
  const Values wide = call("aten::_linalg_svd", {*zeros({3, 0}), true});
  CHECK(is_near(at(wide, 0), diagonal({}, 3, 3, ScalarType::Float)));
  CHECK(is_near(at(call("aten::linalg_qr", {*zeros({3, 0}), std::string("complete")}), 0),
                diagonal({}, 3, 3, ScalarType::Float)));
  CHECK(
      is_near(at(call("aten::linalg_pinv.atol_rtol_tensor", {*zeros({0, 2})}), 0), *zeros({2, 0})));
}

TEST_CASE("aoti_kernels: Cholesky factors and triangular equations", "[aoti_kernels_linalg]") {
  const Tensor a = floats({2, 2}, {4, 100, 2, 5});  // the upper triangle is not read
  CHECK(is_near(at(call("aten::linalg_cholesky_ex", {a}), 0), floats({2, 2}, {2, 0, 1, 2})));
  const Values upper = call("aten::linalg_cholesky_ex", {turned(a), true});
  CHECK(is_near(at(upper, 0), floats({2, 2}, {2, 1, 0, 2})));
  CHECK(at(upper, 0).strides() == ArrayRef<int64_t>({1, 2}));
  const Tensor l = floats({2, 2}, {2, 9, 1, 4});
  const Tensor b = floats({2, 1}, {2, 5});
  CHECK(
      is_near(at(call("aten::linalg_solve_triangular", {l, b, false}), 0), floats({2, 1}, {1, 1})));
  CHECK(is_near(at(call("aten::linalg_solve_triangular", {l, b, false, true, true}), 0),
                floats({2, 1}, {2, 3})));
  CHECK(is_near(at(call("aten::linalg_solve_triangular", {l, turned(b), true, false}), 0),
                floats({1, 2}, {1, -1})));
  const Values many =
      call("aten::linalg_solve_triangular", {l, numbers({3, 2, 4}, ScalarType::Float), true});
  CHECK(at(many, 0).strides() == ArrayRef<int64_t>({8, 1, 2}));
}

TEST_CASE("aoti_kernels: QR, eigenvalues, singular values and what comes of them",
          "[aoti_kernels_linalg]") {
  const Values small = call("aten::linalg_qr", {floats({2, 2}, {3, 1, 4, 2})});
  CHECK(is_near(at(small, 1), floats({2, 2}, {-5, -2.2F, 0, 0.4F})));
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const Dims& sizes :
         {Dims{5, 3}, Dims{2, 3, 5}, Dims{2, 1, 4, 4}, Dims{1, 1}, Dims{3, 1}}) {
      const Tensor a = numbers(sizes, type);
      const Dims batch(detail::batch_of(a));
      const int64_t m = sizes.end()[-2];
      const int64_t n = sizes.back();
      for (const bool is_full : {false, true}) {
        const Values qr =
            call("aten::linalg_qr", {a, std::string(is_full ? "complete" : "reduced")});
        CHECK(is_near(times(at(qr, 0), at(qr, 1)), a));
        const Tensor q = times(turned(at(qr, 0)), at(qr, 0));
        CHECK(is_near(q, identity_like(q)));
        const Values svd = call("aten::_linalg_svd", {a, is_full});
        const int64_t k = at(svd, 0).sizes().back();
        const Tensor s = diagonal(batch, k, at(svd, 2).sizes().end()[-2], type, &svd[1].toTensor());
        CHECK(k == (is_full ? m : (std::min)(m, n)));
        CHECK(is_near(times(times(at(svd, 0), s), at(svd, 2)), a));
        const Tensor u = times(turned(at(svd, 0)), at(svd, 0));
        const Tensor v = times(at(svd, 2), turned(at(svd, 2)));
        CHECK(is_near(u, identity_like(u)));
        CHECK(is_near(v, identity_like(v)));
      }
      const Tensor pinv = at(call("aten::linalg_pinv.atol_rtol_tensor", {a}), 0);
      CHECK(is_near(times(times(a, pinv), a), a));
      CHECK(pinv.is_contiguous());
      if (m != n) continue;
      const Tensor square = times(a, turned(a));
      const Values eigh = call("aten::_linalg_eigh", {square});
      const Tensor w = diagonal(batch, n, n, type, &eigh[0].toTensor());
      CHECK(is_near(times(times(at(eigh, 1), w), turned(at(eigh, 1))), square));
    }
  }
  const Tensor s =
      at(call("aten::_linalg_svd", {floats({2, 3}, {3, 2, 2, 2, 3, -2}), false, false}), 1);
  CHECK(is_near(s, floats({2}, {5, 3})));
  // Of rank 1: U and V are orthogonal all the same.
  const Values one = call("aten::_linalg_svd", {*ones({4, 3}), true});
  const Tensor u = times(turned(at(one, 0)), at(one, 0));
  CHECK(is_near(u, identity_like(u)));
  CHECK(at(one, 0).strides() == ArrayRef<int64_t>({1, 4}));
  CHECK(is_near(at(one, 1), floats({3}, {std::sqrt(12.0F), 0, 0})));
  // One triangle is read.
  const Tensor half = floats({2, 2}, {2, 7, 1, 2});
  CHECK(is_near(at(call("aten::_linalg_eigh", {half}), 0), floats({2}, {1, 3})));
  CHECK(is_near(at(call("aten::_linalg_eigh", {half, std::string("U"), false}), 0),
                floats({2}, {-5, 9})));
  CHECK(is_near(at(call("aten::linalg_pinv.atol_rtol_tensor",
                        {floats({2, 2}, {2, 0, 0, 0.1F}), *scalar_tensor(0.5)}),
                   0),
                floats({2, 2}, {0.5F, 0, 0, 0})));
  const Values huge = call("aten::_linalg_svd", {*full({2, 2}, 1e200, ScalarType::Double)});
  CHECK(at(huge, 1).const_data_ptr<double>()[0] == Approx(2e200));

  const Tensor turn = floats({2, 2}, {0, -20, 20, 0});
  const auto c = static_cast<float>(std::cos(20.0));
  const auto d = static_cast<float>(std::sin(20.0));
  CHECK(is_near(at(call("aten::linalg_matrix_exp", {turn}), 0), floats({2, 2}, {c, -d, d, c})));
  const Tensor product =
      at(call("aten::linalg_householder_product", {floats({3, 1}, {9, 1, 2}), floats({1}, {0.5F})}),
         0);
  CHECK(is_near(product, floats({3, 1}, {0.5F, -0.5F, -1})));
}

TEST_CASE("aoti_kernels: linear algebra refuses other types, sizes and words",
          "[aoti_kernels_linalg]") {
  const Tensor square = *ones({3, 3});
  const std::string wrong = "x";
  for (const char* const name :
       {"aten::linalg_inv_ex", "aten::_linalg_det", "aten::linalg_cholesky_ex",
        "aten::_linalg_eigh", "aten::linalg_matrix_exp"}) {
    CHECK(call(name, {*ones({3, 4})}).empty());
    CHECK(contains(last_error_message(), "square"));
    CHECK(call(name, {*ones({3})}).empty());
    CHECK(call(name, {*zeros({3, 3}, ScalarType::ComplexFloat)}).empty());
    CHECK(contains(last_error_message(), "ComplexFloat"));
  }
  CHECK(call("aten::_linalg_solve_ex", {square, *ones({4, 2})}).empty());
  CHECK(call("aten::_linalg_solve_ex", {square, *ones({3}), false}).empty());
  CHECK(call("aten::_linalg_solve_ex", {square, *ones({3}, ScalarType::Double)}).empty());
  CHECK(call("aten::_linalg_solve_ex", {*ones({2, 3, 3}), *ones({5, 3, 2})}).empty());
  CHECK(call("aten::linalg_solve_triangular", {square, *ones({2, 2}), true}).empty());
  CHECK(call("aten::linalg_qr", {square, wrong}).empty());
  CHECK(call("aten::_linalg_eigh", {square, wrong}).empty());
  CHECK(call("aten::_linalg_svd", {*full({2, 2}, NAN)}).empty());
  CHECK(call("aten::linalg_householder_product", {square, *ones({4})}).empty());
}

}  // namespace aoti_kernels_linalg_test
