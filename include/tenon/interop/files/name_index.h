// SPDX-License-Identifier: MIT
// NameIndex: finds the tensors, keys and columns of a file by name.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/array_ref.h"
#include "tenon/interop/files/file.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Names with their indices, sorted by name; entries of one name are in the order of their indices.
/// Stores views of the names: the caller keeps their characters.
class NameIndex {
 public:
  using Name = std::pair<std::string_view, size_t>;

  /// Adds the next name; indices count from 0.
  void add(std::string_view name) { names_.emplace_back(name, names_.size()); }
  void sort() { std::sort(names_.begin(), names_.end()); }
  /// Fails if a name occurs twice. `what`: "tensor".
  Error check_unique(const char* what) const noexcept {
    for (size_t i = 1; i < names_.size(); ++i) {
      if (names_[i - 1].first == names_[i].first) return fail_several(what, &names_[i - 1]);
    }
    return Error::Ok;
  }
  /// All entries of that name. O(log n), even if a hostile file gives very many entries the same
  /// name.
  ArrayRef<Name> find(std::string_view name) const noexcept {
    const auto first = std::lower_bound(names_.begin(), names_.end(), Name(name, 0));
    const auto last = std::upper_bound(first, names_.end(), Name(name, SIZE_MAX));
    return {names_.data() + (first - names_.begin()), static_cast<size_t>(last - first)};
  }
  /// The only entry of that name.
  /// Errors: NotFound; InvalidArgument (several).
  Error find(const char* what, std::string_view name, size_t& i) const noexcept {
    const ArrayRef<Name> found = find(name);
    if (found.size() > 1) {
      return fail(fail_several(what, found.data()), last_error_message(), "; ask by index");
    }
    if (found.empty()) {
      return fail(Error::NotFound, "there is no ", what, " \"", ShownText(name).text,
                  "\" among the ", names_.size());
    }
    i = found[0].second;
    return Error::Ok;
  }

 private:
  static Error fail_several(const char* what, const Name* two) noexcept {
    return fail(Error::InvalidArgument, what, "s ", two[0].second, " and ", two[1].second,
                " are both named \"", ShownText(two[0].first).text, "\"");
  }

  std::vector<Name> names_;
};

}  // namespace detail
TENON_END_NAMESPACE
