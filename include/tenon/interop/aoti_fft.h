// SPDX-License-Identifier: MIT
// Fourier transforms for AOTInductor's models, by kissfft's C++ header (Debian: libkissfft-dev,
// nothing to link). They are the functions aoti_torch_cpu__fft_r2c and _fft_c2c, to which
// torch.fft, torch.stft and torch.istft compile, and the operators aten::_fft_c2r, fft_fftfreq and
// fft_rfftfreq, which models call through interop/aoti_proxy.h.
//
// Include this header in one source file of the program, and export its functions, as
// interop/aoti_shim.h says. Transforms Float and Double of any length, on the calling thread.
#pragma once

#include "tenon/interop/runtimes/aoti_fft_transform.h"
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"
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

/// aten::fft_fftfreq; with `is_half`, fft_rfftfreq, which has no negative frequencies.
inline Error call_fftfreq(AtenIn inputs, AtenOut& outputs, bool is_half) {
  const int64_t length = inputs[0].toInt();
  ScalarType type = ScalarType::Float;
  TENON_TRY(read_dtype(inputs[2], type, type));
  TENON_TRY(check_place(inputs[3], inputs[4], inputs[5]));
  if (!isFloatingType(type) || elementSize(type) == 1) {
    return fail(Error::NotSupported, "the frequencies have type ", type,
                ", expected a floating-point type");
  }
  if (length < 0) return fail(Error::InvalidArgument, "n is ", length, ", expected 0 or more");
  const int64_t count = is_half ? length / 2 + 1 : length;
  const int64_t negative =
      is_half ? count : length - length / 2;  // index of the first negative frequency
  const double step = 1 / (static_cast<double>(length) * inputs[1].toDouble());
  AotiResult result;
  TENON_TRY(result.make(ArrayRef<int64_t>(&count, 1), type, computed_type(type)));
  on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      result.data<T>()[i] = static_cast<T>(i < negative ? i : i - length) * static_cast<T>(step);
    }
  });
  return give(result, outputs);
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

inline constexpr AtenOperator kFrequencyOperators[] = {
    {"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     &call_fft_c2r},
    {"aten::fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     [](AtenIn in, AtenOut& out) { return call_fftfreq(in, out, false); }},
    {"aten::fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     [](AtenIn in, AtenOut& out) { return call_fftfreq(in, out, true); }},
};

[[maybe_unused]] const Error kProvidedFrequencyOperators = provide_operators(kFrequencyOperators);

}  // namespace detail
TENON_END_NAMESPACE
