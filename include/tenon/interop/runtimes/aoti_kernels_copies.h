// SPDX-License-Identifier: MIT
// PyTorch's operators that view, copy and choose elements, for elements of any type. They have no C
// functions. Models call them for complex tensors, for which AOTInductor generates no code.
#pragma once

#include "tenon/interop/runtimes/aoti_kernels_elementwise.h"
#include "tenon/interop/runtimes/aoti_kernels_moving.h"
#include "tenon/interop/runtimes/aoti_kernels_operators.h"
#include "tenon/interop/runtimes/torch_stable_aten_moving.h"
#include "tenon/interop/runtimes/torch_stable_aten_numbers.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline Error run_full(AtenIn in, AtenOut& out) {
  const EValue& value = in[1];
  AotiShape shape;
  Tensor made;
  TENON_TRY(read_dtype(in[2],
                       value.isDouble() ? ScalarType::Float
                       : value.isBool() ? ScalarType::Bool
                                        : ScalarType::Long,
                       shape.type));
  TENON_TRY(check_place(in[3], in[4], in[5]));
  shape.sizes = Dims(in[0].toIntList());
  TENON_TRY(format_strides(shape.sizes, kContiguous, shape.type, shape.strides));
  TENON_TRY(aoti_empty(shape, made));
  TENON_TRY(fill_(made, value.toScalar()));
  return give(made, out);
}
/// Copies a tensor with its strides, gaps included. If elements share memory, the copy has
/// preserved_strides().
/// Source: at::clone_preserve_strides.
inline Error clone_with_strides(const EValue& value, Tensor& made) {
  Tensor from;
  TENON_TRY(read_operand(value, from));
  const Layout& layout = fields(TensorArg(from)).layout;
  AotiShape shape;
  shape.sizes = layout.sizes();
  shape.strides = layout.may_overlap() ? preserved_strides(layout) : Dims(layout.strides());
  shape.type = from.scalar_type();
  TENON_TRY(aoti_empty(shape, made));
  return convert(made, from);
}
/// Copies `given` to `part`, which is a view of `made`, and returns `made`.
inline Error give_with_part(const Tensor& made, Result<Tensor> part, const EValue& given,
                            AtenOut& out) {
  Tensor from;
  TENON_TRY(part.error());
  TENON_TRY(read_operand(given, from));
  TENON_ASSIGN(from, try_expand(from, part->sizes()));
  TENON_TRY(convert(*part, from));
  return give(made, out);
}
inline Error run_copy(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(clone_with_strides(in[0], made));
  return give_with_part(made, made, in[1], out);
}
inline Error run_select_scatter(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(clone_with_strides(in[0], made));
  return give_with_part(made, try_select(made, in[2].toInt(), in[3].toInt()), in[1], out);
}
inline Error run_slice_scatter(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(clone_with_strides(in[0], made));
  const int64_t start = in[3].isNone() ? 0 : in[3].toInt();
  const int64_t end = in[4].isNone() ? INT64_MAX : in[4].toInt();
  return give_with_part(made, try_slice(made, in[2].toInt(), start, end, in[5].toInt()), in[1],
                        out);
}
inline Error run_constant_pad(AtenIn in, AtenOut& out) {
  Tensor from;
  Tensor made;
  TENON_TRY(read_operand(in[0], from));
  const auto value = in[2].toScalar().to<double>();
  TENON_TRY(pad_by(from, in[1].toIntList(), "constant", &value, made));
  return give(made, out);
}
inline Error run_where(AtenIn in, AtenOut& out) {
  Tensor from[3];
  std::vector<std::vector<int64_t>> strides;
  for (size_t k = 0; k < 3; ++k) TENON_TRY(read_operand(in[k], from[k]));
  if (from[0].scalar_type() != ScalarType::Bool) {
    return fail(Error::InvalidType, "the condition has type ", from[0].scalar_type(),
                ", expected Bool");
  }
  AotiShape shape;
  shape.type = result_type(from[1], from[2]);
  shape.sizes = from[1].sizes();
  TENON_TRY(broadcast_sizes(from[2].sizes(), shape.sizes));
  TENON_TRY(broadcast_sizes(from[0].sizes(), shape.sizes));
  for (Tensor& each : from) {
    TENON_ASSIGN(each, try_expand(each, shape.sizes));
    strides.push_back(each.strides().vec());
  }
  shape.strides = Dims(strides_in_order(shape.sizes, iteration_order(shape.sizes, strides)));
  TENON_TRY(make_dense(from[0], ScalarType::Bool, from[0]));
  for (size_t k = 1; k < 3; ++k) TENON_TRY(make_dense(from[k], shape.type, from[k]));
  AotiResult result;
  TENON_TRY(result.make(shape, shape.type));
  const size_t item = elementSize(shape.type);
  const auto* const holds = dense_data<bool>(from[0]);
  for (int64_t i = 0; i < from[0].numel(); ++i) {
    const size_t at = static_cast<size_t>(i) * item;
    const Tensor& taken = from[holds[i] ? 1 : 2];
    std::memcpy(result.data<char>() + at, dense_data<char>(taken) + at, item);
  }
  return give(result, out);
}

inline constexpr AtenOperator kCopyOperators[] = {
    {"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     run_full},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", aten_clone},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", run_copy},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     run_select_scatter},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor",
     run_slice_scatter},
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     run_constant_pad},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     [](AtenIn in, AtenOut& out) {
       return give(try_expand(in[0].toTensor(), Dims(in[1].toIntList())), out);
     }},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     [](AtenIn in, AtenOut& out) {
       return give(try_select(in[0].toTensor(), in[1].toInt(), in[2].toInt()), out);
     }},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
     [](AtenIn in, AtenOut& out) {
       return give(try_unsqueeze(in[0].toTensor(), in[1].toInt()), out);
     }},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", run_where},
    {"prims::rev(Tensor a, int[] dims) -> Tensor", aten_flip},
};

}  // namespace detail
TENON_END_NAMESPACE
