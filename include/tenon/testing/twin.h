// SPDX-License-Identifier: MIT
// Twin: a tensor in a backend's memory and the same on the host; and how views of both may lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/generator.h"
#include "tenon/core/scalar_type.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/view.h"
#include "tenon/testing/trial.h"

TENON_BEGIN_NAMESPACE
namespace testing {

inline constexpr ScalarType kAllTypes[] = {ScalarType::Byte,
                                           ScalarType::Char,
                                           ScalarType::Short,
                                           ScalarType::Int,
                                           ScalarType::Long,
                                           ScalarType::Half,
                                           ScalarType::Float,
                                           ScalarType::Double,
                                           ScalarType::ComplexHalf,
                                           ScalarType::ComplexFloat,
                                           ScalarType::ComplexDouble,
                                           ScalarType::Bool,
                                           ScalarType::BFloat16,
                                           ScalarType::Float8_e5m2,
                                           ScalarType::Float8_e4m3fn,
                                           ScalarType::Float8_e5m2fnuz,
                                           ScalarType::Float8_e4m3fnuz,
                                           ScalarType::UInt16,
                                           ScalarType::UInt32,
                                           ScalarType::UInt64};

/// One of each size of an element.
inline constexpr ScalarType kTypeOfEachSize[] = {ScalarType::Byte, ScalarType::BFloat16,
                                                 ScalarType::Float, ScalarType::Long,
                                                 ScalarType::ComplexDouble};

/// A fixed sequence of numbers, by SplitMix64 (Steele, Lea, Flood 2014).
struct Dice {
  uint64_t state;
  int64_t between(int64_t low, int64_t high) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + static_cast<int64_t>((z >> 33) % static_cast<uint64_t>(high - low + 1));
  }
};

struct Twin {
  TensorPtr here;   // on the host
  TensorPtr there;  // in the backend's memory
  explicit operator bool() const noexcept { return here != nullptr && there != nullptr; }
};

/// The twin of a host tensor.
TENON_LAZY Twin twin_of(Trial& trial, TensorPtr here) {
  Twin twin{std::move(here), nullptr};
  if (twin.here == nullptr) return twin;
  twin.there = trial.check_made("backend_copy", try_backend_copy(twin.here, trial.backend()));
  return twin;
}

/// Whole numbers of a few bits, which every type holds, others for each `seed`.
TENON_LAZY Twin random_twin(Trial& trial, const Dims& sizes, ScalarType type, uint64_t seed = 0,
                            TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) {
  const int64_t end = type == ScalarType::Bool ? 2 : 128;
  return twin_of(trial, trial.check_made("randint", try_randint(0, end, sizes, type, dynamism,
                                                                Generator(seed), host_backend())));
}

/// Does the same to both, `action(tensor)`, and compares what became of them.
template <class Action>
bool check_both(Trial& trial, const std::string& what, const Twin& twin, const Action& action) {
  if (!twin || !trial.check_ok(what + ", on the host", action(*twin.here))) return false;
  return trial.check_ok(what, action(*twin.there)) && trial.check_same(what, twin.there, twin.here);
}

/// flip(), or in ATen mode, where no strides are negative, the same without turning round.
inline Tensor reversed(const TensorArg& t, const Dims& dims) {
#if TENON_ATEN_MODE
  static_cast<void>(dims);
  return slice(t, 0, 0, INT64_MAX);
#else
  return flip(t, dims);
#endif
}

/// A way in which a view may lie in a tensor of kBaseSizes.
struct NamedView {
  const char* name;
  Tensor (*of)(const Tensor& base);
};
inline constexpr int64_t kBaseSizes[] = {4, 6, 5};
inline Dims base_sizes() { return Dims(kBaseSizes); }

inline constexpr NamedView kViews[] = {
    {"all", [](const Tensor& t) { return narrow(t, 0, 0, 4); }},
    {"rows in the middle", [](const Tensor& t) { return narrow(t, 0, 1, 2); }},
    {"columns in the middle", [](const Tensor& t) { return narrow(t, 2, 1, 3); }},
    {"transposed", [](const Tensor& t) { return transpose(t, 0, 2); }},
    {"permuted",
     [](const Tensor& t) {
       return permute(t, {1, 2, 0});
     }},
    {"with steps", [](const Tensor& t) { return slice(slice(t, 1, 1, 6, 2), 2, 0, 5, 3); }},
    {"reversed",
     [](const Tensor& t) {
       return reversed(t, {0, 1, 2});
     }},
    {"reversed with steps",
     [](const Tensor& t) {
       return reversed(slice(slice(t, 0, 0, 4, 3), 2, 1, 5, 2), {0, 2});
     }},
    {"transposed and reversed", [](const Tensor& t) { return reversed(transpose(t, 1, 2), {1}); }},
    {"a matrix", [](const Tensor& t) { return select(t, 1, 2); }},
    {"a column", [](const Tensor& t) { return select(select(t, 2, 1), 0, 3); }},
    {"one element", [](const Tensor& t) { return select(select(select(t, 0, 1), 0, 2), 0, 3); }},
    {"no elements", [](const Tensor& t) { return narrow(t, 1, 3, 0); }},
    {"sizes of 1", [](const Tensor& t) { return unsqueeze(narrow(t, 1, 4, 1), 0); }},
    {"eight dimensions",
     [](const Tensor& t) {
       return permute(view(t, {2, 2, 3, 2, 1, 5, 1, 1}), {7, 5, 3, 1, 0, 2, 4, 6});
     }},
};

/// A random way for a view of given sizes to lie in a larger tensor.
class RandomView {
 public:
  /// `repeats`: dimensions may be broadcast, which a destination's may not.
  RandomView(Dice& dice, const Dims& sizes, bool repeats) : sizes_(sizes) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      const bool repeated = repeats && dice.between(0, 4) == 0;
      dims_.push_back({repeated ? 1 : dice.between(1, 3), dice.between(0, 1),
                       dice.between(0, 2) == 0, repeated});
      order_.push_back(static_cast<int64_t>(d));
    }
    for (size_t d = 1; d < order_.size(); ++d) {
      std::swap(order_[d], order_[static_cast<size_t>(dice.between(0, static_cast<int64_t>(d)))]);
    }
  }

  /// The larger tensor's, whose dimension i is the view's order_[i].
  Dims base_sizes() const {
    Dims sizes;
    for (int64_t d : order_) sizes.push_back(base_size(static_cast<size_t>(d)));
    return sizes;
  }
  Tensor of(const Tensor& base) const {
    std::vector<int64_t> back(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      back[static_cast<size_t>(order_[i])] = static_cast<int64_t>(i);
    }
    Tensor t = permute(base, back);
    for (size_t d = 0; d < dims_.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      const Dim& how = dims_[d];
      t = slice(t, dim, how.offset, how.offset + span(d), how.step);
      if (how.reversed) t = reversed(t, {dim});
    }
    return expand(t, sizes_);
  }

 private:
  struct Dim {
    int64_t step;
    int64_t offset;
    bool reversed;
    bool repeated;
  };
  /// Elements from the first to the last one.
  int64_t span(size_t d) const {
    const int64_t size = dims_[d].repeated ? 1 : sizes_[d];
    return size == 0 ? 0 : (size - 1) * dims_[d].step + 1;
  }
  int64_t base_size(size_t d) const { return span(d) + dims_[d].offset + 1; }

  Dims sizes_;
  std::vector<Dim> dims_;
  std::vector<int64_t> order_;
};

}  // namespace testing
TENON_END_NAMESPACE
