// SPDX-License-Identifier: MIT
// How tenon calls a backend: what it throws becomes an error, what it gave is counted, and every
// message says which backend it was.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"

#if TENON_HAS_EXCEPTIONS
#include <exception>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Takes the thread's last text away for the length of a call, to see whether the call leaves one;
/// puts it back when that went well.
class ErrorTextGuard {
 public:
  ErrorTextGuard() noexcept : first_(error_text().text[0]) { error_text().text[0] = '\0'; }
  void put_back() const noexcept {
    char& first = error_text().text[0];
    if (first == '\0') first = first_;
  }

 private:
  char first_;
};

/// Puts the backend and what it was to do in front of the text that it left, if any.
TENON_COLD inline Error blame_backend(Backend& backend, const char* operation,
                                      Error error) noexcept {
  const char* const text = error_text().text;
  return fail(error, {"backend ", backend.name(), " failed in ", operation,
                      *text == '\0' ? "" : ": ", text});
}

/// Calls a function, of which whatever it throws becomes an error.
template <class Call>
Error call_safely(const Call& call) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
    return call();
  } catch (const Exception& e) {
    return fail(e.error(), {e.what()});
  } catch (const std::bad_alloc&) {
    return fail(Error::OutOfMemory, {"std::bad_alloc"});
  } catch (const std::exception& e) {
    return fail(Error::Internal, {e.what()});
  } catch (...) {
    return fail(Error::Internal, {"it threw something that is no std::exception"});
  }
#else
  return call();
#endif
}

/// Calls a function of the backend's.
template <class Call>
Error ask_unblamed(const Call& call) noexcept {
  const ErrorTextGuard text;
  const Error error = call_safely(call);
  if (error == Error::Ok) text.put_back();
  return error;
}

/// One of those that every backend has.
template <class Call>
Error ask(Backend& backend, const char* operation, const Call& call) noexcept {
  const Error error = ask_unblamed(call);
  return TENON_UNLIKELY(error != Error::Ok) ? blame_backend(backend, operation, error) : error;
}

/// One of the optional ones. False when the backend does not do it; `error` is the outcome else.
template <class Call>
bool ask_optional(Backend& backend, const char* operation, Error& error,
                  const Call& call) noexcept {
  const ErrorTextGuard text;
  error = call_safely(call);
  if (error == Error::Ok || error == Error::NotSupported) {
    text.put_back();
    return error == Error::Ok;
  }
  error = blame_backend(backend, operation, error);
  return true;
}

inline Error upload(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return ask(backend, "copy_from_host", [&] { return backend.copy_from_host(dst, src, nbytes); });
}
inline Error download(Backend& backend, void* dst, const void* src, size_t nbytes) noexcept {
  return ask(backend, "copy_to_host", [&] { return backend.copy_to_host(dst, src, nbytes); });
}

/// Memory of a backend, for a tensor: aligned like all of tenon's. With 0 bytes it is null, and
/// counts nevertheless. Without a `state` there is none.
/// Errors: OutOfMemory; InvalidState when a backend that it wraps is gone.
inline Error allocate_from(Backend& backend, BackendState* state, size_t nbytes,
                           void*& data) noexcept {
  data = nullptr;
  if (TENON_UNLIKELY(state != nullptr && state->find() == nullptr)) {
    const char* const name = state->name;
    return fail(Error::InvalidState, {"backend ", *name == '\0' ? "that wraps another" : name,
                                      " has no memory, its own backend was destroyed"});
  }
  const ErrorTextGuard guard;
  data = nbytes == 0 ? nullptr : backend.allocate(nbytes, kDataAlignment);
  if (TENON_UNLIKELY(state == nullptr || (data == nullptr && nbytes != 0))) {
    if (data != nullptr) backend.deallocate(std::exchange(data, nullptr), nbytes);
    const char* const text = error_text().text;
    return fail(Error::OutOfMemory, {"backend ", backend.name(), " has no memory for ", nbytes,
                                     " bytes", *text == '\0' ? "" : ": ", text});
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

/// That as a tensor's deleter.
struct ReleaseToBackend {
  BackendState* state;
  size_t nbytes;
  void operator()(void* data) const noexcept { release_to(state, data, nbytes); }
};

}  // namespace detail
TENON_END_NAMESPACE
