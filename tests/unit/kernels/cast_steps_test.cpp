// SPDX-License-Identifier: MIT
// The forms of each step, beside its baseline. The casts that the steps make are in
// convert_values_test.cpp and convert_block_test.cpp.
#include "tenon/kernels/cast_steps.h"

#include "kernels/helpers.h"

namespace cast_steps_test {

using namespace tests;
using namespace tenon::detail;

namespace {

constexpr int64_t kMost = 6 * kStepElements;

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

// Any bits; many elements are small numbers of their type, 0 and -1 among them.
Bytes some_bytes(Rng& random, size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    const int64_t kind = random.between(0, 3);
    bytes[i] = static_cast<unsigned char>(kind == 0 ? 0 : kind == 1 ? 255 : random.between(0, 255));
  }
  return bytes;
}

}  // namespace

TEST_CASE("cast_steps: every form of a step makes the baseline's bits, at any address, no more") {
  Rng random{11};
  const CastContext context = context_of_short();
  const auto past = static_cast<int>(Step::Own);
  for (int k = 0; k < past; ++k) {
    const auto step = static_cast<Step>(k);
    const bool has_baseline = step < Step::FloatFromHalf || step >= Step::NonzeroByte;
    if (!has_baseline) continue;  // casts by two steps are their peers: convert_values_test.cpp
    INFO("step " << k);
    for (int64_t count = kStepElements; count <= kMost; count += kStepElements) {
      const Bytes in = some_bytes(random, 1 + static_cast<size_t>(count) * 16);
      Bytes expected(1 + static_cast<size_t>(count) * 16, 0xa5);
      run_baseline(step, reinterpret_cast<char*>(expected.data()) + 1,
                   reinterpret_cast<const char*>(in.data()) + 1, count, context);
#if TENON_HAS_AVX2
      for_each_isa([&] {
        if (isa() == Isa::Baseline) return;
        Bytes out(expected.size(), 0xa5);
        (isa() == Isa::Avx512 ? run_avx512<true>
                              : run_avx2<true>)(step, reinterpret_cast<char*>(out.data()) + 1,
                                                reinterpret_cast<const char*>(in.data()) + 1, count,
                                                context);
        clear_after_variants();
        CHECK(out == expected);
      });
#endif
      CHECK(expected.back() == (step == Step::Widen ? expected.back() : 0xa5));
    }
  }
}

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
