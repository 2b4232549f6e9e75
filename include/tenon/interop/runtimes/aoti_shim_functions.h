// SPDX-License-Identifier: MIT
// The implementation of torch's C functions on tenon's tensors.
#pragma once

#include <cstring>

#include "tenon/interop/runtimes/aoti_handles.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// torch's types if torch's header is included. They have the same bytes as tenon's.
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

/// Calls the code of a C function and returns its result. An error's text becomes the thread's
/// last; AotiModule adds it to the model's text.
template <class Call>
AOTITorchError aoti_answer(const char* function, const Call& call) noexcept {
  return add_context_if(function, call_safely(call)) == Error::Ok ? 0 : 1;
}
/// Returns the Error of call(tensor), for a tensor that may be undefined.
template <class Call>
AOTITorchError aoti_on(const char* function, AtenTensorHandle handle, const Call& call) noexcept {
  return aoti_answer(function, [&] {
    Tensor* tensor = nullptr;
    TENON_TRY(find_aoti_tensor(handle, tensor));
    return call(*tensor);
  });
}
/// Returns the value of `read(tensor, fields)`, for a defined tensor.
template <class T, class Read>
AOTITorchError aoti_get(const char* function, AtenTensorHandle handle, T* out,
                        const Read& read) noexcept {
  return aoti_on(function, handle, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    *out = static_cast<T>(read(tensor, fields(TensorArg(tensor))));
    return Error::Ok;
  });
}
/// Returns the address of element 0; null for a placeholder.
template <class T>
AOTITorchError aoti_data(const char* function, AtenTensorHandle handle, T** out) noexcept {
  return aoti_on(function, handle, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    const TensorFields& from = fields(TensorArg(tensor));
    TENON_TRY(check_data_backend(from, "the tensor"));
    *out = from.data;
    return Error::Ok;
  });
}
/// Returns an entry of the sizes or strides that `read(fields)` returns; a negative d counts from
/// the end.
template <class Read>
AOTITorchError aoti_entry(const char* function, AtenTensorHandle handle, int64_t d, int64_t* out,
                          const Read& read) noexcept {
  return aoti_on(function, handle, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    const ArrayRef<int64_t> dims = read(fields(TensorArg(tensor)));
    const auto rank = static_cast<int64_t>(dims.size());
    if (d < -rank || d >= rank) {
      return fail(Error::OutOfBounds, "dimension ", d, " is outside a tensor of rank ", rank);
    }
    *out = dims[static_cast<size_t>(d < 0 ? d + rank : d)];
    return Error::Ok;
  });
}

/// The tensor that owns the memory. It stands for torch's storage.
inline Tensor aoti_storage(const Tensor& tensor) noexcept {
  const TensorImplPtr& base = memory_base(TensorArg(tensor));
  return base != nullptr ? Tensor(base) : tensor;
}
/// The size of a tensor's storage in bytes.
inline int64_t aoti_storage_size(const Tensor& tensor) noexcept {
  const Tensor storage = aoti_storage(tensor);
  const TensorFields& all = fields(TensorArg(storage));
  return int64_t{all.layout.required_span_size()} * static_cast<int64_t>(elementSize(all.type));
}
inline int64_t aoti_storage_begin(const Tensor& tensor) noexcept {
  const Tensor storage = aoti_storage(tensor);
  const auto* const data = static_cast<const char*>(fields(TensorArg(tensor)).data);
  return data == nullptr ? 0 : data - static_cast<const char*>(fields(TensorArg(storage)).data);
}

/// Converts PyTorch's number of a dtype.
/// Errors: NotSupported for one that tenon lacks.
inline Error read_torch_type(int64_t number, ScalarType& type) noexcept {
  type = type_of_torch_number(static_cast<int32_t>(number));
  if (type != ScalarType::Undefined) return Error::Ok;
  return fail(Error::NotSupported, "torch's dtype ", number, " is not one of tenon's");
}

/// A text argument: empty for null.
inline const char* text_or_empty(const char* given) noexcept {
  return given == nullptr ? "" : given;
}
/// A list argument.
/// Errors: InvalidArgument for a negative length, and for null with a length.
template <class T>
Error read_values(const char* name, const T* given, int64_t count, ArrayRef<T>& read) noexcept {
  if (count < 0) {
    return fail(Error::InvalidArgument, name, " has ", count, " values, expected 0 or more");
  }
  if (count > 0 && given == nullptr) {
    return fail(Error::InvalidArgument, name, " is null, expected ", count, " values");
  }
  read = ArrayRef<T>(given, static_cast<size_t>(count));
  return Error::Ok;
}
/// Errors: also those of check_dims().
inline Error read_dims(const char* name, const int64_t* given, int64_t count, Dims& read) noexcept {
  ArrayRef<int64_t> values;
  TENON_TRY(read_values(name, given, count, values));
  read = values;
  return check_dims(name, read);
}

/// The description of a tensor to make, as the C functions take it.
struct AotiShape {
  Dims sizes;
  Dims strides;
  ScalarType type = ScalarType::Undefined;

  int64_t element_size() const noexcept { return static_cast<int64_t>(elementSize(type)); }
  Error read(int64_t rank, const int64_t* sizes_, const int64_t* strides_, int32_t dtype,
             int32_t device_type = 0) noexcept {
    if (device_type != 0) {
      return fail(Error::NotSupported, "the model asks for memory on torch's device type ",
                  device_type, "; tenon runs models for the CPU, 0");
    }
    TENON_TRY(read_torch_type(dtype, type));
    TENON_TRY(read_dims("sizes", sizes_, rank, sizes));
    return read_dims("strides", strides_, rank, strides);
  }
  /// Errors: OutOfMemory if one of the lists could not be allocated.
  Error check() const noexcept {
    TENON_TRY(check_dims("sizes", sizes));
    return check_dims("strides", strides);
  }
  /// Moves `data` by `offset` elements.
  /// Errors: OutOfBounds if that overflows.
  Error add_offset(int64_t offset, void*& data) const noexcept {
    int64_t begin = 0;
    if (!multiply(offset, element_size(), begin)) {
      return fail(Error::OutOfBounds, "offset ", offset, " overflows");
    }
    if (data != nullptr) data = static_cast<char*>(data) + begin;
    return Error::Ok;
  }
};

/// Makes a tensor in the memory of the thread's BackendScope, or in the output that the model is
/// writing.
/// Errors: NotSupported if the host, and so the model, cannot reach the scope's memory.
inline Error aoti_empty(const AotiShape& shape, Tensor& made) noexcept {
  TENON_TRY(shape.check());
  AotiCall* const call = aoti_call();
  const Tensor* const target =
      call == nullptr ? nullptr : call->next_target(shape.type, shape.sizes, shape.strides);
  if (target != nullptr) {
    made = *target;
  } else {
    CreateOptions opts(shape.type, TensorShapeDynamism::STATIC);
    opts.choose_backend();
    NewTensor new_tensor;
    Layout layout;
    if (tenon::is_contiguous(shape.sizes, shape.strides)) {
      TENON_TRY(make_owned(shape.sizes, opts, false, new_tensor));
    } else {
      TENON_TRY(lay_out_new(shape.sizes, {nullptr, &shape.strides}, shape.type, layout));
      TENON_TRY(make_owned(layout, opts, false, new_tensor));
    }
    if (!fields(new_tensor).is_host_accessible()) return fail_host_access(fields(new_tensor));
    TENON_TRY(make_first_handle(new_tensor, made));
    if (opts.backend != nullptr) notify_created(*opts.backend, fields(TensorArg(made)), "empty");
  }
  if (call == nullptr || call->made == nullptr) return Error::Ok;
  const void* const impl = made.unsafeGetTensorImpl();
  return has_memory_for([&] { call->made->push_back(impl); }) ? Error::Ok
                                                              : fail_no_memory("a list");
}
/// A view of the storage of `source`, from byte `begin` on.
inline Error aoti_view(const Tensor& source, const AotiShape& shape, int64_t begin,
                       AtenTensorHandle* out) noexcept {
  TENON_TRY(shape.check());
  if (begin % shape.element_size() != 0) {
    return fail(Error::InvalidArgument, "offset ", begin, " is not a multiple of ",
                shape.element_size());
  }
  const Tensor storage = aoti_storage(source);
  NewTensor new_tensor;
  TENON_TRY(make_impl(new_tensor, metadata_backend_like(storage)));
  TENON_TRY(make_layout({shape.sizes, shape.strides}, elementSize(shape.type),
                        fields(new_tensor).layout));
  TENON_TRY(attach_view(storage, shape.type, begin / shape.element_size(), fields(new_tensor)));
  return make_aoti_handle(Tensor(std::move(new_tensor)), *out);
}
/// A view of the storage of `source` that starts `offset` elements after the source's element 0.
inline Error aoti_reinterpret(const Tensor& source, int64_t rank, const int64_t* sizes,
                              const int64_t* strides, int64_t offset,
                              AtenTensorHandle* out) noexcept {
  TENON_TRY(check_defined(source, "the tensor"));
  AotiShape shape;
  TENON_TRY(shape.read(rank, sizes, strides, static_cast<int32_t>(source.scalar_type())));
  int64_t begin = 0;
  if (!multiply(offset, shape.element_size(), begin) ||
      !add(begin, aoti_storage_begin(source), begin)) {
    return fail(Error::OutOfBounds, "offset ", offset, " overflows");
  }
  return aoti_view(source, shape, begin, out);
}

/// Makes a view with each element once: dimensions along which elements repeat get size 1.
/// Functions that set all elements write to such a view.
inline Error distinct_elements(const Tensor& tensor, Tensor& made) {
  TENON_TRY(check_defined(tensor, "the tensor"));
  made = tensor;
  const Layout& layout = fields(TensorArg(tensor)).layout;
  if (layout.numel == 0 || !layout.may_overlap()) return Error::Ok;
  Dims sizes = layout.sizes();
  TENON_TRY(check_dims("sizes", sizes));
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (layout.strides()[d] == 0) sizes[d] = 1;
  }
  Result<Tensor> view = try_as_strided(tensor, sizes, layout.strides());
  TENON_TRY(view.error());
  made = *std::move(view);
  return Error::Ok;
}

/// Returns the only element of a tensor, as T.
template <class T, class Out>
AOTITorchError aoti_item(const char* function, AtenTensorHandle handle, Out* out) noexcept {
  static_assert(sizeof(T) == sizeof(Out));
  return aoti_on(function, handle, [&](const Tensor& tensor) {
    TENON_TRY(check_defined(tensor, "the tensor"));
    const TensorFields& from = fields(TensorArg(tensor));
    TENON_TRY(check_has_data(from));
    if (from.layout.numel != 1) {
      return fail(Error::InvalidArgument, "a tensor of sizes ", from.layout.sizes(), " has ",
                  from.layout.numel, " elements, expected 1");
    }
    const Scalar value = load_scalar(from.type, from.data);
    if (!value.fits<T>()) {
      return fail(Error::InvalidArgument, value, " does not fit ", CppTypeToScalarType<T>::value);
    }
    const T item = value.to<T>();
    std::memcpy(static_cast<void*>(out), &item, sizeof item);
    return Error::Ok;
  });
}
/// A tensor of rank 0, from a value with the bytes of a T.
template <class T, class Value>
AOTITorchError aoti_scalar(const char* function, const Value& value,
                           AtenTensorHandle* out) noexcept {
  static_assert(sizeof(T) == sizeof(Value));
  return aoti_answer(function, [&] {
    AotiShape shape;
    shape.type = CppTypeToScalarType<T>::value;
    Tensor made;
    TENON_TRY(aoti_empty(shape, made));
    std::memcpy(fields(TensorArg(made)).data, static_cast<const void*>(&value), sizeof value);
    return make_aoti_handle(std::move(made), *out);
  });
}
/// Copies elements by torch's rules. Integers wrap. Floating numbers that become integers lose
/// their fraction, then wrap. If Long cannot hold a number, for which C++ has no rule, it becomes
/// the nearest number of Long, and NaN becomes 0; but unsigned 64-bit integers keep numbers up to
/// 2^64.
inline Error convert(const Tensor& to, const Tensor& from) {
  const ScalarType type = to.scalar_type();
  const bool wraps = isIntegralType(type, false);
  if (!wraps || isIntegralType(from.scalar_type(), true)) {
    return copy_(to, from, wraps ? CastMode::Checked : CastMode::Truncate);
  }
  if (type == ScalarType::Long) return copy_(to, from, CastMode::Truncate);
  TENON_ASSIGN(const TensorPtr whole, try_empty(from.sizes(), ScalarType::Long, host_backend()));
  TENON_TRY(copy_(*whole, from, CastMode::Truncate));
  if (type == ScalarType::UInt64) {
    TENON_ASSIGN(const TensorPtr large, try_empty(from.sizes(), type, host_backend()));
    TENON_TRY(copy_(*large, from, CastMode::Truncate));
    const auto* const above = static_cast<const uint64_t*>(fields(TensorArg(*large)).data);
    auto* const numbers = static_cast<int64_t*>(fields(TensorArg(*whole)).data);
    for (int64_t i = 0; i < whole->numel(); ++i) {
      if (numbers[i] == INT64_MAX) numbers[i] = static_cast<int64_t>(above[i]);
    }
  }
  return copy_(to, *whole, CastMode::Checked);
}
inline AOTITorchError aoti_copy(const char* function, AtenTensorHandle to,
                                AtenTensorHandle from) noexcept {
  return aoti_on(function, to, [&](const Tensor& target) {
    Tensor* source = nullptr;
    TENON_TRY(find_aoti_tensor(from, source));
    TENON_TRY(check_defined(target, "the tensor"));
    TENON_TRY(check_defined(*source, "the source"));
    return convert(target, *source);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
