// SPDX-License-Identifier: MIT
// The four 8-bit formats. e<exponent bits>m<mantissa bits>; "fn": finite, no infinity;
// "uz": unsigned zero, no negative one. Source: c10::Float8_*, and the OCP 8-bit specification.
#pragma once

#include "tenon/core/mode.h"
#include "tenon/core/small_float.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

/// Up to 57344; overflow gives infinity.
using Float8_e5m2 =
    detail::SmallFloat<detail::SmallFloatFormat<uint8_t, 5, 2, 15, detail::Specials::Ieee>>;
/// Up to 448; overflow gives NaN.
using Float8_e4m3fn =
    detail::SmallFloat<detail::SmallFloatFormat<uint8_t, 4, 3, 7, detail::Specials::FiniteOnly>>;
/// Up to 57344; overflow gives NaN.
using Float8_e5m2fnuz =
    detail::SmallFloat<detail::SmallFloatFormat<uint8_t, 5, 2, 16, detail::Specials::UnsignedZero>>;
/// Up to 240; overflow gives NaN.
using Float8_e4m3fnuz =
    detail::SmallFloat<detail::SmallFloatFormat<uint8_t, 4, 3, 8, detail::Specials::UnsignedZero>>;

TENON_END_OWN
namespace detail {
using own::Float8_e4m3fn;
using own::Float8_e4m3fnuz;
using own::Float8_e5m2;
using own::Float8_e5m2fnuz;
}  // namespace detail
TENON_END_NAMESPACE
