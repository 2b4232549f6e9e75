// SPDX-License-Identifier: MIT
// What libraries of operators for torch's stable ABI (torch/csrc/stable) call, beside the functions
// of interop/aoti_shim.h: registration, the dispatcher, lists, texts, errors, data pointers. With
// both in one file of a program, as aoti_shim.h says, such a library runs without libtorch;
// call_torch_operator() calls its operators. docs/aoti.md lists what there is and what not.
//
// There is one thread: torch_parallel_for() calls its function once. Of torch's own operators the
// dispatcher has those that move no elements or all of them: empty_like, clone, contiguous, copy_,
// zero_, view, reshape, flatten, permute, transpose, select, squeeze, unsqueeze; functions of their
// names are narrow, fill_, new_empty and new_zeros.
#pragma once

#include "tenon/interop/runtimes/torch_stable_dispatcher.h"

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
/// Tags tell compilers of graphs what an operator does; here is none.
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
/// Fails for a tensor that is read-only.
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
/// The deleter runs exactly once, after an error too.
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
      return fail(Error::NotSupported, "device ", device_string, "; operators compute on the cpu");
    }
    *out_device_type = 0;
    *out_device_index = text == "cpu" ? -1 : 0;
    return Error::Ok;
  });
}
int32_t torch_dtype_float8_e8m0fnu() { return 44; }
int32_t torch_dtype_float4_e2m1fn_x2() { return 45; }
#define TENON_TAG(name) \
  int32_t torch_tag_##name() { return __LINE__; }  // of no meaning here
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
    Result<Tensor> made = try_narrow(tensor, dim, start, length);
    TENON_TRY(made.error());
    return make_aoti_handle(*std::move(made), *ret0);
  });
}
AOTITorchError aoti_torch_aten_fill__Scalar(AtenTensorHandle self, double value) {
  return aoti_on(__func__, self, [&](const Tensor& tensor) { return fill_(tensor, value); });
}
AOTITorchError aoti_torch_aten_new_empty(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t* layout,
                                         int32_t* device, int32_t, int32_t*,
                                         AtenTensorHandle* ret0) {
  return make_stable_like(__func__, self, {size, static_cast<size_t>(size_len_)}, dtype, layout,
                          device, ret0, &try_empty);
}
AOTITorchError aoti_torch_aten_new_zeros(AtenTensorHandle self, const int64_t* size,
                                         int64_t size_len_, int32_t* dtype, int32_t* layout,
                                         int32_t* device, int32_t, int32_t*,
                                         AtenTensorHandle* ret0) {
  return make_stable_like(__func__, self, {size, static_cast<size_t>(size_len_)}, dtype, layout,
                          device, ret0, &try_zeros);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
