// SPDX-License-Identifier: MIT
// ExecuTorch's errors and dtypes as tenon's, and a tensor as ExecuTorch describes one: 32-bit
// sizes, dense.
//
// What its runtime logs beside an error goes to the program's platform layer, by default to stderr.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE  // Its headers mean at::Tensor by Tensor then, and want another build of it.
#error "tenon: interop/executorch.h is for plain mode; build without USE_ATEN_LIB"
#elif !__has_include(<executorch/runtime/core/error.h>)
#error "tenon: interop/executorch.h needs ExecuTorch's headers in the include path"
#endif

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The error here. For a broken program or broken data: InvalidArgument.
constexpr Error own_error(::executorch::runtime::Error error) noexcept {
  using Theirs = ::executorch::runtime::Error;
  switch (error) {
    case Theirs::Ok: return Error::Ok;
    case Theirs::InvalidState:
    case Theirs::EndOfMethod:
    case Theirs::AlreadyLoaded:
    case Theirs::RegistrationAlreadyRegistered:
    case Theirs::DelegateInvalidHandle: return Error::InvalidState;
    case Theirs::NotSupported:
    case Theirs::NotImplemented:
    case Theirs::OperatorMissing:
    case Theirs::RegistrationExceedingMaxKernels:
    case Theirs::DelegateInvalidCompatibility: return Error::NotSupported;
    case Theirs::InvalidArgument:
    case Theirs::InvalidProgram:
    case Theirs::InvalidExternalData: return Error::InvalidArgument;
    case Theirs::InvalidType: return Error::InvalidType;
    case Theirs::NotFound: return Error::NotFound;
    case Theirs::AccessFailed: return Error::AccessFailed;
    case Theirs::MemoryAllocationFailed:
    case Theirs::OutOfResources:
    case Theirs::DelegateMemoryAllocationFailed: return Error::OutOfMemory;
    case Theirs::Internal: break;
  }
  return Error::Internal;
}

/// Ok, or the error with the message "<what>: ExecuTorch says InvalidArgument".
template <class... Parts>
Error check_executorch(::executorch::runtime::Error error, const Parts&... what) noexcept {
  if (error == ::executorch::runtime::Error::Ok) return Error::Ok;
  const char* const name = ::executorch::runtime::to_string(error);  // "Error::InvalidArgument"
  return fail(own_error(error), what..., ": ExecuTorch says ", name + (sizeof "Error::" - 1));
}

// Both have the same numbers.
static_assert(static_cast<int>(ScalarType::BFloat16) ==
              static_cast<int>(::executorch::aten::ScalarType::BFloat16));
static_assert(static_cast<int>(ScalarType::UInt64) ==
              static_cast<int>(::executorch::aten::ScalarType::UInt64));
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_UNBOUND) ==
              static_cast<int>(::executorch::aten::TensorShapeDynamism::DYNAMIC_UNBOUND));

/// Errors: NotSupported for quantised and packed dtypes.
inline Error own_dtype(::executorch::aten::ScalarType from, ScalarType& to) noexcept {
  to = static_cast<ScalarType>(from);
  if (isValidType(to)) return Error::Ok;
  return fail(Error::NotSupported, "tenon has no dtype for ExecuTorch's number ",
              static_cast<int>(from));
}

/// What a TensorImpl of ExecuTorch's is made of, and the lists that it refers to. Allocates
/// nothing.
struct ExecutorchLayout {
  using Size = ::executorch::aten::SizesType;
  static constexpr size_t kMaxRank = ::executorch::runtime::kTensorDimensionLimit;
  static_assert(std::is_same_v<Size, ::executorch::aten::StridesType>);

  // Nothing is set: make_executorch_layout() does.
  ExecutorchLayout() noexcept {}  // NOLINT(modernize-use-equals-default)

  Size sizes[kMaxRank];
  Size strides[kMaxRank];
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

/// Describes a tensor for ExecuTorch, which knows the host's memory and CUDA's. Strides that mean
/// nothing, of a size-1 dimension and of a shape without elements, become those of its dim order.
///
/// Ownership: none; the memory must stay.
/// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (strides that are not
/// dense in some dim order; more dimensions than kMaxRank; a size or stride of more than 32 bits;
/// another device, a template).
TENON_LAZY Error make_executorch_layout(const TensorArg& source,
                                        ExecutorchLayout& layout) noexcept {
  using Theirs = ::executorch::aten::DeviceType;
  TENON_TRY(check_defined(source, "the tensor"));
  const TensorFields& from = fields(source);
  TENON_TRY(check_has_data(from));
  const bool is_host = from.is_host_accessible();
  if (TENON_UNLIKELY(!is_host && (!from.device.is_cuda() || from.device.index() > INT8_MAX))) {
    return fail(Error::NotSupported, "ExecuTorch has no device ", from.device,
                from.opaque ? " with memory that only a backend reaches" : "");
  }
  layout.device_type = is_host ? Theirs::CPU : Theirs::CUDA;
  layout.device_index =
      static_cast<::executorch::runtime::etensor::DeviceIndex>(is_host ? 0 : from.device.index());
  const Layout& shape = from.layout;
  const size_t rank = shape.sizes.size();
  if (TENON_UNLIKELY(rank > ExecutorchLayout::kMaxRank)) {
    return fail(Error::NotSupported, "the tensor has ", rank, " dimensions, ExecuTorch's at most ",
                ExecutorchLayout::kMaxRank);
  }
  constexpr int64_t kMost = std::numeric_limits<ExecutorchLayout::Size>::max();
  int64_t stride = 1;
  bool fits = true;
  for (size_t i = rank; i-- > 0;) {
    const DimOrderType d = shape.dim_order[i];
    const int64_t size = shape.sizes[d];
    fits = fits && size <= kMost && stride <= kMost;
    if (TENON_UNLIKELY(shape.strides[d] != stride && size != 1 && shape.numel != 0)) {
      return fail(Error::NotSupported, "strides ", shape.strides, " of sizes ", shape.sizes,
                  " are not dense, which ExecuTorch's have to be; contiguous() makes a copy");
    }
    layout.sizes[d] = static_cast<ExecutorchLayout::Size>(size);
    layout.strides[d] = static_cast<ExecutorchLayout::Size>(stride);
    layout.dim_order[i] = d;
    if (size != 0) stride *= size;  // fits, as a tensor's shape does
  }
  if (TENON_UNLIKELY(!fits)) {
    return fail(Error::NotSupported, "sizes ", shape.sizes,
                " or their strides are beyond ExecuTorch's 32 bits");
  }
  layout.rank = static_cast<uint8_t>(rank);
  layout.type = static_cast<::executorch::aten::ScalarType>(from.type);
  layout.dynamism = static_cast<::executorch::aten::TensorShapeDynamism>(from.dynamism);
  layout.data = from.data;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
