// SPDX-License-Identifier: MIT
// from_dlpack_packed, to_dlpack_packed: numbers of fewer than 8 bits, and exponents, in DLPack
// structs. See docs/packed.md.
#pragma once

#include <memory>
#include <utility>

#include "tenon/exchange/dlpack.h"
#include "tenon/exchange/packed.h"

TENON_BEGIN_NAMESPACE

/// Packed numbers, for which tensors have no dtype, as bytes.
/// Threads: as a plain value.
struct PackedTensor {
  TensorPtr bytes;                          ///< a Byte tensor, as unpack() takes it
  PackedType type = PackedType::Undefined;  ///< the type of the numbers in `bytes`
  Dims sizes;                               ///< counted in numbers
};

namespace detail {

/// Computes the sizes and strides of a struct's bytes. out.type is already set.
TENON_TEMPLATE_INLINE Error describe_bytes(const DLTensor& t, PackedTensor& out, Dims& sizes,
                                           Dims& strides) noexcept {
  const int64_t bits = packed_bits(out.type);
  const int64_t lanes = t.dtype.lanes;
  const auto rank = static_cast<size_t>(t.ndim);
  const ArrayRef<int64_t> shape(t.shape, rank);
  const ArrayRef<int64_t> steps(t.strides, t.strides == nullptr ? 0 : rank);
  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(shape, static_cast<size_t>(lanes), numel));
  out.sizes = sizes = shape;
  strides = steps;
  for (const Dims* const list : {&out.sizes, &sizes, &strides}) {
    TENON_TRY(check_dims("sizes", *list));
  }
  if (lanes * bits == 8) {  // each of the struct's elements is a byte
    if (lanes == 1) return Error::Ok;
    if (rank == 0) out.sizes = sizes = {1};
    out.sizes[out.sizes.size() - 1] *= lanes;
    return Error::Ok;
  }
  if (lanes != 1) {
    return fail(Error::NotSupported, lanes, " lanes of ", out.type,
                ", expected 1, or as many as are in a byte");
  }
  Layout layout;
  TENON_TRY(make_layout({shape, steps}, 1, layout));
  if (!layout.is_contiguous()) {
    return fail(Error::NotSupported, "sizes ", shape, " and strides ", steps, " of ", out.type,
                " with 1 lane, which are not contiguous; take a contiguous copy");
  }
  const int64_t nbytes = numel / 8 * bits + (numel % 8 * bits + 7) / 8;
  sizes = packed_byte_sizes(shape, nbytes, out.type);
  strides = Dims();
  return check_dims("sizes", sizes);
}

/// Makes `from` describe a uint8 tensor over the same bytes; import_dlpack() checks the rest.
TENON_TEMPLATE_INLINE Error take_as_bytes(DLPackContents& from, PackedTensor& out, Dims& sizes,
                                          Dims& strides) noexcept {
  DLTensor& t = from.tensor;
  if (from.version.major != kDLPackVersion.major) return Error::Ok;
  out.type = packed_from_dlpack(t.dtype);
  if (out.type == PackedType::Undefined || t.dtype.lanes == 0) {
    return fail(Error::NotSupported, "DLPack's code ", int{t.dtype.code}, " with ",
                int{t.dtype.bits}, " bits and ", int{t.dtype.lanes},
                " lanes is not a packed type; from_dlpack() takes tensors' dtypes");
  }
  if ((from.flags & kDLPackIsSubbyteTypePadded) != 0 && t.dtype.bits < 8) {
    return fail(Error::NotSupported, "each ", out.type,
                " has a byte (IS_SUBBYTE_TYPE_PADDED), expected packed numbers");
  }
  if (t.ndim >= 0 && static_cast<size_t>(t.ndim) <= kMaxDims &&
      (t.ndim == 0 || t.shape != nullptr)) {
    TENON_TRY(describe_bytes(t, out, sizes, strides));
    t.ndim = static_cast<int32_t>(sizes.size());
    t.shape = sizes.data();
    t.strides = strides.empty() ? nullptr : strides.data();
  }
  t.dtype = {kDLUInt, 8, 1};
  return Error::Ok;
}

template <class Out, class Managed>
Out import_packed(const char* function, Managed* managed) {
  if (managed == nullptr) {
    return return_to_user<Out>(function, fail(Error::InvalidArgument, "the pointer is null"),
                               PackedTensor());
  }
  Deleter release(nullptr, ReleaseDLPack<Managed>{managed});
  DLPackContents from = read_import(*managed);
  PackedTensor out;
  Dims sizes;
  Dims strides;
  const Error error = take_as_bytes(from, out, sizes, strides);
  if (error != Error::Ok) return return_to_user<Out>(function, error, std::move(out));
  using Made = std::conditional_t<IsResult<Out>::value, Result<TensorPtr>, TensorPtr>;
  Made made =
      import_dlpack<Made>(function, from, none, none, TensorShapeDynamism::DYNAMIC_BOUND, release);
  if constexpr (IsResult<Out>::value) {
    if (!made.ok()) return made.error();
    out.bytes = std::move(*made);
  } else {
    out.bytes = std::move(made);
  }
  return out;
}

/// Exports bytes, and gives the struct the dtype of their numbers.
template <class Managed>
Error make_packed_export(const TensorArg& t, PackedType type, Managed*& out) noexcept {
  const int bits = packed_bits(type);
  TENON_TRY(check_metadata(t, "the tensor"));
  Dims numbers;
  TENON_TRY(find_unpacked_sizes(fields(t), type, numbers));
  if (bits == 6 && !fields(t).layout.is_contiguous()) {
    return fail(Error::NotSupported, "strides ", fields(t).layout.strides(), " of ", type,
                ", which are not contiguous; contiguous(t) makes a contiguous copy");
  }
  Managed* made = nullptr;
  TENON_TRY(make_export(t, 0, made));
  auto& to = made->dl_tensor;
  for (const DLPackPackedRow& row : kDLPackPackedTypes) {
    if (row.type == type) to.dtype.code = row.code;
  }
  to.dtype.bits = static_cast<uint8_t>(bits);
  to.dtype.lanes = static_cast<uint16_t>(bits == 6 ? 1 : 8 / bits);
  if (bits == 6) {  // no number of lanes makes a byte
    for (int32_t d = 0; d + 1 < to.ndim; ++d) to.strides[d] = to.strides[d] / 3 * 4;
    to.shape[to.ndim - 1] = to.shape[to.ndim - 1] / 3 * 4;
  }
  out = made;
  return Error::Ok;
}

template <class Out, class Managed>
Out export_packed(const char* function, const TensorArg& t, PackedType type) {
  static_assert(is_versioned_v<Managed>, "structs without a version have no packed types");
  Managed* made = nullptr;
  return return_to_user<Out>(function, make_packed_export(t, type, made), std::move(made));
}

}  // namespace detail

/// The bytes of a DLPack struct of packed numbers, without a copy. from_dlpack() refuses such
/// structs.
///
/// Each element of the struct is either a byte (float4_e2m1fn with 2 lanes, as PyTorch exports it,
/// or float8_e8m0fnu), or one packed number (1 lane, as JAX exports it). Packed numbers must be
/// contiguous. If a row ends at the end of a byte, the last size of `bytes` is a row's length in
/// bytes; else `bytes` is 1-d.
/// Ownership, errors, threads: as from_dlpack(). Errors also: NotSupported (another type; numbers
/// that have a byte each; numbers of 1 lane that are not contiguous).
template <class Managed, detail::IfManaged<Managed> = 0>
PackedTensor from_dlpack_packed(Managed* managed) {
  return detail::import_packed<PackedTensor>("from_dlpack_packed", managed);
}
template <class Managed, detail::IfManaged<Managed> = 0>
Result<PackedTensor> try_from_dlpack_packed(Managed* managed) noexcept {
  return detail::import_packed<Result<PackedTensor>>("try_from_dlpack_packed", managed);
}

/// A DLPack struct over the memory of a Byte tensor. The struct says that the bytes are packed
/// numbers.
///
/// Each element of the struct is a byte: float4_e2m1fn has 2 lanes, as PyTorch imports it. Numbers
/// of 6 bits have 1 lane, and sizes are counted in numbers.
/// Ownership, threads, cost: as to_dlpack(). Errors also: those of unpack() for the dtype and the
/// sizes; NotSupported (numbers of 6 bits that are not contiguous).
template <class Managed = dlpack::DLManagedTensorVersioned>
Managed* to_dlpack_packed(TensorArg t, PackedType type) {
  return detail::export_packed<Managed*, Managed>("to_dlpack_packed", t, type);
}
template <class Managed = dlpack::DLManagedTensorVersioned>
Result<Managed*> try_to_dlpack_packed(TensorArg t, PackedType type) {
  return detail::export_packed<Result<Managed*>, Managed>("try_to_dlpack_packed", t, type);
}

TENON_END_NAMESPACE
