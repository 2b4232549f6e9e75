// SPDX-License-Identifier: MIT
// Calls of a backend: exceptions become errors, blocks are counted, and messages name the backend.
#pragma once

#include <new>

#include "tenon/backend/interface.h"
#include "tenon/backend/metadata.h"
#include "tenon/backend/state.h"

#if TENON_HAS_EXCEPTIONS
#include <exception>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Hides the thread's last error text during a call, so that a text found after the call was
/// written by it. put_back() restores the old text after a call that succeeded. If something failed
/// inside that call, its text stays the thread's last text, but no later error uses it.
class ErrorTextGuard {
 public:
  ErrorTextGuard() noexcept : first_(last_error().text[0]) { last_error().text[0] = '\0'; }
  void put_back() const noexcept {
    LastError& last = last_error();
    if (last.text[0] == '\0') {
      last.text[0] = first_;
    } else {
      last.is_taken = true;
    }
  }

 private:
  char first_;
};

/// Saves the thread's last error, and restores it when destroyed. For destructors, which run before
/// the caller reads the error.
class KeepLastError {
 public:
  KeepLastError() noexcept : error_(last_error().error), is_taken_(last_error().is_taken) {
    std::memcpy(text_, last_error().text, sizeof text_);
  }
  KeepLastError(const KeepLastError&) = delete;
  KeepLastError& operator=(const KeepLastError&) = delete;
  ~KeepLastError() {
    LastError& last = last_error();
    std::memcpy(last.text, text_, sizeof text_);
    last.error = error_;
    last.is_taken = is_taken_;
  }

 private:
  char text_[kMessageCapacity];
  Error error_;
  bool is_taken_;
};

/// Prefixes the backend's error text with the names of the backend and the operation.
inline Error name_backend(Backend& backend, const char* operation, Error error) noexcept {
  const char* const text = text_of(error);
  return fail(error, "backend ", backend.name(), " failed in ", operation,
              *text == '\0' ? "" : ": ", text);
}

/// Calls a function, and turns exceptions into errors.
template <class Call>
Error catch_errors(const Call& call) noexcept {
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
    return fail(Error::Internal, "it threw something that is not a std::exception");
  }
#else
  return call();
#endif
}

/// Calls foreign code, or code that may throw. On failure the thread's text is the text that the
/// code set, or the error's name if it set none.
template <class Call>
Error call_safely(const Call& call) noexcept {
  const ErrorTextGuard text;
  const Error error = catch_errors(call);
  if (error != Error::Ok) return fail(error, message_of(error));
  text.put_back();
  return error;
}

/// Calls a function that uses operator new. Returns false if the function threw std::bad_alloc.
/// With TENON_HEAP=0 it returns false without the call. Keeps the thread's last text.
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

/// Calls a function of the backend. The texts of errors name the backend and the operation, but for
/// NotSupported from an optional function.
template <class Call>
Error call_backend(Backend& backend, const char* operation, const Call& call,
                   bool is_optional = false) noexcept {
  const ErrorTextGuard text;
  const Error error = catch_errors(call);
  if (error != Error::Ok && !(is_optional && error == Error::NotSupported)) {
    return name_backend(backend, operation, error);
  }
  text.put_back();
  return error;
}

/// Calls an optional function. Returns false if the backend does not support it; else `error` is
/// the function's result.
template <class Call>
bool call_optional(Backend& backend, const char* operation, Error& error,
                   const Call& call) noexcept {
  error = call_backend(backend, operation, call, true);
  return error != Error::NotSupported;
}

inline Error upload(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return call_backend(backend, "copy_from_host",
                      [&] { return backend.copy_from_host(dst, src, nbytes); });
}
inline Error download(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return call_backend(backend, "copy_to_host",
                      [&] { return backend.copy_to_host(dst, src, nbytes); });
}

// --- Memory of a backend ------------------------------------------------------------------------

inline Error fail_no_memory(Backend& backend, size_t nbytes) noexcept {
  const LastError& last = last_error();  // allocate() returns no error code
  const char* const text = last.is_taken ? "" : last.text;
  return fail(Error::OutOfMemory, "backend ", backend.name(), " has no memory for ", nbytes,
              " bytes", *text == '\0' ? "" : ": ", text);
}
/// Sets the error and text of a backend without a state.
inline Error fail_stateless(Backend& backend, size_t nbytes) noexcept {
  const ErrorTextGuard guard;
  void* const data = nbytes == 0 ? nullptr : backend.allocate(nbytes, kDataAlignment);
  if (data != nullptr) backend.deallocate(data, nbytes);
  return fail_no_memory(backend, nbytes);
}

// --- The state of a backend ---------------------------------------------------------------------

/// The state of a backend, after learn(); null for the host's heap, and if the state's allocation
/// failed.
inline BackendState* state_of(Backend& backend) noexcept {
  BackendState* const state = BackendAccess::state(backend);
  if (state != nullptr) state->learn();
  return state;
}
/// The backend for the metadata of tensors and modules made with a backend; null for the heap.
inline BackendState* metadata_backend_for(Backend* backend) noexcept {
  BackendState* const state = backend == nullptr ? nullptr : state_of(*backend);
  return state != nullptr && state->is_alive() ? state->metadata_backend : nullptr;
}

/// The state of a backend of plain host memory.
template <class T>
struct MemoryState : BackendState {
  void learn() noexcept override {
    if (is_known.get() || !is_alive()) return;
    // Called without the lock: these functions may make a tensor in the backend, which calls
    // learn() again.
    const Device new_device = backend->device();
    const bool new_opaque = backend->is_opaque();
    Backend& new_base = backend->base();
    Backend* const metadata = backend->metadata_backend();
    BackendState* const new_metadata_backend = metadata == nullptr   ? nullptr
                                               : metadata == backend ? this
                                                                     : state_of(*metadata);
    const char* const new_name = backend->name();
    const LockGuard<SpinLock> guard(lock);
    if (is_known.get()) return;
    device = new_device;
    opaque = new_opaque;
    base = &new_base;
    metadata_backend = new_metadata_backend;
    Message(name, sizeof name).put(new_name);
    is_known.set(true);
  }

  Error allocate(size_t nbytes, size_t alignment, void*& data) noexcept override {
    data = nullptr;
    if (!is_alive()) {
      return fail(Error::InvalidState, "backend ", name, *name != '\0' ? " " : "",
                  "has no memory, and the backend that it wraps was destroyed");
    }
    const ErrorTextGuard guard;
    if (nbytes != 0) data = backend->allocate(nbytes, alignment);
    if (data == nullptr && nbytes != 0) return fail_no_memory(*backend, nbytes);
    guard.put_back();
    add();
    return Error::Ok;
  }

  void deallocate(void* data, size_t nbytes) noexcept override {
    if (is_alive()) backend->deallocate(data, nbytes);
  }

  void* allocate_metadata(size_t nbytes) noexcept override {
    const size_t total = sizeof(BlockHeader) + nbytes;
    void* block = nullptr;
    if (allocate(total, kMetadataHeader, block) != Error::Ok) return nullptr;
    return ::new (block) BlockHeader{total, this} + 1;
  }

  Error check_pointer(const void*, ScalarType, const Layout&) noexcept override {
    return Error::Ok;
  }
  // Never called: the host fills and copies this memory.
  Error fill(void*, ScalarType, const Layout&, int64_t, const char*, const FillByBackend&,
             const FillByHost&) noexcept override {
    return Error::NotSupported;
  }
  Error copy_within(void*, const void*, size_t) noexcept override { return Error::NotSupported; }
  Error copy(const MemoryLocation&, const MemoryLocation&, CastMode,
             CastFunction) noexcept override {
    return Error::NotSupported;
  }

 protected:
  ~MemoryState() = default;
};

}  // namespace detail
TENON_END_NAMESPACE
