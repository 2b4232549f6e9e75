// SPDX-License-Identifier: MIT
// The functions of torch's stable ABI (torch/csrc/stable) beyond those of interop/aoti_shim.h:
// registration, the dispatcher, lists, texts, errors, data pointers. If one source file of the
// program includes both headers, as aoti_shim.h describes, libraries of operators run without
// libtorch; call_torch_operator() calls their operators. docs/extensions.md lists what is
// supported.
//
// torch_parallel_for() calls its function once, on the calling thread. torch_stable_aten.h has the
// table of torch's own operators that are available. sort and masked_select need
// interop/aoti_kernels.h in the same source file.
#pragma once

#include "tenon/interop/runtimes/torch_stable_dispatcher.h"
#if __has_include(<dlfcn.h>)
#include "tenon/interop/runtimes/torch_stable_library.h"
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

#pragma GCC visibility push(default)
extern "C" {

// --- Registration -------------------------------------------------------------------------------

AOTITorchError aoti_torch_library_init_def(const char* ns, const char* /*file*/, uint32_t /*line*/,
                                           TorchLibraryHandle* ret) {
  return make_stable_library(__func__, ns, nullptr, ret);
}
AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* /*file*/,
                                                uint32_t /*line*/, TorchLibraryHandle* ret) {
  return make_stable_library(__func__, ns, nullptr, ret);
}
AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char* /*file*/,
                                            uint32_t /*line*/, TorchLibraryHandle* ret) {
  return make_stable_library(__func__, ns, k, ret);
}
AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema) {
  return define_stable(self, schema);
}
/// Ignores the tags: they describe an operator to graph compilers.
AOTITorchError torch_library_def_with_tags(TorchLibraryHandle self, const char* schema,
                                           const int32_t* /*tags*/, int32_t /*num_tags*/) {
  return define_stable(self, schema);
}
AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name,
                                       void (*fn)(StableIValue*, uint64_t, uint64_t)) {
  return implement_stable(self, name, fn);
}
AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name,
                                  void (*fn)(StableIValue*, uint64_t, uint64_t),
                                  uint64_t /*extension_build_version*/) {
  return implement_stable(self, name, fn);
}
AOTITorchError torch_library_set_python_module(TorchLibraryHandle, const char*, const char*) {
  return 0;
}
AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle self) {
  const std::unique_ptr<StableLibrary> library(&stable_library(self));
  remove_stable_operators(library.get());
  return 0;
}

// --- Calls --------------------------------------------------------------------------------------

AOTITorchError aoti_torch_call_dispatcher(const char* opName, const char* overloadName,
                                          StableIValue* stack) {
  return dispatch_stable(opName, overloadName, stack);
}
AOTITorchError torch_call_dispatcher(const char* opName, const char* overloadName,
                                     StableIValue* stack, uint64_t /*extension_build_version*/) {
  return dispatch_stable(opName, overloadName, stack);
}
AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t /*grain_size*/,
                                  void (*func)(int64_t, int64_t, void*), void* ctx) {
  return aoti_answer(__func__, [&] {
    if (begin < end) func(begin, end, ctx);
    return Error::Ok;
  });
}
AOTITorchError torch_get_thread_idx(uint32_t* out_thread_idx) {
  *out_thread_idx = 0;
  return 0;
}
AOTITorchError torch_get_num_threads(uint32_t* out_num_threads) {
  *out_num_threads = 1;
  return 0;
}

// --- Errors -------------------------------------------------------------------------------------

const char* torch_exception_get_what() { return last_error_message(); }
const char* torch_exception_get_what_without_backtrace() { return last_error_message(); }

// --- Values -------------------------------------------------------------------------------------

AOTITorchError torch_new_stable_ivalue(StableIValue** ret_value) {
  return aoti_answer(__func__, [&] {
    *ret_value = new StableIValue(0);
    return Error::Ok;
  });
}
AOTITorchError torch_delete_stable_ivalue(StableIValue* value) {
  if (value == nullptr) return 1;
  delete value;
  return 0;
}
AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret) {
  return aoti_answer(__func__, [&] {
    auto list = std::make_unique<StableList>();
    list->reserve(size);
    *ret = reinterpret_cast<StableListHandle>(list.release());
    return Error::Ok;
  });
}
AOTITorchError torch_list_size(StableListHandle list_handle, size_t* size) {
  *size = reinterpret_cast<StableList*>(list_handle)->size();
  return 0;
}
AOTITorchError torch_list_get_item(StableListHandle list_handle, size_t index,
                                   StableIValue* element) {
  const auto& list = *reinterpret_cast<StableList*>(list_handle);
  if (index >= list.size()) return 1;
  *element = list[index];
  return 0;
}
AOTITorchError torch_list_set_item(StableListHandle list_handle, size_t index,
                                   StableIValue element) {
  auto& list = *reinterpret_cast<StableList*>(list_handle);
  if (index >= list.size()) return 1;
  list[index] = element;
  return 0;
}
AOTITorchError torch_list_push_back(StableListHandle list_handle, StableIValue element) {
  return aoti_answer(__func__, [&] {
    reinterpret_cast<StableList*>(list_handle)->push_back(element);
    return Error::Ok;
  });
}
AOTITorchError torch_delete_list(StableListHandle list_handle) {
  delete reinterpret_cast<StableList*>(list_handle);
  return 0;
}
AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle) {
  return aoti_answer(__func__, [&] {
    *handle = reinterpret_cast<StringHandle>(new std::string(data, length));
    return Error::Ok;
  });
}
AOTITorchError torch_delete_string(StringHandle handle) {
  delete reinterpret_cast<std::string*>(handle);
  return 0;
}
AOTITorchError torch_string_length(StringHandle handle, size_t* length) {
  *length = reinterpret_cast<std::string*>(handle)->size();
  return 0;
}
AOTITorchError torch_string_c_str(StringHandle handle, const char** data) {
  *data = reinterpret_cast<std::string*>(handle)->c_str();
  return 0;
}

// --- Tensors ------------------------------------------------------------------------------------

AOTITorchError torch_get_const_data_ptr(AtenTensorHandle tensor, const void** ret_data_ptr) {
  return aoti_data(__func__, tensor, ret_data_ptr);
}
/// Fails if the tensor is read-only.
AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle tensor, void** ret_data_ptr) {
  return aoti_on(__func__, tensor, [&](const auto& found) {
    TENON_TRY(check_defined(found, "the tensor"));
    const auto& t = fields(TensorArg(found));
    TENON_TRY(check_writable(t));
    TENON_TRY(check_data_backend(t, "the tensor"));
    *ret_data_ptr = t.data;
    return Error::Ok;
  });
}
/// tenon records no gradients.
AOTITorchError torch_set_requires_grad(AtenTensorHandle, bool requires_grad) {
  return aoti_answer(__func__, [&] {
    return requires_grad ? fail(Error::NotSupported, "tenon has no gradients") : Error::Ok;
  });
}
AOTITorchError torch_has_storage(AtenTensorHandle tensor, bool* ret_has_storage) {
  return aoti_on(__func__, tensor, [&](const auto& found) {
    *ret_has_storage = found.defined();
    return Error::Ok;
  });
}
/// The deleter is called exactly once, even after an error.
AOTITorchError torch_from_blob(void* data, int64_t ndim, const int64_t* sizes_ptr,
                               const int64_t* strides_ptr, int64_t storage_offset, int32_t dtype,
                               int32_t device_type, int32_t /*device_index*/, AtenTensorHandle* ret,
                               int32_t layout, const uint8_t* /*opaque_metadata*/,
                               int64_t /*opaque_metadata_size*/,
                               void (*deleter)(void* data, void* ctx), void* deleter_ctx) {
  return aoti_answer(__func__, [&] {
    const auto release = [=] {
      if (deleter != nullptr) deleter(data, deleter_ctx);
    };
    AotiShape shape;
    void* first = data;
    Error error = shape.read(ndim, sizes_ptr, strides_ptr, dtype, device_type);
    if (error == Error::Ok && layout != 0) {
      error = fail(Error::NotSupported, "layout ", layout, " is not strided");
    }
    if (error == Error::Ok) error = shape.add_offset(storage_offset, first);
    if (error != Error::Ok) {
      release();
      return error;
    }
    Result<TensorPtr> made = try_from_blob(first, shape.sizes, shape.strides, shape.type,
                                           [release](void*) { release(); });
    TENON_TRY(made.error());
    return make_aoti_handle(**made, *ret);
  });
}
AOTITorchError torch_parse_device_string(const char* device_string, uint32_t* out_device_type,
                                         int32_t* out_device_index) {
  return aoti_answer(__func__, [&] {
    const std::string_view text = device_string;
    if (text != "cpu" && text != "cpu:0") {
      return fail(Error::NotSupported, "device \"", text,
                  "\", expected cpu: operators compute there");
    }
    *out_device_type = 0;
    *out_device_index = text == "cpu" ? -1 : 0;
    return Error::Ok;
  });
}
int32_t torch_dtype_float8_e8m0fnu() { return 44; }
int32_t torch_dtype_float4_e2m1fn_x2() { return 45; }
#define TENON_TAG(name) \
  int32_t torch_tag_##name() { return __LINE__; }  // any number will do
// clang-format off
TENON_TAG(core)
TENON_TAG(cudagraph_unsafe)
TENON_TAG(data_dependent_output)
TENON_TAG(dynamic_output_shape)
TENON_TAG(flexible_layout)
TENON_TAG(generated)
TENON_TAG(inplace_view)
TENON_TAG(maybe_aliasing_or_mutating)
TENON_TAG(needs_contiguous_strides)
TENON_TAG(needs_exact_strides)
TENON_TAG(needs_fixed_stride_order)
TENON_TAG(nondeterministic_bitwise)
TENON_TAG(nondeterministic_seeded)
TENON_TAG(out_variant)
TENON_TAG(pointwise)
TENON_TAG(pt2_compliant_tag)
TENON_TAG(reduction)
TENON_TAG(view_copy)
// clang-format on
#undef TENON_TAG

// --- Operators with functions that do not go by the dispatcher ----------------------------------

AOTITorchError aoti_torch_aten_narrow(AtenTensorHandle self, int64_t dim, int64_t start,
                                      int64_t length, AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    TENON_ASSIGN(Tensor made, try_narrow(tensor, dim, start, length));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double value) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) { return fill_number(tensor, value); });
}
AOTITorchError aoti_torch_aten_full(const int64_t* size, int64_t size_len_, double fill_value,
                                    int32_t* dtype, int32_t* layout, int32_t* device, int32_t,
                                    int32_t* pin_memory, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor made;
    TENON_TRY(
        make_sized(size, size_len_, {dtype, layout, device, pin_memory}, ScalarType::Float, made));
    TENON_TRY(fill_number(made, fill_value));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_aten_new_empty(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t* layout,
                                         int32_t* device, int32_t, int32_t* pin_memory,
                                         AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    Tensor made;
    TENON_TRY(make_sized(size, size_len_, {dtype, layout, device, pin_memory}, tensor.scalar_type(),
                         made));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_aten_new_zeros(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t* layout,
                                         int32_t* device, int32_t device_index, int32_t* pin_memory,
                                         AtenTensorHandle* ret0) {
  const AOTITorchError code = aoti_torch_aten_new_empty(self, size, size_len_, dtype, layout,
                                                        device, device_index, pin_memory, ret0);
  if (code != 0) return code;
  return aoti_on(__func__, *ret0, [](const Tensor& made) { return zero_(made); });
}
AOTITorchError aoti_torch_aten_amax(AtenTensorHandle self, const int64_t* dim, int64_t dim_len_,
                                    int32_t keepdim, AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    AtenOut made;
    TENON_TRY(aten_amax(tensor, {dim, static_cast<size_t>(dim_len_)}, keepdim != 0, made));
    return make_aoti_handle(made[0].toTensor(), *ret0);
  });
}
AOTITorchError aoti_torch_aten_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len_,
                                   const char* mode, double* value, AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    Tensor made;
    TENON_TRY(pad_by(tensor, {pad, static_cast<size_t>(pad_len_)}, mode, value, made));
    return make_aoti_handle(std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_aten_subtract_Tensor(AtenTensorHandle self, AtenTensorHandle other,
                                               double alpha, AtenTensorHandle* ret0) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) {
    Tensor* subtracted = nullptr;
    AtenOut made;
    TENON_TRY(find_aoti_tensor(other, subtracted));
    TENON_TRY(aten_binary(tensor, *subtracted, AtenBinary::Subtract, alpha, made));
    return make_aoti_handle(made[0].toTensor(), *ret0);
  });
}

// --- Devices and streams ------------------------------------------------------------------------

// There is one device, the CPU, and one stream; a call returns once its work is done. Guards are
// null handles.
AOTITorchError aoti_torch_create_device_guard(int32_t, DeviceGuardHandle* ret_guard) {
  *ret_guard = nullptr;
  return 0;
}
AOTITorchError aoti_torch_delete_device_guard(DeviceGuardHandle) { return 0; }
AOTITorchError aoti_torch_device_guard_set_index(DeviceGuardHandle, int32_t) { return 0; }
AOTITorchError aoti_torch_get_current_device_index(int32_t* ret_device_index) {
  *ret_device_index = 0;
  return 0;
}
AOTITorchError aoti_torch_get_current_stream(int32_t, StreamHandle* ret_stream) {
  *ret_stream = nullptr;
  return 0;
}
AOTITorchError aoti_torch_delete_stream(StreamHandle) { return 0; }
AOTITorchError aoti_torch_stream_id(StreamHandle, int64_t* ret_stream_id) {
  *ret_stream_id = 0;
  return 0;
}
AOTITorchError torch_stream_native_handle(StreamHandle, void** ret_native_handle) {
  *ret_native_handle = nullptr;
  return 0;
}

// --- What other devices and Python have, so that libraries built with these load ----------------

AOTITorchError aoti_torch_create_cuda_guard(int32_t, CUDAGuardHandle*) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_delete_cuda_guard(CUDAGuardHandle) { return refuse_stable(__func__); }
AOTITorchError aoti_torch_cuda_guard_set_index(CUDAGuardHandle, int32_t) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_create_cuda_stream_guard(void*, int32_t, CUDAStreamGuardHandle*) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_delete_cuda_stream_guard(CUDAStreamGuardHandle) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t, void**) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t, void**) {
  return refuse_stable(__func__);
}
AOTITorchError aoti_torch_cuda_caching_allocator_raw_delete(void*) {
  return refuse_stable(__func__);
}
AOTITorchError torch_get_current_cuda_blas_handle(void**) { return refuse_stable(__func__); }
AOTITorchError torch_set_current_cuda_stream(void*, int32_t) { return refuse_stable(__func__); }
AOTITorchError torch_get_cuda_stream_from_pool(bool, int32_t, void**) {
  return refuse_stable(__func__);
}
AOTITorchError torch_cuda_stream_synchronize(void*, int32_t) { return refuse_stable(__func__); }
AOTITorchError torch_tensor_from_pyobject(void*, AtenTensorHandle*) {
  return refuse_stable(__func__);
}
AOTITorchError torch_tensor_to_pyobject(AtenTensorHandle, void*, void**) {
  return refuse_stable(__func__);
}
AOTITorchError torch_is_tensor_pyobject(void*, bool*) { return refuse_stable(__func__); }
AOTITorchError torch_dtype_from_pyobject(void*, int32_t*) { return refuse_stable(__func__); }
AOTITorchError torch_dtype_to_pyobject(int32_t, void**) { return refuse_stable(__func__); }
AOTITorchError torch_device_from_pyobject(void*, int32_t*, int32_t*) {
  return refuse_stable(__func__);
}
AOTITorchError torch_device_to_pyobject(int32_t, int32_t, void**) {
  return refuse_stable(__func__);
}
AOTITorchError torch_c10_cuda_check_msg(int32_t err, const char*, const char*, uint32_t, bool,
                                        char** error_msg) {
  *error_msg = nullptr;
  return aoti_answer(__func__, [&] {
    return err == 0 ? Error::Ok : fail(Error::NotSupported, "CUDA's error ", err);
  });
}
void torch_c10_cuda_free_error_msg(char*) {}

}  // extern "C"
#pragma GCC visibility pop

/// Initialised before main(), so that libraries and models find the operators in whatever order
/// they are loaded.
[[maybe_unused]] const Error kProvidedAtenOperators = provide_operators(kAtenOperators);

}  // namespace detail
TENON_END_NAMESPACE
