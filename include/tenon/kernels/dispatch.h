// SPDX-License-Identifier: MIT
// How loops use a processor: short vectors, the choice of an instruction set, and threads.
//
// Short vectors are the compilers' vector extensions under a few names. They are passed by
// reference, never by value: the ABI of a 32-byte vector depends on the instruction set, about
// which GCC warns.
//
// A kernel is a struct with a static run(Baseline, arguments…) and, where TENON_HAS_AVX2, a static
// TENON_TARGET_AVX2 run(Avx2, arguments…) and perhaps a TENON_TARGET_AVX512 run(Avx512, …). All
// give the same bits. Functions that they share are always-inline, since a called function or a
// lambda would be compiled for the baseline. Copies have no AVX-512 variant: memory bounds them,
// and AVX2 saturates it.
//
// With OpenMP (-fopenmp) large work is shared among threads; OpenMP says how many. The bytes
// written depend neither on the number of threads nor on how the work is divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tenon/config.h"

// Unrolls the next loop by four. nvcc warns about this pragma.
#if defined(__CUDACC__) || TENON_PORTABLE
#define TENON_UNROLL
#else
#define TENON_UNROLL _Pragma("GCC unroll 4")
#endif

#if TENON_HAS_OPENMP
#include <omp.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

#if TENON_PORTABLE
/// Without vector extensions a Vector is one lane.
template <class E, size_t kBytes>
using Vector = std::enable_if_t<sizeof(E) == kBytes, E>;
#else
template <class E, size_t kBytes>
struct VectorType {
  typedef E type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
};
/// kBytes / sizeof(E) lanes of E.
template <class E, size_t kBytes>
using Vector = typename VectorType<E, kBytes>::type;
#endif

template <class V>
TENON_ALWAYS_INLINE void load(V& v, const void* from) noexcept {
  std::memcpy(&v, from, sizeof v);
}
template <class V>
TENON_ALWAYS_INLINE void store(void* to, const V& v) noexcept {
  std::memcpy(to, &v, sizeof v);
}

#if !TENON_PORTABLE
/// out[i] = concatenation of a and b at kIndex[i].
template <class V, size_t... kIndex>
TENON_ALWAYS_INLINE void shuffle(V& out, const V& a, const V& b,
                                 std::index_sequence<kIndex...>) noexcept {
#if TENON_HAS_SHUFFLEVECTOR
  out = __builtin_shufflevector(a, b, static_cast<int>(kIndex)...);
#elif defined(__clang__)  // also as nvcc's host compiler
  constexpr size_t n = sizeof...(kIndex);
  V result;
  size_t i = 0;
  ((result[i++] = kIndex < n ? a[kIndex % n] : b[kIndex % n]), ...);
  out = result;
#else
  using Index = decltype(a < b);  // signed integers of lane size
  out = __builtin_shuffle(a, b, Index{static_cast<std::decay_t<decltype(Index{}[0])>>(kIndex)...});
#endif
}

/// Indices for shuffle() that interleave, in every 16 bytes, the lanes of the low or the high
/// halves of a and b.
template <bool kHigh, size_t kBlock, size_t... kLane>
constexpr auto zip_indices(std::index_sequence<kLane...>) noexcept {
  constexpr size_t first = kHigh ? kBlock / 2 : 0;
  return std::index_sequence<kLane / kBlock * kBlock + first + kLane % kBlock / 2 +
                             kLane % 2 * sizeof...(kLane)...>();
}
template <bool kHigh, class E, size_t kLanes>
inline constexpr auto kZip = zip_indices<kHigh, 16 / sizeof(E)>(std::make_index_sequence<kLanes>());

#if TENON_HAS_WIDE_PRODUCTS
/// The products of the low halves of 64-bit lanes.
template <class V>
TENON_INLINE_IN_TARGET void multiply_low(V& out, const V& a, const V& b) noexcept {
#if defined(__clang__)
  out = (a & 0xffffffffu) * (b & 0xffffffffu);
#else
  if constexpr (sizeof(V) == 16) {
    using Ints = Vector<int, sizeof(V)>;
    out = __builtin_bit_cast(
        V, __builtin_ia32_pmuludq128(reinterpret_cast<Ints>(a), reinterpret_cast<Ints>(b)));
  } else {
    // Not by a builtin: GCC would warn about the builtin's wide vector result, as if it were passed
    // by value, and a precompiled header loses a pragma against the warning.
    asm("vpmuludq {%2, %1, %0|%0, %1, %2}" : "=v"(out) : "%v"(a), "vm"(b));
  }
#endif
}
#endif

/// Stores that bypass the caches: for memory larger than the caches, reading each line before
/// writing it wastes a third of the bandwidth. end_streaming() orders them before later stores.
template <class E>
TENON_ALWAYS_INLINE void stream(void* aligned, const Vector<E, 16>& v) noexcept {
#if defined(__clang__)
  __builtin_nontemporal_store(v, static_cast<Vector<E, 16>*>(aligned));
#elif defined(__SSE2__)
  __builtin_ia32_movntps(static_cast<float*>(aligned), __builtin_bit_cast(Vector<float, 16>, v));
#else
  store(aligned, v);
#endif
}
inline void end_streaming() noexcept {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}
#endif  // !TENON_PORTABLE

/// Instruction sets; each includes the previous ones.
enum class Isa : uint8_t {
  Baseline,  ///< what the compiler was told to use: SSE2 on x86-64, NEON on AArch64
  Avx2,      ///< with F16C
  Avx512,    ///< F, BW, DQ and VL: all processors with AVX-512 but Xeon Phi
};

/// The vector width and other properties for kernels.
struct Baseline {
  static constexpr size_t vector_bytes = TENON_PORTABLE ? 8 : 16;
};
struct Avx2 {
  static constexpr size_t vector_bytes = 32;
};
struct Avx512 : Avx2 {  // a kernel without an Avx512 variant runs its Avx2 variant
  static constexpr size_t vector_bytes = 64;
};

#if TENON_HAS_AVX2
/// CPUID's EAX to EDX. <cpuid.h> defines macros without a prefix, and __builtin_cpu_supports links
/// 4.5 KB.
struct CpuId {
  uint32_t a, b, c, d;
};
inline CpuId cpuid(uint32_t leaf) noexcept {
  CpuId id{};
  asm volatile("cpuid" : "=a"(id.a), "=b"(id.b), "=c"(id.c), "=d"(id.d) : "a"(leaf), "c"(0));
  return id;
}
#endif

/// The best set that the processor and the system support.
TENON_COLD inline Isa detect_isa() noexcept {
#if TENON_HAS_AVX2
  constexpr uint32_t kXgetbvAvxF16c = 1u << 27 | 1u << 28 | 1u << 29;
  if (cpuid(0).a < 7 || (cpuid(1).c & kXgetbvAvxF16c) != kXgetbvAvxF16c) return Isa::Baseline;
  uint32_t saved;  // the registers that context switches save
  asm volatile("xgetbv" : "=a"(saved) : "c"(0) : "edx");
  const uint32_t sets = cpuid(7).b;
  constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  if ((saved & 0xe6u) == 0xe6u && (sets & kAvx512) == kAvx512) return Isa::Avx512;
  if ((saved & 6u) == 6u && (sets & 1u << 5) != 0) return Isa::Avx2;
#endif
  return Isa::Baseline;
}

/// The best supported set, limited by the environment's TENON_ISA: "baseline", "avx2" or "avx512";
/// any other value is no limit.
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

/// The set in use. Tests may lower it before they start threads.
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

/// Call this after a baseline loop that was called directly: with -march=native, it uses AVX.
TENON_ALWAYS_INLINE void clear_after_baseline() noexcept {
#if defined(__AVX__) && !TENON_PORTABLE
  clear_upper_halves();
#endif
}

/// Call this after functions for the instruction set in use.
inline void clear_after_variants() noexcept {
  isa() >= Isa::Avx2 ? clear_upper_halves() : clear_after_baseline();
}

/// Whether kernels have variants that only save time: not where code is to be small.
inline constexpr bool kHasVariants = TENON_HAS_VARIANTS != 0;

/// Base of a kernel: compiles its body<Level>() for each instruction set; AVX-512 only if `kWide`.
template <class Kernel, bool kWide = false>
struct ForEachIsa {
  template <class... Args>
  TENON_VECTORIZE_EXACT static void run(Baseline, Args... args) noexcept {
    Kernel::template body<Baseline>(args...);
  }
#if TENON_HAS_AVX2
  template <class... Args>
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, Args... args) noexcept {
    Kernel::template body<Avx2>(args...);
  }
  template <class... Args, bool kWith = kWide, std::enable_if_t<kWith, int> = 0>
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX512 static void run(Avx512, Args... args) noexcept {
    Kernel::template body<Avx512>(args...);
  }
#endif
};

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

/// Work on fewer bytes stays in the calling thread: waking other threads would take as long.
inline constexpr size_t kParallelBytes = size_t{1} << 20;

/// Whether parallel_for() splits work of `nbytes`.
///
/// The template parameter gives the functions of files with and without OpenMP different names. The
/// linker may still merge the functions that call them, since both write the same bytes.
template <bool kThreads = TENON_HAS_OPENMP != 0>
constexpr bool is_parallel(size_t nbytes) noexcept {
  return kThreads && nbytes >= kParallelBytes;
}

/// Calls `body(begin, end)` for all of [0, count) in the calling thread or, if is_parallel(nbytes),
/// for one piece in each thread. Pieces begin at multiples of `grain`, and are at least `grain`
/// long unless `count` is less.
///
/// Inside a parallel region of the caller, OpenMP by default uses one thread.
template <bool kThreads = TENON_HAS_OPENMP != 0, class Body>
void parallel_for(int64_t count, int64_t grain, size_t nbytes, const Body& body) noexcept {
#if TENON_HAS_OPENMP
  if (is_parallel<kThreads>(nbytes)) {
    const int64_t grains = count < grain ? 1 : count / grain;
#pragma omp parallel
    {
      const int64_t threads = omp_get_num_threads();
      const int64_t share = (grains + threads - 1) / threads;
      const int64_t first = share * omp_get_thread_num();
      const int64_t last = first + share;
      if (first < grains) body(first * grain, last < grains ? last * grain : count);
    }
    return;
  }
#else
  static_cast<void>(grain);
  static_cast<void>(nbytes);
#endif
  body(int64_t{0}, count);
}

}  // namespace detail
TENON_END_NAMESPACE
