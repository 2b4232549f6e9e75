// SPDX-License-Identifier: MIT
// How every tensor is made: check everything, allocate aside, commit. Functions here return
// Error and leave `deleter` and `values` untouched unless they succeed, so that the caller's copy
// of the duty to release is what remains after a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/layout.h"
#include "tenon/kernels/convert.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/made.h"
#include "tenon/tensor/memory.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline Error check_type(ScalarType type) noexcept {
  if (TENON_UNLIKELY(!isValidType(type)))
    return fail(Error::InvalidType, {type, " is not an element type"});
  return Error::Ok;
}

inline Error check_cast(ScalarType from, ScalarType to,
                        CastMode mode = CastMode::Checked) noexcept {
  TENON_TRY(check_type(to));
  if (TENON_UNLIKELY(mode == CastMode::Checked && from != to && !canCast(from, to))) {
    return fail(Error::InvalidType, {"values of ", from, " cannot be cast to ", to,
                                     " but by CastMode::Truncate or Saturate, see to()"});
  }
  return Error::Ok;
}

/// Checks what a tensor that owns its memory must not have: elements below element 0 or shared
/// ones.
inline Error check_owning_strides(const Layout& layout) noexcept {
  if (TENON_UNLIKELY(layout.extent.min < 0 || layout.may_overlap())) {
    return fail(Error::InvalidArgument,
                {"strides ", layout.strides, " for sizes ", layout.sizes,
                 layout.extent.min < 0 ? " are negative" : " may overlap",
                 "; a tensor that owns its memory needs distinct elements at positive strides"});
  }
  return Error::Ok;
}

/// How many elements memory must have that a tensor of this shape is to own.
TENON_LAZY Error compute_owned_reach(const Dims& sizes, const Dims& dim_order, const Dims& strides,
                                     size_t element_size, int64_t& reach) noexcept {
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dims("dim_order", dim_order));
  TENON_TRY(check_dims("strides", strides));
  if (dim_order.empty() && strides.empty()) return compute_numel(sizes, element_size, reach);
  Layout layout;
  TENON_TRY(make_layout(sizes, dim_order, strides, element_size, layout));
  TENON_TRY(check_owning_strides(layout));
  reach = layout.reach();
  return Error::Ok;
}

/// Makes a tensor that owns its memory: dense and row-major, or with the strides given.
template <class Where>
Error make_owned(const Dims& sizes, const Dims& dim_order, const Dims& strides,
                 Making<Where> making, Contents contents, Draft& draft) noexcept {
  const ScalarType type = making.type;
  TENON_TRY(check_type(type));
  const size_t element_size = elementSize(type);
  int64_t reach = 0;
  size_t nbytes = 0;
  TENON_TRY(compute_owned_reach(sizes, dim_order, strides, element_size, reach));
  TENON_TRY(compute_nbytes(reach, element_size, nbytes));
  TENON_TRY(start_owned(making.where, nbytes, contents, draft));
  TENON_TRY(make_layout(sizes, dim_order, strides, element_size, fields(draft).layout));
  fields(draft).type = type;
  fields(draft).settle(making.dynamism);
  return Error::Ok;
}

/// A tensor over memory that came as a pointer, with or without a deleter.
TENON_LAZY Error make_from_pointer(const DataPtr& data, const Dims& sizes, const Dims& dim_order,
                                   const Dims& strides, const TypeArg& type_arg,
                                   TensorShapeDynamism dynamism, const Device& device,
                                   Deleter& deleter, Draft& draft) noexcept {
  const ScalarType type = type_arg.value_or(data.type());
  TENON_TRY(check_type(type));
  if (TENON_UNLIKELY(!data.is_raw() && type != data.type())) {
    return fail(Error::InvalidType, {"the data pointer is to ", data.type(), ", the type given is ",
                                     type, "; pass a void* to reinterpret the bytes"});
  }
  if (TENON_UNLIKELY(deleter.error() != Error::Ok)) {
    return fail(deleter.error(), {"out of memory for the deleter"});
  }
  TENON_TRY(start_draft(draft));
  ImplFields& made = fields(draft);
  TENON_TRY(make_layout(sizes, dim_order, strides, elementSize(type), made.layout));
  const bool placeholder = data.is_placeholder() || device.type() == DeviceType::Template;
  if (TENON_UNLIKELY(data.get() == nullptr && made.layout.numel != 0 && !placeholder)) {
    return fail(Error::InvalidArgument,
                {"the data pointer is null, but sizes ", sizes, " hold ", made.layout.numel,
                 " elements; the literal nullptr would make a placeholder"});
  }
  made.data = data.get();
  made.type = type;
  made.device = device;
  made.readonly = data.is_readonly();
  made.settle(dynamism);
  if (deleter) {
    made.ownership = Ownership::Adopted;
    made.deleter = std::move(deleter);
  }
  return Error::Ok;
}

/// Makes a tensor over memory of the caller's one of a backend's: it is there, and counts.
TENON_LAZY TENON_NOINLINE Error name_backend(Backend& backend, Draft& draft) noexcept {
  NewMemory nothing;
  TENON_TRY(allocate_from(backend, 0, nothing));
  ImplFields& made = fields(draft);
  set_backend(*BackendAccess::state(backend), made);
  made.deleter = chain(std::move(made.deleter), std::move(nothing.release));
  if (TENON_UNLIKELY(made.deleter.error() != Error::Ok)) {
    return fail(made.deleter.error(), {"out of memory for the deleter"});
  }
  return Error::Ok;
}

/// The same with a creator's options, of which a backend may be one. The thread's default backend does
/// not count here: memory of the caller's is where it is.
template <bool kHasBackend>
Error make_from_pointer(const DataPtr& data, const Dims& sizes, const Dims& dim_order,
                        const Dims& strides, const CreatorOptions& options, Deleter& deleter,
                        Draft& draft) noexcept {
  Device device;
  if constexpr (kHasBackend) device = options.given_backend()->device();
  TENON_TRY(make_from_pointer(data, sizes, dim_order, strides, options.type, options.dynamism,
                              device, deleter, draft));
  if constexpr (kHasBackend) {
    if (Backend* const named = unless_host_heap(options.given_backend())) {
      return name_backend(*named, draft);
    }
  }
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

/// How values become a tensor's elements.
enum class Intake : uint8_t { Copy, Cast, Reinterpret };

/// A tensor of the values, which it adopts or copies; those for a backend are copied there.
template <class Where>
Error make_from_values(Values& values, const Dims& sizes, const Dims& dim_order,
                       const Dims& strides, Making<Where> making, Intake intake,
                       Draft& draft) noexcept {
  const ScalarType type = making.type;
  const size_t element_size = elementSize(type);
  int64_t reach = 0;
  TENON_TRY(compute_owned_reach(sizes, dim_order, strides, element_size, reach));
  size_t nbytes = 0;
  TENON_TRY(compute_nbytes(reach, element_size, nbytes));
  const size_t needed = intake == Intake::Reinterpret ? nbytes : static_cast<size_t>(reach);
  if (TENON_UNLIKELY(values.count() != needed)) {
    const bool bytes = intake == Intake::Reinterpret;
    // As many as elements: values were meant.
    const bool meant = bytes && values.count() == static_cast<size_t>(reach);
    return fail(Error::InvalidArgument,
                {values.count(), bytes ? " bytes" : " values", " were given, sizes ", sizes,
                 strides.empty() ? "" : " with these strides", " need ", needed,
                 meant ? "; with sizes and a type, uint8_t is memory of that type: to convert "
                         "values, make the tensor without a type, and call to()"
                       : ""});
  }
  if (TENON_UNLIKELY(values.error() != Error::Ok)) {
    return fail(values.error(), {"out of memory to keep ", values.count(), " values"});
  }
  const bool aligned =
      reinterpret_cast<uintptr_t>(values.data()) % (element_size < 16 ? element_size : 16) == 0;
  Draft made;
  if (values.is_adoptable() && intake != Intake::Cast && aligned && std::is_same_v<Where, OnHost>) {
    TENON_TRY(start_draft(made));
    TENON_TRY(make_layout(sizes, dim_order, strides, element_size, fields(made).layout));
    fields(made).data = const_cast<void*>(values.data());
    fields(made).type = type;
    fields(made).ownership = Ownership::Adopted;
    fields(made).settle(making.dynamism);
    fields(made).deleter = std::move(values.owner());
    draft = std::move(made);
    return Error::Ok;
  }
  TENON_TRY(make_owned(sizes, dim_order, strides, making, Contents::Uninitialized, made));
  const auto store = [&](void* out) noexcept {
    if (values.count() == 0) return Error::Ok;  // nothing to copy, and data() may be null
    if (intake != Intake::Cast) {
      std::memcpy(out, values.data(), nbytes);
    } else if (values.is_checked()) {
      return store_values(type, out, values);
    } else {
      cast_elements(type, out, values.type(), values.data(), static_cast<int64_t>(values.count()));
    }
    return Error::Ok;
  };
  TENON_TRY(produce_new(making.where, fields(made), Region::Row, "", kNotAsked, store));
  draft = std::move(made);
  return Error::Ok;
}

/// The same with the rules of make_tensor_ptr for the type; `flat` makes it 1-d, of as many as
/// there are.
template <class Where>
Error make_from_values(Values& values, bool flat, const Dims& sizes, const Dims& dim_order,
                       const Dims& strides, bool type_is_given, Making<Where> making,
                       Draft& draft) noexcept {
  const ScalarType type = making.type;
  TENON_TRY(check_type(type));
  // A container of bytes with a shape and a type is memory to be taken as that type.
  const Intake intake = values.is_bytes() && !flat && type_is_given ? Intake::Reinterpret
                        : type == values.type()                     ? Intake::Copy
                                                                    : Intake::Cast;
  if (intake == Intake::Cast) TENON_TRY(check_cast(values.type(), type));
  if (flat) return make_from_values(values, {values.count()}, {}, {}, making, intake, draft);
  return make_from_values(values, sizes, dim_order, strides, making, intake, draft);
}

/// Writes an element to all of a new tensor's memory.
template <class Where, class Make>
Error produce_constant(Where where, const TensorFields& made, const void* element,
                       const Make& make) noexcept {
  return produce_new(
      where, made, Region::Row, "constant",
      [&](Backend& backend, const auto& out) { return backend.constant(out, element); }, make);
}

/// A 0-d tensor of the element at `element`.
template <class Where>
Error make_from_element(const void* element, Making<Where> making, Draft& draft) noexcept {
  TENON_TRY(make_owned({}, {}, {}, making, Contents::Uninitialized, draft));
  return produce_constant(making.where, fields(draft), element, [&](void* out) noexcept {
    std::memcpy(out, element, elementSize(making.type));
    return Error::Ok;
  });
}

/// Makes `made`, whose layout is there, a view of `source` as elements of `type`; its element 0 is
/// `storage_offset` of those from the source's. Keeps the memory alive, and counts as a borrow.
TENON_LAZY Error attach_view(const TensorArg& source, ScalarType type, int64_t storage_offset,
                             ImplFields& made) noexcept {
  const TensorFields& from = fields(source);
  const Extent& old = from.layout.extent;
  const Extent& extent = made.layout.extent;  // without elements its start, which may be the end
  const auto old_size = static_cast<int64_t>(elementSize(from.type));
  const auto size = static_cast<int64_t>(elementSize(type));
  int64_t start = 0;  // in bytes from the source's element 0, like what follows
  int64_t begin = 0;
  int64_t end = 0;
  if (TENON_UNLIKELY(!multiply(storage_offset, size, start) ||
                     !add(start, extent.min * size, begin) ||
                     !add(start, (extent.max + 1) * size, end) || begin < old.min * old_size ||
                     end > (old.max + 1) * old_size)) {
    return fail(Error::OutOfBounds,
                {"a view of sizes ", made.layout.sizes, ", strides ", made.layout.strides,
                 " at offset ", storage_offset, " reaches beyond the source's elements at offsets ",
                 old.min, " to ", old.max});
  }
  if (from.data != nullptr) made.data = static_cast<char*>(from.data) + start;
  made.type = type;
  made.device = from.device;
  made.opaque = from.opaque;
  made.backend = from.backend;
  made.ownership = Ownership::View;
  made.readonly = from.readonly;
  made.settle(from.dynamism);
  keep_memory(source, made);
  return Error::Ok;
}

/// Where a view of a tensor keeps its metadata: where the tensor does, as far as that is a backend's.
inline BackendState* metadata_like(const TensorArg& source) noexcept {
  return source.defined() ? metadata_of(fields(source).backend) : nullptr;
}

/// A tensor of its own metadata over the memory of `source`. Empty lists stand for the source's.
TENON_LAZY Error make_view(const TensorArg& source, const Dims& sizes, const Dims& dim_order,
                           const Dims& strides, int64_t storage_offset, Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dims("dim_order", dim_order));
  TENON_TRY(check_dims("strides", strides));
  const TensorFields& from = fields(source);
  const Layout& old = from.layout;
  TENON_TRY(start_draft(draft, metadata_like(source)));
  Layout& layout = fields(draft).layout;
  const bool same_sizes = sizes.empty() || sizes == old.sizes;
  if (dim_order.empty() && strides.empty() && sizes.size() == old.sizes.size() && !same_sizes) {
    TENON_TRY(make_dense_layout(sizes, &old.dim_order, elementSize(from.type), layout));
  } else {
    const bool inherit = same_sizes && dim_order.empty() && strides.empty();
    TENON_TRY(make_layout(sizes.empty() ? old.sizes : sizes,
                          inherit ? Dims(old.dim_order) : dim_order,
                          inherit ? old.strides : strides, elementSize(from.type), layout));
  }
  return attach_view(source, from.type, storage_offset, fields(draft));
}

/// A 0-d tensor of a value, which must fit the type.
template <class Out>
Out create_scalar(const char* function, const Scalar& value, const CreatorOptions& options,
                  ScalarType otherwise) {
  alignas(16) unsigned char element[16] = {};
  const Error error = store_scalar(options.type.value_or(otherwise), value, element);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create<Out>(function, options, otherwise, [&](const auto& making, auto& made) noexcept {
    return make_from_element(element, making, made.draft());
  });
}

}  // namespace detail
TENON_END_NAMESPACE
