// SPDX-License-Identifier: MIT
// Kernels that view a tensor in another shape or type, replace a handle's tensor, and fill and
// check elements.
#pragma once

#include <cmath>
#include <cstdio>

#include "tenon/interop/runtimes/aoti_kernel_elements.h"
#include "tenon/interop/runtimes/aoti_tensor_options.h"
#include "tenon/tensor/format.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Returns the view that make(tensor) makes of a defined tensor.
template <class Make>
AOTITorchError answer_view(const char* function, AtenTensorHandle self, AtenTensorHandle* ret,
                           const Make& make) noexcept {
  return aoti_on(function, self, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    TENON_ASSIGN(Tensor view, make(tensor));
    return make_aoti_handle(std::move(view), *ret);
  });
}

inline AOTITorchError answer_view_dtype(const char* function, AtenTensorHandle self, int32_t dtype,
                                        AtenTensorHandle* ret) noexcept {
  return answer_view(function, self, ret, [&](const Tensor& t) -> Result<Tensor> {
    ScalarType type;
    TENON_TRY(read_torch_type(dtype, type));
    return try_view_as_type(t, type);
  });
}
/// Views complex elements as real ones. The last dimension has the real and the imaginary part.
inline AOTITorchError answer_view_as_real(const char* function, AtenTensorHandle self,
                                          AtenTensorHandle* ret) noexcept {
  return aoti_on(function, self, [&](const Tensor& t) {
    TENON_TRY(check_defined(t, "the tensor"));
    const ScalarType type = t.scalar_type();
    if (!isComplexType(type)) {
      return fail(Error::InvalidType, "the tensor has type ", type, ", expected a complex type");
    }
    // The number of a complex type is that of its parts' type plus 3.
    AotiShape shape{t.sizes(), t.strides(), static_cast<ScalarType>(static_cast<int>(type) - 3)};
    for (int64_t& stride : shape.strides) stride = multiply_elements(stride, int64_t{2});
    shape.sizes.push_back(2);
    shape.strides.push_back(1);
    return aoti_view(t, shape, aoti_storage_begin(t), ret);
  });
}

/// Resizes a handle's tensor, in its memory or in new memory. Other handles of the same tensor keep
/// the old sizes.
inline Error resize_handle(Tensor& tensor, ArrayRef<int64_t> sizes, const int32_t* memory_format) {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(TensorArg(tensor));
  TENON_TRY(check_has_data(from));
  if (memory_format == nullptr && from.layout.sizes() == sizes) return Error::Ok;
  AotiShape shape{sizes, {}, from.type};
  TENON_TRY(format_strides(shape.sizes, memory_format == nullptr ? kContiguous : *memory_format,
                           from.type, shape.strides));
  const int64_t kept = aoti_storage_size(tensor) - aoti_storage_begin(tensor);
  const int64_t needed = product(sizes) * shape.element_size();
  Tensor made;
  if (needed > kept) {
    TENON_TRY(aoti_empty(shape, made));
    if (kept > 0) std::memcpy(fields(TensorArg(made)).data, from.data, static_cast<size_t>(kept));
  } else {
    TENON_ASSIGN(made, try_as_strided(aoti_storage(tensor), shape.sizes, shape.strides,
                                      aoti_storage_begin(tensor) / shape.element_size()));
  }
  tensor = made;
  return Error::Ok;
}

#pragma GCC visibility push(default)
extern "C" {

// --- Views --------------------------------------------------------------------------------------

AOTITorchError aoti_torch_cpu_permute(AtenTensorHandle self, const int64_t* dims, int64_t dims_len_,
                                      AtenTensorHandle* ret0) {
  return answer_view(__func__, self, ret0, [&](const Tensor& t) -> Result<Tensor> {
    Dims order;
    TENON_TRY(read_dims("dims", dims, dims_len_, order));
    return try_permute(t, order);
  });
}
/// Returns a copy if no view can have these sizes.
AOTITorchError aoti_torch_cpu_reshape(AtenTensorHandle self, const int64_t* shape,
                                      int64_t shape_len_, AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    Dims sizes;
    TENON_TRY(read_dims("shape", shape, shape_len_, sizes));
    ViewShape view(tensor);
    bool needs_copy = false;
    TENON_TRY(view.view(sizes, &needs_copy));
    if (!needs_copy) {
      TENON_ASSIGN(Tensor made, try_view(tensor, sizes));
      return make_aoti_handle(std::move(made), *ret0);
    }
    AotiResult result;
    TENON_TRY(result.make(tensor.sizes(), tensor.scalar_type(), tensor.scalar_type()));
    TENON_TRY(result.copy_from(tensor));
    TENON_ASSIGN(Tensor made, try_view(result.tensor(), sizes));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_cpu_slice_Tensor(AtenTensorHandle self, int64_t dim, int64_t* start,
                                           int64_t* end, int64_t step, AtenTensorHandle* ret0) {
  return answer_view(__func__, self, ret0, [&](const Tensor& t) {
    return try_slice(t, dim, start == nullptr ? 0 : *start, end == nullptr ? INT64_MAX : *end,
                     step);
  });
}
AOTITorchError aoti_torch_cpu_narrow(AtenTensorHandle self, int64_t dim, int64_t start,
                                     int64_t length, AtenTensorHandle* ret0) {
  return answer_view(__func__, self, ret0,
                     [&](const Tensor& t) { return try_narrow(t, dim, start, length); });
}
AOTITorchError aoti_torch_cpu_squeeze_dim(AtenTensorHandle self, int64_t dim,
                                          AtenTensorHandle* ret0) {
  return answer_view(__func__, self, ret0, [&](const Tensor& t) { return try_squeeze(t, dim); });
}
AOTITorchError aoti_torch_cpu_view_dtype(AtenTensorHandle self, int32_t dtype,
                                         AtenTensorHandle* ret0) {
  return answer_view_dtype(__func__, self, dtype, ret0);
}
AOTITorchError aoti_torch_view_dtype(AtenTensorHandle self, int32_t dtype, AtenTensorHandle* ret) {
  return answer_view_dtype(__func__, self, dtype, ret);
}
AOTITorchError aoti_torch_cpu_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return answer_view_as_real(__func__, self, ret0);
}
AOTITorchError aoti_torch_view_as_real(AtenTensorHandle self, AtenTensorHandle* ret) {
  return answer_view_as_real(__func__, self, ret);
}
/// The input's last dimension has the real and the imaginary part, which are adjacent.
AOTITorchError aoti_torch_cpu_view_as_complex(AtenTensorHandle self, AtenTensorHandle* ret0) {
  return answer_view(__func__, self, ret0, [&](const Tensor& t) -> Result<Tensor> {
    const ScalarType type = t.scalar_type();
    const bool has_parts =
        type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double;
    if (!has_parts || t.dim() == 0 || t.sizes().back() != 2) {
      return fail(Error::InvalidArgument, "the tensor has type ", type, " and sizes ", t.sizes(),
                  ", expected Half, Float or Double with a last dimension of size 2");
    }
    TENON_ASSIGN(const Tensor numbers,
                 try_view_as_type(t, static_cast<ScalarType>(static_cast<int>(type) + 3)));
    return try_squeeze(numbers, -1);
  });
}

// --- Other sizes and elements in place ----------------------------------------------------------

AOTITorchError aoti_torch_cpu_resize_(AtenTensorHandle self, const int64_t* size, int64_t size_len_,
                                      int32_t* memory_format) {
  return aoti_on(__func__, self, [&](Tensor& tensor) {
    Dims sizes;
    TENON_TRY(read_dims("size", size, size_len_, sizes));
    return resize_handle(tensor, sizes, memory_format);
  });
}
AOTITorchError aoti_torch_cpu_resize_as_(AtenTensorHandle self, AtenTensorHandle the_template,
                                         int32_t* memory_format) {
  return aoti_on(__func__, self, [&](Tensor& tensor) {
    Tensor* like = nullptr;
    TENON_TRY(find_aoti_tensor(the_template, like));
    TENON_TRY(check_defined(*like, "the template"));
    const Dims sizes(like->sizes());
    TENON_TRY(check_dims("sizes", sizes));
    int32_t format = memory_format == nullptr ? 0 : *memory_format;
    if (format == 1) {  // preserve_format: the format of `like`
      const bool is_last = has_channels_last(fields(TensorArg(*like)).layout);
      format = is_last ? static_cast<int32_t>(sizes.size()) - 2 : 0;
    }
    return resize_handle(tensor, sizes, memory_format == nullptr ? nullptr : &format);
  });
}
/// Replaces the handle's tensor by the source's. Other handles of the old tensor keep it.
AOTITorchError aoti_torch_cpu_set__source_Tensor(AtenTensorHandle self, AtenTensorHandle source) {
  return aoti_on(__func__, self, [&](Tensor& tensor) {
    Tensor* from = nullptr;
    TENON_TRY(find_aoti_tensor(source, from));
    TENON_TRY(check_defined(tensor, "the tensor"));
    TENON_TRY(check_defined(*from, "the source"));
    if (from->scalar_type() != tensor.scalar_type()) {
      return fail(Error::InvalidType, "the source has type ", from->scalar_type(), ", expected ",
                  tensor.scalar_type());
    }
    tensor = *from;
    return Error::Ok;
  });
}
AOTITorchError aoti_torch_cpu_fill__Scalar(AtenTensorHandle self, double value) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) { return fill_number(tensor, value); });
}

// --- Checks -------------------------------------------------------------------------------------

AOTITorchError aoti_torch_check_inf_and_nan(const char* tensor_name, AtenTensorHandle tensor) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(tensor, "the tensor", given));
    const ScalarType type = given.scalar_type();
    if (isIntegralType(type, true)) return Error::Ok;
    const bool is_complex = isComplexType(type);
    Tensor dense;
    TENON_TRY(
        make_dense(given, is_complex ? ScalarType::ComplexDouble : ScalarType::Double, dense));
    const auto* const numbers = dense_data<double>(dense);
    const int64_t count = dense.numel() * (is_complex ? 2 : 1);
    const char* found = nullptr;
    for (int64_t i = 0; i < count; ++i) {
      if (std::isnan(numbers[i])) found = "NaN";
      if (std::isinf(numbers[i]) && found == nullptr) found = "infinity";
    }
    if (found == nullptr) return Error::Ok;
    return fail(Error::InvalidArgument, tensor_name == nullptr ? "the tensor" : tensor_name,
                " has ", found);
  });
}
/// Prints to standard output, with all elements if there are few.
void aoti_torch_print_tensor_handle(AtenTensorHandle self, const char* msg) {
  std::string text;
  const AOTITorchError code = aoti_on(__func__, self, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    text = to_string(tensor);
    return Error::Ok;
  });
  const char* const shown = code == 0 ? text.c_str() : last_error_message();
  static_cast<void>(std::printf("[  %s  ]:\n%s\n", msg == nullptr ? "" : msg, shown));
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
