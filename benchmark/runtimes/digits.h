// SPDX-License-Identifier: MIT
//
// The main() of the four programs that run the digits network, each on one runtime, on one thread.
// runtimes.py starts them:
//
//     tenon MODEL
//
// prints when the model was opened, how long that took, when the first scores were there, and these
// scores; then, for each line "ROWS RUNS" of its input, the processor time of so many forwards of so
// many rows, and the allocations in them. Times are in nanoseconds of CLOCK_MONOTONIC and of
// CLOCK_PROCESS_CPUTIME_ID, which also has what other threads compute.
#pragma once

#include <dlfcn.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

constexpr int64_t kMostRows = 64;
constexpr int64_t kPixels = 8 * 8;
constexpr int64_t kDigits = 10;

/// The memory of inputs and outputs; `scores` is not used by a runtime that gives new tensors.
alignas(64) inline float images[kMostRows * kPixels];
alignas(64) inline float scores[kMostRows * kDigits];

// Each program defines these. After an error it ends.
void open(const char* path);
/// Prepares runs of so many rows. What stays from run to run is set here.
void set_rows(int64_t rows);
/// One forward. Gives the scores.
const float* run();

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

inline int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

/// The mallocs until now if malloc_counter.cpp is preloaded, else 0.
inline uint64_t count_allocations() {
  static const auto count =
      reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "tenon_bench_malloc_count"));
  return count != nullptr ? count() : 0;
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: PROGRAM MODEL");
  for (int64_t i = 0; i < kMostRows * kPixels; ++i) images[i] = static_cast<float>(i * 7 % 17);
  const int64_t start = now(CLOCK_MONOTONIC);
  open(argv[1]);
  const int64_t opened = now(CLOCK_MONOTONIC);
  set_rows(1);
  const float* const first = run();
  std::printf("%" PRId64 " %" PRId64 " %" PRId64, start, opened, now(CLOCK_MONOTONIC));
  for (int64_t i = 0; i < kDigits; ++i) std::printf(" %a", static_cast<double>(first[i]));
  std::puts("");
  std::fflush(stdout);

  int rows = 0;
  int runs = 0;
  while (std::scanf("%d %d", &rows, &runs) == 2) {
    if (rows < 1 || rows > kMostRows || runs < 1) fail("ROWS RUNS is out of range");
    set_rows(rows);
    const float* last = nullptr;
    for (int i = 0; i < 10; ++i) last = run();
    const uint64_t allocations = count_allocations();
    const int64_t begin = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < runs; ++i) last = run();
    const int64_t end = now(CLOCK_PROCESS_CPUTIME_ID);
    std::printf("%" PRId64 " %" PRIu64, end - begin, count_allocations() - allocations);
    for (int64_t i = (rows - 1) * kDigits; i < rows * kDigits; ++i) {
      std::printf(" %a", static_cast<double>(last[i]));
    }
    std::puts("");
    std::fflush(stdout);
  }
}
