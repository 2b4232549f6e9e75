// SPDX-License-Identifier: MIT
#include "tenon/kernels/dispatch.h"

#include "kernels/helpers.h"

namespace dispatch_test {

using namespace tenon::detail;

namespace {

struct Recorder {
  static void run(Baseline, Isa* level, int* sum, int a, int b) noexcept {
    *level = Isa::Baseline;
    *sum = a + b;
  }
#if TENON_HAS_AVX2
  TENON_TARGET_AVX2 static void run(Avx2, Isa* level, int* sum, int a, int b) noexcept {
    *level = Isa::Avx2;
    *sum = a + b;
  }
#endif
};

/// A kernel with a variant for every set.
struct WideRecorder : Recorder {
  using Recorder::run;
#if TENON_HAS_AVX2
  TENON_TARGET_AVX512 static void run(Avx512, Isa* level, int* sum, int a, int b) noexcept {
    *level = Isa::Avx512;
    *sum = a + b;
  }
#endif
};

template <class Kernel, bool kVariants = true>
Isa level_of() {
  Isa level = static_cast<Isa>(99);
  int sum = 0;
  dispatch<Kernel, kVariants>(&level, &sum, 3, 4);
  CHECK(sum == 7);
  return level;
}

}  // namespace

TEST_CASE("dispatch: what the processor has and the environment allows is used from the start") {
  CHECK(isa() == choose_isa());
#if TENON_HAS_AVX2
  CHECK((detect_isa() >= Isa::Avx2) == (__builtin_cpu_supports("avx2") != 0));
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  CHECK((detect_isa() == Isa::Avx512) == has_avx512);
  if (detect_isa() < Isa::Avx2) WARN("this processor has no AVX2: its kernels are skipped");
  if (detect_isa() < Isa::Avx512) WARN("this processor has no AVX-512: its kernels are skipped");
#else
  CHECK(choose_isa() == Isa::Baseline);
#endif
}

TEST_CASE("dispatch: a kernel is run for the set in use, or for the last before it that it has") {
  tests::for_each_isa([] {
    CHECK(level_of<WideRecorder>() == isa());
    CHECK(level_of<Recorder>() == (isa() == Isa::Avx512 ? Isa::Avx2 : isa()));
    CHECK(level_of<WideRecorder, false>() == Isa::Baseline);
  });
  CHECK(isa() == choose_isa());
}

}  // namespace dispatch_test
