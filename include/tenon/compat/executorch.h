// SPDX-License-Identifier: MIT
// The names of ExecuTorch's tensor extension over tenon, so that code written for it builds by
// changing its include of <executorch/extension/tensor/tensor.h> to this one.
//
// TensorPtr is a std::shared_ptr here, as ExecuTorch's has been since 0.5; code for the unique_ptr
// of older releases compiles too. Both orders of arguments that ExecuTorch had are accepted, with
// and without a Device. Differences that are intended: data must have exactly the length that the
// shape needs, padded strides are accepted, errors are tenon::Exception instead of an abort,
// DYNAMIC_UNBOUND tensors that own their memory grow, and views keep their source alive. Not for
// use in one program with the real thing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/compat/executorch_tensor.h"

namespace executorch {
namespace extension {

namespace internal {
/// A tenon creator that returns this namespace's TensorPtr. Its first arguments are sizes, or sizes
/// and strides.
template <class Creator>
struct Shared {
  Creator create;
  template <class... Args>
  TensorPtr operator()(const Dims& sizes, const Args&... args) const {
    return create(sizes, args...);
  }
  template <class... Args>
  TensorPtr operator()(const Dims& sizes, const Dims& strides, const Args&... args) const {
    return create(sizes, strides, args...);
  }
};
/// One that takes a tensor's shape, from what converts to a TensorPtr.
template <class Creator>
struct SharedLike {
  Creator create;
  template <class... Args>
  TensorPtr operator()(const TensorPtr& source, const Args&... args) const {
    return create(Source(source).tensor, args...);
  }
};
template <class Creator>
Shared(Creator) -> Shared<Creator>;
template <class Creator>
SharedLike(Creator) -> SharedLike<Creator>;
}  // namespace internal

inline constexpr internal::Shared empty{tenon::empty};
inline constexpr internal::SharedLike empty_like{tenon::empty_like};
inline constexpr internal::Shared empty_strided{tenon::empty_strided};
inline constexpr internal::Shared full{tenon::full};
inline constexpr internal::SharedLike full_like{tenon::full_like};
inline constexpr internal::Shared full_strided{tenon::full_strided};
inline constexpr internal::Shared zeros{tenon::zeros};
inline constexpr internal::SharedLike zeros_like{tenon::zeros_like};
inline constexpr internal::Shared ones{tenon::ones};
inline constexpr internal::SharedLike ones_like{tenon::ones_like};
inline TensorPtr scalar_tensor(const aten::Scalar& value,
                               aten::ScalarType type = aten::ScalarType::Float) {
  return tenon::scalar_tensor(value, type);
}

/// The numbers are those of the thread's own generator, tenon::default_generator(). rand is a
/// function, as there, which overloads the C library's.
inline TensorPtr rand(const tenon::Dims& sizes, aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand(sizes, type, dynamism);
}
inline constexpr internal::SharedLike rand_like{tenon::rand_like};
inline constexpr internal::Shared rand_strided{tenon::rand_strided};
inline constexpr internal::Shared randn{tenon::randn};
inline constexpr internal::SharedLike randn_like{tenon::randn_like};
inline constexpr internal::Shared randn_strided{tenon::randn_strided};
inline constexpr internal::SharedLike randint_like{tenon::randint_like};
template <class = void>
TensorPtr randint(int64_t low, int64_t high, const tenon::Dims& sizes,
                  aten::ScalarType type = aten::ScalarType::Int,
                  aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randint(low, high, sizes, type, dynamism);
}
template <class = void>
TensorPtr randint_strided(int64_t low, int64_t high, const tenon::Dims& sizes,
                          const tenon::Dims& strides, aten::ScalarType type = aten::ScalarType::Int,
                          aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::randint_strided(low, high, sizes, strides, type, dynamism);
}

using tenon::TensorAccessor;

/// Errors: InvalidArgument unless N is the rank and T has the element's size.
template <class T, ptrdiff_t N>
runtime::Result<TensorAccessor<T, static_cast<size_t>(N)>> make_tensor_accessor(
    const aten::Tensor& tensor) {
  using tenon::detail::blame;
  using tenon::detail::fail;
  if (tensor.dim() != N) {
    return blame("make_tensor_accessor", fail(runtime::Error::InvalidArgument, "expected ", N,
                                              " dimensions, the tensor has ", tensor.dim()));
  }
  if (tensor.element_size() != sizeof(T)) {
    return blame("make_tensor_accessor",
                 fail(runtime::Error::InvalidArgument, "elements of ", sizeof(T),
                      " bytes do not match the tensor's ", tensor.scalar_type()));
  }
  return tensor.accessor<T, static_cast<size_t>(N)>();
}

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
