// SPDX-License-Identifier: MIT
// What a package says of a model's tensors, in words such as
// "image float32 batch<=64 1 8 8; rows int64 batch": name, dtype, and each dimension's size, or its
// name with the greatest size. "*" is a dimension without a name.
#pragma once

#include <string>
#include <vector>

#include "tenon/interop/element_types.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The number that a word is; -1 for none.
inline int64_t aoti_number(std::string_view word) noexcept {
  if (word.empty() || word.size() > 18) return -1;
  int64_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Takes the text up to the next separator off `text`.
inline std::string_view next_word(std::string_view& text, char separator) noexcept {
  const size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return word;
}

/// Reads one tensor's description.
/// Errors: InvalidArgument.
inline Error read_aoti_spec(std::string_view text, ValueSpec& spec) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string all(text);
  TensorSpec made;
  made.name = next_word(text, ' ');
  made.type = public_type(type_of_python_name(next_word(text, ' ')));
  std::vector<int64_t> sizes;
  std::vector<int64_t> most;
  std::vector<std::string> names;
  bool is_valid = !made.name.empty() && made.type != tenon::ScalarType::Undefined;
  while (!text.empty() && is_valid) {
    std::string_view word = next_word(text, ' ');
    const int64_t size = aoti_number(word);
    const size_t bound = word.find("<=");
    sizes.push_back(size);
    most.push_back(bound != std::string_view::npos ? aoti_number(word.substr(bound + 2)) : -1);
    is_valid = !word.empty() && (bound == std::string_view::npos || most.back() >= 0);
    word = word.substr(0, bound);
    names.emplace_back(size >= 0 || word == "*" ? std::string_view() : word);
  }
  if (!is_valid) {
    return fail(Error::InvalidArgument, "the package describes a tensor as \"", all.c_str(), '"');
  }
  made.sizes = Dims(sizes);
  made.max_sizes = Dims(most);
  made.names = NameList(names);
  TENON_TRY(check_spec(made));
  spec = ValueSpec(std::move(made));
  return Error::Ok;
}

/// The text of that name in JSON of texts; "" where there is none. Of texts without escapes.
inline std::string_view aoti_text(std::string_view json, std::string_view name) {
  const std::string key = '"' + std::string(name) + "\": \"";
  const size_t at = json.find(key);
  if (at == std::string_view::npos) return {};
  json.remove_prefix(at + key.size());
  return json.substr(0, json.find('"'));
}

/// Describes tensors by the package's text of that name, if it has one of as many.
inline Error read_aoti_specs(std::string_view json, std::string_view name,
                             std::vector<ValueSpec>& specs) {
  std::string_view text = aoti_text(json, name);
  if (text.empty()) return Error::Ok;
  std::vector<ValueSpec> made;
  while (!text.empty()) TENON_TRY(read_aoti_spec(next_word(text, ';'), made.emplace_back()));
  if (made.size() != specs.size()) {
    return fail(Error::InvalidArgument, "the package describes ", made.size(),
                " tensors, the model has ", specs.size());
  }
  specs.swap(made);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
