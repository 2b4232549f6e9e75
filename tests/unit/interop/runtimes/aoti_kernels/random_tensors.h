// SPDX-License-Identifier: MIT
// Random tensors in the layouts that a kernel meets, for comparisons with libtorch. The same ones in each run.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace tests {

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : random_(seed) {}

  int64_t number(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
  }
  bool chance(int64_t one_in) { return number(1, one_in) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[number(0, static_cast<int64_t>(all.size()) - 1)];
  }

  /// Up to three dimensions, some of 0 or 1 elements; at times none.
  std::vector<int64_t> sizes(int64_t largest = 7) {
    std::vector<int64_t> made(chance(10) ? 0 : static_cast<size_t>(number(1, 3)));
    for (int64_t& size : made) size = chance(15) ? 0 : chance(5) ? 1 : number(1, largest);
    return made;
  }
  /// A dimension of these sizes, at times one that they do not have.
  int64_t dim(const std::vector<int64_t>& sizes) {
    const auto rank = static_cast<int64_t>(sizes.size());
    if (chance(20)) return number(-rank - 2, rank + 1);
    return rank == 0 ? number(-1, 0) : number(-rank, rank - 1);
  }
  /// Numbers with ties, some NaN and infinite if `specials`; contiguous, permuted, cut out, or expanded.
  tenon::Tensor tensor(tenon::ScalarType type, const std::vector<int64_t>& sizes,
                       bool specials = true) {
    using namespace tenon;
    const TensorPtr numbers = zeros(sizes, ScalarType::Double);
    const double step = one_of({1.0, 0.5, 0.01});
    const bool has_specials = specials && chance(4);
    for (int64_t i = 0; i < numbers->numel(); ++i) {
      double x = static_cast<double>(number(-4, 4)) * step;
      if (has_specials && chance(6)) x = one_of({double{NAN}, double{INFINITY}, -double{INFINITY}});
      if (chance(20)) x = -0.0;
      numbers->mutable_data_ptr<double>()[i] = x;
    }
    return lay_out(to(*numbers, type, CastMode::Truncate));
  }
  tenon::Tensor lay_out(const tenon::Tensor& given) {
    using namespace tenon;
    const auto rank = static_cast<int64_t>(given.dim());
    if (rank == 0 || chance(3)) return given;
    const int64_t d = number(0, rank - 1);
    const int64_t size = given.size(d);
    switch (number(0, 2)) {
      case 0: {  // the memory of its transpose
        const Tensor turned = transpose(given, d, 0);
        const TensorPtr copy = zeros(turned.sizes(), given.scalar_type());
        REQUIRE(copy_(*copy, turned) == Error::Ok);
        return transpose(*copy, d, 0);
      }
      case 1: return size < 2 ? given : slice(given, d, number(0, 1), size, number(1, 2));
      default: return size == 0 ? given : expand(slice(given, d, 0, 1, 1), given.sizes());
    }
  }

 private:
  std::mt19937 random_;
};

}  // namespace tests
