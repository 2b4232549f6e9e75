// SPDX-License-Identifier: MIT
// TensorImpl: metadata, the memory it describes, and the duty to release that memory.
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include "tenon/aten/tensor.h"
#else

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/core/atomic.h"
#include "tenon/core/device.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/scalar_type.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/elements.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE

class Tensor;
class TensorImpl;

/// Shared metadata and memory.
using TensorImplPtr = std::shared_ptr<TensorImpl>;

namespace detail {

/// What a TensorImpl holds.
struct ImplFields : TensorFields {
  AtomicCount borrows;  // views and blobs of this memory
  TensorImplPtr base;   // whose memory it is, for a view; counted there as a borrow
  Deleter deleter;      // last, so that it goes first, before what it may refer to
};

struct ImplAccess;

/// What only the internals can make, and std::allocate_shared can pass on.
class ImplKey {
  friend struct ImplAccess;
  explicit ImplKey() noexcept {}
};

}  // namespace detail

/// A tensor's metadata, data pointer and deleter. Handles (Tensor) share it; most code never sees
/// one.
///
/// Ownership: runs its deleter, and drops the tensor it is a view of, when it is destroyed.
/// Threads: like any object; the reference count of TensorImplPtr alone is synchronised.
/// Source: executorch::aten::TensorImpl and c10::TensorImpl, whose accessors it shares.
class TensorImpl {
 public:
  /// Describes memory that the caller keeps, without allocating for up to 6 dimensions: the form
  /// for the stack and for static memory. The lists are copied; they may be null for defaults. A
  /// null `data` makes a placeholder. Shapes of rank 0 are STATIC.
  /// Errors: those of make_layout(), and InvalidType for an Undefined `type`.
  TensorImpl(ScalarType type, int64_t dim, const SizesType* sizes, void* data = nullptr,
             const DimOrderType* dim_order = nullptr, const StridesType* strides = nullptr,
             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    TENON_CHECK(isValidType(type), Error::InvalidType, "TensorImpl: ", type,
                " is not an element type");
    TENON_CHECK(dim >= 0 && (dim == 0 || sizes != nullptr), Error::InvalidArgument,
                "TensorImpl: ", dim, " dimensions",
                dim < 0 ? "; expected 0 or more" : " without sizes");
    const auto rank = static_cast<size_t>(dim);
    detail::raise_if("TensorImpl", detail::lay_out(sizes, dim_order, strides, rank,
                                                   elementSize(type), fields_.layout));
    fields_.data = data;
    fields_.type = type;
    fields_.settle(dynamism);
  }

  /// For the internals: to be filled in. Not `= default`: that would zero the whole object, inline
  /// arrays included, before filling it.
  explicit TensorImpl(detail::ImplKey) noexcept {}

  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    if (fields_.base != nullptr) static_cast<void>(fields_.base->fields_.borrows.remove());
  }

  int64_t dim() const noexcept { return static_cast<int64_t>(fields_.layout.sizes.size()); }
  int64_t numel() const noexcept { return fields_.layout.numel; }
  size_t nbytes() const noexcept { return fields_.nbytes(); }
  /// The size of dimension d; negative d counts from the end.
  /// Errors: OutOfBounds.
  int64_t size(int64_t d) const { return fields_.layout.sizes[wrap("size", d)]; }
  /// The stride of dimension d, in elements.
  /// Errors: OutOfBounds.
  int64_t stride(int64_t d) const { return fields_.layout.strides[wrap("stride", d)]; }
  ArrayRef<SizesType> sizes() const noexcept { return fields_.layout.sizes; }
  ArrayRef<StridesType> strides() const noexcept { return fields_.layout.strides; }
  ArrayRef<DimOrderType> dim_order() const noexcept { return fields_.layout.dim_order; }
  ScalarType scalar_type() const noexcept { return fields_.type; }
  ScalarType dtype() const noexcept { return fields_.type; }
  size_t element_size() const noexcept { return elementSize(fields_.type); }
  Device device() const noexcept { return fields_.device; }
  TensorShapeDynamism shape_dynamism() const noexcept { return fields_.dynamism; }
  Ownership ownership() const noexcept { return fields_.ownership; }
  bool is_readonly() const noexcept { return fields_.readonly; }
  bool is_contiguous() const noexcept { return fields_.layout.is_contiguous(); }
  /// Whether elements exist that can be read: false for a placeholder.
  bool has_data() const noexcept { return fields_.has_data(); }

  /// Element 0; nullptr for a placeholder. The host may not be able to read what it points to.
  const void* data() const noexcept { return fields_.data; }
  /// Errors: InvalidState when the tensor is read-only.
  void* mutable_data() const { return detail::writable_data("mutable_data", fields_); }
  /// Errors: InvalidType unless T is the dtype; InvalidArgument for data that is not aligned for T;
  /// NotSupported for memory that the host cannot read.
  template <class T>
  const T* data() const {
    return detail::typed_data<const T>("data", fields_);
  }
  template <class T>
  T* mutable_data() const {
    return detail::typed_data<T>("mutable_data", fields_);
  }

  /// Binds memory to a placeholder, or rebinds a borrowed tensor: how a planner or a runtime places
  /// buffers. nullptr makes it a placeholder. Views made before keep the memory they were made
  /// over.
  /// Ownership: borrows `data`, which holds at least what the shape at creation reaches.
  /// Errors: InvalidState for a tensor whose memory is not the caller's.
  void set_data(void* data) {
    detail::raise_if("set_data", detail::check_can_bind(fields_));
    fields_.data = data;
  }

 private:
  friend struct detail::ImplAccess;
  friend class Tensor;

  size_t wrap(const char* function, int64_t d) const {
    const int64_t rank = dim();
    TENON_CHECK(d >= -rank && d < rank, Error::OutOfBounds, function, ": dimension ", d,
                " is out of range for a tensor of ", rank, " dimensions");
    return static_cast<size_t>(d < 0 ? d + rank : d);
  }
  detail::ImplFields fields_;
};

namespace detail {

/// An allocator that hands out one block that is already there, from allocate_metadata().
/// std::allocate_shared with it cannot fail, and the block may be larger than the node: the rest
/// holds the tensor's data.
template <class T>
struct NodeAllocator {
  using value_type = T;
  explicit NodeAllocator(void* b) noexcept : block(b) {}
  template <class U>
  NodeAllocator(const NodeAllocator<U>& other) noexcept : block(other.block) {}
  T* allocate(size_t) noexcept {
    static_assert(sizeof(T) <= sizeof(TensorImpl) + 32, "control block larger than planned");
    return static_cast<T*>(block);
  }
  void deallocate(T* p, size_t) noexcept { release_metadata(p); }
  template <class U>
  friend bool operator==(const NodeAllocator& a, const NodeAllocator<U>& b) noexcept {
    return a.block == b.block;
  }
  template <class U>
  friend bool operator!=(const NodeAllocator& a, const NodeAllocator<U>& b) noexcept {
    return a.block != b.block;
  }
  void* block;
};

/// The internals' way into a TensorImpl.
struct ImplAccess {
  /// The bytes of a node: an impl and std::shared_ptr's control block around it.
  static constexpr size_t kNodeSize = sizeof(TensorImpl) + 32;

  static ImplKey key() noexcept { return ImplKey(); }

  static ImplFields& fields(TensorImpl& impl) noexcept { return impl.fields_; }
  static const ImplFields& fields(const TensorImpl& impl) noexcept { return impl.fields_; }
  template <class Handle>
  static TensorImplPtr& impl(Handle& handle) noexcept {
    return handle.impl_;
  }
};

}  // namespace detail

TENON_END_NAMESPACE
#endif
