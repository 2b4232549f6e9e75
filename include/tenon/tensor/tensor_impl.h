// SPDX-License-Identifier: MIT
// TensorImpl: metadata, the memory it describes, and the duty to release that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/tensor/deleter.h"

#if TENON_HAS_THREADS && !TENON_HAS_ATOMIC_BUILTINS
#include <atomic>
#endif

TENON_BEGIN_NAMESPACE

/// Whether and how a tensor's shape may change.
/// Source: ExecuTorch, where DYNAMIC_UNBOUND cannot grow.
enum class TensorShapeDynamism : uint8_t {
  STATIC = 0,           ///< never
  DYNAMIC_BOUND = 1,    ///< up to the element count at creation; the memory never moves
  DYNAMIC_UNBOUND = 2,  ///< without limit; owned memory is reallocated to grow
  DYNAMIC = DYNAMIC_UNBOUND,
};

/// Whose memory a tensor describes.
enum class Ownership : uint8_t {
  Owned,     ///< allocated by tenon
  Adopted,   ///< came in with a deleter, or as a container
  Borrowed,  ///< the caller's, who keeps it alive
  View,      ///< another tensor's, which the view keeps alive
};

class Tensor;
class TensorImpl;

/// Shared metadata and memory.
using TensorImplPtr = std::shared_ptr<TensorImpl>;

namespace detail {

constexpr const char* toString(TensorShapeDynamism dynamism) noexcept {
  return dynamism == TensorShapeDynamism::STATIC          ? "STATIC"
         : dynamism == TensorShapeDynamism::DYNAMIC_BOUND ? "DYNAMIC_BOUND"
                                                          : "DYNAMIC_UNBOUND";
}

/// Counts those who borrow an impl's memory; any thread may come and go.
class BorrowCount {
 public:
#if TENON_HAS_THREADS && TENON_HAS_ATOMIC_BUILTINS
  void add() noexcept { __atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED); }
  // Release, and acquire below: what a borrower did is over before the memory is replaced.
  void remove() noexcept { __atomic_fetch_sub(&count_, 1, __ATOMIC_RELEASE); }
  bool any() const noexcept { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) != 0; }
#else
  void add() noexcept { ++count_; }
  void remove() noexcept { --count_; }
  bool any() const noexcept { return count_ != 0; }
#endif

 private:
#if TENON_HAS_THREADS && !TENON_HAS_ATOMIC_BUILTINS
  std::atomic<int32_t> count_{0};
#else
  int32_t count_ = 0;
#endif
};

/// What a TensorImpl holds. Creators fill it in place: copying a layout that has just been written
/// costs more than computing it.
struct ImplFields {
  Layout layout;
  void* data = nullptr;
  int64_t capacity = 0;  // elements of room from data upward
  ScalarType type = ScalarType::Float;
  TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC;
  Ownership ownership = Ownership::Borrowed;
  bool readonly = false;
  BorrowCount borrows;
  Device device;
  TensorImplPtr base;  // whose memory it is, for a view; counted there as a borrow
  Deleter deleter;     // last, so that it goes first, before what it may refer to

  /// Derives the rest once layout, data and type are there.
  void settle(TensorShapeDynamism asked) noexcept {
    dynamism = layout.sizes.empty() ? TensorShapeDynamism::STATIC : asked;
    // A shape is laid from element 0 upward: memory below it, or shared by stride 0, is no room.
    capacity = layout.reach() < layout.numel ? layout.reach() : layout.numel;
  }
};

/// The memory described, not owned.
inline TensorView view_of(const ImplFields& tensor) noexcept {
  return {tensor.data, tensor.type, tensor.device, tensor.layout.sizes, tensor.layout.strides};
}

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
    const auto list = [dim](const auto* values) {
      return values != nullptr ? Dims(values, values + dim) : Dims();
    };
    const Error error =
        make_layout(list(sizes), list(dim_order), list(strides), elementSize(type), fields_.layout);
    if (error != Error::Ok) {
      detail::raise_message(detail::blame("TensorImpl", error), last_error_message());
    }
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
    if (fields_.base != nullptr) fields_.base->fields_.borrows.remove();
  }

  int64_t dim() const noexcept { return static_cast<int64_t>(fields_.layout.sizes.size()); }
  int64_t numel() const noexcept { return fields_.layout.numel; }
  size_t nbytes() const noexcept {
    return static_cast<size_t>(fields_.layout.numel) * element_size();
  }
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
  bool has_data() const noexcept { return fields_.data != nullptr || fields_.layout.numel == 0; }

  /// Element 0; nullptr for a placeholder. The host may not be able to read what it points to.
  const void* data() const noexcept { return fields_.data; }
  /// Errors: InvalidState when the tensor is read-only.
  void* mutable_data() const {
    check_writable("mutable_data");
    return fields_.data;
  }
  /// Errors: InvalidType unless T is the dtype; NotSupported for memory that the host cannot read.
  template <class T>
  const T* data() const {
    return checked_data<const T>("data");
  }
  template <class T>
  T* mutable_data() const {
    return checked_data<T>("mutable_data");
  }

  /// Binds memory to a placeholder, or rebinds a borrowed tensor: how a planner or a runtime places
  /// buffers. nullptr makes it a placeholder. Views made before keep the memory they were made
  /// over.
  /// Ownership: borrows `data`, which holds at least what the shape at creation reaches.
  /// Errors: InvalidState for a tensor whose memory is not the caller's.
  void set_data(void* data) {
    TENON_CHECK(
        fields_.ownership == Ownership::Borrowed, Error::InvalidState,
        "set_data: the tensor's memory is not borrowed from the caller, so it cannot be replaced");
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
  /// Element 0 as a T, for reading only when T is const.
  template <class T>
  T* checked_data(const char* function) const {
    constexpr ScalarType asked = CppTypeToScalarType<T>::value;
    TENON_CHECK(asked == fields_.type, Error::InvalidType, function, ": asked for ", asked,
                ", but the tensor's dtype is ", fields_.type);
    TENON_CHECK(fields_.device.is_host_accessible(), Error::NotSupported, function, ": memory on ",
                fields_.device, " cannot be read by the host");
    if (!std::is_const_v<T>) check_writable(function);
    return static_cast<T*>(fields_.data);
  }
  void check_writable(const char* function) const {
    TENON_CHECK(!fields_.readonly, Error::InvalidState, function, ": the tensor is read-only");
  }

  detail::ImplFields fields_;
};

namespace detail {

/// An allocator that hands out one block that is already there. std::allocate_shared with it cannot
/// fail, and the block may be larger than the node: the rest holds the tensor's data.
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
  void deallocate(T* p, size_t) noexcept { std::free(p); }
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
