// SPDX-License-Identifier: MIT
//
// The tensor extension. Clones copy memory as it lies; a dense copy of other strides is an operator's work.

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include "rows.h"

int main(int argc, char** argv) {
  using namespace executorch::extension;
  using executorch::aten::ScalarType;
  using executorch::runtime::Error;
  executorch::runtime::runtime_init();
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape([&] {
      return make_tensor_ptr(from_blob(data, {2, 3}), {4, 2})->numel();
    });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  suite.add("borrow", [&] { return from_blob(data, {2, 3}); });
  suite.add("zeros/2x3", [] { return zeros({2, 3}); });
  suite.add("zeros/1024x1024", [] { return zeros({rows::kSide, rows::kSide}); });

  const TensorPtr matrix = make_tensor_ptr({rows::kSide, rows::kSide}, rows::numbers(rows::kNumel));
  const auto transpose = [&] {
    return make_tensor_ptr(matrix, {rows::kSide, rows::kSide}, {1, 0}, {1, rows::kSide});
  };
  suite.add("share", [&] { return TensorPtr(matrix); });
  suite.add("transpose", transpose);
  suite.add("clone", [&] { return clone_tensor_ptr(matrix); });
  suite.add("cast", [&] { return clone_tensor_ptr(matrix, ScalarType::Double); });

  TensorPtr resized = zeros({4, 3});
  suite.add("resize", [&] {
    bench::require(resize_tensor_ptr(resized, {2, 3}) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, {4, 3}) == Error::Ok);
  });

  const TensorPtr read =
      make_tensor_ptr({rows::kReadRows, rows::kReadColumns}, rows::numbers(rows::kReads));
  const auto sum = [&] {
    const auto at = make_tensor_accessor<const float, 2>(*read).get();
    float total = 0;
    for (std::int64_t i = 0; i < rows::kReadRows; ++i) {
      for (std::int64_t j = 0; j < rows::kReadColumns; ++j) total += at[i][j];
    }
    return total;
  };
  suite.add("read", sum);

  rows::require_zeros(zeros({rows::kSide, rows::kSide})->const_data_ptr<float>(), rows::kNumel);
  rows::require_numbers(clone_tensor_ptr(matrix)->const_data_ptr<float>());
  rows::require_numbers(clone_tensor_ptr(matrix, ScalarType::Double)->const_data_ptr<double>());
  bench::require(transpose()->strides()[1] == rows::kSide);
  bench::require(sum() == rows::kReadSum);
  return suite.run();
}
