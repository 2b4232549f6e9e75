// SPDX-License-Identifier: MIT
// The forms of each step, beside its baseline. The casts that the steps make are in
// convert_values_test.cpp and convert_block_test.cpp.
#include "tenon/kernels/cast_steps.h"

#include "kernels/helpers.h"

namespace cast_steps_test {

using namespace tests;
using namespace tenon::detail;

namespace {

// Of the limits of Short: some values are below, some above.
CastContext context_of_short() {
  static constexpr SmallFloatCode kCode = tenon::Float8_e4m3fn::format::code();
  CastContext context{};
  static_cast<CastLimits&>(context) =
      cast_limits(ScalarType::Short, ScalarType::Double, tenon::CastMode::Truncate);
  context.largest = 1000;
  context.from_code = context.to_code = &kCode;
  context.part_size = 2;
  context.mask = 0x7f7f7f7f7f7f7f7fu;
  return context;
}

}  // namespace

TEST_CASE("cast_steps: a step of another file is called with its context") {
  CastContext context = context_of_short();
  context.own = [](void* out, const void* in, int64_t count, const CastContext* given) noexcept {
    *static_cast<int64_t*>(out) = count + *static_cast<const char*>(in) + given->part_size;
  };
  int64_t made = 0;
  const char given = 100;
  run_baseline(Step::Own, reinterpret_cast<char*>(&made), &given, kStepElements, context);
  CHECK(made == kStepElements + 102);
}

}  // namespace cast_steps_test
