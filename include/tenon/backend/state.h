// SPDX-License-Identifier: MIT
// BackendState: what tensors know of a backend, and what the library does with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/atomic.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE

class Backend;
class Layout;

namespace detail {

/// A callable that the caller keeps.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  FunctionRef(std::nullptr_t) noexcept {}
  template <class F, std::enable_if_t<std::is_invocable_r_v<R, const F&, Args...>, int> = 0>
  FunctionRef(const F& f TENON_LIFETIMEBOUND) noexcept
      : f_(&f), call_([](const void* g, Args... args) -> R {
          return (*static_cast<const F*>(g))(static_cast<Args>(args)...);
        }) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(f_, static_cast<Args>(args)...); }

 private:
  const void* f_ = nullptr;
  R (*call_)(const void*, Args...) = nullptr;
};
/// Makes values in a backend's memory; NotSupported where the backend does not.
using MakeOnBackend = FunctionRef<Error(Backend&, const TensorView&)>;
/// Makes values in host memory.
using MakeOnHost = FunctionRef<Error(const TensorView&)>;
using MakeRowOnHost = FunctionRef<Error(void*)>;

struct BackendState;

/// Where elements are, and the backend that reads and writes them; null for the host.
struct MemoryLocation {
  TensorView view;
  Backend* backend = nullptr;     // base() of the one whose memory it is
  BackendState* state = nullptr;  // of the one whose memory it is
};

/// What tensors know of a backend: a small block that stays while they do, so that one that is
/// destroyed later than its backend finds out. The backend's constructor makes it.
///
/// The virtual functions are what the library does with a backend: a program links those of the
/// backends that it constructs. Here they are those of host memory and no more, as an arena's;
/// CopyingState has those of all other backends. Nothing here runs once the backend is gone, but
/// for release().
struct BackendState {
  Backend* backend = nullptr;  // null once it is gone
  AtomicCount users;        // the backend itself, each block of memory that it gave, each wrapper
  bool one_thread = false;  // whether all of them are on one thread, so that nobody needs to wait
  bool on_heap = false;
  int32_t plain_users = 0;  // instead of `users`, on one thread
  // What never changes, asked when the first tensor is made: a constructor cannot ask.
  AtomicValue<bool> is_known;
  bool opaque = false;
  SpinLock lock;  // held while what follows is filled in
  Device device;
  BackendState* metadata = nullptr;  // of metadata_backend()
  BackendState* inner = nullptr;     // of the backend that this one wraps
  AtomicCount wrappers;              // backends that wrap this one
  char name[28] = {};                // of a backend that is gone

  void add() noexcept { one_thread ? static_cast<void>(++plain_users) : users.add(); }
  int32_t remove() noexcept { return one_thread ? --plain_users : users.remove(); }
  int32_t get() const noexcept { return one_thread ? plain_users : users.get(); }

  /// The backend; null once it, or one that it wraps, is gone.
  Backend* find() const noexcept {
    const BackendState* at = this;
    while (at->backend != nullptr && at->inner != nullptr) at = at->inner;
    return at->backend == nullptr ? nullptr : backend;
  }

  /// Fills in what never changes, unless the backend, or one that it wraps, is gone.
  void learn() noexcept;
  /// The state of metadata_backend(); null for the heap, and when the backend is gone. Learns it.
  virtual BackendState* known_metadata() noexcept;
  /// Memory for metadata; null when there is none, with a text.
  virtual void* allocate_metadata(size_t nbytes) noexcept;
  /// Memory. With 0 bytes it is null, and counts nevertheless.
  /// Errors: OutOfMemory; InvalidState when a backend that it wraps is gone.
  virtual Error allocate(size_t nbytes, size_t alignment, void*& data) noexcept;
  /// Gives it back. It stays allocated when the backend, or one that it wraps, is gone.
  virtual void release(void* data, size_t nbytes) noexcept;

  /// Makes values: by `on_backend`, and where that is null or NotSupported by `on_host`.
  virtual Error produce(const MemoryLocation& out, const char* operation, MakeOnBackend on_backend,
                        MakeOnHost on_host) noexcept;
  /// Writes new memory from the element at `first` on: `element` to all `count` elements or, where
  /// that is null, those that `on_host` writes.
  virtual Error write_row(MemoryLocation&& first, int64_t count, const void* element,
                          MakeRowOnHost on_host) noexcept;
  /// Copies bytes inside of the backend's memory, which the host does not reach.
  virtual Error copy_within(void* dst, const void* src, size_t nbytes) noexcept;
  /// Copies elements between locations, at least one of them in memory that the host does not
  /// reach, this backend's; see CopyingState.
  virtual Error copy(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
                     CastFunction cast) noexcept;
  /// Has a DeviceBackend check memory that came as a pointer.
  virtual Error check_memory(const void* data, ScalarType type, const Layout& layout) noexcept;

 protected:
  ~BackendState() = default;
};

inline void drop_state(BackendState* state) noexcept {
  if (state->remove() == 0 && state->on_heap) heap_release(state);
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
/// The same, on the heap.
template <class State>
BackendState* make_state() noexcept {
  BackendState* const state = make_state<State>(heap_allocate(sizeof(State)), false);
  if (state != nullptr) state->on_heap = true;
  return state;
}

/// BackendState of a backend that is more than host memory, see copy_between.h.
template <class T>
struct CopyingState;

}  // namespace detail
TENON_END_NAMESPACE
