// SPDX-License-Identifier: MIT
// What the files compiled with and without OpenMP both call parallel_for() with.
#pragma once

#include <atomic>
#include <cstdint>

namespace tests {

/// Counts pieces. A type, not a lambda: each file would have a parallel_for() of its own lambda.
struct PieceCounter {
  std::atomic<int>* count;
  void operator()(int64_t, int64_t) const { ++*count; }
};

/// Of without_openmp.cpp: how many pieces parallel_for() makes of work for any number of threads.
int pieces_without_openmp();

}  // namespace tests
