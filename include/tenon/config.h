// SPDX-License-Identifier: MIT
// Version, ABI namespace, and the feature macros that several files use.
#pragma once

#if defined(TENON_IS_SINGLE_HEADER)
#error "tenon.hpp is included too: make it with this header (--with), or use the folder alone"
#include <the folder include/tenon beside tenon.hpp>  // no such file: ends the compilation
#endif

#include <cstddef>  // defines __GLIBCXX__ and _LIBCPP_VERSION, for the thread check below
#include <cstdint>  // defines __GLIBC__, if that is the C library

/// TENON_PORTABLE=1: the headers use only standard C++17 and #pragma once. Kernels are then plain
/// loops; for other differences see docs/platforms.md. The default for compilers other than GCC and
/// Clang.
#if !defined(TENON_PORTABLE)
#if defined(__GNUC__) || defined(__clang__)  // Clang defines both, except in MSVC mode
#define TENON_PORTABLE 0
#else
#define TENON_PORTABLE 1
#endif
#endif

#if TENON_PORTABLE != 0 && TENON_PORTABLE != 1
#error "tenon: TENON_PORTABLE is 0 or 1"
#endif

#if defined(_MSVC_LANG)  // MSVC's __cplusplus is C++98's unless /Zc:__cplusplus is given
#define TENON_CPLUSPLUS _MSVC_LANG
#else
#define TENON_CPLUSPLUS __cplusplus
#endif
#if TENON_CPLUSPLUS < 201703L
#error "tenon: needs C++17 or later, such as -std=c++17"
#include <tenon needs C++17>  // no such file: ends the compilation
#endif

#if defined(Bool) || defined(None)
#error "tenon: <X11/Xlib.h> defines Bool and None: include tenon before it, or #undef them"
#include <tenon before X11/Xlib.h, or undef Bool and None>  // no such file: ends the compilation
#endif

/// TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH: the version. It is set only here:
/// CMake, pkg-config and the docs read these lines.
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define TENON_HAS_EXCEPTIONS 1
#else
#define TENON_HAS_EXCEPTIONS 0
#endif

/// USE_ATEN_LIB, TENON_ATEN_MODE: defining the first makes tensors libtorch's (docs/aten.md). The
/// second is then 1, else 0.
#if defined(USE_ATEN_LIB)
#define TENON_ATEN_MODE 1
#define TENON_DETAIL_MODE _aten
#else
#define TENON_ATEN_MODE 0
#define TENON_DETAIL_MODE _plain
#endif
#if TENON_ATEN_MODE && !TENON_HAS_EXCEPTIONS
#error "tenon: USE_ATEN_LIB needs exceptions, which libtorch throws"
#endif

/// TENON_ERROR_TEXT=0: leaves error texts out of small programs. Error values stay, and
/// last_error_message() is the error's name.
#if !defined(TENON_ERROR_TEXT)
#define TENON_ERROR_TEXT 1
#endif

/// TENON_CHECKED: checks each index of an accessor, and the library's own state, in release builds
/// too. Without NDEBUG both are checked anyway.
#if defined(TENON_CHECKED) || !defined(NDEBUG)
#define TENON_IS_CHECKED 1
#else
#define TENON_IS_CHECKED 0
#endif

// Says that the result refers to a parameter or, after a member function's qualifiers, to the
// object. Clang warns if that is a temporary which the result outlives. GCC lacks the attribute.
#if TENON_PORTABLE
#define TENON_LIFETIMEBOUND
#elif __has_cpp_attribute(clang::lifetimebound)
#define TENON_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define TENON_LIFETIMEBOUND
#endif

#if TENON_PORTABLE
#define TENON_COLD
#define TENON_NOINLINE
#define TENON_ALWAYS_INLINE inline
#define TENON_UNLIKELY(condition) (!!(condition))
#define TENON_RESTRICT
#else
#define TENON_COLD __attribute__((noinline, cold))
#define TENON_NOINLINE __attribute__((noinline))
#define TENON_ALWAYS_INLINE inline __attribute__((always_inline))
#define TENON_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define TENON_RESTRICT __restrict
#endif
// The same as TENON_ALWAYS_INLINE, for functions that use instructions of their caller's target.
// gnu_inline: GCC emits no out-of-line copy, which it could not compile for the baseline
// (-finstrument-functions, -fkeep-inline-functions).
#if defined(__clang__) || TENON_PORTABLE
#define TENON_INLINE_IN_TARGET TENON_ALWAYS_INLINE
#else
#define TENON_INLINE_IN_TARGET inline __attribute__((always_inline, gnu_inline))
#endif

// Kernels use the vector extensions that GCC and Clang share. On x86-64 AVX2 and AVX-512
// variants are compiled too and chosen at run time.
#if TENON_PORTABLE
#define TENON_HAS_SHUFFLEVECTOR 0
#elif __has_builtin(__builtin_shufflevector) && !defined(__NVCC__)
#define TENON_HAS_SHUFFLEVECTOR 1
#else
#define TENON_HAS_SHUFFLEVECTOR 0  // GCC 11 lacks __builtin_shufflevector; nvcc misprints it
#endif
// 64-bit products of 32-bit lanes: Clang recognises them, GCC has a builtin for x86. The byte order
// decides which half of a 64-bit lane is the first word.
#if !TENON_PORTABLE && (defined(__SSE2__) || defined(__clang__)) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TENON_HAS_WIDE_PRODUCTS 1
#else
#define TENON_HAS_WIDE_PRODUCTS 0
#endif
#if defined(__x86_64__) && !TENON_PORTABLE
#define TENON_HAS_AVX2 1
#define TENON_TARGET_AVX2 __attribute__((target("avx2,f16c")))
#define TENON_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define TENON_HAS_AVX2 0
#endif

// At -Os kernels have no AVX2 variants that only save time.
#if TENON_HAS_AVX2 && !defined(__OPTIMIZE_SIZE__)
#define TENON_HAS_VARIANTS 1
#else
#define TENON_HAS_VARIANTS 0
#endif

// TENON_VECTORIZE: vectorises a function's loops at -O2, as Clang does, but not at -Os.
// TENON_VECTORIZE_EXACT: also never fuses a * b + c, even with -ffast-math, so that results are the
// same everywhere; for Clang, TENON_NO_CONTRACTION in the function does that. GCC inlines only
// always-inline functions into these. TENON_CALLS_ALIKE: for a function that calls others through a
// function type whose parameter types differ but have the same layout, as C code does.
#if TENON_PORTABLE
#define TENON_VECTORIZE
#define TENON_VECTORIZE_EXACT
#if defined(__clang__)
#define TENON_NO_CONTRACTION _Pragma("STDC FP_CONTRACT OFF")  // standard C's pragma
#else
#define TENON_NO_CONTRACTION
#endif
#define TENON_CALLS_ALIKE
#elif defined(__clang__)
#define TENON_VECTORIZE
#define TENON_VECTORIZE_EXACT
#if defined(__NVCC__) && defined(__CUDA_ARCH__)  // nvcc warns of these pragmas
#define TENON_NO_CONTRACTION
#else
// Clang 14 has float_control for x86 and few others; without it -ffast-math may change results.
#define TENON_NO_CONTRACTION                                                                 \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wignored-pragmas\"") \
      _Pragma("float_control(precise, on)") _Pragma("clang diagnostic pop")                  \
          _Pragma("clang fp contract(off) reassociate(off)")
#endif
#define TENON_CALLS_ALIKE __attribute__((no_sanitize("function")))
#else
#define TENON_EXACT_MATH \
  "fp-contract=off", "no-reciprocal-math", "no-associative-math", "no-unsafe-math-optimizations"
#if defined(__OPTIMIZE_SIZE__)
#define TENON_VECTORIZE
#define TENON_VECTORIZE_EXACT __attribute__((optimize(TENON_EXACT_MATH)))
#else
#define TENON_VECTORIZE __attribute__((optimize("O3")))
#define TENON_VECTORIZE_EXACT __attribute__((optimize("O3", "no-math-errno", TENON_EXACT_MATH)))
#endif
#define TENON_NO_CONTRACTION
#define TENON_CALLS_ALIKE
#endif
// For loops whose count is known to be a multiple of a vector's size: GCC 12 vectorises them at
// -O2, with less code.
#if !TENON_PORTABLE && __GNUC__ < 12
#define TENON_VECTORIZE_WHOLE TENON_VECTORIZE
#else
#define TENON_VECTORIZE_WHOLE
#endif

// _Float16. GCC before 13 on ARM has it only in C, but defines the same macros.
#if !TENON_PORTABLE && defined(__FLT16_MANT_DIG__) && \
    (defined(__clang__) || defined(__x86_64__) || defined(__i386__) || __GNUC__ >= 13)
#define TENON_HAS_FLOAT16 1
#else
#define TENON_HAS_FLOAT16 0
#endif

// For functions of one element that the host's and CUDA's kernels share.
#if defined(__CUDACC__) || defined(__CUDA__)
#define TENON_HOST_DEVICE __host__ __device__
#else
#define TENON_HOST_DEVICE
#endif

/// TENON_MARKS_FREE_MEMORY=0: set it in all files of a program if only some of them are compiled
/// with AddressSanitizer. By default, files that are compiled with it mark free memory, so that
/// each use of free memory is reported: docs/debugging.md.
#if !defined(TENON_MARKS_FREE_MEMORY)
#if TENON_PORTABLE
#define TENON_MARKS_FREE_MEMORY 0
#elif defined(__SANITIZE_ADDRESS__)
#define TENON_MARKS_FREE_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_MARKS_FREE_MEMORY 1
#endif
#endif
#if !defined(TENON_MARKS_FREE_MEMORY)
#define TENON_MARKS_FREE_MEMORY 0
#endif
#endif
// TENON_USES_FREE_MEMORY: for a function that may read and write marked memory.
#if TENON_MARKS_FREE_MEMORY
#define TENON_USES_FREE_MEMORY __attribute__((no_sanitize("address")))
#define TENON_DETAIL_MARKS _asan
#else
#define TENON_USES_FREE_MEMORY
#define TENON_DETAIL_MARKS
#endif

// Ends the declaration of an overload that only a mistake selects, so that it cannot be called.
// Clang prints the advice. GCC prints the declaration: its template parameters say what is wrong.
#if defined(__clang__) && !TENON_PORTABLE
#define TENON_MISTAKE(advice) __attribute__((unavailable(advice)))
#else
#define TENON_MISTAKE(advice) = delete
#endif

// For functions that few including files call: as templates they are compiled only where used.
// Otherwise code for all element types would dominate the include's compile time.
// Not for a [[nodiscard]] function: the attribute stands between `template <class = void>` and
// `inline`, so write these out.
#define TENON_TEMPLATE_INLINE \
  template <class = void>     \
  inline

// For large functions. Not inline: tenon::compiled contains them, see compiled.h.
#define TENON_COMPILED_ONCE template <class = void>

// Identity across shared libraries. A library with hidden symbols has a copy of every function,
// constant and static variable here. Therefore:
// - Objects that must be unique are static variables of TENON_EXPORT functions: the registry, the
//   host's backend, the default backend and generator, error texts, the failure handler. (A library
//   opened by dlopen() has its own unless the program exports its symbols. With Clang, one opened
//   with RTLD_LOCAL always has its own, see docs/threads.md.)
// - Types are compared by value or name, never by the address of a constant or a function.
// - Everything else may exist several times: the static variables that
//   tests/tools/structure/check_headers.py lists.
#if TENON_PORTABLE
#define TENON_EXPORT
#else
#define TENON_EXPORT __attribute__((visibility("default")))
#endif

// The switches below may be set on the command line, such as -DTENON_HEAP=0. They are part of the
// inline namespace, at the end of this file: calls with tenon's types between files with different
// values do not link.

/// TENON_BARE_METAL=1: a failure ends in a trap after the failure handler, and nothing is printed:
/// newlib's abort() and stdio would take 3 KB, and call malloc. The default where the compiler
/// knows of no operating system.
#if !defined(TENON_BARE_METAL)
#if defined(__unix__) || defined(__APPLE__) || defined(_WIN32) || defined(__wasm__)
#define TENON_BARE_METAL 0
#else
#define TENON_BARE_METAL 1
#endif
#endif

/// TENON_HAS_THREADS=0: the default where the standard library was built without threads, as
/// newlib's libstdc++ for bare metal is. Reference counts are plain integers, locks do nothing,
/// <atomic> is not included, and per-thread state such as the last error exists once: thread_local
/// would call malloc, and atomic read-modify-write operations may not link. Interrupt handlers must
/// then not use tensors that other code uses.
///
/// TENON_HAS_THREADS=1 makes tenon's own state per thread; two tasks still must not copy or drop
/// handles at once: in a standard library without threads, std::shared_ptr's counts are not atomic.
#if !defined(TENON_HAS_THREADS)
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
#define TENON_HAS_THREADS 0
#elif defined(_LIBCPP_HAS_NO_THREADS) || (defined(_LIBCPP_HAS_THREADS) && !_LIBCPP_HAS_THREADS)
#define TENON_HAS_THREADS 0
#else
#define TENON_HAS_THREADS 1
#endif
#endif
#if TENON_HAS_THREADS
#define TENON_THREAD_LOCAL thread_local
#define TENON_DETAIL_THREADS
#else
#define TENON_THREAD_LOCAL
#define TENON_DETAIL_THREADS _nothreads
#endif

/// TENON_HEAP=0: the library calls no malloc. Tensors are then made in an arena, or another backend
/// that keeps metadata. Everything else that needs the heap fails with OutOfMemory, "no heap:
/// TENON_HEAP is 0": other tensors and handles, their exports, lists of more dimensions than
/// TENON_INLINE_DIMS, deleters larger than four pointers (which run at once), copies through a
/// temporary, and functions that return lists of tensors, such as split().
///
/// Functions that return a std::string or a std::vector, such as to_string(), and BackendOptions,
/// still take memory from operator new. libstdc++'s shared_ptr and virtual destructors refer to
/// operator delete, but do not call it: define one in the program and free() is not linked either.
#if !defined(TENON_HEAP)
#define TENON_HEAP 1
#endif

/// TENON_INLINE_DIMS: how many dimensions Dims holds without a heap block. 6; on bare metal 4.
/// Write plain digits, such as 8.
#if !defined(TENON_INLINE_DIMS)
#if TENON_BARE_METAL
#define TENON_INLINE_DIMS 4
#else
#define TENON_INLINE_DIMS 6
#endif
#endif

/// TENON_DATA_ALIGNMENT: the alignment of data that a tensor owns, in bytes. 64: a cache line, and
/// an AVX-512 register. On bare metal 16: the widest vector register, and what TensorFlow Lite
/// Micro uses. A larger value only costs RAM, but DMA buffers on a core with a data cache need it:
/// 32 on a Cortex-M7. Write plain digits.
#if !defined(TENON_DATA_ALIGNMENT)
#if TENON_BARE_METAL
#define TENON_DATA_ALIGNMENT 16
#else
#define TENON_DATA_ALIGNMENT 64
#endif
#endif

// glibc 2.32 and later say whether a process has only one thread. Test the version, not
// __has_include: a multi-version sysroot ships the header for old glibcs too.
#if TENON_HAS_THREADS && defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
#define TENON_HAS_SINGLE_THREADED 1
#endif
#endif
#if !defined(TENON_HAS_SINGLE_THREADED)
#define TENON_HAS_SINGLE_THREADED 0
#endif

// With OpenMP, several threads share large fills and copies.
#if defined(_OPENMP)
#define TENON_HAS_OPENMP 1
#else
#define TENON_HAS_OPENMP 0
#endif

// The inline namespace makes mixing incompatible files a link error. It encodes the ABI epoch (the
// major version, before 1.0 also the minor one, and a count), the mode, and switches that change a
// type or an inline function; default values are left out. See docs/building.md and versions.md.
// Types that are the same with and without exceptions are in TENON_VALUE_NAMESPACE, which must not
// have a namespace `detail`: it would be ambiguous in tenon.
#define TENON_DETAIL_PASTE(a, b) a##b
#define TENON_DETAIL_NUMBERED(name, number) TENON_DETAIL_PASTE(name, number)
#if TENON_VERSION_MAJOR == 0
#define TENON_DETAIL_VERSION TENON_DETAIL_NUMBERED(v0_, TENON_VERSION_MINOR)
#else
#define TENON_DETAIL_VERSION TENON_DETAIL_NUMBERED(v, TENON_VERSION_MAJOR)
#endif
// Increment it when the test `layouts` says so, or an inline function that others call changes.
#define TENON_DETAIL_EPOCH TENON_DETAIL_NUMBERED(TENON_DETAIL_VERSION, _abi3)
#if TENON_ERROR_TEXT
#define TENON_DETAIL_TEXT
#else
#define TENON_DETAIL_TEXT _notext
#endif
#if TENON_HEAP
#define TENON_DETAIL_HEAP
#else
#define TENON_DETAIL_HEAP _noheap
#endif
#if TENON_BARE_METAL
#define TENON_DETAIL_BARE _bare
#else
#define TENON_DETAIL_BARE
#endif
#if TENON_INLINE_DIMS == (TENON_BARE_METAL ? 4 : 6)
#define TENON_DETAIL_DIMS
#else
#define TENON_DETAIL_DIMS TENON_DETAIL_NUMBERED(_dims, TENON_INLINE_DIMS)
#endif
#if TENON_DATA_ALIGNMENT == (TENON_BARE_METAL ? 16 : 64)
#define TENON_DETAIL_ALIGN
#else
#define TENON_DETAIL_ALIGN TENON_DETAIL_NUMBERED(_align, TENON_DATA_ALIGNMENT)
#endif
#define TENON_DETAIL_JOIN_(a, b, c, d, e, f, g, h, i, j) a##b##c##d##e##f##g##h##i##j
#define TENON_DETAIL_JOIN(a, b, c, d, e, f, g, h, i, j) \
  TENON_DETAIL_JOIN_(a, b, c, d, e, f, g, h, i, j)
#define TENON_DETAIL_BASE                                                                        \
  TENON_DETAIL_JOIN(TENON_DETAIL_EPOCH, TENON_DETAIL_MODE, TENON_DETAIL_TEXT, TENON_DETAIL_HEAP, \
                    TENON_DETAIL_THREADS, TENON_DETAIL_BARE, TENON_DETAIL_PORTABLE,              \
                    TENON_DETAIL_DIMS, TENON_DETAIL_ALIGN, TENON_DETAIL_MARKS)
#if TENON_HAS_EXCEPTIONS
#define TENON_ABI_NAMESPACE TENON_DETAIL_BASE
#else
#define TENON_ABI_NAMESPACE TENON_DETAIL_NUMBERED(TENON_DETAIL_BASE, _noexcept)
#endif
#if TENON_PORTABLE  // without the attribute below
#define TENON_DETAIL_PORTABLE _portable
#define TENON_VALUE_NAMESPACE TENON_ABI_NAMESPACE
#else
#define TENON_DETAIL_PORTABLE
#define TENON_VALUE_NAMESPACE TENON_DETAIL_BASE
#endif
#define TENON_BEGIN_NAMESPACE \
  namespace tenon {           \
  inline namespace TENON_ABI_NAMESPACE {
#define TENON_END_NAMESPACE \
  }                         \
  }
#define TENON_BEGIN_VALUES \
  namespace tenon {        \
  inline namespace TENON_VALUE_NAMESPACE {
// A mangled name contains the types of a function's parameters, but not its return type, nor a
// variable's type. The tag adds the namespace to such names. TENON_DETAIL_RAISES marks members of
// value types that may raise: without exceptions they have another name.
#if TENON_PORTABLE
#define TENON_DETAIL_RAISES
#else
#define TENON_DETAIL_TAG_(name) __attribute__((abi_tag(#name)))
#define TENON_DETAIL_TAG(name) TENON_DETAIL_TAG_(name)
namespace tenon {
inline namespace TENON_VALUE_NAMESPACE TENON_DETAIL_TAG(TENON_VALUE_NAMESPACE) {}
#if TENON_HAS_EXCEPTIONS
#define TENON_DETAIL_RAISES
#else
inline namespace TENON_ABI_NAMESPACE TENON_DETAIL_TAG(TENON_ABI_NAMESPACE) {}
#define TENON_DETAIL_RAISES TENON_DETAIL_TAG(noexcept)
#endif
}  // namespace tenon
#endif
// For core/error.h and fwd.h: GCC warns if a second declaration has the attribute.
TENON_BEGIN_VALUES
enum class [[nodiscard]] Error : uint8_t;
TENON_END_NAMESPACE
