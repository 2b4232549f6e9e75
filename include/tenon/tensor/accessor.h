// SPDX-License-Identifier: MIT
// Typed access to elements. TensorAccessor indexes them, a[i][j] or a(i, j). The functions below it
// implement Tensor's members and access.h; they raise errors under the name of the public
// `function` that was called.
#pragma once

#include "tenon/core/result.h"
#include "tenon/core/tensor_view.h"
#include "tenon/tensor/fields.h"

TENON_BEGIN_NAMESPACE

/// Indexes N-dimensional memory of elements T through its strides; T is const for read-only
/// tensors.
///
/// Ownership: the accessor does not own the memory. It copies sizes and strides, so that a row
/// `a[i]` may outlive `a`. Indices are checked in debug builds and wherever TENON_CHECKED is
/// defined: OutOfBounds. In release builds a loop over a[i][j], a(i, j) or rows compiles to the
/// instructions of a loop over a pointer, for any rank; a test counts them.
/// Source: at::TensorAccessor; ExecuTorch's TensorAccessor, which accepts only the default dim
/// order.
template <class T, size_t N>
class TensorAccessor {
 public:
  static_assert(N >= 1, "a tensor of rank 0 has item<T>(), not an accessor");
  using value_type = T;
  class Iterator;

  /// `sizes` and `strides` point to N values each; strides are in elements.
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) noexcept
      : TensorAccessor(data, sizes, strides, std::make_index_sequence<N>()) {}

  /// The address of element 0.
  T* data() const noexcept { return data_; }
  /// The number of dimensions.
  static constexpr size_t rank() noexcept { return N; }
  /// The size of dimension d.
  /// Errors: OutOfBounds.
  int64_t size(size_t d) const { return sizes_[check_dim(d)]; }
  /// mdspan's name for size().
  int64_t extent(size_t d) const { return size(d); }
  /// The stride of dimension d, in elements.
  /// Errors: OutOfBounds.
  int64_t stride(size_t d) const { return strides_[check_dim(d)]; }
  /// All sizes.
  ArrayRef<int64_t> sizes() const noexcept TENON_LIFETIMEBOUND { return sizes_; }
  /// All strides, in elements.
  ArrayRef<int64_t> strides() const noexcept TENON_LIFETIMEBOUND { return strides_; }

  /// The accessor of the remaining dimensions, or the element if there is one dimension.
  TENON_ALWAYS_INLINE decltype(auto) operator[](int64_t i) const {
    check_index(0, i);
    T* const at = data_ + i * strides_[0];
    if constexpr (N == 1) {
      return static_cast<T&>(*at);
    } else {
      return TensorAccessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
    }
  }

  /// For `for (auto row : a)`: the accessors of the rows, or the elements if there is one
  /// dimension. An iterator may outlive the accessor.
  Iterator begin() const noexcept { return {*this, 0}; }
  /// Past the last row or element.
  Iterator end() const noexcept { return {*this, sizes_[0]}; }

  /// The element at N indices.
  template <class... Index>
  TENON_ALWAYS_INLINE T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == N,
                  "an accessor of N dimensions takes N indices, as in a(i, j); a[i] is a row");
    return at(std::index_sequence_for<Index...>(), index...);
  }

 private:
  // One initialiser per value: GCC does not unroll a loop of three or more, so that a[i][j] would
  // really copy the lists.
  template <size_t... D>
  TENON_ALWAYS_INLINE TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides,
                                     std::index_sequence<D...>) noexcept
      : data_(data), sizes_{sizes[D]...}, strides_{strides[D]...} {}

  template <size_t... D, class... Index>
  TENON_ALWAYS_INLINE T& at(std::index_sequence<D...>, Index... index) const {
    (check_index(D, static_cast<int64_t>(index)), ...);
    return data_[((static_cast<int64_t>(index) * strides_[D]) + ...)];
  }
  // Always inlined: its body depends on NDEBUG, so files must not share it.
  TENON_ALWAYS_INLINE void check_index([[maybe_unused]] size_t d,
                                       [[maybe_unused]] int64_t i) const {
    TENON_DCHECK(i >= 0 && i < sizes_[d], Error::OutOfBounds, "accessor: index ", i,
                 " of dimension ", d, " is out of range for size ", sizes_[d]);
  }
  size_t check_dim(size_t d) const {
    TENON_CHECK(d < N, Error::OutOfBounds, "accessor: dimension ", d, " is out of range for ", N,
                " dimensions");
    return d;
  }

  T* data_;
  int64_t sizes_[N];
  int64_t strides_[N];
};

/// Iterates over the first dimension: a forward iterator over elements, or an input iterator over
/// rows, since `*` makes each row.
template <class T, size_t N>
class TensorAccessor<T, N>::Iterator {
 public:
  using reference = decltype(std::declval<const TensorAccessor&>()[0]);
  using value_type = std::remove_cv_t<std::remove_reference_t<reference>>;
  using difference_type = ptrdiff_t;
  using pointer = std::conditional_t<N == 1, T*, void>;
  using iterator_category =
      std::conditional_t<N == 1, std::forward_iterator_tag, std::input_iterator_tag>;

  /// An iterator at row or element i of an accessor. Without arguments, an iterator that must be
  /// assigned before use.
  Iterator() noexcept : Iterator({nullptr, kNone, kNone}, 0) {}
  Iterator(const TensorAccessor& over, int64_t i) noexcept : over_(over), i_(i) {}

  /// The row, as an accessor with one dimension less, or the element.
  reference operator*() const { return over_[i_]; }
  /// A member of the element.
  template <class R = reference, std::enable_if_t<std::is_lvalue_reference_v<R>, int> = 0>
  std::remove_reference_t<R>* operator->() const {
    return &**this;
  }
  /// Moves to the next row or element.
  Iterator& operator++() noexcept { return ++i_, *this; }
  Iterator operator++(int) noexcept { return {over_, i_++}; }
  /// Compares iterators of one accessor.
  bool operator==(const Iterator& other) const noexcept { return i_ == other.i_; }
  /// Whether they are at different rows or elements.
  bool operator!=(const Iterator& other) const noexcept { return i_ != other.i_; }

 private:
  static constexpr int64_t kNone[N] = {};

  TensorAccessor over_;
  int64_t i_;
};

namespace detail {

/// Checks that `data` is aligned for elements of `type`, or for the parts of a complex type.
TENON_TEMPLATE_INLINE Error check_aligned(const void* data, ScalarType type) noexcept {
  const size_t alignment = isComplexType(type) ? elementSize(type) / 2 : elementSize(type);
  const uintptr_t beyond = reinterpret_cast<uintptr_t>(data) & (alignment - 1);
  if (beyond != 0) {
    return fail(Error::InvalidArgument, "the data lies ", beyond, " bytes after a multiple of ",
                alignment, ", which ", type, " needs");
  }
  return Error::Ok;
}

/// Checks that elements of type `asked` may be accessed by `rank` indices. `what` is the error
/// text's name for the memory: "view", "blob".
TENON_TEMPLATE_INLINE Error check_access(const char* what, const TensorView& view, ScalarType asked,
                                         size_t rank) noexcept {
  if (view.sizes.size() != rank) {
    return fail(Error::InvalidArgument, "asked for ", rank, " dimensions, the ", what, " has ",
                view.sizes.size());
  }
  if (view.strides.size() != rank) {
    return fail(Error::InvalidArgument, "strides ", view.strides, " and sizes ", view.sizes,
                " differ in length");
  }
  if (public_type(asked) != view.type) {
    return fail(Error::InvalidType, "asked for ", asked, ", but the ", what, "'s dtype is ",
                own_type(view.type));
  }
  if (!view.device.is_host_accessible()) {
    return fail(Error::NotSupported, "the ", what, " is on ", view.device,
                ", which the host cannot reach");
  }
  bool empty = false;
  for (int64_t size : view.sizes) empty |= size == 0;
  if (view.data == nullptr && !empty) {
    return fail(Error::InvalidState, "the ", what, " of sizes ", view.sizes, " has no data");
  }
  return empty ? Error::Ok : check_aligned(view.data, asked);
}
template <class T, size_t N>
Error check_access(const char* what, const TensorView& view) noexcept {
  return check_access(what, view, own_type(CppTypeToScalarType<T>::value), N);
}

/// The accessor of a view that passed check_access().
template <class T, size_t N>
TensorAccessor<T, N> accessor_of(const TensorView& view) noexcept {
  return TensorAccessor<T, N>(static_cast<T*>(view.data), view.sizes.data(), view.strides.data());
}

}  // namespace detail

/// Indexed access to a view's elements, `accessor<float, 2>(view)[i][j]`.
///
/// Ownership: none. The memory must outlive the accessor; the view need not.
/// Errors: InvalidType unless T is the view's dtype; InvalidArgument unless N is its rank and the
/// data is aligned for T; NotSupported for memory that the host cannot read; InvalidState for null
/// data with elements. A view does not know whether its memory is read-only: the caller chooses
/// const T. The try_ form returns a Result.
/// Source: Tensor::accessor().
template <class T, size_t N>
TensorAccessor<T, N> accessor(const TensorView& view) {
  detail::raise_if("accessor", detail::check_access<T, N>("view", view));
  return detail::accessor_of<T, N>(view);
}
template <class T, size_t N>
TensorAccessor<T, N> accessor(const ViewWithLists& view) {
  detail::raise_if("accessor", detail::check_lists(view));
  const TensorView memory = view;
  return accessor<T, N>(memory);
}
template <class T, size_t N>
Result<TensorAccessor<T, N>> try_accessor(const TensorView& view) noexcept {
  TENON_TRY(detail::add_context_if("try_accessor", detail::check_access<T, N>("view", view)));
  return detail::accessor_of<T, N>(view);
}
template <class T, size_t N>
Result<TensorAccessor<T, N>> try_accessor(const ViewWithLists& view) noexcept {
  TENON_TRY(detail::add_context_if("try_accessor", detail::check_lists(view)));
  const TensorView memory = view;
  return try_accessor<T, N>(memory);
}

namespace detail {

TENON_TEMPLATE_INLINE Error check_writable(const TensorFields& tensor) noexcept {
  if (tensor.readonly) {
    return fail(Error::InvalidState, "the tensor is read-only");
  }
  return Error::Ok;
}

/// Checks that there is a pointer to element 0, on any device; a placeholder's is null. Fails if
/// the backend was destroyed, and for a meta tensor that a creator made. A meta tensor over a null
/// pointer counts as a placeholder.
inline Error check_raw_data(const TensorFields& tensor) noexcept {
  TENON_TRY(check_not_deallocated(tensor, "the tensor"));
  TENON_TRY(check_data_backend(tensor, "the tensor"));
  if (tensor.is_meta() && tensor.ownership == Ownership::Owned) return fail_host_access(tensor);
  return Error::Ok;
}
inline Error check_writable_data(const TensorFields& tensor) noexcept {
  TENON_TRY(check_writable(tensor));
  return check_raw_data(tensor);
}

/// Returns `type` if it is Half, BFloat16 or a Float8 type and `asked` is an integer type of that
/// size; else `asked`.
TENON_COLD inline ScalarType type_of_bits(ScalarType asked, ScalarType type) noexcept {
  return isFloatingType(type) && elementSize(type) == elementSize(asked) ? type : asked;
}

/// Checks that the host may access elements as T (const T: read them). T is the dtype's C++ type,
/// or uint16_t or uint8_t for the bits of a small floating type.
template <class T>
Error check_elements(const TensorFields& tensor) noexcept {
  constexpr ScalarType type = own_type(CppTypeToScalarType<T>::value);
  ScalarType asked = type;
  if constexpr (type == ScalarType::UInt16 || type == ScalarType::Byte) {
    if (tensor.type != type) asked = type_of_bits(type, tensor.type);
  }
  TENON_TRY(check_typed(tensor, asked));
  if (tensor.layout.numel != 0) TENON_TRY(check_aligned(tensor.data, type));
  return std::is_const_v<T> ? Error::Ok : check_writable(tensor);
}
/// Does what check_elements() does, but accepts std::byte and char for the bytes of any dtype.
template <class T>
Error check_pointer_to(const TensorFields& tensor) noexcept {
  if constexpr (is_char_or_byte_v<std::remove_const_t<T>>) {
    TENON_TRY(check_typed(tensor, tensor.type));
    return std::is_const_v<T> ? Error::Ok : check_writable(tensor);
  } else {
    return check_elements<T>(tensor);
  }
}
template <class T>
Error check_span(const TensorFields& tensor) noexcept {
  TENON_TRY(check_elements<T>(tensor));
  TENON_TRY(check_not_placeholder(tensor));
  if (tensor.layout.is_contiguous()) return Error::Ok;
  return fail(Error::InvalidState, "strides ", tensor.layout.strides(), " of sizes ",
              tensor.layout.sizes(), " are not contiguous; contiguous(t) makes a contiguous copy");
}
template <class T, size_t N>
Error check_accessor(const TensorFields& tensor) noexcept {
  TENON_TRY(check_elements<T>(tensor));
  TENON_TRY(check_not_placeholder(tensor));
  if (tensor.layout.rank() == N) return Error::Ok;
  return fail(Error::InvalidArgument, "asked for ", N, " dimensions, the tensor has ",
              tensor.layout.rank());
}
template <class T>
Error find_item(const TensorFields& tensor, T& found) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (tensor.layout.numel != 1) {
    return fail(Error::InvalidArgument, "a tensor of sizes ", tensor.layout.sizes(), " has ",
                tensor.layout.numel, " elements, expected 1");
  }
  if (!tensor.is_host_accessible()) return fail_host_access(tensor);
  const Scalar value = load_scalar(tensor.type, tensor.data);
  if (!value.fits<T>()) {
    return fail(Error::InvalidArgument, value, " does not fit ", CppTypeToScalarType<T>::value);
  }
  found = value.to<T>();
  return Error::Ok;
}

/// The elements of a tensor that passed check_span().
template <class T>
Span<T> span_of(const TensorFields& tensor) noexcept {
  return Span<T>(static_cast<T*>(tensor.data), static_cast<size_t>(tensor.layout.numel));
}
/// The accessor of a tensor that passed check_accessor().
template <class T, size_t N>
TensorAccessor<T, N> accessor_of(const TensorFields& tensor) noexcept {
  return TensorAccessor<T, N>(static_cast<T*>(tensor.data), tensor.layout.sizes().data(),
                              tensor.layout.strides().data());
}

// For Tensor's members and access.h: these functions raise the error.

inline void* raw_data(const char* function, const TensorFields& tensor) {
  raise_if(function, check_raw_data(tensor));
  return tensor.data;
}
inline void* writable_data(const char* function, const TensorFields& tensor) {
  raise_if(function, check_writable_data(tensor));
  return tensor.data;
}
/// The tensor's view; its data is null for deallocated tensors, meta tensors and placeholders.
inline TensorView view_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_data_backend(tensor, "the tensor"));
  return view_of(tensor);
}
template <class T>
T* pointer_to(const char* function, const TensorFields& tensor) {
  raise_if(function, check_pointer_to<T>(tensor));
  return static_cast<T*>(tensor.data);
}
template <class T>
Span<T> span_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_span<T>(tensor));
  return span_of<T>(tensor);
}
template <class T, size_t N>
TensorAccessor<T, N> accessor_of(const char* function, const TensorFields& tensor) {
  raise_if(function, check_accessor<T, N>(tensor));
  return accessor_of<T, N>(tensor);
}
template <class T>
T item_of(const char* function, const TensorFields& tensor) {
  T found{};
  raise_if(function, find_item(tensor, found));
  return found;
}
inline bool is_aligned(const char* function, const TensorFields& tensor, size_t n) {
  TENON_CHECK(n != 0, Error::InvalidArgument, function, ": 0 is not an alignment");
  return reinterpret_cast<uintptr_t>(tensor.data) % n == 0;
}

}  // namespace detail
TENON_END_NAMESPACE
