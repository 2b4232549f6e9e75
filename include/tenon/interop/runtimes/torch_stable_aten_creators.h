// SPDX-License-Identifier: MIT
// torch's operators that make tensors, including copies in another layout or dtype.
#pragma once

#include "tenon/interop/runtimes/aoti_tensor_options.h"
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
  out.push_back(EValue(**made));
  return Error::Ok;
}

// --- Options ------------------------------------------------------------------------------------

/// Reads a dtype by torch's number; None stands for `fallback`.
/// Errors: NotSupported for a dtype that tenon lacks.
inline Error read_dtype(const EValue& value, ScalarType fallback, ScalarType& type) {
  type = fallback;
  return value.isNone() ? Error::Ok : read_torch_type(value.toInt(), type);
}
/// Refuses a layout other than strided, a device other than the CPU, and pinned memory.
inline Error check_place(const EValue& layout, const EValue& device, const EValue& pin_memory) {
  if (!layout.isNone() && layout.toInt() != 0) {
    return fail(Error::NotSupported, "the layout is ", layout.toInt(), ", expected 0, strided");
  }
  if (!device.isNone() && device.toString() != "cpu" && device.toString() != "cpu:0") {
    return fail(Error::NotSupported, "the device is \"", device.toString(), "\", expected \"cpu\"");
  }
  return pin_memory.isBool() && pin_memory.toBool()
             ? fail(Error::NotSupported,
                    "pin_memory is true, expected false: only other devices need pinned memory")
             : Error::Ok;
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

/// The memory format that a tensor's strides suggest, whether it is dense or not.
/// Source: at::Tensor::suggest_memory_format.
inline int64_t suggested_format(const Layout& layout) noexcept {
  if (!has_channels_last(layout)) return kContiguous;
  return layout.rank() == 4 ? kChannelsLast : kVolumesLast;
}

// --- New tensors --------------------------------------------------------------------------------

/// Makes a tensor. Its sizes, dtype, layout, device, pin_memory and memory format are the arguments
/// from in[first] on.
inline Error make_aten(AtenIn in, size_t first, ScalarType fallback, Tensor& made) {
  ScalarType type;
  TENON_TRY(read_dtype(in[first + 1], fallback, type));
  TENON_TRY(check_place(in[first + 2], in[first + 3], in[first + 4]));
  const int64_t format = first + 5 < in.size() ? format_of(in[first + 5], kContiguous) : 0;
  return make_sized(Dims(in[first].toIntList()), format, type, made);
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
  ScalarType type;
  Tensor made;
  TENON_TRY(read_dtype(in[1], like.scalar_type(), type));
  TENON_TRY(check_place(in[2], in[3], in[4]));
  TENON_TRY(make_sized_like(like, type, format_of(in[5], kPreserve), made));
  return give(made, out);
}
/// Copies a tensor in a memory format and with a dtype.
inline Error clone_as(const Tensor& from, ScalarType type, int64_t format, Tensor& made) {
  TENON_TRY(make_sized_like(from, type, format, made));
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
    return fail(Error::InvalidArgument,
                "the memory format is 1, preserve, which a tensor cannot have");
  }
  Tensor made;
  TENON_TRY(clone_as(from, from.scalar_type(), format, made));
  return give(made, out);
}
/// Converts a tensor. Returns the tensor itself if nothing changes.
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
