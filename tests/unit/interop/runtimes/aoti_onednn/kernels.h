// SPDX-License-Identifier: MIT
// What the tests of kernels share: handles of tensors, and the kernels' declarations.
#pragma once

#include <cmath>
#include <utility>

#include "support/catch.h"
#include "tenon/interop/runtimes/aoti_handles.h"
#include "tenon/tenon.h"

extern "C" {
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor);
AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                     AtenTensorHandle mat2);
AOTITorchError aoti_torch_cpu_bmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                      AtenTensorHandle mat2);
AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                        AtenTensorHandle mat1, AtenTensorHandle mat2, double beta,
                                        double alpha);
AOTITorchError aoti_torch_cpu_baddbmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                          AtenTensorHandle batch1, AtenTensorHandle batch2,
                                          double beta, double alpha);
AOTITorchError aoti_torch_cpu_convolution(
    AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle* bias, const int64_t* stride,
    int64_t stride_len_, const int64_t* padding, int64_t padding_len_, const int64_t* dilation,
    int64_t dilation_len_, int32_t transposed, const int64_t* output_padding,
    int64_t output_padding_len_, int64_t groups, AtenTensorHandle* ret0);
}

namespace tests {

/// A handle that owns a tensor, as generated code has it.
class AotiHandle {
 public:
  AotiHandle(tenon::Tensor tensor) {
    REQUIRE(tenon::detail::make_aoti_handle(std::move(tensor), handle_) == tenon::Error::Ok);
  }
  AotiHandle(const AotiHandle&) = delete;
  AotiHandle& operator=(const AotiHandle&) = delete;
  ~AotiHandle() { CHECK(aoti_torch_delete_tensor_object(handle_) == 0); }

  operator AtenTensorHandle() const { return handle_; }
  AtenTensorHandle* address() { return &handle_; }

 private:
  AtenTensorHandle handle_ = nullptr;
};

/// Numbers from -1 to 1 that do not repeat soon.
inline tenon::Tensor numbers(const tenon::Dims& sizes, int seed = 1) {
  tenon::TensorPtr made = tenon::empty(sizes);
  int i = seed * 37;
  for (float& value : made->data<float>()) value = static_cast<float>(++i * 61 % 199 - 99) / 99;
  return *made;
}

/// The element at these indices.
inline float at(const tenon::Tensor& tensor, std::initializer_list<int64_t> indices) {
  ptrdiff_t offset = 0;
  size_t d = 0;
  for (const int64_t i : indices) offset += i * tensor.strides()[d++];
  return static_cast<const float*>(tensor.const_data_ptr())[offset];
}

/// Of sums in another order.
inline bool is_close(double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); }

}  // namespace tests
