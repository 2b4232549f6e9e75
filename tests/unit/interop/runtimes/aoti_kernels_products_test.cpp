// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_products.h"

#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_products_test {

using namespace tenon;
using tests::differs;

namespace {

/// Integers, so small in types of few digits that sums of them are exact.
Tensor integers(const Dims& sizes, ScalarType type = ScalarType::Float) {
  const int64_t end = type == ScalarType::BFloat16 || type == ScalarType::Half ? 2 : 9;
  return to(*randint(-end, end, sizes, ScalarType::Float), type, CastMode::Truncate);
}
/// The last two dimensions swapped in memory.
Tensor by_columns(const Tensor& t) {
  const int64_t last = t.dim() - 1;
  return transpose(contiguous(transpose(t, last - 1, last)), last - 1, last);
}
double tolerance_of(ScalarType type) {
  return type == ScalarType::BFloat16 ? 0.02 : type == ScalarType::Half ? 0.003 : 1e-5;
}
const std::vector<ScalarType> kTypes = {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16,
                                        ScalarType::Half, ScalarType::Long};

}  // namespace

TEST_CASE("aoti_kernels: sums of products with a summand", "[aoti_kernels_products]") {
  for (const ScalarType type : kTypes) {
    const double tolerance = tolerance_of(type);
    const Tensor a = integers({4, 2, 5}, type);
    const Tensor b = integers({4, 5, 3}, type);
    for (const Dims& sizes : {Dims{2, 3}, Dims{3}, Dims{1}, Dims{2, 1}}) {
      const Tensor self = integers(sizes, type);
      for (const Tensor& x : {a, by_columns(a)}) {
        CHECK_PEER(aoti_torch_cpu_addbmm, tolerance, self, x, by_columns(b), 2, 3);
        if (type == ScalarType::Long) continue;
        for (const int gelu : {0, 1}) {
          CHECK_PEER(aoti_torch_cpu__addmm_activation, tolerance, self, select(x, 0, 1),
                     select(b, 0, 2), 0.5, 0.125, gelu);
        }
      }
    }
    for (const Dims& sizes : {Dims{2}, Dims{1}, Dims{}}) {
      CHECK_PEER(aoti_torch_cpu_addmv, tolerance, integers(sizes, type),
                 select(by_columns(a), 0, 1), select(select(b, 0, 0), 1, 2), 2, 3);
    }
    const Tensor none = integers({0, 2, 5}, type);
    if (type == ScalarType::Long) continue;
    CHECK_PEER(aoti_torch_cpu_addbmm, tolerance, integers({3}, type), none,
               integers({0, 5, 3}, type), 2, 3);
  }
  const Tensor nan = *full({2}, std::numeric_limits<float>::quiet_NaN());
  CHECK_PEER(aoti_torch_cpu_addmv, 0, nan, integers({2, 3}), integers({3}), 0, 1);
  CHECK_PEER(aoti_torch_cpu_addmv, 0, nan, integers({2, 3}), integers({4}), 0, 1);
  CHECK_PEER(aoti_torch_cpu_addbmm, 0, nan, integers({1, 2, 3}), integers({1, 4, 2}), 0, 1);
  CHECK_PEER(aoti_torch_cpu__addmm_activation, 0, integers({3}), integers({2, 3}), integers({3, 2}),
             1, 1, 0);
}

TEST_CASE("aoti_kernels: products of 8-bit integers", "[aoti_kernels_products]") {
  for (const int64_t k : {7, 600, 0}) {
    const Tensor b = by_columns(integers({k, 16}, ScalarType::Char));
    for (const ScalarType type : {ScalarType::Char, ScalarType::Byte}) {
      CHECK_PEER(aoti_torch_cpu__int_mm_out, 0, *zeros({5, 16}, ScalarType::Int),
                 integers({5, k}, type), b);
    }
  }
  const Tensor least = *full({2, 600}, -128, ScalarType::Char);
  const Tensor out = *zeros({2, 2}, ScalarType::Int);
  CHECK_PEER(aoti_torch_cpu__int_mm_out, 0, out, least, transpose(least, 0, 1));
  CHECK_PEER(aoti_torch_cpu__int_mm_out, 0, out, least, least);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half}) {  // BFloat16: torch crashes
    CHECK_PEER(aoti_torch_cpu__weight_int8pack_mm, tolerance_of(type), integers({3, 32}, type),
               integers({16, 32}, ScalarType::Char), integers({16}, type));
  }
  CHECK_PEER(aoti_torch_cpu__weight_int8pack_mm, 0, integers({3, 32}),
             integers({16, 31}, ScalarType::Char), integers({16}));
}

TEST_CASE("aoti_kernels: the sum of two products", "[aoti_kernels_products]") {
  for (const ScalarType type : kTypes) {
    for (const Tensor& out : {integers({2, 3}, type), by_columns(integers({2, 3}, type))}) {
      CHECK_PEER(aoti_torch__mm_plus_mm_out, tolerance_of(type), out, integers({2, 5}, type),
                 by_columns(integers({5, 3}, type)), integers({2, 1}, type),
                 integers({1, 3}, type));
    }
  }
  CHECK_PEER(aoti_torch__mm_plus_mm_out, 0, integers({2, 3}), integers({2, 5}), integers({4, 3}),
             integers({2, 1}), integers({1, 3}));
}

TEST_CASE("aoti_kernels: distances of rows", "[aoti_kernels_products]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto any = static_cast<int64_t*>(nullptr);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const double p : {0.0, 1.0, 2.0, 0.5, 3.0, infinity}) {
      const auto cdist = [&](const Tensor& a, const Tensor& b) {
        return differs(TENON_PEER(aoti_torch_cpu__cdist_forward), 1e-5, a, b, p, any);
      };
      CHECK(cdist(integers({4, 3}, type), by_columns(integers({5, 3}, type))) == "");
      CHECK(cdist(integers({2, 1, 4, 3}, type), integers({7, 5, 3}, type)) == "");
      CHECK(cdist(integers({0, 3}, type), integers({5, 3}, type)) == "");
      CHECK(cdist(integers({4, 0}, type), integers({5, 0}, type)) == "");
      for (const Dims& sizes : {Dims{5, 3}, Dims{1, 3}, Dims{4, 0}, Dims{0, 3}}) {
        CHECK_PEER(aoti_torch_cpu__pdist_forward, 1e-5, integers(sizes, type), p);
      }
    }
  }
  Tensor a = integers({3, 3});
  a.mutable_data_ptr<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  for (const double p : {1.0, 2.0, 3.0, infinity}) {
    CHECK_PEER(aoti_torch_cpu__pdist_forward, 1e-5, a, p);
  }
  const auto refused = [&](const Tensor& x, const Tensor& y, double p) {
    CHECK_PEER(aoti_torch_cpu__cdist_forward, 0, x, y, p, any);
  };
  refused(integers({3, 4}), integers({3, 5}), 2);
  refused(integers({2, 3, 4}), integers({3, 3, 4}), 2);
  refused(integers({3, 4}), integers({3, 4}), -1);
  refused(integers({3, 4}, ScalarType::Half), integers({3, 4}, ScalarType::Half), 2);
  refused(integers({3, 4}, ScalarType::Long), integers({3, 4}, ScalarType::Long), 2);
}

TEST_CASE("aoti_kernels: _trilinear", "[aoti_kernels_products]") {
  const std::vector<int64_t> first{1, 3};
  const std::vector<int64_t> second{0};
  const std::vector<int64_t> third{1, 2};
  const std::vector<int64_t> sums{2, 3};
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const auto check = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      CHECK_PEER(aoti_torch_cpu__trilinear, 1e-5, a, b, c, first.data(), 2, second.data(), 1,
                 third.data(), 2, sums.data(), 2, 1);
    };
    check(integers({3, 4}, type), integers({5, 4, 6}, type), integers({3, 6}, type));
    check(by_columns(integers({3, 4}, type)), by_columns(integers({5, 4, 6}, type)),
          integers({3, 6}, type));
    check(integers({0, 4}, type), integers({5, 4, 6}, type), integers({0, 6}, type));
    check(integers({3, 4}, type), integers({5, 3, 6}, type), integers({3, 6}, type));
  }
}

TEST_CASE("aoti_kernels: addmv without rows", "[aoti_kernels_products]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Long}) {
    for (const Dims& sizes : {Dims{1}, Dims{0}, Dims{}}) {
      for (const int64_t columns : {0, 3}) {
        INFO("self " << sizes << ", columns " << columns);
        CHECK_PEER(aoti_torch_cpu_addmv, 0, *ones(sizes, type), *ones({0, columns}, type),
                   *ones({columns}, type), 1.0, 1.0);
        CHECK_PEER(aoti_torch_cpu_addmv, 0, *ones(sizes, type), *ones({2, columns}, type),
                   *ones({columns}, type), 1.0, 1.0);
      }
    }
  }
}

}  // namespace aoti_kernels_products_test
