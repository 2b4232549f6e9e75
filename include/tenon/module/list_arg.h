// SPDX-License-Identifier: MIT
// ListArg: several values as one argument, in braces, in a container, or just one.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/module/evalue.h"

TENON_BEGIN_NAMESPACE

/// What functions that take several T do: `f(x)`, `f({x, y})`, `f(vector_of_T)`, `f()`.
///
/// Ownership: refers to lists and to a single T, converts a single value of another type; for the
/// length of the call.
template <class T>
class ListArg {
 public:
  ListArg() noexcept = default;
  ListArg(std::initializer_list<T> values) noexcept : size_(values.size()) {
    values_ = values.begin();  // which lives as long as the call: not what GCC warns of
  }
  ListArg(const T& value) noexcept : values_(&value), size_(1) {}
  /// Any contiguous container of T.
  template <class C, std::enable_if_t<
                         std::is_same_v<typename detail::ContiguousElement<const C>::type, const T>,
                         int> = 0>
  ListArg(const C& values) noexcept : values_(values.data()), size_(values.size()) {}
  /// One value that converts to T.
  template <class V, std::enable_if_t<std::is_convertible_v<V, T> &&
                                          !std::is_base_of_v<T, std::decay_t<V>> &&
                                          !std::is_same_v<std::decay_t<V>, ListArg>,
                                      int> = 0>
  ListArg(V&& value) : one_(std::forward<V>(value)), values_(&one_), size_(1) {}

  ListArg(const ListArg&) = delete;
  ListArg& operator=(const ListArg&) = delete;

  const T* data() const noexcept { return values_; }
  size_t size() const noexcept { return size_; }
  const T& operator[](size_t i) const noexcept { return values_[i]; }
  const T* begin() const noexcept { return values_; }
  const T* end() const noexcept { return values_ + size_; }

 private:
  T one_;
  const T* values_ = nullptr;
  size_t size_ = 0;
};

/// The inputs of a call.
using EValues = ListArg<EValue>;

TENON_END_NAMESPACE
