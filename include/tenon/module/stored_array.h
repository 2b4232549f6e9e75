// SPDX-License-Identifier: MIT
// Stored, StoredArray: what a module keeps, on the heap or in a backend's memory such as an
// arena's. Standard containers cannot report that it is full without exceptions.
#pragma once

#include <memory>

#include "tenon/backend/calls.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Where a module keeps what it has: the state of a backend that keeps metadata; null for the heap.
inline BackendState* storage_of(Backend* backend) noexcept {
  return backend == nullptr ? nullptr : known_metadata(*backend);
}

struct DropStored {
  template <class T>
  void operator()(T* stored) const noexcept {
    stored->~T();
    release_metadata(stored);
  }
};
/// An object that stays where it is.
template <class T>
using Stored = std::unique_ptr<T, DropStored>;

/// Makes a T with `more` bytes behind it.
/// Errors: OutOfMemory.
template <class T, class... Args>
Error make_stored(Stored<T>& made, BackendState* where, size_t more, Args&&... args) noexcept {
  static_assert(alignof(T) <= kMetadataHeader && std::is_nothrow_constructible_v<T, Args...>);
  void* const place = allocate_metadata(sizeof(T) + more, where);
  if (TENON_UNLIKELY(place == nullptr)) return Error::OutOfMemory;
  made.reset(::new (place) T(std::forward<Args>(args)...));
  return Error::Ok;
}

/// Memory for an array; null when there is none, with a text.
inline void* allocate_array(size_t count, size_t element_size, BackendState* where) noexcept {
  return count > PTRDIFF_MAX / (2 * element_size) ? fail_metadata()
                                                  : allocate_metadata(count * element_size, where);
}

/// An array that grows, and reports that memory is out without exceptions.
template <class T>
class StoredArray {
 public:
  explicit StoredArray(BackendState* where = nullptr) noexcept : where_(where) {}
  StoredArray(StoredArray&& other) noexcept { *this = std::move(other); }
  StoredArray& operator=(StoredArray&& other) noexcept {
    std::swap(where_, other.where_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~StoredArray() {
    shrink(0);
    release_metadata(data_);
  }

  BackendState* where() const noexcept { return where_; }
  size_t size() const noexcept { return size_; }
  T* data() const noexcept { return data_; }
  T& operator[](size_t i) const noexcept { return data_[i]; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }

  /// Room for `count` elements in all. What there is, is moved.
  /// Errors: OutOfMemory; nothing is changed.
  Error reserve(size_t count) noexcept {
    static_assert(alignof(T) <= kMetadataHeader && std::is_nothrow_move_constructible_v<T>);
    if (count <= capacity_) return Error::Ok;
    T* const to = static_cast<T*>(allocate_array(count, sizeof(T), where_));
    if (TENON_UNLIKELY(to == nullptr)) return Error::OutOfMemory;
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
  /// For one element more: room is doubled.
  Error push_back(T value) noexcept {
    if (size_ == capacity_) TENON_TRY(reserve(size_ == 0 ? 1 : 2 * size_));
    ::new (static_cast<void*>(data_ + size_)) T(std::move(value));
    ++size_;
    return Error::Ok;
  }

 private:
  void shrink(size_t count) noexcept {
    T* end = data_ + size_;  // GCC warns of data_[--size_]
    while (size_ > count) {
      --size_;
      (--end)->~T();
    }
  }

  BackendState* where_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace detail
TENON_END_NAMESPACE
