// SPDX-License-Identifier: MIT
// Counted deleters.
#pragma once

namespace tests {

/// Records the calls of a deleter.
struct Calls {
  int count = 0;
  void* argument = nullptr;

  /// A deleter that only records.
  auto deleter() noexcept {
    return [this](void* p) noexcept {
      ++count;
      argument = p;
    };
  }
};

}  // namespace tests
