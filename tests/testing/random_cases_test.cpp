// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/random_cases.h"

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("random_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, uniform_is_the_hosts);
  CHECK_PASSES(HonestBackend, normal_is_the_hosts);
  CHECK_PASSES(HonestBackend, views_are_filled_randomly);
}

TEST_CASE("random_cases: found: random numbers from the beginning, whatever the offset") {
  struct Broken final : HonestBackend {
    Error random_uniform(const View& out, double min, double max,
                         const Generator::State& start) override {
      return HonestBackend::random_uniform(out, min, max, {start.seed, 0, start.version});
    }
  };
  CHECK_FOUND("from offset 1:", Broken, uniform_is_the_hosts);
  CHECK_FOUND("expected", Broken, views_are_filled_randomly);
}

TEST_CASE("random_cases: found: an offset of 32 bits") {
  struct Broken final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma,
                        const Generator::State& start) override {
      return HonestBackend::random_normal(out, mu, sigma,
                                          {start.seed, start.offset & 0xffffffffu, start.version});
    }
  };
  CHECK_FOUND("from offset 8589934594", Broken, normal_is_the_hosts);
}

TEST_CASE("random_cases: found: a mean and a deviation exchanged") {
  struct Broken final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma,
                        const Generator::State& start) override {
      return HonestBackend::random_normal(out, sigma, mu, start);
    }
  };
  CHECK_FOUND("normal(10, 2.5)", Broken, normal_is_the_hosts);
}

TEST_CASE("random_cases: found: random numbers in the order of memory") {
  struct Broken final : HonestBackend {
    Error random_uniform(const View& out, double min, double max,
                         const Generator::State& start) override {
      return HonestBackend::random_uniform(without_strides(out), min, max, start);
    }
  };
  CHECK_FOUND("elements differ", Broken, views_are_filled_randomly);
  CHECK_FOUND("expected", Broken, random_like_forms_follow);
}
