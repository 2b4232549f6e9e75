// SPDX-License-Identifier: MIT

#include <tenon/tenon.h>

#include "rows.h"

int main(int argc, char** argv) {
  using namespace tenon;
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape([&] { return view(from_blob(data, {2, 3}), {4, 2}).numel(); });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  suite.add("borrow", [&] { return from_blob(data, {2, 3}); });
  suite.add("zeros/2x3", [] { return zeros({2, 3}); });
  suite.add("zeros/1024x1024", [] { return zeros({rows::kSide, rows::kSide}); });

  const TensorPtr matrix = make_tensor_ptr({rows::kSide, rows::kSide}, rows::numbers(rows::kNumel));
  const Tensor turned = transpose(matrix, 0, 1);
  suite.add("share", [&] { return make_tensor_ptr(matrix); });
  suite.add("transpose", [&] { return transpose(matrix, 0, 1); });
  suite.add("clone", [&] { return clone_tensor_ptr(matrix); });
  suite.add("dense", [&] { return contiguous(turned); });
  suite.add("cast", [&] { return to(matrix, ScalarType::Double); });

  TensorPtr resized = zeros({4, 3});
  suite.add("resize", [&] {
    bench::require(resize_tensor_ptr(resized, {2, 3}) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, {4, 3}) == Error::Ok);
  });

  const TensorPtr read =
      make_tensor_ptr({rows::kReadRows, rows::kReadColumns}, rows::numbers(rows::kReads));
  const auto sum = [&] {
    const auto at = accessor<const float, 2>(read);
    float total = 0;
    for (std::int64_t i = 0; i < at.size(0); ++i) {
      for (std::int64_t j = 0; j < at.size(1); ++j) total += at(i, j);
    }
    return total;
  };
  suite.add("read", sum);
  suite.add("dlpack", [&] { return from_dlpack(to_dlpack(read)); });

  rows::require_zeros(const_data_ptr<float>(zeros({rows::kSide, rows::kSide})), rows::kNumel);
  rows::require_numbers(const_data_ptr<float>(clone_tensor_ptr(matrix)));
  rows::require_transposed(const_data_ptr<float>(contiguous(turned)));
  rows::require_numbers(const_data_ptr<double>(to(matrix, ScalarType::Double)));
  bench::require(sum() == rows::kReadSum);
  return suite.run();
}
