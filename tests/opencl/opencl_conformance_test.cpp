// SPDX-License-Identifier: MIT
#include "opencl_helpers.h"
#include "tenon/testing/backend_conformance.h"

TEST_CASE("opencl: it passes the conformance suite for backends") {
  OpenClBackend& backend = tests::opencl();
  tenon::testing::BackendTraits traits;
  traits.reuses_addresses = false;
  for (const tenon::testing::BackendCase& test : tenon::testing::backend_cases(backend)) {
    SECTION(test.name) {
      const tenon::testing::Report report = tenon::testing::run_case(test, backend, traits);
      INFO(report.text());
      CHECK(report.ok());
    }
  }
}
