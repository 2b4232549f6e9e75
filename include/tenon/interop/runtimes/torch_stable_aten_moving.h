// SPDX-License-Identifier: MIT
// torch's operators that set and move elements.
#pragma once

#include "tenon/interop/files/file.h"
#include "tenon/interop/runtimes/aoti_kernel_elements.h"
#include "tenon/interop/runtimes/aoti_kernels_rows.h"
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline Error aten_copy(AtenIn in, AtenOut& out) {
  TENON_TRY(check_defined(in[0].toTensor(), "the tensor"));
  TENON_TRY(check_defined(in[1].toTensor(), "the source"));
  TENON_TRY(convert(in[0].toTensor(), in[1].toTensor()));
  return give(in[0].toTensor(), out);
}
inline Error aten_fill_tensor(AtenIn in, AtenOut& out) {
  TENON_TRY(check_defined(in[1].toTensor(), "the value"));
  if (in[1].toTensor().dim() != 0) {
    return fail(Error::InvalidArgument, "the value has rank ", in[1].toTensor().dim(),
                ", expected 0");
  }
  return aten_copy(in, out);
}
inline Error aten_zero(AtenIn in, AtenOut& out) {
  Tensor distinct;
  TENON_TRY(distinct_elements(in[0].toTensor(), distinct));
  TENON_TRY(zero_(distinct));
  return give(in[0].toTensor(), out);
}
inline Error aten_view_dtype(AtenIn in, AtenOut& out) {
  ScalarType type;
  TENON_TRY(read_dtype(in[1], ScalarType::Undefined, type));
  return give(try_view_as_type(in[0].toTensor(), type), out);
}
inline Error aten_slice(AtenIn in, AtenOut& out) {
  const int64_t begin = in[2].isNone() ? 0 : in[2].toInt();
  const int64_t end = in[3].isNone() ? INT64_MAX : in[3].toInt();
  return give(try_slice(in[0].toTensor(), in[1].toInt(), begin, end, in[4].toInt()), out);
}
inline Error aten_is_pinned(AtenIn, AtenOut& out) {
  out.push_back(EValue(false));
  return Error::Ok;
}
/// Makes a tensor that has a copy of a file's first elements.
inline Error aten_from_file(AtenIn in, AtenOut& out) {
  ScalarType type;
  TENON_TRY(read_dtype(in[3], ScalarType::Float, type));
  TENON_TRY(check_place(in[4], in[5], in[6]));
  if (in[1].isBool() && in[1].toBool()) {
    return fail(Error::NotSupported,
                "shared is true, expected false: the file is read, not mapped");
  }
  const int64_t count = in[2].isNone() ? 0 : in[2].toInt();
  InputFile file;
  Tensor made;
  TENON_TRY(file.open(std::string(in[0].toString()).c_str()));
  if (count < 0 || static_cast<uint64_t>(count) > file.size() / elementSize(type)) {
    return fail(Error::InvalidArgument, count, " elements of ", type, " do not fit a file of ",
                file.size(), " bytes");
  }
  TENON_TRY(make_sized({count}, kContiguous, type, made));
  const size_t bytes = static_cast<size_t>(count) * elementSize(type);
  if (bytes != 0) TENON_TRY(file.read(0, fields(TensorArg(made)).data, bytes));
  return give(made, out);
}
/// Makes a copy in which dimensions are flipped. It has the tensor's strides, or if these are not
/// dense, dense ones in their order.
inline Error flip_dims(const Tensor& from, const Dims& dims, Tensor& made) {
  TENON_ASSIGN(const Tensor turned, try_flip(from, dims));
  TENON_TRY(make_sized_like(from, from.scalar_type(), kPreserve, made));
  return copy_(made, turned);
}
inline Error aten_flip(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(flip_dims(in[0].toTensor(), Dims(in[1].toIntList()), made));
  return give(made, out);
}
/// Rotates by k quarter turns from dims[0] to dims[1].
inline Error aten_rot90(AtenIn in, AtenOut& out) {
  const Tensor& from = in[0].toTensor();
  TENON_TRY(check_defined(from, "the tensor"));
  const Dims dims(in[2].toIntList());
  size_t checked[2] = {};
  if (dims.size() != 2) {
    return fail(Error::InvalidArgument, "dims has ", dims.size(), " dimensions, expected 2");
  }
  const auto rank = static_cast<size_t>(from.dim());
  TENON_TRY(read_dim(dims[0], rank, checked[0]));
  TENON_TRY(read_dim(dims[1], rank, checked[1]));
  if (checked[0] == checked[1]) {
    return fail(Error::InvalidArgument, "dims are ", dims, ", expected two different dimensions");
  }
  const int64_t k = (in[1].toInt() % 4 + 4) % 4;
  Tensor made;
  if (k == 0) {
    TENON_TRY(clone_as(from, from.scalar_type(), kContiguous, made));
    return give(made, out);
  }
  TENON_TRY(flip_dims(from, k == 2 ? dims : Dims{dims[k == 1 ? 1 : 0]}, made));
  return k == 2 ? give(made, out) : give(try_transpose(made, dims[0], dims[1]), out);
}
inline Error aten_cat(AtenIn in, AtenOut& out) {
  Tensor made;
  TENON_TRY(join(in[0].toTensorList(), in[1].toInt(), made));
  return give(made, out);
}
inline Error aten_masked_select(AtenIn in, AtenOut& out) {
  AotiResult result;
  TENON_TRY(select_masked(in[0].toTensor(), in[1].toTensor(), result));
  return give(result.tensor(), out);
}
/// Selects elements by a list of indices of rank 0 or 1.
inline Error aten_index_select(AtenIn in, AtenOut& out) {
  const Tensor& from = in[0].toTensor();
  const Tensor& index = in[2].toTensor();
  TENON_TRY(check_defined(from, "the tensor"));
  TENON_TRY(check_defined(index, "the index"));
  if (index.dim() > 1 ||
      (index.scalar_type() != ScalarType::Long && index.scalar_type() != ScalarType::Int)) {
    return fail(Error::InvalidType, "the index has rank ", index.dim(), " and type ",
                index.scalar_type(), ", expected rank 1 and Long or Int");
  }
  size_t dim = 0;
  TENON_TRY(read_dim(in[1].toInt(), static_cast<size_t>(from.dim()), dim));
  Tensor dense;
  Tensor places;
  TENON_TRY(make_dense(from, from.scalar_type(), dense));
  TENON_TRY(make_dense(index, ScalarType::Long, places));
  const int64_t count = places.numel();
  const DenseRows rows(dense.sizes(), dim);
  TENON_TRY(check_indices(dense_data<int64_t>(places), count, 0, rows.count));
  if (from.dim() == 0 && count != 1) {
    return fail(Error::InvalidArgument, count,
                " indices are given for a tensor of rank 0, expected 1");
  }
  Dims sizes = from.sizes();
  TENON_TRY(check_dims("sizes", sizes));
  if (from.dim() != 0) sizes[dim] = count;
  AotiResult result;
  TENON_TRY(result.make(sizes, from.scalar_type(), from.scalar_type()));
  const size_t bytes = static_cast<size_t>(rows.inner) * elementSize(from.scalar_type());
  const char* source = dense_data<char>(dense);
  char* to = result.data<char>();
  for (int64_t o = 0; o < rows.outer && bytes != 0 && count != 0; ++o) {
    for (int64_t i = 0; i < count; ++i, to += bytes) {
      std::memcpy(to, source + static_cast<size_t>(dense_data<int64_t>(places)[i]) * bytes, bytes);
    }
    source += static_cast<size_t>(rows.count) * bytes;
  }
  out.push_back(EValue(result.tensor()));
  return Error::Ok;
}

inline Error aten_sort(AtenIn in, int64_t dim, bool descending, AtenOut& out) {
  OrderedResults results;
  TENON_TRY(check_readable(in[0].toTensor(), "the tensor"));
  TENON_TRY(sort_rows(in[0].toTensor(), true, dim, descending, results));
  TENON_TRY(give(results.values, out));
  return give(results.indices, out);
}

}  // namespace detail
TENON_END_NAMESPACE
