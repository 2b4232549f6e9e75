// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/device.h"
#include "tenon/core/layout.h"

TENON_BEGIN_NAMESPACE

/// Describes memory without owning it; kernels and backends work on it.
///
/// Ownership: none; the code that makes a view keeps the memory alive. `data` is element 0, which
/// with a negative stride is not the lowest address. Strides are in elements.
struct TensorView {
  void* data = nullptr;
  ScalarType type = ScalarType::Undefined;
  Device device;
  Dims sizes;
  Dims strides;
};

namespace detail {

/// Whether a copy has its lists.
/// Errors: OutOfMemory.
inline Error check_lists(const TensorView& view) noexcept {
  TENON_TRY(check_dims("sizes", view.sizes));
  return check_dims("strides", view.strides);
}

}  // namespace detail

TENON_END_NAMESPACE
