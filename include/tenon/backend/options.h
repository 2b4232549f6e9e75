// SPDX-License-Identifier: MIT
// BackendOptions: named values for Backend::init().
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar.h"

TENON_BEGIN_NAMESPACE

/// A name with a number, or with a text.
/// Ownership: refers to both texts, which outlive the call they are passed to.
struct BackendOption {
  BackendOption(const char* option, const own::Scalar& number) noexcept
      : name(option), value(number) {}
  BackendOption(const char* option, const char* word) noexcept : name(option), text(word) {}

  const char* name;
  own::Scalar value;
  const char* text = nullptr;  ///< null for a number
};

/// A list of them, as `backend.init({{"limit", 1 << 20}, {"mode", "eager"}})`.
class BackendOptions {
 public:
  BackendOptions(std::initializer_list<BackendOption> list) noexcept
      : options_(list.begin(), list.size()) {}

  const BackendOption* begin() const noexcept { return options_.begin(); }
  const BackendOption* end() const noexcept { return options_.end(); }
  size_t size() const noexcept { return options_.size(); }

  /// The option of that name, the last one where there are several; null where there is none.
  const BackendOption* find(const char* name) const noexcept {
    const BackendOption* found = nullptr;
    for (const BackendOption& option : options_) {
      if (std::strcmp(option.name, name) == 0) found = &option;
    }
    return found;
  }

  /// Reads a whole number, where it is given.
  /// Errors: InvalidArgument for any other value, and one below `least`.
  Error read(const char* name, int64_t least, int64_t& number) const noexcept {
    const BackendOption* const option = find(name);
    if (option == nullptr) return Error::Ok;
    const bool is_whole =
        option->text == nullptr && option->value.isIntegral(false) && option->value.fits<int64_t>();
    if (TENON_UNLIKELY(!is_whole || option->value.to<int64_t>() < least)) {
      const bool is_text = option->text != nullptr;
      return detail::fail(Error::InvalidArgument,
                          {"option \"", name, "\" is ", is_text ? "\"" : "",
                           is_text ? detail::Part(option->text) : detail::Part(option->value),
                           is_text ? "\"" : "", "; expected a whole number from ", least});
    }
    number = option->value.to<int64_t>();
    return Error::Ok;
  }

  /// Errors: InvalidArgument for an option that none of `names` is.
  Error check_names(std::initializer_list<const char*> names) const noexcept {
    for (const BackendOption& option : options_) {
      bool known = false;
      for (const char* name : names) known = known || std::strcmp(option.name, name) == 0;
      if (TENON_UNLIKELY(!known)) {
        return detail::fail(Error::InvalidArgument,
                            {"there is no option \"", option.name, '"',
                             names.size() == 0 ? "; this backend has none" : ""});
      }
    }
    return Error::Ok;
  }

 private:
  Span<const BackendOption> options_;
};

TENON_END_NAMESPACE
