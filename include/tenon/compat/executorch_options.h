// SPDX-License-Identifier: MIT
// Options of ExecuTorch's delegates, by name. They are stored, so that a program can read the
// options that it set; tenon's runtimes do not use them.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tenon/compat/executorch_platform.h"

namespace executorch {
namespace runtime {
inline namespace tenon_compat {

constexpr size_t kMaxOptionKeyLength = 64;     // with the final 0
constexpr size_t kMaxOptionValueLength = 256;  // with the final 0
using OptionText = std::array<char, kMaxOptionValueLength>;
using OptionValue = std::variant<bool, int, OptionText>;

struct BackendOption {
  char key[kMaxOptionKeyLength] = {};
  OptionValue value;
};

/// Up to N options of one delegate.
template <size_t N>
class BackendOptions {
 public:
  Span<BackendOption> view() noexcept { return {options_.data(), count_}; }

  /// Adds or replaces an option. A text that is too long is cut.
  /// Errors: InvalidArgument for a key that is too long, and for option N + 1.
  Error set_option(const char* key, bool value) noexcept { return put(key, value); }
  Error set_option(const char* key, int value) noexcept { return put(key, value); }
  Error set_option(const char* key, const char* value) noexcept {
    OptionText text{};
    std::memcpy(text.data(), value, (std::min)(std::strlen(value), text.size() - 1));
    return put(key, text);
  }
  /// T is bool, int or const char*; a const char* points into this object.
  /// Errors: NotFound; InvalidArgument for a value of another type.
  template <class T>
  Error get_option(const char* key, T& out) const noexcept {
    using Kept = std::conditional_t<std::is_same_v<T, const char*>, OptionText, T>;
    const size_t i = index_of(key);
    if (i == count_) return Error::NotFound;
    const auto* value = std::get_if<Kept>(&options_[i].value);
    if (value == nullptr) return Error::InvalidArgument;
    if constexpr (std::is_same_v<Kept, OptionText>) {
      out = value->data();
    } else {
      out = *value;
    }
    return Error::Ok;
  }

 private:
  size_t index_of(const char* key) const noexcept {
    size_t i = 0;
    while (i < count_ && std::strcmp(options_[i].key, key) != 0) ++i;
    return i;
  }
  Error put(const char* key, const OptionValue& value) noexcept {
    const size_t i = index_of(key);
    if (i == N || std::strlen(key) >= kMaxOptionKeyLength) return Error::InvalidArgument;
    if (i == count_) std::strcpy(options_[count_++].key, key);
    options_[i].value = value;
    return Error::Ok;
  }

  std::array<BackendOption, N> options_{};
  size_t count_ = 0;
};

/// Options of several delegates, by the delegate's name.
/// Ownership: copies the options, unlike ExecuTorch's class.
class LoadBackendOptionsMap {
 public:
  struct EntryView {
    const char* backend_id = nullptr;
    Span<const BackendOption> options;
  };

  /// Errors: InvalidArgument for a delegate without a name, and for a ninth delegate.
  Error set_options(const char* delegate, Span<BackendOption> options) {
    if (delegate == nullptr || *delegate == '\0' || std::strlen(delegate) >= kMaxName) {
      return Error::InvalidArgument;
    }
    if (!has_options(delegate) && options_.size() == kMaxDelegates) return Error::InvalidArgument;
    options_[delegate] = options.vec();
    return Error::Ok;
  }
  /// Takes a delegate's class of options, which has backend_id() and view().
  template <class Builder>
  Error set_options(Builder& builder) {
    return set_options(builder.backend_id(), builder.view());
  }
  Span<const BackendOption> get_options(const char* delegate) const {
    if (!has_options(delegate)) return {};
    const auto& options = options_.at(delegate);
    return {options.data(), options.size()};
  }
  bool has_options(const char* delegate) const {
    return delegate != nullptr && options_.count(delegate) != 0;
  }
  size_t size() const noexcept { return options_.size(); }
  EntryView entry_at(size_t index) const {
    ET_CHECK_MSG(index < size(), "entry %zu of %zu", index, size());
    const auto entry = std::next(options_.begin(), static_cast<std::ptrdiff_t>(index));
    return {entry->first.c_str(), {entry->second.data(), entry->second.size()}};
  }

 private:
  static constexpr size_t kMaxDelegates = 8;
  static constexpr size_t kMaxName = 64;  // with the final 0

  std::map<std::string, std::vector<BackendOption>> options_;
};

// Global options of a delegate: NotFound, since there are no delegates.
inline Error set_option(const char*, Span<BackendOption>) noexcept { return Error::NotFound; }
inline Error get_option(const char*, Span<BackendOption>) noexcept { return Error::NotFound; }
inline Error set_option(const char*, const BackendOption&) noexcept { return Error::NotFound; }
inline Error get_option(const char*, BackendOption&) noexcept { return Error::NotFound; }

}  // namespace tenon_compat
}  // namespace runtime
}  // namespace executorch
