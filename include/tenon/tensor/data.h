// SPDX-License-Identifier: MIT
// The arguments of creators: Values (lists and containers) and TypeArg (the optional dtype).
#pragma once

#include <new>
#include <string>
#include <vector>

#include "tenon/core/data_ptr.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An optional dtype argument, by default the data's. Converts only from ScalarType and is not
/// default-constructible, so that `{}` in its place means an empty list of strides, never Byte.
class TypeArg {
 public:
  template <class T, std::enable_if_t<std::is_same_v<T, tenon::ScalarType>, int> = 0>
  constexpr TypeArg(T type) noexcept : type_(own_type(type)), given_(true) {}
  /// The type of the data.
  static constexpr TypeArg deduced() noexcept { return TypeArg(Deduced()); }

  constexpr bool is_given() const noexcept { return given_; }
  constexpr own::ScalarType value_or(own::ScalarType otherwise) const noexcept {
    return given_ ? type_ : otherwise;
  }

 private:
  struct Deduced {};
  explicit constexpr TypeArg(Deduced) noexcept {}
  own::ScalarType type_ = own::ScalarType::Undefined;
  bool given_ = false;
};

// Finds begin() and end() as range-based for does: members, else free functions. Ranges may be
// non-const.
namespace range_access {
using std::begin;
using std::end;
// Both overloads are called with 0. The one with an int parameter matches better, so members come
// first.
template <class C>
constexpr auto find_first(C& range, int) -> decltype(range.begin()) {
  return range.begin();
}
template <class C>
constexpr auto find_first(C& range, long) -> decltype(begin(range)) {
  return begin(range);
}
template <class C>
constexpr auto find_last(C& range, int) -> decltype(range.end()) {
  return range.end();
}
template <class C>
constexpr auto find_last(C& range, long) -> decltype(end(range)) {
  return end(range);
}
template <class C>
constexpr auto first(C& range) -> decltype(range_access::find_first(range, 0)) {
  return range_access::find_first(range, 0);
}
template <class C>
constexpr auto last(C& range) -> decltype(range_access::find_last(range, 0)) {
  return range_access::find_last(range, 0);
}
}  // namespace range_access

/// The element type of any range, without references and cv; void if C is not a range.
template <class C, class = void>
struct RangeElement {
  using type = void;
};
template <class C>
struct RangeElement<C, std::void_t<decltype(*range_access::first(std::declval<C&>())),
                                   decltype(range_access::first(std::declval<C&>()) !=
                                            range_access::last(std::declval<C&>()))>> {
  // A std::vector<bool>'s iterator returns a proxy.
  using type =
      std::conditional_t<std::is_same_v<std::decay_t<C>, std::vector<bool>>, bool,
                         std::remove_cv_t<std::remove_reference_t<decltype(*range_access::first(
                             std::declval<C&>()))>>>;
};

/// Whether C's type guarantees that elements are contiguous.
template <class C>
inline constexpr bool is_contiguous_v =
#if defined(__cpp_lib_ranges)
    std::contiguous_iterator<decltype(range_access::first(std::declval<C&>()))> ||
#endif
    std::is_pointer_v<decltype(range_access::first(std::declval<C&>()))>;
template <class T, class A>
inline constexpr bool is_contiguous_v<std::vector<T, A>> = true;
template <class T, class Traits, class A>
inline constexpr bool is_contiguous_v<std::basic_string<T, Traits, A>> = true;

/// Whether a range is multi-pass, so that it can be counted first.
template <class It, class = void>
struct IsMultiPass : std::false_type {};
template <class It>
struct IsMultiPass<It, std::void_t<typename std::iterator_traits<It>::iterator_category>>
    : std::is_base_of<std::forward_iterator_tag,
                      typename std::iterator_traits<It>::iterator_category> {};

template <class C>
using RangeElementOf = typename RangeElement<std::remove_reference_t<C>>::type;

template <class C>
inline constexpr bool is_container_v =
    !std::is_array_v<C> && (is_element_v<typename RangeElement<C>::type> ||
                            is_char_or_byte_v<typename RangeElement<C>::type>);
/// Whether C is a container of bytes: sizes and a dtype reinterpret its bytes.
template <class C>
inline constexpr bool is_byte_container_v =
    is_container_v<C> && (std::is_same_v<typename RangeElement<C>::type, uint8_t> ||
                          is_char_or_byte_v<typename RangeElement<C>::type>);

/// For the compile error about a list of several types.
struct ValuesNeedOneType {
  template <class T, std::enable_if_t<is_element_v<T>, int> = 0>
  ValuesNeedOneType(T);
};

/// Elements for a creator: a brace list, or any range of elements, char or std::byte, such as a
/// std::string.
///
/// A moved contiguous container is adopted without copying, if it owns its elements and its move
/// does not throw and keeps their addresses. It then lives until the tensor releases it. If its
/// class is copyable, data() of the moved-from container is called too. All other elements (of
/// lvalues, spans, std::array, std::vector<bool>, classes without a move) are copied. `{}` is an
/// empty list of floats.
/// Ownership: refers to the list or container during the call, so a named Values cannot be passed.
/// The creator adopts the container when it begins, not when the argument is made: other arguments,
/// such as the container's size(), may be evaluated later.
class Values {
 public:
  Values() noexcept = default;
  Values& operator=(Values&&) = delete;
  template <class T, std::enable_if_t<is_element_v<T>, int> = 0>
  Values(std::initializer_list<T> list TENON_LIFETIMEBOUND) noexcept
      : data_(list.begin()), count_(list.size()), type_(scalar_type_of<T>()) {}
  template <class SizesThenOneList>
  Values(std::initializer_list<std::initializer_list<SizesThenOneList>>)
      TENON_MISTAKE("nested lists need sizes and one list: make_tensor_ptr({2, 2}, {1, 2, 3, 4})");
  template <class CharactersNeedStdString,
            std::enable_if_t<is_char_or_byte_v<CharactersNeedStdString> ||
                                 std::is_same_v<CharactersNeedStdString, const char*>,
                             int> = 0>
  Values(std::initializer_list<CharactersNeedStdString>)
      TENON_MISTAKE("characters are elements in a std::string, as numbers in {int8_t{97}}");
  Values(std::initializer_list<ValuesNeedOneType>)  // for example {1.0, NAN}: NAN is a float
      TENON_MISTAKE("all values of a list need one type, as in {1.0, 2.0}; NAN is a float");

  template <class C, class Container = std::remove_cv_t<std::remove_reference_t<C>>,
            std::enable_if_t<is_container_v<std::remove_reference_t<C>> &&
                                 !std::is_same_v<Container, Values>,
                             int> = 0>
  Values(C&& container TENON_LIFETIMEBOUND) noexcept
      : type_(value_type_of<RangeElementOf<C>>()),
        bytes_(is_byte_container_v<std::remove_reference_t<C>>),
        container_(const_cast<Container*>(std::addressof(container))),
        take_([](Values& self, void* source) {
          self.take_from(static_cast<C&&>(*static_cast<std::remove_reference_t<C>*>(source)));
        }) {}

  /// Takes the container. The creator calls this; before, only type() and is_bytes() are valid.
  void take() {
    if (take_ != nullptr) std::exchange(take_, nullptr)(*this, container_);
  }

  const void* data() const noexcept { return data_; }
  size_t count() const noexcept { return count_; }
  own::ScalarType type() const noexcept { return type_; }
  /// Whether this is a container of uint8_t, char or std::byte: sizes and a dtype reinterpret its
  /// bytes.
  bool is_bytes() const noexcept { return bytes_; }
  bool is_adoptable() const noexcept { return adoptable_; }
  /// Keeps data() alive.
  Deleter& deleter() noexcept { return deleter_; }
  /// OutOfMemory if copying or keeping the elements failed; data() is then invalid.
  Error error() const noexcept { return error_ != Error::Ok ? error_ : deleter_.error(); }

 private:
  template <class C>
  struct Keep {
    C container;
    void operator()(void*) const noexcept {}
  };

  template <class C>
  void take_from(C&& container) {
    using Container = std::remove_cv_t<std::remove_reference_t<C>>;
    if constexpr (std::is_void_v<typename ContiguousElement<Container>::type>) {
      gather(container);
    } else {
      data_ = container.data();
      count_ = static_cast<size_t>(container.size());
      if (!is_row(container)) {
        gather(container);
        return;
      }
      if constexpr (!std::is_reference_v<C> && !std::is_const_v<C> && owns_elements_v<Container> &&
                    std::is_nothrow_move_constructible_v<Container>) {
        if (!is_inside(&container, sizeof container)) {
          Container moved(std::forward<C>(container));
          // The class is a view if the moved-from object still refers to the elements. Move-only
          // classes are assumed to own theirs: their data() may be invalid after a move.
          bool is_view = false;
          if constexpr (std::is_copy_constructible_v<Container>) {
            is_view = count_ != 0 && container.data() == data_;  // NOLINT(bugprone-use-after-move)
          }
          if (moved.data() == data_ && !is_view) {
            // Constructed in place, since deleter_ is empty: an assignment would move the container
            // once more.
            ::new (static_cast<void*>(&deleter_))
                Deleter(const_cast<void*>(data_), Keep<Container>{std::move(moved)});
            adoptable_ = true;
          } else {
            gather(moved);
          }
        }
      }
    }
  }

  /// Whether the elements are inside the container object (inline storage, such as a short
  /// string's): moving it would move them.
  bool is_inside(const void* object, size_t size) const noexcept {
    const auto begin = reinterpret_cast<uintptr_t>(object);
    const auto at = reinterpret_cast<uintptr_t>(data_);
    return at >= begin && at < begin + size;
  }

  /// Whether the elements are consecutive from data() on. A view of a part may return the whole's
  /// data(), and a matrix's rows may have gaps, so all addresses are compared, unless the type
  /// guarantees the order.
  template <class C>
  bool is_row([[maybe_unused]] C& container) const noexcept {
    namespace access = range_access;
    using T = std::remove_pointer_t<decltype(container.data())>;
    if constexpr (!std::is_lvalue_reference_v<decltype(*access::first(container))> ||
                  !std::is_same_v<std::remove_cv_t<T>, RangeElementOf<C>>) {
      return false;
    } else if constexpr (is_contiguous_v<std::remove_cv_t<C>>) {
      return count_ == 0 || std::addressof(*access::first(container)) == container.data();
    } else {
      const T* expected = container.data();
      for (auto it = access::first(container); it != access::last(container); ++it) {
        if (std::addressof(*it) != expected++) return false;
      }
      return expected == container.data() + count_;
    }
  }

  template <class C>
  void gather(C& range) {
    namespace access = range_access;
    using T = RangeElementOf<C>;
    constexpr bool kIsCounted = IsMultiPass<decltype(access::first(range))>::value;
    count_ = 0;
    size_t room = 0;
    if constexpr (kIsCounted) {
      for (auto it = access::first(range); it != access::last(range); ++it) ++room;
    }
    if (!make_room<T>(room)) return;
    for (auto it = access::first(range); it != access::last(range); ++it) {
      if (count_ == room) {
        if (kIsCounted) return;  // the range changed meanwhile
        room = room < 8 ? 8 : room * 2;
        if (!make_room<T>(room)) return;
      }
      static_cast<T*>(const_cast<void*>(data_))[count_++] = *it;
    }
  }
  /// Moves the elements to a block for `room` elements. Returns false if memory runs out.
  template <class T>
  bool make_room(size_t room) noexcept {
    // A computed range may have more elements than memory can hold.
    const bool fits = room < PTRDIFF_MAX / sizeof(T);
    void* const buffer = fits ? heap_allocate(room * sizeof(T) + 1) : nullptr;
    if (buffer == nullptr) {
      count_ = room;
      error_ = Error::OutOfMemory;
      return false;
    }
    if (count_ != 0) std::memcpy(buffer, data_, count_ * sizeof(T));
    data_ = buffer;
    deleter_.own_block(buffer);  // frees the old block
    return true;
  }

  const void* data_ = nullptr;
  size_t count_ = 0;
  own::ScalarType type_ = own::ScalarType::Float;
  bool bytes_ = false;
  bool adoptable_ = false;
  Error error_ = Error::Ok;
  void* container_ = nullptr;  // the argument of `take_`, until it is called
  void (*take_)(Values& self, void* source) = nullptr;
  Deleter deleter_;
};

}  // namespace detail
TENON_END_NAMESPACE
