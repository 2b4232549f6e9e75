// SPDX-License-Identifier: MIT
// operator<< for tensors and for the types that describe them. Nothing else in tenon includes
// <ostream>.
//
// Half, BFloat16 and the Float8 types need no operator: they convert to float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "tenon/tensor/format.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

#if !TENON_ATEN_MODE  // ATen prints at::Tensor
/// to_string(tensor), with the default options.
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}
/// Prints the tensor, not the pointer. Not a template, so that it wins over C++20's operator<< for
/// unique_ptr.
inline std::ostream& operator<<(std::ostream& out, const TensorPtr& tensor) {
  return out << to_string(tensor);
}
#endif

/// Prints the name, such as "InvalidArgument".
inline std::ostream& operator<<(std::ostream& out, Error error) { return out << toString(error); }

/// Prints the value as error texts do: "Float", "cuda:1", "0.5", "1 + 2i". Templates, here and for
/// Dims below, since many printable types convert to these types.
template <class T, std::enable_if_t<std::is_same_v<T, own::ScalarType> ||
                                        std::is_same_v<T, Device> || std::is_same_v<T, own::Scalar>,
                                    int> = 0>
std::ostream& operator<<(std::ostream& out, const T& value) {
  char text[64];
  detail::Message message(text, sizeof text);
  append(message, value);
  return out << text;
}

namespace detail {

/// 8-bit integers print as numbers.
template <class T>
void put_number(std::ostream& out, std::streamsize width, const T& value) {
  out.width(width);
  if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>) {
    out << int{value};
  } else {
    out << value;
  }
}

}  // namespace detail

/// Prints "(1,2)". The stream's format and width apply to each part.
/// Source: std::complex.
template <class T>
std::ostream& operator<<(std::ostream& out, const own::complex<T>& value) {
  const std::streamsize width = out.width(0);
  out << '(';
  detail::put_number(out, width, value.real());
  out << ',';
  detail::put_number(out, width, value.imag());
  return out << ')';
}

/// Prints a span of any element type, such as "{2, 3}". The stream's format and width apply to each
/// number.
template <class T, std::enable_if_t<detail::is_element_v<T>, int> = 0>
std::ostream& operator<<(std::ostream& out, Span<T> values) {
  const std::streamsize width = out.width(0);
  out << '{';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out << ", ";
    detail::put_number(out, width, values[i]);
  }
  return out << '}';
}
template <class T, std::enable_if_t<detail::is_printed_list_v<T>, int> = 0>
std::ostream& operator<<(std::ostream& out, const T& dims) {
  return out << ArrayRef<typename T::value_type>(dims);
}

TENON_END_NAMESPACE
