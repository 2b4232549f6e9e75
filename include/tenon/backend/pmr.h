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
/// Threads: those that the resource allows. std::pmr's monotonic and unsynchronized resources allow
/// one thread at a time to make and drop tensors.
/// Source: std::pmr::polymorphic_allocator.
class TENON_EXPORT PmrBackend final : public HostMemoryBackend {
 public:
  /// A backend over a resource, by default the program's default resource.
  explicit PmrBackend(std::pmr::memory_resource* resource = std::pmr::get_default_resource())
      : HostMemoryBackend(detail::make_state<detail::MemoryState<void>>()), resource_(resource) {
    TENON_CHECK(resource != nullptr, Error::InvalidArgument,
                "PmrBackend: the memory resource is null");
  }

  const char* name() const noexcept override { return "pmr"; }

  // Always the same alignment: deallocate() has to pass the alignment of the allocation, which it
  // does not know. The size is a multiple of the alignment: libstdc++'s pools round 70 bytes up to
  // a block of 80 bytes, which would not be aligned.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (alignment > detail::kDataAlignment || nbytes > kLargest) {
      static_cast<void>(detail::fail(Error::OutOfMemory, "a PmrBackend allocates at most ",
                                     kLargest, " bytes, at multiples of at most ",
                                     detail::kDataAlignment));
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

  /// The resource that the constructor was given.
  std::pmr::memory_resource* resource() const noexcept { return resource_; }

 private:
  static constexpr size_t kLargest = PTRDIFF_MAX - detail::kDataAlignment;

  std::pmr::memory_resource* resource_;
};

TENON_END_NAMESPACE
