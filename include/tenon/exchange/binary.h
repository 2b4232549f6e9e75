// SPDX-License-Identifier: MIT
// to_binary and from_binary: elements as bytes in one order, whatever the strides and the host.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tenon/core/result.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

/// No limit, for to_binary().
inline constexpr int64_t kAllElements = INT64_MAX;

namespace detail {

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
  // Along each dimension as many whole steps as fit, which are a box; the rest along the next one.
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
    copy_elements({to, view.type, Device(), std::move(dense.sizes), std::move(dense.strides)}, box,
                  CastMode::Checked, nullptr);
    count -= steps * inner;
    to += steps * inner * element_size;
    if (count != 0) from += steps * view.strides[d] * element_size;
  }
  return Error::Ok;
}

/// Checks that to_binary() can read the tensor, and counts the elements to read.
TENON_LAZY Error plan_binary(const TensorArg& tensor, int64_t limit, Place& from,
                             int64_t& count) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  if (TENON_UNLIKELY(limit < 0)) {
    return fail(Error::InvalidArgument, "the limit of ", limit, " elements is negative");
  }
  TENON_TRY(find_place(fields(tensor), "the tensor", from));
  const int64_t numel = fields(tensor).layout.numel;
  count = numel < limit ? numel : limit;
  return Error::Ok;
}

/// Writes the first `count` elements to `out`.
TENON_LAZY Error write_binary(const TensorFields& tensor, const Place& from, int64_t count,
                              void* out) noexcept {
  if (count == 0) return Error::Ok;
  const size_t nbytes = static_cast<size_t>(count) * elementSize(tensor.type);
  const bool is_contiguous = tensor.layout.is_contiguous();
  Error error = Error::Ok;
  if (from.backend != nullptr && ask_optional(*from.backend, "to_binary", error, [&] {
        return from.backend->to_binary(public_view(from.view), count, out);
      })) {
    return error;
  }
  if (from.backend == nullptr && is_contiguous) {
    std::memcpy(out, tensor.data, nbytes);
  } else if (from.backend == nullptr) {
    TENON_TRY(gather_elements(from.view, count, out));
  } else if (is_contiguous) {
    TENON_TRY(download(*from.backend, out, from.view.data, nbytes));
  } else {
    Layout dense;
    HostBuffer buffer;
    TENON_TRY(make_dense_layout(from.view.sizes, nullptr, elementSize(tensor.type), dense));
    TENON_TRY(buffer.allocate(static_cast<size_t>(dense.numel) * elementSize(tensor.type)));
    const TensorView rows{buffer.data(), from.view.type, Device(), std::move(dense.sizes),
                          std::move(dense.strides)};
    TENON_TRY(copy_between({rows, nullptr}, from, CastMode::Checked, nullptr));
    std::memcpy(out, buffer.data(), nbytes);
  }
  swap_to_little_endian(tensor.type, out, nbytes);
  return Error::Ok;
}

TENON_LAZY Error make_from_binary(const void* bytes, size_t count, const Dims& sizes,
                                  const Making& making, Draft& draft) noexcept {
  const ScalarType type = making.type;
  TENON_TRY(check_type(type));
  TENON_TRY(check_dims("sizes", sizes));
  int64_t numel = 0;
  TENON_TRY(compute_numel(sizes, elementSize(type), numel));
  const size_t nbytes = static_cast<size_t>(numel) * elementSize(type);
  if (TENON_UNLIKELY(count != nbytes)) {
    return fail(Error::InvalidArgument, count, " bytes were given, sizes ", sizes, " of ", type,
                " need ", nbytes);
  }
  if (TENON_UNLIKELY(bytes == nullptr && count != 0)) {
    return fail(Error::InvalidArgument, "the pointer to ", count, " bytes is null");
  }
  TENON_TRY(make_owned(sizes, {}, {}, making, Contents::Uninitialized, draft));
  if (nbytes == 0) return Error::Ok;
  return produce_new(
      fields(draft), "from_binary",
      [&](Backend& backend, const auto& out) { return backend.from_binary(out, bytes, nbytes); },
      [&](void* out) noexcept {
        std::memcpy(out, bytes, nbytes);
        swap_to_little_endian(type, out, nbytes);
        return Error::Ok;
      });
}

}  // namespace detail

/// The elements as bytes, in row-major order for any strides: each number little-endian, a complex
/// one as two, a Bool as 0 or 1; at most the first `limit` elements.
///
/// Ownership: copies.
/// Errors: InvalidArgument for a negative limit; InvalidState for an undefined tensor or a
/// placeholder; NotSupported for memory that the host cannot read; OutOfMemory (a strided tensor of
/// more than 6 dimensions); std::bad_alloc.
/// Cost: O(bytes); one allocation, the vector's.
/// Source: Nx.to_binary, whose bytes are in the host's order.
TENON_LAZY std::vector<uint8_t> to_binary(const detail::ConstTensorArg& tensor,
                                          int64_t limit = kAllElements) {
  int64_t count = 0;
  detail::Place from;
  Error error = detail::plan_binary(tensor, limit, from, count);
  std::vector<uint8_t> bytes;
  if (error == Error::Ok) {
    bytes.resize(static_cast<size_t>(count) * elementSize(detail::fields(tensor).type));
    error = detail::write_binary(detail::fields(tensor), from, count, bytes.data());
  }
  detail::raise_if("to_binary", error);
  return bytes;
}

template <class Out>
struct FromBinary {
  const char* function;

  /// A row-major tensor of the bytes of to_binary(), exactly as many as the sizes need.
  ///
  /// Ownership: copies; the bytes need no alignment. To adopt a vector of the host's own byte order
  /// there is from_bytes().
  /// Errors: InvalidArgument (another number of bytes, both are named; a null pointer to bytes;
  /// sizes that make_layout() refuses), InvalidType (Undefined), OutOfMemory.
  /// Source: Nx.from_binary, whose bytes are in the host's order, and numpy.frombuffer.
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(Span<const uint8_t> bytes, const Dims& sizes, ScalarType type,
                 Options&&... options) const {
    return (*this)(bytes.data(), bytes.size(), sizes, type, options...);
  }
  template <class... Options, detail::IfOptions<Options...> = 0>
  Out operator()(const void* bytes, size_t nbytes, const Dims& sizes, ScalarType type,
                 Options&&... options) const {
    return detail::create<Out>(
        function, CreatorOptions(type, options...), own::ScalarType::Undefined,
        [&](const auto& making, auto& made) noexcept {
          return detail::make_from_binary(bytes, nbytes, sizes, making, made.draft());
        });
  }
};

inline constexpr FromBinary<TensorPtr> from_binary{"from_binary"};
inline constexpr FromBinary<Result<TensorPtr>> try_from_binary{"try_from_binary"};

TENON_END_NAMESPACE
