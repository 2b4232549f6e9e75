// SPDX-License-Identifier: MIT
// Tensor's accessors as functions: for at::Tensor, which lacks them or checks less, and for code in
// both modes.
//
// All raise InvalidState for an undefined tensor, and in ATen mode the errors that docs/aten.md
// lists for at::Tensors without strided memory. Each function that reads elements has a try_ form,
// which returns a Result with the same errors.
#pragma once

#include "tenon/core/result.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/handle.h"

TENON_BEGIN_NAMESPACE
// Functions whose result refers to the tensor's memory take the TensorArg by value: Clang then
// warns if the tensor is a temporary. If they took it by reference, Clang would always warn, since
// the TensorArg itself is a temporary.

namespace detail {

/// The argument type of functions that return elements as T: a const T only reads.
template <class T>
using ArgFor = std::conditional_t<std::is_const_v<T>, ConstTensorArg, TensorArg>;

/// The fields of a tensor, which must be defined but may be deallocated.
inline const TensorFields& defined_fields(const char* function, const TensorArg& tensor) {
  raise_if(function, check_metadata(tensor, "the tensor"));
  return fields(tensor);
}

/// Checks a tensor for a try_ form: that it is defined, and that `check_fields(fields)` succeeds.
template <class Check>
Error check_tensor(const char* function, const TensorArg& tensor,
                   const Check& check_fields) noexcept {
  Error error = check_metadata(tensor, "the tensor");
  if (error == Error::Ok) error = check_fields(fields(tensor));
  return add_context_if(function, error);
}

}  // namespace detail

/// Whether the shape may change.
inline TensorShapeDynamism shape_dynamism(const ConstTensorArg& t) {
  return detail::defined_fields("shape_dynamism", t).dynamism;
}
/// The memory's ownership; Adopted for at::Tensors that tenon did not make.
inline Ownership ownership(const ConstTensorArg& t) {
  return detail::defined_fields("ownership", t).ownership;
}
/// Whether functions refuse to write to the tensor.
inline bool is_readonly(const ConstTensorArg& t) {
  return detail::defined_fields("is_readonly", t).readonly;
}
/// Dimension numbers, outermost in memory first; for an at::Tensor, the order that its strides
/// imply.
/// Errors: OutOfMemory (more dimensions than TENON_INLINE_DIMS).
inline DimOrder dim_order(const ConstTensorArg& t) {
  DimOrder order(detail::defined_fields("dim_order", t).layout.dim_order());
  if (order.error() != Error::Ok) {
    detail::raise_if("dim_order", detail::fail_shape_memory());
  }
  return order;
}
/// Where the memory is.
inline Device device(const ConstTensorArg& t) { return detail::defined_fields("device", t).device; }
/// A view of the memory, sizes and strides, valid while the tensor lives and keeps its shape.
/// Errors: InvalidState if the memory's backend was destroyed.
inline TensorView as_view(TensorArg t TENON_LIFETIMEBOUND) {
  TensorView view = detail::view_of("as_view", detail::defined_fields("as_view", t));
  // Refers to the tensor's own lists, since in ATen mode the argument holds copies.
  view.sizes = t.tensor().sizes();
  view.strides = t.tensor().strides();
  return view;
}
inline Result<TensorView> try_as_view(TensorArg t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_as_view", t, [](const detail::TensorFields& fields) {
    return detail::check_data_backend(fields, "the tensor");
  }));
  TensorView view = detail::view_of(detail::fields(t));
  view.sizes = t.tensor().sizes();
  view.strides = t.tensor().strides();
  return view;
}
/// Whether element 0 is at a multiple of n bytes.
/// Errors: InvalidArgument if n is 0.
inline bool is_aligned(const ConstTensorArg& t, size_t n) {
  return detail::is_aligned("is_aligned", detail::defined_fields("is_aligned", t), n);
}

/// The address of element 0; nullptr for a placeholder. The host may not be able to read the
/// memory.
/// Errors: InvalidState for a deallocated tensor and if the memory's backend was destroyed,
/// NotSupported for a meta tensor. All functions that return pointers have these errors.
inline const void* const_data_ptr(ConstTensorArg t TENON_LIFETIMEBOUND) {
  return detail::raw_data("const_data_ptr", detail::defined_fields("const_data_ptr", t));
}
inline Result<const void*> try_const_data_ptr(ConstTensorArg t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_const_data_ptr", t, detail::check_raw_data));
  return static_cast<const void*>(detail::fields(t).data);
}
/// The same as a pointer to elements of type T. T is the dtype's C++ type; or, for the elements'
/// bits, uint16_t for Half and BFloat16 and uint8_t for the Float8 types; or, for the bytes of any
/// dtype, std::byte or char.
/// Errors: InvalidType for any other T; InvalidArgument for data that is not aligned for T;
/// NotSupported for memory that the host cannot read.
template <class T>
const T* const_data_ptr(ConstTensorArg t TENON_LIFETIMEBOUND) {
  return detail::pointer_to<const T>("const_data_ptr", detail::defined_fields("const_data_ptr", t));
}
template <class T>
Result<const T*> try_const_data_ptr(ConstTensorArg t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_const_data_ptr", t, detail::check_pointer_to<const T>));
  return static_cast<const T*>(detail::fields(t).data);
}
/// The address of element 0, for writing.
/// Errors: InvalidState for a read-only tensor.
inline void* mutable_data_ptr(TensorArg t TENON_LIFETIMEBOUND) {
  return detail::writable_data("mutable_data_ptr", detail::defined_fields("mutable_data_ptr", t));
}
inline Result<void*> try_mutable_data_ptr(TensorArg t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_mutable_data_ptr", t, detail::check_writable_data));
  return detail::fields(t).data;
}
/// mutable_data_ptr() to elements of type T.
/// Errors: those of const_data_ptr<T>(), and InvalidState for a read-only tensor.
template <class T>
T* mutable_data_ptr(TensorArg t TENON_LIFETIMEBOUND) {
  return detail::pointer_to<T>("mutable_data_ptr", detail::defined_fields("mutable_data_ptr", t));
}
template <class T>
Result<T*> try_mutable_data_ptr(TensorArg t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_mutable_data_ptr", t, detail::check_pointer_to<T>));
  return static_cast<T*>(detail::fields(t).data);
}
/// The elements of a contiguous tensor, for range-for; T is const for a read-only tensor.
/// Errors: those of const_data_ptr<T>(); InvalidState for a placeholder, for a tensor that is not
/// contiguous, and for a read-only tensor if T is not const.
template <class T>
Span<T> data(detail::ArgFor<T> t TENON_LIFETIMEBOUND) {
  return detail::span_of<T>("data", detail::defined_fields("data", t));
}
template <class T>
Result<Span<T>> try_data(detail::ArgFor<T> t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_data", t, detail::check_span<T>));
  return detail::span_of<T>(detail::fields(t));
}
/// Indexed access, `accessor<float, 2>(t)[i][j]`; T is const for a read-only tensor. Valid until
/// the tensor is resized or dropped.
/// Errors: those of const_data_ptr<T>(); InvalidState for a placeholder, and for a read-only tensor
/// if T is not const; InvalidArgument unless N is the rank.
template <class T, size_t N>
TensorAccessor<T, N> accessor(detail::ArgFor<T> t TENON_LIFETIMEBOUND) {
  return detail::accessor_of<T, N>("accessor", detail::defined_fields("accessor", t));
}
template <class T, size_t N>
Result<TensorAccessor<T, N>> try_accessor(detail::ArgFor<T> t TENON_LIFETIMEBOUND) noexcept {
  TENON_TRY(detail::check_tensor("try_accessor", t, detail::check_accessor<T, N>));
  return detail::accessor_of<T, N>(detail::fields(t));
}
template <class NeedsTypeAndRank>
TensorAccessor<NeedsTypeAndRank, 1> accessor(const Tensor&)
    TENON_MISTAKE("an accessor needs the type and the rank, as in accessor<float, 2>(t)");
template <class NeedsTypeAndRank>
TensorAccessor<NeedsTypeAndRank, 1> accessor(const TensorPtr&)
    TENON_MISTAKE("an accessor needs the type and the rank, as in accessor<float, 2>(t)");
/// The value of a tensor with one element.
/// Errors: InvalidArgument for any other element count or when T cannot keep the value, see
/// Scalar::to(); InvalidState for a placeholder; NotSupported for memory that the host cannot read.
template <class T>
T item(const ConstTensorArg& t) {
  return detail::item_of<T>("item", detail::defined_fields("item", t));
}
template <class T>
Result<T> try_item(const ConstTensorArg& t) noexcept {
  T found{};
  TENON_TRY(detail::check_tensor("try_item", t, [&](const detail::TensorFields& fields) {
    return detail::find_item(fields, found);
  }));
  return found;
}

/// Makes a placeholder, or any other tensor, use the memory at `data`, as memory planners do.
/// nullptr makes a placeholder. A pointer to const makes the tensor read-only, any other pointer
/// writable. The memory must be on the tensor's device. Views made before keep the old memory.
/// Ownership: borrows `data`, which holds at least the elements that the shape reaches; for a
/// DYNAMIC_BOUND tensor, as many as its shape at creation reaches. The tensor cannot grow
/// afterwards. The old memory is kept until the tensor is destroyed; then its deleter runs, with
/// the pointer that it was created with. In ATen mode the old memory is released at once, if no
/// view or export uses it.
/// Errors: InvalidType for a pointer to elements of another type; InvalidState for a deallocated
/// tensor, and in ATen mode for a tensor that tenon did not make; NotSupported for a pointer to
/// const where ATen mode has no read-only tensors; OutOfMemory (ATen mode).
/// Source: executorch::aten::Tensor::set_data, a member that returns void.
[[nodiscard]] inline Error set_data(const TensorArg& t, const detail::DataPtr& data) noexcept {
  Error error = detail::check_defined(t, "the tensor");
  if (error == Error::Ok) error = detail::bind_memory(t, data);
  return detail::add_context_if("set_data", error);
}
template <class ContainerNeedsData, class = decltype(std::declval<ContainerNeedsData&>().data())>
Error set_data(const TensorArg&, ContainerNeedsData&&)
    TENON_MISTAKE("set_data borrows a pointer: set_data(t, values.data())");

TENON_END_NAMESPACE
