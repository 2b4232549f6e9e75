// SPDX-License-Identifier: MIT
// Expression: how the elements of a tensor came about, as a tree of what made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/generator.h"
#include "tenon/core/message.h"
#include "tenon/core/optional.h"
#include "tenon/core/scalar.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // Empty beside tenon::Empty, by intention

/// What a node of an expression does.
enum class ExpressionKind : uint8_t {
  Empty,     ///< never written; reads as zeros
  Constant,  ///< one value
  Eye,       ///< ones on the main diagonal
  Iota,      ///< each element's index
  Uniform,   ///< random numbers
  Normal,
  Data,    ///< bytes that the host gave
  Copy,    ///< elements of operand 0, from any place in it, converted maybe
  Update,  ///< operand 0, of which a part was overwritten with operand 1
};

#pragma GCC diagnostic pop

/// "Uniform".
constexpr const char* toString(ExpressionKind kind) noexcept {
  switch (kind) {
    case ExpressionKind::Empty: return "Empty";
    case ExpressionKind::Constant: return "Constant";
    case ExpressionKind::Eye: return "Eye";
    case ExpressionKind::Iota: return "Iota";
    case ExpressionKind::Uniform: return "Uniform";
    case ExpressionKind::Normal: return "Normal";
    case ExpressionKind::Data: return "Data";
    case ExpressionKind::Copy: return "Copy";
    case ExpressionKind::Update: return "Update";
  }
  return "unknown";
}

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// Trees are at most so deep; what would be deeper is evaluated and becomes Data.
inline constexpr int kMaxExpressionDepth = 64;

/// A node: elements of a type, in row-major order, and what they are made of. It never changes, and
/// may be an operand of several others.
/// Ownership: keeps its operands and its bytes alive, no tensor.
/// Source: Nx.Defn.Expr.
struct Expression {
  ExpressionKind kind = ExpressionKind::Empty;
  ScalarType type = ScalarType::Undefined;
  Dims sizes;

  /// Constant: the bytes of an element. value() is the number.
  unsigned char element[16] = {};
  /// Iota: along which dimension, 0 or more; none for the row-major index.
  OptionalIndex axis = none;
  /// Uniform: the least value and the end of the range. Normal: the mean, the standard deviation.
  double parameters[2] = {0, 1};
  /// Uniform, Normal: the seed, and the offset of element 0.
  Generator::State start;
  /// Data: the elements.
  std::shared_ptr<const unsigned char> data;
  /// Copy: the type that operand 0's bytes are read as, and how that becomes `type`.
  ScalarType source_type = ScalarType::Undefined;
  CastMode mode = CastMode::Checked;
  /// Copy: where element 0 is in operand 0's bytes, and the strides of the others, in elements.
  /// Update: the same of the part that operand 1 is written to.
  int64_t offset = 0;
  Dims strides;

  /// Operands come first in operands(); the others are null.
  ExpressionPtr inputs[2];
  /// Nodes on the longest way down.
  int depth = 1;

  Span<const ExpressionPtr> operands() const noexcept {
    return {inputs, inputs[0] == nullptr   ? size_t{0}
                    : inputs[1] == nullptr ? size_t{1}
                                           : size_t{2}};
  }
  /// Of a Constant.
  own::Scalar value() const noexcept {
    return detail::load_scalar(detail::own_type(type), static_cast<const void*>(element));
  }
  int64_t numel() const noexcept {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
  }
  size_t nbytes() const noexcept {
    return static_cast<size_t>(numel()) * elementSize(detail::own_type(type));
  }
};

namespace detail {

/// Appends what an error message would say of the values.
template <class... Parts>
void append_parts(std::string& out, const Parts&... parts) {
  char text[1024];
  Message message(text, sizeof text);
  (append(message, parts), ...);
  out += text;
}

/// Appends a node's arguments, "0, 1", separated by `separator`. The seed too when asked.
TENON_LAZY void append_arguments(const Expression& node, const char* separator, bool with_start,
                                 std::string& out) {
  switch (node.kind) {
    case ExpressionKind::Constant: append_parts(out, node.value()); break;
    case ExpressionKind::Iota:
      if (node.axis.has_value()) append_parts(out, "axis ", node.axis.value_or(0));
      break;
    case ExpressionKind::Uniform:
    case ExpressionKind::Normal:
      append_parts(out, node.parameters[0], ", ", node.parameters[1]);
      if (with_start) {
        append_parts(out, separator, "seed ", node.start.seed, ", offset ", node.start.offset);
      }
      break;
    case ExpressionKind::Copy:
      if (node.source_type != node.type) {
        append_parts(out, "from ", toString(node.source_type), ", ", toString(node.mode),
                     separator);
      }
      append_parts(out, "strides ", node.strides, ", offset ", node.offset);
      break;
    case ExpressionKind::Update:
      append_parts(out, "strides ", node.strides, ", offset ", node.offset);
      break;
    case ExpressionKind::Empty:
    case ExpressionKind::Eye:
    case ExpressionKind::Data: break;
  }
}

TENON_LAZY void append_expression(const Expression& node, int levels, std::string& out) {
  out += toString(node.kind);
  std::string arguments;
  append_arguments(node, ", ", false, arguments);
  if (!arguments.empty()) out += '(' + arguments + ')';
  append_parts(out, ' ', toString(node.type), ' ', node.sizes);
  if (node.operands().empty()) return;
  out += " [";
  if (levels == 0) out += "...";
  const char* separator = "";
  for (const ExpressionPtr& operand : node.operands()) {
    if (levels == 0) break;
    out += separator;
    append_expression(*operand, levels - 1, out);
    separator = ", ";
  }
  out += ']';
}

}  // namespace detail

/// The expression in a line, "Uniform(0, 1) Float {2, 3}", operands in brackets, four levels of them.
TENON_LAZY std::string to_string(const Expression& expression) {
  std::string text;
  detail::append_expression(expression, 4, text);
  return text;
}

TENON_END_NAMESPACE
