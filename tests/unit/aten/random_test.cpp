// SPDX-License-Identifier: MIT
// ATen mode: which random numbers are libtorch's, and which are tenon's from a seed of libtorch's.
#include "tenon/aten/random.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace random_test {

using namespace tenon;
TEST_CASE("ATen random: numbers that libtorch does not make follow its seed too") {
  const auto make = [] { return tenon::uniform(-2, 6, {50}); };
  tenon::manual_seed(7);
  const TensorPtr first = make();
  const TensorPtr second = make();
  CHECK_FALSE(first->equal(*second));
  tenon::detail::seed_aten(7);
  CHECK(make()->equal(*first));
  CHECK(make()->equal(*second));
}

TEST_CASE("ATen random: every dtype is within the bounds that it has in plain mode") {
  tenon::manual_seed(7);
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    INFO(c10::toString(type));
    const at::Tensor t = tenon::rand({100000}, type)->to(at::kDouble);
    CHECK(t.min().item<double>() >= 0);
    CHECK(t.max().item<double>() < 1);
    CHECK(t.mean().item<double>() > 0.49);
    CHECK(t.mean().item<double>() < 0.51);
  }
  const TensorPtr integers = tenon::rand({100}, ScalarType::Int);
  CHECK(integers->eq(0).all().item<bool>());
}

TEST_CASE("ATen random: an error, and a tensor without elements, draw nothing from libtorch") {
  tenon::manual_seed(7);
  const TensorPtr expected = tenon::rand({20});
  tenon::manual_seed(7);
  RAISES(InvalidArgument, "uniform", tenon::uniform(1, 0, {3}));
  RAISES(InvalidArgument, "rand", tenon::rand({-1}));
  RAISES(InvalidArgument, "randint", tenon::randint(5, 5, {3}));
  RETURNS(InvalidState, "uniform_", tenon::uniform_(at::Tensor()));
  CHECK(tenon::rand({0, 3})->numel() == 0);
  CHECK(tenon::uniform(-2, 6, {0})->numel() == 0);
  CHECK(tenon::rand({20})->equal(*expected));
}

}  // namespace random_test
