// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_distributions.h"

#include <algorithm>
#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_distributions_test {

using namespace tenon;

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();  // other numbers than torch's
constexpr std::nullptr_t kNone = nullptr;

Tensor take(AtenTensorHandle handle) {
  Tensor made;
  REQUIRE(detail::take_aoti_tensor(handle, made) == Error::Ok);
  return made;
}

/// The mean of all elements.
double mean_of(const Tensor& tensor) {
  Tensor dense;
  REQUIRE(detail::make_dense(tensor, ScalarType::Double, dense) == Error::Ok);
  double sum = 0;
  const auto* const values = detail::dense_data<double>(dense);
  for (int64_t i = 0; i < dense.numel(); ++i) sum += values[i];
  return sum / static_cast<double>(dense.numel());
}

}  // namespace

TEST_CASE("aoti_kernels: tensors filled at random have torch's types and strides",
          "[aoti_kernels_distributions]") {
  const TensorPtr x = randn({3, 4});
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Half, ScalarType::ComplexFloat, ScalarType::Long}) {
    CAPTURE(type);
    const Tensor given = permute(to(*x, type, CastMode::Truncate), {1, 0});
    const Tensor repeated = expand(to(*ones({1, 3}), type, CastMode::Truncate), {4, 3});
    for (const Tensor& self : {given, repeated}) {
      CHECK_PEER(aoti_torch_cpu_exponential, kAny, self, 2, kNone);
      CHECK_PEER(aoti_torch_cpu_normal_functional, kAny, self, 1, 2, kNone);
      CHECK_PEER(aoti_torch_cpu_uniform, kAny, self, -1, 2, kNone);
      int32_t train = 1;
      CHECK_PEER(aoti_torch_cpu_native_dropout, kAny, self, 0.5, &train);
      CHECK_PEER(aoti_torch_cpu_native_dropout, 0, self, 1, kNone);
      train = 0;
      CHECK_PEER(aoti_torch_cpu_native_dropout, 0, self, 0.5, &train);
    }
    CHECK_PEER(aoti_torch_cpu_bernoulli__float, kAny, given, 0.5, kNone);
    CHECK_PEER(aoti_torch_cpu_bernoulli__float, 0, given, 1, kNone);
    CHECK_PEER(aoti_torch_cpu_bernoulli__float, 0, given, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_bernoulli__float, 0, given, 1.5, kNone);
    float probabilities[] = {0, 1, 0, 1};
    const TensorPtr p = from_blob(probabilities, {4, 1});
    CHECK_PEER(aoti_torch_cpu_bernoulli__Tensor, 0, given, *p, kNone);
    CHECK_PEER(aoti_torch_cpu_bernoulli__Tensor, 0, given, *ones({2}), kNone);
    const TensorPtr beyond = full({3}, 1.1);
    CHECK_PEER(aoti_torch_cpu_bernoulli__Tensor, 0, given, *beyond, kNone);
    CHECK_PEER(aoti_torch_cpu_uniform, 0, given, 2, 2, kNone);
    CHECK_PEER(aoti_torch_cpu_uniform, 0, given, 2, 1, kNone);
    CHECK_PEER(aoti_torch_cpu_exponential, 0, given, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_normal_functional, 0, given, 0, -1, kNone);
  }
}

TEST_CASE("aoti_kernels: means of distributions", "[aoti_kernels_distributions]") {
  using namespace detail;
  manual_seed(5);
  const TensorPtr many = empty({200, 300});
  AtenTensorHandle self = nullptr;
  REQUIRE(make_aoti_handle(*many, self) == Error::Ok);
  AtenTensorHandle made = nullptr;
  REQUIRE(aoti_torch_cpu_exponential(self, 4, nullptr, &made) == 0);
  const Tensor waits = take(made);
  CHECK(mean_of(waits) == Approx(0.25).margin(0.005));
  CHECK(*std::min_element(waits.const_data_ptr<float>(), waits.const_data_ptr<float>() + 60000) >
        0);
  REQUIRE(aoti_torch_cpu_uniform(self, 2, 6, nullptr, &made) == 0);
  CHECK(mean_of(take(made)) == Approx(4).margin(0.02));
  REQUIRE(aoti_torch_cpu_normal_functional(self, 2, 6, nullptr, &made) == 0);
  CHECK(mean_of(take(made)) == Approx(2).margin(0.1));
  REQUIRE(aoti_torch_cpu_bernoulli__float(self, 0.3, nullptr) == 0);
  CHECK(mean_of(*many) == Approx(0.3).margin(0.01));

  REQUIRE(fill_(*many, 1) == Error::Ok);
  AtenTensorHandle mask = nullptr;
  REQUIRE(aoti_torch_cpu_native_dropout(self, 0.2, nullptr, &made, &mask) == 0);
  CHECK(mean_of(take(made)) == Approx(1).margin(0.01));
  CHECK(mean_of(take(mask)) == Approx(0.8).margin(0.01));
  AtenGeneratorHandle generator = reinterpret_cast<AtenGeneratorHandle>(self);
  CHECK(aoti_torch_cpu_uniform(self, 0, 1, &generator, &made) != 0);
  REQUIRE(tenon_aoti_shim.delete_tensor_object(self) == 0);
}

TEST_CASE("aoti_kernels: native_dropout of no elements gives a mask of the input's type",
          "[aoti_kernels_distributions]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::Long}) {
    const Tensor nothing = *empty({2, 0, 3}, type);
    const std::vector<Tensor> made =
        tests::answer(&detail::aoti_torch_cpu_native_dropout, nothing, 0.5, nullptr);
    REQUIRE(made.size() == 2);
    CHECK(made[1].scalar_type() == type);
    CHECK(made[1].sizes() == nothing.sizes());
    CHECK_PEER(aoti_torch_cpu_native_dropout, 0, nothing, 0.5, kNone);
  }
}

}  // namespace aoti_kernels_distributions_test
