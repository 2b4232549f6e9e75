// SPDX-License-Identifier: MIT
// Fourier transforms for models of AOTInductor, by kissfft's C++ header (Debian: libkissfft-dev,
// nothing to link): aoti_torch_cpu__fft_r2c and _fft_c2c, which torch.fft, torch.stft and
// torch.istft become, and the operator aten::_fft_c2r, which models call by interop/aoti_proxy.h.
//
// Include it in one file of the program, and link that with its functions exported, as
// interop/aoti_shim.h says. Of Float and Double, of any length. On the calling thread.
#pragma once

#include "tenon/interop/runtimes/aoti_fft_transform.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// aten::_fft_c2r.
inline Error call_fft_c2r(Span<const EValue> inputs, std::vector<EValue>& outputs) {
  FourierJob job;
  Tensor made;
  TENON_TRY(job.read(inputs[0].toTensor(), inputs[1].toIntList()));
  TENON_TRY(transform_c2r(job, inputs[2].toInt(), inputs[3].toInt(), made));
  outputs.emplace_back(made);
  return Error::Ok;
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu__fft_r2c(AtenTensorHandle self, const int64_t* dim, int64_t dim_len_,
                                       int64_t normalization, int32_t onesided,
                                       AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& given) {
    FourierJob job;
    Tensor made;
    ArrayRef<int64_t> dims;
    TENON_TRY(read_values("dim", dim, dim_len_, dims));
    TENON_TRY(job.read(given, dims));
    TENON_TRY(transform_r2c(job, normalization, onesided != 0, made));
    return make_aoti_handle(made, *ret0);
  });
}
AOTITorchError aoti_torch_cpu__fft_c2c(AtenTensorHandle self, const int64_t* dim, int64_t dim_len_,
                                       int64_t normalization, int32_t forward,
                                       AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& given) {
    FourierJob job;
    Tensor made;
    ArrayRef<int64_t> dims;
    TENON_TRY(read_values("dim", dim, dim_len_, dims));
    TENON_TRY(job.read(given, dims));
    TENON_TRY(transform_c2c(job, normalization, forward == 0, made));
    return make_aoti_handle(made, *ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

/// True if aten::_fft_c2r could be registered when the program started.
inline const bool has_fft_c2r =
    register_torch_operator(
        "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
        call_fft_c2r) == Error::Ok;

}  // namespace detail
TENON_END_NAMESPACE
