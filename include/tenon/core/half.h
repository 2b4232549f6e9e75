// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/mode.h"
#include "tenon/core/small_float.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

/// IEEE 754 binary16: 5 exponent and 10 mantissa bits, up to 65504. Conversions round to nearest
/// even and keep NaN and infinity.
/// Source: c10::Half.
using Half =
    detail::SmallFloat<detail::SmallFloatFormat<uint16_t, 5, 10, 15, detail::Specials::Ieee>>;

TENON_END_OWN
namespace detail {
using own::Half;
}
TENON_END_NAMESPACE
