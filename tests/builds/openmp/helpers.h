// SPDX-License-Identifier: MIT
// What the tests with OpenMP share: numbers of threads in turn, and the caller's parallel regions.
#pragma once

#include <omp.h>

#include "kernels/helpers.h"
#include "tenon/kernels/dispatch.h"

#if !TENON_HAS_OPENMP
#error "this program is compiled with OpenMP"
#endif

namespace tests {

/// Has OpenMP use so many threads until the end of the scope.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_dynamic(0);  // as many as asked for, however few processors there are
    omp_set_num_threads(threads);
  }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;
  ~ThreadsScope() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Calls f() once from within a parallel region of two threads, where `levels` regions may be
/// active one inside the other.
template <class F>
void call_in_region(int levels, F&& f) {
  const int before = omp_get_max_active_levels();
  omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    f();
  }
  omp_set_max_active_levels(before);
}

/// How many of these do not leave the bytes `expected` in `memory`, which has those of `before`
/// each time: f() with 1, 2, 3 and 7 threads, and with 3 in a region of the caller's, where OpenMP
/// gives no more threads, or does.
template <class F>
int count_wrong(Bytes& memory, const Bytes& before, const Bytes& expected, F&& f) {
  int wrong = 0;
  for (int threads : {1, 2, 3, 7}) {
    const ThreadsScope scope(threads);
    memory = before;
    f();
    if (memory != expected) ++wrong;
  }
  for (int levels : {1, 2}) {
    const ThreadsScope scope(3);
    memory = before;
    call_in_region(levels, f);
    if (memory != expected) ++wrong;
  }
  return wrong;
}

}  // namespace tests
