// SPDX-License-Identifier: MIT
// ExecuTorch's helpers for tests: TensorFactory and tensors_are_close(). For GoogleTest
// compat/executorch_matchers.h has EXPECT_TENSOR_EQ.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/compat/executorch.h"
#include "tenon/ostream.h"
#include "tenon/tensor/values.h"

namespace executorch {
namespace runtime {
namespace testing {
inline namespace tenon_compat {

/// Makes tensors of one dtype.
/// Ownership: the tensors own their memory, and outlive the factory, unlike ExecuTorch's.
/// Errors: those of make_tensor_ptr.
template <aten::ScalarType kType>
class TensorFactory {
  using Dynamism = aten::TensorShapeDynamism;
  static constexpr Dynamism kStatic = Dynamism::STATIC;

 public:
  using true_ctype = typename ScalarTypeToCppType<kType>::type;
  /// Not bool: a std::vector<bool> has no array of elements.
  using ctype = std::conditional_t<std::is_same_v<true_ctype, bool>, uint8_t, true_ctype>;

  /// `data` is in memory order.
  aten::Tensor make(const tenon::Dims& sizes, std::vector<ctype> data,
                    const tenon::Dims& strides = {}, Dynamism dynamism = kStatic) const {
    return make(sizes, std::move(data), {}, strides, dynamism);
  }
  aten::Tensor make_with_dimorder(const tenon::Dims& sizes, std::vector<ctype> data,
                                  const tenon::Dims& dim_order = {},
                                  Dynamism dynamism = kStatic) const {
    return make(sizes, std::move(data), dim_order, {}, dynamism);
  }

  aten::Tensor full(const tenon::Dims& sizes, ctype value, Dynamism dynamism = kStatic) const {
    return make(sizes, values(sizes, value), {}, {}, dynamism);
  }
  aten::Tensor zeros(const tenon::Dims& sizes, Dynamism dynamism = kStatic) const {
    return full(sizes, static_cast<ctype>(0), dynamism);
  }
  aten::Tensor ones(const tenon::Dims& sizes, Dynamism dynamism = kStatic) const {
    return full(sizes, static_cast<ctype>(1), dynamism);
  }
  aten::Tensor zeros_like(const aten::Tensor& input, Dynamism dynamism = kStatic) const {
    return zeros(input.sizes(), dynamism);
  }
  aten::Tensor ones_like(const aten::Tensor& input, Dynamism dynamism = kStatic) const {
    return ones(input.sizes(), dynamism);
  }

 private:
  static aten::Tensor make(const tenon::Dims& sizes, std::vector<ctype> data,
                           const tenon::Dims& dim_order, const tenon::Dims& strides,
                           Dynamism dynamism) {
    return *extension::make_tensor_ptr(sizes, std::move(data), dim_order, strides, kType, dynamism);
  }
  static std::vector<ctype> values(const tenon::Dims& sizes, ctype value) {
    const int64_t count =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    return std::vector<ctype>(static_cast<size_t>(count), value);
  }
};

/// Whether dtypes and sizes are equal, floating values are within the tolerances, and all other
/// values are equal. NaN is close to NaN. `atol` is by default 1e-8; 1e-3 for Half, 1e-2 for
/// BFloat16.
inline bool tensors_are_close(const aten::Tensor& a, const aten::Tensor& b, double rtol = 1e-5,
                              std::optional<double> atol = std::nullopt) {
  const aten::ScalarType type = a.scalar_type();
  if (type != b.scalar_type()) return false;
  if (!tenon::isFloatingType(type)) return tenon::equal(a, b);
  const double tolerance = type == aten::ScalarType::Half       ? 1e-3
                           : type == aten::ScalarType::BFloat16 ? 1e-2
                                                                : 1e-8;
  return tenon::allclose(a, b, rtol, atol.value_or(tolerance), true);
}

}  // namespace tenon_compat
}  // namespace testing
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
namespace testing {
using namespace executorch::runtime::testing;
}  // namespace testing
}  // namespace executor
}  // namespace torch
