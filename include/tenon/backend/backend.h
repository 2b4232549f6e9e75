// SPDX-License-Identifier: MIT
// The classes that a backend is derived from: Backend, DeviceBackend, HostMemoryBackend and
// WrapperBackend. docs/backends.md: how to write one.
#pragma once

#include <cstddef>
#include <cstring>

#include "tenon/backend/copy_between.h"  // the constructors make its CopyingState
#include "tenon/backend/interface.h"

TENON_BEGIN_NAMESPACE

/// A backend over host memory: tenon's kernels read and write the elements. A derived class
/// implements name(), allocate() and deallocate().
/// Threads: any for copies, which call memcpy.
class TENON_EXPORT HostMemoryBackend : public Backend {
 public:
  Device device() const noexcept override { return Device(); }
  bool is_opaque() const noexcept override { return false; }
  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    return HostMemoryBackend::copy_from_host(dst, src, nbytes);
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return HostMemoryBackend::copy_from_host(dst, src, nbytes);
  }
  Error synchronize() override { return Error::Ok; }

 protected:
  using Backend::Backend;
};

/// Passes memory, copies of bytes and on_made() on to the backend that it wraps. Element copies and
/// fills go to base(); init() sets options of the wrapper. A derived class overrides name(), and
/// allocate() and deallocate() as a pair.
/// Ownership: borrows the wrapped backend, which must outlive the wrapper. If it is destroyed
/// first, the failure handler is called; dropping the wrapper's tensors is then safe, but leaks
/// their memory.
/// Threads: those that the wrapped backend allows.
class TENON_EXPORT WrapperBackend : public Backend {
 public:
  Device device() const noexcept override { return inner_.device(); }
  bool is_opaque() const noexcept override { return inner_.is_opaque(); }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return inner_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { inner_.deallocate(p, nbytes); }
  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    return inner_.copy_from_host(dst, src, nbytes);
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    return inner_.copy_to_host(dst, src, nbytes);
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return inner_.copy_within(dst, src, nbytes);
  }
  Error synchronize() override { return inner_.synchronize(); }
  Backend& base() noexcept override { return inner_.base(); }
  DeviceBackend* as_device() noexcept override {
    Backend& asked = base();
    return &asked == this ? nullptr : asked.as_device();
  }
  Backend* metadata_backend() noexcept override { return inner_.metadata_backend(); }
  void on_made(const MadeTensor& tensor) noexcept override { inner_.on_made(tensor); }

  /// The wrapped backend.
  Backend& inner() const noexcept { return inner_; }

 protected:
  template <class = void>  // compiles CopyingState only if it is used
  explicit WrapperBackend(Backend& inner_backend) noexcept : inner_(inner_backend) {
    count_as_wrapper();
  }
  /// Whether the wrapped backend still exists; for destructors that return memory to it.
  bool has_inner() const noexcept {
    const detail::BackendState* const state = detail::BackendAccess::state(*this);
    return state == nullptr || state->is_alive();
  }

 private:
  void count_as_wrapper() noexcept {
    detail::BackendState* const state = detail::BackendAccess::state(*this);
    if (state != nullptr) state->inner = detail::state_of(inner_);
    if (state == nullptr || state->inner == nullptr) return;
    state->inner->add();
    state->inner->wrappers.add();
  }

  Backend& inner_;
};

TENON_END_NAMESPACE
