// SPDX-License-Identifier: MIT
// Random tensors for functions that are compared with libtorch's: of few elements, in layouts of all kinds.
#pragma once

#include <cstdlib>
#include <random>
#include <vector>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace tests {

class RandomCases {
 public:
  explicit RandomCases(unsigned seed) : engine_(seed) {}

  /// From 0 to n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }
  std::vector<int64_t> sizes(int64_t least_rank, int64_t most_rank) {
    std::vector<int64_t> made(static_cast<size_t>(between(least_rank, most_rank)));
    for (int64_t& size : made) size = one_in(12) ? 0 : one_in(4) ? 1 : between(1, 4);
    return made;
  }
  tenon::ScalarType type() {
    using tenon::ScalarType;
    return one_of<ScalarType>(
        {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16,
         ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long,
         ScalarType::Bool, ScalarType::ComplexFloat, ScalarType::ComplexDouble});
  }

  /// Integers from `least` to `most`, in a dense, permuted, sliced or expanded layout.
  tenon::Tensor tensor(const std::vector<int64_t>& sizes, tenon::ScalarType type,
                       int64_t least = -4, int64_t most = 9) {
    using namespace tenon;
    std::vector<int64_t> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    if (one_in(2)) std::shuffle(order.begin(), order.end(), engine_);
    std::vector<int64_t> laid(sizes.size());
    std::vector<int64_t> expanded(sizes.size());
    std::vector<int64_t> begins(sizes.size());
    std::vector<int64_t> places(sizes.size());
    const bool is_sliced = one_in(4);
    const bool is_expanded = one_in(6);
    for (size_t k = 0; k < order.size(); ++k) {
      const auto d = static_cast<size_t>(order[k]);
      places[d] = static_cast<int64_t>(k);
      begins[k] = is_sliced && one_in(2) ? below(3) : 0;
      laid[k] = sizes[d] + begins[k] + (is_sliced && one_in(2) ? below(3) : 0);
      expanded[k] = laid[k];
      if (is_expanded && one_in(2)) laid[k] = 1;
    }
    const TensorPtr numbers = zeros(laid, ScalarType::Long);
    auto* const data = static_cast<int64_t*>(numbers->mutable_data_ptr());
    for (int64_t i = 0; i < numbers->numel(); ++i) data[i] = between(least, most);
    Tensor made = expand(to(*numbers, type, CastMode::Truncate), expanded);
    for (size_t k = 0; k < order.size(); ++k) {
      made = narrow(made, static_cast<int64_t>(k), begins[k], sizes[static_cast<size_t>(order[k])]);
    }
    return permute(made, places);
  }
  /// One without elements that share memory.
  tenon::Tensor distinct(const std::vector<int64_t>& sizes, tenon::ScalarType type,
                         int64_t least = -4, int64_t most = 9) {
    for (;;) {
      const tenon::Tensor made = tensor(sizes, type, least, most);
      bool has_zero = false;
      for (size_t d = 0; d < sizes.size(); ++d) has_zero |= sizes[d] > 1 && made.strides()[d] == 0;
      if (!has_zero) return made;
    }
  }

 private:
  std::mt19937 engine_;
};

/// How many random cases a test tries: TENON_CASES in the environment, else few.
inline int random_cases() {
  const char* const given = std::getenv("TENON_CASES");
  return given == nullptr ? 150 : std::atoi(given);
}

}  // namespace tests
