// SPDX-License-Identifier: MIT
//
// What the programs of the comparison share: the numbers, the checks of results, and what becomes of a
// wrong shape. comparison.py has a row for each case's name.

#ifndef TENON_BENCHMARK_COMPARISON_ROWS_H_
#define TENON_BENCHMARK_COMPARISON_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "../harness.h"

namespace rows {

constexpr std::int64_t kSide = 1024;
constexpr std::int64_t kNumel = kSide * kSide;
// The tensor whose elements are read.
constexpr std::int64_t kReadRows = 20;
constexpr std::int64_t kReadColumns = 50;
constexpr std::int64_t kReads = kReadRows * kReadColumns;
constexpr float kReadSum = 499500;

/// 0, 1, 2, …, which a float holds exactly.
inline std::vector<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

inline void require_zeros(const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) bench::require(values[i] == 0);
}

/// That a clone or a cast of numbers(kNumel) has them.
template <class T>
void require_numbers(const T* values) {
  for (std::int64_t i = 0; i < kNumel; ++i) bench::require(values[i] == static_cast<T>(i));
}

/// That a dense copy of the transposed numbers(kNumel) has them.
inline void require_transposed(const float* values) {
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      bench::require(values[i * kSide + j] == static_cast<float>(j * kSide + i));
    }
  }
}

/// A process that had two threads counts references with atomic instructions, as a real program does.
/// libstdc++ spares std::shared_ptr those before, which other counters never are.
inline void have_had_two_threads() {
  std::thread([] {}).join();
}

inline bool asks_for_wrong_shape(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "--wrong-shape") == 0;
}

/// Prints what becomes of a tensor of 2x3 in the sizes {4, 2}. `make` returns the number of elements
/// that the library then says it has. Returns main's exit code, unless the library ends the program.
template <class Make>
int wrong_shape(const Make& make) {
  try {
    const std::int64_t count = make();
    std::printf("accepted: %lld elements over memory of 6\n", static_cast<long long>(count));
  } catch (const std::exception& error) {
    std::printf("exception: %s\n", error.what());
  }
  return 0;
}

}  // namespace rows

#endif  // TENON_BENCHMARK_COMPARISON_ROWS_H_
