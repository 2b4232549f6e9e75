// SPDX-License-Identifier: MIT
// ExprBackend: memory that records how its contents came about, and computes them when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/expr_memory.h"
#include "tenon/backend/expression.h"
#include "tenon/backend/expression_values.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/generator.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/optional.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/random_plan.h"

TENON_BEGIN_NAMESPACE

/// Tensors as expressions: creating one records a node of an Expression instead of computing
/// elements, a copy shares it, writing to a part of one adds an Update. expression(t) in
/// tensor/expression.h gives the tree, materialize(t, backend) the elements elsewhere. Reading them
/// evaluates them on the host each time; they are those that the CPU's functions make.
///
/// Its addresses are made up: a tensor of any size takes little memory, except while it is read
/// and after some 60 writes to its parts, when all of it is evaluated.
/// Threads: any; it locks. Evaluation happens outside of the lock, unless a tree got too deep.
/// Source: Nx.Defn.Expr; memory that is a list of writes is tenon's own.
class TENON_EXPORT ExprBackend final : public Backend {
 public:
  ExprBackend() noexcept { detail::BackendAccess::is_expr(*this) = true; }

  const char* name() const noexcept override { return "expr"; }
  Device device() const noexcept override { return Device(DeviceType::Expr); }
  bool is_opaque() const noexcept override { return false; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return memory_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t) noexcept override { memory_.deallocate(p); }

  Error copy_from_host(void* dst, const void* src, size_t nbytes) override;
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override;
  Error copy_within(void* dst, const void* src, size_t nbytes) override;
  Error synchronize() override { return Error::Ok; }

  Error copy(const TensorView& dst, const TensorView& src, CastMode mode) override;
  Error constant(const TensorView& out, const void* element) override;
  Error eye(const TensorView& out) override;
  Error iota(const TensorView& out, OptionalIndex axis) override;
  Error from_binary(const TensorView& out, const void* bytes, size_t nbytes) override;
  Error to_binary(const TensorView& in, int64_t count, void* bytes) override;
  Error random_uniform(const TensorView& out, double min, double max,
                       const Generator::State& start) override;
  Error random_normal(const TensorView& out, double mu, double sigma,
                      const Generator::State& start) override;
  /// The expression, not the elements: "Uniform(0, 1) Float {2, 3}".
  Error inspect(const TensorView& in, int64_t limit, std::string& text) override;
  void on_made(const MadeTensor& tensor) noexcept override;

  /// How the elements of a view came about.
  /// Errors: InvalidArgument when it is not within one block of this backend's memory, OutOfMemory.
  Error expression(const TensorView& in, ExpressionPtr& expression);

 private:
  Error read_bytes(const detail::TensorView& in, std::shared_ptr<const unsigned char>& bytes);

  detail::ExprMemory memory_;
};

namespace detail {

/// The backend as what it is; null when it is another.
inline ExprBackend* as_expr_backend(Backend& backend) noexcept {
  return BackendAccess::is_expr(backend) ? static_cast<ExprBackend*>(&backend) : nullptr;
}

/// A Data of bytes, copied.
inline Error make_data(const void* src, size_t nbytes, Expression& node) {
  const Allocation memory = detail::allocate(nbytes);
  if (TENON_UNLIKELY(memory.data == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ", nbytes, " bytes of an expression"});
  }
  node.kind = ExpressionKind::Data;
  node.data.reset(static_cast<unsigned char*>(memory.data),
                  [base = memory.base](const unsigned char*) noexcept { std::free(base); });
  if (src != nullptr) std::memcpy(memory.data, src, nbytes);
  return Error::Ok;
}

}  // namespace detail

inline Error ExprBackend::read_bytes(const detail::TensorView& in,
                                     std::shared_ptr<const unsigned char>& bytes) {
  ExpressionPtr value;
  TENON_TRY(memory_.read(in, value));
  return detail::evaluate(*value, bytes);
}

inline Error ExprBackend::copy_from_host(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  const auto data = std::make_shared<Expression>();
  TENON_TRY(detail::make_data(src, nbytes, *data));
  return memory_.write_bytes(dst, nbytes, data);
}

inline Error ExprBackend::copy_to_host(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  std::shared_ptr<const unsigned char> bytes;
  TENON_TRY(read_bytes({const_cast<void*>(src), detail::ScalarType::Byte, device(), {nbytes}, {1}},
                       bytes));
  std::memcpy(dst, bytes.get(), nbytes);
  return Error::Ok;
}

inline Error ExprBackend::copy_within(void* dst, const void* src, size_t nbytes) {
  return nbytes == 0 ? Error::Ok : memory_.copy_bytes(dst, src, nbytes);
}

inline Error ExprBackend::copy(const TensorView& dst, const TensorView& src, CastMode mode) {
  const detail::TensorView& to = detail::own_view(dst);
  const detail::TensorView& from = detail::own_view(src);
  const int64_t numel = detail::numel_of(to.sizes);
  if (numel == 0) return Error::Ok;
  const bool is_from_here = src.device == device();
  const bool is_to_here = dst.device == device();
  if ((!is_from_here && !src.device.is_cpu()) || (!is_to_here && !dst.device.is_cpu())) {
    return Error::NotSupported;
  }
  Layout dense;
  TENON_TRY(make_dense_layout(from.sizes, nullptr, elementSize(from.type), dense));
  detail::TensorView rows{nullptr, from.type, Device(), std::move(dense.sizes),
                          std::move(dense.strides)};
  if (!is_to_here) {
    std::shared_ptr<const unsigned char> bytes;
    TENON_TRY(read_bytes(from, bytes));
    rows.data = const_cast<unsigned char*>(bytes.get());
    detail::copy_elements(to, rows, mode, &detail::cast_elements<>);
    return Error::Ok;
  }
  ExpressionPtr value;
  if (is_from_here) {
    TENON_TRY(memory_.read(from, value));
  } else {
    const auto data = std::make_shared<Expression>();
    const size_t nbytes = static_cast<size_t>(numel) * elementSize(from.type);
    TENON_TRY(detail::make_data(nullptr, nbytes, *data));
    rows.data = const_cast<unsigned char*>(data->data.get());
    detail::copy_elements(rows, from, CastMode::Checked, nullptr);
    data->type = detail::public_type(from.type);
    data->sizes = from.sizes;
    TENON_TRY(detail::finish_node(*data));
    value = data;
  }
  if (from.type != to.type) TENON_TRY(detail::convert_expression(value, to.type, mode));
  return memory_.write(to, std::move(value));
}

inline Error ExprBackend::constant(const TensorView& out, const void* element) {
  const detail::TensorView& view = detail::own_view(out);
  Expression node;
  node.kind = ExpressionKind::Constant;
  std::memcpy(node.element, element, elementSize(view.type));
  return memory_.write(view, std::move(node));
}

inline Error ExprBackend::eye(const TensorView& out) {
  if (TENON_UNLIKELY(out.sizes.size() != 2)) {
    return detail::fail(Error::InvalidArgument, {"sizes ", out.sizes, " are not a matrix's"});
  }
  Expression node;
  node.kind = ExpressionKind::Eye;
  return memory_.write(detail::own_view(out), std::move(node));
}

inline Error ExprBackend::iota(const TensorView& out, OptionalIndex axis) {
  const auto rank = static_cast<int64_t>(out.sizes.size());
  Expression node;
  node.kind = ExpressionKind::Iota;
  if (axis.has_value()) {
    const int64_t given = axis.value_or(0);
    if (TENON_UNLIKELY(given < -rank || given >= rank)) {
      return detail::fail(Error::OutOfBounds,
                          {"axis ", given, " is out of range for ", rank, " dimensions"});
    }
    node.axis = given < 0 ? given + rank : given;
  }
  return memory_.write(detail::own_view(out), std::move(node));
}

inline Error ExprBackend::from_binary(const TensorView& out, const void* bytes, size_t nbytes) {
  const detail::TensorView& view = detail::own_view(out);
  const int64_t numel = detail::numel_of(view.sizes);
  const size_t expected = static_cast<size_t>(numel) * elementSize(view.type);
  if (TENON_UNLIKELY(nbytes != expected)) {
    return detail::fail(Error::InvalidArgument, {nbytes, " bytes were given, sizes ", view.sizes,
                                                 " of ", view.type, " need ", expected});
  }
  Expression node;
  TENON_TRY(detail::make_data(bytes, nbytes, node));
  detail::swap_to_little_endian(view.type, const_cast<unsigned char*>(node.data.get()), nbytes);
  return memory_.write(view, std::move(node));
}

inline Error ExprBackend::to_binary(const TensorView& in, int64_t count, void* bytes) {
  detail::TensorView view = detail::own_view(in);
  if (count <= 0) return Error::Ok;
  // Only as many rows as are asked for: evaluation takes as long as what it evaluates.
  int64_t inner = detail::numel_of(view.sizes);
  for (size_t d = 0; d < view.sizes.size() && count < inner; ++d) {
    inner /= view.sizes[d];
    view.sizes[d] = (count - 1) / inner + 1;
  }
  std::shared_ptr<const unsigned char> elements;
  TENON_TRY(read_bytes(view, elements));
  const int64_t numel = detail::numel_of(view.sizes);
  const size_t nbytes = static_cast<size_t>(count < numel ? count : numel) * elementSize(view.type);
  if (nbytes == 0) return Error::Ok;
  std::memcpy(bytes, elements.get(), nbytes);
  detail::swap_to_little_endian(view.type, bytes, nbytes);
  return Error::Ok;
}

inline Error ExprBackend::random_uniform(const TensorView& out, double min, double max,
                                         const Generator::State& start) {
  detail::RandomPlan plan;  // only to know that there is one
  TENON_TRY(detail::plan_uniform(plan, detail::own_type(out.type), min, max));
  Expression node;
  node.kind = ExpressionKind::Uniform;
  node.parameters[0] = min;
  node.parameters[1] = max;
  node.start = start;
  return memory_.write(detail::own_view(out), std::move(node));
}

inline Error ExprBackend::random_normal(const TensorView& out, double mu, double sigma,
                                        const Generator::State& start) {
  detail::RandomPlan plan;
  TENON_TRY(detail::plan_normal(plan, detail::own_type(out.type), mu, sigma));
  Expression node;
  node.kind = ExpressionKind::Normal;
  node.parameters[0] = mu;
  node.parameters[1] = sigma;
  node.start = start;
  return memory_.write(detail::own_view(out), std::move(node));
}

inline Error ExprBackend::inspect(const TensorView& in, int64_t, std::string& text) {
  ExpressionPtr value;
  TENON_TRY(memory_.read(detail::own_view(in), value));
  text += to_string(*value);
  return Error::Ok;
}

inline Error ExprBackend::expression(const TensorView& in, ExpressionPtr& expression) {
  return memory_.read(detail::own_view(in), expression);
}

inline void ExprBackend::on_made(const MadeTensor& tensor) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
#endif
    static_cast<void>(memory_.label(
        {tensor.data, detail::own_type(tensor.type), device(), tensor.sizes, tensor.strides}));
#if TENON_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {  // it keeps the label that it has
  }
#endif
}

TENON_END_NAMESPACE
