// SPDX-License-Identifier: MIT
// Information on inputs and constants in the source of a model's library. AOTInductor puts the
// source beside the library: in the package, or as the file of that name. The library's checks of
// its inputs, which AOTI_RUNTIME_CHECK_INPUTS=1 turns on, have the expected values.
#pragma once

#include <array>

#include "tenon/interop/runtimes/aoti_specs.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The text between the first `begin` and the next `end` on the same line; empty if there is none.
inline std::string_view text_between(std::string_view text, const std::string& begin,
                                     std::string_view end) noexcept {
  size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  text = text.substr(0, text.find('\n'));
  at = text.find(end);
  return at == std::string_view::npos ? std::string_view() : text.substr(0, at);
}
/// Splits a list such as "4L, 3L*s41, s97".
inline std::vector<std::string_view> source_list(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(next_word(text, ','));
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return words;
}
/// Reads "3L" or "3"; returns -1 for any other word.
inline int64_t source_number(std::string_view word) noexcept {
  if (!word.empty() && word.back() == 'L') word.remove_suffix(1);
  return aoti_number(word);
}

/// Gives each symbol that stands for a size a prime number as its value, so that different products
/// have different values.
struct SourceSymbols {
  static constexpr std::array<int64_t, 8> kSamples = {257, 263, 269, 271, 277, 281, 283, 293};
  std::array<std::string_view, kSamples.size()> names;
  size_t count = 0;

  /// The value of a product such as "3L*s41"; -1 for anything else.
  int64_t value_of(std::string_view product, bool is_second_sample) noexcept {
    int64_t value = 1;
    while (!product.empty()) {
      const std::string_view factor = next_word(product, '*');
      int64_t number = source_number(factor);
      if (number < 0) {
        if (factor.size() < 2 || factor[0] != 's' || aoti_number(factor.substr(1)) < 0) return -1;
        size_t i = 0;
        while (i < count && names[i] != factor) ++i;
        if (i == names.size()) return -1;
        if (i == count) names[count++] = factor;
        number = kSamples[is_second_sample ? kSamples.size() - 1 - i : i];
      }
      if (!multiply(value, number, value)) return -1;
    }
    return value;
  }
};

/// The dim order of the dense tensor that sizes and strides with symbols describe; empty if it is
/// not dense.
/// Errors: OutOfMemory.
inline Error find_source_order(const std::vector<std::string_view>& sizes,
                               const std::vector<std::string_view>& strides, Dims& order) {
  SourceSymbols symbols;
  Dims found[2];
  for (const size_t sample : {size_t{0}, size_t{1}}) {
    std::vector<int64_t> size_values;
    std::vector<int64_t> stride_values;
    bool is_known = true;
    for (size_t d = 0; d < sizes.size(); ++d) {
      size_values.push_back(symbols.value_of(sizes[d], sample == 1));
      stride_values.push_back(symbols.value_of(strides[d], sample == 1));
      is_known = is_known && size_values.back() > 0 && stride_values.back() > 0;
    }
    Layout layout;
    if (!is_known || make_layout({size_values, stride_values}, 1, layout) != Error::Ok ||
        !layout.is_dense()) {
      return Error::Ok;
    }
    for (const DimOrderType d : layout.dim_order()) found[sample].push_back(d);
    TENON_TRY(check_dims("dim_order", found[sample]));
  }
  if (found[0] == found[1]) order = std::move(found[0]);
  return Error::Ok;
}

/// Reads the dtype and the fixed sizes and strides from the library's check of input `i`. Sizes and
/// strides that are not fixed become -1.
inline void read_source_check(std::string_view source, size_t i, const std::string& name,
                              ScalarType& type, std::vector<int64_t>& sizes,
                              std::vector<int64_t>& strides) {
  const size_t begin = source.find("static void check_input_" + std::to_string(i) + "(");
  if (begin == std::string_view::npos) return;
  source = source.substr(begin, source.find("\n}", begin) - begin);
  const std::string_view dtype =
      text_between(source, name + "_expected_dtype = aoti_torch_dtype_", "()");
  type = public_type(type_of_python_name(dtype));
  while (!source.empty()) {
    std::string_view line = next_word(source, '\n');
    const size_t condition = line.find("if (");
    if (condition == std::string_view::npos) continue;
    line.remove_prefix(condition + 4);
    for (const bool is_size : {true, false}) {
      const std::string list = name + (is_size ? "_size[" : "_stride[");
      const int64_t d = aoti_number(text_between(line, list, "]"));
      if (d < 0 || d >= static_cast<int64_t>(kMaxDims)) continue;
      const auto at = static_cast<size_t>(d);
      if (sizes.size() <= at) sizes.resize(at + 1, -1);
      if (strides.size() <= at) strides.resize(at + 1, -1);
      if (line.find(" != " + list) == std::string_view::npos) continue;  // a bound, not a size
      (is_size ? sizes : strides)[at] = aoti_number(next_word(line, ' '));
    }
  }
}

/// Describes input `i`, as far as the source has information. Strides that it lacks stay empty.
/// `spec` has the input's name in the library.
/// Errors: OutOfMemory.
inline Error read_source_input(std::string_view source, size_t i, ValueSpec& spec) {
  const std::string name = spec.name();
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  TensorSpec made;
  made.name = spec.tensor.name;
  made.type = tenon::ScalarType::Undefined;  // stays so if the library has no check of the input
  read_source_check(source, i, name, made.type, sizes, strides);
  bool is_complete = std::count(strides.begin(), strides.end(), -1) == 0;
  const std::string call = "assert_size_stride(" + name + ", {";
  const size_t end_of_sizes = source.find(call);
  if (end_of_sizes != std::string_view::npos) {
    const std::vector<std::string_view> size_words = source_list(text_between(source, call, "}"));
    const std::string_view line = text_between(source, call, "}, \"input\"");
    const size_t between = line.find("}, {");
    const std::vector<std::string_view> stride_words = source_list(
        between == std::string_view::npos ? std::string_view() : line.substr(between + 4));
    is_complete = between != std::string_view::npos && size_words.size() == stride_words.size();
    sizes.assign(size_words.size(), -1);
    strides.assign(size_words.size(), -1);
    for (size_t d = 0; d < sizes.size() && is_complete; ++d) {
      sizes[d] = source_number(size_words[d]);
      strides[d] = source_number(stride_words[d]);
    }
    for (size_t d = 0; d < sizes.size() && is_complete; ++d) {
      // A stride that the library reads from the input may have any value.
      const std::string declared = "int64_t " + std::string(stride_words[d]) + " = " + name +
                                   "_stride[" + std::to_string(d) + "];";
      is_complete = strides[d] >= 0 || source.find(declared) != std::string_view::npos;
    }
    if (!is_complete && size_words.size() == stride_words.size()) {
      TENON_TRY(find_source_order(size_words, stride_words, made.dim_order));
    }
  } else if (sizes.empty()) {
    return Error::Ok;
  }
  made.sizes = Dims(sizes);
  if (is_complete) made.strides = Dims(strides);
  TENON_TRY(check_spec(made));
  spec = ValueSpec(std::move(made));
  return Error::Ok;
}

/// Whether the library writes to the memory of an input or a constant, by its name in the source.
inline bool is_source_tensor_written(std::string_view source, const std::string& name) {
  if (source.find("aoti_torch_copy_(" + name + ",") != std::string_view::npos) return true;
  const std::string use = "*)(" + name + ".data_ptr())";
  for (size_t at = source.find(use); at != std::string_view::npos; at = source.find(use, at + 1)) {
    const size_t cast = source.rfind('(', at);
    if (source.substr(cast, 7) != "(const ") return true;
  }
  return false;
}

/// Errors: InvalidState for read-only memory, which the model would write to.
inline Error check_may_be_written(const TensorFields& given) noexcept {
  if (!given.readonly) return Error::Ok;
  return fail(Error::InvalidState,
              "it is read-only, and the model writes to it; clone_tensor_ptr() makes a copy");
}

/// Reads the sizes and strides of a constant, by its number in the library; false if the source
/// does not have them.
inline bool read_source_constant(std::string_view source, size_t i, Dims& sizes, Dims& strides) {
  const std::string constant = "constants_info_[" + std::to_string(i) + "].";
  if (source.find(constant + "stride = {") == std::string_view::npos) return false;
  bool is_known = true;
  const auto read = [&](const char* field) {
    std::vector<int64_t> values;
    for (const std::string_view word : source_list(text_between(source, constant + field, "}"))) {
      values.push_back(source_number(word));
      is_known = is_known && values.back() >= 0;
    }
    return Dims(values);
  };
  sizes = read("shape = {");
  strides = read("stride = {");
  return is_known && sizes.size() == strides.size();
}

}  // namespace detail
TENON_END_NAMESPACE
