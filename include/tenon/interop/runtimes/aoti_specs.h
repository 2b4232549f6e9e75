// SPDX-License-Identifier: MIT
// Descriptions of a model's tensors in a package, such as "image float32 batch<=64 1 8 8
// strides=64,64,8,1; rows int64 2<=time<=99 2*time+1": the name, the dtype, and for each dimension
// the size, or a name with the least and the greatest size. "*" is a dimension without a name;
// "2*time+1" is a size that follows from another dimension's. The strides come last, with "*" for
// any stride. If they depend on sizes, "order=0,2,3,1" is there instead: the dim order of a dense
// tensor, outermost first. An output that is not a tensor has a name and the kind of its EValue:
// "count Int", "count Double", "count Bool" or "count none".
//
// A model reads an input with the strides for which it was compiled, which are those of the example
// at export, whatever strides the tensor has.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "tenon/interop/libraries/element_types.h"
#include "tenon/interop/libraries/read_double.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The number in a word; -1 if it is not a number.
inline int64_t aoti_number(std::string_view word) noexcept {
  if (word.empty()) return -1;
  int64_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return -1;
    if (value > (INT64_MAX - (c - '0')) / 10) return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Removes and returns the text up to the next separator.
inline std::string_view next_word(std::string_view& text, char separator) noexcept {
  const size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return word;
}

/// Whether a word can be a dimension's name: a Python identifier, perhaps with JSON's escapes.
inline bool is_aoti_name(std::string_view word) noexcept {
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = c == '_' || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
    if (!is_letter && !is_other && !(is_digit && i > 0)) return false;
  }
  return !word.empty();
}

/// A dimension's name, or its size in terms of another's: factor * name + plus.
struct AotiDimension {
  int64_t factor = 1;
  std::string_view name;
  int64_t plus = 0;

  static constexpr int64_t kMost = int64_t{1} << 16;  // limit of factor and plus
};
/// Reads "time", "2*time", "time+1" or "2*time-3"; false for anything else.
inline bool read_aoti_dimension(std::string_view word, AotiDimension& dimension) noexcept {
  const size_t star = word.find('*');
  if (star != std::string_view::npos) {
    dimension.factor = aoti_number(word.substr(0, star));
    word.remove_prefix(star + 1);
  }
  const size_t sign = word.find_first_of("+-");
  if (sign != std::string_view::npos) {
    dimension.plus = aoti_number(word.substr(sign + 1));
    if (dimension.plus < 0 || dimension.plus > AotiDimension::kMost) return false;
    if (word[sign] == '-') dimension.plus = -dimension.plus;
  }
  dimension.name = word.substr(0, sign);
  return dimension.factor > 0 && dimension.factor <= AotiDimension::kMost &&
         is_aoti_name(dimension.name);
}
/// Whether two dimensions with these names and sizes can occur in one call.
inline bool fit_together(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  AotiDimension first;
  AotiDimension second;
  if (!read_aoti_dimension(a, first) || !read_aoti_dimension(b, second) ||
      first.name != second.name) {
    return true;
  }
  constexpr int64_t kMostSize = INT64_MAX / AotiDimension::kMost / 2;
  return a_size < kMostSize && b_size < kMostSize &&
         (a_size - first.plus) * second.factor == (b_size - second.plus) * first.factor;
}

/// Reads "strides=64,*,8,1" or "order=0,2,3,1"; false for any other word.
inline bool read_aoti_layout(std::string_view word, TensorSpec& spec, bool& is_valid) {
  const bool has_strides = word.substr(0, 8) == "strides=";
  if (!has_strides && word.substr(0, 6) != "order=") return false;
  word.remove_prefix(has_strides ? 8 : 6);
  std::vector<int64_t> values;
  while (!word.empty()) {
    const std::string_view value = next_word(word, ',');
    values.push_back(aoti_number(value));
    is_valid = is_valid && (values.back() >= 0 || (has_strides && value == "*"));
  }
  Dims& list = has_strides ? static_cast<Dims&>(spec.strides) : spec.dim_order;
  list = Dims(values);
  return true;
}

/// The parts of a description that a ValueSpec lacks.
struct AotiDetails {
  Dims least;       // the least sizes, -1 if there is none
  EValue constant;  // the constant value of an output; else None
};

/// Reads "Int", "Double", "Bool", "none", or with a constant "Double=2.5", "Bool=1"; false for any
/// other word. "bool" is a tensor of that dtype and rank 0.
inline bool read_aoti_kind(std::string_view word, ValueKind& kind, EValue& constant) {
  const size_t equals = (std::min)(word.find('='), word.size());
  std::string_view value = word.substr(equals);
  word = word.substr(0, equals);
  kind = word == "Int"      ? ValueKind::Int
         : word == "Double" ? ValueKind::Double
         : word == "Bool"   ? ValueKind::Bool
                            : ValueKind::None;
  if (value.empty()) return kind != ValueKind::None || word == "none";
  if (kind == ValueKind::None) return false;
  value.remove_prefix(1);
  if (kind == ValueKind::Double) {
    double number = 0;
    const bool is_number = read_double(value, number);
    constant = number;
    return is_number;
  }
  int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [at, code] = std::from_chars(value.data(), end, number);
  constant = kind == ValueKind::Bool ? EValue(number != 0) : EValue(number);
  return code == std::errc() && at == end;
}

/// Reads one description.
/// Errors: InvalidArgument.
inline Error read_aoti_spec(std::string_view text, ValueSpec& spec, AotiDetails& details) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string all(text);
  TensorSpec made;
  made.name = next_word(text, ' ');
  ValueKind kind = ValueKind::Tensor;
  if (!made.name.empty() && read_aoti_kind(text, kind, details.constant)) {  // an output
    spec = ValueSpec(std::move(made.name), kind);
    return Error::Ok;
  }
  made.type = public_type(type_of_python_name(next_word(text, ' ')));
  std::vector<int64_t> sizes;
  std::vector<int64_t> most;
  std::vector<int64_t> lowest;
  std::vector<std::string> names;
  bool is_valid = !made.name.empty() && made.type != tenon::ScalarType::Undefined;
  while (!text.empty() && is_valid) {
    std::string_view word = next_word(text, ' ');
    if (read_aoti_layout(word, made, is_valid)) {
      is_valid = is_valid && text.empty();
      continue;
    }
    int64_t bound = -1;
    size_t at = word.find("<=");
    if (at != std::string_view::npos && aoti_number(word.substr(0, at)) >= 0) {
      bound = aoti_number(word.substr(0, at));
      word.remove_prefix(at + 2);
      at = word.find("<=");
    }
    lowest.push_back(bound);
    bound = at != std::string_view::npos ? aoti_number(word.substr(at + 2)) : -1;
    most.push_back(bound);
    is_valid = bound >= 0 || at == std::string_view::npos;
    word = word.substr(0, at);
    sizes.push_back(aoti_number(word));
    is_valid = is_valid && (sizes.back() < 0 || (lowest.back() < 0 && bound < 0));
    const bool has_name = sizes.back() < 0 && word != "*";
    AotiDimension dimension;
    is_valid = is_valid && (!has_name || read_aoti_dimension(word, dimension));
    names.emplace_back(has_name ? word : std::string_view());
  }
  if (!is_valid) {
    return fail(Error::InvalidArgument, "the package's description of a tensor is broken: \"",
                all.c_str(), '"');
  }
  made.sizes = Dims(sizes);
  made.max_sizes = Dims(most);
  made.names = NameList(names);
  TENON_TRY(check_spec(made));
  spec = ValueSpec(std::move(made));
  details.least = Dims(lowest);
  return check_dims("the least sizes", details.least);
}

/// Finds a text by name in a JSON object of texts, {"name": "text", ...}. Keeps escapes.
/// Errors: InvalidArgument for other JSON, with the field's name.
inline Error find_aoti_text(std::string_view json, std::string_view name,
                            std::optional<std::string_view>& found) {
  size_t at = 0;
  const auto take = [&](char c) noexcept {
    at = (std::min)(json.find_first_not_of(" \t\r\n", at), json.size());
    const bool is_there = at < json.size() && json[at] == c;
    at += is_there ? 1 : 0;
    return is_there;
  };
  const auto take_text = [&](std::string_view& text) noexcept {
    if (!take('"')) return false;
    const size_t begin = at;
    while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? size_t{2} : 1;
    if (at >= json.size()) return false;
    text = json.substr(begin, at++ - begin);
    return true;
  };
  found.reset();
  std::string_view key;
  std::string_view value;
  bool is_valid = take('{');
  if (is_valid && !take('}')) {
    do {
      key = {};
      is_valid = take_text(key) && take(':') && take_text(value) && !(key == name && found);
      if (key == name) found = value;
    } while (is_valid && take(','));
    is_valid = is_valid && take('}');
  }
  take(' ');  // skips all blanks
  if (is_valid && at == json.size()) return Error::Ok;
  return fail(Error::InvalidArgument, "the package's metadata is not JSON of texts, from byte ",
              (std::min)(at, json.size()), " on, in the field \"", std::string(key).c_str(), '"');
}

/// Reads descriptions separated by ';', one for each spec.
inline Error read_aoti_list(std::string_view text, std::vector<ValueSpec>& specs,
                            std::vector<AotiDetails>& details) {
  std::vector<ValueSpec> made;
  details.clear();
  for (bool is_last = text.empty(); !is_last;) {
    is_last = text.find(';') == std::string_view::npos;
    TENON_TRY(read_aoti_spec(next_word(text, ';'), made.emplace_back(), details.emplace_back()));
  }
  if (made.size() != specs.size()) {
    return fail(Error::InvalidArgument, "the package describes ", made.size(),
                " tensors, but the model has ", specs.size());
  }
  specs.swap(made);
  return Error::Ok;
}
/// Describes tensors by the field `name` of a package's metadata. Without that field `details` stay
/// empty.
inline Error read_aoti_specs(std::string_view json, const char* name, std::vector<ValueSpec>& specs,
                             std::vector<AotiDetails>& details) {
  std::optional<std::string_view> found;
  TENON_TRY(find_aoti_text(json, name, found));
  return found ? add_context_if(name, read_aoti_list(*found, specs, details)) : Error::Ok;
}

/// Copies a tensor to one with the spec's strides. Strides that the spec leaves open become dense.
/// Errors: NotSupported for strides at which elements share memory, unless `given` repeats its
/// elements along the same dimensions; those of allocation.
inline Error copy_to_strides(const TensorSpec& spec, const Tensor& given, Tensor& copy) noexcept {
  const Layout& from = fields(TensorArg(given)).layout;
  Dims strides = strides_of(spec, from);
  TENON_TRY(check_dims("strides", strides));
  Dims sizes = from.sizes();  // sizes of the copy: 1 for dimensions along which elements repeat
  TENON_TRY(check_dims("sizes", sizes));
  const size_t element_size = elementSize(fields(TensorArg(given)).type);
  const auto is_open = [&spec](size_t d) noexcept {
    return d < spec.strides.size() && spec.strides[d] < 0;
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 0 && from.strides()[d] == 0) sizes[d] = 1;
    if (is_open(d)) strides[d] = 0;
  }
  Layout to;
  TENON_TRY(make_layout(sizes, {}, strides, element_size, to));
  int64_t next = to.required_span_size();
  for (size_t d = sizes.size(); d-- > 0;) {
    if (!is_open(d)) continue;
    strides[d] = next;
    if (!multiply(next, sizes[d], next)) return fail_shape(sizes, element_size);
  }
  TENON_TRY(make_layout(sizes, {}, strides, element_size, to));
  if (to.may_overlap()) {
    return fail(Error::NotSupported, "its strides are ", from.strides(), ", the model reads it by ",
                strides,
                ", where elements share memory; make such a tensor by expand() or "
                "as_strided(), or export the model with an example of other strides");
  }
  Result<Tensor> source = try_as_strided(given, sizes, from.strides());
  TENON_TRY(source);
  Result<TensorPtr> made = try_empty_strided(sizes, strides, given.scalar_type());
  TENON_TRY(made);
  if (!fields(TensorArg(**made)).is_host_accessible()) {
    return fail_host_access(fields(TensorArg(**made)));
  }
  TENON_TRY(copy_(**made, *source));
  Result<Tensor> view = try_as_strided(**made, from.sizes(), strides);
  TENON_TRY(view);
  copy = std::move(*view);
  return Error::Ok;
}

/// The tensor that is passed to the model for `given`: itself, a view with the strides of size-1
/// dimensions that the model's check expects, or a copy.
/// Errors: NotSupported for a spec without strides, unless `is_row_major`, and if a copy is needed
/// but not allowed, or would have elements that share memory.
inline Error hand_over(const ValueSpec& spec, bool is_row_major, const Tensor& given,
                       Tensor& handed) noexcept {
  const Layout& from = fields(TensorArg(given)).layout;
  handed = given;
  if (from.numel == 0 || from.rank() == 0) return Error::Ok;
  if (!has_layout(spec.tensor) && !is_row_major && from.numel != 1) {
    return fail(Error::NotSupported,
                "the strides by which the model reads it are unknown: neither the package nor its "
                "source has them; give them to describe_inputs() as TensorSpec::strides, or set "
                "AotiOptions::assume_row_major");
  }
  bool is_same = true;
  bool is_negative = false;  // torch lacks negative strides
  for (size_t d = 0; d < from.rank(); ++d) {
    is_same &= from.strides()[d] == stride_of(spec.tensor, from, d);
    is_negative |= from.strides()[d] < 0 && from.sizes()[d] != 1;
  }
  if (is_same && !is_negative) return Error::Ok;
  if (!is_negative && has_strides(spec.tensor, from)) {
    Result<Tensor> view = try_as_strided(given, from.sizes(), strides_of(spec.tensor, from));
    TENON_TRY(view);
    handed = std::move(*view);
    return Error::Ok;
  }
  if (!spec.copies_strides) {
    return fail(Error::NotSupported, "its strides are ", from.strides(), ", the model reads it by ",
                strides_of(spec.tensor, from));
  }
  return copy_to_strides(spec.tensor, given, handed);
}

}  // namespace detail
TENON_END_NAMESPACE
