// SPDX-License-Identifier: MIT
// The library's two modes, plain and ATen. Below tensor/tensor.h only this file depends on them.
//
// tenon has its own Half, BFloat16, Float8_*, complex, ScalarType and Scalar. In plain mode they
// are public. In ATen mode the public types are c10's, with the same bytes and numbers, and tenon's
// are in namespace own. Kernels and all of detail use own::Half and so on in both modes, so that
// there is one set of loops and checks.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/types.h"

#define TENON_BEGIN_OWN namespace own {
#define TENON_END_OWN }

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether Tensor is tenon's. Otherwise it is at::Tensor: its storage keeps tenon's impl on the
/// heap, and its strides are not negative.
inline constexpr bool kHasOwnTensors = false;

/// Whether read-only tensors are supported: needs libtorch 2.13, whose storages can copy memory on
/// the first write.
#if __has_include(<c10/core/StorageMaterializer.h>)
inline constexpr bool kHasReadOnly = true;
#else
inline constexpr bool kHasReadOnly = false;
#endif

}  // namespace detail
TENON_END_NAMESPACE
#else
#include <cstdint>

#define TENON_BEGIN_OWN
#define TENON_END_OWN

TENON_BEGIN_NAMESPACE
namespace own {
using namespace ::tenon;  // in plain mode own::X is X
}
namespace detail {

inline constexpr bool kHasOwnTensors = true;
inline constexpr bool kHasReadOnly = true;

/// Seeds libtorch's default generator.
inline void seed_aten(uint64_t) noexcept {}

/// The ScalarType's number for another library's element type; -1 for any other type.
template <class T>
constexpr int foreign_scalar_type() noexcept {
  return -1;
}

/// The public C++ type of the elements that tenon's own T stores.
template <class T, int kScalarType>
struct PublicElement {
  using type = T;
};

}  // namespace detail
TENON_END_NAMESPACE
#endif
