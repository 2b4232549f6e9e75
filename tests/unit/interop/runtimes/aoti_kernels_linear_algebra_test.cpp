// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_linear_algebra.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_linear_algebra_test {

using namespace tenon;

namespace {

/// Numbers from -1 to 1.
Tensor numbers(const Dims& sizes, ScalarType type = ScalarType::Float) {
  return to(*rand(sizes, ScalarType::Double), type, CastMode::Truncate);
}
/// Matrices with a large diagonal, whose triangles are well conditioned.
Tensor factors(const Dims& sizes, ScalarType type = ScalarType::Float) {
  const Tensor made = numbers(sizes, type);
  const int64_t n = sizes.back();
  const Tensor rows = view(made, {made.numel() / (n * n), n * n});
  for (int64_t i = 0; i < n; ++i) {
    REQUIRE(fill_(narrow(rows, 1, i * (n + 1), 1), 3 + 0.5 * static_cast<double>(i)) == Error::Ok);
  }
  return made;
}
/// The last two dimensions swapped in memory.
Tensor by_columns(const Tensor& t) {
  const int64_t last = t.dim() - 1;
  return transpose(contiguous(transpose(t, last - 1, last)), last - 1, last);
}
double tolerance_of(ScalarType type) { return type == ScalarType::Float ? 1e-4 : 1e-10; }

}  // namespace

TEST_CASE("aoti_kernels: solutions with triangular and Cholesky factors",
          "[aoti_kernels_linear_algebra]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const double tolerance = tolerance_of(type);
    for (const int upper : {0, 1}) {
      const auto solve = [&](const Tensor& b, const Tensor& a) {
        for (const int transposed : {0, 1}) {
          for (const int unit : {0, 1}) {
            CHECK_PEER(aoti_torch_cpu_triangular_solve, tolerance, b, a, upper, transposed, unit);
          }
        }
        CHECK_PEER(aoti_torch_cpu_cholesky_solve, tolerance, b, a, upper);
      };
      const Tensor a = factors({4, 4}, type);
      solve(numbers({4, 3}, type), a);
      solve(by_columns(numbers({4, 3}, type)), by_columns(a));
      solve(numbers({2, 4, 1}, type), a);
      solve(numbers({4, 3}, type), factors({2, 4, 4}, type));
      solve(numbers({3, 1, 4, 2}, type), factors({2, 4, 4}, type));
      solve(numbers({4, 0}, type), a);
      solve(numbers({1, 1}, type), factors({1, 1}, type));
      for (const Dims& sizes : {Dims{4, 4}, Dims{2, 3, 3}, Dims{1, 1}, Dims{0, 3, 3}}) {
        const Tensor one = factors(sizes, type);
        CHECK_PEER(aoti_torch_cpu_cholesky_inverse, tolerance, one, upper);
        CHECK_PEER(aoti_torch_cpu_cholesky_inverse, tolerance, by_columns(one), upper);
      }
    }
  }
  const auto refused = [](const Tensor& b, const Tensor& a) {
    CHECK_PEER(aoti_torch_cpu_triangular_solve, 0, b, a, 0, 0, 0);
    CHECK_PEER(aoti_torch_cpu_cholesky_solve, 0, b, a, 0);
  };
  refused(numbers({4, 3}), numbers({4, 3}));
  refused(numbers({3, 3}), factors({4, 4}));
  refused(numbers({4}), factors({4, 4}));
  refused(numbers({2, 4, 3}), factors({3, 4, 4}));
  refused(numbers({4, 3}), factors({4, 4}, ScalarType::Double));
}

TEST_CASE("aoti_kernels: geqrf and ormqr", "[aoti_kernels_linear_algebra]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const double tolerance = tolerance_of(type);
    for (const Dims& sizes : {Dims{4, 3}, Dims{3, 4}, Dims{2, 3, 3}, Dims{5, 1}, Dims{1, 4},
                              Dims{0, 3}, Dims{2, 0, 4, 3}}) {
      const Tensor a = numbers(sizes, type);
      CHECK_PEER(aoti_torch_cpu_geqrf, tolerance, a);
      CHECK_PEER(aoti_torch_cpu_geqrf, tolerance, by_columns(a));
    }
    for (const Dims& batch : {Dims{}, Dims{2}, Dims{0}}) {
      const auto in_batch = [&](const Dims& last) {
        Dims sizes = batch;
        for (const int64_t size : last) sizes.push_back(size);
        return numbers(sizes, type);
      };
      for (const int left : {0, 1}) {
        for (const int transposed : {0, 1}) {
          const Tensor other = in_batch(left != 0 ? Dims{4, 2} : Dims{2, 4});
          CHECK_PEER(aoti_torch_cpu_ormqr, tolerance, in_batch({4, 3}), in_batch({3}), other, left,
                     transposed);
          CHECK_PEER(aoti_torch_cpu_ormqr, tolerance, by_columns(in_batch({4, 3})), in_batch({3}),
                     by_columns(other), left, transposed);
        }
      }
    }
  }
  const auto refused = [](const Dims& a, const Dims& tau, const Dims& other) {
    CHECK_PEER(aoti_torch_cpu_ormqr, 0, numbers(a), numbers(tau), numbers(other), 1, 0);
  };
  refused({4, 3}, {4}, {4, 2});
  refused({4, 3}, {2}, {4, 2});
  refused({4, 3}, {3}, {3, 2});
  refused({2, 4, 3}, {2, 3}, {4, 2});
  refused({4, 3}, {1, 3}, {4, 2});
}

TEST_CASE("aoti_kernels: lu_unpack", "[aoti_kernels_linear_algebra]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const Dims& sizes :
         {Dims{4, 4}, Dims{2, 5, 3}, Dims{2, 3, 5}, Dims{1, 1}, Dims{0, 3, 3}}) {
      Dims pivots(sizes.begin(), sizes.end() - 2);
      const int64_t rows = sizes[pivots.size()];
      pivots.push_back(std::min(sizes.back(), rows));
      const TensorPtr order = randint(1, rows + 1, pivots, ScalarType::Int);
      for (const int data : {0, 1}) {
        for (const int permutation : {0, 1}) {
          CHECK_PEER(aoti_torch_cpu_lu_unpack, 0, by_columns(numbers(sizes, type)), *order, data,
                     permutation);
        }
      }
    }
  }
  const auto refused = [](const Tensor& pivots) {
    CHECK_PEER(aoti_torch_cpu_lu_unpack, 0, numbers({3, 3}), pivots, 1, 1);
  };
  refused(*make_tensor_ptr({3}, {1, 2, 4}));
  refused(*make_tensor_ptr({3}, {0, 2, 3}));
  refused(*make_tensor_ptr({2}, {1, 2}));
  refused(*ones({3}, ScalarType::Long));
}

}  // namespace aoti_kernels_linear_algebra_test
