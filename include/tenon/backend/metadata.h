// SPDX-License-Identifier: MIT
// Where handles and impls lie: on the heap, or in the memory of a backend that keeps metadata.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Before each block lies where it came from, since whoever deletes a handle has nothing but its
/// address. These 8 bytes are free: with them a handle just fills malloc's smallest block.
inline constexpr size_t kMetadataHeader = 8;
static_assert(sizeof(void*) <= kMetadataHeader);

/// Where a backend's tensors keep theirs; null for the heap, and where the backend is gone.
inline Backend* metadata_of(const BackendState* state) noexcept {
  return state == nullptr || state->backend == nullptr ? nullptr : state->metadata;
}
inline Backend* metadata_of(Backend& backend) noexcept { return metadata_of(known_state(backend)); }

/// Memory for metadata, from the heap if `backend` is null; null when there is none: the thread's text
/// is then what the backend left, or empty.
inline void* allocate_metadata(size_t nbytes, Backend* backend) noexcept {
  void* block = nullptr;
  BackendState* origin = nullptr;
  if (TENON_UNLIKELY(backend != nullptr)) {
    const ErrorTextGuard text;
    origin = known_state(*backend);
    if (origin != nullptr) block = backend->allocate(nbytes + kMetadataHeader, kMetadataHeader);
    if (block != nullptr) {
      text.put_back();
      origin->add();
    }
  } else {
    block = std::malloc(nbytes + kMetadataHeader);
  }
  if (TENON_UNLIKELY(block == nullptr)) return nullptr;
  std::memcpy(block, &origin, sizeof(void*));
  return static_cast<char*>(block) + kMetadataHeader;
}

/// Releases it; `nbytes` as in allocate_metadata().
inline void release_metadata(void* p, size_t nbytes) noexcept {
  if (p == nullptr) return;
  void* const block = static_cast<char*>(p) - kMetadataHeader;
  BackendState* origin = nullptr;
  std::memcpy(&origin, block, sizeof(void*));
  if (TENON_UNLIKELY(origin != nullptr)) {
    release_to(origin, block, nbytes + kMetadataHeader);
  } else {
    std::free(block);
  }
}

}  // namespace detail
TENON_END_NAMESPACE
