// SPDX-License-Identifier: MIT
// The table of torch's operators that libraries for torch's stable ABI call.
//
// Each operator returns torch's result on the CPU, with torch's sizes, strides and dtype, since a
// library reads memory by them. Devices other than the CPU, layouts other than strided, and pinned
// memory are refused.
#pragma once

#include "tenon/interop/runtimes/torch_stable_aten_moving.h"
#include "tenon/interop/runtimes/torch_stable_aten_numbers.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#define TENON_ATEN(schema, call)                                           \
  {                                                                        \
    "aten::" schema, [](AtenIn in, AtenOut& out) -> Error { return call; } \
  }
#define TENON_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
/// Source: PyTorch's native_functions.yaml.
inline constexpr AtenOperator kAtenOperators[] = {
    {"aten::empty.memory_format(SymInt[] size, *, " TENON_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     &aten_empty},
    TENON_ATEN("zeros(SymInt[] size, *, " TENON_OPTIONS ") -> Tensor", make_filled(in, 0, out)),
    TENON_ATEN("ones(SymInt[] size, *, " TENON_OPTIONS ") -> Tensor", make_filled(in, 1, out)),
    {"aten::empty_like(Tensor self, *, " TENON_OPTIONS
     ", MemoryFormat? memory_format=None) -> Tensor",
     &aten_empty_like},
    TENON_ATEN("new_empty(Tensor self, SymInt[] size, *, " TENON_OPTIONS ") -> Tensor",
               new_like(in, out, false)),
    TENON_ATEN("new_zeros(Tensor self, SymInt[] size, *, " TENON_OPTIONS ") -> Tensor",
               new_like(in, out, true)),
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", &aten_clone},
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> "
     "Tensor(a)",
     &aten_contiguous},
    {"aten::to.dtype_layout(Tensor(a) self, *, " TENON_OPTIONS
     ", bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     &aten_to},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
     "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     &aten_to_device},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     &aten_to_dtype},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     &aten_to_other},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", &aten_copy},
    {"aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", &aten_fill_tensor},
    {"aten::zero_(Tensor(a!) self) -> Tensor(a!)", &aten_zero},
    TENON_ATEN("view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
               give(try_view(in[0].toTensor(), Dims(in[1].toIntList())), out)),
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", &aten_view_dtype},
    TENON_ATEN("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
               give(try_reshape(in[0].toTensor(), Dims(in[1].toIntList())), out)),
    TENON_ATEN("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
               give(try_flatten(in[0].toTensor(), in[1].toInt(), in[2].toInt()), out)),
    TENON_ATEN("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
               give(try_expand(in[0].toTensor(), Dims(in[1].toIntList())), out)),
    TENON_ATEN("permute(Tensor(a) self, int[] dims) -> Tensor(a)",
               give(try_permute(in[0].toTensor(), Dims(in[1].toIntList())), out)),
    TENON_ATEN("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
               give(try_transpose(in[0].toTensor(), in[1].toInt(), in[2].toInt()), out)),
    TENON_ATEN("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
               give(try_select(in[0].toTensor(), in[1].toInt(), in[2].toInt()), out)),
    TENON_ATEN(
        "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
        give(try_narrow(in[0].toTensor(), in[1].toInt(), in[2].toInt(), in[3].toInt()), out)),
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor(a)",
     &aten_slice},
    TENON_ATEN("squeeze(Tensor(a) self) -> Tensor(a)", give(try_squeeze(in[0].toTensor()), out)),
    TENON_ATEN("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
               give(try_squeeze(in[0].toTensor(), in[1].toInt()), out)),
    TENON_ATEN("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
               give(try_unsqueeze(in[0].toTensor(), in[1].toInt()), out)),
    {"aten::flip(Tensor self, int[] dims) -> Tensor", &aten_flip},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", &aten_rot90},
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", &aten_cat},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", &aten_index_select},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", &aten_masked_select},
    TENON_ATEN("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor, Tensor)",
               aten_sort(in, in[1].toInt(), in[2].toBool(), out)),
    TENON_ATEN("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
               "(Tensor, Tensor)",
               aten_sort(in, in[2].toInt(), in[3].toBool(), out)),
    {"aten::sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     &aten_sum},
    {"aten::sum.IntList_out(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None, Tensor(a!) out) -> Tensor(a!)",
     &aten_sum},
    TENON_ATEN("amax(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor",
               aten_amax(in[0].toTensor(), in[1].toIntList(), in[2].toBool(), out)),
    TENON_ATEN("matmul(Tensor self, Tensor other) -> Tensor",
               aten_matmul(in[0].toTensor(), in[1].toTensor(), Tensor(), out)),
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", &aten_mm},
    {"aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)", &aten_mm},
    TENON_ATEN("div.Tensor(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::Divide, 1, out)),
    TENON_ATEN("floor_divide(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::FloorDivide, 1, out)),
    TENON_ATEN("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::And, 1, out)),
    TENON_ATEN("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::Or, 1, out)),
    TENON_ATEN("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::ShiftLeft, 1, out)),
    TENON_ATEN("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
               aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::ShiftRight, 1, out)),
    {"aten::is_pinned(Tensor self, Device? device=None) -> bool", &aten_is_pinned},
    {"aten::from_file(str filename, bool? shared=None, int? size=0, *, " TENON_OPTIONS
     ") -> Tensor",
     &aten_from_file},
};
#undef TENON_OPTIONS
#undef TENON_ATEN

}  // namespace detail
TENON_END_NAMESPACE
