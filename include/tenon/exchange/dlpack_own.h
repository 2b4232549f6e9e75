// SPDX-License-Identifier: MIT
// DLPack structs that tenon makes: their release, and how an import recognises them.
#pragma once

#include "tenon/exchange/dlpack_types.h"
#include "tenon/tensor/handle.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A struct's hold on its memory; both are in one block.
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

/// Releases the memory. Its deleter may be another library's and release a tenon struct in turn.
/// Beyond kMaxDepth a release is queued for the innermost running one, so a chain of any length
/// needs bounded stack.
inline void release_dlpack(DLPackBlock* block) noexcept {
  constexpr int kMaxDepth = 16;
  DLPackReleases& releases = dlpack_releases();
  if (releases.depth == kMaxDepth) {
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
  /// symbols has its own release().
  static MemoryHold* memory_of(const Managed& exported) noexcept {
    if (exported.deleter != &release) return nullptr;
    auto* const made = static_cast<DLPackExport*>(exported.manager_ctx);
    return &made->managed == &exported ? &made->memory : nullptr;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
