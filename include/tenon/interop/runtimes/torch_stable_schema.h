// SPDX-License-Identifier: MIT
// Schemas of PyTorch's operators: "ns::name.overload(Tensor x, int[2] size=[1, 1]) -> Tensor".
#pragma once

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/libraries/element_types.h"
#include "tenon/module/evalue.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- Types --------------------------------------------------------------------------------------

/// Whether a type is "T?"; then `type` becomes T.
inline bool take_optional(std::string_view& type) noexcept {
  if (type.empty() || type.back() != '?') return false;
  type.remove_suffix(1);
  return true;
}
/// Whether a type is "T[]" or "T[2]"; then `type` becomes T.
inline bool take_list(std::string_view& type) noexcept {
  if (type.empty() || type.back() != ']') return false;
  type = type.substr(0, type.rfind('['));
  return true;
}
/// Types that are numbers of torch's, as in ScalarType::Float = 6.
inline bool is_enum_type(std::string_view type) noexcept {
  return type == "ScalarType" || type == "Layout" || type == "MemoryFormat";
}
/// The kind of an EValue that has such an element, not "T?" or "T[]"; None if no kind has.
inline ValueKind kind_of_element(std::string_view type) noexcept {
  if (type == "Tensor") return ValueKind::Tensor;
  if (type == "int" || is_enum_type(type)) return ValueKind::Int;
  if (type == "float" || type == "Scalar") return ValueKind::Double;
  if (type == "bool") return ValueKind::Bool;
  if (type == "str" || type == "Device") return ValueKind::String;
  return ValueKind::None;
}
/// The kind of an EValue that has a list of such elements; None if no kind has.
inline ValueKind kind_of_list(std::string_view element) noexcept {
  if (element == "Tensor?") return ValueKind::OptionalTensorList;
  switch (kind_of_element(element)) {
    case ValueKind::Tensor: return ValueKind::TensorList;
    case ValueKind::Int: return ValueKind::IntList;
    case ValueKind::Double: return ValueKind::DoubleList;
    case ValueKind::Bool: return ValueKind::BoolList;
    default: return ValueKind::None;
  }
}
/// Whether EValues have such values. A Generator is always None.
inline bool is_value_type(std::string_view type) noexcept {
  if (take_optional(type) && type == "Generator") return true;
  return (take_list(type) ? kind_of_list(type) : kind_of_element(type)) != ValueKind::None;
}

/// The value as one of that type: an Int for a float becomes a Double, a TensorList for a Tensor?[]
/// an OptionalTensorList, an Int for an int[2] a list of two.
/// Errors: InvalidType; NotSupported for a type that EValues do not have; OutOfMemory.
inline Error convert_value(std::string_view type, const EValue& value, EValue& out) {
  if (!is_value_type(type)) {
    return fail(Error::NotSupported, "tenon has no values of type ", type);
  }
  const std::string_view full = type;
  const auto refuse = [&] {
    return fail(Error::InvalidType, "expected a value of type ", full, ", not ", value);
  };
  const ValueKind kind = value.kind();
  if (take_optional(type)) {
    const bool is_none = value.isNone() || (value.isTensor() && !value.toTensor().defined());
    if (is_none || type == "Generator") {
      out = EValue();
      return is_none ? Error::Ok : refuse();
    }
  }
  const std::string_view list = type;
  ValueKind wanted;
  if (!take_list(type)) {
    wanted = kind_of_element(type);
    if (kind == wanted || (type == "Scalar" && value.isScalar())) {
      out = value;
    } else if (wanted == ValueKind::Double && kind == ValueKind::Int) {
      out = EValue(static_cast<double>(value.toInt()));
    } else {
      return refuse();
    }
    return Error::Ok;
  }
  wanted = kind_of_list(type);
  if (kind == wanted || (type == "Scalar" && (value.isIntList() || value.isBoolList()))) {
    out = value;
  } else if (wanted == ValueKind::OptionalTensorList && kind == ValueKind::TensorList) {
    out = EValue::optional_tensor_list(value.toTensorList());
  } else if (wanted == ValueKind::DoubleList && kind == ValueKind::IntList) {
    const ArrayRef<int64_t> ints = value.toIntList();
    out = EValue(std::vector<double>(ints.begin(), ints.end()));
  } else if (wanted == ValueKind::IntList && kind == ValueKind::Int) {
    // One number stands for each of the elements, if their count is given.
    const std::string_view count = list.substr(type.size() + 1, list.size() - type.size() - 2);
    uint8_t n = 0;
    std::from_chars(count.data(), count.data() + count.size(), n);
    if (n == 0) return refuse();
    out = EValue(std::vector<int64_t>(n, value.toInt()));
  } else {
    return refuse();
  }
  return Error::Ok;
}

// --- Schemas ------------------------------------------------------------------------------------

struct StableArgument {
  std::string type;  // "Tensor", "int?", "float[]"; a SymInt is an int
  std::string name;
  bool has_default = false;
  EValue default_value;
};

inline std::string_view trim_spaces(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at the commas that lie in no bracket and no text.
inline std::vector<std::string_view> split_schema(std::string_view list) {
  std::vector<std::string_view> items;
  size_t begin = 0;
  int depth = 0;
  char quote = '\0';
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (quote != '\0' && i < list.size()) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c != ',' || (depth != 0 && i < list.size())) continue;
    const std::string_view item = trim_spaces(list.substr(begin, i - begin));
    if (!item.empty()) items.push_back(item);
    begin = i + 1;
  }
  return items;
}

inline bool read_schema_number(std::string_view text, EValue& out) {
  int64_t integer = 0;
  const char* const end = text.data() + text.size();
  if (const auto [at, code] = std::from_chars(text.data(), end, integer);
      code == std::errc() && at == end) {
    out = EValue(integer);
    return true;
  }
  const std::string copy(text);  // with a zero behind it
  char* at = nullptr;
  const double real = std::strtod(copy.c_str(), &at);
  if (copy.empty() || at != copy.c_str() + copy.size()) return false;
  out = EValue(real);
  return true;
}
/// A word that stands for a number in schemas.
/// Source: torch/csrc/jit/frontend/schema_type_parser.cpp.
inline bool read_schema_word(std::string_view text, EValue& out) {
  struct Word {
    const char* name;
    int64_t number;
  };
  constexpr Word kWords[] = {{"Mean", 1},
                             {"Sum", 2},
                             {"strided", 0},
                             {"contiguous_format", 0},
                             {"preserve_format", 1},
                             {"channels_last", 2},
                             {"long", 4},
                             {"float", 6},
                             {"double", 7},
                             {"bool", 11}};
  for (const Word& word : kWords) {
    if (text != word.name) continue;
    out = EValue(word.number);
    return true;
  }
  const ScalarType type = type_of_python_name(text);
  out = EValue(static_cast<int64_t>(type));
  return type != ScalarType::Undefined;
}
/// Reads "None", "1e-05", "True", "'mean'", "[1, 2]", "contiguous_format" as a value of a type.
/// Errors: InvalidArgument; InvalidType; OutOfMemory.
inline Error read_default(std::string_view type, std::string_view text, EValue& out) {
  EValue value;
  std::string_view inner = type;
  static_cast<void>(take_optional(inner));
  const auto refuse = [&] {
    return fail(Error::InvalidArgument, "\"", text, "\" is not a value of type ", type);
  };
  if (text == "None") {
    if (inner.size() == type.size()) return refuse();
    out = EValue();
    return Error::Ok;
  }
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) {
    if (text.back() != text.front()) return refuse();
    std::string characters;
    for (size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] == '\\' && i + 2 < text.size()) ++i;
      characters += text[i];
    }
    value = EValue(characters);
  } else if (text.size() >= 2 && text.front() == '[') {
    if (text.back() != ']' || !take_list(inner)) return refuse();
    std::vector<double> reals;
    std::vector<int64_t> ints;
    for (const std::string_view item : split_schema(text.substr(1, text.size() - 2))) {
      EValue element;
      TENON_TRY(read_default(inner, item, element));
      if (!element.isScalar()) return refuse();
      const Scalar number = element.toScalar();
      reals.push_back(number.to<double>());
      ints.push_back(number.isFloatingPoint() ? 0 : number.to<int64_t>());
    }
    switch (kind_of_list(inner)) {
      case ValueKind::IntList: value = EValue(ints); break;
      case ValueKind::DoubleList: value = EValue(reals); break;
      case ValueKind::BoolList: value = EValue(std::vector<bool>(ints.begin(), ints.end())); break;
      case ValueKind::TensorList: value = EValue(std::vector<Tensor>(ints.size())); break;
      default: return refuse();
    }
  } else if (text == "True" || text == "False") {
    value = EValue(text == "True");
  } else if (!read_schema_number(text, value) && !read_schema_word(text, value)) {
    if (inner != "Device") return refuse();
    value = EValue(text);
  }
  return convert_value(type, value, out);
}

struct StableSchema {
  std::string name;  // "ns::name.overload"
  std::vector<StableArgument> inputs;
  std::vector<StableArgument> outputs;

  /// Reads a schema, whose name may be left out.
  /// Errors: InvalidArgument.
  Error read(std::string_view text) {
    const size_t arrow = text.rfind("->");
    const size_t open = text.find('(');
    const size_t close = arrow == std::string_view::npos ? arrow : text.rfind(')', arrow);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      return fail(Error::InvalidArgument, "the schema \"", text, "\" is not one of an operator");
    }
    name = std::string(trim_spaces(text.substr(0, open)));
    std::string_view results = trim_spaces(text.substr(arrow + 2));
    if (!results.empty() && results.front() == '(' && results.back() == ')') {
      results = results.substr(1, results.size() - 2);
    }
    Error error = read_list(text.substr(open + 1, close - open - 1), inputs);
    if (error == Error::Ok) error = read_list(results, outputs);
    if (error == Error::Ok) return error;
    return fail(error, "the schema \"", text, "\": ", message_of(error));
  }

 private:
  static Error read_list(std::string_view list, std::vector<StableArgument>& arguments) {
    arguments.clear();
    for (const std::string_view item : split_schema(list)) {
      if (item == "*") continue;  // keywords only from here on
      StableArgument argument;
      size_t end = 0;
      int aliases = 0;  // "Tensor(a!)" is a Tensor that is written to
      for (; end < item.size() && (item[end] != ' ' || aliases != 0); ++end) {
        aliases += item[end] == '(' ? 1 : 0;
        if (aliases == 0) argument.type += item[end];
        aliases -= item[end] == ')' ? 1 : 0;
      }
      if (argument.type.compare(0, 3, "Sym") == 0) {
        argument.type.erase(0, 3);
        argument.type[0] = static_cast<char>(argument.type[0] - 'A' + 'a');
      }
      std::string_view rest = trim_spaces(item.substr(end));
      const size_t equals = rest.find('=');
      argument.name = std::string(trim_spaces(rest.substr(0, equals)));
      if (equals != std::string_view::npos) {
        argument.has_default = true;
        TENON_TRY(read_default(argument.type, trim_spaces(rest.substr(equals + 1)),
                               argument.default_value));
      }
      arguments.push_back(std::move(argument));
    }
    return Error::Ok;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
