// SPDX-License-Identifier: MIT
// ArenaBackend: tensors in a buffer of the caller, without the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "tenon/backend/backend.h"

TENON_BEGIN_NAMESPACE

/// Allocates from the caller's buffer, from its beginning to its end. Tensors made in the arena
/// keep their data and their metadata there, and need no heap. Borrowed tensors, views and handles
/// that are made with the arena, or in its BackendScope, keep their metadata in the buffer too.
///
/// A released block is used for later allocations that fit into it; adjacent released blocks are
/// merged. Make long-lived tensors first: short-lived tensors between them leave gaps.
///
/// Ownership: borrows the buffer, which must outlive the arena's tensors and the backends that wrap
/// it: its first bytes hold the arena's state.
/// Units: bytes. Blocks take multiples of TENON_DATA_ALIGNMENT, which is 64, or 16 on bare metal. A
/// tensor takes one block for its handle, its metadata and up to 1024 bytes of data; more data
/// takes a second block.
/// Errors: OutOfMemory when the buffer has no room; the text says how much is left.
/// Threads: not synchronised. Tensors with data or metadata in the arena, and their exports, are
/// used and dropped on one thread at a time.
/// Cost: a few instructions, and a walk over the free blocks, if there are any.
/// Source: std::pmr::monotonic_buffer_resource, which frees nothing before release().
class TENON_EXPORT ArenaBackend final : public HostMemoryBackend {
 public:
  /// `arena_buffer` may have any alignment, and may be null if `arena_nbytes` is 0.
  // A template, so that a program without an arena compiles no MemoryState. GCC's -Wshadow then
  // compares the parameters' names with the program's globals: hence long names.
  template <class T = void>
  ArenaBackend(void* arena_buffer, size_t arena_nbytes) noexcept
      : HostMemoryBackend(detail::make_state<detail::MemoryState<T>>(
            place_for_state(arena_buffer, arena_nbytes), true)) {
    start(arena_buffer, arena_nbytes);
  }
  ~ArenaBackend() override { detail::mark_used(first_, capacity()); }

  const char* name() const noexcept override { return "arena"; }

  // Block sizes are rounded up to the alignment, so that blocks are adjacent, and the last block is
  // found without a header. Rounding costs half an alignment per block on average; a header would
  // cost a whole alignment. AddressSanitizer's poison covers all free memory, and so the nodes of
  // the free list, which these functions use: hence TENON_USES_FREE_MEMORY.
  TENON_USES_FREE_MEMORY void* allocate(size_t nbytes, size_t alignment) noexcept override {
    // Rounding up a larger size would overflow.
    if (nbytes > capacity()) return fail_no_memory(nbytes, alignment);
    const size_t size = round_up(nbytes);
    for (Hole** at = &holes_; *at != nullptr; at = &(*at)->below) {
      if (size > static_cast<size_t>((*at)->to - begin_of(*at))) continue;
      char* const p = (*at)->to - size;  // from the hole's end: its node stays in place
      if ((reinterpret_cast<uintptr_t>(p) & (alignment - 1)) != 0) continue;
      (*at)->to = p;
      if (p == begin_of(*at)) *at = (*at)->below;
      ++live_;
      detail::mark_used(p, nbytes);
      return p;
    }
    const auto left = static_cast<size_t>(end_ - top_);
    const size_t padding = (uintptr_t{0} - reinterpret_cast<uintptr_t>(top_)) & (alignment - 1);
    if (size > left || padding > left - size) return fail_no_memory(nbytes, alignment);
    char* const p = top_ + padding;
    if (padding != 0) holes_ = ::new (top_) Hole{holes_, p};
    top_ = p + size;
    if (top_ > highest_) highest_ = top_;
    ++live_;
    detail::mark_used(p, nbytes);
    return p;
  }

  TENON_USES_FREE_MEMORY void deallocate(void* p, size_t nbytes) noexcept override {
    char* const from = static_cast<char*>(p);
    char* to = from + round_up(nbytes);
    detail::mark_free(p, nbytes);
    --live_;
    if (to == top_) {
      top_ = from;
      if (holes_ != nullptr && holes_->to == from) {
        top_ = begin_of(holes_);
        holes_ = holes_->below;
      }
      return;
    }
    Hole** at = &holes_;
    while (*at != nullptr && begin_of(*at) > to) at = &(*at)->below;
    if (*at != nullptr && begin_of(*at) == to) {
      to = (*at)->to;
      *at = (*at)->below;
    }
    if (*at != nullptr && (*at)->to == from) {
      (*at)->to = to;
    } else {
      *at = ::new (p) Hole{*at, to};
    }
  }

  Backend* metadata_backend() noexcept override { return this; }

  /// Checks that no block of the buffer is in use.
  /// Errors: InUse while a block is in use; nothing is changed.
  Error reset() noexcept {
    if (live_ != 0) {
      return detail::fail(Error::InUse, "reset: ", live_, live_ == 1 ? " block" : " blocks",
                          " of the arena's memory, ", used(), " bytes, are in use");
    }
    return Error::Ok;
  }

  /// Bytes up to the end of the last block in use.
  size_t used() const noexcept { return static_cast<size_t>(top_ - first_); }
  /// The peak of used(): the capacity that would have been enough.
  size_t high_water() const noexcept { return static_cast<size_t>(highest_ - first_); }
  /// Usable bytes: the buffer without the arena's state and the padding at both ends.
  size_t capacity() const noexcept { return static_cast<size_t>(end_ - first_); }

 private:
  /// The node at the start of a free block below top_. The list is sorted by descending address;
  /// adjacent blocks are merged.
  struct Hole {
    Hole* below;
    char* to;
  };
  static char* begin_of(Hole* hole) noexcept { return reinterpret_cast<char*>(hole); }

  /// A block of 0 bytes takes room too, so that its address is unique.
  static constexpr size_t round_up(size_t nbytes) noexcept {
    return detail::align_up(nbytes == 0 ? 1 : nbytes);
  }
  static constexpr size_t kStateSize = detail::align_up(sizeof(detail::BackendState));

  /// Where the arena's state goes in the buffer; null if the buffer has no room for it.
  static void* place_for_state(void* buffer, size_t nbytes) noexcept {
    static_assert(alignof(detail::BackendState) <= detail::kDataAlignment);
    char* const state = static_cast<char*>(detail::align_up(buffer));
    const auto skipped = static_cast<size_t>(state - static_cast<char*>(buffer));
    return buffer == nullptr || nbytes < skipped + kStateSize ? nullptr : state;
  }

  void start(void* buffer, size_t nbytes) noexcept {
    auto* const state = reinterpret_cast<char*>(detail::BackendAccess::state(*this));
    if (state == nullptr) return;
    const size_t left = nbytes - static_cast<size_t>(state - static_cast<char*>(buffer));
    first_ = top_ = highest_ = state + kStateSize;
    end_ = state + left / detail::kDataAlignment * detail::kDataAlignment;
    detail::mark_free(first_, capacity());
  }

  void* fail_no_memory(size_t nbytes, size_t alignment) const noexcept {
    static_cast<void>(
        detail::fail(Error::OutOfMemory, capacity() - used(), " of ", capacity(),
                     " bytes are free, ", nbytes, " are needed, at a multiple of ", alignment,
                     first_ == nullptr ? "; the buffer is too small for the arena" : ""));
    return nullptr;
  }

  char* first_ = nullptr;
  char* top_ = nullptr;  // end of the used part
  char* end_ = nullptr;
  char* highest_ = nullptr;  // the peak of top_
  Hole* holes_ = nullptr;
  size_t live_ = 0;
};

TENON_END_NAMESPACE
