// SPDX-License-Identifier: MIT
// CpuBackend: the host's heap, the default backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "tenon/backend/backend.h"

TENON_BEGIN_NAMESPACE

/// Memory from malloc. All CpuBackends share it; tensors may outlive their CpuBackend.
/// Threads: any.
class TENON_EXPORT CpuBackend final : public HostMemoryBackend {
 public:
  /// A handle to the heap. Allocates nothing.
  CpuBackend() noexcept : HostMemoryBackend(nullptr) {
    detail::BackendAccess::kind(*this) = detail::BackendKind::HostHeap;
  }

  const char* name() const noexcept override { return "cpu"; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const size_t margin = alignment + sizeof(void*);
    if (nbytes > PTRDIFF_MAX - margin) return nullptr;
    void* const base = detail::heap_allocate(nbytes + margin);
    detail::use_huge_pages(base, nbytes);
    if (base == nullptr) return nullptr;
    // The pointer for free() is stored right before the returned memory.
    char* const first = static_cast<char*>(base) + sizeof(void*);
    char* const data = first + (uintptr_t{0} - reinterpret_cast<uintptr_t>(first)) % alignment;
    std::memcpy(data - sizeof(void*), &base, sizeof base);
    return data;
  }
  void deallocate(void* p, size_t) noexcept override {
    void* base = nullptr;
    std::memcpy(&base, static_cast<char*>(p) - sizeof(void*), sizeof base);
    detail::heap_release(base);
  }
};

/// The global CpuBackend.
TENON_EXPORT inline Backend& host_backend() noexcept {
  // Never destroyed: tensors in static memory may be dropped after everything else.
  alignas(CpuBackend) static unsigned char place[sizeof(CpuBackend)];
  static CpuBackend* const backend = ::new (static_cast<void*>(place)) CpuBackend;
  return *backend;
}

TENON_END_NAMESPACE
