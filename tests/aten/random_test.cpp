// SPDX-License-Identifier: MIT
// ATen mode: which random numbers are libtorch's, and which are tenon's from a seed of libtorch's.
#include "tenon/aten/random.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::fill_from_aten;
using tenon::detail::RandomPlan;
namespace own = tenon::own;

namespace {

/// Whether libtorch makes the numbers of a plan.
bool is_done_by_aten(const RandomPlan& plan) {
  const at::Tensor t = at::zeros({64}, tenon::detail::public_type(plan.type));
  bool done = false;
  REQUIRE(fill_from_aten(t, plan, done) == Error::Ok);
  CHECK(done == t.ne(0).any().item<bool>());
  return done;
}

bool uniform_is(own::ScalarType type, double low = 0, double high = 1) {
  RandomPlan plan;
  REQUIRE(tenon::detail::plan_uniform(plan, type, low, high) == Error::Ok);
  return is_done_by_aten(plan);
}

bool normal_is(own::ScalarType type, double mean = 0, double stddev = 1) {
  RandomPlan plan;
  REQUIRE(tenon::detail::plan_normal(plan, type, mean, stddev) == Error::Ok);
  return is_done_by_aten(plan);
}

bool integers_is(own::ScalarType type, int64_t low, int64_t high) {
  RandomPlan plan;
  REQUIRE(tenon::detail::plan_integers_below(plan, type, low, high) == Error::Ok);
  return is_done_by_aten(plan);
}

}  // namespace

TEST_CASE(
    "ATen random: libtorch makes standard uniform and normal numbers of four floating types") {
  for (const auto type : {own::ScalarType::Float, own::ScalarType::Double, own::ScalarType::Half,
                          own::ScalarType::BFloat16}) {
    INFO(toString(type));
    CHECK(uniform_is(type));
    CHECK(normal_is(type));
    CHECK_FALSE(uniform_is(type, 0, 2));
    CHECK_FALSE(uniform_is(type, -1, 1));
    CHECK_FALSE(normal_is(type, 1, 1));
    CHECK_FALSE(normal_is(type, 0, 2));
  }
  for (const auto type : {own::ScalarType::Int, own::ScalarType::Bool,
                          own::ScalarType::ComplexFloat, own::ScalarType::ComplexDouble}) {
    INFO(toString(type));
    CHECK_FALSE(uniform_is(type));
    CHECK_FALSE(normal_is(type));
  }
}

TEST_CASE("ATen random: libtorch makes integers of up to 65536 values") {
  CHECK(integers_is(own::ScalarType::Byte, 0, 256));
  CHECK(integers_is(own::ScalarType::Char, -128, 128));
  CHECK(integers_is(own::ScalarType::Short, -32768, 32768));
  CHECK(integers_is(own::ScalarType::Int, -5, 5));
  CHECK(integers_is(own::ScalarType::Long, 1, 65537));
  CHECK_FALSE(integers_is(own::ScalarType::Long, 0, 65537));
  CHECK_FALSE(integers_is(own::ScalarType::Long, std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::max()));
  CHECK_FALSE(integers_is(own::ScalarType::Float, 0, 10));
  CHECK_FALSE(integers_is(own::ScalarType::Bool, 0, 2));
}

TEST_CASE("ATen random: a generator that is given makes tenon's numbers") {
  Generator first(7), second(7);
  tenon::manual_seed(1);
  const TensorPtr a = tenon::rand({20}, first);
  tenon::manual_seed(2);
  const TensorPtr b = tenon::rand({20}, second);
  CHECK(a->equal(*b));
  CHECK(first.offset() == 20);
  CHECK_FALSE(a->equal(*tenon::rand({20})));
}

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

TEST_CASE("ATen random: an error draws nothing from libtorch") {
  tenon::manual_seed(7);
  const TensorPtr expected = tenon::rand({20});
  tenon::manual_seed(7);
  RAISES(InvalidArgument, "uniform", tenon::uniform(1, 0, {3}));
  RAISES(InvalidArgument, "rand", tenon::rand({-1}));
  RAISES(InvalidArgument, "randint", tenon::randint(5, 5, {3}));
  RETURNS(InvalidState, "uniform_", tenon::uniform_(at::Tensor()));
  CHECK(tenon::rand({20})->equal(*expected));
}

TEST_CASE("ATen random: tensors without elements draw nothing of either kind") {
  tenon::manual_seed(7);
  const TensorPtr expected = tenon::rand({20});
  tenon::manual_seed(7);
  CHECK(tenon::rand({0, 3})->numel() == 0);
  CHECK(tenon::uniform(-2, 6, {0})->numel() == 0);
  CHECK(tenon::rand({20})->equal(*expected));
}
