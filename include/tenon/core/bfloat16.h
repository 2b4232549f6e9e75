// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/mode.h"
#include "tenon/core/small_float.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

/// The upper half of a float: 8 exponent and 7 mantissa bits. Conversions round to nearest even and
/// keep NaN and infinity.
/// Source: c10::BFloat16.
using BFloat16 =
    detail::SmallFloat<detail::SmallFloatFormat<uint16_t, 8, 7, 127, detail::Specials::Ieee>>;

TENON_END_OWN
namespace detail {
using own::BFloat16;
}
TENON_END_NAMESPACE
