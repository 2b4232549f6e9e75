// SPDX-License-Identifier: MIT
// Shares large work among threads where the program is compiled with OpenMP (-fopenmp), which says
// how many. The bytes written depend neither on that nor on how the work is parted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"

#if TENON_HAS_OPENMP
#include <omp.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Work of fewer bytes stays in its thread: waking the others would take as long.
inline constexpr size_t kParallelBytes = size_t{1} << 20;

/// Whether parallel_for() shares work of `nbytes`.
///
/// A template parameter, so that files with and without OpenMP do not share one definition. Their
/// callers may, since both forms write the same bytes.
template <bool kThreads = TENON_HAS_OPENMP != 0>
constexpr bool is_parallel(size_t nbytes) noexcept {
  return kThreads && nbytes >= kParallelBytes;
}

/// Calls `body(begin, end)` for pieces that together are [0, count): for all of it at once in the
/// caller's thread, unless is_parallel(nbytes); then for one piece in each thread. Pieces begin at
/// multiples of `grain` and, unless `count` is, are no shorter.
///
/// Inside a parallel region of the caller's, OpenMP gives no further threads unless told to.
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
