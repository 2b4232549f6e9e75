// SPDX-License-Identifier: MIT
// Typed access to elements: what the members of Tensor and the functions of access.h share. Each
// raises its errors under the name of the `function` that was called.
#pragma once

#include "tenon/tensor/accessor.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_TEMPLATE_INLINE Error check_writable(const TensorFields& tensor) noexcept {
  if (tensor.readonly) {
    return fail(Error::InvalidState, "the tensor is read-only");
  }
  return Error::Ok;
}

/// Element 0 on any device; nullptr for a placeholder. An error where the backend is gone, and for
/// a meta tensor that a creator made; one over a null pointer is a placeholder.
inline void* raw_data(const char* function, const TensorFields& tensor) {
  raise_if(function, check_not_deallocated(tensor, "the tensor"));
  raise_if(function, check_data_backend(tensor, "the tensor"));
  if (tensor.is_meta() && tensor.ownership == Ownership::Owned) {
    raise_if(function, fail_host_access(tensor));
  }
  return tensor.data;
}
inline void* writable_data(const char* function, const TensorFields& tensor) {
  raise_if(function, check_writable(tensor));
  return raw_data(function, tensor);
}

/// The memory described. The view of a deallocated tensor, a meta tensor or a placeholder has no
/// data.
inline TensorView view_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_data_backend(tensor, "the tensor"));
  return view_of(tensor);
}

/// Element 0 of any type, where the host reaches it.
inline void* host_data(const char* function, const TensorFields& tensor, bool writes) {
  raise_if(function, check_typed(tensor, tensor.type));
  if (writes) raise_if(function, check_writable(tensor));
  return tensor.data;
}

/// `type`, if it is Half, BFloat16 or a Float8 type, as large as the integer type `asked`; else
/// `asked`.
TENON_COLD inline ScalarType type_of_bits(ScalarType asked, ScalarType type) noexcept {
  return isFloatingType(type) && elementSize(type) == elementSize(asked) ? type : asked;
}

/// Element 0 as a T, for reading only when T is const; uint16_t and uint8_t are bits, too.
template <class T>
T* typed_data(const char* function, const TensorFields& tensor) {
  constexpr ScalarType type = own_type(CppTypeToScalarType<T>::value);
  ScalarType asked = type;
  if constexpr (type == ScalarType::UInt16 || type == ScalarType::Byte) {
    if (tensor.type != type) asked = type_of_bits(type, tensor.type);
  }
  raise_if(function, check_typed(tensor, asked));
  if (tensor.layout.numel != 0) raise_if(function, check_aligned(tensor.data, type));
  if constexpr (!std::is_const_v<T>) raise_if(function, check_writable(tensor));
  return static_cast<T*>(tensor.data);
}

/// typed_data(), or for std::byte and char the first byte of elements of any type.
template <class T>
T* pointer_to(const char* function, const TensorFields& tensor) {
  if constexpr (is_char_or_byte_v<std::remove_const_t<T>>) {
    return static_cast<T*>(host_data(function, tensor, !std::is_const_v<T>));
  } else {
    return typed_data<T>(function, tensor);
  }
}

template <class T>
Span<T> span_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_has_data(tensor));
  T* const first = typed_data<T>(function, tensor);
  TENON_CHECK(tensor.layout.is_contiguous(), Error::InvalidState, function, ": strides ",
              tensor.layout.strides(), " of sizes ", tensor.layout.sizes(),
              " are not contiguous; contiguous(t) makes a copy that is");
  return Span<T>(first, static_cast<size_t>(tensor.layout.numel));
}

template <class T, size_t N>
TensorAccessor<T, N> accessor_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_has_data(tensor));
  TENON_CHECK(tensor.layout.rank() == N, Error::InvalidArgument, function, ": asked for ", N,
              " dimensions, the tensor has ", tensor.layout.rank());
  return TensorAccessor<T, N>(typed_data<T>(function, tensor), tensor.layout.sizes().data(),
                              tensor.layout.strides().data());
}

template <class T>
T item_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_has_data(tensor));
  TENON_CHECK(tensor.layout.numel == 1, Error::InvalidArgument, function, ": a tensor of sizes ",
              tensor.layout.sizes(), " has ", tensor.layout.numel, " elements, expected 1");
  if (!tensor.is_host_accessible()) raise_if(function, fail_host_access(tensor));
  const Scalar value = load_scalar(tensor.type, tensor.data);
  TENON_CHECK(value.fits<T>(), Error::InvalidArgument, function, ": ", value, " does not fit ",
              CppTypeToScalarType<T>::value);
  return value.to<T>();
}

inline bool is_aligned(const char* function, const TensorFields& tensor, size_t n) {
  TENON_CHECK(n != 0, Error::InvalidArgument, function, ": 0 is not an alignment");
  return reinterpret_cast<uintptr_t>(tensor.data) % n == 0;
}

}  // namespace detail
TENON_END_NAMESPACE
