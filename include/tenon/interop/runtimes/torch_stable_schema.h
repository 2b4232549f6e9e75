// SPDX-License-Identifier: MIT
// Schemas of PyTorch's operators: "ns::name.overload(Tensor x, int[2] size=[1, 1]) -> Tensor".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/libraries/element_types.h"
#include "tenon/interop/libraries/read_double.h"
#include "tenon/module/evalue.h"

TENON_BEGIN_NAMESPACE
namespace detail {

// --- Types --------------------------------------------------------------------------------------

/// Whether a type is "T?"; if so, sets `type` to T.
inline bool take_optional(std::string_view& type) noexcept {
  if (type.empty() || type.back() != '?') return false;
  type.remove_suffix(1);
  return true;
}
/// Whether a type is "T[]" or "T[2]"; if so, sets `type` to T.
inline bool take_list(std::string_view& type) noexcept {
  const size_t open = type.rfind('[');
  if (open == std::string_view::npos ||
      type.find_first_not_of("0123456789", open + 1) != type.size() - 1 || type.back() != ']') {
    return false;
  }
  type = type.substr(0, open);
  return true;
}
/// Whether values of the type are numbers of torch's enumerations, such as ScalarType::Float = 6.
inline bool is_enum_type(std::string_view type) noexcept {
  return type == "ScalarType" || type == "Layout" || type == "MemoryFormat";
}
/// The kind of an EValue for a type without "?" and "[]"; None if there is none.
inline ValueKind kind_of_element(std::string_view type) noexcept {
  if (type == "Tensor") return ValueKind::Tensor;
  if (type == "int" || is_enum_type(type)) return ValueKind::Int;
  if (type == "float" || type == "Scalar") return ValueKind::Double;
  if (type == "bool") return ValueKind::Bool;
  if (type == "str" || type == "Device") return ValueKind::String;
  return ValueKind::None;
}
/// The kind of an EValue for a list of elements of that type; None if there is none.
inline ValueKind kind_of_list(std::string_view element) noexcept {
  if (element == "Tensor?") return ValueKind::OptionalTensorList;
  const ValueKind kind = kind_of_element(element);
  if (kind == ValueKind::Tensor) return ValueKind::TensorList;
  if (kind == ValueKind::Int) return ValueKind::IntList;
  if (kind == ValueKind::Double) return ValueKind::DoubleList;
  if (element == "str") return ValueKind::StringList;
  return kind == ValueKind::Bool ? ValueKind::BoolList : ValueKind::None;
}
/// Whether EValue can hold values of the type. A Generator is always None.
inline bool is_value_type(std::string_view type) noexcept {
  if (take_optional(type) && type == "Generator") return true;
  return (take_list(type) ? kind_of_list(type) : kind_of_element(type)) != ValueKind::None;
}

/// Converts a value to a type: an Int for a float becomes a Double, a TensorList for a Tensor?[] an
/// OptionalTensorList, an Int for an int[2] a list of two, a String for a str[] a list of one.
/// Errors: InvalidType; NotSupported for a type that EValue cannot hold; OutOfMemory.
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
    // If the list's length is given, a single number stands for all elements.
    const std::string_view count = list.substr(type.size() + 1, list.size() - type.size() - 2);
    uint8_t n = 0;
    std::from_chars(count.data(), count.data() + count.size(), n);
    if (n == 0) return refuse();
    out = EValue(std::vector<int64_t>(n, value.toInt()));
  } else if (wanted == ValueKind::StringList && kind == ValueKind::String) {
    out = EValue(value.toStringList());
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

inline bool is_word_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
inline bool is_identifier(std::string_view text) noexcept {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), is_word_character);
}
/// Whether a text is "name" or "name.overload", perhaps with "ns::" in front.
inline bool is_operator_name(std::string_view name) noexcept {
  if (const size_t colons = name.find("::"); colons != std::string_view::npos) {
    if (!is_identifier(name.substr(0, colons))) return false;
    name.remove_prefix(colons + 2);
  }
  const size_t dot = (std::min)(name.find('.'), name.size());
  return is_identifier(name.substr(0, dot)) &&
         (dot == name.size() || is_identifier(name.substr(dot + 1)));
}

/// Removes blanks, except one between words, as in "int? x". Quoted text stays as it is.
inline std::string without_blanks(std::string_view text) {
  std::string made;
  bool has_blank = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == ' ' || (c >= '\t' && c <= '\r'))) {
      has_blank = !made.empty();
      continue;
    }
    if (has_blank && is_word_character(c) &&
        (is_word_character(made.back()) || std::strchr(")]?", made.back()) != nullptr)) {
      made += ' ';
    }
    has_blank = false;
    made += c;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != '\0' && c == '\\' && i + 1 < text.size()) {
      made += text[++i];
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return made;
}

/// The position of the first `wanted` from `begin` on that is outside brackets and quotes; npos if
/// there is none.
inline size_t find_outside(std::string_view text, char wanted, size_t begin) noexcept {
  int depth = 0;
  char quote = '\0';
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
      continue;
    }
    if (depth == 0 && c == wanted) return i;
    if (c == '\'' || c == '"') quote = c;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  }
  return std::string_view::npos;
}
/// Splits at the commas outside brackets and quotes.
inline std::vector<std::string_view> split_schema(std::string_view list) {
  std::vector<std::string_view> items;
  for (size_t begin = 0; !list.empty() && begin <= list.size();) {
    const size_t end = (std::min)(find_outside(list, ',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
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
  double real = 0;
  if (!read_double(text, real)) return false;
  out = EValue(real);
  return true;
}
/// Reads a word that stands for a number in schemas.
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
    std::vector<std::string> texts;
    const ValueKind kind = kind_of_list(inner);
    for (const std::string_view item : split_schema(text.substr(1, text.size() - 2))) {
      EValue element;
      TENON_TRY(read_default(inner, item, element));
      if (kind == ValueKind::StringList) {
        texts.emplace_back(element.toString());
        continue;
      }
      if (!element.isScalar()) return refuse();
      const Scalar number = element.toScalar();
      reals.push_back(number.to<double>());
      ints.push_back(number.isFloatingPoint() ? 0 : number.to<int64_t>());
    }
    if (kind == ValueKind::None) return refuse();
    value = kind == ValueKind::IntList      ? EValue(ints)
            : kind == ValueKind::DoubleList ? EValue(reals)
            : kind == ValueKind::StringList ? EValue(texts)
            : kind == ValueKind::BoolList   ? EValue(std::vector<bool>(ints.begin(), ints.end()))
                                            : EValue(std::vector<Tensor>());  // an empty list
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

  /// Reads a schema, whose name may be missing.
  /// Errors: InvalidArgument; InvalidType.
  /// Source: torch/csrc/jit/frontend/function_schema_parser.cpp.
  Error read(std::string_view text) {
    const Error error = read_parts(without_blanks(text));
    if (error == Error::Ok) return error;
    return fail(error, "the schema \"", text, "\": ", message_of(error));
  }

 private:
  Error read_parts(std::string_view text) {
    const size_t open = (std::min)(text.find('('), text.size());
    const size_t close = find_outside(text, ')', open + 1);
    if (close == std::string_view::npos || text.substr(close + 1, 2) != "->") {
      return fail(Error::InvalidArgument, "it is not the schema of an operator, such as ",
                  "\"ns::name(Tensor x, int n=1) -> Tensor\"");
    }
    name = std::string(text.substr(0, open));
    if (open != 0 && !is_operator_name(name)) {
      return fail(Error::InvalidArgument, '"', name, "\" is not a name such as ns::name.overload");
    }
    std::string_view results = text.substr(close + 3);
    if (results.empty()) {
      return fail(Error::InvalidArgument,
                  "nothing follows the arrow; write () if there are no results");
    }
    if (results.front() == '(') {
      if (find_outside(results, ')', 1) != results.size() - 1) {
        return fail(Error::InvalidArgument,
                    "the brackets of its results are not closed at its end");
      }
      results = results.substr(1, results.size() - 2);
    } else if (find_outside(results, ',', 0) != std::string_view::npos) {
      return fail(Error::InvalidArgument, "several results need brackets, as in (Tensor, Tensor)");
    }
    TENON_TRY(read_list(text.substr(open + 1, close - open - 1), true, inputs));
    return read_list(results, false, outputs);
  }
  static Error read_list(std::string_view list, bool are_named,
                         std::vector<StableArgument>& arguments) {
    arguments.clear();
    for (const std::string_view item : split_schema(list)) {
      if (item == "*") continue;  // the rest is keyword-only
      StableArgument argument;
      size_t end = 0;
      int aliases = 0;  // "Tensor(a!)" is a Tensor that is written to
      for (; end < item.size() && ((item[end] != ' ' && item[end] != '=') || aliases != 0); ++end) {
        aliases += item[end] == '(' ? 1 : 0;
        if (aliases == 0) argument.type += item[end];
        aliases -= item[end] == ')' ? 1 : 0;
      }
      const std::string_view rest =
          item.substr(end < item.size() && item[end] == ' ' ? end + 1 : end);
      const size_t equals = (std::min)(rest.find('='), rest.size());
      argument.name = std::string(rest.substr(0, equals));
      const bool is_type = is_word_character(item.empty() ? '\0' : item[0]) &&
                           argument.type.find_first_of("->!*:'\"") == std::string::npos;
      const bool has_name = is_identifier(argument.name) || (argument.name.empty() && !are_named);
      if (item != "..." && (!is_type || !has_name)) {
        return fail(Error::InvalidArgument, '"', item, "\" is not ",
                    are_named ? "a type and a name" : "a type");
      }
      if (argument.type.compare(0, 3, "Sym") == 0 && argument.type.size() > 3) {
        argument.type.erase(0, 3);
        argument.type[0] = static_cast<char>(argument.type[0] - 'A' + 'a');
      }
      if (equals < rest.size()) {
        argument.has_default = true;
        TENON_TRY(read_default(argument.type, rest.substr(equals + 1), argument.default_value));
      }
      arguments.push_back(std::move(argument));
    }
    return Error::Ok;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
