// SPDX-License-Identifier: MIT
// The choice of an instruction set.
//
// A kernel is a struct with a static run(Baseline, arguments…) and, where TENON_HAS_AVX2, a static
// TENON_TARGET_AVX2 run(Avx2, arguments…) and perhaps a TENON_TARGET_AVX512 run(Avx512, …). All
// give the same bits. What they share is always inlined into them, since a function that is called,
// or a lambda, is compiled for the baseline. Copies and casts have no AVX-512 variant: they are
// bound by memory, which AVX2 saturates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Instruction sets, each including those before it.
enum class Isa : uint8_t {
  Baseline,  ///< what the compiler was told to use: SSE2 on x86-64, NEON on AArch64
  Avx2,      ///< with F16C
  Avx512,    ///< the foundation (F) alone
};

/// The width of a vector and what else a kernel asks for.
struct Baseline {
  static constexpr size_t vector_bytes = TENON_PORTABLE ? 8 : 16;
};
struct Avx2 {
  static constexpr size_t vector_bytes = 32;
};
struct Avx512 : Avx2 {  // a kernel without a variant for it takes it as Avx2
  static constexpr size_t vector_bytes = 64;
};

#if TENON_HAS_AVX2
/// What CPUID says in EAX to EDX. <cpuid.h> has macros of plain names, and __builtin_cpu_supports
/// links 4.5 KB.
struct CpuId {
  uint32_t a, b, c, d;
};
inline CpuId cpuid(uint32_t leaf) noexcept {
  CpuId id{};
  asm volatile("cpuid" : "=a"(id.a), "=b"(id.b), "=c"(id.c), "=d"(id.d) : "a"(leaf), "c"(0));
  return id;
}
#endif

/// The best set that this processor and this system have.
TENON_COLD inline Isa detect_isa() noexcept {
#if TENON_HAS_AVX2
  constexpr uint32_t kXgetbvAvxF16c = 1u << 27 | 1u << 28 | 1u << 29;
  if (cpuid(0).a < 7 || (cpuid(1).c & kXgetbvAvxF16c) != kXgetbvAvxF16c) return Isa::Baseline;
  uint32_t saved;  // the registers that the system keeps when it switches threads
  asm volatile("xgetbv" : "=a"(saved) : "c"(0) : "edx");
  const uint32_t sets = cpuid(7).b;
  if ((saved & 0xe6u) == 0xe6u && (sets & 1u << 16) != 0) return Isa::Avx512;
  if ((saved & 6u) == 6u && (sets & 1u << 5) != 0) return Isa::Avx2;
#endif
  return Isa::Baseline;
}

/// The best set that there is and TENON_ISA in the environment allows: "baseline", "avx2" or
/// "avx512"; any other value allows all.
TENON_COLD inline Isa choose_isa() noexcept {
  const Isa best = detect_isa();
#if TENON_HAS_AVX2
  const char* const limit = std::getenv("TENON_ISA");
  if (limit == nullptr) return best;
  if (std::strcmp(limit, "baseline") == 0) return Isa::Baseline;
  if (std::strcmp(limit, "avx2") == 0 && best > Isa::Avx2) return Isa::Avx2;
#endif
  return best;
}

/// The set in use. Tests lower it, before they start threads.
inline Isa& isa() noexcept {
  static Isa level = choose_isa();
  return level;
}

/// AVX code may return with the upper halves of vector registers in use. Until they are
/// zeroed, SSE code such as exp() is many times slower on some processors.
TENON_ALWAYS_INLINE void clear_upper_halves() noexcept {
#if TENON_PORTABLE
#elif defined(__x86_64__)
  asm volatile("vzeroupper" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__AVX__)
  asm volatile("vzeroupper" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#endif
}

/// The same after a loop for the baseline that is called directly: with -march=native that is AVX.
TENON_ALWAYS_INLINE void clear_after_baseline() noexcept {
#if defined(__AVX__) && !TENON_PORTABLE
  clear_upper_halves();
#endif
}

/// The same after functions for the set in use.
inline void clear_after_variants() noexcept {
  isa() >= Isa::Avx2 ? clear_upper_halves() : clear_after_baseline();
}

/// Runs a kernel for the set in use; without variants, for the baseline.
template <class Kernel, bool kVariants = true, class... Args>
void dispatch(Args... args) noexcept {
#if TENON_HAS_AVX2
  if constexpr (kVariants) {
    if (isa() >= Isa::Avx2) {
      isa() == Isa::Avx512 ? Kernel::run(Avx512(), args...) : Kernel::run(Avx2(), args...);
      return clear_upper_halves();
    }
  }
#endif
  Kernel::run(Baseline(), args...);
  clear_after_baseline();
}

}  // namespace detail
TENON_END_NAMESPACE
