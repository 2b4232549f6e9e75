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

/// Whether and how a tensor's shape may change. Source: ExecuTorch, where DYNAMIC_UNBOUND cannot
/// grow.
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

/// Everything a new TensorImpl is made of.
struct ImplParts {
  Layout layout;
  void* data = nullptr;
  ScalarType type = ScalarType::Float;
  Device device;
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  Ownership ownership = Ownership::Borrowed;
  bool readonly = false;
  bool placeholder = false;  // no data, on purpose
  Deleter deleter;
  TensorImplPtr base;  // whose memory it is, for a view
};

struct ImplAccess;

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
  /// null `data` makes a placeholder. Shapes of rank 0 are STATIC. Errors: those of make_layout(),
  /// and InvalidType for an Undefined `type`.
  TensorImpl(ScalarType type, int64_t dim, const SizesType* sizes, void* data = nullptr,
             const DimOrderType* dim_order = nullptr, const StridesType* strides = nullptr,
             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC)
      : TensorImpl(describe(type, dim, sizes, data, dim_order, strides, dynamism)) {}

  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    if (base_ != nullptr) base_->borrows_.remove();
  }

  int64_t dim() const noexcept { return static_cast<int64_t>(layout_.sizes.size()); }
  int64_t numel() const noexcept { return layout_.numel; }
  size_t nbytes() const noexcept { return static_cast<size_t>(layout_.numel) * element_size(); }
  /// The size of dimension d; negative d counts from the end. Errors: OutOfBounds.
  int64_t size(int64_t d) const { return layout_.sizes[wrap("size", d)]; }
  /// The stride of dimension d, in elements. Errors: OutOfBounds.
  int64_t stride(int64_t d) const { return layout_.strides[wrap("stride", d)]; }
  ArrayRef<SizesType> sizes() const noexcept { return layout_.sizes; }
  ArrayRef<StridesType> strides() const noexcept { return layout_.strides; }
  ArrayRef<DimOrderType> dim_order() const noexcept { return layout_.dim_order; }
  ScalarType scalar_type() const noexcept { return type_; }
  ScalarType dtype() const noexcept { return type_; }
  size_t element_size() const noexcept { return elementSize(type_); }
  Device device() const noexcept { return device_; }
  TensorShapeDynamism shape_dynamism() const noexcept { return dynamism_; }
  Ownership ownership() const noexcept { return ownership_; }
  bool is_readonly() const noexcept { return readonly_; }
  bool is_contiguous() const noexcept { return layout_.is_contiguous(); }
  /// Whether elements exist that can be read: false for a placeholder.
  bool has_data() const noexcept { return !placeholder_; }

  /// Element 0; nullptr for a placeholder. The host may not be able to read what it points to.
  const void* data() const noexcept { return data_; }
  /// Errors: InvalidState when the tensor is read-only.
  void* mutable_data() const {
    check_writable("mutable_data");
    return data_;
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
  /// over. Ownership: borrows `data`, which holds at least what the shape at creation reaches.
  /// Errors: InvalidState for a tensor whose memory is not the caller's.
  void set_data(void* data) {
    TENON_CHECK(
        ownership_ == Ownership::Borrowed && !deleter_, Error::InvalidState,
        "set_data: the tensor's memory is not borrowed from the caller, so it cannot be replaced");
    data_ = data;
    placeholder_ = data == nullptr && layout_.numel != 0;
  }

 private:
  friend struct detail::ImplAccess;
  friend class Tensor;

  explicit TensorImpl(detail::ImplParts&& parts) noexcept
      : layout_(std::move(parts.layout)),
        data_(parts.data),
        type_(parts.type),
        dynamism_(layout_.sizes.empty() ? TensorShapeDynamism::STATIC : parts.dynamism),
        ownership_(parts.ownership),
        readonly_(parts.readonly),
        placeholder_(parts.placeholder),
        device_(parts.device),
        base_(std::move(parts.base)),
        deleter_(std::move(parts.deleter)) {
    // A shape is laid from element 0 upward, so memory below it or shared by stride 0 is no room.
    capacity_ = layout_.reach() < layout_.numel ? layout_.reach() : layout_.numel;
    if (base_ != nullptr) base_->borrows_.add();
  }

  static detail::ImplParts describe(ScalarType type, int64_t dim, const SizesType* sizes,
                                    void* data, const DimOrderType* dim_order,
                                    const StridesType* strides, TensorShapeDynamism dynamism) {
    TENON_CHECK(isValidType(type), Error::InvalidType, "TensorImpl: ", type,
                " is not an element type");
    TENON_CHECK(dim >= 0 && (dim == 0 || sizes != nullptr), Error::InvalidArgument,
                "TensorImpl: ", dim, " dimensions",
                dim < 0 ? "; expected 0 or more" : " without sizes");
    detail::ImplParts parts;
    const auto list = [dim](const auto* values) {
      return values != nullptr ? Dims(values, values + dim) : Dims();
    };
    const Error error =
        make_layout(list(sizes), list(dim_order), list(strides), elementSize(type), parts.layout);
    if (error != Error::Ok) {
      detail::raise_message(detail::blame("TensorImpl", error), last_error_message());
    }
    parts.data = data;
    parts.type = type;
    parts.dynamism = dynamism;
    parts.placeholder = data == nullptr && parts.layout.numel != 0;
    return parts;
  }

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
    TENON_CHECK(asked == type_, Error::InvalidType, function, ": asked for ", asked,
                ", but the tensor's dtype is ", type_);
    TENON_CHECK(device_.is_host_accessible(), Error::NotSupported, function, ": memory on ",
                device_, " cannot be read by the host");
    if (!std::is_const_v<T>) check_writable(function);
    return static_cast<T*>(data_);
  }
  void check_writable(const char* function) const {
    TENON_CHECK(!readonly_, Error::InvalidState, function, ": the tensor is read-only");
  }

  Layout layout_;
  void* data_;
  int64_t capacity_;  // elements of room from data_ upward
  ScalarType type_;
  TensorShapeDynamism dynamism_;
  Ownership ownership_;
  bool readonly_;
  bool placeholder_;
  detail::BorrowCount borrows_;
  Device device_;
  TensorImplPtr base_;
  Deleter deleter_;  // last, so that it is destroyed first, before what it may refer to
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
    static_assert(sizeof(T) <= sizeof(TensorImpl) + 4 * sizeof(void*),
                  "control block larger than planned");
    return static_cast<T*>(block);
  }
  void deallocate(T* p, size_t) noexcept { std::free(p); }
  template <class U, class... Args>
  void construct(U* p, Args&&... args);
  template <class U>
  void destroy(U* p) noexcept {
    p->~U();
  }
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
  static constexpr size_t kNodeSize = sizeof(TensorImpl) + 4 * sizeof(void*);

  template <class... Args>
  static void construct(void* p, Args&&... args) noexcept {
    ::new (p) TensorImpl(std::forward<Args>(args)...);
  }

  /// Makes an impl in `block`, which malloc gave and which has room for kNodeSize bytes.
  static TensorImplPtr make_in(void* block, ImplParts&& parts) noexcept {
    return std::allocate_shared<TensorImpl>(NodeAllocator<TensorImpl>(block), std::move(parts));
  }

  static const Layout& layout(const TensorImpl& impl) noexcept { return impl.layout_; }
  static int64_t capacity(const TensorImpl& impl) noexcept { return impl.capacity_; }
  static bool is_borrowed_from(const TensorImpl& impl) noexcept { return impl.borrows_.any(); }
  static const TensorImplPtr& base(const TensorImpl& impl) noexcept { return impl.base_; }
  static const void* raw_data(const TensorImpl& impl) noexcept { return impl.data_; }
  static void* raw_mutable_data(const TensorImpl& impl) noexcept { return impl.data_; }

  static void set_layout(TensorImpl& impl, Layout&& layout) noexcept {
    impl.layout_ = std::move(layout);
  }
  /// Replaces the memory by a block of our own of `capacity` elements and releases the old one.
  static void replace_memory(TensorImpl& impl, Allocation memory, int64_t capacity) noexcept {
    impl.deleter_ = Deleter(memory.base, &std::free);
    impl.data_ = memory.data;
    impl.capacity_ = capacity;
    impl.ownership_ = Ownership::Owned;
  }
};

template <class T>
template <class U, class... Args>
void NodeAllocator<T>::construct(U* p, Args&&... args) {
  ImplAccess::construct(p, std::forward<Args>(args)...);
}

}  // namespace detail

TENON_END_NAMESPACE
