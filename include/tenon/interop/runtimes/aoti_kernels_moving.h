// SPDX-License-Identifier: MIT
// Kernels that join and pad tensors.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t tensors_len_,
                                  int64_t dim, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    std::vector<Tensor> list(static_cast<size_t>((std::max)(tensors_len_, int64_t{0})));
    Tensor made;
    for (size_t i = 0; i < list.size(); ++i) TENON_TRY(read_aoti(tensors[i], "a tensor", list[i]));
    TENON_TRY(join(list, dim, made));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_cpu_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len_,
                                  const char* mode, double* value, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    Tensor made;
    TENON_TRY(pad_by(given, {pad, static_cast<size_t>(pad_len_)}, mode, value, made));
    return make_aoti_handle(std::move(made), *ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
