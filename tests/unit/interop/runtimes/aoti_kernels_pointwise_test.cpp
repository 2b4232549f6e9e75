// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_pointwise.h"

#include <cmath>
#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_pointwise_test {

using namespace tenon;
using tests::differs;

namespace {

constexpr ScalarType kTypes[] = {ScalarType::Float, ScalarType::Double,        ScalarType::Half,
                                 ScalarType::Long,  ScalarType::ComplexFloat,  ScalarType::Byte,
                                 ScalarType::Bool,  ScalarType::ComplexDouble, ScalarType::BFloat16,
                                 ScalarType::Char,  ScalarType::ComplexHalf};

double tolerance_of(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf: return 4e-3;
    case ScalarType::BFloat16: return 3e-2;
    default: return 1e-5;
  }
}

Tensor permuted(const Tensor& x) {
  std::vector<int64_t> order;
  for (int64_t d = x.dim(); d-- > 0;) order.push_back((d + 1) % x.dim());
  return permute(x, order);
}

}  // namespace

TEST_CASE("aoti_kernels: functions of one tensor, of each type, in each layout",
          "[aoti_kernels_pointwise]") {
  manual_seed(1);
  const TensorPtr numbers = randn({4, 3, 5}, ScalarType::ComplexDouble);
  for (const ScalarType type : kTypes) {
    CAPTURE(type);
    const bool is_real = !isComplexType(type);
    const Tensor x = to(*(is_real ? randn({4, 3, 5}) : clone(*numbers)), type, CastMode::Truncate);
    const double tolerance = tolerance_of(type);
    for (const Tensor& t :
         {x, permuted(x), narrow(x, 2, 1, 3), expand(narrow(x, 1, 0, 1), {4, 6, 5}),
          narrow(x, 1, 1, 0), select(select(select(x, 0, 1), 0, 1), 0, 1)}) {
      CHECK_PEER(aoti_torch_cpu_abs, tolerance, t);
      CHECK_PEER(aoti_torch_cpu_angle, tolerance, t);
      CHECK_PEER(aoti_torch_cpu_add_Scalar, tolerance, t, 2.5, -2);
      CHECK_PEER(aoti_torch_cpu_mul_Scalar, tolerance, t, -1.5);
      for (const double number : {0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 2.5}) {
        CHECK_PEER(aoti_torch_cpu_pow_Tensor_Scalar, 4 * tolerance, t, number);
        CHECK_PEER(aoti_torch_cpu_pow_Scalar, 4 * tolerance, number, t);
      }
    }
  }
}

TEST_CASE("aoti_kernels: numbers that are not finite, and zeros with a sign",
          "[aoti_kernels_pointwise]") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  float numbers[] = {0.0f, -0.0f, kInf, -kInf, kNan, 1.0f, -1.0f, -2.0f};
  const TensorPtr x = from_blob(numbers, {8});
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 0.25}) {
    CHECK_PEER(aoti_torch_cpu_pow_Tensor_Scalar, 1e-6, *x, exponent);
    CHECK_PEER(aoti_torch_cpu_pow_Tensor_Tensor, 1e-6, *x, *full({8}, exponent));
  }
  CHECK_PEER(aoti_torch_cpu_angle, 1e-6, *x);
  complex<float> pairs[64];
  for (size_t i = 0; i < 64; ++i) pairs[i] = {numbers[i / 8], numbers[i % 8]};
  const TensorPtr z = from_blob(pairs, {64}, ScalarType::ComplexFloat);
  const TensorPtr w = from_blob(pairs + 1, {63}, ScalarType::ComplexFloat);
  const Tensor fewer = narrow(*z, 0, 0, 63);
  CHECK_PEER(aoti_torch_cpu_abs, 1e-6, *z);
  CHECK_PEER(aoti_torch_cpu_angle, 1e-6, *z);
  CHECK_PEER(aoti_torch_cpu_mul_Tensor, 1e-6, fewer, *w);
  CHECK_PEER(aoti_torch_cpu_add_Tensor, 1e-6, fewer, *w, 1);
}

TEST_CASE("aoti_kernels: integers to integer powers, and common divisors",
          "[aoti_kernels_pointwise]") {
  for (const ScalarType type : {ScalarType::Long, ScalarType::Int, ScalarType::Short,
                                ScalarType::Char, ScalarType::Byte, ScalarType::Bool}) {
    CAPTURE(type);
    const int64_t low = type == ScalarType::Byte || type == ScalarType::Bool ? 0 : -9;
    const Tensor a = to(*randint(low, 10, {6, 40}, ScalarType::Long), type, CastMode::Truncate);
    const Tensor b = to(*randint(low, 10, {40}, ScalarType::Long), type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_pow_Tensor_Tensor, 0, a, b);
    CHECK_PEER(aoti_torch_cpu_gcd, 0, a, b);
    CHECK_PEER(aoti_torch_cpu_mul_Tensor, 0, a, b);
    CHECK_PEER(aoti_torch_cpu_add_Tensor, 0, a, b, 1);  // both refuse
  }
  int64_t extremes[] = {INT64_MIN, INT64_MAX, INT64_MIN + 1, 0, 3};
  const TensorPtr x = from_blob(extremes, {5});
  const TensorPtr y = from_blob(extremes, {5, 1});
  CHECK_PEER(aoti_torch_cpu_mul_Tensor, 0, *x, *y);
  CHECK_PEER(aoti_torch_cpu_pow_Tensor_Tensor, 0, *x, *y);
  CHECK_PEER(aoti_torch_cpu_abs, 0, *x);
}

TEST_CASE("aoti_kernels: functions of two tensors at random, of all types, shapes and layouts",
          "[aoti_kernels_pointwise]") {
  Generator draws(7);
  const auto draw = [&](int64_t low, int64_t high) {  // low to high
    return *randint(low, high + 1, {}, ScalarType::Long, draws)->const_data_ptr<int64_t>();
  };
  const auto make = [&](std::vector<int64_t> sizes, ScalarType type) {
    const bool is_integral = isIntegralType(type, true);
    const int64_t kind = sizes.empty() ? 0 : draw(0, 4);
    const std::vector<int64_t> wanted = sizes;
    const auto d =
        static_cast<size_t>(draw(0, static_cast<int64_t>((std::max)(sizes.size(), size_t{1})) - 1));
    if (kind == 1) sizes[d] = 1;
    if (kind == 2) sizes[d] += 2;
    if (kind == 3) sizes = {sizes.rbegin(), sizes.rend()};
    const TensorPtr numbers =
        is_integral
            ? randint(0, 6, sizes, ScalarType::Long, draws)
            : randn(sizes, isComplexType(type) ? ScalarType::ComplexFloat : ScalarType::Float,
                    draws);
    const Tensor made = to(*numbers, type, CastMode::Truncate);
    if (kind == 1) return expand(made, wanted);
    if (kind == 2) return narrow(made, static_cast<int64_t>(d), 1, wanted[d]);
    if (kind != 3) return made;
    std::vector<int64_t> order;
    for (int64_t i = made.dim(); i-- > 0;) order.push_back(i);
    return permute(made, order);
  };
  std::string found;
  for (int i = 0; i < 400 && found.empty(); ++i) {
    std::vector<int64_t> of_a(static_cast<size_t>(draw(0, 4)));
    for (int64_t& size : of_a) size = draw(0, 20) == 0 ? 0 : draw(1, 4);
    std::vector<int64_t> of_b = of_a;
    for (size_t d = 0; d < of_a.size(); ++d) {
      const int64_t kind = draw(0, 5);
      if (kind < 2) (kind == 0 ? of_a : of_b)[d] = 1;
    }
    of_b.erase(of_b.begin(),
               of_b.begin() + (draw(0, 2) == 0 ? draw(0, static_cast<int64_t>(of_b.size())) : 0));
    if (draw(0, 1) == 0) std::swap(of_a, of_b);
    if (draw(0, 30) == 0) of_a.insert(of_a.begin(), 3);
    const ScalarType type_a = kTypes[draw(0, 10)];
    const ScalarType type_b = draw(0, 1) == 0 ? type_a : kTypes[draw(0, 10)];
    const Tensor a = make(of_a, type_a);
    const Tensor b = make(of_b, type_b);
    const double tolerance = 4 * (std::max)(tolerance_of(type_a), tolerance_of(type_b));
    switch (i % 5) {
      case 0: found = differs(TENON_PEER(aoti_torch_cpu_add_Tensor), tolerance, a, b, -1.5); break;
      case 1: found = differs(TENON_PEER(aoti_torch_cpu_mul_Tensor), tolerance, a, b); break;
      case 2: found = differs(TENON_PEER(aoti_torch_cpu_pow_Tensor_Tensor), tolerance, a, b); break;
      case 3: found = differs(TENON_PEER(aoti_torch_cpu_polar), tolerance, a, b); break;
      default: found = differs(TENON_PEER(aoti_torch_cpu_gcd), 0, a, b);
    }
    CAPTURE(i, type_a, type_b, a.sizes(), a.strides(), b.sizes(), b.strides());
    CHECK(found == "");
  }
}

}  // namespace aoti_kernels_pointwise_test
