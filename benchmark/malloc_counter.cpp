// SPDX-License-Identifier: MIT
//
// Counts heap allocations where malloc is entered, whoever calls it: operator new, a C library, a
// runtime that was built elsewhere. Preloaded (LD_PRELOAD) into the benchmark programs for a run of
// its own, so that counting never disturbs a timing. Needs glibc, whose __libc_* names are the real
// functions; looking these up with dlsym would allocate before the first allocation can be served.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

extern "C" {
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* block, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
}

namespace {

std::atomic<std::uint64_t> allocations{0};

void count_one() noexcept { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

extern "C" {

// Allocations of the whole process so far, all threads together.
std::uint64_t tenon_bench_malloc_count() noexcept {
  return allocations.load(std::memory_order_relaxed);
}

void* malloc(std::size_t size) noexcept {
  count_one();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  count_one();
  return __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) noexcept {
  // realloc(block, 0) frees.
  if (block == nullptr || size != 0) count_one();
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count_one();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

}  // extern "C"
