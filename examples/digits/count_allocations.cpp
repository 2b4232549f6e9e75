// SPDX-License-Identifier: MIT
// Counts heap allocations where malloc is entered. A program's own malloc takes precedence over the
// C library's, for operator new and for the library itself too; glibc keeps its own under other
// names.
#include "count_allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define UNDER_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER
#endif

#if defined(__GLIBC__) && !defined(UNDER_SANITIZER)

namespace {
std::atomic<long> allocations{0};
}

long count_allocations() { return allocations; }

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) noexcept {
  ++allocations;
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) noexcept {
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

}  // extern "C"

#else

long count_allocations() { return -1; }

#endif
