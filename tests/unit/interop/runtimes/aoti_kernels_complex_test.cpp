// SPDX-License-Identifier: MIT
// Expected numbers are torch 2.15's.
#include "tenon/interop/runtimes/aoti_kernels_complex.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_complex_test {

using namespace tenon;

namespace {

using Complex = std::complex<double>;

/// What an operator answers; empty where it refuses.
std::vector<EValue> call(const std::string& name, std::initializer_list<EValue> inputs) {
  REQUIRE(detail::provide_complex_operators() == Error::Ok);
  Result<std::vector<EValue>> made = call_torch_operator(name, inputs);
  return made.ok() ? *std::move(made) : std::vector<EValue>();
}
TensorPtr complexes(const std::vector<int64_t>& sizes, const std::vector<Complex>& values,
                    ScalarType type = kComplexFloat) {
  const TensorPtr wide = empty(sizes, kComplexDouble);
  std::copy(values.begin(), values.end(), static_cast<Complex*>(wide->mutable_data_ptr()));
  TensorPtr made = empty(sizes, type);
  REQUIRE(copy_(*made, *wide, CastMode::Truncate) == Error::Ok);
  return made;
}
bool is_near(const Tensor& given, const std::vector<Complex>& expected, double tolerance = 1e-5) {
  const TensorPtr dense = empty(given.sizes(), kComplexDouble);
  REQUIRE(copy_(*dense, given, CastMode::Truncate) == Error::Ok);
  const auto* const data = static_cast<const Complex*>(dense->const_data_ptr());
  bool is = given.numel() == static_cast<int64_t>(expected.size());
  for (size_t i = 0; i < expected.size() && is; ++i) {
    is = std::abs(data[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i]));
  }
  return is;
}
bool is_near(const std::vector<EValue>& given, const std::vector<Complex>& expected) {
  return given.size() == 1 && is_near(given[0].toTensor(), expected);
}

}  // namespace

TEST_CASE("aoti_kernels: functions of complex elements", "[aoti_kernels_complex]") {
  struct Row {
    const char* name;
    Complex expected;
  };
  const Row kRows[] = {
      {"aten::_conj", {0.5, -1}},
      {"aten::_conj_physical", {0.5, -1}},
      {"aten::acos", {1.22135726, -0.926133031}},
      {"aten::acosh", {0.926133031, 1.22135726}},
      {"aten::asin", {0.349439063, 0.926133031}},
      {"aten::asinh", {0.732857676, 0.895907481}},
      {"aten::atan", {0.907887495, 0.708303336}},
      {"aten::atanh", {0.238877861, 0.847575661}},
      {"aten::cos", {1.35418066, -0.563421465}},
      {"aten::cosh", {0.609258909, 0.43848658}},
      {"aten::exp", {0.890807904, 1.38735111}},
      {"aten::exp2", {1.08786809, 0.903627703}},
      {"aten::expm1", {-0.109192096, 1.38735111}},
      {"aten::log", {0.111571776, 1.10714872}},
      {"aten::log10", {0.0484550065, 0.480828579}},
      {"aten::log1p", {0.589327498, 0.588002604}},
      {"aten::log2", {0.160964047, 1.59727796}},
      {"aten::neg", {-0.5, -1}},
      {"aten::reciprocal", {0.4, -0.8}},
      {"aten::rsqrt", {0.804495864, -0.497205788}},
      {"aten::sigmoid", {0.656210346, 0.252250351}},
      {"aten::sin", {0.739792264, 1.03133607}},
      {"aten::sinh", {0.281548995, 0.948864531}},
      {"aten::sqrt", {0.89945372, 0.55589297}},
      {"aten::tan", {0.19557731, 0.842966205}},
      {"aten::tanh", {1.04283073, 0.806877412}},
  };
  for (const ScalarType type : {kComplexFloat, kComplexDouble, kComplexHalf}) {
    const TensorPtr x = complexes({1}, {{0.5, 1}}, type);
    for (const Row& row : kRows) {
      INFO(row.name);
      const std::vector<EValue> made = call(row.name, {*x});
      REQUIRE(made.size() == 1);
      CHECK(made[0].toTensor().scalar_type() == type);
      CHECK(is_near(made[0].toTensor(), {row.expected}, type == kComplexHalf ? 4e-3 : 1e-5));
    }
  }
  CHECK(std::size(kRows) == std::size(detail::kComplexFunctions));
  CHECK(call("aten::exp", {*ones({2})}).empty());
  CHECK(call("aten::exp", {Tensor()}).empty());
}

TEST_CASE("aoti_kernels: functions of complex elements keep strides", "[aoti_kernels_complex]") {
  const TensorPtr x = complexes({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor made = call("aten::neg", {transpose(*x, 0, 1)}).at(0).toTensor();
  CHECK(made.strides() == ArrayRef<int64_t>({1, 3}));
  CHECK(is_near(made, {-1, -4, -2, -5, -3, -6}));
  CHECK(call("aten::exp", {*complexes({0, 3}, {})}).at(0).toTensor().numel() == 0);
  CHECK(is_near(call("aten::_conj", {*complexes({}, {{1, 2}})}), {{1, -2}}));
}

TEST_CASE("aoti_kernels: complex numbers of two parts, and comparisons", "[aoti_kernels_complex]") {
  const TensorPtr real = make_tensor_ptr({2}, std::vector<float>{1, 2});
  const TensorPtr column = make_tensor_ptr({2, 1}, std::vector<float>{3, 4});
  CHECK(is_near(call("aten::complex", {*real, *column}), {{1, 3}, {2, 3}, {1, 4}, {2, 4}}));
  CHECK(call("aten::complex", {*real, *ones({2}, kDouble)}).empty());
  CHECK(call("aten::complex", {*ones({2}, kLong), *ones({2}, kLong)}).empty());
  CHECK(call("aten::complex", {*real, *ones({3})}).empty());

  const TensorPtr z = complexes({3}, {{1, 0}, {1, 2}, {NAN, 0}});
  const auto flags = [](const std::vector<EValue>& made) {
    std::string text;
    for (int64_t i = 0; i < 3; ++i)
      text += made.at(0).toTensor().const_data_ptr<bool>()[i] ? '1' : '0';
    return text;
  };
  CHECK(flags(call("aten::eq.Tensor", {*z, *z})) == "110");
  CHECK(flags(call("aten::ne.Tensor", {*z, *complexes({1}, {{1, 2}})})) == "101");
  CHECK(flags(call("aten::eq.Scalar", {*z, int64_t{1}})) == "100");
  CHECK(flags(call("aten::ne.Scalar", {*z, 1.0})) == "011");
  CHECK(flags(call("aten::isnan", {*z})) == "001");
  CHECK(flags(call("aten::isinf", {*complexes({3}, {{1, INFINITY}, {1, 2}, {NAN, 0}})})) == "100");
  CHECK(call("aten::eq.Tensor", {*z, *complexes({2}, {1, 2})}).empty());
}

TEST_CASE("aoti_kernels: quotients, differences and products of complex tensors",
          "[aoti_kernels_complex]") {
  const TensorPtr a = complexes({2}, {{1, 2}, {3, -1}});
  const TensorPtr b = complexes({2}, {{2, 1}, {0, 1}});
  CHECK(is_near(call("aten::div.Tensor", {*a, *b}), {{0.8, 0.6}, {-1, -3}}));
  CHECK(is_near(call("aten::sub.Tensor", {*a, *b}), {{-1, 1}, {3, -2}}));
  CHECK(is_near(call("aten::sub.Tensor", {*a, *b, int64_t{2}}), {{-3, 0}, {3, -3}}));
  const TensorPtr m = complexes({1, 2}, {{1, 2}, {3, -1}});
  const TensorPtr n = complexes({2, 1}, {{2, 1}, {0, 1}});
  CHECK(is_near(call("aten::mm", {*m, *n}), {{1, 8}}));
  const TensorPtr added = complexes({1}, {{1, 1}});
  CHECK(is_near(call("aten::addmm", {*added, *m, *n}), {{2, 9}}));
  CHECK(is_near(call("aten::addmm", {*added, *m, *n, int64_t{0}, 0.5}), {{0.5, 4}}));
  CHECK(call("aten::addmm", {*complexes({2, 2}, {1, 2, 3, 4}), *m, *n}).empty());
  CHECK(call("aten::addmm", {*ones({1}), *m, *n}).empty());
  const TensorPtr ms = complexes({2, 1, 1}, {{1, 2}, {3, -1}});
  const TensorPtr ns = complexes({2, 1, 1}, {{2, 1}, {0, 1}});
  CHECK(is_near(call("aten::bmm", {*ms, *ns}), {{0, 5}, {1, 3}}));
  CHECK(is_near(call("aten::baddbmm", {*added, *ms, *ns}), {{1, 6}, {2, 4}}));
  CHECK(call("aten::bmm", {*ms, *complexes({1, 1, 1}, {{2, 1}})}).empty());
  CHECK(call("aten::bmm", {*m, *n}).empty());
}

TEST_CASE("aoti_kernels: sums, means, products and variances of complex tensors",
          "[aoti_kernels_complex]") {
  const TensorPtr x = complexes({2, 2}, {{1, 2}, {3, -1}, {0, 1}, {2, 2}});
  CHECK(is_near(call("aten::sum", {*x}), {{6, 4}}));
  CHECK(is_near(call("aten::sum.dim_IntList", {*x, std::vector<int64_t>{1}, true}),
                {{4, 1}, {2, 3}}));
  CHECK(is_near(call("aten::mean", {*x}), {{1.5, 1}}));
  const std::vector<EValue> mean = call("aten::mean.dim", {*x, std::vector<int64_t>{0}, true});
  CHECK(is_near(mean, {{0.5, 1.5}, {2.5, 0.5}}));
  CHECK(mean.at(0).toTensor().sizes() == ArrayRef<int64_t>({1, 2}));
  CHECK(is_near(call("aten::prod", {*x}), {{-20, 0}}));
  CHECK(is_near(call("aten::prod.dim_int", {*x, int64_t{-1}}), {{5, 5}, {-2, 2}}));
  const std::vector<EValue> variance = call("aten::var.correction", {*x, std::vector<int64_t>{1}});
  CHECK(variance.at(0).toTensor().scalar_type() == kFloat);
  CHECK(is_near(variance, {6.5, 2.5}));
  CHECK(is_near(call("aten::var.correction", {*x, None(), int64_t{0}}), {2.75}));
  CHECK(call("aten::mean.dim", {*x, std::vector<int64_t>{2}}).empty());
  CHECK(call("aten::mean", {*ones({2})}).empty());
  const Tensor none = call("aten::mean", {*complexes({0}, {})}).at(0).toTensor();
  CHECK(std::isnan(static_cast<const std::complex<float>*>(none.const_data_ptr())->real()));
}

}  // namespace aoti_kernels_complex_test
