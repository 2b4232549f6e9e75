// SPDX-License-Identifier: MIT
// BackendState: the part of a backend that its tensors refer to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/core/function_ref.h"
#include "tenon/core/memory.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE

class Backend;

namespace detail {

class Layout;

/// Calls kFunction; `stored` points to the same function. On bare metal the call goes through the
/// pointer, so that a program that never sets the pointer does not link the function. Elsewhere the
/// call is direct: the pointer may point into a library that was closed.
template <auto kFunction, class... Args>
auto call_stored([[maybe_unused]] decltype(kFunction) stored, Args&... args) {
  if constexpr (TENON_BARE_METAL) {
    return stored(args...);
  } else {
    return kFunction(args...);
  }
}

/// Lets a backend write a view's values; returns NotSupported if the backend cannot.
using FillByBackend = FunctionRef<Error(Backend&, const TensorView&)>;
/// Writes the values of a view in host memory.
using FillByHost = FunctionRef<Error(const TensorView&)>;

struct BackendState;

/// Elements, and the backend of their memory.
struct MemoryLocation {
  TensorView view;
  /// base() of the memory's backend, which copies the elements; null if the host copies.
  Backend* backend = nullptr;
  BackendState* state = nullptr;  ///< of the memory's backend; null for the host's heap
};

/// A small block through which tensors refer to the backends of their elements (data_backend) and
/// of their metadata (metadata_backend). The backend's constructor makes it. It lives as long as
/// the backend or any of its tensors, so that tensors can tell that their backend is gone.
///
/// The library calls backends only through these virtual functions, so that a program links only
/// the code of the backends it constructs. MemoryState is for plain host memory, such as an
/// arena's; CopyingState is for all other memory. None of the functions is called once the backend
/// is gone: its library may be closed.
struct BackendState {
  Backend* backend = nullptr;  // null once it is gone
  AtomicCount users;           // the backend, its allocated blocks, its wrappers
  int32_t plain_users = 0;
  bool one_thread = false;  // if true, plain_users counts instead of users
  bool on_heap = false;
  bool may_fill = false;  // whether fill() may be called: only in a CopyingState
  // Set by learn() when the first tensor is made: a constructor cannot call virtual functions.
  AtomicValue<bool> is_known;
  bool opaque = false;
  SpinLock lock;  // held while the fields below are set
  Device device;
  Backend* base = nullptr;                   // cached: Backend::base() may drop tensors
  BackendState* metadata_backend = nullptr;  // the state of metadata_backend()
  BackendState* inner = nullptr;             // the state of the backend that this one wraps
  AtomicCount wrappers;                      // backends that wrap this one
  char name[28] = {};                        // the backend's name, after the backend is gone

  void add() noexcept { one_thread ? static_cast<void>(++plain_users) : users.add(); }
  int32_t remove() noexcept { return one_thread ? --plain_users : users.remove(); }
  int32_t get() const noexcept { return one_thread ? plain_users : users.get(); }

  /// Whether the backend, and all that it wraps, exist.
  bool is_alive() const noexcept {
    const BackendState* at = this;
    while (at->backend != nullptr && at->inner != nullptr) at = at->inner;
    return at->backend != nullptr;
  }

  /// Caches device(), is_opaque(), base(), metadata_backend() and name(), once. Does nothing if the
  /// backend, or one that it wraps, is gone.
  virtual void learn() noexcept = 0;
  /// Allocates metadata. Returns null, and sets the thread's error text, if memory runs out.
  virtual void* allocate_metadata(size_t nbytes) noexcept = 0;
  /// Allocates memory. For 0 bytes `data` becomes null, which counts as a block.
  /// Errors: OutOfMemory; InvalidState when a backend that it wraps is gone.
  virtual Error allocate(size_t nbytes, size_t alignment, void*& data) noexcept = 0;
  /// Frees memory; leaks it if a wrapped backend is gone.
  virtual void deallocate(void* data, size_t nbytes) noexcept = 0;

  /// Fills `count` elements at `data`: calls `by_backend`, or `by_host` if `by_backend` is null or
  /// returns NotSupported. The view that they get has `layout`. If `count` includes gaps, or if
  /// `by_backend` is null, the view is one row instead: the host then writes in memory order.
  virtual Error fill(void* data, ScalarType type, const Layout& layout, int64_t count,
                     const char* operation, const FillByBackend& by_backend,
                     const FillByHost& by_host) noexcept = 0;
  /// Copies bytes within the backend's memory, which the host cannot access.
  virtual Error copy_within(void* dst, const void* src, size_t nbytes) noexcept = 0;
  /// Copies elements between locations, at least one in this backend's memory, which the host
  /// cannot access; see CopyingState.
  virtual Error copy(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
                     CastFunction cast) noexcept = 0;
  /// Checks a pointer with DeviceBackend::check_memory().
  virtual Error check_pointer(const void* data, ScalarType type, const Layout& layout) noexcept = 0;

 protected:
  ~BackendState() = default;
};

inline void drop_state(BackendState* state) noexcept {
  if (state->remove() == 0 && state->on_heap) heap_release(state);
}
/// Deallocates memory. If the backend is gone, its library may be closed, so only the count is
/// decremented. Out of line: programs are smaller.
TENON_COLD inline void release_to(BackendState& state, void* data, size_t nbytes) noexcept {
  if (state.backend != nullptr && data != nullptr) state.deallocate(data, nbytes);
  drop_state(&state);
}

/// Makes a state at `place`, which may be null.
template <class State>
BackendState* make_state(void* place, bool one_thread) noexcept {
  static_assert(sizeof(State) == sizeof(BackendState));
  if (place == nullptr) return nullptr;
  auto* const state = ::new (place) State;
  state->one_thread = one_thread;
  return state;
}
/// Makes a state on the heap.
template <class State>
BackendState* make_state() noexcept {
  BackendState* const state = make_state<State>(heap_allocate(sizeof(State)), false);
  if (state != nullptr) state->on_heap = true;
  return state;
}

// Templates: otherwise GCC would devirtualise calls speculatively to the only state it has seen,
// and link that state.
template <class T>
struct MemoryState;  // calls.h
template <class T>
struct CopyingState;  // copy_between.h

}  // namespace detail
TENON_END_NAMESPACE
