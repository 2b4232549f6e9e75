// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

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

TENON_END_OWN

namespace detail {
using own::TensorView;
}

namespace detail {

/// Whether a copy has its lists.
/// Errors: OutOfMemory.
inline Error check_lists(const TensorView& view) noexcept {
  TENON_TRY(check_dims("sizes", view.sizes));
  return check_dims("strides", view.strides);
}

}  // namespace detail

#if TENON_ATEN_MODE
/// As above, with c10's ScalarType.
struct TensorView {
  void* data = nullptr;
  ScalarType type = ScalarType::Undefined;
  Device device;
  Dims sizes;
  Dims strides;
};

namespace detail {

inline TensorView own_view(const tenon::TensorView& view) noexcept {
  return {view.data, own_type(view.type), view.device, view.sizes, view.strides};
}
inline tenon::TensorView public_view(const TensorView& view) noexcept {
  return {view.data, public_type(view.type), view.device, view.sizes, view.strides};
}

}  // namespace detail
#else
namespace detail {

inline const TensorView& own_view(const TensorView& view) noexcept { return view; }
inline TensorView public_view(TensorView&& view) noexcept { return std::move(view); }
inline const TensorView& public_view(const TensorView& view) noexcept { return view; }

}  // namespace detail
#endif

TENON_END_NAMESPACE
