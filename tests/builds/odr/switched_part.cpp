// SPDX-License-Identifier: MIT
// A part of switched.cpp, which the test builds with each switch that must be alike everywhere.
#include <tenon/core/result.h>

using Sizes = tenon::Result<tenon::Dims>;

size_t rank_of(const Sizes& sizes) { return sizes.value().size(); }

Sizes rank_two() { return tenon::Dims{2, 3}; }

struct Model {
  static Sizes rank_three(int);
};
Sizes Model::rank_three(int) { return tenon::Dims{2, 3, 4}; }

Sizes rank_four = tenon::Dims{2, 3, 4, 5};
