// SPDX-License-Identifier: MIT
// The memory that the process uses, and EXPECT(), which any thread may call.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SOAK_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOAK_SANITIZED 1
#endif
#ifndef SOAK_SANITIZED
#define SOAK_SANITIZED 0
#endif

#if SOAK_SANITIZED
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace soak {

/// How many expectations were false, in all threads.
inline std::atomic<int> failures{0};

inline void fail(const char* file, int line, const char* what) noexcept {
  if (++failures <= 20) std::fprintf(stderr, "%s:%d: false: %s\n", file, line, what);
}

/// Assertions of Catch2 2 are for one thread.
#define EXPECT(...)                                                     \
  do {                                                                  \
    if (!(__VA_ARGS__)) ::soak::fail(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)

/// Bytes that malloc has given out and not got back, those that it keeps for threads included. A
/// sanitizer has an allocator of its own.
inline int64_t heap_in_use() noexcept {
#if SOAK_SANITIZED
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
#endif
}

/// Bytes of the process that are in physical memory.
inline int64_t resident() noexcept {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long long pages = 0;
  const int found = std::fscanf(file, "%*d %lld", &pages);
  std::fclose(file);
  return found == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

struct Sample {
  double second;
  int64_t operations;
  int64_t resident;
  int64_t heap;
  int64_t blocks;    // of backends, in use by tensors
  int64_t lent;      // pieces of memory with a deleter
  int64_t released;  // of these
};

/// By how many bytes a straight line through the second half of the samples rises from its first to
/// its last: by least squares.
inline double rise(const std::vector<Sample>& samples, int64_t Sample::*bytes) {
  const size_t first = samples.size() / 2;
  const auto count = static_cast<double>(samples.size() - first);
  double x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = first; i < samples.size(); ++i) {
    const double value = static_cast<double>(samples[i].*bytes);
    x += samples[i].second / count;
    y += value / count;
    xx += samples[i].second * samples[i].second / count;
    xy += samples[i].second * value / count;
  }
  const double spread = xx - x * x;
  if (spread <= 0) return 0;
  return (xy - x * y) / spread * (samples.back().second - samples[first].second);
}

}  // namespace soak
