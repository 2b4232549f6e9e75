// SPDX-License-Identifier: MIT
// PmrBackend: tensors in the memory of a std::pmr::memory_resource.
#pragma once

#if !__has_include(<memory_resource>)
#error "tenon/backend/pmr.h: this standard library has no <memory_resource>"
#endif

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"

#if !TENON_HEAP
#error "tenon/backend/pmr.h: PmrBackend keeps its state on the heap, and TENON_HEAP is 0"
#endif

TENON_BEGIN_NAMESPACE

/// Memory from any std::pmr::memory_resource.
/// Ownership: borrows the resource, which outlives the tensors in its memory.
/// Errors: InvalidArgument for a null resource. Exceptions of the resource become OutOfMemory.
/// Threads: as the resource's; std::pmr's monotonic and unsynchronized resources allow one thread
/// at a time, also for dropping tensors.
/// Source: std::pmr::polymorphic_allocator.
class TENON_EXPORT PmrBackend final : public HostMemoryBackend {
 public:
  /// A backend over a resource, by default that of the program.
  explicit PmrBackend(std::pmr::memory_resource* resource = std::pmr::get_default_resource())
      : HostMemoryBackend(detail::make_state<detail::MemoryState<void>>()), resource_(resource) {
    TENON_CHECK(resource != nullptr, Error::InvalidArgument,
                "PmrBackend: the memory resource is null");
  }

  const char* name() const noexcept override { return "pmr"; }

  // Always one alignment, since deallocate() must pass the allocation's and does not know it. The
  // size is a multiple of it: libstdc++'s pools round 70 bytes up to a block of 80, which is then
  // not aligned.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (alignment > detail::kDataAlignment || nbytes > kLargest) {
      static_cast<void>(detail::fail(Error::OutOfMemory, "a PmrBackend gives up to ", kLargest,
                                     " bytes, at multiples of up to ", detail::kDataAlignment));
      return nullptr;
    }
    void* p = nullptr;
    static_cast<void>(detail::call_safely([&] {
      p = resource_->allocate(detail::align_up(nbytes), detail::kDataAlignment);
      return Error::Ok;
    }));
    return p;
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    resource_->deallocate(p, detail::align_up(nbytes), detail::kDataAlignment);
  }

  /// The resource that was given.
  std::pmr::memory_resource* resource() const noexcept { return resource_; }

 private:
  static constexpr size_t kLargest = PTRDIFF_MAX - detail::kDataAlignment;

  std::pmr::memory_resource* resource_;
};

TENON_END_NAMESPACE
