// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/program_cases.h"

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("program_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, programs_run_alike);
}

TEST_CASE("program_cases: found: a fill that ignores strides") {
  struct Broken final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      return HonestBackend::constant(without_strides(out), element);
    }
  };
  CHECK_FOUND("expected", Broken, programs_run_alike);
}

TEST_CASE("program_cases: found: a copy that ignores the destination's strides") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      return HonestBackend::copy(without_strides(dst), src, mode);
    }
  };
  CHECK_FOUND("expected", Broken, programs_run_alike);
}
