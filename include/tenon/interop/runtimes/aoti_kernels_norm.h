// SPDX-License-Identifier: MIT
// Normalization by the root mean square.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Divides each row of `width` elements by its root mean square and multiplies it by `weight`. Also
/// writes the inverse of each row's root mean square.
template <class T>
void normalize_rows(int64_t rows, int64_t width, const T* from, const T* weight, T eps, T* to,
                    T* inverse) noexcept {
  for (int64_t i = 0; i < rows; ++i, from += width, to += width) {
    T squares = 0;
    for (int64_t j = 0; j < width; ++j) squares += from[j] * from[j];
    inverse[i] = 1 / std::sqrt(squares / static_cast<T>(width) + eps);
    for (int64_t j = 0; j < width; ++j) {
      to[j] = from[j] * inverse[i] * (weight == nullptr ? T(1) : weight[j]);
    }
  }
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu__fused_rms_norm(AtenTensorHandle input,
                                              const int64_t* normalized_shape,
                                              int64_t normalized_shape_len,
                                              AtenTensorHandle* weight, double* eps,
                                              AtenTensorHandle* ret0, AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(input, "the input", given));
    const ScalarType type = given.scalar_type();
    const ScalarType computed = computed_type(type);
    if (!isFloatingType(type))
      return fail(Error::NotSupported, "the input has type ", type, ", expected a floating type");
    const ArrayRef<int64_t> sizes = given.sizes();
    ArrayRef<int64_t> shape;
    TENON_TRY(read_values("normalized_shape", normalized_shape, normalized_shape_len, shape));
    const size_t count = shape.size();
    if (count == 0 || count > sizes.size() ||
        ArrayRef<int64_t>(sizes.end() - count, count) != shape) {
      return fail(Error::InvalidArgument, "normalized_shape is ", shape,
                  ", expected the last sizes of an input of sizes ", sizes);
    }
    Tensor scale;
    if (weight != nullptr) {
      TENON_TRY(read_dense(*weight, "the weight", computed, scale));
      if (scale.sizes() != shape) {
        return fail(Error::InvalidArgument, "the weight has sizes ", scale.sizes(), ", expected ",
                    shape);
      }
    }
    Dims outer = sizes;
    TENON_TRY(check_dims("sizes", outer));
    int64_t width = 1;
    for (size_t d = sizes.size() - count; d < sizes.size(); ++d) {
      outer[d] = 1;
      width *= sizes[d];
    }
    Tensor dense;
    AotiResult result;
    AotiResult inverse;
    TENON_TRY(make_dense(given, computed, dense));
    AotiShape like;
    like.type = type;
    like.sizes = sizes;
    like.strides = fields(TensorArg(dense)).layout.strides();
    if (has_channels_last(fields(TensorArg(given)).layout)) {
      set_channels_last(like.sizes, 1, like.strides);
    }
    TENON_TRY(result.make(like, computed));
    TENON_TRY(inverse.make(outer, computed, computed));
    on_floating_type(type, [&](auto zero) {
      using T = decltype(zero);
      const T least = eps != nullptr ? static_cast<T>(*eps) : std::numeric_limits<T>::epsilon();
      normalize_rows<T>(inverse.tensor().numel(), width, dense_data<T>(dense),
                        scale.defined() ? dense_data<T>(scale) : nullptr, least, result.data<T>(),
                        inverse.data<T>());
    });
    return finish_all({{&result, ret0}, {&inverse, ret1}});
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
