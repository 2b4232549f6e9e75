// SPDX-License-Identifier: MIT
// A file of the program that is compiled without OpenMP.
#include "openmp/piece_counter.h"
#include "tenon/kernels/dispatch.h"

#if TENON_HAS_OPENMP
#error "this file is compiled without OpenMP"
#endif

int tests::pieces_without_openmp() {
  std::atomic<int> count{0};
  tenon::detail::parallel_for(int64_t{1} << 30, 1, size_t{1} << 30, PieceCounter{&count});
  return count;
}
