// SPDX-License-Identifier: MIT
// CallingBackend: a backend whose code uses tensors in the middle of a call.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "tenon/backend/cpu.h"

namespace tests {

/// The host's memory, labelled `label`. Calls `use` once, in the next allocation, or where it is
/// opaque in the next copy within.
struct CallingBackend : tenon::HostMemoryBackend {
  const char* name() const noexcept override { return "calling"; }
  tenon::Device device() const noexcept override { return label; }
  bool is_opaque() const noexcept override { return opaque; }
  void* allocate(size_t nbytes, size_t) noexcept override {
    if (!opaque) call();
    ++blocks;
    return std::malloc(nbytes);
  }
  void deallocate(void* p, size_t) noexcept override {
    --blocks;
    std::free(p);
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    std::memcpy(dst, src, nbytes);
    call();
    return tenon::Error::Ok;
  }
  void call() {
    if (const auto once = std::exchange(use, nullptr)) once();
  }
  std::function<void()> use;
  tenon::Device label;
  bool opaque = false;
  int blocks = 0;
};

}  // namespace tests
