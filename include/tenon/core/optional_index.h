// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/config.h"

TENON_BEGIN_NAMESPACE

/// No axis, no second size: for the optional arguments of iota and eye.
struct None {};
inline constexpr None none{};

/// An axis or a size that may be left out: an integer or `none`.
class OptionalIndex {
 public:
  constexpr OptionalIndex(None) noexcept {}
  constexpr OptionalIndex(int64_t value) noexcept : value_(value), given_(true) {}
  constexpr bool has_value() const noexcept { return given_; }
  constexpr int64_t value_or(int64_t otherwise) const noexcept {
    return given_ ? value_ : otherwise;
  }

 private:
  int64_t value_ = 0;
  bool given_ = false;
};

TENON_END_NAMESPACE
