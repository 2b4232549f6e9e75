// SPDX-License-Identifier: MIT
//
// A Tensor takes its memory from an allocator of the user's. Borrowed memory is a TensorView's, over a
// DLTensor that the user keeps.

#include <tvm/ffi/container/tensor.h>

#include <cstdlib>

#include "rows.h"

namespace {

namespace ffi = tvm::ffi;

constexpr DLDevice kCpu{kDLCPU, 0};
constexpr DLDataType kFloat{kDLFloat, 32, 1};

struct CpuAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = std::malloc(ffi::GetDataSize(*tensor)); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

ffi::Tensor zeros(ffi::ShapeView shape) {
  ffi::Tensor tensor = ffi::Tensor::FromNDAlloc(CpuAlloc(), shape, kFloat, kCpu);
  std::memset(tensor.data_ptr(), 0, ffi::GetDataSize(tensor));
  return tensor;
}

}  // namespace

int main(int argc, char** argv) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv)) {
    return rows::wrong_shape([&] { return zeros({2, 3}).as_strided({4, 2}, {2, 1}).numel(); });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv);

  std::int64_t shape[2] = {2, 3};
  std::int64_t strides[2] = {3, 1};
  suite.add("borrow", [&] {
    const DLTensor tensor{data, kCpu, 2, kFloat, shape, strides, 0};
    return ffi::TensorView(&tensor);
  });
  suite.add("zeros/2x3", [] { return zeros({2, 3}); });
  suite.add("zeros/1024x1024", [] { return zeros({rows::kSide, rows::kSide}); });

  const ffi::Tensor matrix = zeros({rows::kSide, rows::kSide});
  const auto transpose = [&] {
    return matrix.as_strided({matrix.size(1), matrix.size(0)},
                             {matrix.stride(1), matrix.stride(0)});
  };
  suite.add("share", [&] { return ffi::Tensor(matrix); });
  suite.add("transpose", transpose);

  const ffi::Tensor read = zeros({rows::kReadRows, rows::kReadColumns});
  const std::vector<float> values = rows::numbers(rows::kReads);
  std::memcpy(read.data_ptr(), values.data(), ffi::GetDataSize(read));
  const auto sum = [&] {
    const float* const elements = static_cast<const float*>(read.data_ptr());
    const std::int64_t height = read.size(0), width = read.size(1);
    const std::int64_t row = read.stride(0), column = read.stride(1);
    float total = 0;
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) total += elements[i * row + j * column];
    }
    return total;
  };
  suite.add("read", sum);
  suite.add("dlpack", [&] { return ffi::Tensor::FromDLPackVersioned(read.ToDLPackVersioned()); });

  rows::require_zeros(static_cast<const float*>(matrix.data_ptr()), rows::kNumel);
  bench::require(transpose().stride(1) == rows::kSide);
  bench::require(sum() == rows::kReadSum);
  return suite.run();
}
