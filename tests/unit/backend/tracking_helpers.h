// SPDX-License-Identifier: MIT
// A tracker of blocks described as tensors.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/tracking.h"

namespace tests {

/// A tracker of host memory. Blocks still in use go with it.
struct TrackedBackend {
  tenon::CpuBackend cpu;
  tenon::TrackingBackend backend{cpu};

  ~TrackedBackend() {
    for (const tenon::MemoryLeak& leak : backend.leaks()) {
      backend.deallocate(const_cast<void*>(leak.address), leak.nbytes);
    }
  }
  /// A tensor of Floats, as a creator makes it.
  void* make(const tenon::Dims& sizes, const char* function = "empty") {
    size_t nbytes = sizeof(float);
    for (int64_t size : sizes) nbytes *= static_cast<size_t>(size);
    void* const data = backend.allocate(nbytes, 64);
    backend.on_made({data, tenon::ScalarType::Float, sizes, sizes, function});
    return data;
  }
  void drop(void* p, size_t nbytes) { backend.deallocate(p, nbytes); }

  /// The Chrome trace, from a file. Tests run side by side, each in a process.
  std::string trace() const {
    const std::string path = std::to_string(::getpid()) + "-tracking";
    REQUIRE(backend.write_chrome_trace(path) == tenon::Error::Ok);
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    std::remove(path.c_str());
    return text.str();
  }
};

}  // namespace tests
