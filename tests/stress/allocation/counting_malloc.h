// SPDX-License-Identifier: MIT
// The program's heap, counted where malloc is entered, with a switch that makes the n-th allocation
// fail. Of the calling thread only.
#pragma once

#include <cstdint>

namespace tests {

/// Whether the heap is replaced: on glibc, without sanitizers, which replace it themselves.
bool heap_is_counted() noexcept;

/// Allocations since counting was last started.
int64_t allocations() noexcept;
/// Blocks allocated since then and not freed. Frees of older blocks count too.
int64_t live_blocks() noexcept;
/// Allocations that were made to fail since then.
int64_t failures() noexcept;

/// Starts counting at 0. The allocation number `fail_at`, from 1, returns null; 0 for none.
void start_counting(int64_t fail_at = 0) noexcept;
/// Stops: nothing is counted, and nothing fails, until the next start.
void stop_counting() noexcept;
/// Goes on counting the frees, but lets every allocation succeed.
void stop_failing() noexcept;

/// What the calling thread does as long as it lives is not counted, and does not fail.
class Uncounted {
 public:
  Uncounted() noexcept;
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;
  ~Uncounted();

 private:
  const bool before_;
};

}  // namespace tests
