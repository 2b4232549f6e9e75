// SPDX-License-Identifier: MIT
// torch's options of a new tensor: dtype, layout, device, pinned memory and memory format.
#pragma once

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// torch's TensorOptions; null means not given.
struct AotiTensorOptions {
  const int32_t* dtype;
  const int32_t* layout;
  const int32_t* device;
  const int32_t* pin_memory = nullptr;

  /// Errors: NotSupported.
  Error read(ScalarType by_default, ScalarType& type) const noexcept {
    if (layout != nullptr && *layout != 0) {
      return fail(Error::NotSupported, "torch's layout ", *layout, ", expected 0, strided");
    }
    if (device != nullptr && *device != 0) {
      return fail(Error::NotSupported, "torch's device type ", *device, ", expected 0, the CPU");
    }
    if (pin_memory != nullptr && *pin_memory != 0) {
      return fail(Error::NotSupported,
                  "pin_memory is true, expected false: only other devices need pinned memory");
    }
    type = by_default;
    return dtype == nullptr ? Error::Ok : read_torch_type(*dtype, type);
  }
};

// torch's numbers of memory formats.
inline constexpr int64_t kContiguous = 0;
inline constexpr int64_t kPreserve = 1;
inline constexpr int64_t kChannelsLast = 2;
inline constexpr int64_t kVolumesLast = 3;

/// The strides of a dense tensor in that format.
/// Errors: InvalidArgument for channels_last with another rank; NotSupported for other formats;
/// those of make_layout().
inline Error format_strides(const Dims& sizes, int64_t format, ScalarType type, Dims& strides) {
  TENON_TRY(check_dims("sizes", sizes));
  Layout layout;
  TENON_TRY(make_layout({sizes}, elementSize(type), layout));
  strides = layout.strides();
  if (format == kContiguous) return Error::Ok;
  if (format != kChannelsLast && format != kVolumesLast) {
    return fail(Error::NotSupported, "torch's memory format ", format, " is not supported");
  }
  if (static_cast<int64_t>(sizes.size()) != format + 2) {
    return fail(Error::InvalidArgument, "torch's memory format ", format,
                ", channels last, needs rank ", format + 2, ", but the tensor has rank ",
                sizes.size());
  }
  set_channels_last(sizes, 1, strides);
  return Error::Ok;
}
/// The strides in a format for a tensor like this one; kPreserve keeps dense strides.
inline Error strides_like(const Tensor& like, int64_t format, ScalarType type, Dims& strides) {
  TENON_TRY(check_defined(like, "the tensor"));
  const Layout& from = fields(TensorArg(like)).layout;
  if (format != kPreserve) return format_strides(from.sizes(), format, type, strides);
  strides = preserved_strides(from);
  return Error::Ok;
}

inline Error make_sized(const Dims& sizes, int64_t format, ScalarType type, Tensor& made) {
  AotiShape shape{sizes, {}, type};
  TENON_TRY(format_strides(sizes, format, type, shape.strides));
  return aoti_empty(shape, made);
}
/// Makes a tensor by a C function's arguments.
inline Error make_sized(const int64_t* sizes, int64_t rank, const AotiTensorOptions& options,
                        ScalarType by_default, Tensor& made) {
  Dims read;
  ScalarType type;
  TENON_TRY(options.read(by_default, type));
  TENON_TRY(read_dims("sizes", sizes, rank, read));
  return make_sized(read, kContiguous, type, made);
}
/// Makes a tensor with the sizes of `self`.
inline Error make_sized_like(const Tensor& self, ScalarType type, int64_t format, Tensor& made) {
  AotiShape shape{self.sizes(), {}, type};
  TENON_TRY(check_dims("sizes", shape.sizes));
  TENON_TRY(strides_like(self, format, type, shape.strides));
  return aoti_empty(shape, made);
}

}  // namespace detail
TENON_END_NAMESPACE
