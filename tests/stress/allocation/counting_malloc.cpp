// SPDX-License-Identifier: MIT
#include "allocation/counting_malloc.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESTS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define TESTS_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(TESTS_SANITIZED)
#define TESTS_COUNTED 1
#else
#define TESTS_COUNTED 0
#endif

namespace {

struct Counters {
  bool counting;
  int64_t allocations;
  int64_t live;
  int64_t failures;
  int64_t fail_at;
};
thread_local Counters counters;

}  // namespace

namespace tests {

bool heap_is_counted() noexcept { return TESTS_COUNTED != 0; }
int64_t allocations() noexcept { return counters.allocations; }
int64_t live_blocks() noexcept { return counters.live; }
int64_t failures() noexcept { return counters.failures; }
void start_counting(int64_t fail_at) noexcept { counters = Counters{true, 0, 0, 0, fail_at}; }
void stop_counting() noexcept { counters.counting = false; }
void stop_failing() noexcept { counters.fail_at = 0; }

Uncounted::Uncounted() noexcept : before_(std::exchange(counters.counting, false)) {}
Uncounted::~Uncounted() { counters.counting = before_; }

}  // namespace tests

#if TESTS_COUNTED

extern "C" {
void* __libc_malloc(size_t size) noexcept;
void* __libc_calloc(size_t count, size_t size) noexcept;
void* __libc_realloc(void* block, size_t size) noexcept;
void* __libc_memalign(size_t alignment, size_t size) noexcept;
void __libc_free(void* block) noexcept;
}

namespace {

// Counts an allocation; false when it is to fail.
bool enter() noexcept {
  if (!counters.counting) return true;
  if (++counters.allocations == counters.fail_at) {
    ++counters.failures;
    errno = ENOMEM;
    return false;
  }
  return true;
}
void* leave(void* block) noexcept {
  if (counters.counting && block != nullptr) ++counters.live;
  return block;
}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept { return enter() ? leave(__libc_malloc(size)) : nullptr; }
void* calloc(size_t count, size_t size) noexcept {
  return enter() ? leave(__libc_calloc(count, size)) : nullptr;
}
void* realloc(void* block, size_t size) noexcept {
  if (block == nullptr) return malloc(size);
  return enter() ? __libc_realloc(block, size) : nullptr;
}
void* memalign(size_t alignment, size_t size) noexcept {
  return enter() ? leave(__libc_memalign(alignment, size)) : nullptr;
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) noexcept {
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}
void free(void* block) noexcept {
  if (counters.counting && block != nullptr) --counters.live;
  __libc_free(block);
}

}  // extern "C"

#endif
