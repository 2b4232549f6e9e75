// SPDX-License-Identifier: MIT
//
// xt::xtensor, which has its rank in its type and is xtensor's faster one. A copy of it copies its elements.

#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xtensor.hpp>

#include <array>

#include "rows.h"

int main(int argc, char** argv) {
  using Matrix = xt::xtensor<float, 2>;
  float data[6] = {1, 2, 3, 4, 5, 6};
  const auto borrow = [&] {
    return xt::adapt(&data[0], 6, xt::no_ownership(), std::array<std::size_t, 2>{2, 3});
  };
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape([&] {
      auto tensor = borrow();
      tensor.reshape({4, 2});
      return static_cast<std::int64_t>(tensor.size());
    });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  suite.add("borrow", borrow);
  const auto zeros = [](std::size_t height, std::size_t width) -> Matrix {
    return xt::zeros<float>({height, width});
  };
  suite.add("zeros/2x3", [&] { return zeros(2, 3); });
  suite.add("zeros/1024x1024", [&] { return zeros(rows::kSide, rows::kSide); });

  Matrix matrix = zeros(rows::kSide, rows::kSide);
  const std::vector<float> values = rows::numbers(rows::kNumel);
  std::copy(values.begin(), values.end(), matrix.begin());
  const auto dense = [&]() -> Matrix { return xt::transpose(matrix); };
  const auto cast = [&]() -> xt::xtensor<double, 2> { return xt::cast<double>(matrix); };
  suite.add("transpose", [&] { return xt::transpose(matrix); });
  suite.add("clone", [&] { return Matrix(matrix); });
  suite.add("dense", dense);
  suite.add("cast", cast);

  Matrix resized = zeros(4, 3);
  suite.add("resize", [&] {
    resized.resize({2, 3});
    resized.resize({4, 3});
  });

  Matrix read = zeros(rows::kReadRows, rows::kReadColumns);
  std::copy(values.begin(), values.begin() + rows::kReads, read.begin());
  const auto sum = [&] {
    float total = 0;
    for (std::size_t i = 0; i < read.shape(0); ++i) {
      for (std::size_t j = 0; j < read.shape(1); ++j) total += read(i, j);
    }
    return total;
  };
  const auto checked_sum = [&] {
    float total = 0;
    for (std::size_t i = 0; i < read.shape(0); ++i) {
      for (std::size_t j = 0; j < read.shape(1); ++j) total += read.at(i, j);
    }
    return total;
  };
  suite.add("read", sum);
  suite.add("read/checked", checked_sum);

  rows::require_zeros(zeros(rows::kSide, rows::kSide).data(), rows::kNumel);
  rows::require_numbers(Matrix(matrix).data());
  rows::require_transposed(dense().data());
  rows::require_numbers(cast().data());
  bench::require(sum() == rows::kReadSum && checked_sum() == rows::kReadSum);
  return suite.run();
}
