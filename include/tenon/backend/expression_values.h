// SPDX-License-Identifier: MIT
// The values of an Expression: bit for bit those that the same calls give on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "tenon/backend/expression.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/cast.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/fill.h"
#include "tenon/kernels/random.h"
#include "tenon/kernels/random_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a node's bytes from those of its operands, each once, however many use it.
class Evaluation {
 public:
  /// The elements of `root`.
  Error run(const Expression& root, std::shared_ptr<const unsigned char>& bytes) {
    count_uses(root);
    TENON_TRY(evaluate(root));
    bytes = std::move(values_[&root].bytes);
    return Error::Ok;
  }

 private:
  struct Value {
    int uses = 0;  // that are still to come
    std::shared_ptr<const unsigned char> bytes;
    unsigned char* writable = nullptr;  // null for those of a Data
  };

  void count_uses(const Expression& node) {
    if (values_[&node].uses++ != 0) return;
    for (const ExpressionPtr& operand : node.operands()) count_uses(*operand);
  }

  Error evaluate(const Expression& node) {
    Value& value = values_[&node];
    if (value.bytes != nullptr) return Error::Ok;
    for (const ExpressionPtr& operand : node.operands()) TENON_TRY(evaluate(*operand));
    TENON_TRY(make(node, value));
    for (const ExpressionPtr& operand : node.operands()) {
      Value& used = values_[operand.get()];
      if (--used.uses == 0) used.bytes.reset();
    }
    return Error::Ok;
  }

  Error make(const Expression& node, Value& value) {
    switch (node.kind) {
      case ExpressionKind::Data: value.bytes = node.data; return Error::Ok;
      case ExpressionKind::Empty: return allocate_value(node, value, true);
      case ExpressionKind::Constant:
        TENON_TRY(allocate_value(node, value, false));
        fill_elements(value.writable, node.numel(), node.element, size_of(node.type));
        return Error::Ok;
      case ExpressionKind::Eye: return make_eye(node, value);
      case ExpressionKind::Iota: return make_iota(node, value);
      case ExpressionKind::Uniform:
      case ExpressionKind::Normal: return make_random(node, value);
      case ExpressionKind::Copy: return make_copy(node, value);
      case ExpressionKind::Update: return make_update(node, value);
    }
    return Error::Internal;
  }

  static size_t size_of(tenon::ScalarType type) noexcept { return elementSize(own_type(type)); }

  static Error allocate_value(const Expression& node, Value& value, bool zeroed) {
    const size_t nbytes = node.nbytes();
    const Allocation memory = zeroed ? allocate_zeroed(nbytes) : allocate(nbytes);
    if (TENON_UNLIKELY(memory.data == nullptr)) {
      return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of an expression"});
    }
    value.writable = static_cast<unsigned char*>(memory.data);
    value.bytes.reset(value.writable,
                      [base = memory.base](unsigned char*) noexcept { std::free(base); });
    return Error::Ok;
  }

  static Error make_eye(const Expression& node, Value& value) {
    TENON_TRY(allocate_value(node, value, true));
    const size_t size = size_of(node.type);
    alignas(16) unsigned char one[16] = {};
    TENON_TRY(store_scalar(own_type(node.type), 1, static_cast<void*>(one)));
    const int64_t columns = node.sizes[1];
    for (int64_t i = 0; i < node.sizes[0] && i < columns; ++i) {
      std::memcpy(value.writable + static_cast<size_t>(i * columns + i) * size, one, size);
    }
    return Error::Ok;
  }

  static Error make_iota(const Expression& node, Value& value) {
    TENON_TRY(allocate_value(node, value, false));
    int64_t inner = 1;              // elements with one value
    int64_t length = node.numel();  // values before they start over
    if (node.axis.has_value()) {
      const auto axis = static_cast<size_t>(node.axis.value_or(0));
      length = node.sizes[axis];
      for (size_t d = axis + 1; d < node.sizes.size(); ++d) inner *= node.sizes[d];
    }
    constexpr int64_t kChunk = 64;
    int64_t exact[kChunk];
    unsigned char* out = value.writable;
    for (int64_t i = 0, left = node.numel(), n = 0; left > 0; left -= n) {
      n = left < kChunk ? left : kChunk;
      for (int64_t k = 0; k < n; ++k, ++i) exact[k] = i / inner % length;
      store_exact(own_type(node.type), out, n, ScalarType::Long, exact);
      out += static_cast<size_t>(n) * size_of(node.type);
    }
    return Error::Ok;
  }

  static Error make_random(const Expression& node, Value& value) {
    RandomPlan plan;
    const double* const parameters = node.parameters;
    TENON_TRY(node.kind == ExpressionKind::Uniform
                  ? plan_uniform(plan, own_type(node.type), parameters[0], parameters[1])
                  : plan_normal(plan, own_type(node.type), parameters[0], parameters[1]));
    TENON_TRY(allocate_value(node, value, false));
    random_elements(plan, node.start.seed, node.start.offset, node.numel(), value.writable);
    return Error::Ok;
  }

  /// The elements of a node, and the same sizes elsewhere.
  static Error view_row_major(const Expression& node, const void* data, TensorView& view) {
    Layout dense;
    TENON_TRY(make_dense_layout(node.sizes, nullptr, size_of(node.type), dense));
    view = {const_cast<void*>(data), own_type(node.type), Device(), std::move(dense.sizes),
            std::move(dense.strides)};
    return Error::Ok;
  }
  static Error view_part(const Expression& node, const Dims& sizes, ScalarType type,
                         const void* bytes, TensorView& view) {
    view = {static_cast<char*>(const_cast<void*>(bytes)) + node.offset, type, Device(), sizes,
            node.strides};
    TENON_TRY(check_dims("sizes", view.sizes));
    return check_dims("strides", view.strides);
  }

  Error make_copy(const Expression& node, Value& value) {
    TENON_TRY(allocate_value(node, value, false));
    TensorView to;
    TensorView from;
    TENON_TRY(view_row_major(node, value.writable, to));
    TENON_TRY(view_part(node, node.sizes, own_type(node.source_type),
                        values_[node.inputs[0].get()].bytes.get(), from));
    copy_elements(to, from, node.mode, &cast_elements<>);
    return Error::Ok;
  }

  Error make_update(const Expression& node, Value& value) {
    Value& before = values_[node.inputs[0].get()];
    if (before.writable != nullptr && before.uses == 1) {
      value.bytes = before.bytes;  // nobody else reads it, so it may be overwritten
      value.writable = before.writable;
    } else {
      TENON_TRY(allocate_value(node, value, false));
      std::memcpy(value.writable, before.bytes.get(), node.nbytes());
    }
    const Expression& part = *node.inputs[1];
    TensorView to;
    TensorView from;
    TENON_TRY(view_part(node, part.sizes, own_type(part.type), value.writable, to));
    TENON_TRY(view_row_major(part, values_[&part].bytes.get(), from));
    copy_elements(to, from, CastMode::Checked, nullptr);
    return Error::Ok;
  }

  std::unordered_map<const Expression*, Value> values_;
};

/// The elements of an expression.
/// Errors: OutOfMemory.
TENON_LAZY Error evaluate(const Expression& expression,
                          std::shared_ptr<const unsigned char>& bytes) {
  return Evaluation().run(expression, bytes);
}

/// Completes a node that is about to be shared: counts its depth, and evaluates what is too deep.
TENON_LAZY Error finish_node(Expression& node) {
  TENON_TRY(check_dims("sizes", node.sizes));
  TENON_TRY(check_dims("strides", node.strides));
  node.depth = 1;
  for (const ExpressionPtr& operand : node.operands()) {
    if (node.depth <= operand->depth) node.depth = operand->depth + 1;
  }
  if (node.depth <= kMaxExpressionDepth) return Error::Ok;
  Expression evaluated;
  evaluated.kind = ExpressionKind::Data;
  evaluated.type = node.type;
  evaluated.sizes = node.sizes;
  TENON_TRY(evaluate(node, evaluated.data));
  node = std::move(evaluated);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
