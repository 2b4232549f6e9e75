// SPDX-License-Identifier: MIT
// ExecuTorch's tensor extension, implemented by tenon: include this instead of
// <executorch/extension/tensor/tensor.h>.
//
// TensorPtr is a std::shared_ptr here, as ExecuTorch's has been since 0.5; code for the unique_ptr
// of older releases compiles too. Accepts both argument orders that ExecuTorch had, with and
// without a Device. docs/executorch.md lists the intended differences.
//
// A program may contain ExecuTorch itself too, since the names here are in inline namespaces. No
// source file may include both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/compat/executorch_tensor.h"

namespace executorch {
namespace extension {
inline namespace tenon_compat {

// Functions, not function objects, so that their address can be taken and using-directives form
// overload sets. Templates, so that `&zeros` converts to ExecuTorch's signature with std::vector; a
// braced list becomes a Dims.

template <class List = tenon::Dims, class StridesList = tenon::Dims>
TensorPtr empty_strided(List sizes, StridesList strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::empty_strided(sizes, strides, type, dynamism);
}
inline TensorPtr empty_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::empty_like(internal::Source(other).tensor, type, dynamism);
}
inline TensorPtr empty(const tenon::Dims& sizes, aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::empty(sizes, type, dynamism);
}
/// More specialised than std::empty(const C&), which argument-dependent lookup finds for a
/// std::vector.
template <class Size>
TensorPtr empty(std::vector<Size> sizes, aten::ScalarType type = aten::ScalarType::Float,
                aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::empty(sizes, type, dynamism);
}
template <class List = tenon::Dims, class StridesList = tenon::Dims>
TensorPtr full_strided(List sizes, StridesList strides, aten::Scalar value,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::full_strided(sizes, strides, value, type, dynamism);
}
inline TensorPtr full_like(const TensorPtr& other, aten::Scalar value,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::full_like(internal::Source(other).tensor, value, type, dynamism);
}
template <class List = tenon::Dims>
TensorPtr full(List sizes, aten::Scalar value, aten::ScalarType type = aten::ScalarType::Float,
               aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::full(sizes, value, type, dynamism);
}
inline TensorPtr scalar_tensor(aten::Scalar value,
                               aten::ScalarType type = aten::ScalarType::Float) {
  return tenon::scalar_tensor(value, type);
}
inline TensorPtr ones_like(const TensorPtr& other,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::ones_like(internal::Source(other).tensor, type, dynamism);
}
template <class List = tenon::Dims>
TensorPtr ones(List sizes, aten::ScalarType type = aten::ScalarType::Float,
               aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::ones(sizes, type, dynamism);
}
inline TensorPtr zeros_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::zeros_like(internal::Source(other).tensor, type, dynamism);
}
template <class List = tenon::Dims>
TensorPtr zeros(List sizes, aten::ScalarType type = aten::ScalarType::Float,
                aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::zeros(sizes, type, dynamism);
}

// Numbers come from the thread's tenon::default_generator(). The rand() that takes braces is not a
// template, so that it wins over tenon::rand, which argument-dependent lookup finds through
// ScalarType.

template <class List = tenon::Dims, class StridesList = tenon::Dims>
TensorPtr rand_strided(List sizes, StridesList strides,
                       aten::ScalarType type = aten::ScalarType::Float,
                       aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand_strided(sizes, strides, type, dynamism);
}
inline TensorPtr rand_like(const TensorPtr& other,
                           aten::ScalarType type = aten::ScalarType::Undefined,
                           aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand_like(internal::Source(other).tensor, type, dynamism);
}
inline TensorPtr rand(const tenon::Dims& sizes, aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand(sizes, type, dynamism);
}
template <class Size>
TensorPtr rand(std::vector<Size> sizes, aten::ScalarType type = aten::ScalarType::Float,
               aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand(sizes, type, dynamism);
}
template <class List = tenon::Dims, class StridesList = tenon::Dims>
TensorPtr randn_strided(List sizes, StridesList strides,
                        aten::ScalarType type = aten::ScalarType::Float,
                        aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randn_strided(sizes, strides, type, dynamism);
}
inline TensorPtr randn_like(const TensorPtr& other,
                            aten::ScalarType type = aten::ScalarType::Undefined,
                            aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randn_like(internal::Source(other).tensor, type, dynamism);
}
template <class List = tenon::Dims>
TensorPtr randn(List sizes, aten::ScalarType type = aten::ScalarType::Float,
                aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randn(sizes, type, dynamism);
}
template <class List = tenon::Dims, class StridesList = tenon::Dims>
TensorPtr randint_strided(int64_t low, int64_t high, List sizes, StridesList strides,
                          aten::ScalarType type = aten::ScalarType::Int,
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randint_strided(low, high, sizes, strides, type, dynamism);
}
inline TensorPtr randint_like(const TensorPtr& other, int64_t low, int64_t high,
                              aten::ScalarType type = aten::ScalarType::Undefined,
                              aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randint_like(internal::Source(other).tensor, low, high, type, dynamism);
}
template <class List = tenon::Dims>
TensorPtr randint(int64_t low, int64_t high, List sizes,
                  aten::ScalarType type = aten::ScalarType::Int,
                  aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randint(low, high, sizes, type, dynamism);
}

/// tenon's accessor, with ExecuTorch's type for N, so that `template <class T, ssize_t N>` deduces
/// it.
template <class T, ptrdiff_t N>
class TensorAccessor : public tenon::TensorAccessor<T, static_cast<size_t>(N)> {
  using Base = tenon::TensorAccessor<T, static_cast<size_t>(N)>;

 public:
  TensorAccessor(const Base& base) noexcept : Base(base) {}
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return Base::operator[](i);
    } else {
      return TensorAccessor<T, N - 1>(Base::operator[](i));
    }
  }
};

/// T may be another type of the element's size, as in ExecuTorch.
/// Errors: InvalidArgument if N is not the rank, or T's size is not the element's, or the data is
/// not aligned for T.
template <class T, ptrdiff_t N>
runtime::Result<TensorAccessor<T, N>> make_tensor_accessor(const aten::Tensor& tensor) {
  using tenon::Error, tenon::detail::fail;
  Error error = Error::Ok;
  if (tensor.dim() != N) {
    error =
        fail(Error::InvalidArgument, "expected ", N, " dimensions, the tensor has ", tensor.dim());
  } else if (tensor.element_size() != sizeof(T)) {
    error = fail(Error::InvalidArgument, "elements of ", sizeof(T),
                 " bytes do not match the tensor's ", tensor.scalar_type());
  } else {
    const tenon::detail::TensorFields& fields = tenon::detail::fields(tensor);
    error = std::is_const_v<T> ? tenon::detail::check_has_data(fields)
                               : tenon::detail::check_writable(fields);
    if (error == Error::Ok && tensor.numel() != 0 && !tensor.is_aligned(alignof(T))) {
      error =
          fail(Error::InvalidArgument, "the data is not at a multiple of ", alignof(T), " bytes");
    }
    if (error == Error::Ok) {
      return TensorAccessor<T, N>(tenon::TensorAccessor<T, static_cast<size_t>(N)>(
          static_cast<T*>(fields.data), tensor.sizes().data(), tensor.strides().data()));
    }
  }
  return runtime::internal::error_of(tenon::detail::add_context("make_tensor_accessor", error));
}

}  // namespace tenon_compat
}  // namespace extension
}  // namespace executorch

namespace exec_aten = executorch::aten;

namespace torch {
namespace executor {
using namespace executorch::aten;
using executorch::runtime::Error;
using executorch::runtime::Result;
}  // namespace executor
}  // namespace torch
