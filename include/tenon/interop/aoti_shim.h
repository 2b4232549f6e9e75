// SPDX-License-Identifier: MIT
// torch's C functions on tenon's tensors, for code that AOTInductor generated for the CPU: the
// functions of torch/csrc/inductor/aoti_torch/c/shim.h that need no kernel. For kernels, the
// program includes interop/aoti_kernels.h, aoti_onednn.h and others, or defines them itself.
//
// Include this header in one source file of the program, and export the functions when you link it:
// -rdynamic, or CMake's tenon::aoti. If that file also includes torch's own header, torch's comes
// first.
//
// For a null or undefined handle the functions return an error. As in torch, pointers to results
// must not be null.
#pragma once

#include <cstdio>

#include "tenon/interop/runtimes/aoti_shim_functions.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {

// clang-format off The numbers of c10's enumerators.
int32_t aoti_torch_device_type_cpu() { return 0; }
int32_t aoti_torch_device_type_cuda() { return 1; }
int32_t aoti_torch_device_type_xpu() { return 12; }
int32_t aoti_torch_device_type_mps() { return 13; }
int32_t aoti_torch_device_type_meta() { return 14; }
int32_t aoti_torch_device_type_privateuse1() { return 20; }
int32_t aoti_torch_dtype_uint8() { return 0; }
int32_t aoti_torch_dtype_int8() { return 1; }
int32_t aoti_torch_dtype_int16() { return 2; }
int32_t aoti_torch_dtype_int32() { return 3; }
int32_t aoti_torch_dtype_int64() { return 4; }
int32_t aoti_torch_dtype_float16() { return 5; }
int32_t aoti_torch_dtype_float32() { return 6; }
int32_t aoti_torch_dtype_float64() { return 7; }
int32_t aoti_torch_dtype_complex32() { return 8; }
int32_t aoti_torch_dtype_complex64() { return 9; }
int32_t aoti_torch_dtype_complex128() { return 10; }
int32_t aoti_torch_dtype_bool() { return 11; }
int32_t aoti_torch_dtype_bfloat16() { return 15; }
int32_t aoti_torch_dtype_float8_e5m2() { return 23; }
int32_t aoti_torch_dtype_float8_e4m3fn() { return 24; }
int32_t aoti_torch_dtype_float8_e5m2fnuz() { return 25; }
int32_t aoti_torch_dtype_float8_e4m3fnuz() { return 26; }
int32_t aoti_torch_dtype_uint16() { return 27; }
int32_t aoti_torch_dtype_uint32() { return 28; }
int32_t aoti_torch_dtype_uint64() { return 29; }
int32_t aoti_torch_dtype_float8_e8m0fnu() { return 44; }
int32_t aoti_torch_dtype_float4_e2m1fn_x2() { return 45; }
int32_t aoti_torch_layout_strided() { return 0; }
int32_t aoti_torch_layout_sparse_coo() { return 1; }
int32_t aoti_torch_layout_sparse_csr() { return 2; }
int32_t aoti_torch_layout__mkldnn() { return 3; }
int32_t aoti_torch_layout_sparse_csc() { return 4; }
int32_t aoti_torch_layout_sparse_bsr() { return 5; }
int32_t aoti_torch_layout_sparse_bsc() { return 6; }
int32_t aoti_torch_layout_jagged() { return 7; }
int32_t aoti_torch_memory_format_contiguous_format() { return 0; }
int32_t aoti_torch_memory_format_preserve_format() { return 1; }
int32_t aoti_torch_memory_format_channels_last() { return 2; }
int32_t aoti_torch_memory_format_channels_last_3d() { return 3; }
// clang-format on

size_t aoti_torch_dtype_element_size(int32_t dtype) {
  if (dtype == 44 || dtype == 45) return 1;  // dtypes that tenon lacks
  const ScalarType type = type_of_torch_number(dtype);
  return type != ScalarType::Undefined ? elementSize(type) : 0;
}
/// The newest version of torch that these functions follow: 2.15.
uint64_t aoti_torch_abi_version() { return uint64_t{2} << 56 | uint64_t{15} << 48; }

// tenon does not record gradients.
bool aoti_torch_grad_mode_is_enabled() { return false; }
void aoti_torch_grad_mode_set_enabled(bool) {}

// --- One element --------------------------------------------------------------------------------

// name: torch's name of the type; Value: the type in the signature; T: tenon's type.
#define TENON_AOTI_ITEM(name, Value, T)                                        \
  AOTITorchError aoti_torch_item_##name(AtenTensorHandle tensor, Value* ret) { \
    return aoti_item<T>("aoti_torch_item_" #name, tensor, ret);                \
  }
#define TENON_AOTI_SCALAR(name, Value, T)                                                 \
  AOTITorchError aoti_torch_scalar_to_tensor_##name(Value value, AtenTensorHandle* ret) { \
    return aoti_scalar<T>("aoti_torch_scalar_to_tensor_" #name, value, ret);              \
  }
TENON_AOTI_ITEM(float16, AotiHalf, Half)
TENON_AOTI_ITEM(bfloat16, AotiBFloat16, BFloat16)
TENON_AOTI_ITEM(float32, float, float)
TENON_AOTI_ITEM(float64, double, double)
TENON_AOTI_ITEM(complex64, AotiComplex<float>, complex<float>)
TENON_AOTI_ITEM(uint8, uint8_t, uint8_t)
TENON_AOTI_ITEM(uint16, uint16_t, uint16_t)
TENON_AOTI_ITEM(uint32, uint32_t, uint32_t)
TENON_AOTI_ITEM(uint64, uint64_t, uint64_t)
TENON_AOTI_ITEM(int8, int8_t, int8_t)
TENON_AOTI_ITEM(int16, int16_t, int16_t)
TENON_AOTI_ITEM(int32, int32_t, int32_t)
TENON_AOTI_ITEM(int64, int64_t, int64_t)
TENON_AOTI_ITEM(bool, bool, bool)
TENON_AOTI_SCALAR(float32, float, float)
TENON_AOTI_SCALAR(float64, double, double)
TENON_AOTI_SCALAR(complex64, AotiComplex<float>, complex<float>)
TENON_AOTI_SCALAR(complex128, AotiComplex<double>, complex<double>)
TENON_AOTI_SCALAR(uint8, uint8_t, uint8_t)
TENON_AOTI_SCALAR(uint16, uint16_t, uint16_t)
TENON_AOTI_SCALAR(uint32, uint32_t, uint32_t)
TENON_AOTI_SCALAR(uint64, uint64_t, uint64_t)
TENON_AOTI_SCALAR(int8, int8_t, int8_t)
TENON_AOTI_SCALAR(int16, int16_t, int16_t)
TENON_AOTI_SCALAR(int32, int32_t, int32_t)
TENON_AOTI_SCALAR(int64, int64_t, int64_t)
TENON_AOTI_SCALAR(bool, bool, bool)
#undef TENON_AOTI_SCALAR
#undef TENON_AOTI_ITEM

// --- Properties of a tensor ---------------------------------------------------------------------

AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret) {
  return aoti_data(__func__, tensor, ret);
}
AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) { return t.layout.rank(); });
}
AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) { return t.layout.numel; });
}
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret) {
  return aoti_get(__func__, tensor, ret,
                  [](auto&, auto& t) { return const_cast<int64_t*>(t.layout.sizes().data()); });
}
AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret) {
  return aoti_get(__func__, tensor, ret,
                  [](auto&, auto& t) { return const_cast<int64_t*>(t.layout.strides().data()); });
}
AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret) {
  return aoti_entry(__func__, tensor, d, ret, [](auto& t) { return t.layout.sizes(); });
}
AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d, int64_t* ret) {
  return aoti_entry(__func__, tensor, d, ret, [](auto& t) { return t.layout.strides(); });
}
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) { return t.type; });
}
// Reports all memory that the host can access as CPU, whose index in torch is -1.
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) {
    return t.is_host_accessible() ? 0 : aoti_torch_device_type_privateuse1();
  });
}
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) {
    return t.is_host_accessible() ? -1 : int{t.device.index()};
  });
}
AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto&) { return aoti_torch_layout_strided(); });
}
AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret) {
  return aoti_get(__func__, tensor, ret, [](auto&, auto& t) { return t.layout.is_contiguous(); });
}
AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret) {
  return aoti_on(__func__, tensor, [&](Tensor& t) {
    *ret = t.defined();
    return Error::Ok;
  });
}
AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto& t, auto&) { return aoti_storage_size(t); });
}
AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto& t, auto& f) {
    return aoti_storage_size(t) / static_cast<int64_t>(elementSize(f.type));
  });
}
AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret) {
  return aoti_get(__func__, tensor, ret, [](auto& t, auto& f) {
    return aoti_storage_begin(t) / static_cast<int64_t>(elementSize(f.type));
  });
}

// --- Handles ------------------------------------------------------------------------------------

AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
  Tensor dropped;
  return aoti_answer(__func__, [&] { return take_aoti_tensor(tensor, dropped); });
}
AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle tensor, AtenTensorHandle* ret) {
  return aoti_on(__func__, tensor, [&](Tensor& t) { return make_aoti_handle(t, *ret); });
}
AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src, AtenTensorHandle* ret) {
  return aoti_on(__func__, src, [&](Tensor& t) { return make_aoti_handle(t, *ret); });
}
AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return aoti_answer(__func__, [&] { return make_aoti_handle(Tensor(), *ret); });
}
AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
  return aoti_on(__func__, src, [&](Tensor& from) {
    Tensor* to = nullptr;
    TENON_TRY(find_aoti_tensor(dst, to));
    *to = from;
    return Error::Ok;
  });
}

// --- New tensors and views ----------------------------------------------------------------------

AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides,
                                        int32_t dtype, int32_t device_type, int32_t,
                                        AtenTensorHandle* ret) {
  return aoti_answer(__func__, [&] {
    AotiShape shape;
    Tensor made;
    TENON_TRY(shape.read(ndim, sizes, strides, dtype, device_type));
    TENON_TRY(aoti_empty(shape, made));
    return make_aoti_handle(std::move(made), *ret);
  });
}
/// The memory is not pinned: only other devices need pinned memory.
AOTITorchError aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes,
                                               const int64_t* strides, int32_t dtype,
                                               int32_t device_type, int32_t device_index,
                                               AtenTensorHandle* ret) {
  return aoti_torch_empty_strided(ndim, sizes, strides, dtype, device_type, device_index, ret);
}
/// Borrows the caller's memory.
AOTITorchError aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes,
                                                     const int64_t* strides, int64_t storage_offset,
                                                     int32_t dtype, int32_t device_type, int32_t,
                                                     AtenTensorHandle* ret, int32_t layout,
                                                     const uint8_t*, int64_t) {
  return aoti_answer(__func__, [&] {
    if (layout != aoti_torch_layout_strided()) {
      return fail(Error::NotSupported, "a weight has torch's layout ", layout,
                  ", expected 0, strided; export the model without mkldnn");
    }
    AotiShape shape;
    TENON_TRY(shape.read(ndim, sizes, strides, dtype, device_type));
    TENON_TRY(shape.add_offset(storage_offset, data));
    NewTensor new_tensor;
    TENON_TRY(borrow_checked(data, shape.sizes, {}, shape.strides,
                             CreateOptions(shape.type, TensorShapeDynamism::STATIC), nullptr,
                             new_tensor));
    return make_aoti_handle(Tensor(std::move(new_tensor)), *ret);
  });
}
AOTITorchError aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes,
                                                  const int64_t* strides, int64_t storage_offset,
                                                  int32_t dtype, int32_t device_type,
                                                  int32_t device_index, AtenTensorHandle* ret) {
  return aoti_torch_create_tensor_from_blob_v2(data, ndim, sizes, strides, storage_offset, dtype,
                                               device_type, device_index, ret, 0, nullptr, 0);
}
/// `storage_offset`: counted from the tensor's first element.
AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim,
                                              const int64_t* sizes, const int64_t* strides,
                                              int64_t storage_offset, AtenTensorHandle* ret) {
  return aoti_on(__func__, self, [&](Tensor& t) {
    return aoti_reinterpret(t, ndim, sizes, strides, storage_offset, ret);
  });
}
AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes,
                                     const int64_t* strides, AtenTensorHandle* ret) {
  return aoti_on(__func__, self, [&](Tensor& t) {
    TENON_TRY(check_defined(t, "the tensor"));
    return aoti_reinterpret(t, t.dim(), sizes, strides, 0, ret);
  });
}
AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes,
                                           int32_t dtype, int64_t ndim, const int64_t* sizes,
                                           const int64_t* strides, AtenTensorHandle* ret) {
  return aoti_on(__func__, self, [&](Tensor& pool) {
    AotiShape shape;
    TENON_TRY(check_defined(pool, "the pool"));
    TENON_TRY(shape.read(ndim, sizes, strides, dtype));
    return aoti_view(pool, shape, offset_bytes, ret);
  });
}

// --- Elements -----------------------------------------------------------------------------------

AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src, int32_t) {
  return aoti_copy(__func__, self, src);
}
AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst) {
  return aoti_copy(__func__, dst, src);
}
AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return aoti_on(__func__, self, [](Tensor& t) {
    Tensor distinct;
    TENON_TRY(distinct_elements(t, distinct));
    return zero_(distinct);
  });
}
AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  return aoti_on(__func__, self, [&](Tensor& t) {
    Result<TensorPtr> clone = try_clone_tensor_ptr(t);
    TENON_TRY(clone);
    return make_aoti_handle(**clone, *ret);
  });
}
/// Copies the memory from the first to the last element, gaps included.
AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self, AtenTensorHandle* ret) {
  return aoti_on(__func__, self, [&](Tensor& t) {
    TENON_TRY(check_defined(t, "the tensor"));
    const TensorFields& from = fields(TensorArg(t));
    TENON_TRY(check_has_data(from));
    const ptrdiff_t span = from.layout.required_span_size();
    Tensor block;
    TENON_TRY(aoti_empty({{span}, {1}, from.type}, block));
    if (span != 0) {
      std::memcpy(fields(TensorArg(block)).data, from.data,
                  static_cast<size_t>(span) * elementSize(from.type));
    }
    return aoti_view(block, {from.layout.sizes(), from.layout.strides(), from.type}, 0, ret);
  });
}

// --- Checks -------------------------------------------------------------------------------------

/// The only function that throws, like libtorch's: the calling code must not continue, and the
/// model's exported functions catch the exception. In a parallel loop of OpenMP the exception ends
/// the program.
void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line,
                      const char* msg) {
  const auto text = [](const char* given) noexcept { return given == nullptr ? "?" : given; };
  if (!cond) {
    raise(Error::InvalidArgument, text(msg), " (", text(func), " at ", text(file), ':', line, ')');
  }
}
void aoti_torch_warn(const char* func, const char* file, uint32_t line, const char* msg) {
  static_cast<void>(std::fprintf(stderr, "warning: %s (%s at %s:%u)\n", msg, func, file, line));
}

}  // extern "C"
#pragma GCC visibility pop

const TenonAotiShim tenon_aoti_shim = {&aoti_torch_delete_tensor_object, TENON_IS_CHECKED != 0};

}  // namespace detail
TENON_END_NAMESPACE
