// SPDX-License-Identifier: MIT
// empty, full, zeros, ones and the random creators, which return TensorPtr as ExecuTorch has it.
#pragma once

#include <cstdint>

#include "tenon/compat/executorch_names.h"
#include "tenon/compat/executorch_tensor.h"
#include "tenon/tenon.h"

namespace executorch {
namespace extension {

namespace internal {
/// A tenon creator that returns this namespace's TensorPtr and takes it as a source.
template <class Creator>
struct Shared {
  Creator create;
  template <class... Args>
  TensorPtr operator()(const Dims& sizes, const Args&... args) const {
    return create(sizes, args...);
  }
};
template <class Creator>
struct SharedStrided {
  Creator create;
  template <class... Args>
  TensorPtr operator()(const Dims& sizes, const Dims& strides, const Args&... args) const {
    return create(sizes, strides, args...);
  }
};
template <class Creator>
struct SharedLike {
  Creator create;
  template <class... Args>
  TensorPtr operator()(const TensorPtr& source, const Args&... args) const {
    return create(source != nullptr ? *source : aten::Tensor(), args...);
  }
};
template <class Creator>
struct SharedScalar {
  Creator create;
  TensorPtr operator()(const aten::Scalar& value, ScalarType type = ScalarType::Float) const {
    return create(value, type);
  }
};

template <class Creator>
Shared(Creator) -> Shared<Creator>;
template <class Creator>
SharedStrided(Creator) -> SharedStrided<Creator>;
template <class Creator>
SharedLike(Creator) -> SharedLike<Creator>;
template <class Creator>
SharedScalar(Creator) -> SharedScalar<Creator>;
}  // namespace internal

inline constexpr internal::Shared empty{tenon::empty};
inline constexpr internal::SharedLike empty_like{tenon::empty_like};
inline constexpr internal::SharedStrided empty_strided{tenon::empty_strided};
inline constexpr internal::Shared full{tenon::full};
inline constexpr internal::SharedLike full_like{tenon::full_like};
inline constexpr internal::SharedStrided full_strided{tenon::full_strided};
inline constexpr internal::Shared zeros{tenon::zeros};
inline constexpr internal::SharedLike zeros_like{tenon::zeros_like};
inline constexpr internal::Shared ones{tenon::ones};
inline constexpr internal::SharedLike ones_like{tenon::ones_like};
inline constexpr internal::SharedScalar scalar_tensor{tenon::scalar_tensor};

/// The numbers are those of the thread's own generator, tenon::default_generator(). rand is a
/// function, as there, which overloads the C library's.
inline TensorPtr rand(const tenon::Dims& sizes, aten::ScalarType type = aten::ScalarType::Float,
                      aten::TensorShapeDynamism dynamism = internal::kBound) {
  return tenon::rand(sizes, type, dynamism);
}
inline constexpr internal::SharedLike rand_like{tenon::rand_like};
inline constexpr internal::SharedStrided rand_strided{tenon::rand_strided};
inline constexpr internal::Shared randn{tenon::randn};
inline constexpr internal::SharedLike randn_like{tenon::randn_like};
inline constexpr internal::SharedStrided randn_strided{tenon::randn_strided};
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

}  // namespace extension
}  // namespace executorch
