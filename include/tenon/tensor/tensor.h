// SPDX-License-Identifier: MIT
// Tensor: the handle that programs hold. TensorPtr; TensorArg: a tensor as an argument.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/tensor.h"
#else

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/core/error.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE

namespace detail {
TensorImplPtr& impl_of(Tensor& tensor) noexcept;
}

/// A handle to a TensorImpl: two pointers, cheap to copy. Copies share data and shape, so a resize
/// through one handle shows in all.
///
/// Ownership: keeps the impl alive. Only a handle that was made from a raw TensorImpl* borrows it.
/// A const handle does not make the memory const: mutable_data_ptr() is a const member, as in ATen.
/// Errors: every member but defined(), impl(), unsafeGetTensorImpl(), use_count() and is_alias_of()
/// raises InvalidState on an undefined tensor.
/// Threads: like std::shared_ptr. The caller's own lock must protect writes and resizes.
/// Source: at::Tensor and executorch::aten::Tensor, whose names it uses.
class Tensor : public TensorMetadata<Tensor> {
 public:
  using SizesType = tenon::SizesType;
  using StridesType = tenon::StridesType;
  using DimOrderType = tenon::DimOrderType;

  /// Makes an undefined handle: defined() is false.
  Tensor() noexcept = default;
  /// Makes a handle that shares the impl.
  explicit Tensor(const TensorImplPtr& impl) noexcept : impl_(impl) {}
  explicit Tensor(TensorImplPtr&& impl) noexcept : impl_(std::move(impl)) {}
  /// Wraps an impl that the caller must keep alive longer than the handle and its copies. Allocates
  /// nothing.
  explicit Tensor(TensorImpl* impl TENON_LIFETIMEBOUND) noexcept : impl_(TensorImplPtr(), impl) {}
  Tensor(const Tensor&) noexcept = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  /// Drops the old tensor last, since its deleter may use this handle. std::shared_ptr's assignment
  /// does not promise that order.
  Tensor& operator=(const Tensor& other) noexcept {  // NOLINT(bugprone-unhandled-self-assignment)
    TensorImplPtr(other.impl_).swap(impl_);
    return *this;
  }
  Tensor& operator=(Tensor&&) noexcept = default;

  /// Whether there is a tensor: false for `Tensor()` and after a move.
  bool defined() const noexcept { return impl_ != nullptr; }

  /// Whether element 0 is at a multiple of n bytes.
  bool is_aligned(size_t n) const { return detail::is_aligned("is_aligned", get("is_aligned"), n); }

  /// The address of element 0, for reading, on any device; nullptr for a placeholder. The host may
  /// not be able to read the memory.
  /// Errors: InvalidState for a deallocated tensor and if the memory's backend was destroyed,
  /// NotSupported for a meta tensor. All members that return pointers have these errors.
  const void* const_data_ptr() const TENON_LIFETIMEBOUND {
    return detail::raw_data("const_data_ptr", get("const_data_ptr"));
  }
  /// The same as a pointer to elements of type T. T is the dtype's C++ type; or, for the elements'
  /// bits, uint16_t for Half and BFloat16 and uint8_t for the Float8 types; or, for the bytes of
  /// any dtype, std::byte or char.
  /// Errors: InvalidType for any other T; InvalidArgument for data that is not aligned for T;
  /// NotSupported for memory that the host cannot read.
  template <class T>
  const T* const_data_ptr() const TENON_LIFETIMEBOUND {
    return detail::pointer_to<const T>("const_data_ptr", get("const_data_ptr"));
  }
  /// The address of element 0, for writing.
  /// Errors: InvalidState when the tensor is read-only.
  void* mutable_data_ptr() const TENON_LIFETIMEBOUND {
    return detail::writable_data("mutable_data_ptr", get("mutable_data_ptr"));
  }
  template <class T>
  T* mutable_data_ptr() const TENON_LIFETIMEBOUND {
    return detail::pointer_to<T>("mutable_data_ptr", get("mutable_data_ptr"));
  }
  /// ATen's older name for mutable_data_ptr().
  void* data_ptr() const TENON_LIFETIMEBOUND {
    return detail::writable_data("data_ptr", get("data_ptr"));
  }
  /// ATen's older name: const_data_ptr<T>() for a const T, else mutable_data_ptr<T>().
  template <class T>
  T* data_ptr() const TENON_LIFETIMEBOUND {
    return detail::pointer_to<T>("data_ptr", get("data_ptr"));
  }

  /// Does the same as tenon::set_data(), but raises errors, since ExecuTorch's member returns void.
  void set_data(const detail::DataPtr& data) const {
    static_cast<void>(get("set_data"));
    impl_->set_data(data);
  }

  /// The elements of a contiguous tensor, for range-for; T is const for a read-only tensor.
  /// Errors: those of data_ptr<T>(), and InvalidState for a placeholder or a tensor that is not
  /// contiguous.
  template <class T>
  Span<T> data() const TENON_LIFETIMEBOUND {
    return detail::span_of<T>("data", get("data"));
  }

  /// Indexed access, `accessor<float, 2>()[i][j]`; T is const for a read-only tensor. Valid until
  /// the tensor is resized or dropped.
  /// Errors: those of data_ptr<T>(), InvalidArgument unless N is the rank, InvalidState for a
  /// placeholder.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const TENON_LIFETIMEBOUND {
    return detail::accessor_of<T, N>("accessor", get("accessor"));
  }
  template <class NeedsTypeAndRank>
  TensorAccessor<NeedsTypeAndRank, 1> accessor() const
      TENON_MISTAKE("an accessor needs the type and the rank, as in accessor<float, 2>()");

  /// The value of a tensor with one element.
  /// Errors: InvalidArgument for any other element count or when T cannot keep the value, see
  /// Scalar::to(); InvalidState for a placeholder; NotSupported for memory that the host cannot
  /// read.
  template <class T>
  T item() const {
    return detail::item_of<T>("item", get("item"));
  }

  /// A view of the memory, sizes and strides, valid while the tensor lives and keeps its shape.
  /// Errors: InvalidState if the memory's backend was destroyed.
  TensorView as_view() const TENON_LIFETIMEBOUND {
    return detail::view_of("as_view", get("as_view"));
  }

  /// The impl; null for an undefined tensor.
  const TensorImplPtr& impl() const noexcept TENON_LIFETIMEBOUND { return impl_; }
  /// ATen's name for impl().get().
  TensorImpl* unsafeGetTensorImpl() const noexcept TENON_LIFETIMEBOUND { return impl_.get(); }
  /// How many handles share the impl; 0 for an undefined handle and for a handle over a raw
  /// TensorImpl*.
  long use_count() const noexcept { return impl_.use_count(); }
  /// Whether both share an impl, or are views of the same tensor. Does not compare pointers: two
  /// tensors over the same foreign pointer are not aliases, as in ATen.
  bool is_alias_of(const Tensor& other) const noexcept {
    return defined() && other.defined() && memory_base() == other.memory_base();
  }

  // A backend that keeps metadata, or malloc, allocates the handles of TensorPtrs; with
  // TENON_HEAP=0 only such a backend. Unlike `new (std::nothrow)`, malloc reports failure with
  // every C library and without exceptions.
  static void* operator new(size_t size, const std::nothrow_t&) noexcept {
    return detail::allocate_metadata(size, nullptr);
  }
  static void* operator new(size_t size) {
    void* p = detail::allocate_metadata(size, nullptr);
    if (p == nullptr)
      detail::raise(Error::OutOfMemory, "Tensor: " TENON_OUT_OF_MEMORY " for a handle");
    return p;
  }
  static void* operator new(size_t, void* place) noexcept { return place; }
  static void operator delete(void* p) noexcept {
    if (p != nullptr) detail::mark_free(p, sizeof(Tensor));
    detail::release_metadata(p);
  }
  static void operator delete(void* p, const std::nothrow_t&) noexcept {
    detail::release_metadata(p);
  }
  static void operator delete(void*, void*) noexcept {}

 private:
  friend TensorImplPtr& detail::impl_of(Tensor& tensor) noexcept;
  friend class TensorMetadata<Tensor>;

  const detail::ImplFields& get(const char* function) const {
    TENON_CHECK(impl_ != nullptr, Error::InvalidState, function, ": the tensor is undefined");
    return impl_->fields_;
  }
  const TensorImpl* memory_base() const noexcept {
    return impl_->fields_.base != nullptr ? impl_->fields_.base.get() : impl_.get();
  }

  TensorImplPtr impl_;
};

namespace detail {
inline TensorImplPtr& impl_of(Tensor& tensor) noexcept { return tensor.impl_; }

/// `delete handle`. A handle in its tensor's seat leaves the seat before it drops the tensor: no
/// other user can leave at the same time, so that takes no atomic instruction.
template <class>
void delete_handle(Tensor* handle) noexcept {
  Seat* const seat = Seat::of(handle);
  TensorImplPtr& impl = impl_of(*handle);
  if (seat == nullptr || impl.use_count() == 0 || seat != seat_of(impl)) {
    delete handle;
    return;
  }
  const TensorImplPtr last = std::move(impl);  // dropped after the handle
  handle->~Tensor();
  mark_free(handle, sizeof(Tensor));
  if (seat->holders.get() == Seat::kNodeAndHandle) {
    seat->holders.set(Seat::kNode);
  } else {  // the tensor was destroyed: `last` does not own it
    seat->leave();
  }
}
}  // namespace detail

/// How programs hold a tensor that they own. A TensorPtr that a creator returned is never null. In
/// `auto& t = *zeros({2})` the tensor is destroyed at the end of the line: write `Tensor t =
/// *zeros({2})`.
using TensorPtr = std::unique_ptr<Tensor>;

/// Refuses to print a TensorPtr without <tenon/ostream.h>: C++20's operator for any unique_ptr,
/// which is less specialised, would print the address. Wide streams are always refused.
template <class Char,
          class NeedsTenonOstreamHeader>  // the stream's traits, named for GCC's message
std::basic_ostream<Char, NeedsTenonOstreamHeader>& operator<<(
    std::basic_ostream<Char, NeedsTenonOstreamHeader>&, const TensorPtr&)
    TENON_MISTAKE("include <tenon/ostream.h>, or print to_string(tensor)");

static_assert(sizeof(Tensor) == 2 * sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<Tensor>);

/// A tensor as an argument: a Tensor, or a TensorPtr, which may be null. A const handle does not
/// make the memory const, so functions that write accept const handles and temporary views too.
///
/// Ownership: none; refers to the handle during the call.
class TensorArg {
 public:
  /// Refers to a handle, or to the handle of a TensorPtr.
  TensorArg(const Tensor& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(&tensor) {}
  TensorArg(const TensorPtr& tensor TENON_LIFETIMEBOUND) noexcept : tensor_(tensor.get()) {}

  /// Whether there is a tensor: false for a null TensorPtr too.
  bool defined() const noexcept { return tensor_ != nullptr && tensor_->defined(); }
  /// The handle. There is none for a null TensorPtr.
  const Tensor& tensor() const noexcept { return *tensor_; }

 private:
  const Tensor* tensor_;
};

/// A tensor that a function reads: converts from a Tensor, from a TensorPtr, which may be null, and
/// from a TensorArg. A separate type in ATen mode, where reading does not materialise a lazy clone.
using ConstTensorArg = TensorArg;

namespace detail {

/// The internals of a defined tensor.
inline ImplFields& fields(const TensorArg& tensor) noexcept {
  return tensor.tensor().impl()->fields_;
}

/// Whether tenon can use the tensor: false for some at::Tensors in ATen mode.
inline bool is_described(const TensorArg&) noexcept { return true; }

/// Checks that the tensor is defined. `role` is the error text's name for the tensor: "the source
/// tensor".
TENON_TEMPLATE_INLINE Error check_metadata(const TensorArg& tensor, const char* role) noexcept {
  if (!tensor.defined()) {
    return fail(Error::InvalidState, role, " is undefined");
  }
  return Error::Ok;
}
/// Checks that the tensor is defined and was not deallocated.
TENON_TEMPLATE_INLINE Error check_defined(const TensorArg& tensor, const char* role) noexcept {
  TENON_TRY(check_metadata(tensor, role));
  return check_not_deallocated(fields(tensor), role);
}

}  // namespace detail
TENON_END_NAMESPACE
#endif
