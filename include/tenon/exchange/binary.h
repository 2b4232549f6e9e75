// SPDX-License-Identifier: MIT
// to_binary and from_binary: elements as bytes, in the same order for all strides and hosts.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/location.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

/// The default limit of to_binary(): all elements.
inline constexpr int64_t kAllElements = INT64_MAX;

namespace detail {

/// The sizes of a leading part of the elements: at least `count` > 0, less than twice as many. The
/// part is cut along the outermost dimension possible.
TENON_TEMPLATE_INLINE Dims leading_sizes(Dims sizes, int64_t numel, int64_t count) noexcept {
  for (int64_t& size : sizes) {
    numel /= size;
    size = (count - 1) / numel + 1;
    if (size > 1) break;
  }
  return sizes;
}

/// Writes at most the first `limit` elements.
TENON_TEMPLATE_INLINE Error write_binary(const TensorArg& tensor, int64_t limit,
                                         std::vector<uint8_t>& bytes) {
  TENON_TRY(check_defined(tensor, "the tensor"));
  if (limit < 0) {
    return fail(Error::InvalidArgument, "the limit of ", limit, " elements is negative");
  }
  const TensorFields& from = fields(tensor);
  HeldLocation there;
  TENON_TRY(find_location(from, "the tensor", there));
  TENON_TRY(there.keep_while_asking(tensor, false));
  const ScalarType type = from.type;  // a backend's code may drop the tensor
  const int64_t count = limit < from.layout.numel ? limit : from.layout.numel;
  if (count == 0) return Error::Ok;
  const size_t element_size = elementSize(type);
  const size_t nbytes = static_cast<size_t>(count) * element_size;
  const bool is_contiguous = from.layout.is_contiguous();
  Layout rows;
  const Dims sizes =
      is_contiguous ? Dims{count} : leading_sizes(from.layout.sizes(), from.layout.numel, count);
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(rows.make_row_major(sizes, element_size));
  bytes.resize(static_cast<size_t>(rows.numel) * element_size);
  Error error = Error::Ok;
  if (there.backend != nullptr && call_optional(*there.backend, "to_binary", error, [&] {
        return there.backend->to_binary(there.view, count, bytes.data());
      })) {
    bytes.resize(nbytes);
    return error;
  }
  there.view.sizes = sizes;
  if (is_contiguous) there.view.strides = rows.strides();
  MemoryLocation here;
  here.view = {bytes.data(), public_type(type), Device(), sizes, rows.strides()};
  TENON_TRY(copy(here, there));
  bytes.resize(nbytes);
  exchange_little_endian(type, bytes.data(), nbytes);
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error make_from_binary(const DataPtr& bytes, size_t count, const Dims& sizes,
                                             const CreateOptions& opts,
                                             NewTensor& new_tensor) noexcept {
  const ScalarType type = opts.type;
  TENON_TRY(check_pointer_type(bytes, type));
  TENON_TRY(check_dims("sizes", sizes));
  ptrdiff_t numel = 0;
  TENON_TRY(compute_numel(sizes, elementSize(type), numel));
  const size_t nbytes = static_cast<size_t>(numel) * elementSize(type);
  if (count != nbytes) {
    return fail(Error::InvalidArgument, count, " bytes were given, sizes ", sizes, " of ", type,
                " need ", nbytes);
  }
  if (bytes.get() == nullptr && count != 0) {
    return fail(Error::InvalidArgument, "the pointer to ", count, " bytes is null");
  }
  TENON_TRY(make_owned_row_major(sizes, opts, false, new_tensor));
  if (nbytes == 0) return Error::Ok;
  return fill_new(
      fields(new_tensor), numel, "from_binary",
      [&](Backend& backend, const auto& out) {
        return backend.from_binary(out, bytes.get(), nbytes);
      },
      [&](void* out) noexcept {
        std::memcpy(out, bytes.get(), nbytes);
        exchange_little_endian(type, out, nbytes);
        return Error::Ok;
      });
}

}  // namespace detail

/// The elements as bytes, in row-major order for any strides: each number is little-endian, a
/// complex number is two numbers, a Bool is a byte 0 or 1. At most the first `limit` elements.
///
/// Ownership: copies.
/// Errors: InvalidArgument for a negative limit; InvalidState for an undefined tensor or a
/// placeholder; NotSupported for memory that the host cannot read; OutOfMemory (for a strided
/// tensor with more dimensions than TENON_INLINE_DIMS); std::bad_alloc.
/// The try_ form returns a Result.
/// Cost: O(bytes); one allocation, for the vector.
/// Source: Nx.to_binary, whose bytes are in the host's order.
TENON_TEMPLATE_INLINE std::vector<uint8_t> to_binary(const ConstTensorArg& tensor,
                                                     int64_t limit = kAllElements) {
  std::vector<uint8_t> bytes;
  const Error error = detail::write_binary(tensor, limit, bytes);
  detail::raise_if("to_binary", error);
  return bytes;
}
TENON_TEMPLATE_INLINE Result<std::vector<uint8_t>> try_to_binary(
    const ConstTensorArg& tensor, int64_t limit = kAllElements) noexcept {
  std::vector<uint8_t> bytes;
  const Error error =
      detail::call_safely([&] { return detail::write_binary(tensor, limit, bytes); });
  TENON_TRY(detail::add_context_if("try_to_binary", error));
  return bytes;
}

namespace detail {  // function objects

template <class Out>
struct FromBinary {
  const char* function;

  /// A row-major tensor with the elements of to_binary()'s bytes. `bytes` is a container of
  /// uint8_t, char or std::byte, with exactly as many bytes as the sizes need.
  ///
  /// Ownership: copies; the bytes need no alignment. from_bytes() adopts a vector in the host's
  /// byte order.
  /// Errors: InvalidArgument (another number of bytes: the text has both numbers; a null pointer to
  /// bytes; invalid sizes), InvalidType (Undefined; a pointer to elements of another type),
  /// OutOfMemory.
  /// Source: Nx.from_binary, whose bytes are in the host's order, and numpy.frombuffer.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(Span<const uint8_t> bytes, const Dims& sizes, tenon::ScalarType type,
                 Options&&... options) const {
    return (*this)(bytes.data(), bytes.size(), sizes, type, options...);
  }
  template <class Bytes, class... Options,
            std::enable_if_t<
                is_char_or_byte_v<std::remove_cv_t<typename ContiguousElement<const Bytes>::type>>,
                int> = 0,
            IfOptions<Options...> = 0>
  Out operator()(const Bytes& bytes, const Dims& sizes, tenon::ScalarType type,
                 Options&&... options) const {
    return (*this)(bytes.data(), bytes.size(), sizes, type, options...);
  }
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(DataPtr bytes, size_t nbytes, const Dims& sizes, tenon::ScalarType type,
                 Options&&... options) const {
    const CreateOptions opts = create_options_of(own::ScalarType::Undefined, type, options...);
    NewTensor new_tensor;
    const Error error = make_from_binary(bytes, nbytes, sizes, opts, new_tensor);
    return return_to_user<Out>(function, error, new_tensor, opts.backend);
  }
};

}  // namespace detail

inline constexpr detail::FromBinary<TensorPtr> from_binary{"from_binary"};
inline constexpr detail::FromBinary<Result<TensorPtr>> try_from_binary{"try_from_binary"};

TENON_END_NAMESPACE
