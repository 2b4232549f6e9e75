// SPDX-License-Identifier: MIT
//
// One thread, and inference mode, ATen's fastest.

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "rows.h"

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape([&] { return at::from_blob(data, {2, 3}).view({4, 2}).numel(); });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  suite.add("borrow", [&] { return at::from_blob(data, {2, 3}); });
  suite.add("zeros/2x3", [] { return at::zeros({2, 3}); });
  suite.add("zeros/1024x1024", [] { return at::zeros({rows::kSide, rows::kSide}); });

  std::vector<float> values = rows::numbers(rows::kNumel);
  const at::Tensor matrix = at::from_blob(values.data(), {rows::kSide, rows::kSide}).clone();
  const at::Tensor turned = matrix.transpose(0, 1);
  suite.add("share", [&] { return at::Tensor(matrix); });
  suite.add("transpose", [&] { return matrix.transpose(0, 1); });
  suite.add("clone", [&] { return matrix.clone(); });
  suite.add("dense", [&] { return turned.contiguous(); });
  suite.add("cast", [&] { return matrix.to(at::kDouble); });

  const at::Tensor resized = at::zeros({4, 3});
  suite.add("resize", [&] {
    resized.resize_({2, 3});
    resized.resize_({4, 3});
  });

  const at::Tensor read =
      at::from_blob(values.data(), {rows::kReadRows, rows::kReadColumns}).clone();
  const auto sum = [&] {
    const auto at = read.accessor<float, 2>();
    float total = 0;
    for (std::int64_t i = 0; i < at.size(0); ++i) {
      for (std::int64_t j = 0; j < at.size(1); ++j) total += at[i][j];
    }
    return total;
  };
  const auto checked_sum = [&] {
    float total = 0;
    for (std::int64_t i = 0; i < read.size(0); ++i) {
      for (std::int64_t j = 0; j < read.size(1); ++j) total += read[i][j].item<float>();
    }
    return total;
  };
  suite.add("read", sum);
  suite.add("read/checked", checked_sum);
  suite.add("dlpack", [&] { return at::fromDLPack(at::toDLPack(read)); });

  rows::require_zeros(at::zeros({rows::kSide, rows::kSide}).const_data_ptr<float>(), rows::kNumel);
  rows::require_numbers(matrix.clone().const_data_ptr<float>());
  rows::require_transposed(turned.contiguous().const_data_ptr<float>());
  rows::require_numbers(matrix.to(at::kDouble).const_data_ptr<double>());
  bench::require(sum() == rows::kReadSum && checked_sum() == rows::kReadSum);
  return suite.run();
}
