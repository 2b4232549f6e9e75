// SPDX-License-Identifier: MIT
// Metadata blocks, on the heap or in a backend's memory: their headers, and the seat of a handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/backend/state.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The word before each metadata block is the block's origin, since operator delete gets only an
/// address. The origin is null for the heap; a BackendState*, after a word with the block's size;
/// or a Seat* plus one, if a tensor and its first handle share the block.
inline constexpr size_t kMetadataHeader = 8;
struct BlockHeader {
  size_t nbytes;
  BackendState* metadata_backend;
};
static_assert(sizeof(BlockHeader) == 2 * sizeof(void*) &&
              sizeof(BlockHeader) % kMetadataHeader == 0);

void release_metadata(void* p) noexcept;

/// The start of a tensor's block: room for the Tensor of its first TensorPtr, so that both take one
/// allocation. The TensorImpl follows, in its shared_ptr's node. Whichever is destroyed last frees
/// the block: the Tensor outlives the TensorImpl if another tensor was assigned to it.
struct alignas(kMetadataHeader) Seat {
  AtomicCount holders{kNode};
  uintptr_t handle_origin;
  unsigned char handle[2 * sizeof(void*)];
  uintptr_t node_header[kMetadataHeader / sizeof(uintptr_t)];  // the last word is the origin

  // Users of the block: the Tensor and the impl's node.
  static constexpr int32_t kNode = 1;
  static constexpr int32_t kNodeAndHandle = 2;

  Seat() noexcept : handle_origin(reinterpret_cast<uintptr_t>(this) + 1) {
    node_header[kMetadataHeader / sizeof(uintptr_t) - 1] = handle_origin;
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  /// The seat of a metadata block; null if the block has no seat.
  static Seat* of(const void* piece) noexcept {
    uintptr_t origin = 0;
    std::memcpy(&origin, static_cast<const char*>(piece) - sizeof origin, sizeof origin);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return origin % 2 == 0 ? nullptr : reinterpret_cast<Seat*>(origin - 1);
  }
  /// Drops one user of the block.
  void leave() noexcept {
    // If one user is left, no other thread changes the count: the seat of a dead tensor is not
    // taken again.
    if (holders.get() == 1 || holders.remove() == 0) release_metadata(this);
  }
};
static_assert(offsetof(Seat, handle) == offsetof(Seat, handle_origin) + sizeof(uintptr_t));

/// Frees a block that is not from the heap.
TENON_TEMPLATE_INLINE TENON_NOINLINE void release_elsewhere(void* p) noexcept {
  if (Seat* const seat = Seat::of(p)) return seat->leave();
  auto* const header = static_cast<BlockHeader*>(p) - 1;
  mark_used(header, header->nbytes);
  release_to(*header->metadata_backend, header, header->nbytes);
}

/// Allocates metadata, on the heap if `metadata_backend` is null. Returns null, and sets an error
/// text, if memory runs out.
inline void* allocate_metadata(size_t nbytes, BackendState* metadata_backend) noexcept {
  if (metadata_backend != nullptr) return metadata_backend->allocate_metadata(nbytes);
  auto* const block = static_cast<char*>(heap_allocate(kMetadataHeader + nbytes));
  if (block == nullptr) {
    static_cast<void>(fail_no_memory("a tensor or a module"));
    return nullptr;
  }
  std::memcpy(block + kMetadataHeader - sizeof(void*), &metadata_backend, sizeof(void*));
  return block + kMetadataHeader;
}
/// Frees metadata.
inline void release_metadata(void* p) noexcept {
  if (p == nullptr) return;
  char* const data = static_cast<char*>(p);
  uintptr_t origin = 0;
  std::memcpy(&origin, data - sizeof origin, sizeof origin);
  if (origin != 0) return release_elsewhere(p);
  heap_release(data - kMetadataHeader);
}

}  // namespace detail
TENON_END_NAMESPACE
