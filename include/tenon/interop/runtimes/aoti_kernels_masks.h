// SPDX-License-Identifier: MIT
// Kernels that find, select and replace elements by a mask, and a kernel that repeats indices.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline AOTITorchError answer_nonzero(const char* function, AtenTensorHandle self,
                                     AtenTensorHandle* ret0) noexcept {
  return aoti_answer(function, [&] {
    Tensor mask;
    TENON_TRY(read_dense(self, "the input", ScalarType::Bool, mask));
    // As in torch, the indices of each dimension are contiguous.
    const int64_t count = count_nonzero(mask);
    Tensor made;
    TENON_TRY(aoti_empty({{count, mask.dim()}, {1, count}, ScalarType::Long}, made));
    list_nonzero(mask, count, {1, count}, static_cast<int64_t*>(fields(TensorArg(made)).data));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
/// Returns each index i repeats[i] times.
inline AOTITorchError answer_repeats(const char* function, AtenTensorHandle repeats,
                                     const int64_t* output_size, AtenTensorHandle* ret0) noexcept {
  return aoti_answer(function, [&] {
    Tensor given;
    Tensor counts;
    TENON_TRY(read_aoti(repeats, "the repeats", given));
    const ScalarType type = given.scalar_type();
    if (given.dim() != 1 || (type != ScalarType::Long && type != ScalarType::Int)) {
      return fail(Error::InvalidArgument, "the repeats have sizes ", given.sizes(), " and type ",
                  type, ", expected rank 1 and Long or Int");
    }
    TENON_TRY(make_dense(given, ScalarType::Long, counts));
    const auto* const count = dense_data<int64_t>(counts);
    int64_t total = 0;
    for (int64_t i = 0; i < counts.numel(); ++i) {
      if (count[i] < 0 || !add(total, count[i], total)) {
        return fail(Error::InvalidArgument, "the number of repeats of index ", i, " is ", count[i],
                    ", which is negative or too large");
      }
    }
    if (output_size != nullptr && *output_size != total && counts.numel() != 0) {
      return fail(Error::InvalidArgument, "output_size is ", *output_size,
                  ", but the repeats add up to ", total);
    }
    AotiResult result;
    TENON_TRY(result.make(Dims{total}, type, ScalarType::Long));
    auto* to = result.data<int64_t>();
    for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, count[i], i);
    return result.finish(ret0);
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_masked_select(AtenTensorHandle self, AtenTensorHandle mask,
                                            AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor from;
    Tensor chosen;
    AotiResult result;
    TENON_TRY(read_aoti(self, "the input", from));
    TENON_TRY(read_aoti(mask, "the mask", chosen));
    TENON_TRY(select_masked(from, chosen, result));
    return result.finish(ret0);
  });
}
AOTITorchError aoti_torch_cpu_masked_scatter(AtenTensorHandle self, AtenTensorHandle mask,
                                             AtenTensorHandle source, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor from;
    Tensor chosen;
    Tensor values;
    TENON_TRY(read_aoti(self, "the input", from));
    TENON_TRY(read_aoti(mask, "the mask", chosen));
    TENON_TRY(read_masked(from, chosen, from, chosen));
    TENON_TRY(read_aoti(source, "the source", values));
    const ScalarType type = from.scalar_type();
    if (values.scalar_type() != type) {
      return fail(Error::InvalidType, "the source has type ", values.scalar_type(), ", expected ",
                  type);
    }
    TENON_TRY(make_dense(values, type, values));
    const auto* const choice = dense_data<uint8_t>(chosen);
    const int64_t count = count_nonzero(chosen);
    if (count > values.numel()) {
      return fail(Error::InvalidArgument, "the source has ", values.numel(),
                  " elements, but the mask selects ", count);
    }
    AotiResult result;
    TENON_TRY(result.make(from.sizes(), type, type));
    TENON_TRY(result.copy_from(from));
    const size_t item = elementSize(type);
    const auto* next = dense_data<char>(values);
    char* to = result.data<char>();
    with_element_copy(item, [&](const auto& copy) {
      for (int64_t i = 0; i < from.numel(); ++i, to += item) {
        if (choice[i] == 0) continue;
        copy(to, next);
        next += item;
      }
    });
    return result.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_nonzero(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return answer_nonzero(__func__, self, ret0);
}
AOTITorchError aoti_torch_nonzero(AtenTensorHandle self, AtenTensorHandle* out) {
  return answer_nonzero(__func__, self, out);
}
AOTITorchError aoti_torch_cpu_nonzero_static(AtenTensorHandle self, int64_t size,
                                             int64_t fill_value, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor mask;
    AotiResult result;
    TENON_TRY(read_dense(self, "the input", ScalarType::Bool, mask));
    if (size < 0) return fail(Error::InvalidArgument, "size ", size, " is negative");
    TENON_TRY(result.make(Dims{size, mask.dim()}, ScalarType::Long, ScalarType::Long));
    auto* const to = result.data<int64_t>();
    std::fill(to, to + size * mask.dim(), fill_value);
    list_nonzero(mask, size, {mask.dim(), 1}, to);
    return result.finish(ret0);
  });
}

AOTITorchError aoti_torch_cpu_repeat_interleave_Tensor(AtenTensorHandle repeats,
                                                       int64_t* output_size,
                                                       AtenTensorHandle* ret0) {
  return answer_repeats(__func__, repeats, output_size, ret0);
}
AOTITorchError aoti_torch_repeat_interleave_Tensor(AtenTensorHandle repeats, int64_t* output_size,
                                                   AtenTensorHandle* out) {
  return answer_repeats(__func__, repeats, output_size, out);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
