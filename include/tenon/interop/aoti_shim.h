// SPDX-License-Identifier: MIT
// torch's C functions on tenon's tensors, for code that AOTInductor generated for the CPU: those of
// torch/csrc/inductor/aoti_torch/c/shim.h that need no kernel. Kernels are the program's to define,
// or those of interop/aoti_onednn.h.
//
// Include it in one file of the program, and link that with the functions exported: -rdynamic, or
// CMake's tenon::aoti. Where torch's own header is included too, it comes first.
#pragma once

#include <cstdio>
#include <cstring>

#include "tenon/interop/aoti/handles.h"
#include "tenon/tensor/borrow.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// Of torch's header, where that is included: they have the same bytes.
#if defined(AOTI_TORCH_SHIM)
using AotiHalf = c10::Half;
using AotiBFloat16 = c10::BFloat16;
template <class T>
using AotiComplex = c10::complex<T>;
#else
using AotiHalf = Half;
using AotiBFloat16 = BFloat16;
template <class T>
using AotiComplex = complex<T>;
#endif

/// What a C function returns. The text of an error is the thread's last; AotiModule adds it to the
/// model's.
template <class Call>
AOTITorchError aoti_answer(const char* function, const Call& call) noexcept {
  return blame_if(function, call_safely(call)) == Error::Ok ? 0 : 1;
}

/// Answers with what `read(fields)` gives of a defined tensor.
template <class T, class Read>
AOTITorchError aoti_get(const char* function, AtenTensorHandle handle, T* out,
                        const Read& read) noexcept {
  return aoti_answer(function, [&] {
    Tensor* tensor = nullptr;
    TENON_TRY(find_aoti_tensor(handle, tensor));
    TENON_TRY(check_defined(*tensor, "the tensor"));
    *out = read(fields(TensorArg(*tensor)));
    return Error::Ok;
  });
}

/// The tensor whose memory it is: its storage, as torch calls that.
inline const TensorFields& aoti_storage(const Tensor& tensor) noexcept {
  const TensorImplPtr& base = memory_base(TensorArg(tensor));
  return base != nullptr ? fields(base) : fields(TensorArg(tensor));
}
inline int64_t aoti_storage_nbytes(const Tensor& tensor) noexcept {
  const TensorFields& storage = aoti_storage(tensor);
  return static_cast<int64_t>(storage.layout.required_span_size()) *
         static_cast<int64_t>(elementSize(storage.type));
}
/// Where a tensor begins in its storage, in bytes.
inline int64_t aoti_offset(const Tensor& tensor) noexcept {
  const void* const data = fields(TensorArg(tensor)).data;
  const void* const storage = aoti_storage(tensor).data;
  return data == nullptr ? 0 : static_cast<const char*>(data) - static_cast<const char*>(storage);
}

inline Error aoti_type(int32_t dtype, ScalarType& type) noexcept {
  type = dtype >= 0 && dtype < 64 ? static_cast<ScalarType>(dtype) : ScalarType::Undefined;
  if (isValidType(type)) return Error::Ok;
  return fail(Error::NotSupported, "torch's dtype ", dtype, " is not one of tenon's");
}
inline Error aoti_dims(int64_t rank, const int64_t* values, Dims& dims) noexcept {
  if (rank < 0 || (rank > 0 && values == nullptr)) {
    return fail(Error::InvalidArgument, "a list of ", rank, " dimensions");
  }
  dims = Dims(ArrayRef<int64_t>(values, static_cast<size_t>(rank)));
  return check_dims("dims", dims);
}
/// A shape as the functions pass it.
struct AotiShape {
  Dims sizes;
  Dims strides;
  Error read(int64_t rank, const int64_t* sizes_, const int64_t* strides_) noexcept {
    TENON_TRY(aoti_dims(rank, sizes_, sizes));
    return aoti_dims(rank, strides_, strides);
  }
};
inline Error aoti_check_cpu(int32_t device_type) noexcept {
  if (device_type == 0) return Error::Ok;
  return fail(Error::NotSupported, "the model asks for memory on torch's device type ", device_type,
              "; only a model for the CPU, which is 0, runs on tenon");
}

/// A new tensor in the memory of the thread's BackendScope, or in that of the output that the model
/// is making.
inline Error aoti_empty(const Dims& sizes, const Dims& strides, ScalarType type,
                        Tensor& made) noexcept {
  AotiCall* const call = aoti_call();
  const Tensor* const target = call == nullptr ? nullptr : call->next_target(type, sizes, strides);
  if (target != nullptr) {
    made = *target;
  } else {
    Plan plan(type, TensorShapeDynamism::STATIC);
    plan.choose_backend();
    Draft draft;
    if (tenon::is_contiguous(sizes, strides)) {
      TENON_TRY(new_tensor(RowMajor{sizes}, plan, false, draft));
    } else {
      TENON_TRY(new_tensor(Strided{sizes, {}, strides}, plan, false, draft));
    }
    TENON_TRY(finish_draft(draft, made, nullptr));
    if (plan.backend != nullptr) tell_made(*plan.backend, fields(TensorArg(made)), "empty");
  }
  if (call == nullptr || call->made == nullptr) return Error::Ok;
  const void* const impl = made.unsafeGetTensorImpl();
  return has_memory_for([&] { call->made->push_back(impl); }) ? Error::Ok
                                                              : fail_no_memory("a list");
}

/// A view of the storage of `source` as elements of `type`, from byte `offset` on.
inline Error aoti_view(const Tensor& source, const AotiShape& shape, ScalarType type,
                       int64_t offset, AtenTensorHandle* out) noexcept {
  const auto size = static_cast<int64_t>(elementSize(type));
  if (TENON_UNLIKELY(offset % size != 0)) {
    return fail(Error::InvalidArgument, "offset ", offset, " is not a multiple of ", size);
  }
  const TensorImplPtr& base = memory_base(TensorArg(source));
  const Tensor storage = base != nullptr ? Tensor(base) : source;
  Draft draft;
  TENON_TRY(new_impl(draft, metadata_like(storage)));
  TENON_TRY(
      Layout::strided(shape.sizes, {}, shape.strides, elementSize(type), fields(draft).layout));
  TENON_TRY(attach_view(storage, type, offset / size, fields(draft)));
  return make_aoti_handle(Tensor(std::move(draft)), *out);
}
/// The same of a handle, from `offset` elements behind its own first on.
inline AOTITorchError aoti_reinterpret(const char* function, AtenTensorHandle self, int64_t rank,
                                       const int64_t* sizes, const int64_t* strides, int64_t offset,
                                       AtenTensorHandle* out) noexcept {
  return aoti_answer(function, [&] {
    Tensor* source = nullptr;
    TENON_TRY(find_aoti_tensor(self, source));
    TENON_TRY(check_defined(*source, "the tensor"));
    AotiShape shape;
    TENON_TRY(shape.read(rank < 0 ? source->dim() : rank, sizes, strides));
    const ScalarType type = fields(TensorArg(*source)).type;
    const auto size = static_cast<int64_t>(elementSize(type));
    int64_t start = 0;
    if (TENON_UNLIKELY(!multiply(offset, size, start) ||
                       !add(start, aoti_offset(*source), start))) {
      return fail(Error::OutOfBounds, "offset ", offset, " overflows");
    }
    return aoti_view(*source, shape, type, start, out);
  });
}

/// A tensor over memory of the caller's, who keeps it alive.
inline Error aoti_borrow(void* data, const AotiShape& shape, int64_t storage_offset,
                         ScalarType type, AtenTensorHandle* out) noexcept {
  int64_t offset = 0;
  if (TENON_UNLIKELY(!multiply(storage_offset, static_cast<int64_t>(elementSize(type)), offset))) {
    return fail(Error::OutOfBounds, "offset ", storage_offset, " overflows");
  }
  if (data != nullptr) data = static_cast<char*>(data) + offset;
  Draft draft;
  TENON_TRY(borrow_checked(data, shape.sizes, {}, shape.strides,
                           Plan(type, TensorShapeDynamism::STATIC), nullptr, draft));
  return make_aoti_handle(Tensor(std::move(draft)), *out);
}

/// The one element of a tensor, as T.
template <class T, class Out>
AOTITorchError aoti_item(const char* function, AtenTensorHandle handle, Out* out) noexcept {
  static_assert(sizeof(T) == sizeof(Out));
  return aoti_answer(function, [&] {
    Tensor* tensor = nullptr;
    TENON_TRY(find_aoti_tensor(handle, tensor));
    TENON_TRY(check_defined(*tensor, "the tensor"));
    const TensorFields& from = fields(TensorArg(*tensor));
    TENON_TRY(check_has_data(from));
    if (TENON_UNLIKELY(from.layout.numel != 1)) {
      return fail(Error::InvalidArgument, "a tensor of sizes ", from.layout.sizes(), " has ",
                  from.layout.numel, " elements, expected 1");
    }
    const Scalar value = load_scalar(from.type, from.data);
    if (TENON_UNLIKELY(!value.fits<T>())) {
      return fail(Error::InvalidArgument, value, " does not fit ", CppTypeToScalarType<T>::value);
    }
    const T item = value.to<T>();
    std::memcpy(static_cast<void*>(out), &item, sizeof item);
    return Error::Ok;
  });
}
/// A tensor of rank 0.
template <class T>
AOTITorchError aoti_scalar(const char* function, const T& value, ScalarType type,
                           AtenTensorHandle* out) noexcept {
  return aoti_answer(function, [&] {
    Tensor made;
    TENON_TRY(aoti_empty(Dims(), Dims(), type, made));
    std::memcpy(fields(TensorArg(made)).data, static_cast<const void*>(&value), sizeof value);
    return make_aoti_handle(std::move(made), *out);
  });
}
inline AOTITorchError aoti_copy(const char* function, AtenTensorHandle to,
                                AtenTensorHandle from) noexcept {
  return aoti_answer(function, [&] {
    Tensor* target = nullptr;
    Tensor* source = nullptr;
    TENON_TRY(find_aoti_tensor(to, target));
    TENON_TRY(find_aoti_tensor(from, source));
    return tenon::copy_(*target, *source, CastMode::Truncate);
  });
}
/// A second handle to a tensor, which may be undefined.
inline AOTITorchError aoti_share(const char* function, AtenTensorHandle from,
                                 AtenTensorHandle* out) noexcept {
  return aoti_answer(function, [&] {
    Tensor* tensor = nullptr;
    TENON_TRY(find_aoti_tensor(from, tensor));
    return make_aoti_handle(*tensor, *out);
  });
}

}  // namespace detail
TENON_END_NAMESPACE

extern "C" {

/// Where AotiModule finds whether the program's functions are tenon's.
struct TenonAotiShim {
  AOTITorchError (*delete_tensor_object)(AtenTensorHandle);
};

// clang-format off
// c10's numbers.
TENON_EXPORT int32_t aoti_torch_device_type_cpu() { return 0; }
TENON_EXPORT int32_t aoti_torch_device_type_cuda() { return 1; }
TENON_EXPORT int32_t aoti_torch_device_type_xpu() { return 12; }
TENON_EXPORT int32_t aoti_torch_device_type_mps() { return 13; }
TENON_EXPORT int32_t aoti_torch_device_type_meta() { return 14; }
TENON_EXPORT int32_t aoti_torch_device_type_privateuse1() { return 20; }

TENON_EXPORT int32_t aoti_torch_dtype_uint8() { return 0; }
TENON_EXPORT int32_t aoti_torch_dtype_int8() { return 1; }
TENON_EXPORT int32_t aoti_torch_dtype_int16() { return 2; }
TENON_EXPORT int32_t aoti_torch_dtype_int32() { return 3; }
TENON_EXPORT int32_t aoti_torch_dtype_int64() { return 4; }
TENON_EXPORT int32_t aoti_torch_dtype_float16() { return 5; }
TENON_EXPORT int32_t aoti_torch_dtype_float32() { return 6; }
TENON_EXPORT int32_t aoti_torch_dtype_float64() { return 7; }
TENON_EXPORT int32_t aoti_torch_dtype_complex32() { return 8; }
TENON_EXPORT int32_t aoti_torch_dtype_complex64() { return 9; }
TENON_EXPORT int32_t aoti_torch_dtype_complex128() { return 10; }
TENON_EXPORT int32_t aoti_torch_dtype_bool() { return 11; }
TENON_EXPORT int32_t aoti_torch_dtype_bfloat16() { return 15; }
TENON_EXPORT int32_t aoti_torch_dtype_float8_e5m2() { return 23; }
TENON_EXPORT int32_t aoti_torch_dtype_float8_e4m3fn() { return 24; }
TENON_EXPORT int32_t aoti_torch_dtype_float8_e5m2fnuz() { return 25; }
TENON_EXPORT int32_t aoti_torch_dtype_float8_e4m3fnuz() { return 26; }
TENON_EXPORT int32_t aoti_torch_dtype_uint16() { return 27; }
TENON_EXPORT int32_t aoti_torch_dtype_uint32() { return 28; }
TENON_EXPORT int32_t aoti_torch_dtype_uint64() { return 29; }
TENON_EXPORT int32_t aoti_torch_dtype_float8_e8m0fnu() { return 44; }
TENON_EXPORT int32_t aoti_torch_dtype_float4_e2m1fn_x2() { return 45; }

TENON_EXPORT int32_t aoti_torch_layout_strided() { return 0; }
TENON_EXPORT int32_t aoti_torch_layout_sparse_coo() { return 1; }
TENON_EXPORT int32_t aoti_torch_layout_sparse_csr() { return 2; }
TENON_EXPORT int32_t aoti_torch_layout__mkldnn() { return 3; }
TENON_EXPORT int32_t aoti_torch_layout_sparse_csc() { return 4; }
TENON_EXPORT int32_t aoti_torch_layout_sparse_bsr() { return 5; }
TENON_EXPORT int32_t aoti_torch_layout_sparse_bsc() { return 6; }
TENON_EXPORT int32_t aoti_torch_layout_jagged() { return 7; }

TENON_EXPORT int32_t aoti_torch_memory_format_contiguous_format() { return 0; }
TENON_EXPORT int32_t aoti_torch_memory_format_preserve_format() { return 1; }
TENON_EXPORT int32_t aoti_torch_memory_format_channels_last() { return 2; }
TENON_EXPORT int32_t aoti_torch_memory_format_channels_last_3d() { return 3; }
// clang-format on

TENON_EXPORT size_t aoti_torch_dtype_element_size(int32_t dtype) {
  tenon::detail::ScalarType type = tenon::detail::ScalarType::Undefined;
  if (tenon::detail::aoti_type(dtype, type) == tenon::Error::Ok) {
    return tenon::elementSize(type);
  }
  return dtype == 44 || dtype == 45 ? 1 : 0;  // float8_e8m0fnu, float4_e2m1fn_x2
}
/// 2.15, the newest version whose functions these are.
TENON_EXPORT uint64_t aoti_torch_abi_version() { return uint64_t{2} << 56 | uint64_t{15} << 48; }

// tenon records no gradients.
TENON_EXPORT bool aoti_torch_grad_mode_is_enabled() { return false; }
TENON_EXPORT void aoti_torch_grad_mode_set_enabled(bool) {}

// --- One element --------------------------------------------------------------------------------

#define TENON_AOTI_ITEM(name, type, T)                                                     \
  TENON_EXPORT AOTITorchError aoti_torch_item_##name(AtenTensorHandle tensor, type* ret) { \
    return tenon::detail::aoti_item<T>("aoti_torch_item_" #name, tensor, ret);             \
  }
#define TENON_AOTI_SCALAR(name, type, T)                                                  \
  TENON_EXPORT AOTITorchError aoti_torch_scalar_to_tensor_##name(type value,              \
                                                                 AtenTensorHandle* ret) { \
    return tenon::detail::aoti_scalar("aoti_torch_scalar_to_tensor_" #name, value,        \
                                      tenon::CppTypeToScalarType<T>::value, ret);         \
  }
#define TENON_AOTI_ITEM_AND_SCALAR(name, T) \
  TENON_AOTI_ITEM(name, T, T)               \
  TENON_AOTI_SCALAR(name, T, T)

TENON_AOTI_ITEM_AND_SCALAR(float32, float)
TENON_AOTI_ITEM_AND_SCALAR(float64, double)
TENON_AOTI_ITEM_AND_SCALAR(uint8, uint8_t)
TENON_AOTI_ITEM_AND_SCALAR(uint16, uint16_t)
TENON_AOTI_ITEM_AND_SCALAR(uint32, uint32_t)
TENON_AOTI_ITEM_AND_SCALAR(uint64, uint64_t)
TENON_AOTI_ITEM_AND_SCALAR(int8, int8_t)
TENON_AOTI_ITEM_AND_SCALAR(int16, int16_t)
TENON_AOTI_ITEM_AND_SCALAR(int32, int32_t)
TENON_AOTI_ITEM_AND_SCALAR(int64, int64_t)
TENON_AOTI_ITEM_AND_SCALAR(bool, bool)
TENON_AOTI_ITEM(float16, tenon::detail::AotiHalf, tenon::Half)
TENON_AOTI_ITEM(bfloat16, tenon::detail::AotiBFloat16, tenon::BFloat16)
TENON_AOTI_ITEM(complex64, tenon::detail::AotiComplex<float>, tenon::complex<float>)
TENON_AOTI_SCALAR(complex64, tenon::detail::AotiComplex<float>, tenon::complex<float>)
TENON_AOTI_SCALAR(complex128, tenon::detail::AotiComplex<double>, tenon::complex<double>)

#undef TENON_AOTI_ITEM_AND_SCALAR
#undef TENON_AOTI_SCALAR
#undef TENON_AOTI_ITEM

// --- What a tensor has --------------------------------------------------------------------------

TENON_EXPORT AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle tensor, void** ret) {
  return tenon::detail::aoti_get("aoti_torch_get_data_ptr", tensor, ret,
                                 [](const auto& t) { return t.data; });
}
TENON_EXPORT AOTITorchError aoti_torch_get_dim(AtenTensorHandle tensor, int64_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_dim", tensor, ret, [](const auto& t) {
    return static_cast<int64_t>(t.layout.rank());
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_numel(AtenTensorHandle tensor, int64_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_numel", tensor, ret,
                                 [](const auto& t) { return int64_t{t.layout.numel}; });
}
TENON_EXPORT AOTITorchError aoti_torch_get_sizes(AtenTensorHandle tensor, int64_t** ret) {
  return tenon::detail::aoti_get("aoti_torch_get_sizes", tensor, ret, [](const auto& t) {
    return const_cast<int64_t*>(t.layout.sizes().data());
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_strides(AtenTensorHandle tensor, int64_t** ret) {
  return tenon::detail::aoti_get("aoti_torch_get_strides", tensor, ret, [](const auto& t) {
    return const_cast<int64_t*>(t.layout.strides().data());
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_size(AtenTensorHandle tensor, int64_t d, int64_t* ret) {
  return tenon::detail::aoti_answer("aoti_torch_get_size", [&] {
    tenon::Tensor* found = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(tensor, found));
    *ret = found->size(d);
    return tenon::Error::Ok;
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_stride(AtenTensorHandle tensor, int64_t d,
                                                  int64_t* ret) {
  return tenon::detail::aoti_answer("aoti_torch_get_stride", [&] {
    tenon::Tensor* found = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(tensor, found));
    *ret = found->stride(d);
    return tenon::Error::Ok;
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_dtype(AtenTensorHandle tensor, int32_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_dtype", tensor, ret,
                                 [](const auto& t) { return static_cast<int32_t>(t.type); });
}
/// All memory that the host reads is the CPU's here.
TENON_EXPORT AOTITorchError aoti_torch_get_device_type(AtenTensorHandle tensor, int32_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_device_type", tensor, ret, [](const auto& t) {
    return t.is_host_accessible() ? aoti_torch_device_type_cpu()
                                  : aoti_torch_device_type_privateuse1();
  });
}
/// -1, as torch has it for the CPU.
TENON_EXPORT AOTITorchError aoti_torch_get_device_index(AtenTensorHandle tensor, int32_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_device_index", tensor, ret, [](const auto& t) {
    return t.is_host_accessible() ? -1 : t.device.index();
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_layout(AtenTensorHandle tensor, int32_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_layout", tensor, ret,
                                 [](const auto&) { return aoti_torch_layout_strided(); });
}
TENON_EXPORT AOTITorchError aoti_torch_is_contiguous(AtenTensorHandle tensor, bool* ret) {
  return tenon::detail::aoti_get("aoti_torch_is_contiguous", tensor, ret,
                                 [](const auto& t) { return t.layout.is_contiguous(); });
}
TENON_EXPORT AOTITorchError aoti_torch_is_defined(AtenTensorHandle tensor, bool* ret) {
  return tenon::detail::aoti_answer("aoti_torch_is_defined", [&] {
    tenon::Tensor* found = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(tensor, found));
    *ret = found->defined();
    return tenon::Error::Ok;
  });
}
/// In bytes.
TENON_EXPORT AOTITorchError aoti_torch_get_storage_size(AtenTensorHandle tensor, int64_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_storage_size", tensor, ret, [&](const auto&) {
    return tenon::detail::aoti_storage_nbytes(*reinterpret_cast<tenon::Tensor*>(tensor));
  });
}
/// In elements of the tensor's type.
TENON_EXPORT AOTITorchError aoti_torch_get_storage_numel(AtenTensorHandle tensor, int64_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_storage_numel", tensor, ret, [&](const auto& t) {
    return tenon::detail::aoti_storage_nbytes(*reinterpret_cast<tenon::Tensor*>(tensor)) /
           static_cast<int64_t>(tenon::elementSize(t.type));
  });
}
TENON_EXPORT AOTITorchError aoti_torch_get_storage_offset(AtenTensorHandle tensor, int64_t* ret) {
  return tenon::detail::aoti_get("aoti_torch_get_storage_offset", tensor, ret, [&](const auto& t) {
    return tenon::detail::aoti_offset(*reinterpret_cast<tenon::Tensor*>(tensor)) /
           static_cast<int64_t>(tenon::elementSize(t.type));
  });
}

// --- Handles ------------------------------------------------------------------------------------

TENON_EXPORT AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle tensor) {
  return tenon::detail::aoti_answer("aoti_torch_delete_tensor_object", [&] {
    tenon::Tensor dropped;
    return tenon::detail::take_aoti_tensor(tensor, dropped);
  });
}
TENON_EXPORT AOTITorchError aoti_torch_new_tensor_handle(AtenTensorHandle tensor,
                                                         AtenTensorHandle* ret) {
  return tenon::detail::aoti_share("aoti_torch_new_tensor_handle", tensor, ret);
}
TENON_EXPORT AOTITorchError aoti_torch_new_uninitialized_tensor(AtenTensorHandle* ret) {
  return tenon::detail::aoti_answer("aoti_torch_new_uninitialized_tensor", [&] {
    return tenon::detail::make_aoti_handle(tenon::Tensor(), *ret);
  });
}
TENON_EXPORT AOTITorchError aoti_torch_assign_tensors(AtenTensorHandle src, AtenTensorHandle dst) {
  return tenon::detail::aoti_answer("aoti_torch_assign_tensors", [&] {
    tenon::Tensor* from = nullptr;
    tenon::Tensor* to = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(src, from));
    TENON_TRY(tenon::detail::find_aoti_tensor(dst, to));
    *to = *from;
    return tenon::Error::Ok;
  });
}
TENON_EXPORT AOTITorchError aoti_torch_assign_tensors_out(AtenTensorHandle src,
                                                          AtenTensorHandle* ret) {
  return tenon::detail::aoti_share("aoti_torch_assign_tensors_out", src, ret);
}

// --- New tensors and views ----------------------------------------------------------------------

TENON_EXPORT AOTITorchError aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes,
                                                     const int64_t* strides, int32_t dtype,
                                                     int32_t device_type, int32_t /*device_index*/,
                                                     AtenTensorHandle* ret) {
  return tenon::detail::aoti_answer("aoti_torch_empty_strided", [&] {
    tenon::detail::AotiShape shape;
    tenon::detail::ScalarType type = tenon::detail::ScalarType::Undefined;
    TENON_TRY(tenon::detail::aoti_check_cpu(device_type));
    TENON_TRY(tenon::detail::aoti_type(dtype, type));
    TENON_TRY(shape.read(ndim, sizes, strides));
    tenon::Tensor made;
    TENON_TRY(tenon::detail::aoti_empty(shape.sizes, shape.strides, type, made));
    return tenon::detail::make_aoti_handle(std::move(made), *ret);
  });
}
/// Pinned memory is of use to other devices alone.
TENON_EXPORT AOTITorchError aoti_torch_empty_strided_pinned(int64_t ndim, const int64_t* sizes,
                                                            const int64_t* strides, int32_t dtype,
                                                            int32_t device_type,
                                                            int32_t device_index,
                                                            AtenTensorHandle* ret) {
  return aoti_torch_empty_strided(ndim, sizes, strides, dtype, device_type, device_index, ret);
}
TENON_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob_v2(
    void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t storage_offset,
    int32_t dtype, int32_t device_type, int32_t /*device_index*/, AtenTensorHandle* ret,
    int32_t layout, const uint8_t* /*opaque_metadata*/, int64_t /*opaque_metadata_size*/) {
  return tenon::detail::aoti_answer("aoti_torch_create_tensor_from_blob_v2", [&] {
    tenon::detail::AotiShape shape;
    tenon::detail::ScalarType type = tenon::detail::ScalarType::Undefined;
    TENON_TRY(tenon::detail::aoti_check_cpu(device_type));
    TENON_TRY(tenon::detail::aoti_type(dtype, type));
    if (layout != aoti_torch_layout_strided()) {
      return tenon::detail::fail(
          tenon::Error::NotSupported, "a weight has torch's layout ", layout,
          layout == aoti_torch_layout__mkldnn()
              ? ", which only libtorch's oneDNN reads; export the model with "
                "mkldnn disabled"
              : "; only strided ones (0) are supported");
    }
    TENON_TRY(shape.read(ndim, sizes, strides));
    return tenon::detail::aoti_borrow(data, shape, storage_offset, type, ret);
  });
}
TENON_EXPORT AOTITorchError aoti_torch_create_tensor_from_blob(
    void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t storage_offset,
    int32_t dtype, int32_t device_type, int32_t device_index, AtenTensorHandle* ret) {
  return aoti_torch_create_tensor_from_blob_v2(data, ndim, sizes, strides, storage_offset, dtype,
                                               device_type, device_index, ret,
                                               aoti_torch_layout_strided(), nullptr, 0);
}
/// `storage_offset` elements behind the tensor's own first.
TENON_EXPORT AOTITorchError aoti_torch__reinterpret_tensor(AtenTensorHandle self, int64_t ndim,
                                                           const int64_t* sizes,
                                                           const int64_t* strides,
                                                           int64_t storage_offset,
                                                           AtenTensorHandle* ret) {
  return tenon::detail::aoti_reinterpret("aoti_torch__reinterpret_tensor", self,
                                         ndim < 0 ? INT64_MAX : ndim, sizes, strides,
                                         storage_offset, ret);
}
TENON_EXPORT AOTITorchError aoti_torch_as_strided(AtenTensorHandle self, const int64_t* sizes,
                                                  const int64_t* strides, AtenTensorHandle* ret) {
  return tenon::detail::aoti_reinterpret("aoti_torch_as_strided", self, -1, sizes, strides, 0, ret);
}
TENON_EXPORT AOTITorchError aoti_torch__alloc_from_pool(AtenTensorHandle self, int64_t offset_bytes,
                                                        int32_t dtype, int64_t ndim,
                                                        const int64_t* sizes,
                                                        const int64_t* strides,
                                                        AtenTensorHandle* ret) {
  return tenon::detail::aoti_answer("aoti_torch__alloc_from_pool", [&] {
    tenon::Tensor* pool = nullptr;
    tenon::detail::AotiShape shape;
    tenon::detail::ScalarType type = tenon::detail::ScalarType::Undefined;
    TENON_TRY(tenon::detail::find_aoti_tensor(self, pool));
    TENON_TRY(tenon::detail::check_defined(*pool, "the pool"));
    TENON_TRY(tenon::detail::aoti_type(dtype, type));
    TENON_TRY(shape.read(ndim, sizes, strides));
    return tenon::detail::aoti_view(*pool, shape, type, offset_bytes, ret);
  });
}

// --- Elements -----------------------------------------------------------------------------------

TENON_EXPORT AOTITorchError aoti_torch_copy_(AtenTensorHandle self, AtenTensorHandle src,
                                             int32_t /*non_blocking*/) {
  return tenon::detail::aoti_copy("aoti_torch_copy_", self, src);
}
TENON_EXPORT AOTITorchError aoti_torch_tensor_copy_(AtenTensorHandle src, AtenTensorHandle dst) {
  return tenon::detail::aoti_copy("aoti_torch_tensor_copy_", dst, src);
}
TENON_EXPORT AOTITorchError aoti_torch_zero_(AtenTensorHandle self) {
  return tenon::detail::aoti_answer("aoti_torch_zero_", [&] {
    tenon::Tensor* tensor = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(self, tensor));
    return tenon::zero_(*tensor);
  });
}
TENON_EXPORT AOTITorchError aoti_torch_clone(AtenTensorHandle self, AtenTensorHandle* ret) {
  return tenon::detail::aoti_answer("aoti_torch_clone", [&] {
    tenon::Tensor* tensor = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(self, tensor));
    tenon::Result<tenon::TensorPtr> clone = tenon::try_clone_tensor_ptr(*tensor);
    TENON_TRY(clone.error());
    return tenon::detail::make_aoti_handle(**clone, *ret);
  });
}
/// With gaps and repeated elements too.
TENON_EXPORT AOTITorchError aoti_torch_clone_preserve_strides(AtenTensorHandle self,
                                                              AtenTensorHandle* ret) {
  return tenon::detail::aoti_answer("aoti_torch_clone_preserve_strides", [&] {
    tenon::Tensor* tensor = nullptr;
    TENON_TRY(tenon::detail::find_aoti_tensor(self, tensor));
    TENON_TRY(tenon::detail::check_defined(*tensor, "the tensor"));
    const tenon::detail::TensorFields& from = tenon::detail::fields(tenon::TensorArg(*tensor));
    tenon::detail::AotiShape shape;
    shape.sizes = from.layout.sizes();
    shape.strides = from.layout.strides();
    const int64_t span = from.layout.required_span_size();
    tenon::Tensor block;
    TENON_TRY(tenon::detail::aoti_empty({span}, {1}, from.type, block));
    if (span != 0) {
      TENON_TRY(tenon::detail::check_has_data(from));
      std::memcpy(tenon::detail::fields(tenon::TensorArg(block)).data, from.data,
                  static_cast<size_t>(span) * tenon::elementSize(from.type));
    }
    return tenon::detail::aoti_view(block, shape, from.type, 0, ret);
  });
}

// --- Checks -------------------------------------------------------------------------------------

/// The one function that throws: what it is called by has to go on no further, and the model's own
/// code catches it, as it does libtorch's. In a parallel loop of OpenMP's it ends the program, as
/// libtorch's does.
TENON_EXPORT void aoti_torch_check(bool cond, const char* func, const char* file, uint32_t line,
                                   const char* msg) {
  if (cond) return;
  tenon::detail::raise(tenon::Error::InvalidArgument, msg, " (", func, " at ", file, ':', line,
                       ')');
}
TENON_EXPORT void aoti_torch_warn(const char* func, const char* file, uint32_t line,
                                  const char* msg) {
  std::fprintf(stderr, "warning: %s (%s at %s:%u)\n", msg, func, file, line);
}

extern TENON_EXPORT const TenonAotiShim tenon_aoti_shim;
const TenonAotiShim tenon_aoti_shim = {&aoti_torch_delete_tensor_object};

}  // extern "C"
