// SPDX-License-Identifier: MIT
// A project's test of its backend: the conformance suite is the target tenon::testing.
#include <tenon/backend/cpu.h>
#include <tenon/testing/backend_conformance.h>

#include <cstdio>

int main() {
  tenon::CpuBackend backend;
  const tenon::testing::Report report =
      tenon::testing::run_case(tenon::testing::backend_cases(backend)[0], backend);
  if (!report.ok()) std::puts(report.text().c_str());
  return report.ok() ? 0 : 1;
}
