// SPDX-License-Identifier: MIT
#include "tenon/testing/trial.h"

#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace trial_test {

using namespace tenon;
using namespace tenon::testing;

namespace {

struct Fixture {
  CpuBackend backend;
  BackendTraits traits;
  Report report;
  Trial trial{backend, traits, report};
};

TensorPtr floats(std::vector<float> values) { return make_tensor_ptr({2, 2}, std::move(values)); }

}  // namespace

TEST_CASE("Report: it is ok as long as nothing failed, and keeps ten failures of each case") {
  Report report;
  CHECK(report.ok());
  CHECK(report.text().empty());
  report.begin("one");
  CHECK(report.ok());
  report.fail("expected 1, found 2");
  CHECK_FALSE(report.ok());
  CHECK(report.text() == "one: expected 1, found 2\n");
  for (int i = 0; i < 14; ++i) report.fail("wrong");
  CHECK(report.failures().size() == 11);
  CHECK(report.failures().back() == "one: and so on");
  CHECK(report.count() == 15);
  report.begin("two");
  report.fail("wrong");
  CHECK(report.failures().back() == "two: wrong");
}

TEST_CASE("Trial: a check that fails says what was expected and found") {
  Fixture f;
  CHECK(f.trial.check(true, "no"));
  CHECK(f.trial.check_ok("what", Error::Ok));
  CHECK(f.trial.check_made("what", try_ones({2})) != nullptr);
  CHECK(f.report.ok());
  CHECK_FALSE(f.trial.check(false, "size: expected ", 3, ", found ", Dims{2}));
  CHECK_FALSE(f.trial.check_ok("fill_", fill_(Tensor(), 1)));
  CHECK(f.trial.check_made("ones", try_ones({-1})) == nullptr);
  const auto& failures = f.report.failures();
  REQUIRE(failures.size() == 3);
  CHECK(failures[0] == ": size: expected 3, found {2}");
  CHECK(failures[1] == ": fill_: expected Ok, found InvalidState, fill_: the tensor is undefined");
  CHECK(tests::contains(failures[2], "ones: expected Ok, found InvalidArgument, try_ones: "));
}

TEST_CASE("check_same: the first element that differs is named, with its bytes") {
  Fixture f;
  CHECK(f.trial.check_same("a", floats({1, 2, 3, 4}), transpose(floats({1, 3, 2, 4}), 0, 1)));
  CHECK(f.trial.check_same("none", zeros({0, 3}), ones({0, 3})));
  CHECK(f.report.ok());
  CHECK_FALSE(f.trial.check_same("rand", floats({1, 2, 0.5, 7}), floats({1, 2, 0.25, 4})));
  CHECK(
      f.report.text() ==
      std::string(": rand: Float {2, 2}, strides {2, 1}, 2 elements differ; at {1, 0} expected ") +
          (detail::host_is_big_endian()
               ? "0.25 (bytes 3e 80 00 00), found 0.5 (bytes 3f 00 00 00)\n"
               : "0.25 (bytes 00 00 80 3e), found 0.5 (bytes 00 00 00 3f)\n"));
  CHECK_FALSE(f.trial.check_same("zero", floats({0, 0, 0, 0}), floats({0, -0.0f, 0, 0})));
  CHECK_FALSE(f.trial.check_same("sizes", zeros({2}), zeros({2, 1})));
  CHECK_FALSE(f.trial.check_same("type", zeros({2}), zeros({2}, ScalarType::Int)));
  CHECK(tests::contains(f.report.failures().back(),
                        "type: expected Int {2}, strides {1}, found Float {2}, strides {1}"));
}

TEST_CASE("check_same: any NaN is as good as another only where that is said") {
  Fixture f;
  const float nan = std::nanf("");
  const TensorPtr a = floats({nan, 1, 2, 3});
  const TensorPtr b = floats({-nan, 1, 2, 3});
  CHECK_FALSE(f.trial.check_same("nan", a, b));
  CHECK(f.trial.check_same("nan", a, b, Nans::Any));
  CHECK_FALSE(f.trial.check_same("nan", a, floats({nan, 1, 2, 4}), Nans::Any));
  const auto values = [&](float real, double imaginary) {
    return make_tensor_ptr(
        {1}, std::vector<detail::complex<double>>{{static_cast<double>(real), imaginary}});
  };
  CHECK(f.trial.check_same("nan", values(nan, 2), values(-nan, 2), Nans::Any));
  CHECK_FALSE(f.trial.check_same("nan", values(nan, 2), values(-nan, 3), Nans::Any));
  CHECK_FALSE(f.trial.check_same("int", ones({1}, ScalarType::Long), zeros({1}, ScalarType::Long),
                                 Nans::Any));
}

TEST_CASE("RandomView: it has the sizes asked for, and repeats no element unless it may") {
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
    if (i % 2 == 0) continue;
    CHECK(fill_(view, 1) == Error::Ok);
    const auto values = base->data<uint8_t>();
    CHECK(std::count(values.begin(), values.end(), 1) == view.numel());
  }
  CHECK(negative > 20);
  CHECK(repeated > 10);
}

}  // namespace trial_test
