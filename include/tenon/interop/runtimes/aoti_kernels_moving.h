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
    ArrayRef<AtenTensorHandle> handles;
    TENON_TRY(read_values("tensors", tensors, tensors_len_, handles));
    std::vector<Tensor> list(handles.size());
    Tensor made;
    for (size_t i = 0; i < list.size(); ++i) TENON_TRY(read_aoti(handles[i], "a tensor", list[i]));
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
    ArrayRef<int64_t> pairs;
    TENON_TRY(read_values("pad", pad, pad_len_, pairs));
    TENON_TRY(pad_by(given, pairs, text_or_empty(mode), value, made));
    return make_aoti_handle(std::move(made), *ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
