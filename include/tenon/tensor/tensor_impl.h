// SPDX-License-Identifier: MIT
// TensorImpl: metadata, and the deleter that releases the memory which the metadata describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/backend/metadata.h"
#include "tenon/fwd.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN

class TensorArg;
class TensorImpl;

/// Shared metadata and memory.
using TensorImplPtr = std::shared_ptr<TensorImpl>;

TENON_END_OWN

namespace detail {

using own::TensorImpl;
using own::TensorImplPtr;

struct ImplFields : TensorFields {
  AtomicCount borrows;  // views and blobs of this memory
  // A view's base, whose `borrows` count the view. In ATen mode, for an impl behind a c10::Storage:
  // the impl itself.
  TensorImplPtr base;
  Deleter deleter;  // last, so that it runs before anything that it may use is destroyed
};

ImplFields& fields(const TensorImplPtr& impl) noexcept;
ImplFields& fields(const own::TensorArg& tensor) noexcept;

/// For a tensor that gives up its data: data in the metadata's block stays allocated, but is marked
/// as free. All of the last 8 bytes are marked, since inline_room() has allocated them all.
inline void mark_inline_data_free(const ImplFields& tensor) noexcept {
  if (!TENON_MARKS_FREE_MEMORY || tensor.ownership != Ownership::Owned || tensor.deleter ||
      tensor.data == nullptr) {
    return;
  }
  const size_t nbytes = static_cast<size_t>(tensor.capacity) * elementSize(tensor.type);
  mark_free(tensor.data, (nbytes + 7) / 8 * 8);
}

/// Tag of the constructor that make_impl() calls; a creator fills the impl.
struct ImplKey {
  BackendState* metadata_backend;
};

}  // namespace detail

TENON_BEGIN_OWN

/// The metadata accessors of Tensor and TensorImpl. `Self::get(function)` returns the fields, or
/// raises an error under that name. Not in namespace detail, because argument-dependent lookup
/// would then search that namespace.
/// Threads: any threads may read at once; a caller that changes shape or data locks them out.
template <class Self>
class TensorMetadata {
 public:
  /// The sizes, one for each dimension. Valid until the tensor is resized or dropped.
  ArrayRef<SizesType> sizes() const TENON_LIFETIMEBOUND { return get("sizes").layout.sizes(); }
  /// The strides, in elements.
  ArrayRef<StridesType> strides() const TENON_LIFETIMEBOUND {
    return get("strides").layout.strides();
  }
  /// Dimension numbers, outermost in memory first.
  ArrayRef<DimOrderType> dim_order() const TENON_LIFETIMEBOUND {
    return get("dim_order").layout.dim_order();
  }
  /// The size of dimension d; a negative d counts from the end.
  /// Errors: OutOfBounds.
  int64_t size(int64_t d) const { return entry("size", get("size").layout.sizes(), d); }
  /// The stride of dimension d, in elements.
  /// Errors: OutOfBounds.
  int64_t stride(int64_t d) const { return entry("stride", get("stride").layout.strides(), d); }
  /// The number of dimensions.
  int64_t dim() const { return static_cast<int64_t>(get("dim").layout.rank()); }
  /// The number of elements: the product of the sizes.
  int64_t numel() const { return get("numel").layout.numel; }
  /// numel() * element_size(): the bytes of the elements, not of gaps between them.
  size_t nbytes() const { return get("nbytes").nbytes(); }
  /// The bytes of one element.
  size_t element_size() const { return elementSize(get("element_size").type); }
  /// The type of the elements.
  ScalarType dtype() const { return get("dtype").type; }
  /// ATen's and ExecuTorch's name for dtype().
  ScalarType scalar_type() const { return get("scalar_type").type; }
  /// Where the memory is.
  Device device() const { return get("device").device; }
  /// The kind of device().
  DeviceType device_type() const { return get("device_type").device.type(); }
  /// Which device of this kind.
  int32_t device_index() const { return get("device_index").device.index(); }
  /// Whether the shape may change.
  TensorShapeDynamism shape_dynamism() const { return get("shape_dynamism").dynamism; }
  /// Whose the memory is.
  Ownership ownership() const { return get("ownership").ownership; }
  /// Whether the elements are in row-major order without gaps; strides of dimensions of size 1 do
  /// not count.
  bool is_contiguous() const { return get("is_contiguous").layout.is_contiguous(); }
  /// Whether functions refuse to write to the tensor.
  bool is_readonly() const { return get("is_readonly").readonly; }

 private:
  const detail::TensorFields& get(const char* function) const {
    return static_cast<const Self*>(this)->get(function);
  }
  static int64_t entry(const char* function, ArrayRef<int64_t> dims, int64_t d) {
    const auto rank = static_cast<int64_t>(dims.size());
    TENON_CHECK(d >= -rank && d < rank, Error::OutOfBounds, function, ": dimension ", d,
                " is out of range for a tensor of ", rank, " dimensions");
    return dims[static_cast<size_t>(d < 0 ? d + rank : d)];
  }
};

/// A tensor's metadata, data pointer and deleter. Handles (Tensor) share a TensorImpl; most code
/// never uses it directly.
///
/// Ownership: when destroyed, runs its deleter, and drops the tensor that it is a view of.
/// Threads: any threads may read at once; a caller that changes the impl locks them out. Only
/// TensorImplPtr's reference count is synchronised.
/// Source: executorch::aten::TensorImpl and c10::TensorImpl, whose accessors it shares.
class TensorImpl : public TensorMetadata<TensorImpl> {
 public:
  using SizesType = tenon::SizesType;
  using StridesType = tenon::StridesType;
  using DimOrderType = tenon::DimOrderType;

  /// Describes memory that the caller keeps. Allocates nothing for up to TENON_INLINE_DIMS
  /// dimensions, so it can be used on the stack and in static memory. The lists are copied. A null
  /// `data` makes a placeholder; a pointer to const makes a read-only tensor, for example over
  /// constants in flash. The shape is STATIC.
  /// Errors: InvalidArgument for an invalid shape, InvalidType for an Undefined `type` and for a
  /// pointer to elements of another type.
  TENON_ALWAYS_INLINE TensorImpl(ScalarType type, int64_t dim, const SizesType* sizes,
                                 const detail::DataPtr& data = nullptr) {
    const ArrayRef<SizesType> shape = describe(type, dim, sizes);
    set_pointer(type, data);
    detail::raise_if("TensorImpl", fields_.layout.make_row_major(shape, elementSize(type)));
    fields_.finalize(TensorShapeDynamism::STATIC);
  }
  /// The same with a dim order and strides, which may be null. A separate constructor, so that a
  /// program that passes only sizes does not link the checks of strides. Rank 0 is STATIC.
  TensorImpl(ScalarType type, int64_t dim, const SizesType* sizes, const detail::DataPtr& data,
             const DimOrderType* dim_order, const StridesType* strides = nullptr,
             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    const ArrayRef<SizesType> shape = describe(type, dim, sizes);
    set_pointer(type, data);
    detail::raise_if("TensorImpl", detail::make_layout(shape, list(dim_order, shape.size()),
                                                       list(strides, shape.size()),
                                                       elementSize(type), fields_.layout));
    fields_.finalize(dynamism);
  }

  /// Not `= default`, which would first zero the whole object, inline arrays included.
  explicit TensorImpl(detail::ImplKey key) noexcept {
    fields_.metadata_backend = key.metadata_backend;
    fields_.has_seat = detail::kHasOwnTensors;
  }

  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl() {
    detail::mark_inline_data_free(fields_);
    if (fields_.base != nullptr) static_cast<void>(fields_.base->fields_.borrows.remove());
  }

  /// False for a placeholder.
  bool has_data() const noexcept { return fields_.has_data(); }

  /// The address of element 0; nullptr for a placeholder. The host may not be able to read the
  /// memory.
  /// Errors: InvalidState for a deallocated tensor and if the memory's backend was destroyed,
  /// NotSupported for a meta tensor. All members that return pointers have these errors.
  const void* data() const TENON_LIFETIMEBOUND { return detail::raw_data("data", fields_); }
  /// The same as data(), for writing.
  /// Errors: those of data(); InvalidState when the tensor is read-only.
  void* mutable_data() const TENON_LIFETIMEBOUND {
    return detail::writable_data("mutable_data", fields_);
  }
  /// The same as a pointer to elements of type T. T may be what Tensor::const_data_ptr<T>()
  /// accepts.
  /// Errors: InvalidType for another T; InvalidArgument for data that is not aligned for T;
  /// NotSupported for memory that the host cannot read.
  template <class T>
  const T* data() const TENON_LIFETIMEBOUND {
    return detail::pointer_to<const T>("data", fields_);
  }
  /// The same as data<T>(), for writing.
  /// Errors: those of data<T>(); InvalidState when the tensor is read-only.
  template <class T>
  T* mutable_data() const TENON_LIFETIMEBOUND {
    return detail::pointer_to<T>("mutable_data", fields_);
  }

  /// Gives the tensor other memory, as tenon::set_data() does.
  void set_data(const detail::DataPtr& data) {
    detail::raise_if("set_data", detail::bind_data(fields_, data));
  }

 private:
  friend detail::ImplFields& detail::fields(const TensorImplPtr& impl) noexcept;
  friend detail::ImplFields& detail::fields(const own::TensorArg& tensor) noexcept;
  friend class TensorMetadata<TensorImpl>;
  friend class Tensor;

  const detail::ImplFields& get(const char*) const noexcept { return fields_; }

  // Inlined, so that a program whose types agree does not link the text.
  TENON_ALWAYS_INLINE void set_pointer(ScalarType type, const detail::DataPtr& data) {
    if (!data.is_raw() && data.type() != type) {
      detail::raise_if("TensorImpl", detail::check_pointer_type(data, type, "the type given"));
    }
    fields_.data = data.get();
    fields_.readonly = data.is_readonly();
  }
  /// Sets a constructor's other arguments, except the lists. Returns the sizes.
  ArrayRef<SizesType> describe(ScalarType type, int64_t dim, const SizesType* sizes) {
    TENON_CHECK(isValidType(type), Error::InvalidType, "TensorImpl: ", type,
                " is not an element type");
    TENON_CHECK(dim >= 0 && (dim == 0 || sizes != nullptr), Error::InvalidArgument,
                "TensorImpl: ", dim, " dimensions",
                dim < 0 ? "; expected 0 or more" : " were given, but no sizes");
    fields_.type = type;
    // Clamped, so that too large a number of sizes is too large in a 32-bit size_t as well.
    return {sizes, dim > int64_t{kMaxDims} ? kMaxDims + 1 : static_cast<size_t>(dim)};
  }
  template <class T>
  static ArrayRef<T> list(const T* values, size_t rank) noexcept {
    return {values, values == nullptr ? 0 : rank};
  }

  detail::ImplFields fields_;
};

TENON_END_OWN

namespace detail {

/// The size of std::shared_ptr's control block before an object. libstdc++'s control block has two
/// ints, and a mutex if libstdc++ uses no atomic instructions, as with GCC 12 on RISC-V.
#if defined(_LIBCPP_VERSION)
inline constexpr size_t kControlSize = 3 * sizeof(void*) + 2 * sizeof(long);
#elif defined(__GTHREADS) && !defined(_GLIBCXX_HAVE_ATOMIC_LOCK_POLICY)
inline constexpr size_t kControlSize =
    3 * sizeof(void*) + 2 * sizeof(int) + sizeof(__gthread_mutex_t);
#else
inline constexpr size_t kControlSize = 3 * sizeof(void*) + 2 * sizeof(int);
#endif
/// The bytes of a node: a control block and a T.
template <class T>
inline constexpr size_t kNodeSize = (kControlSize + 7) / 8 * 8 + sizeof(T);

/// The address of the T in a node.
template <class T>
inline void* place_in(void* node) noexcept {
  static_assert(alignof(T) <= kMetadataHeader);
  return static_cast<char*>(node) + (kNodeSize<T> - sizeof(T));
}

/// An allocator that returns an existing block from allocate_metadata(). The block begins with the
/// node's control block, and may be larger than the node: the rest holds the tensor's data.
///
/// Does not use std::allocate_shared, whose control block refers to type_info in libstdc++ without
/// RTTI: 1.4 KB on a Cortex-M.
template <class T, size_t kRoom = kControlSize>
struct NodeAllocator {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = NodeAllocator<U, kRoom>;
  };
  explicit NodeAllocator(void* b) noexcept : block(b) {}
  template <class U>
  NodeAllocator(const NodeAllocator<U, kRoom>& other) noexcept : block(other.block) {}
  T* allocate(size_t) noexcept {
    static_assert(sizeof(T) <= kRoom, "control block larger than planned");
    return static_cast<T*>(block);
  }
  /// Frees the block, unless a handle is in the seat.
  void deallocate(T* p, size_t) noexcept {
    mark_free(p, sizeof(T));
    release_metadata(p);
  }
  template <class U>
  friend bool operator==(const NodeAllocator& a, const NodeAllocator<U, kRoom>& b) noexcept {
    return a.block == b.block;
  }
  template <class U>
  friend bool operator!=(const NodeAllocator& a, const NodeAllocator<U, kRoom>& b) noexcept {
    return a.block != b.block;
  }
  void* block;
};

struct DestroyOnly {
  template <class T>
  void operator()(T* p) const noexcept {
    p->~T();
    mark_free(p, sizeof(T));
  }
};

inline ImplFields& fields(const TensorImplPtr& impl) noexcept { return impl->fields_; }

/// The seat of an impl from make_impl(). Does not read the impl.
inline Seat* seat_of(const TensorImplPtr& impl) noexcept {
  constexpr size_t kOffset = sizeof(Seat) + kNodeSize<TensorImpl> - sizeof(TensorImpl);
  void* const seat = reinterpret_cast<unsigned char*>(impl.get()) - kOffset;
  return static_cast<Seat*>(seat);
}
/// Takes a tensor's seat for a new handle. Null if there is no seat, or if the seat is taken.
inline void* take_seat(const TensorImplPtr& impl) noexcept {
  // Without a reference count, as over a raw TensorImpl*, the tensor may be destroyed before its
  // handle.
  if (impl.use_count() == 0 || !fields(impl).has_seat) return nullptr;
  Seat* const seat = seat_of(impl);
  if (!seat->holders.change(Seat::kNode, Seat::kNodeAndHandle)) return nullptr;
  mark_used(seat->handle, sizeof seat->handle);
  return seat->handle;
}

}  // namespace detail

TENON_END_NAMESPACE
