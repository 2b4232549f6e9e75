// SPDX-License-Identifier: MIT
// Torch's own operators that make tensors, copies in another layout or dtype among them.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/module/evalue.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using AtenIn = Span<const EValue>;
using AtenOut = std::vector<EValue>;

inline Error give(Result<Tensor> made, AtenOut& out) {
  TENON_TRY(made.error());
  out.push_back(EValue(*std::move(made)));
  return Error::Ok;
}
inline Error give(Result<TensorPtr> made, AtenOut& out) {
  TENON_TRY(made.error());
  out.push_back(EValue(Tensor(**made)));
  return Error::Ok;
}

// --- Options ------------------------------------------------------------------------------------

/// A dtype by torch's number, or `fallback` for None.
/// Errors: NotSupported for one that tenon lacks.
inline Error read_dtype(const EValue& value, ScalarType fallback, ScalarType& type) {
  type = fallback;
  if (value.isNone()) return Error::Ok;
  type = type_of_torch_number(static_cast<int32_t>(value.toInt()));
  return type != ScalarType::Undefined
             ? Error::Ok
             : fail(Error::NotSupported, "torch's dtype ", value.toInt(), " is not one of tenon's");
}
/// Refuses a layout that is not strided, a device that is not the CPU, and pinned memory.
inline Error check_place(const EValue& layout, const EValue& device, const EValue& pin_memory) {
  if (!layout.isNone() && layout.toInt() != 0) {
    return fail(Error::NotSupported, "layout ", layout.toInt(), " is not strided, 0");
  }
  if (!device.isNone() && device.toString() != "cpu" && device.toString() != "cpu:0") {
    return fail(Error::NotSupported, "device ", device.toString(),
                "; operators compute on the cpu");
  }
  return pin_memory.isBool() && pin_memory.toBool()
             ? fail(Error::NotSupported, "memory is not pinned, which only other devices need")
             : Error::Ok;
}

enum MemoryFormat : int64_t { kContiguous = 0, kPreserve = 1, kChannelsLast = 2, kVolumesLast = 3 };

/// The strides of a dense tensor in that format.
/// Errors: InvalidArgument for channels_last with another rank; those of make_layout().
inline Error format_strides(const Dims& sizes, int64_t format, ScalarType type, Dims& strides) {
  TENON_TRY(check_dims("sizes", sizes));
  Layout layout;
  if (format == kContiguous) {
    TENON_TRY(make_layout({sizes}, elementSize(type), layout));
    strides = layout.strides();
    return Error::Ok;
  }
  const size_t rank = format == kChannelsLast ? 4 : 5;
  if ((format != kChannelsLast && format != kVolumesLast) || sizes.size() != rank) {
    return fail(Error::InvalidArgument, "memory format ", format, " for a tensor of rank ",
                sizes.size(), "; channels_last, 2, has 4 dimensions, channels_last_3d, 3, has 5");
  }
  Dims moved = sizes;  // the channels, dimension 1, become the innermost
  for (size_t d = 1; d + 1 < rank; ++d) moved[d] = sizes[d + 1];
  moved[rank - 1] = sizes[1];
  TENON_TRY(make_layout({moved}, elementSize(type), layout));
  strides = layout.strides();
  for (size_t d = rank - 1; d > 1; --d) strides[d] = layout.strides()[d - 1];
  strides[1] = layout.strides()[rank - 1];
  return Error::Ok;
}
/// The strides that a tensor like this one has in a format; kPreserve keeps dense ones.
inline Error strides_like(const Tensor& like, int64_t format, ScalarType type, Dims& strides) {
  TENON_TRY(check_defined(like, "the tensor"));
  const Layout& from = fields(TensorArg(like)).layout;
  if (format != kPreserve) return format_strides(from.sizes(), format, type, strides);
  strides = preserved_strides(from);
  return Error::Ok;
}
inline int64_t format_of(const EValue& value, int64_t fallback) {
  return value.isNone() ? fallback : value.toInt();
}
inline bool has_format(const Tensor& tensor, int64_t format) {
  const Layout& layout = fields(TensorArg(tensor)).layout;
  if (format == kContiguous) return layout.is_contiguous();
  Dims strides;
  if (format_strides(layout.sizes(), format, ScalarType::Byte, strides) != Error::Ok) return false;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes()[d] != 1 && layout.strides()[d] != strides[d] && layout.numel != 0) {
      return false;
    }
  }
  return true;
}

/// The same by pointers, null for None, as C functions take them.
struct AtenOptions {
  const int32_t* dtype;
  const int32_t* layout;
  const int32_t* device;
  const int32_t* pin_memory;

  Error make(ArrayRef<int64_t> sizes, ScalarType fallback, Tensor& made) const {
    const auto value = [](const int32_t* given) {
      return given == nullptr ? EValue() : EValue(int64_t{*given});
    };
    AotiShape shape;
    TENON_TRY(read_dtype(value(dtype), fallback, shape.type));
    TENON_TRY(
        check_place(value(layout), EValue(), EValue(pin_memory != nullptr && *pin_memory != 0)));
    if (device != nullptr && *device != 0) {
      return fail(Error::NotSupported, "torch's device type ", *device,
                  "; operators compute on the CPU, 0");
    }
    shape.sizes = Dims(sizes);
    TENON_TRY(format_strides(shape.sizes, kContiguous, shape.type, shape.strides));
    return aoti_empty(shape, made);
  }
};

/// The format that strides of a tensor suggest, whether it is dense or not.
/// Source: c10::TensorImpl::is_strides_like_channels_last, at::Tensor::suggest_memory_format.
inline int64_t suggested_format(const Layout& layout) noexcept {
  const size_t rank = layout.rank();
  if (rank != 4 && rank != 5) return kContiguous;
  const ArrayRef<int64_t> sizes = layout.sizes();
  const ArrayRef<int64_t> strides = layout.strides();
  if (strides[1] == 0) return kContiguous;
  int64_t least = 0;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;  // 1, 3, 2, 0
    if (sizes[d] == 0 || strides[d] < least) return kContiguous;
    if (d == 0 && least == strides[1]) return kContiguous;
    least = strides[d] * (std::max)(sizes[d], int64_t{1});
  }
  return rank == 4 ? kChannelsLast : kVolumesLast;
}

// --- New tensors --------------------------------------------------------------------------------

/// sizes, dtype, layout, device, pin_memory and a memory format from in[first] on.
inline Error make_aten(AtenIn in, size_t first, ScalarType fallback, Tensor& made) {
  AotiShape shape;
  TENON_TRY(read_dtype(in[first + 1], fallback, shape.type));
  TENON_TRY(check_place(in[first + 2], in[first + 3], in[first + 4]));
  shape.sizes = Dims(in[first].toIntList());
  const int64_t format = first + 5 < in.size() ? format_of(in[first + 5], kContiguous) : 0;
  TENON_TRY(format_strides(shape.sizes, format, shape.type, shape.strides));
  return aoti_empty(shape, made);
}
inline Error aten_empty(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(make_aten(in, 0, ScalarType::Float, made));
  return give(made, out);
}
inline Error make_filled(AtenIn in, int value, AtenOut& out) {
  TENON_TRY(aten_empty(in, out));
  return fill_(out[0].toTensor(), value);
}
inline Error new_like(AtenIn in, AtenOut& out, bool zeros) {
  TENON_TRY(check_defined(in[0].toTensor(), "the tensor"));
  Tensor made;
  TENON_TRY(make_aten(in, 1, in[0].toTensor().scalar_type(), made));
  if (zeros) TENON_TRY(zero_(made));
  return give(made, out);
}
inline Error aten_empty_like(AtenIn in, AtenOut& out) {
  const Tensor& like = in[0].toTensor();
  TENON_TRY(check_defined(like, "the tensor"));
  AotiShape shape;
  Tensor made;
  TENON_TRY(read_dtype(in[1], like.scalar_type(), shape.type));
  TENON_TRY(check_place(in[2], in[3], in[4]));
  shape.sizes = like.sizes();
  TENON_TRY(strides_like(like, format_of(in[5], kPreserve), shape.type, shape.strides));
  TENON_TRY(aoti_empty(shape, made));
  return give(made, out);
}
/// A copy in a memory format, of a dtype.
inline Error clone_as(const Tensor& from, ScalarType type, int64_t format, Tensor& made) {
  AotiShape shape;
  TENON_TRY(strides_like(from, format, type, shape.strides));
  shape.sizes = from.sizes();
  shape.type = type;
  TENON_TRY(aoti_empty(shape, made));
  return convert(made, from);
}
inline Error aten_clone(AtenIn in, AtenOut& out) {
  const Tensor& from = in[0].toTensor();
  TENON_TRY(check_defined(from, "the tensor"));
  Tensor made;
  TENON_TRY(clone_as(from, from.scalar_type(), format_of(in[1], kPreserve), made));
  return give(made, out);
}
inline Error aten_contiguous(AtenIn in, AtenOut& out) {
  const Tensor& from = in[0].toTensor();
  TENON_TRY(check_defined(from, "the tensor"));
  const int64_t format = in[1].toInt();
  if (has_format(from, format == kPreserve ? kContiguous : format)) return give(from, out);
  if (format == kPreserve) {
    return fail(Error::InvalidArgument, "preserve, 1, is not a format that a tensor can have");
  }
  Tensor made;
  TENON_TRY(clone_as(from, from.scalar_type(), format, made));
  return give(made, out);
}
/// The tensor itself where nothing is to be changed.
inline Error convert_aten(const Tensor& from, ScalarType type, bool copies, const EValue& format,
                          AtenOut& out) {
  TENON_TRY(check_defined(from, "the tensor"));
  const int64_t wanted = format_of(format, kPreserve);
  if (type == ScalarType::Undefined) type = from.scalar_type();
  if (!copies && from.scalar_type() == type &&
      (wanted == kPreserve || wanted == suggested_format(fields(TensorArg(from)).layout))) {
    return give(from, out);
  }
  Tensor made;
  TENON_TRY(clone_as(from, type, wanted, made));
  return give(made, out);
}
inline Error aten_to(AtenIn in, AtenOut& out) {
  ScalarType type;
  TENON_TRY(read_dtype(in[1], ScalarType::Undefined, type));
  TENON_TRY(check_place(in[2], in[3], in[4]));
  return convert_aten(in[0].toTensor(), type, in[6].toBool(), in[7], out);
}
inline Error aten_to_device(AtenIn in, AtenOut& out) {
  ScalarType type;
  TENON_TRY(read_dtype(in[2], ScalarType::Undefined, type));
  TENON_TRY(check_place(EValue(), in[1], EValue()));
  return convert_aten(in[0].toTensor(), type, in[4].toBool(), in[5], out);
}
inline Error aten_to_dtype(AtenIn in, AtenOut& out) {
  ScalarType type;
  TENON_TRY(read_dtype(in[1], ScalarType::Undefined, type));
  return convert_aten(in[0].toTensor(), type, in[3].toBool(), in[4], out);
}
inline Error aten_to_other(AtenIn in, AtenOut& out) {
  TENON_TRY(check_defined(in[1].toTensor(), "the other tensor"));
  return convert_aten(in[0].toTensor(), in[1].toTensor().scalar_type(), in[3].toBool(), in[4], out);
}

}  // namespace detail
TENON_END_NAMESPACE
