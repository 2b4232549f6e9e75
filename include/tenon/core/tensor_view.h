// SPDX-License-Identifier: MIT
// TensorView: describes a tensor's memory without owning it.
#pragma once

#include "tenon/core/device.h"
#include "tenon/core/layout.h"

TENON_BEGIN_VALUES

/// Describes memory without owning it; kernels and backends work on it.
///
/// Ownership: none, neither of the memory nor of the lists. A tensor's view refers to the lists in
/// its metadata: it is valid until the tensor is destroyed or gets another shape. A backend that
/// uses the lists after its function has returned must copy them, for example to a ViewWithLists.
///
/// `data` is element 0, which with a negative stride is not the lowest address. Strides are in
/// elements.
struct TensorView {
  void* data = nullptr;                     ///< element 0
  ScalarType type = ScalarType::Undefined;  ///< the dtype
  Device device;                            ///< where the memory is
  ArrayRef<int64_t> sizes;                  ///< one size for each dimension
  ArrayRef<int64_t> strides;                ///< in elements, as many as sizes

  /// `type`, under Tensor's name.
  ScalarType dtype() const noexcept { return type; }
  /// `type`, under ATen's name.
  ScalarType scalar_type() const noexcept { return type; }
};

/// A TensorView that owns its lists: for memory that no tensor describes, and for a view that is in
/// use while its tensor's lists may change. Converts to a TensorView, which refers to these lists.
///
/// Ownership: owns the lists, not the memory. If there is no memory for lists of more than
/// TENON_INLINE_DIMS dimensions, the lists are empty, and their error() is OutOfMemory.
struct ViewWithLists {
  void* data = nullptr;                     ///< element 0
  ScalarType type = ScalarType::Undefined;  ///< the dtype
  Device device;                            ///< where the memory is
  Dims sizes;                               ///< one size for each dimension
  Dims strides;                             ///< in elements, as many as sizes

  /// `type`, under Tensor's name.
  ScalarType dtype() const noexcept { return type; }
  /// `type`, under ATen's name.
  ScalarType scalar_type() const noexcept { return type; }
  /// A view that refers to these lists.
  operator TensorView() const& noexcept TENON_LIFETIMEBOUND {
    return {data, type, device, sizes, strides};
  }
  operator TensorView() const&& = delete;  // the view would refer to a temporary's lists
};

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks that a copy's lists were allocated.
/// Errors: OutOfMemory.
TENON_TEMPLATE_INLINE Error check_lists(const ViewWithLists& view) noexcept {
  TENON_TRY(check_dims("sizes", view.sizes));
  return check_dims("strides", view.strides);
}
/// Makes `view` refer to copies of its lists.
/// Errors: OutOfMemory.
TENON_TEMPLATE_INLINE Error copy_lists(TensorView& view, ViewWithLists& copy) noexcept {
  copy = {view.data, view.type, view.device, view.sizes, view.strides};
  TENON_TRY(check_lists(copy));
  view = copy;
  return Error::Ok;
}

}  // namespace detail

TENON_END_NAMESPACE
