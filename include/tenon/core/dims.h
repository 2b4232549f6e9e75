// SPDX-License-Identifier: MIT
// Dims, Strides and DimOrder: short lists of sizes, strides or dimension numbers, held inline.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#if !defined(__GLIBCXX__)  // libstdc++'s <vector> declares the needed parts of <iterator>
#include <iterator>
#endif

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/core/memory.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

using SizesType = int64_t;     ///< a size, in elements
using StridesType = int64_t;   ///< a stride, in elements
using DimOrderType = uint8_t;  ///< a dimension's number

/// The most dimensions that a tensor can have.
inline constexpr size_t kMaxDims = 64;

static_assert(TENON_INLINE_DIMS >= 1 && TENON_INLINE_DIMS <= kMaxDims,
              "TENON_INLINE_DIMS is 1 to 64");

TENON_END_NAMESPACE

TENON_BEGIN_VALUES
namespace detail_values {

/// An integer of any type, an unscoped enumerator or a std::integral_constant, so that `{n, 3}`
/// with a size_t n is a list of sizes. Not constructible from floating values: `{1.0f}` is data,
/// never a shape. A value above int64_t's range, such as `n - 3` with a size_t n of 2, clears
/// `fits` and is stored as INT64_MIN: the -1 that it would wrap to has a meaning.
struct DimArg {
  template <class Integer, std::enable_if_t<detail::is_integer_v<Integer>, int> = 0>
  constexpr DimArg(Integer i) noexcept
      : value(static_cast<int64_t>(i)), fits(std::is_signed_v<Integer> || value >= 0) {
    if (!fits) value = INT64_MIN;
  }
  template <
      class E, class Integer = std::underlying_type_t<E>,
      std::enable_if_t<std::is_convertible_v<E, Integer> && detail::is_integer_v<Integer>, int> = 0>
  constexpr DimArg(E enumerator) noexcept : DimArg(static_cast<Integer>(enumerator)) {}
  template <class Integer, Integer kValue, std::enable_if_t<detail::is_integer_v<Integer>, int> = 0>
  constexpr DimArg(std::integral_constant<Integer, kValue>) noexcept : DimArg(kValue) {}
  constexpr operator int64_t() const noexcept { return value; }
  int64_t value;
  bool fits;
};

/// Up to kMost values of a trivial type T: kInline of them in the object, more in one heap block.
/// Never throws: a list that is too long, or for which there is no memory, becomes empty, and
/// error() returns the reason. A function that takes ownership of data is then still called: it
/// reports the error under its own name and runs the deleter.
template <class T, size_t kInline, size_t kMost = kMaxDims>
class InlineArray {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  /// How many values fit inline.
  static constexpr size_t kInlineSize = kInline;

  InlineArray() noexcept {}
  explicit InlineArray(ArrayRef<T> values) noexcept { assign(values); }
  InlineArray(const InlineArray& other) noexcept : error_(other.error_) {
    if (resize_for_overwrite(other.size_)) copy_values(data_, other.data_, size_);
  }
  InlineArray(InlineArray&& other) noexcept { steal(other); }
  InlineArray& operator=(const InlineArray& other) noexcept {
    if (this != &other) *this = InlineArray(other);
    return *this;
  }
  InlineArray& operator=(InlineArray&& other) noexcept {
    if (this != &other) {
      if (is_on_heap()) detail::heap_release(data_);
      steal(other);
    }
    return *this;
  }
  ~InlineArray() {
    if (is_on_heap()) detail::heap_release(data_);
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept TENON_LIFETIMEBOUND { return data_; }
  const T* data() const noexcept TENON_LIFETIMEBOUND { return data_; }
  T* begin() noexcept TENON_LIFETIMEBOUND { return data_; }
  T* end() noexcept TENON_LIFETIMEBOUND { return data_ + size_; }
  const T* begin() const noexcept TENON_LIFETIMEBOUND { return data_; }
  const T* end() const noexcept TENON_LIFETIMEBOUND { return data_ + size_; }
  T& operator[](size_t i) noexcept TENON_LIFETIMEBOUND { return data_[i]; }
  const T& operator[](size_t i) const noexcept TENON_LIFETIMEBOUND { return data_[i]; }
  const T& back() const noexcept TENON_LIFETIMEBOUND { return data_[size_ - 1]; }

  /// Ok, InvalidArgument (more than kMost values), OutOfBounds (a value that T cannot hold) or
  /// OutOfMemory.
  Error error() const noexcept { return error_; }

  /// Replaces the values; `values` must not refer to this list. Returns false on failure: see
  /// error().
  bool assign(ArrayRef<T> values) noexcept {
    if (!resize_for_overwrite(values.size())) return false;
    copy_values(data_, values.data(), size_);
    return true;
  }
  void push_back(T value) noexcept {
    if ((size_ >= kInline || error_ != Error::Ok) && !make_room(size_ + size_t{1})) return;
    data_[size_++] = value;
  }
  /// Inserts a value before values[at]. Returns false on failure: see error().
  bool insert(size_t at, T value) noexcept {
    if (!resize_for_overwrite(size_ + size_t{1})) return false;
    for (size_t i = size_ - size_t{1}; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = value;
    return true;
  }
  void erase(size_t at) noexcept {
    --size_;
    for (size_t i = at; i < size_; ++i) data_[i] = data_[i + 1];
  }
  /// Resizes to `n` values, new ones uninitialised. Returns false on failure: see error().
  bool resize_for_overwrite(size_t n) noexcept {
    if ((n > kInline || error_ != Error::Ok) && !make_room(n)) return false;
    size_ = static_cast<Size>(n);
    return true;
  }

  // Compares two lists. Any other operands are compared as ArrayRefs.
  template <class A, class B,
            std::enable_if_t<std::is_base_of_v<InlineArray, A> && std::is_base_of_v<InlineArray, B>,
                             int> = 0>
  friend bool operator==(const A& a, const B& b) noexcept {
    return ArrayRef<T>(a) == ArrayRef<T>(b);
  }
  template <class A, class B,
            std::enable_if_t<std::is_base_of_v<InlineArray, A> && std::is_base_of_v<InlineArray, B>,
                             int> = 0>
  friend bool operator!=(const A& a, const B& b) noexcept {
    return !(a == b);
  }

 protected:
  void fail(Error error) noexcept {
    error_ = error;
    size_ = 0;
  }

 private:
  using Size = std::conditional_t<kMost <= UINT8_MAX, uint8_t, size_t>;

  bool is_on_heap() const noexcept { return TENON_HEAP && kInline < kMost && data_ != inline_; }
  // Copies one by one, which volatile enforces: memmove() takes longer for so few values, and a
  // vector load of values just stored one by one waits for the store buffer, some 5 ns.
  static void copy_values(T* to, const T* from, size_t n) noexcept {
    if constexpr (std::is_class_v<T>) {
      std::memcpy(to, from, n * sizeof(T));
    } else {
      const volatile T* const values = from;
      for (size_t i = 0; i < n; ++i) to[i] = values[i];
    }
  }
  void steal(InlineArray& other) noexcept {
    size_ = other.size_;
    error_ = other.error_;
    if (other.is_on_heap()) {
      data_ = std::exchange(other.data_, other.inline_);
    } else {
      data_ = inline_;
      copy_values(inline_, other.inline_, size_);
    }
    other.size_ = 0;
  }
  /// The capacity of the heap block of a list of `n` values.
  static constexpr size_t heap_room(size_t n) noexcept {
    return kMost == kMaxDims || n < kMaxDims ? kMaxDims : n;
  }
  TENON_COLD bool make_room(size_t n) noexcept {
    if (error_ != Error::Ok) return false;
    if (n <= (is_on_heap() ? heap_room(size_) : kInline)) return true;
    T* block =
        n <= kMost ? static_cast<T*>(detail::heap_allocate(heap_room(n) * sizeof(T))) : nullptr;
    if (block == nullptr) {
      fail(kMost == kMaxDims && n > kMost ? Error::InvalidArgument : Error::OutOfMemory);
      return false;
    }
    std::memcpy(block, data_, size_ * sizeof(T));
    if (is_on_heap()) detail::heap_release(data_);
    data_ = block;
    return true;
  }

  static_assert(std::is_trivially_copyable_v<T> && kInline <= kMaxDims);
  T inline_[kInline];
  T* data_ = inline_;  // or a heap block
  Size size_ = 0;
  Error error_ = Error::Ok;
};

}  // namespace detail_values
TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE
namespace detail {

using detail_values::DimArg;
using detail_values::InlineArray;

template <class C, class = void>
struct IsIntegerRange : std::false_type {};
template <class C>
struct IsIntegerRange<C, std::void_t<decltype(*std::begin(std::declval<const C&>())),
                                     decltype(std::end(std::declval<const C&>()))>>
    : std::is_convertible<decltype(*std::begin(std::declval<const C&>())), DimArg> {};

template <class C, class = void>
struct HasSize : std::false_type {};
template <class C>
struct HasSize<C, std::void_t<decltype(std::declval<const C&>().size())>>
    : std::is_same<decltype(std::declval<const C&>().size()), size_t> {};

/// Passed as kMost for a list without a limit.
inline constexpr size_t kAnyLength = PTRDIFF_MAX / sizeof(int64_t);

/// A local array with an entry for each dimension: on the stack; on bare metal, whose stacks are
/// small, inline up to TENON_INLINE_DIMS, as in a Dims.
template <class T>
using DimArray = InlineArray<T, TENON_BARE_METAL ? TENON_INLINE_DIMS : kMaxDims>;

}  // namespace detail
TENON_END_NAMESPACE

TENON_BEGIN_VALUES

class DimOrder;

/// Sizes or strides, at most kMaxDims of them. Up to TENON_INLINE_DIMS (6, on bare metal 4) are
/// held inline, more in one heap block.
///
/// Converts from braces of integers of any type, from any range of integers and from ArrayRef, and
/// copies the values, so nothing refers to a dead initializer list. Throws only what a range's
/// iterators throw; other errors are in error().
/// Functions refuse a list with an unsigned value above INT64_MAX.
class Dims : public detail::InlineArray<int64_t, TENON_INLINE_DIMS> {
 public:
  Dims() noexcept = default;
  /// Copies the values of a list such as `{2, 3}`, a span or a range.
  Dims(std::initializer_list<detail::DimArg> values) noexcept { copy(values); }
  Dims(ArrayRef<int64_t> values) noexcept : InlineArray(values) {}
  template <class C,
            std::enable_if_t<detail::IsIntegerRange<C>::value &&
                                 !std::is_base_of_v<InlineArray, C> && !std::is_same_v<C, DimOrder>,
                             int> = 0>
  TENON_DETAIL_RAISES Dims(const C& values) {
    if constexpr (detail::HasSize<C>::value) {
      copy(values);
    } else {
      for (detail::DimArg v : values) append(v);
    }
  }
  /// The integers in [first, last).
  template <class It,
            std::enable_if_t<std::is_convertible_v<decltype(*std::declval<It&>()), detail::DimArg>,
                             int> = 0>
  TENON_DETAIL_RAISES Dims(It first, It last) {
    for (; first != last; ++first) append(*first);
  }
  template <class NumberNeedsBraces,
            std::enable_if_t<std::is_integral_v<NumberNeedsBraces>, int> = 0>
  Dims(NumberNeedsBraces) TENON_MISTAKE("a list of sizes or dimensions needs braces, as in {2, 3}");
  template <class OrderIsAnOption,
            std::enable_if_t<std::is_same_v<OrderIsAnOption, DimOrder>, int> = 0>
  Dims(const OrderIsAnOption&)
      TENON_MISTAKE("a DimOrder is neither sizes nor strides: zeros({2, 3}, DimOrder{1, 0})");

 private:
  template <class C>
  void copy(const C& values) {
    if (!resize_for_overwrite(values.size())) return;
    bool fit = true;
    int64_t* out = data();
    for (detail::DimArg v : values) {
      *out++ = v.value;
      fit &= v.fits;
    }
    if (!fit) fail(Error::OutOfBounds);
  }
  void append(detail::DimArg v) noexcept {
    push_back(v.value);
    if (!v.fits) fail(Error::OutOfBounds);
  }
};

/// Strides as an option: `from_blob(data, {2, 3}, Strides{1, 2})`. Constructed like a Dims. Does
/// not convert to Dims, so that strides cannot be passed as sizes by mistake.
class Strides {
 public:
  /// The strides, in elements, of a list such as `{3, 1}` or of Dims.
  Strides(std::initializer_list<detail::DimArg> values) noexcept : dims_(values) {}
  explicit Strides(Dims values) noexcept : dims_(std::move(values)) {}
  /// The strides as a list.
  const Dims& dims() const noexcept TENON_LIFETIMEBOUND { return dims_; }

 private:
  Dims dims_;
};

/// A permutation of dimension numbers, outermost in memory first: the result of dim_order(), and an
/// option: `make_tensor_ptr({2, 3}, data, DimOrder{1, 0})`. Constructed like a Dims. Does not
/// convert to Dims.
class DimOrder : public detail::InlineArray<DimOrderType, TENON_INLINE_DIMS> {
 public:
  DimOrder() noexcept = default;
  /// The dimension numbers of a list such as `{1, 0}`, a span or a range.
  DimOrder(std::initializer_list<detail::DimArg> values) noexcept : DimOrder(Dims(values)) {}
  DimOrder(ArrayRef<DimOrderType> values) noexcept : InlineArray(values) {}
  template <class C,
            std::enable_if_t<detail::IsIntegerRange<C>::value &&
                                 !std::is_base_of_v<InlineArray, C> && !std::is_base_of_v<Dims, C>,
                             int> = 0>
  TENON_DETAIL_RAISES DimOrder(const C& values) : DimOrder(Dims(values)) {}
  DimOrder(const Dims& values) noexcept {
    bool fit = resize_for_overwrite(values.size());
    for (size_t d = 0; d < size(); ++d) {
      (*this)[d] = static_cast<DimOrderType>(values[d]);
      fit &= values[d] >= 0 && values[d] < static_cast<int64_t>(kMaxDims);
    }
    if (values.error() != Error::Ok) fail(values.error());
    if (!fit && error() == Error::Ok) fail(Error::OutOfBounds);
  }
};

namespace detail_values {

/// Enabled for ranges of integers that are copied to a Dims. A Dims itself is moved.
template <class C>
using IfDims = std::enable_if_t<detail::IsIntegerRange<C>::value && !std::is_same_v<C, DimOrder> &&
                                    !std::is_base_of_v<Dims, C>,
                                int>;

/// A parameter or field that takes strides: a Strides, or anything that converts to Dims.
class StridesArg : public Dims {
 public:
  StridesArg() noexcept = default;
  StridesArg(std::initializer_list<detail::DimArg> values) noexcept : Dims(values) {}
  template <class C, IfDims<C> = 0>
  TENON_DETAIL_RAISES StridesArg(const C& values) : Dims(values) {}
  StridesArg(Dims strides) noexcept : Dims(std::move(strides)) {}
  StridesArg(const Strides& strides) noexcept : Dims(strides.dims()) {}
  template <class NumberNeedsBraces,
            std::enable_if_t<std::is_integral_v<NumberNeedsBraces>, int> = 0>
  StridesArg(NumberNeedsBraces) TENON_MISTAKE("a list of strides needs braces, as in {3, 1}");
  template <class OrderIsAnOption,
            std::enable_if_t<std::is_same_v<OrderIsAnOption, DimOrder>, int> = 0>
  StridesArg(const OrderIsAnOption&)
      TENON_MISTAKE("a DimOrder is neither sizes nor strides: zeros({2, 3}, DimOrder{1, 0})");
};

/// A parameter or field that takes dimension numbers: a DimOrder, or anything that converts to
/// Dims.
class DimOrderArg : public Dims {
 public:
  DimOrderArg() noexcept = default;
  DimOrderArg(std::initializer_list<detail::DimArg> values) noexcept : Dims(values) {}
  template <class C, IfDims<C> = 0>
  TENON_DETAIL_RAISES DimOrderArg(const C& values) : Dims(values) {}
  DimOrderArg(Dims order) noexcept : Dims(std::move(order)) {}
  DimOrderArg(const DimOrder& order) noexcept : Dims(order.begin(), order.end()) {
    if (order.error() != Error::Ok) fail(order.error());
  }
  template <class NumberNeedsBraces,
            std::enable_if_t<std::is_integral_v<NumberNeedsBraces>, int> = 0>
  DimOrderArg(NumberNeedsBraces) TENON_MISTAKE("a list of dimensions needs braces, as in {1, 0}");
};

}  // namespace detail_values

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE
namespace detail {

using detail_values::DimOrderArg;
using detail_values::StridesArg;

template <class T, size_t kInline, size_t kMost>
void append(Message& out, const InlineArray<T, kInline, kMost>& list) noexcept {
  append(out, ArrayRef<T>(list.data(), list.size()));
}

TENON_COLD inline Error fail_dims(const char* what, Error error) noexcept {
  if (error == Error::InvalidArgument) {
    return fail(Error::InvalidArgument, what, " has more than ", kMaxDims, " entries");
  }
  if (error == Error::OutOfBounds) {
    return fail(Error::InvalidArgument, what, " has a value above int64_t's range");
  }
  return fail_no_memory(what);
}
/// `what` is the list's name in the message: "sizes", "strides", "dim_order".
inline Error check_dims(const char* what, const Dims& dims) noexcept {
  return dims.error() != Error::Ok ? fail_dims(what, dims.error()) : Error::Ok;
}
/// Reports the error() of a DimOrder, or of a list used as one.
inline Error check_dim_order(Error error) noexcept {
  if (error == Error::OutOfBounds) {
    return fail(Error::InvalidArgument,
                "dim_order has a value that is not a dimension: expected 0 "
                "to the rank - 1, each once");
  }
  return error != Error::Ok ? fail_dims("dim_order", error) : Error::Ok;
}

}  // namespace detail

TENON_END_NAMESPACE
