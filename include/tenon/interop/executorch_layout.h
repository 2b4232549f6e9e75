// SPDX-License-Identifier: MIT
// A tensor's shape and memory as ExecuTorch describes them: with 32-bit sizes, for what is dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/executorch_error.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/tensor_arg.h"

#if defined(TENON_HAS_EXECUTORCH)

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// What becomes of a read-only tensor: ExecuTorch's can all be written to.
enum class ReadOnly : uint8_t {
  Refuse,  ///< an error
  Pass,    ///< for who only reads
};

/// What a TensorImpl of ExecuTorch's is made of, and the lists that it refers to. Allocates
/// nothing.
struct ExecutorchLayout {
  using Size = ::executorch::aten::SizesType;
  using Stride = ::executorch::aten::StridesType;

  static constexpr size_t kMaxRank = ::executorch::runtime::kTensorDimensionLimit;
  static constexpr int64_t kMaxSize = std::numeric_limits<Size>::max();
  static_assert(std::is_same_v<Size, Stride>);

  // Nothing is set: make_executorch_layout() does.
  ExecutorchLayout() noexcept {}  // NOLINT(modernize-use-equals-default)

  Size sizes[kMaxRank];
  Stride strides[kMaxRank];
  ::executorch::aten::DimOrderType dim_order[kMaxRank];
  uint8_t rank;
  ::executorch::aten::ScalarType type;
  ::executorch::aten::TensorShapeDynamism dynamism;
  ::executorch::aten::DeviceType device_type;
  ::executorch::runtime::etensor::DeviceIndex device_index;
  void* data;

  /// Refers to the lists: this must stay where it is for as long.
  ::executorch::aten::TensorImpl make_impl() noexcept {
    return {type, rank, sizes, data, dim_order, strides, dynamism, device_type, device_index};
  }
};

// The values cross by a cast.
static_assert(static_cast<int>(ScalarType::BFloat16) ==
              static_cast<int>(::executorch::aten::ScalarType::BFloat16));
static_assert(static_cast<int>(ScalarType::UInt64) ==
              static_cast<int>(::executorch::aten::ScalarType::UInt64));
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_UNBOUND) ==
              static_cast<int>(::executorch::aten::TensorShapeDynamism::DYNAMIC_UNBOUND));

/// ExecuTorch knows the host, and CUDA's devices.
inline Error put_executorch_device(const TensorFields& from, ExecutorchLayout& layout) noexcept {
  if (from.is_host_accessible()) {
    layout.device_type = ::executorch::aten::DeviceType::CPU;
    layout.device_index = 0;
    return Error::Ok;
  }
  if (TENON_UNLIKELY(from.device.is_host_accessible())) {
    return fail(Error::NotSupported,
                {"the tensor is in memory on ", from.device, " that only its backend reaches"});
  }
  if (TENON_UNLIKELY(!from.device.is_cuda() || from.device.index() > INT8_MAX)) {
    return fail(Error::NotSupported, {"ExecuTorch has no device ", from.device});
  }
  layout.device_type = ::executorch::aten::DeviceType::CUDA;
  layout.device_index =
      static_cast<::executorch::runtime::etensor::DeviceIndex>(from.device.index());
  return Error::Ok;
}

/// Copies the shape. Strides that mean nothing, of a size-1 dimension and of a shape without
/// elements, become those that its dim order implies, which ExecuTorch expects.
inline Error put_executorch_shape(const Layout& from, ExecutorchLayout& layout) noexcept {
  const size_t rank = from.sizes.size();
  if (TENON_UNLIKELY(rank > ExecutorchLayout::kMaxRank)) {
    return fail(Error::NotSupported, {"the tensor has ", rank, " dimensions, ExecuTorch's at most ",
                                      ExecutorchLayout::kMaxRank});
  }
  layout.rank = static_cast<uint8_t>(rank);
  int64_t stride = 1;
  bool fits = true;
  for (size_t i = rank; i-- > 0;) {
    const DimOrderType d = from.dim_order[i];
    const int64_t size = from.sizes[d];
    fits = fits && size <= ExecutorchLayout::kMaxSize && stride <= ExecutorchLayout::kMaxSize;
    if (TENON_UNLIKELY(from.strides[d] != stride && size != 1 && from.numel != 0)) {
      return fail(Error::NotSupported,
                  {"strides ", from.strides, " of sizes ", from.sizes,
                   " are not dense, which ExecuTorch's have to be; contiguous() makes a copy"});
    }
    layout.sizes[d] = static_cast<ExecutorchLayout::Size>(size);
    layout.strides[d] = static_cast<ExecutorchLayout::Stride>(stride);
    layout.dim_order[i] = d;
    if (size != 0) stride *= size;  // fits, as make_layout() has seen to
  }
  if (TENON_UNLIKELY(!fits)) {
    return fail(Error::NotSupported, {"sizes ", from.sizes,
                                      " or their strides are beyond 32 bits, which ExecuTorch's "
                                      "have"});
  }
  return Error::Ok;
}

/// Describes a tensor for ExecuTorch.
///
/// Ownership: none; the memory must stay.
/// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (read-only and
/// refused; strides that are not dense in some dim order; more dimensions than kMaxRank; a size or
/// stride of more than 32 bits; a device that ExecuTorch does not know, a template).
TENON_LAZY Error make_executorch_layout(const TensorArg& source, ReadOnly readonly,
                                        ExecutorchLayout& layout) noexcept {
  TENON_TRY(check_defined(source, "the tensor"));
  const TensorFields& from = fields(source);
  if (TENON_UNLIKELY(from.readonly && readonly == ReadOnly::Refuse)) {
    return fail(Error::NotSupported,
                {"the tensor is read-only, and ExecuTorch has no read-only tensors; "
                 "clone_tensor_ptr() makes a writable copy"});
  }
  TENON_TRY(check_has_data(from));
  TENON_TRY(put_executorch_device(from, layout));
  TENON_TRY(put_executorch_shape(from.layout, layout));
  layout.type = static_cast<::executorch::aten::ScalarType>(from.type);
  layout.dynamism = static_cast<::executorch::aten::TensorShapeDynamism>(from.dynamism);
  layout.data = from.data;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
