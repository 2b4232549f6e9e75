// SPDX-License-Identifier: MIT
// Backends to track, a clock that stands still, and blocks described as tensors.
#pragma once

#include <unistd.h>
#include <cstddef>
#include <cstdint>

#include <cstdio>
#include <string>

#include "tenon/backend/cpu.h"
#include "tenon/backend/tracking.h"

namespace tests {

/// What the clock of trackers made with clock() says.
inline uint64_t& nanoseconds() {
  static uint64_t now = 0;
  return now;
}
/// Sets the clock to 1 s.
inline tenon::detail::TrackingClock clock() {
  nanoseconds() = 1'000'000'000;
  return []() noexcept { return nanoseconds(); };
}

/// A tracker of host memory, with a clock to set.
struct TrackedBackend {
  tenon::CpuBackend cpu;
  tenon::TrackingBackend backend{cpu, clock()};

  /// A tensor of Floats, as a creator makes it.
  void* make(const tenon::Dims& sizes, const char* function = "empty") {
    size_t nbytes = sizeof(float);
    for (int64_t size : sizes) nbytes *= static_cast<size_t>(size);
    tenon::TensorView view;
    view.data = backend.allocate(nbytes, 64);
    view.type = tenon::ScalarType::Float;
    view.sizes = sizes;
    if (view.data != nullptr)
      backend.on_made({view.data, view.type, view.sizes, view.strides, function});
    return view.data;
  }
  void drop(void* p, size_t nbytes) { backend.deallocate(p, nbytes); }
  /// Lets time pass.
  static void wait(uint64_t microseconds) { nanoseconds() += 1000 * microseconds; }
};

/// A file of the test's own in the current folder, removed in the end. Tests run side by side, each
/// in a process.
struct TemporaryFile {
  explicit TemporaryFile(const char* name) : path(std::to_string(::getpid()) + "-" + name) {}
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string read() const {
    std::string text;
    if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
      char buffer[4096];
      for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) != 0;) {
        text.append(buffer, n);
      }
      std::fclose(file);
    }
    return text;
  }
  std::string path;
};

}  // namespace tests
