// SPDX-License-Identifier: MIT
// Text and NameList: names of inputs and dimensions, held inline as long as they are short.
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

/// Characters and a zero behind them: up to kInline in the object, beyond that one heap block.
/// Never throws: where memory is out, it becomes empty and error() says so.
template <size_t kInline>
class Characters {
 public:
  Characters() noexcept { inline_[0] = '\0'; }
  Characters(const Characters& other) noexcept : Characters() { copy(other); }
  Characters(Characters&& other) noexcept : Characters() { take(other); }
  Characters& operator=(const Characters& other) noexcept {
    if (this != &other) {
      reset();
      copy(other);
    }
    return *this;
  }
  Characters& operator=(Characters&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Characters() { std::free(heap_); }

  Error error() const noexcept { return error_; }

 protected:
  const char* data() const noexcept { return heap_ != nullptr ? heap_ : inline_; }
  size_t size() const noexcept { return size_; }

  /// Room for `n` characters in an empty object; null when memory is out.
  char* make(size_t n) noexcept {
    if (n > kInline) {
      heap_ = static_cast<char*>(std::malloc(n + 1));
      if (heap_ == nullptr) {
        error_ = Error::OutOfMemory;
        return nullptr;
      }
    }
    size_ = n;
    char* const place = heap_ != nullptr ? heap_ : inline_;
    place[n] = '\0';
    return place;
  }

 private:
  void reset() noexcept {
    std::free(std::exchange(heap_, nullptr));
    inline_[0] = '\0';
    size_ = 0;
    error_ = Error::Ok;
  }
  void copy(const Characters& other) noexcept {
    error_ = other.error_;
    if (char* const place = make(other.size_)) std::memcpy(place, other.data(), size_);
  }
  void take(Characters& other) noexcept {
    std::memcpy(inline_, other.inline_, sizeof inline_);
    heap_ = std::exchange(other.heap_, nullptr);
    size_ = other.size_;
    error_ = other.error_;
    other.reset();
  }

  char* heap_ = nullptr;
  size_t size_ = 0;
  char inline_[kInline + 1];
  Error error_ = Error::Ok;
};

/// A text by pointer and length, to be a part of a message.
struct TextPart {
  std::string_view text;
  friend void append(Message& out, TextPart part) noexcept {
    for (const char c : part.text) out.put(c);
  }
};

}  // namespace detail

/// A name: up to 23 characters inline, one heap block beyond. Never throws: see error().
class Text : public detail::Characters<23> {
 public:
  Text() noexcept = default;
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, int> = 0>
  Text(const S& text) noexcept {
    const std::string_view from(text);
    char* const to = make(from.size());
    if (to != nullptr && !from.empty()) std::memcpy(to, from.data(), from.size());
  }

  const char* c_str() const noexcept { return data(); }
  using Characters::size;
  bool empty() const noexcept { return size() == 0; }
  operator std::string_view() const noexcept { return {data(), size()}; }

  friend bool operator==(const Text& a, std::string_view b) noexcept {
    return std::string_view(a) == b;
  }
  friend bool operator!=(const Text& a, std::string_view b) noexcept { return !(a == b); }
  friend void append(detail::Message& out, const Text& text) noexcept { out.put(text.c_str()); }
};

/// The names of a tensor's dimensions, "" for one without: up to 47 characters inline, one heap
/// block beyond. Never throws: see error().
class NameList : public detail::Characters<47> {
 public:
  NameList() noexcept = default;
  NameList(std::initializer_list<std::string_view> names) noexcept { assign(names); }
  /// From any range of texts.
  template <class C,
            std::enable_if_t<!std::is_base_of_v<Characters, C> &&
                                 std::is_convertible_v<decltype(*std::declval<const C&>().begin()),
                                                       std::string_view>,
                             int> = 0>
  NameList(const C& names) noexcept {
    assign(names);
  }

  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  /// The i-th name; "" beyond the last.
  const char* operator[](size_t i) const noexcept {
    const char* name = data();
    if (i >= count_ || error() != Error::Ok) return "";
    for (; i > 0; --i) name += std::strlen(name) + 1;
    return name;
  }

 private:
  template <class C>
  void assign(const C& names) noexcept {
    size_t total = 0;
    size_t count = 0;
    for (const std::string_view name : names) {
      total += name.size() + 1;
      ++count;
    }
    char* to = make(total);
    if (to == nullptr) return;
    count_ = count;
    for (const std::string_view name : names) {
      if (!name.empty()) std::memcpy(to, name.data(), name.size());
      to += name.size();
      *to++ = '\0';
    }
  }

  size_t count_ = 0;
};

TENON_END_NAMESPACE
