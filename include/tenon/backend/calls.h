// SPDX-License-Identifier: MIT
// How tenon calls a backend: what it throws becomes an error, what it gave is counted, and every
// message says which backend it was. And metadata, which lies on the heap or in a backend's memory.
#pragma once

#include <new>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/memory.h"

#if TENON_HAS_EXCEPTIONS
#include <exception>
#endif

TENON_BEGIN_NAMESPACE
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

/// Where elements are, and the backend that reads and writes them; null for the host.
struct MemoryLocation {
  TensorView view;
  Backend* backend = nullptr;
};

/// What is done with a backend. Reached through the backend, so that a program without one does not
/// link it. known_state() sets kMemoryHooks; enlist() sets all hooks, but those alone for a backend
/// that is_host_memory_only_v.
struct BackendHooks {
  BackendState* (*state)(Backend&) noexcept;
  BackendState* (*metadata)(Backend&) noexcept;  // where its tensors keep theirs; null for the heap
  Error (*allocate)(Backend&, BackendState*, size_t nbytes, void*& data) noexcept;
  void (*release)(BackendState*, void* data, size_t nbytes) noexcept;
  void* (*allocate_metadata)(BackendState* origin, size_t nbytes) noexcept;
  void (*release_metadata)(BackendState* origin, char* p) noexcept;
  Error (*produce)(Backend* asked, const MemoryLocation& out, const char* operation,
                   FunctionRef<Error(Backend&, const tenon::TensorView&)> ask,
                   FunctionRef<Error(const TensorView&)> make) noexcept;
  Error (*copy_within)(Backend&, void* dst, const void* src, size_t nbytes) noexcept;
  Error (*write_row)(Backend&, MemoryLocation&& first, int64_t count, const void* element,
                     FunctionRef<Error(void*)> make) noexcept;
  // Null where the host copies.
  Error (*copy)(const MemoryLocation& to, const MemoryLocation& from, CastMode,
                CastFunction) noexcept = nullptr;
  // Of memory that came as a pointer. Null where nobody checks it.
  Error (*check_memory)(Backend&, const void* lowest, size_t nbytes) noexcept = nullptr;
};

/// Takes the thread's last text away for the length of a call, to see whether the call leaves one;
/// puts it back when that went well.
class ErrorTextGuard {
 public:
  ErrorTextGuard() noexcept : first_(last_error().text[0]) { last_error().text[0] = '\0'; }
  void put_back() const noexcept {
    char& first = last_error().text[0];
    if (first == '\0') first = first_;
  }

 private:
  char first_;
};

/// Puts the backend and what it was to do in front of the text that it left, if any.
TENON_COLD inline Error blame_backend(Backend& backend, const char* operation,
                                      Error error) noexcept {
  const char* const text = last_error().text;
  return fail(error, "backend ", backend.name(), " failed in ", operation,
              *text == '\0' ? "" : ": ", text);
}

/// Calls a function, of which whatever it throws becomes an error.
template <class Call>
Error call_safely(const Call& call) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
    return call();
  } catch (const Exception& e) {
    return fail(e.error(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, "std::bad_alloc");
  } catch (const std::exception& e) {
    return fail(Error::Internal, e.what());
  } catch (...) {
    return fail(Error::Internal, "it threw something that is no std::exception");
  }
#else
  return call();
#endif
}

/// Calls a function that takes memory from operator new. False when memory was out, or there is no
/// heap; the thread's last text stays.
template <class Call>
bool has_memory_for([[maybe_unused]] const Call& call) noexcept {
#if !TENON_HEAP
  return false;
#else
#if TENON_HAS_EXCEPTIONS
  try {
    call();
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  call();
#endif
  return true;
#endif
}

/// Calls a function of the backend's. Errors name the backend and the operation, but for
/// NotSupported of an optional one.
template <class Call>
Error ask(Backend& backend, const char* operation, const Call& call,
          bool is_optional = false) noexcept {
  const ErrorTextGuard text;
  const Error error = call_safely(call);
  if (TENON_UNLIKELY(error != Error::Ok && !(is_optional && error == Error::NotSupported))) {
    return blame_backend(backend, operation, error);
  }
  text.put_back();
  return error;
}

/// Calls an optional one. False when the backend does not do it; `error` is the outcome else.
template <class Call>
bool ask_optional(Backend& backend, const char* operation, Error& error,
                  const Call& call) noexcept {
  error = ask(backend, operation, call, true);
  return error != Error::NotSupported;
}

inline Error upload(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return ask(backend, "copy_from_host", [&] { return backend.copy_from_host(dst, src, nbytes); });
}
inline Error download(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return ask(backend, "copy_to_host", [&] { return backend.copy_to_host(dst, src, nbytes); });
}

TENON_COLD inline Error fail_memory(Backend& backend, size_t nbytes) noexcept {
  const char* const text = last_error().text;
  return fail(Error::OutOfMemory, "backend ", backend.name(), " has no memory for ", nbytes,
              " bytes", *text == '\0' ? "" : ": ", text);
}

/// Memory of a backend, for a tensor: aligned like all of tenon's. With 0 bytes it is null, and
/// counts nevertheless. Without a `state` there is none.
/// Errors: OutOfMemory; InvalidState when a backend that it wraps is gone.
inline Error allocate_from(Backend& backend, BackendState* state, size_t nbytes,
                           void*& data) noexcept {
  data = nullptr;
  if (TENON_UNLIKELY(state != nullptr && state->find() == nullptr)) {
    const char* const name = state->name;
    return fail(Error::InvalidState, "backend ", name, *name != '\0' ? " " : "",
                "has no memory, the backend that it wraps was destroyed");
  }
  const ErrorTextGuard guard;
  data = nbytes == 0 ? nullptr : backend.allocate(nbytes, kDataAlignment);
  if (TENON_UNLIKELY(state == nullptr || (data == nullptr && nbytes != 0))) {
    if (data != nullptr) backend.deallocate(std::exchange(data, nullptr), nbytes);
    return fail_memory(backend, nbytes);
  }
  guard.put_back();
  state->add();
  return Error::Ok;
}

/// Gives it back. It stays allocated when the backend, or one that it wraps, is gone.
inline void release_to(BackendState* state, void* data, size_t nbytes) noexcept {
  Backend* const backend = data == nullptr ? nullptr : state->find();
  if (backend != nullptr) backend->deallocate(data, nbytes);
  drop_state(state);
}

/// release_to() as a deleter.
struct ReleaseToBackend {
  BackendState* state;
  size_t nbytes;
  void operator()(void* data) const noexcept { state->live_hooks().release(state, data, nbytes); }
};

/// Right before each block lies its BackendState*, null for the heap, and before that a backend's
/// block's size: operator delete gets only the address. The heap's 8 bytes are free: with them a
/// handle just fills malloc's smallest block.
inline constexpr size_t kMetadataHeader = 8;
struct BlockHeader {
  size_t nbytes;
  BackendState* origin;
};
static_assert(sizeof(BlockHeader) == 2 * sizeof(void*) &&
              sizeof(BlockHeader) % kMetadataHeader == 0);

/// Where a backend's tensors keep theirs; null for the heap, and where the backend is gone.
inline BackendState* metadata_of(const BackendState* state) noexcept {
  return state == nullptr || state->find() == nullptr ? nullptr : state->metadata;
}

/// Memory for metadata in a backend's memory; null when there is none, with a text.
inline void* allocate_metadata_from(BackendState* origin, size_t nbytes) noexcept {
  const size_t total = sizeof(BlockHeader) + nbytes;
  const ErrorTextGuard guard;
  void* const block = origin->backend->allocate(total, kMetadataHeader);
  if (TENON_UNLIKELY(block == nullptr)) {
    static_cast<void>(fail_memory(*origin->backend, total));
    return nullptr;
  }
  guard.put_back();
  origin->add();
  return ::new (block) BlockHeader{total, origin} + 1;
}
inline void release_metadata_to(BackendState* origin, char* p) noexcept {
  auto* const header = static_cast<BlockHeader*>(static_cast<void*>(p)) - 1;
  mark_used(header, header->nbytes);
  release_to(origin, header, header->nbytes);
}

TENON_COLD inline void* fail_metadata() noexcept {
  static_cast<void>(fail_no_memory("a tensor or a module"));
  return nullptr;
}

/// Apart from allocate_metadata(), which every creator has inline.
TENON_COLD inline void* call_allocate_metadata(BackendState* origin, size_t nbytes) noexcept {
  return origin->live_hooks().allocate_metadata(origin, nbytes);
}
/// Memory for metadata, from the heap if `origin` is null; null when there is none, with a text.
inline void* allocate_metadata(size_t nbytes, BackendState* origin) noexcept {
  if (TENON_UNLIKELY(origin != nullptr)) return call_allocate_metadata(origin, nbytes);
  auto* const block = static_cast<char*>(heap_allocate(kMetadataHeader + nbytes));
  if (TENON_UNLIKELY(block == nullptr)) return fail_metadata();
  std::memcpy(block + kMetadataHeader - sizeof(void*), &origin, sizeof(void*));
  return block + kMetadataHeader;
}
/// Releases it.
inline void release_metadata(void* p) noexcept {
  if (p == nullptr) return;
  char* const data = static_cast<char*>(p);
  BackendState* origin = nullptr;
  std::memcpy(&origin, data - sizeof(void*), sizeof(void*));
  if (TENON_UNLIKELY(origin != nullptr)) return origin->live_hooks().release_metadata(origin, data);
  heap_release(data - kMetadataHeader);
}

inline BackendState* known_state(Backend& backend) noexcept;
inline BackendState* known_metadata(Backend& backend) noexcept {
  return metadata_of(known_state(backend));
}

inline Error produce_on_host(Backend*, const MemoryLocation& out, const char*,
                             FunctionRef<Error(Backend&, const tenon::TensorView&)>,
                             FunctionRef<Error(const TensorView&)> make) noexcept {
  return make(out.view);
}
inline Error copy_within_host(Backend&, void* dst, const void* src, size_t nbytes) noexcept {
  std::memcpy(dst, src, nbytes);
  return Error::Ok;
}
inline Error write_row_on_host(Backend&, MemoryLocation&& first, int64_t count, const void*,
                               FunctionRef<Error(void*)> make) noexcept {
  return count == 0 ? Error::Ok : make(first.view.data);
}

/// Those for host memory of a backend that does nothing else, see is_host_memory_only_v.
TENON_EXPORT inline constexpr BackendHooks kMemoryHooks{
    &known_state,     &known_metadata,         &allocate_from,
    &release_to,      &allocate_metadata_from, &release_metadata_to,
    &produce_on_host, &copy_within_host,       &write_row_on_host};

/// The state of a backend, with what never changes filled in; null where there is none. One that
/// wraps a backend which is gone cannot be asked.
inline BackendState* known_state(Backend& backend) noexcept {
  BackendState* const state = BackendAccess::state(backend);
  BackendAccess::set_first_hooks(backend, &kMemoryHooks);
  if (state == nullptr || state->is_known.get() || state->find() == nullptr) {
    return state;
  }
  // Asked without the lock: the backend may use itself, and come back here.
  const Device device = backend.device();
  const bool opaque = backend.is_opaque();
  Backend* const keeper = backend.metadata_backend();
  BackendState* const metadata = keeper == nullptr    ? nullptr
                                 : keeper == &backend ? state
                                                      : known_state(*keeper);
  const char* const text = backend.name();
  const LockGuard<SpinLock> guard(state->lock);
  if (state->is_known.get()) return state;
  state->device = device;
  state->opaque = opaque;
  state->metadata = metadata;
  Message name(state->name, sizeof state->name);
  name.put(text);
  state->is_known.set(true);
  return state;
}

}  // namespace detail
TENON_END_NAMESPACE
