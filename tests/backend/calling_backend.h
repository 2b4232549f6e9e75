// SPDX-License-Identifier: MIT
// CallingBackend: a backend whose code uses tensors in the middle of a call.
#pragma once

#include <cstdlib>
#include <functional>
#include <utility>

#include "tenon/backend/cpu.h"

namespace tests {

/// The host's memory, labelled `label`. Calls `use` once, in the next allocation.
struct CallingBackend final : tenon::HostMemoryBackend {
  const char* name() const noexcept override { return "calling"; }
  tenon::Device device() const noexcept override { return label; }
  void* allocate(size_t nbytes, size_t) noexcept override {
    if (const auto once = std::exchange(use, nullptr)) once();
    return std::malloc(nbytes);
  }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
  std::function<void()> use;
  tenon::Device label;
};

}  // namespace tests
