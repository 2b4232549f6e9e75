// SPDX-License-Identifier: MIT
// Memory for tensors, before there are any: from the host's heap or from a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/backend/metadata.h"
#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class Contents : uint8_t { Uninitialized, Zero };

/// Memory and how it is released.
struct NewMemory {
  void* data = nullptr;
  Deleter release;
};

/// For a tensor that grows, which leaves room for more.
inline Error allocate_on_host(size_t nbytes, NewMemory& memory) noexcept {
  const Allocation block = allocate(nbytes, true);
  if (TENON_UNLIKELY(block.base == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of data"});
  }
  memory.data = block.data;
  memory.release = Deleter(block.base, &std::free);
  return Error::Ok;
}

inline Error allocate_from(Backend& backend, size_t nbytes, NewMemory& memory) noexcept {
  BackendState* const state = known_state(backend);
  TENON_TRY(allocate_from(backend, state, nbytes, memory.data));
  memory.release = Deleter(memory.data, ReleaseToBackend{state, nbytes});
  return Error::Ok;
}

/// Says that memory is a backend's.
inline void set_backend(BackendState& state, TensorFields& made) noexcept {
  made.backend = &state;
  made.device = state.device;
  made.opaque = state.opaque;
}

/// Gives `made` memory of a backend's, whose state is `state`; a template has none.
template <class Fields>
Error take_backend_memory(Backend& backend, BackendState* state, size_t nbytes,
                          Fields& made) noexcept {
  if (state != nullptr && state->device.type() == DeviceType::Template) nbytes = 0;
  TENON_TRY(allocate_from(backend, state, nbytes, made.data));
  set_backend(*state, made);
  // Built in place: moving what was just stored waits for the store buffer.
  made.deleter.emplace(made.data, ReleaseToBackend{state, nbytes});
  made.ownership = Ownership::Owned;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
