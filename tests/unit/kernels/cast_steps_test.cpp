// SPDX-License-Identifier: MIT
// The casts that the steps make are in convert_values_test.cpp and convert_block_test.cpp.
#include "tenon/kernels/cast_steps.h"

#include "kernels/helpers.h"

namespace cast_steps_test {

using namespace tests;
using namespace tenon::detail;

TEST_CASE("cast_steps: a step of another file is called with its context") {
  CastContext context{};
  context.part_size = 2;
  context.own = [](void* out, const void* in, int64_t count, const CastContext* given) noexcept {
    *static_cast<int64_t*>(out) = count + *static_cast<const char*>(in) + given->part_size;
  };
  int64_t made = 0;
  const char given = 100;
  run_baseline(Step::Own, reinterpret_cast<char*>(&made), &given, kStepElements, context);
  CHECK(made == kStepElements + 102);
}

}  // namespace cast_steps_test
