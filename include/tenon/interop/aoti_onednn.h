// SPDX-License-Identifier: MIT
// Matrix products and convolutions for models that AOTInductor compiled, computed by oneDNN 2.6 to
// 3 (Debian: libdnnl-dev): aoti_torch_cpu_addmm_out, mm_out, bmm_out, baddbmm_out and convolution.
//
// Include this header in one source file of the program, link it with dnnl, and export its
// functions, as interop/aoti_shim.h says. oneDNN computes Float, and BFloat16 and Half if it
// supports them on the processor; otherwise BFloat16 and Half are computed as Float. Double,
// integers and complex numbers are computed by plain loops. oneDNN uses as many OpenMP threads as
// AotiOptions or the package says; by default, one.
#pragma once

#include "tenon/interop/runtimes/aoti_onednn_convolution.h"
#include "tenon/interop/runtimes/aoti_onednn_matrix_product.h"

extern "C" {

TENON_EXPORT AOTITorchError aoti_torch_cpu_mm_out(AtenTensorHandle out, AtenTensorHandle self,
                                                  AtenTensorHandle mat2) {
  return tenon::detail::onednn_multiply("aoti_torch_cpu_mm_out", 2, out, nullptr, self, mat2, 0, 1);
}
TENON_EXPORT AOTITorchError aoti_torch_cpu_bmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                                   AtenTensorHandle mat2) {
  return tenon::detail::onednn_multiply("aoti_torch_cpu_bmm_out", 3, out, nullptr, self, mat2, 0,
                                        1);
}
TENON_EXPORT AOTITorchError aoti_torch_cpu_addmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                                     AtenTensorHandle mat1, AtenTensorHandle mat2,
                                                     double beta, double alpha) {
  return tenon::detail::onednn_multiply("aoti_torch_cpu_addmm_out", 2, out, &self, mat1, mat2, beta,
                                        alpha);
}
TENON_EXPORT AOTITorchError aoti_torch_cpu_baddbmm_out(AtenTensorHandle out, AtenTensorHandle self,
                                                       AtenTensorHandle batch1,
                                                       AtenTensorHandle batch2, double beta,
                                                       double alpha) {
  return tenon::detail::onednn_multiply("aoti_torch_cpu_baddbmm_out", 3, out, &self, batch1, batch2,
                                        beta, alpha);
}
/// A convolution of 1 to 3 spatial dimensions.
TENON_EXPORT AOTITorchError aoti_torch_cpu_convolution(
    AtenTensorHandle input, AtenTensorHandle weight, AtenTensorHandle* bias, const int64_t* stride,
    int64_t stride_len_, const int64_t* padding, int64_t padding_len_, const int64_t* dilation,
    int64_t dilation_len_, int32_t transposed, const int64_t* output_padding,
    int64_t output_padding_len_, int64_t groups, AtenTensorHandle* ret0) {
  using tenon::Error;
  return tenon::detail::onednn_answer("aoti_torch_cpu_convolution", [&] {
    tenon::detail::OnednnConvolution job;
    job.transposed = transposed != 0;
    job.groups = groups;
    TENON_TRY(tenon::detail::find_onednn(input, "the input", job.input));
    TENON_TRY(tenon::detail::find_onednn(weight, "the weights", job.weight));
    if (bias != nullptr && *bias != nullptr) {
      TENON_TRY(tenon::detail::find_onednn(*bias, "the bias", job.bias));
    }
    const size_t rank = job.layout_of(job.input).rank();
    if (rank < 3 || rank > 5 || job.layout_of(job.weight).rank() != rank) {
      return tenon::detail::fail(Error::NotSupported, "the input has rank ", rank,
                                 " and the weights have rank ", job.layout_of(job.weight).rank(),
                                 ", expected equal ranks from 3 to 5");
    }
    TENON_TRY(job.read("stride", stride, stride_len_, 1, job.stride));
    TENON_TRY(job.read("padding", padding, padding_len_, 0, job.padding));
    TENON_TRY(job.read("dilation", dilation, dilation_len_, 1, job.dilation));
    if (job.transposed) {
      TENON_TRY(
          job.read("output_padding", output_padding, output_padding_len_, 0, job.output_padding));
    }
    TENON_TRY(job.check());
    tenon::Tensor output;
    TENON_TRY(job.make_output(output));
    if (output.numel() != 0) TENON_TRY(job.run(output));
    return tenon::detail::make_aoti_handle(std::move(output), *ret0);
  });
}

}  // extern "C"
