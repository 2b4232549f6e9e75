// SPDX-License-Identifier: MIT
// to_binary and from_binary: elements as bytes in one order, whatever the strides and the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/copy.h"
#include "tenon/tensor/make_impl.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

/// As the limit of to_binary(): however many there are.
inline constexpr int64_t kAllElements = INT64_MAX;

namespace detail {

/// Makes elements of this host little-endian ones, or the other way round.
inline void convert_binary(ScalarType type, void* data, size_t nbytes) noexcept {
  if (type == ScalarType::Bool) normalize_bools(data, nbytes);
  if (host_is_big_endian()) swap_byte_order(data, nbytes, number_size(type));
}

/// Copies the first `count` > 0 elements of `view`, counted in row-major order of their indices, to
/// `out`, one after another. Not for rank 0, which is contiguous.
TENON_LAZY Error gather_elements(const TensorView& view, int64_t count, void* out) noexcept {
  TENON_TRY(check_dims("sizes", view.sizes));
  TENON_TRY(check_dims("strides", view.strides));
  const size_t rank = view.sizes.size();
  const auto element_size = static_cast<int64_t>(elementSize(view.type));
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<char*>(view.data);
  int64_t inner = 1;
  for (int64_t size : view.sizes) inner *= size;
  // As many whole steps along each dimension as fit, which are boxes, and the rest along the next.
  for (size_t d = 0; d < rank && count != 0; ++d) {
    inner /= view.sizes[d];
    const int64_t steps = count / inner;
    if (steps == 0) continue;
    TensorView box{from, view.type, view.device, Dims(view.sizes.begin() + d, view.sizes.end()),
                   Dims(view.strides.begin() + d, view.strides.end())};
    TENON_TRY(check_dims("sizes", box.sizes));
    TENON_TRY(check_dims("strides", box.strides));
    box.sizes[0] = steps;
    Layout dense;
    TENON_TRY(make_dense_layout(box.sizes, nullptr, elementSize(view.type), dense));
    copy_elements({to, view.type, Device(), std::move(dense.sizes), std::move(dense.strides)}, box);
    count -= steps * inner;
    to += steps * inner * element_size;
    if (count != 0) from += steps * view.strides[d] * element_size;
  }
  return Error::Ok;
}

/// Checks that to_binary() can read the tensor, and counts the elements that it will.
TENON_LAZY Error count_binary(const TensorArg& tensor, int64_t limit, int64_t& count) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  if (TENON_UNLIKELY(limit < 0)) {
    return fail(Error::InvalidArgument, {"the limit of ", limit, " elements is negative"});
  }
  const TensorFields& from = fields(tensor);
  if (TENON_UNLIKELY(!from.has_data())) {
    return fail(Error::InvalidState, {"the tensor is a placeholder without data"});
  }
  if (TENON_UNLIKELY(!from.device.is_host_accessible())) {
    return fail(Error::NotSupported, {"memory on ", from.device, " cannot be read by the host"});
  }
  count = from.layout.numel < limit ? from.layout.numel : limit;
  return Error::Ok;
}

/// Writes the first `count` elements to `out`.
TENON_LAZY Error write_binary(const TensorArg& tensor, int64_t count, void* out) noexcept {
  if (count == 0) return Error::Ok;
  const TensorFields& from = fields(tensor);
  const size_t nbytes = static_cast<size_t>(count) * elementSize(from.type);
  if (from.layout.is_contiguous()) {
    std::memcpy(out, from.data, nbytes);
  } else {
    TENON_TRY(gather_elements(view_of(from), count, out));
  }
  convert_binary(from.type, out, nbytes);
  return Error::Ok;
}

TENON_LAZY Error make_from_binary(const void* bytes, size_t count, const Dims& sizes,
                                  ScalarType type, TensorShapeDynamism dynamism,
                                  Draft& draft) noexcept {
  TENON_TRY(check_type(type));
  TENON_TRY(check_dims("sizes", sizes));
  int64_t numel = 0;
  TENON_TRY(compute_numel(sizes, elementSize(type), numel));
  const size_t nbytes = static_cast<size_t>(numel) * elementSize(type);
  if (TENON_UNLIKELY(count != nbytes)) {
    return fail(Error::InvalidArgument,
                {count, " bytes were given, sizes ", sizes, " of ", type, " need ", nbytes});
  }
  if (TENON_UNLIKELY(bytes == nullptr && count != 0)) {
    return fail(Error::InvalidArgument, {"the pointer to ", count, " bytes is null"});
  }
  TENON_TRY(make_owned(sizes, {}, {}, type, dynamism, Contents::Uninitialized, draft));
  if (nbytes == 0) return Error::Ok;
  void* const out = fields(draft).data;
  std::memcpy(out, bytes, nbytes);
  convert_binary(type, out, nbytes);
  return Error::Ok;
}

}  // namespace detail

/// The elements as bytes: in row-major order of their indices whatever the strides, each number
/// little-endian, a complex one as two, a Bool as 0 or 1; at most the first `limit` of them.
///
/// Ownership: copies.
/// Errors: InvalidArgument for a negative limit; InvalidState for an undefined tensor or a
/// placeholder; NotSupported for memory that the host cannot read; OutOfMemory (a strided tensor of
/// more than 6 dimensions); std::bad_alloc.
/// Cost: O(bytes); one allocation, the vector's.
/// Source: Nx.to_binary, whose bytes are in the host's order.
TENON_LAZY std::vector<uint8_t> to_binary(const TensorArg& tensor, int64_t limit = kAllElements) {
  int64_t count = 0;
  Error error = detail::count_binary(tensor, limit, count);
  std::vector<uint8_t> bytes;
  if (error == Error::Ok) {
    bytes.resize(static_cast<size_t>(count) * elementSize(detail::fields(tensor).type));
    error = detail::write_binary(tensor, count, bytes.data());
  }
  detail::raise_if("to_binary", error);
  return bytes;
}

template <class Out>
struct FromBinary {
  const char* function;

  /// A row-major tensor of the bytes that to_binary() gives, exactly as many as the sizes need.
  ///
  /// Ownership: copies; the bytes need no alignment. To adopt a vector of the host's own byte order
  /// there is from_bytes().
  /// Errors: InvalidArgument (another number of bytes, both are named; a null pointer to bytes;
  /// sizes that make_layout() refuses), InvalidType (Undefined), OutOfMemory.
  /// Source: Nx.from_binary, whose bytes are in the host's order, and numpy.frombuffer.
  Out operator()(Span<const uint8_t> bytes, const Dims& sizes, ScalarType type,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return (*this)(bytes.data(), bytes.size(), sizes, type, dynamism);
  }
  Out operator()(const void* bytes, size_t nbytes, const Dims& sizes, ScalarType type,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    detail::Made<Out> made;
    return made.finish(
        function, detail::make_from_binary(bytes, nbytes, sizes, detail::own_type(type), dynamism,
                                           made.draft()));
  }
};

inline constexpr FromBinary<TensorPtr> from_binary{"from_binary"};
inline constexpr FromBinary<Result<TensorPtr>> try_from_binary{"try_from_binary"};

TENON_END_NAMESPACE
