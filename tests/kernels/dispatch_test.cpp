// SPDX-License-Identifier: MIT
#include "tenon/kernels/dispatch.h"

#include "kernels/helpers.h"

using tenon::detail::Avx2;
using tenon::detail::Avx512;
using tenon::detail::Baseline;
using tenon::detail::choose_isa;
using tenon::detail::detect_isa;
using tenon::detail::dispatch;
using tenon::detail::Isa;
using tenon::detail::isa;

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

}  // namespace

TEST_CASE("dispatch: what the processor has and the environment allows is used from the start") {
  CHECK(isa() == choose_isa());
#if TENON_HAS_AVX2
  CHECK((detect_isa() >= Isa::Avx2) == (__builtin_cpu_supports("avx2") != 0));
  CHECK((detect_isa() == Isa::Avx512) == (__builtin_cpu_supports("avx512f") != 0));
  if (detect_isa() < Isa::Avx2) WARN("this processor has no AVX2: its kernels are skipped");
  if (detect_isa() < Isa::Avx512) WARN("this processor has no AVX-512: its kernels are skipped");
#else
  CHECK(choose_isa() == Isa::Baseline);
#endif
}

TEST_CASE("dispatch: a kernel is run for the instruction set in use, with its arguments") {
  tests::for_each_isa([] {
    Isa level = static_cast<Isa>(99);
    int sum = 0;
    dispatch<WideRecorder>(&level, &sum, 3, 4);
    CHECK(level == isa());
    CHECK(sum == 7);
  });
  CHECK(isa() == choose_isa());
}

TEST_CASE("dispatch: a kernel without a variant for a set is run for the one before") {
  tests::for_each_isa([] {
    Isa level = static_cast<Isa>(99);
    int sum = 0;
    dispatch<Recorder>(&level, &sum, 3, 4);
    CHECK(level == (isa() == Isa::Avx512 ? Isa::Avx2 : isa()));
    CHECK(sum == 7);
  });
}

TEST_CASE("dispatch: a set includes those before it, and its vectors are no shorter") {
  CHECK(Isa::Baseline < Isa::Avx2);
  CHECK(Isa::Avx2 < Isa::Avx512);
  CHECK(size_t{Baseline::vector_bytes} == 16);
  CHECK(size_t{Avx2::vector_bytes} == 32);
  CHECK(size_t{Avx512::vector_bytes} == 64);
}
