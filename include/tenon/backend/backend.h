// SPDX-License-Identifier: MIT
// Backend: where memory comes from and how bytes move. docs/backends.md: how to write one.
#pragma once

#include <cstddef>
#include <cstring>

#include "tenon/backend/copy_between.h"  // of which the constructors of backends make a state
#include "tenon/backend/interface.h"

TENON_BEGIN_NAMESPACE

/// A backend over the host's memory, of which tenon's own kernels read and write the elements. A
/// class derived from it says where that memory comes from: name(), allocate() and deallocate().
/// Threads: the copies are those of memcpy.
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

TENON_END_NAMESPACE
