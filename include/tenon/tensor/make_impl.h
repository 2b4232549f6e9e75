// SPDX-License-Identifier: MIT
// How every TensorImpl is made: check everything, allocate aside, commit. Functions here return
// Error and leave `deleter` and `values` untouched unless they succeed, so that the caller's copy
// of the duty to release is what remains after a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/result.h"
#include "tenon/kernels/cast.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Data up to this many bytes lies in one block with the metadata. Larger data gets a block of its
/// own, which a growing tensor can release.
inline constexpr size_t kMaxInlineBytes = 1024;

enum class Contents : uint8_t { Uninitialized, Zero };

inline Error check_type(ScalarType type) noexcept {
  if (TENON_UNLIKELY(!isValidType(type)))
    return fail(Error::InvalidType, {type, " is not an element type"});
  return Error::Ok;
}

/// Makes an impl of `parts`, which need no memory of ours.
inline Error make_impl(ImplParts&& parts, TensorImplPtr& impl) noexcept {
  void* block = std::malloc(ImplAccess::kNodeSize);
  if (TENON_UNLIKELY(block == nullptr))
    return fail(Error::OutOfMemory, {"out of memory for a tensor"});
  impl = ImplAccess::make_in(block, std::move(parts));
  return Error::Ok;
}

/// Makes an impl of `parts` with host memory of its own for the layout.
inline Error make_owned(ImplParts&& parts, Contents contents, TensorImplPtr& impl) noexcept {
  const Layout& layout = parts.layout;
  const size_t nbytes = static_cast<size_t>(layout.reach()) * elementSize(parts.type);
  parts.ownership = Ownership::Owned;
  if (nbytes <= kMaxInlineBytes) {
    void* block = std::malloc(ImplAccess::kNodeSize + nbytes + kDataAlignment - 1);
    if (TENON_UNLIKELY(block == nullptr))
      return fail(Error::OutOfMemory, {"out of memory for a tensor"});
    parts.data = align_up(static_cast<char*>(block) + ImplAccess::kNodeSize);
    if (contents == Contents::Zero) std::memset(parts.data, 0, nbytes);
    impl = ImplAccess::make_in(block, std::move(parts));
    return Error::Ok;
  }
  const Allocation memory = contents == Contents::Zero ? allocate_zeroed(nbytes) : allocate(nbytes);
  if (TENON_UNLIKELY(memory.base == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of data"});
  }
  parts.data = memory.data;
  parts.deleter = Deleter(memory.base, &std::free);
  return make_impl(std::move(parts), impl);
}

/// Checks what a tensor that owns its memory must not have: elements below element 0 or shared
/// ones.
inline Error check_owning_strides(const Layout& layout) noexcept {
  if (TENON_UNLIKELY(layout.extent.min < 0 || layout.may_overlap())) {
    return fail(Error::InvalidArgument,
                {"strides ", layout.strides, " for sizes ", layout.sizes,
                 layout.extent.min < 0 ? " are negative" : " overlap",
                 "; a tensor that owns its memory needs distinct elements at positive strides"});
  }
  return Error::Ok;
}

/// A tensor over memory that came as a pointer, with or without a deleter.
inline Error make_from_pointer(DataPtr data, const Dims& sizes, const Dims& dim_order,
                               const Dims& strides, TypeArg type_arg, TensorShapeDynamism dynamism,
                               Device device, Deleter& deleter, TensorImplPtr& impl) noexcept {
  ImplParts parts;
  parts.type = type_arg.value_or(data.type());
  TENON_TRY(check_type(parts.type));
  if (TENON_UNLIKELY(!data.is_raw() && parts.type != data.type())) {
    return fail(Error::InvalidType, {"the data pointer is to ", data.type(), ", the type given is ",
                                     parts.type, "; pass a void* to reinterpret the bytes"});
  }
  TENON_TRY(make_layout(sizes, dim_order, strides, elementSize(parts.type), parts.layout));
  const bool has_elements = parts.layout.numel != 0;
  const bool placeholder = data.is_placeholder() || device.type() == DeviceType::Template;
  if (TENON_UNLIKELY(data.get() == nullptr && has_elements && !placeholder)) {
    return fail(Error::InvalidArgument,
                {"the data pointer is null, but sizes ", sizes, " hold ", parts.layout.numel,
                 " elements; the literal nullptr would make a placeholder"});
  }
  if (TENON_UNLIKELY(deleter.error() != Error::Ok)) {
    return fail(deleter.error(), {"out of memory for the deleter"});
  }
  parts.data = data.get();
  parts.device = device;
  parts.dynamism = dynamism;
  parts.ownership = deleter ? Ownership::Adopted : Ownership::Borrowed;
  parts.readonly = data.is_readonly();
  parts.placeholder = data.get() == nullptr && has_elements;
  void* block = std::malloc(ImplAccess::kNodeSize);
  if (TENON_UNLIKELY(block == nullptr))
    return fail(Error::OutOfMemory, {"out of memory for a tensor"});
  parts.deleter = std::move(deleter);
  impl = ImplAccess::make_in(block, std::move(parts));
  return Error::Ok;
}

/// Converts the values of a list, each of which must fit.
TENON_LAZY Error store_values(ScalarType type, void* out, const Values& values) noexcept {
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(values.data());
  for (size_t i = 0; i < values.count(); ++i) {
    TENON_TRY(store_scalar(type, load_scalar(values.type(), from), to));
    to += elementSize(type);
    from += elementSize(values.type());
  }
  return Error::Ok;
}

/// A tensor of the values, which it adopts or copies; `flat` makes it 1-d, of as many as there are.
TENON_LAZY Error make_from_values(Values& values, bool flat, const Dims& sizes,
                                  const Dims& dim_order, const Dims& strides, TypeArg type_arg,
                                  TensorShapeDynamism dynamism, TensorImplPtr& impl) noexcept {
  ImplParts parts;
  parts.type = type_arg.value_or(values.type());
  parts.dynamism = dynamism;
  TENON_TRY(check_type(parts.type));
  // A vector of bytes with a shape and a type is memory to be taken as that type.
  const bool reinterpret = values.is_bytes() && !flat && type_arg.is_given();
  if (TENON_UNLIKELY(!reinterpret && !canCast(values.type(), parts.type))) {
    return fail(Error::InvalidType,
                {"values of ", values.type(), " cannot be cast to ", parts.type});
  }
  const size_t element_size = elementSize(parts.type);
  if (flat) {
    TENON_TRY(make_layout({values.count()}, {}, {}, element_size, parts.layout));
  } else {
    TENON_TRY(make_layout(sizes, dim_order, strides, element_size, parts.layout));
    TENON_TRY(check_owning_strides(parts.layout));
  }
  const auto needed = static_cast<size_t>(parts.layout.reach()) * (reinterpret ? element_size : 1);
  if (TENON_UNLIKELY(values.count() != needed)) {
    return fail(
        Error::InvalidArgument,
        {values.count(), reinterpret ? " bytes" : " values", " were given, sizes ", sizes, " need ",
         needed, parts.layout.is_dense() ? "" : " with the gaps that the strides leave"});
  }
  if (TENON_UNLIKELY(values.owner().error() != Error::Ok)) {
    return fail(values.owner().error(), {"out of memory to keep the container"});
  }
  const bool as_is = reinterpret || values.type() == parts.type;
  const bool aligned =
      reinterpret_cast<uintptr_t>(values.data()) % (element_size < 16 ? element_size : 16) == 0;
  if (values.is_adoptable() && as_is && aligned) {
    void* block = std::malloc(ImplAccess::kNodeSize);
    if (TENON_UNLIKELY(block == nullptr))
      return fail(Error::OutOfMemory, {"out of memory for a tensor"});
    parts.data = const_cast<void*>(values.data());
    parts.ownership = Ownership::Adopted;
    parts.deleter = std::move(values.owner());
    impl = ImplAccess::make_in(block, std::move(parts));
    return Error::Ok;
  }
  const ScalarType type = parts.type;
  TensorImplPtr made;
  TENON_TRY(make_owned(std::move(parts), Contents::Uninitialized, made));
  void* const out = ImplAccess::raw_mutable_data(*made);
  if (values.count() == 0) {
  } else if (as_is) {
    std::memcpy(out, values.data(), values.count() * (reinterpret ? 1 : element_size));
  } else if (values.is_checked()) {
    TENON_TRY(store_values(type, out, values));
  } else {
    cast_elements(type, out, values.type(), values.data(), static_cast<int64_t>(values.count()));
  }
  impl = std::move(made);
  return Error::Ok;
}

/// A 0-d tensor of a value.
TENON_LAZY Error make_from_scalar(const Scalar& value, ScalarType type, bool cast,
                                  TensorImplPtr& impl) noexcept {
  if (TENON_UNLIKELY(cast && !canCast(value.type(), type))) {
    TENON_TRY(check_type(type));
    return fail(Error::InvalidType, {"a value of ", value.type(), " cannot be cast to ", type});
  }
  alignas(16) unsigned char element[16];
  TENON_TRY(store_scalar(type, value, element));
  ImplParts parts;
  parts.type = type;
  TensorImplPtr made;
  TENON_TRY(make_owned(std::move(parts), Contents::Uninitialized, made));
  std::memcpy(ImplAccess::raw_mutable_data(*made), element, elementSize(type));
  impl = std::move(made);
  return Error::Ok;
}

/// A tensor of its own metadata over the memory of `source`, which it keeps alive.
TENON_LAZY Error make_view(const Tensor* source, const Dims& sizes, const Dims& dim_order,
                           const Dims& strides, int64_t storage_offset,
                           TensorImplPtr& impl) noexcept {
  if (TENON_UNLIKELY(source == nullptr || !source->defined())) {
    return fail(Error::InvalidState, {"the source tensor is undefined"});
  }
  const TensorImpl& from = *source->unsafeGetTensorImpl();
  const Layout& old = ImplAccess::layout(from);
  ImplParts parts;
  const bool same_sizes = sizes.empty() || sizes == old.sizes;
  if (same_sizes && dim_order.empty() && strides.empty() && sizes.error() == Error::Ok) {
    parts.layout = old;
    TENON_TRY(check_dims("sizes", parts.layout.sizes));
    TENON_TRY(check_dims("strides", parts.layout.strides));
    if (parts.layout.dim_order.size() != old.dim_order.size()) {
      return fail(Error::OutOfMemory, {"out of memory for dim_order"});
    }
  } else {
    const Dims& new_sizes = sizes.empty() && sizes.error() == Error::Ok ? old.sizes : sizes;
    const bool inherit_order =
        dim_order.empty() && strides.empty() && sizes.size() == old.sizes.size();
    const Dims order = inherit_order ? Dims(old.dim_order) : dim_order;
    TENON_TRY(
        make_layout(new_sizes, order, strides, elementSize(from.scalar_type()), parts.layout));
  }
  const Extent& extent = parts.layout.extent;
  // Without elements only the start must lie within the memory, its end included.
  const int64_t lowest = extent.min;
  const int64_t highest = parts.layout.numel == 0 ? -1 : extent.max;
  int64_t begin = 0;
  int64_t end = 0;
  if (TENON_UNLIKELY(!add(storage_offset, lowest, begin) || !add(storage_offset, highest, end) ||
                     begin < old.extent.min || end > old.extent.max)) {
    return fail(Error::OutOfBounds,
                {"a view of sizes ", parts.layout.sizes, ", strides ", parts.layout.strides,
                 " at offset ", storage_offset, " reaches beyond the source's elements at offsets ",
                 old.extent.min, " to ", old.extent.max});
  }
  parts.type = from.scalar_type();
  parts.device = from.device();
  parts.dynamism = from.shape_dynamism();
  parts.ownership = Ownership::View;
  parts.readonly = from.is_readonly();
  parts.placeholder = !from.has_data();
  if (from.data() != nullptr) {
    parts.data = static_cast<char*>(ImplAccess::raw_mutable_data(from)) +
                 storage_offset * static_cast<int64_t>(from.element_size());
  }
  // A handle over a raw TensorImpl* has nothing to keep: that memory is the caller's.
  if (ImplAccess::base(from) != nullptr) {
    parts.base = ImplAccess::base(from);
  } else if (source->use_count() != 0) {
    parts.base = source->impl();
  }
  return make_impl(std::move(parts), impl);
}

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<Result<T>> : std::true_type {
  using value_type = T;
};

/// Turns an impl into what a creator returns: TensorImplPtr, Tensor or TensorPtr.
template <class Out>
Error wrap(TensorImplPtr& impl, Out& out) noexcept {
  if constexpr (std::is_same_v<Out, TensorPtr>) {
    out.reset(new (std::nothrow) Tensor(std::move(impl)));
    if (TENON_UNLIKELY(out == nullptr))
      return fail(Error::OutOfMemory, {"out of memory for a handle"});
  } else {
    out = Out(std::move(impl));
  }
  return Error::Ok;
}

/// Ends a creator: the value, or the error under the name of `function`, thrown or as a Result.
template <class Out>
Out finish(const char* function, Error error, TensorImplPtr&& impl) {
  if constexpr (IsResult<Out>::value) {
    typename Out::value_type out;
    if (TENON_UNLIKELY(error != Error::Ok) ||
        TENON_UNLIKELY((error = wrap(impl, out)) != Error::Ok)) {
      return blame(function, error);
    }
    return out;
  } else {
    Out out;
    if (TENON_UNLIKELY(error != Error::Ok) ||
        TENON_UNLIKELY((error = wrap(impl, out)) != Error::Ok)) {
      raise_message(blame(function, error), last_error_message());
    }
    return out;
  }
}

/// The tensor behind a handle; null for a null TensorPtr.
inline const Tensor* peek(const Tensor& tensor) noexcept { return &tensor; }
inline const Tensor* peek(const TensorPtr& tensor) noexcept { return tensor.get(); }

}  // namespace detail
TENON_END_NAMESPACE
