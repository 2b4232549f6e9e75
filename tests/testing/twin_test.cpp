// SPDX-License-Identifier: MIT
#include "tenon/testing/twin.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;

namespace {

struct Fixture {
  tests::HonestBackend backend;
  BackendTraits traits;
  Report report;
  Trial trial{backend, traits, report};
};

}  // namespace

TEST_CASE("random_twin: the same numbers in both memories, others for another seed") {
  Fixture f;
  const Twin a = random_twin(f.trial, {3, 4}, ScalarType::Int, 1);
  const Twin b = random_twin(f.trial, {3, 4}, ScalarType::Int, 2);
  REQUIRE(a);
  REQUIRE(b);
  CHECK(device(a.here).is_cpu());
  CHECK(device(a.there) == f.backend.device());
  CHECK(f.trial.check_same("twin", a.there, a.here));
  CHECK_FALSE(f.trial.check_same("twin", b.there, a.here));
}

TEST_CASE("random_twin: of every type") {
  Fixture f;
  for (ScalarType type : kAllTypes) CHECK(random_twin(f.trial, {5}, type));
  CHECK(f.report.ok());
}

TEST_CASE("check_both: actions that do the same pass, others are reported") {
  Fixture f;
  const Twin twin = random_twin(f.trial, {4}, ScalarType::Int);
  CHECK(check_both(f.trial, "fill_", twin, [](const Tensor& t) { return fill_(t, 3); }));
  CHECK(f.report.ok());
  int value = 0;
  CHECK_FALSE(
      check_both(f.trial, "count", twin, [&](const Tensor& t) { return fill_(t, ++value); }));
  CHECK(tests::contains(f.report.text(), "count: Int {4}, strides {1}, 4 of 4 elements differ"));
}

TEST_CASE("kViews: each lies in the tensor, and no two elements of one share memory") {
  const TensorPtr base = zeros(base_sizes(), ScalarType::Int);
  for (const NamedView& named : kViews) {
    INFO(named.name);
    const Tensor view = named.of(*base);
    REQUIRE(fill_(base, 0) == Error::Ok);
    REQUIRE(fill_(view, 1) == Error::Ok);
    int64_t count = 0;
    for (int32_t value : base->data<int32_t>()) count += value;
    CHECK(count == view.numel());
  }
}

TEST_CASE("RandomView: it has the sizes asked for, whatever it lies in") {
  Dice dice{3};
  int negative = 0;
  int repeated = 0;
  for (int i = 0; i < 100; ++i) {
    const Dims sizes{dice.between(0, 4), dice.between(1, 4), dice.between(1, 4)};
    const RandomView random(dice, sizes, i % 2 == 0);
    const TensorPtr base = zeros(random.base_sizes(), ScalarType::Byte);
    const Tensor view = random.of(*base);
    CHECK(tests::sizes(view) == tests::list(sizes));
    for (int64_t stride : view.strides()) {
      negative += stride < 0;
      repeated += stride == 0;
    }
    if (i % 2 != 0) CHECK(fill_(view, 1) == Error::Ok);  // which overlapping strides forbid
  }
  CHECK(negative > 20);
  CHECK(repeated > 20);
}

TEST_CASE("Dice: a seed gives the same numbers again, all of them within the bounds") {
  Dice a{7};
  Dice b{7};
  bool seen[5] = {};
  for (int i = 0; i < 100; ++i) {
    const int64_t value = a.between(-2, 2);
    CHECK(value == b.between(-2, 2));
    REQUIRE(value >= -2);
    REQUIRE(value <= 2);
    seen[value + 2] = true;
  }
  for (bool was_seen : seen) CHECK(was_seen);
}
