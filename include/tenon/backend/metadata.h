// SPDX-License-Identifier: MIT
// Where handles and impls lie: on the heap, or in the memory of a backend that keeps metadata.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Before each block lies where it came from, since whoever deletes a handle has nothing but its
/// address; before that, where it is a backend's, its size. The heap's 8 bytes are free: with them
/// a handle just fills malloc's smallest block.
inline constexpr size_t kMetadataHeader = 8;
static_assert(sizeof(void*) <= kMetadataHeader && sizeof(size_t) <= kMetadataHeader);

/// Where a backend's tensors keep theirs; null for the heap, and where the backend is gone.
inline BackendState* metadata_of(const BackendState* state) noexcept {
  return state == nullptr || state->find() == nullptr ? nullptr : state->metadata;
}

/// Memory for metadata, from the heap if `origin` is null; null when there is none: the thread's
/// text is then what the backend left, or empty. With `data_nbytes` there is memory for as many
/// bytes of elements at metadata_data(p, nbytes).
inline void* allocate_metadata(size_t nbytes, BackendState* origin,
                               size_t data_nbytes = 0) noexcept {
  if (data_nbytes != 0) data_nbytes += kDataAlignment - 1;
  void* block = nullptr;
  if (TENON_UNLIKELY(origin != nullptr)) {
    const size_t total = 2 * kMetadataHeader + nbytes + data_nbytes;
    const ErrorTextGuard text;
    block = origin->backend->allocate(total, kMetadataHeader);
    if (TENON_UNLIKELY(block == nullptr)) return nullptr;
    text.put_back();
    origin->add();
    std::memcpy(block, &total, sizeof total);
    block = static_cast<char*>(block) + kMetadataHeader;
  } else {
    block = std::malloc(kMetadataHeader + nbytes + data_nbytes);
    if (TENON_UNLIKELY(block == nullptr)) return nullptr;
  }
  std::memcpy(block, &origin, sizeof(void*));
  return static_cast<char*>(block) + kMetadataHeader;
}

/// Where the elements are in a block of allocate_metadata(nbytes, …, data_nbytes).
inline void* metadata_data(void* p, size_t nbytes) noexcept {
  return align_up(static_cast<char*>(p) + nbytes);
}

/// Gives a block of a backend's back; `origin` is where it says that it came from.
TENON_NOINLINE inline void release_metadata_to(BackendState* origin, char* end_of_header) noexcept {
  size_t total = 0;
  char* const block = end_of_header - 2 * kMetadataHeader;
  std::memcpy(&total, block, sizeof total);
  release_to(origin, block, total);
}

/// Releases it.
inline void release_metadata(void* p) noexcept {
  if (p == nullptr) return;
  char* const data = static_cast<char*>(p);
  BackendState* origin = nullptr;
  std::memcpy(&origin, data - kMetadataHeader, sizeof(void*));
  if (TENON_UNLIKELY(origin != nullptr)) return release_metadata_to(origin, data);
  std::free(data - kMetadataHeader);
}

}  // namespace detail
TENON_END_NAMESPACE
