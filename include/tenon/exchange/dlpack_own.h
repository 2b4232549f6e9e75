// SPDX-License-Identifier: MIT
// tenon's own DLPack structs: how they are released, and known again when they come back.
#pragma once

#include "tenon/exchange/dlpack_types.h"
#include "tenon/tensor/draft.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What keeps the memory of a struct, in one block with that.
struct DLPackBlock {
  MemoryHold memory;
  DLPackBlock* next;  // in DLPackReleases::waiting
};

/// The releases that run on this thread.
struct DLPackReleases {
  int depth = 0;                   // one in another
  DLPackBlock* waiting = nullptr;  // for the innermost one to end
};
inline DLPackReleases& dlpack_releases() noexcept {
  static TENON_THREAD_LOCAL DLPackReleases releases;
  return releases;
}

/// Releases the memory. That may be another library's, which releases memory of tenon's in turn,
/// and so on, as when two libraries hand a tensor back and forth. Beyond some depth a release waits
/// until the one around it is done with its own, so that no chain takes more than so much stack.
inline void release_dlpack(DLPackBlock* block) noexcept {
  constexpr int kMaxDepth = 16;
  DLPackReleases& releases = dlpack_releases();
  if (TENON_UNLIKELY(releases.depth == kMaxDepth)) {
    block->next = std::exchange(releases.waiting, block);
    return;
  }
  ++releases.depth;
  for (;;) {
    block->~DLPackBlock();
    release_metadata(block);
    block = releases.waiting;
    if (block == nullptr) break;
    releases.waiting = block->next;
  }
  --releases.depth;
}

/// A struct and the hold on its memory, in one block; sizes and strides follow.
template <class Managed>
struct DLPackExport : DLPackBlock {
  Managed managed;

  static void release(Managed* self) noexcept {
    release_dlpack(static_cast<DLPackExport*>(self->manager_ctx));
  }
  /// The memory of a struct that this library made; null for any other. A library with hidden
  /// symbols has a release() of its own.
  static MemoryHold* memory_of(const Managed& given) noexcept {
    if (given.deleter != &release) return nullptr;
    auto* const made = static_cast<DLPackExport*>(given.manager_ctx);
    return &made->managed == &given ? &made->memory : nullptr;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
