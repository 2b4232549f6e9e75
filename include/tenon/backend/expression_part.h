// SPDX-License-Identifier: MIT
// The expression of a part of what an Expression describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/backend/expression.h"
#include "tenon/backend/expression_values.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/copy_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The product of sizes that have been checked.
inline int64_t numel_of(const Dims& sizes) noexcept {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  return numel;
}

/// Where the elements of a view are in the bytes of an expression.
struct ExpressionPart {
  ScalarType type;
  const Dims& sizes;
  const Dims& strides;
  int64_t offset;  // in bytes
  int64_t numel;

  size_t nbytes() const noexcept { return static_cast<size_t>(numel) * elementSize(type); }
  bool is_contiguous() const noexcept { return tenon::is_contiguous(sizes, strides); }
  /// Whether it is all of the node, in its order.
  bool is_all_of(const Expression& node) const noexcept {
    return offset == 0 && nbytes() == node.nbytes() && is_contiguous();
  }
  /// Whether it is what an Update wrote.
  bool is_written_by(const Expression& node) const noexcept {
    const Expression& part = *node.inputs[1];
    return offset == node.offset && type == own_type(part.type) && sizes == part.sizes &&
           strides == node.strides;
  }
  /// Whether the Update wrote nothing of it. Not when that is hard to see.
  bool is_disjoint_from(const Expression& node) const noexcept {
    const Expression& part = *node.inputs[1];
    const auto at = [](int64_t bytes) {
      return reinterpret_cast<void*>(static_cast<uintptr_t>(bytes));
    };
    const ByteRange mine = byte_range({at(offset), type, Device(), sizes, strides});
    const ByteRange its =
        byte_range({at(node.offset), own_type(part.type), Device(), part.sizes, node.strides});
    return mine.end <= its.begin || its.end <= mine.begin;
  }
};

/// Whether a node with another shape, of another type too if `retyped`, is the same bytes.
inline bool can_relabel(const Expression& node, bool retyped) noexcept {
  switch (node.kind) {
    case ExpressionKind::Empty:
    case ExpressionKind::Data:
    case ExpressionKind::Update: return true;
    case ExpressionKind::Constant:
    case ExpressionKind::Uniform:
    case ExpressionKind::Normal: return !retyped;
    case ExpressionKind::Iota: return !retyped && !node.axis.has_value();
    case ExpressionKind::Eye:
    case ExpressionKind::Copy: break;
  }
  return false;
}

/// The expression of a part of an expression's bytes: the simplest that is at hand, else a Copy.
TENON_LAZY Error take_part(ExpressionPtr node, ExpressionPart part, ExpressionPtr& value) {
  const tenon::ScalarType type = public_type(part.type);
  for (;;) {
    if (node->type == type && node->sizes == part.sizes && part.is_all_of(*node)) {
      value = std::move(node);
      return Error::Ok;
    }
    if (node->kind == ExpressionKind::Update) {
      if (part.is_written_by(*node)) {
        value = node->inputs[1];
        return Error::Ok;
      }
      if (part.is_disjoint_from(*node)) {
        node = node->inputs[0];
        continue;
      }
    }
    // What was copied as it lay: the same in where it came from.
    if (node->kind == ExpressionKind::Copy && node->source_type == node->type &&
        is_contiguous(node->sizes, node->strides)) {
      part.offset += node->offset;
      node = node->inputs[0];
      continue;
    }
    break;
  }
  const bool retyped = node->type != type;
  const bool is_all = part.is_all_of(*node);
  const auto size = static_cast<int64_t>(elementSize(part.type));
  const bool is_whole_elements = part.offset % size == 0;
  const bool is_random =
      node->kind == ExpressionKind::Uniform || node->kind == ExpressionKind::Normal;
  const auto made = std::make_shared<Expression>();
  if (node->kind == ExpressionKind::Empty || (is_all && can_relabel(*node, retyped)) ||
      (node->kind == ExpressionKind::Constant && !retyped && is_whole_elements)) {
    *made = *node;
  } else if (is_random && !retyped && is_whole_elements && part.is_contiguous()) {
    *made = *node;
    made->start.offset += static_cast<uint64_t>(part.offset / size);
  } else if (node->kind == ExpressionKind::Data && part.is_contiguous()) {
    *made = *node;
    made->data = {node->data, node->data.get() + part.offset};
  } else {
    made->kind = ExpressionKind::Copy;
    made->source_type = type;
    made->strides = part.strides;
    made->offset = part.offset;
    made->inputs[0] = std::move(node);
  }
  made->type = type;
  made->sizes = part.sizes;
  TENON_TRY(finish_node(*made));
  value = made;
  return Error::Ok;
}

/// Makes `value` its elements converted to another type.
TENON_LAZY Error convert_expression(ExpressionPtr& value, ScalarType to, CastMode mode) {
  const auto made = std::make_shared<Expression>();
  made->kind = ExpressionKind::Copy;
  made->sizes = value->sizes;
  made->type = public_type(to);
  made->source_type = value->type;
  made->mode = mode;
  if (value->kind == ExpressionKind::Copy && value->source_type == value->type) {
    made->strides = value->strides;  // instead of a Copy of a Copy
    made->offset = value->offset;
    made->inputs[0] = value->inputs[0];
  } else {
    Layout dense;
    TENON_TRY(make_dense_layout(value->sizes, nullptr, elementSize(own_type(value->type)), dense));
    made->strides = std::move(dense.strides);
    made->inputs[0] = value;
  }
  TENON_TRY(finish_node(*made));
  value = made;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
