// SPDX-License-Identifier: MIT
//
// An mdspan over a std::vector, in C++17: CUDA's, which is libc++'s for other compilers. It describes memory
// and does nothing else: copies are the vector's or the user's loops.

#include <cuda/std/array>
#include <cuda/std/mdspan>

#include "rows.h"

namespace {

namespace std23 = cuda::std;

template <class T>
struct Matrix {
  std::vector<T> memory;
  std23::mdspan<T, std23::dextents<std::size_t, 2>> view;

  Matrix(std::size_t height, std::size_t width)
      : memory(height * width), view(memory.data(), height, width) {}
};

}  // namespace

int main(int argc, char** argv) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape(
        [&] { return static_cast<std::int64_t>(std23::mdspan(data, 4, 2).size()); });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  suite.add("borrow", [&] { return std23::mdspan(data, 2, 3); });
  suite.add("zeros/2x3", [] { return Matrix<float>(2, 3); });
  suite.add("zeros/1024x1024", [] { return Matrix<float>(rows::kSide, rows::kSide); });

  std::vector<float> values = rows::numbers(rows::kNumel);
  const std23::mdspan matrix(values.data(), rows::kSide, rows::kSide);
  const auto transpose = [&] {
    const std23::array strides{matrix.stride(1), matrix.stride(0)};
    const std23::layout_stride::mapping mapping(matrix.extents(), strides);
    return std23::mdspan(matrix.data_handle(), mapping);
  };
  const auto dense = [&] {
    Matrix<float> copy(rows::kSide, rows::kSide);
    const auto turned = transpose();
    for (std::size_t i = 0; i < turned.extent(0); ++i) {
      for (std::size_t j = 0; j < turned.extent(1); ++j) copy.view(i, j) = turned(i, j);
    }
    return copy;
  };
  suite.add("share", [&] { return std23::mdspan(matrix); });
  suite.add("transpose", transpose);
  suite.add("clone", [&] { return std::vector<float>(values); });
  suite.add("dense", dense);
  suite.add("cast", [&] { return std::vector<double>(values.begin(), values.end()); });

  std::vector<float> resized(12);
  suite.add("resize", [&] {
    resized.resize(6);
    std23::mdspan smaller(resized.data(), 2, 3);
    benchmark::DoNotOptimize(smaller);
    resized.resize(12);
    std23::mdspan larger(resized.data(), 4, 3);
    benchmark::DoNotOptimize(larger);
  });

  const std23::mdspan read(values.data(), rows::kReadRows, rows::kReadColumns);
  const auto sum = [&] {
    float total = 0;
    for (std::size_t i = 0; i < read.extent(0); ++i) {
      for (std::size_t j = 0; j < read.extent(1); ++j) total += read(i, j);
    }
    return total;
  };
  suite.add("read", sum);

  rows::require_zeros(Matrix<float>(rows::kSide, rows::kSide).memory.data(), rows::kNumel);
  rows::require_transposed(dense().memory.data());
  bench::require(sum() == rows::kReadSum);
  return suite.run();
}
