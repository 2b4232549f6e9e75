// SPDX-License-Identifier: MIT
// The element types in the library's two modes: the one place that switches them.
//
// tenon has types of its own for elements and what describes them: Half, BFloat16, Float8_*,
// complex, ScalarType, Scalar. In plain mode they are the public ones. In ATen mode the public ones
// are c10's, with the same bytes and numbers, and its own are in the namespace own, where kernels
// and all of detail use them: so there is one set of loops and checks for both. `own::Half` is
// right in both.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/types.h"

#define TENON_BEGIN_OWN namespace own {
#define TENON_END_OWN }
#else
#define TENON_BEGIN_OWN
#define TENON_END_OWN

TENON_BEGIN_NAMESPACE
namespace own {
using namespace ::tenon;  // so that own::X is X
}
namespace detail {

/// The number of the ScalarType of another library's element type; -1 for what is none.
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
