// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_grouped_products.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_grouped_products_test {

using namespace tenon;

namespace {

/// Integers so small that sums of them are exact.
Tensor integers(const Dims& sizes, ScalarType type) {
  return to(*randint(-2, 3, sizes, ScalarType::Float), type, CastMode::Truncate);
}
Tensor by_columns(const Tensor& t) {
  const int64_t last = t.dim() - 1;
  return transpose(contiguous(transpose(t, last - 1, last)), last - 1, last);
}
const auto kNone = static_cast<AtenTensorHandle*>(nullptr);
const auto kAnyType = static_cast<int32_t*>(nullptr);

}  // namespace

TEST_CASE("aoti_kernels: scaled products of 8-bit floating-point matrices",
          "[aoti_kernels_grouped_products]") {
  const Tensor one = *full({}, 0.5f);
  const Tensor rows = integers({16, 1}, ScalarType::Float);
  const Tensor columns = integers({1, 32}, ScalarType::Float);
  for (const ScalarType type : {ScalarType::Float8_e4m3fn, ScalarType::Float8_e5m2}) {
    const Tensor a = integers({16, 48}, type);
    const Tensor b = by_columns(integers({48, 32}, ScalarType::Float8_e4m3fn));
    for (const ScalarType wanted : {ScalarType::Float, ScalarType::BFloat16}) {
      int32_t dtype = static_cast<int32_t>(wanted);
      for (const bool by_row : {false, true}) {
        CHECK_PEER(aoti_torch_cpu__scaled_mm, 0.01, a, b, by_row ? rows : one,
                   by_row ? columns : one, kNone, kNone, &dtype, 0);
        CHECK_PEER(aoti_torch_cpu__scaled_mm_out, 0.01, *zeros({16, 32}, wanted), a, b,
                   by_row ? rows : one, by_row ? columns : one, kNone, kNone, &dtype, 0);
      }
      const Tensor bias = integers({32}, wanted);
      CHECK_PEER(aoti_torch_cpu__scaled_mm, 0.01, a, b, one, one, bias, kNone, &dtype, 0);
    }
    CHECK_PEER(aoti_torch_cpu__scaled_mm, 0.1, a, b, one, one, kNone, kNone, kAnyType, 0);
    CHECK_PEER(aoti_torch_cpu__scaled_mm, 0, a, a, one, one, kNone, kNone, kAnyType, 0);
    CHECK_PEER(aoti_torch_cpu__scaled_mm, 0, a, b, columns, one, kNone, kNone, kAnyType, 0);
  }
}

TEST_CASE("aoti_kernels: products of groups", "[aoti_kernels_grouped_products]") {
  for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Float, ScalarType::Half}) {
    const auto grouped = [&](const Dims& a, const Dims& b, const auto& ends) {
      CHECK_PEER(aoti_torch_cpu__grouped_mm, 0.01, integers(a, type), integers(b, type), ends,
                 kNone, kAnyType);
      CHECK_PEER(aoti_torch_cpu__grouped_mm, 0.01, integers(a, type), by_columns(integers(b, type)),
                 ends, kNone, kAnyType);
    };
    const auto ends = [](int32_t first, int32_t second, int32_t third) {
      return *make_tensor_ptr({3}, {first, second, third});
    };
    grouped({3, 4, 8}, {3, 8, 16}, kNone);
    grouped({6, 8}, {3, 8, 16}, ends(1, 1, 6));
    grouped({8, 8}, {8, 16}, ends(2, 5, 8));
    grouped({3, 4, 8}, {8, 16}, ends(4, 7, 16));
    // Refused.
    grouped({3, 4, 8}, {2, 8, 16}, kNone);
    grouped({3, 4, 8}, {3, 16, 16}, kNone);
    grouped({6, 8}, {3, 8, 16}, kNone);
    grouped({3, 4, 8}, {3, 8, 16}, ends(1, 2, 3));
  }
  // torch reads beyond the matrix.
  tests::Arguments side(false);
  AtenTensorHandle made = nullptr;
  const auto handle = [&](const Tensor& t) { return side.pass<AtenTensorHandle>(t); };
  AtenTensorHandle ends = handle(*make_tensor_ptr({3}, {1, 2, 7}));
  CHECK(detail::aoti_torch_cpu__grouped_mm(handle(integers({6, 8}, ScalarType::Float)),
                                           handle(integers({3, 8, 16}, ScalarType::Float)), &ends,
                                           nullptr, nullptr, &made) == 1);
}

}  // namespace aoti_kernels_grouped_products_test
