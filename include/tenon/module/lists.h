// SPDX-License-Identifier: MIT
// Text, NameList: names in specs. ListArg: several values as one argument. Stored, StoredArray:
// objects on the heap or in a backend's memory, such as an arena. Standard containers cannot report
// OutOfMemory without exceptions.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "tenon/backend/calls.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Compares without the C library, some of whose functions are large.
inline bool is_name(std::string_view text, const char* name) noexcept {
  size_t i = 0;
  while (i < text.size() && name[i] != '\0' && text[i] == name[i]) ++i;
  return i == text.size() && name[i] == '\0';
}

/// A name: up to 47 characters inline, a longer name in a heap block. Unlike std::string it never
/// throws: if memory runs out it is empty, and error() says so.
class Text {
 public:
  Text() noexcept = default;
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, int> = 0>
  Text(const S& text) noexcept {
    const std::string_view from = text;
    if (!chars_.resize_for_overwrite(from.size() + 1)) return;
    from.copy(chars_.data(), from.size());
    chars_[from.size()] = '\0';
  }

  const char* c_str() const noexcept TENON_LIFETIMEBOUND {
    return chars_.empty() ? "" : chars_.data();
  }
  size_t size() const noexcept { return chars_.empty() ? 0 : chars_.size() - 1; }
  bool empty() const noexcept { return size() == 0; }
  Error error() const noexcept { return chars_.error(); }
  operator std::string_view() const noexcept TENON_LIFETIMEBOUND { return {c_str(), size()}; }

  /// Compares with any text. A template, since two overloads would be ambiguous in C++20.
  template <class S>
  friend bool operator==(const Text& a, const S& b) noexcept {
    return std::string_view(a) == std::string_view(b);
  }
  template <class S>
  friend bool operator!=(const Text& a, const S& b) noexcept {
    return !(a == b);
  }
  friend void append(Message& out, const Text& text) noexcept { out.put(text.c_str()); }

 private:
  InlineArray<char, 48, kAnyLength> chars_;  // ends with a zero
};

/// The names of a tensor's dimensions; "" for a dimension without a name. A name ends at its first
/// null character. Up to 48 characters, including a null after each name, are stored inline, more
/// in one heap block. Throws only what a range's iterators throw; error() has other errors.
class NameList {
 public:
  NameList() noexcept = default;
  NameList(std::initializer_list<std::string_view> names) noexcept { assign(names); }
  /// From any range of texts.
  template <class C,
            std::enable_if_t<std::is_convertible_v<decltype(*std::declval<const C&>().begin()),
                                                   std::string_view>,
                             int> = 0>
  NameList(const C& names) {
    assign(names);
  }

  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  Error error() const noexcept { return chars_.error(); }
  /// The i-th name; "" if out of range.
  const char* operator[](size_t i) const noexcept TENON_LIFETIMEBOUND {
    return i < count_ && !chars_.empty() ? name_at(chars_.data(), i) : "";
  }

 private:
  template <class C>
  void assign(const C& names) {
    size_t total = 0;
    for (const std::string_view name : names) total += name.size() + 1;
    if (!chars_.resize_for_overwrite(total)) return;
    char* to = chars_.data();
    for (const std::string_view name : names) {
      for (size_t i = 0; i < name.size() && name[i] != '\0'; ++i) *to++ = name[i];
      *to++ = '\0';
      ++count_;
    }
    static_cast<void>(chars_.resize_for_overwrite(static_cast<size_t>(to - chars_.data())));
  }

  InlineArray<char, 48, kAnyLength> chars_;  // all names
  size_t count_ = 0;
};

/// A list of T as a parameter: `f(x)`, `f({x, y})`, `f(vector_of_T)`, `f()`.
///
/// Ownership: refers to a list or a single T; nothing, not even a backend's code, may change it
/// during the call. Converts and holds a single value of another type. Not copyable, so that a
/// named ListArg cannot be passed.
template <class T>
class ListArg {
 public:
  ListArg() noexcept = default;
  /// No list; is_given() tells it from an empty list.
  template <class N,
            std::enable_if_t<std::is_same_v<N, None> && !std::is_convertible_v<None, T>, int> = 0>
  ListArg(N) noexcept : is_given_(false) {}
  ListArg(std::initializer_list<T> values TENON_LIFETIMEBOUND) noexcept : size_(values.size()) {
    values_ = values.begin();  // lives as long as the call, despite GCC's warning
  }
  ListArg(const T& value TENON_LIFETIMEBOUND) noexcept : values_(&value), size_(1) {}
  /// Any contiguous container of T.
  template <
      class C,
      std::enable_if_t<std::is_same_v<typename ContiguousElement<const C>::type, const T>, int> = 0>
  ListArg(const C& values TENON_LIFETIMEBOUND) noexcept
      : values_(values.data()), size_(values.size()) {}
  /// One value that converts to T.
  template <class V, std::enable_if_t<std::is_convertible_v<V, T> &&
                                          !std::is_base_of_v<T, std::decay_t<V>> &&
                                          !std::is_same_v<std::decay_t<V>, ListArg>,
                                      int> = 0>
  ListArg(V&& value) : one_(std::forward<V>(value)), values_(&one_), size_(1) {}

  /// For functions that pass a temporary on, as std::make_shared does.
  ListArg(ListArg&& other) noexcept
      : one_(std::move(other.one_)),
        values_(other.values_ == &other.one_ ? &one_ : other.values_),
        size_(other.size_),
        is_given_(other.is_given_) {}
  ListArg(const ListArg&) = delete;
  ListArg& operator=(const ListArg&) = delete;

  bool is_given() const noexcept { return is_given_; }
  const T* data() const noexcept TENON_LIFETIMEBOUND { return values_; }
  size_t size() const noexcept { return size_; }
  const T& operator[](size_t i) const noexcept TENON_LIFETIMEBOUND { return values_[i]; }
  const T* begin() const noexcept TENON_LIFETIMEBOUND { return values_; }
  const T* end() const noexcept TENON_LIFETIMEBOUND { return values_ + size_; }

 private:
  T one_;
  const T* values_ = nullptr;
  size_t size_ = 0;
  bool is_given_ = true;
};

struct DropStored {
  template <class T>
  void operator()(T* stored) const noexcept {
    stored->~T();
    release_metadata(stored);
  }
};
/// Owns an object that is never moved.
template <class T>
using Stored = std::unique_ptr<T, DropStored>;

/// Makes a T, followed by `more` bytes.
/// Errors: OutOfMemory.
template <class T, class... Args>
Error make_stored(Stored<T>& made, BackendState* metadata_backend, size_t more,
                  Args&&... args) noexcept {
  static_assert(alignof(T) <= kMetadataHeader && std::is_nothrow_constructible_v<T, Args...>);
  void* const place = allocate_metadata(sizeof(T) + more, metadata_backend);
  if (place == nullptr) return Error::OutOfMemory;
  made.reset(::new (place) T(std::forward<Args>(args)...));
  return Error::Ok;
}

/// Memory for an array; null, with the thread's error text set, if memory runs out.
inline void* allocate_array(size_t count, size_t element_size,
                            BackendState* metadata_backend) noexcept {
  if (count > PTRDIFF_MAX / (2 * element_size)) {
    static_cast<void>(fail_no_memory("a tensor or a module"));
    return nullptr;
  }
  return allocate_metadata(count * element_size, metadata_backend);
}

/// A growing array that reports OutOfMemory without exceptions.
template <class T>
class StoredArray {
 public:
  explicit StoredArray(BackendState* metadata_backend = nullptr) noexcept
      : metadata_backend_(metadata_backend) {}
  StoredArray(StoredArray&& other) noexcept { *this = std::move(other); }
  StoredArray& operator=(StoredArray&& other) noexcept {
    std::swap(metadata_backend_, other.metadata_backend_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~StoredArray() {
    shrink(0);
    release_metadata(data_);
  }

  BackendState* metadata_backend() const noexcept { return metadata_backend_; }
  size_t size() const noexcept { return size_; }
  T* data() const noexcept { return data_; }
  T& operator[](size_t i) const noexcept { return data_[i]; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }

  /// Reserves `count` elements in total; may move the elements.
  /// Errors: OutOfMemory; nothing is changed.
  Error reserve(size_t count) noexcept {
    static_assert(alignof(T) <= kMetadataHeader && std::is_nothrow_move_constructible_v<T>);
    if (count <= capacity_) return Error::Ok;
    T* const to = static_cast<T*>(allocate_array(count, sizeof(T), metadata_backend_));
    if (to == nullptr) return Error::OutOfMemory;
    for (size_t i = 0; i < size_; ++i) {
      ::new (static_cast<void*>(to + i)) T(std::move(data_[i]));
      data_[i].~T();
    }
    release_metadata(data_);
    data_ = to;
    capacity_ = count;
    return Error::Ok;
  }
  /// New elements are T().
  Error resize(size_t count) noexcept {
    TENON_TRY(reserve(count));
    for (; size_ < count; ++size_) ::new (static_cast<void*>(data_ + size_)) T();
    shrink(count);
    return Error::Ok;
  }
  /// Doubles the capacity when full.
  Error push_back(T value) noexcept {
    if (size_ == capacity_) TENON_TRY(reserve(size_ == 0 ? 1 : 2 * size_));
    ::new (static_cast<void*>(data_ + size_)) T(std::move(value));
    ++size_;
    return Error::Ok;
  }

 private:
  void shrink(size_t count) noexcept {
    T* end = data_ + size_;  // GCC warns about data_[--size_]
    while (size_ > count) {
      --size_;
      (--end)->~T();
    }
  }

  BackendState* metadata_backend_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace detail
TENON_END_NAMESPACE
