// SPDX-License-Identifier: MIT
// How many allocations a call needs, each of which fails once.
#pragma once

#include "allocation/counting_malloc.h"
#include "support/catch.h"

namespace tests {

/// Calls f, which returns a Result, with what `prepare` makes, until it succeeds: the n-th time its
/// n-th allocation fails, which must be OutOfMemory. Returns how many allocations it needs.
template <class Prepare, class F>
int64_t count_allocations(const Prepare& prepare, const F& f) {
  for (int64_t n = 1;; ++n) {
    auto argument = prepare();
    tenon::Error error = tenon::Error::Ok;
    start_counting(n);
    {
      const auto made = f(argument);
      error = made.error();
      stop_failing();
    }
    stop_counting();
    if (error == tenon::Error::Ok) {
      CHECK(live_blocks() <= 0);
      return n - 1;
    }
    CHECK(error == tenon::Error::OutOfMemory);
  }
}
template <class F>
int64_t count_allocations(const F& f) {
  return count_allocations([] { return 0; }, [&](int) { return f(); });
}

}  // namespace tests
