// SPDX-License-Identifier: MIT
// Text and NameList: names of inputs and dimensions, in place as long as they are short.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline void append(Message& out, std::string_view text) noexcept {
  for (const char c : text) out.put(c);
}

}  // namespace detail

/// A name: up to 47 characters in place, one heap block beyond. Unlike std::string it needs no heap
/// for usual names, and never throws: without memory it is empty and error() says so.
class Text {
 public:
  Text() noexcept = default;
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, int> = 0>
  Text(const S& text) noexcept {
    copy(text);
  }
  Text(const Text& other) noexcept : error_(other.error_) { copy(other); }
  Text(Text&& other) noexcept { swap(other); }
  Text& operator=(Text other) noexcept {
    swap(other);
    return *this;
  }
  ~Text() { std::free(heap_); }

  const char* c_str() const noexcept { return heap_ != nullptr ? heap_ : inline_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Error error() const noexcept { return error_; }
  operator std::string_view() const noexcept { return {c_str(), size_}; }

  /// With whatever is text. A template, as two overloads are ambiguous in C++20.
  template <class S>
  friend bool operator==(const Text& a, const S& b) noexcept {
    return std::string_view(a) == std::string_view(b);
  }
  template <class S>
  friend bool operator!=(const Text& a, const S& b) noexcept {
    return !(a == b);
  }
  friend void append(detail::Message& out, const Text& text) noexcept { out.put(text.c_str()); }

 private:
  friend class NameList;
  static constexpr size_t kInline = 47;

  /// Room for `n` characters in an empty Text; null when memory is out.
  char* make(size_t n) noexcept {
    if (n > kInline) heap_ = static_cast<char*>(std::malloc(n + 1));
    if (TENON_UNLIKELY(n > kInline && heap_ == nullptr)) {
      error_ = Error::OutOfMemory;
      return nullptr;
    }
    char* const place = heap_ != nullptr ? heap_ : inline_;
    place[size_ = n] = '\0';
    return place;
  }
  void copy(std::string_view from) noexcept {
    char* const to = make(from.size());
    if (to != nullptr && !from.empty()) std::memcpy(to, from.data(), from.size());
  }
  void swap(Text& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(size_, other.size_);
    std::swap(inline_, other.inline_);
    std::swap(error_, other.error_);
  }

  char* heap_ = nullptr;
  size_t size_ = 0;
  char inline_[kInline + 1] = {};
  Error error_ = Error::Ok;
};

/// The names of a tensor's dimensions, "" for one without: up to 47 characters in place, with a
/// zero behind each, one heap block beyond. Never throws: see error().
class NameList {
 public:
  NameList() noexcept = default;
  NameList(std::initializer_list<std::string_view> names) noexcept { assign(names); }
  /// From any range of texts.
  template <class C,
            std::enable_if_t<std::is_convertible_v<decltype(*std::declval<const C&>().begin()),
                                                   std::string_view>,
                             int> = 0>
  NameList(const C& names) noexcept {
    assign(names);
  }

  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  Error error() const noexcept { return joined_.error(); }
  /// The i-th name; "" beyond the last.
  const char* operator[](size_t i) const noexcept {
    const char* name = joined_.c_str();
    if (i >= count_ || joined_.empty()) return "";
    for (; i > 0; --i) name += std::strlen(name) + 1;
    return name;
  }

 private:
  template <class C>
  void assign(const C& names) noexcept {
    size_t total = 0;
    for (const std::string_view name : names) {
      total += name.size() + 1;
      ++count_;
    }
    char* to = joined_.make(total);
    if (to == nullptr) return;
    for (const std::string_view name : names) {
      if (!name.empty()) std::memcpy(to, name.data(), name.size());
      to += name.size();
      *to++ = '\0';
    }
  }

  Text joined_;
  size_t count_ = 0;
};

TENON_END_NAMESPACE
