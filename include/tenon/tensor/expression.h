// SPDX-License-Identifier: MIT
// Tensors of an ExprBackend: their expression, their elements elsewhere, and a drawing.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/backend/expr.h"
#include "tenon/backend/expression.h"
#include "tenon/backend/expression_values.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/generator.h"
#include "tenon/core/result.h"
#include "tenon/kernels/random_plan.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/place.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_LAZY Error find_expression(const TensorArg& tensor, ExpressionPtr& found) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  Place place;
  TENON_TRY(find_place(fields(tensor), "the tensor", place));
  ExprBackend* const backend = place.backend == nullptr ? nullptr : as_expr_backend(*place.backend);
  if (TENON_UNLIKELY(backend == nullptr)) {
    return fail(Error::NotSupported, {"the tensor is in memory of backend ",
                                      place.backend == nullptr ? "cpu" : place.backend->name(),
                                      ", which keeps no expressions; an ExprBackend does"});
  }
  return ask(*backend, "expression",
             [&] { return backend->expression(public_view(place.view), found); });
}

/// Elements that the host computes, to a new tensor.
TENON_LAZY Error make_evaluated(const Expression& expression, const Making& making, Draft& draft) noexcept {
  std::shared_ptr<const unsigned char> bytes;
  if (!(making.backend != nullptr && making.backend->device().type() == DeviceType::Template)) {
    TENON_TRY(ask_unblamed([&] { return evaluate(expression, bytes); }));
  }
  TENON_TRY(make_owned(expression.sizes, {}, {}, making, Contents::Uninitialized, draft));
  return produce_new(fields(draft), Region::Row, "", kNotAsked,
                     [&](void* out) noexcept {
                       const size_t nbytes = expression.nbytes();
                       if (nbytes != 0) std::memcpy(out, bytes.get(), nbytes);
                       return Error::Ok;
                     });
}

/// What the expression says: by the call that it records, where it is one, else evaluated.
TENON_LAZY Error make_of_expression(const Expression& expression, const Making& making,
                         Draft& draft) noexcept {
  switch (expression.kind) {
    case ExpressionKind::Empty:
    case ExpressionKind::Constant: {
      Making filled = making;
      filled.sizes = &expression.sizes;
      filled.element = expression.element;
      filled.fill = &fill_new_elements<>;
      return make_new(filled, draft);
    }
    case ExpressionKind::Eye:
      return make_eye(expression.sizes[0], expression.sizes[1], making, draft);
    case ExpressionKind::Iota: return make_iota(expression.sizes, expression.axis, making, draft);
    case ExpressionKind::Uniform:
    case ExpressionKind::Normal: {
      const double* const given = expression.parameters;
      RandomPlan plan;
      TENON_TRY(expression.kind == ExpressionKind::Uniform
                    ? plan_uniform(plan, making.type, given[0], given[1])
                    : plan_normal(plan, making.type, given[0], given[1]));
      TENON_TRY(make_owned(expression.sizes, {}, {}, making, Contents::Uninitialized, draft));
      Generator generator(expression.start.seed, expression.start.offset);
      return fill_random_fields(fields(draft), plan, generator);
    }
    case ExpressionKind::Data:
    case ExpressionKind::Copy:
    case ExpressionKind::Update: break;
  }
  return make_evaluated(expression, making, draft);
}

/// Writes Graphviz's language.
class DotWriter {
 public:
  /// The number of a node, which is written first unless it is there.
  size_t add(const Expression& node) {
    const auto found = numbers_.find(&node);
    if (found != numbers_.end()) return found->second;
    size_t operands[2] = {};
    size_t count = 0;
    for (const ExpressionPtr& operand : node.operands()) operands[count++] = add(*operand);
    const size_t number = numbers_.size();
    numbers_.emplace(&node, number);
    append_parts(body_, "  n", number, " [label=\"", toString(node.kind));
    std::string arguments;
    append_arguments(node, "\\n", true, arguments);
    if (!arguments.empty()) body_ += "\\n" + arguments;
    append_parts(body_, "\\n", toString(node.type), ' ', node.sizes, "\"];\n");
    for (size_t i = 0; i < count; ++i) {
      append_parts(body_, "  n", operands[i], " -> n", number);
      if (i == 1) body_ += " [label=\"part\"]";  // of an Update
      body_ += ";\n";
    }
    return number;
  }
  void add_tensor(ExpressionPtr node, bool is_only) {
    const size_t index = tensors_.size();
    const size_t number = add(*node);
    tensors_.push_back(std::move(node));
    append_parts(body_, "  t", index, " [shape=ellipse, label=\"tensor");
    if (!is_only) append_parts(body_, ' ', index);
    append_parts(body_, "\"];\n  n", number, " -> t", index, ";\n");
  }
  std::string text() const {
    return "digraph expression {\n  node [shape=box, fontname=\"monospace\"];\n" + body_ + "}\n";
  }

 private:
  std::string body_;
  std::unordered_map<const Expression*, size_t> numbers_;
  std::vector<ExpressionPtr> tensors_;  // nodes are told apart by their addresses, so they stay
};

}  // namespace detail

/// How a tensor of an ExprBackend came about. Of a view, what it sees.
///
/// Ownership: the expression stays as it is, whatever becomes of the tensor.
/// Errors: InvalidState (an undefined or deallocated tensor, a placeholder), NotSupported (a tensor
/// of another backend).
TENON_LAZY ExpressionPtr expression(const TensorArg& tensor) {
  ExpressionPtr found;
  detail::raise_if("expression", detail::find_expression(tensor, found));
  return found;
}

template <class Out>
struct Materialize {
  const char* function;

  /// The elements of a tensor of an ExprBackend, in a backend's memory: what has been one call of a
  /// creator is that call there, everything else is evaluated on the host and copied. Memory never
  /// written is zeros.
  ///
  /// Ownership: owns its memory, row-major, with the source's type, sizes and dynamism.
  /// Errors: as expression()'s, OutOfMemory, and what the backend reports.
  /// Source: Nx.Defn.jit, for what Nx.Defn.Expr recorded.
  Out operator()(const TensorArg& tensor, Backend& backend) const {
    ExpressionPtr found;
    detail::enlist(backend);
    const Error error = detail::find_expression(tensor, found);
    if (error != Error::Ok) return detail::Made<Out>().finish(function, error);
    const auto& source = detail::fields(tensor);
    return detail::create<Out>(function, source.type, source.dynamism,
                               detail::unless_host_heap(&backend),
                               [&](const auto& making, auto& made) noexcept {
                                 return detail::make_of_expression(*found, making, made.draft());
                               });
  }
};

inline constexpr Materialize<TensorPtr> materialize{"materialize"};
inline constexpr Materialize<Result<TensorPtr>> try_materialize{"try_materialize"};

/// An expression in the language of Graphviz, arrows from operands to what is made of them.
TENON_LAZY std::string to_dot(const Expression& expression) {
  detail::DotWriter writer;
  writer.add(expression);
  return writer.text();
}

/// Those of tensors, each a node too; what they share is drawn once.
/// Errors: as expression()'s.
TENON_LAZY std::string to_dot(std::initializer_list<TensorArg> tensors) {
  detail::DotWriter writer;
  for (const TensorArg& tensor : tensors) {
    ExpressionPtr found;
    detail::raise_if("to_dot", detail::find_expression(tensor, found));
    writer.add_tensor(std::move(found), tensors.size() == 1);
  }
  return writer.text();
}
TENON_LAZY std::string to_dot(const TensorArg& tensor) { return to_dot({tensor}); }

TENON_END_NAMESPACE
