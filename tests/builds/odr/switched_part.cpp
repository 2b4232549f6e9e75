// SPDX-License-Identifier: MIT
// A part of switched.cpp, which the test builds with each switch that must be alike everywhere.
#include <tenon/core/dims.h>

size_t rank_of(const tenon::Dims& sizes) { return sizes.size(); }
