// SPDX-License-Identifier: MIT
// ExprBackend: memory that records how its contents came about, and computes them when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/expression.h"
#include "tenon/backend/expression_part.h"
#include "tenon/backend/expression_values.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/generator.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/optional.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/copy_plan.h"
#include "tenon/kernels/random_plan.h"

TENON_BEGIN_NAMESPACE

/// Tensors as expressions: creating one records a node of an Expression instead of computing
/// elements, a copy shares it, writing to a part of one adds an Update. expression(t) in
/// tensor/expression.h gives the tree, materialize(t, backend) the elements elsewhere. Reading them
/// evaluates them on the host each time; they are those that the CPU's functions make.
///
/// Its addresses are made up: no memory is behind them, so a tensor of any size takes little.
/// Threads: any; it locks. Evaluation happens outside of the lock, unless a tree got too deep.
/// Source: Nx.Defn.Expr; memory that is a list of writes is tenon's own.
class TENON_EXPORT ExprBackend final : public Backend {
 public:
  /// What name() returns, at the one address by which as_expr_backend() knows the class.
  static constexpr char kName[] = "expr";

  ExprBackend() noexcept = default;

  const char* name() const noexcept override { return kName; }
  Device device() const noexcept override { return Device(DeviceType::Expr); }
  bool is_opaque() const noexcept override { return false; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override;
  void deallocate(void* p, size_t nbytes) noexcept override;

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
  struct Block {
    size_t nbytes;
    ExpressionPtr current;  // of all its bytes
  };
  /// Elements in a block.
  struct Part {
    Block* block = nullptr;
    int64_t offset = 0;
  };

  Error find(const detail::TensorView& view, Part& part);
  Error find_bytes(const void* address, size_t nbytes, Part& part, detail::TensorView& view);
  Error write(const detail::TensorView& out, Expression&& value);
  Error write_to(const Part& part, const detail::TensorView& out, ExpressionPtr value);
  Error read(const detail::TensorView& in, ExpressionPtr& value);
  Error read_bytes(const detail::TensorView& in, std::shared_ptr<const unsigned char>& bytes);

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
  uintptr_t next_ = 0;
};

namespace detail {

/// The backend as what it is; null when it is another.
inline ExprBackend* as_expr_backend(Backend& backend) noexcept {
  return backend.name() == ExprBackend::kName ? static_cast<ExprBackend*>(&backend) : nullptr;
}

/// The range of addresses that no memory has, as far as there is one: 64-bit processors fault on
/// these, because they are beyond what they translate.
inline constexpr bool kWideAddresses = sizeof(void*) == 8;
inline constexpr uintptr_t kFirstMadeUp =
    static_cast<uintptr_t>(kWideAddresses ? 0x7e7e000000000000u : 0x00010000u);
inline constexpr uintptr_t kEndOfMadeUp =
    static_cast<uintptr_t>(kWideAddresses ? 0x7eff000000000000u : 0xffff0000u);

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

inline void* ExprBackend::allocate(size_t nbytes, size_t alignment) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Addresses are not used again as long as there are others, so that a stale one is found out.
  const auto fits = [&](uintptr_t from, uintptr_t end, uintptr_t& address) {
    const uintptr_t skipped = (uintptr_t{0} - from) % alignment;
    address = from + skipped;
    return from <= end && skipped <= end - from && nbytes <= end - address;
  };
  uintptr_t address = 0;
  if (next_ == 0) next_ = detail::kFirstMadeUp;
  bool found = fits(next_, detail::kEndOfMadeUp, address);
  uintptr_t from = detail::kFirstMadeUp;
  for (auto at = blocks_.begin(); !found && at != blocks_.end(); ++at) {
    found = fits(from, at->first, address);
    from = at->first + at->second.nbytes;
  }
  if (!found && !fits(from, detail::kEndOfMadeUp, address)) {
    static_cast<void>(set_error(Error::OutOfMemory, "there are no addresses left"));
    return nullptr;
  }
#if TENON_HAS_EXCEPTIONS
  try {
#endif
    const auto nothing = std::make_shared<Expression>();
    nothing->type = detail::public_type(detail::ScalarType::Byte);
    nothing->sizes = {nbytes};
    blocks_.emplace(address, Block{nbytes, nothing});
#if TENON_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
#endif
  if (address + nbytes > next_) next_ = address + nbytes;
  return reinterpret_cast<void*>(address);
}

inline void ExprBackend::deallocate(void* p, size_t) noexcept {
  ExpressionPtr last;  // released without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(p));
  if (found == blocks_.end()) return;
  last = std::move(found->second.current);
  blocks_.erase(found);
}

/// The block that holds a view with elements. The lock is held.
inline Error ExprBackend::find(const detail::TensorView& view, Part& part) {
  const detail::ByteRange range = detail::byte_range(view);
  auto found = blocks_.upper_bound(range.begin);
  if (found != blocks_.begin()) {
    --found;
    const uintptr_t begin = found->first;
    if (range.begin <= range.end && range.end - begin <= found->second.nbytes) {
      part.block = &found->second;
      part.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.data) - begin);
      return Error::Ok;
    }
  }
  return detail::fail(Error::InvalidArgument,
                      {view.type, ' ', view.sizes, " is not in memory of this backend"});
}

/// Bytes as elements of what their block holds, if they are whole ones.
inline Error ExprBackend::find_bytes(const void* address, size_t nbytes, Part& part,
                                     detail::TensorView& view) {
  view = {const_cast<void*>(address), detail::ScalarType::Byte, device(), {nbytes}, {1}};
  TENON_TRY(find(view, part));
  const Expression& current = *part.block->current;
  view.type = detail::own_type(current.type);
  const size_t size = elementSize(view.type);
  if (nbytes % size != 0 || static_cast<size_t>(part.offset) % size != 0) {
    view.type = detail::ScalarType::Byte;
    return Error::Ok;
  }
  view.sizes = {nbytes / size};
  if (nbytes != part.block->nbytes) return Error::Ok;
  Layout dense;
  TENON_TRY(make_dense_layout(current.sizes, nullptr, size, dense));
  view.sizes = std::move(dense.sizes);
  view.strides = std::move(dense.strides);
  return Error::Ok;
}

/// Writes to a part of a block. The lock is held.
inline Error ExprBackend::write_to(const Part& part, const detail::TensorView& out,
                                   ExpressionPtr value) {
  ExpressionPtr& current = part.block->current;
  const bool is_all = value->nbytes() == part.block->nbytes;
  if (is_all && is_contiguous(out.sizes, out.strides)) {
    current.swap(value);
    return Error::Ok;
  }
  const auto made = std::make_shared<Expression>();
  made->kind = ExpressionKind::Update;
  made->type = current->type;
  made->sizes = current->sizes;
  made->offset = part.offset;
  made->strides = out.strides;
  made->inputs[0] = current;
  const int64_t numel = value->numel();
  const detail::ExpressionPart written{out.type, out.sizes, out.strides, part.offset, numel};
  // What is overwritten need not be kept.
  while (made->inputs[0]->kind == ExpressionKind::Update &&
         written.is_written_by(*made->inputs[0])) {
    made->inputs[0] = made->inputs[0]->inputs[0];
  }
  if (is_all) {
    const auto nothing = std::make_shared<Expression>();
    nothing->type = current->type;
    nothing->sizes = current->sizes;
    TENON_TRY(detail::finish_node(*nothing));
    made->inputs[0] = nothing;
  }
  made->inputs[1] = std::move(value);
  TENON_TRY(detail::finish_node(*made));
  current = made;
  return Error::Ok;
}

/// Writes a node that has everything but the type and the sizes, which are the view's.
inline Error ExprBackend::write(const detail::TensorView& out, Expression&& value) {
  if (detail::numel_of(out.sizes) == 0) return Error::Ok;
  value.type = detail::public_type(out.type);
  value.sizes = out.sizes;
  TENON_TRY(detail::finish_node(value));
  auto shared = std::make_shared<const Expression>(std::move(value));
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  TENON_TRY(find(out, part));
  return write_to(part, out, std::move(shared));
}

/// How the elements of a view came about.
inline Error ExprBackend::read(const detail::TensorView& in, ExpressionPtr& value) {
  const int64_t numel = detail::numel_of(in.sizes);
  if (numel == 0) {
    const auto nothing = std::make_shared<Expression>();
    nothing->type = detail::public_type(in.type);
    nothing->sizes = in.sizes;
    TENON_TRY(detail::finish_node(*nothing));
    value = nothing;
    return Error::Ok;
  }
  Part part;
  ExpressionPtr current;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TENON_TRY(find(in, part));
    current = part.block->current;
  }
  return detail::take_part(std::move(current), {in.type, in.sizes, in.strides, part.offset, numel},
                           value);
}

inline Error ExprBackend::read_bytes(const detail::TensorView& in,
                                     std::shared_ptr<const unsigned char>& bytes) {
  ExpressionPtr value;
  TENON_TRY(read(in, value));
  return detail::evaluate(*value, bytes);
}

inline Error ExprBackend::copy_from_host(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  const auto data = std::make_shared<Expression>();
  TENON_TRY(detail::make_data(src, nbytes, *data));
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  detail::TensorView out;
  TENON_TRY(find_bytes(dst, nbytes, part, out));
  data->type = detail::public_type(out.type);
  data->sizes = out.sizes;
  TENON_TRY(detail::finish_node(*data));
  return write_to(part, out, data);
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
  if (nbytes == 0) return Error::Ok;
  const std::lock_guard<std::mutex> lock(mutex_);
  Part from;
  Part to;
  detail::TensorView in;
  detail::TensorView out;
  TENON_TRY(find_bytes(src, nbytes, from, in));
  TENON_TRY(find_bytes(dst, nbytes, to, out));
  ExpressionPtr value;
  const int64_t numel = detail::numel_of(in.sizes);
  TENON_TRY(detail::take_part(from.block->current,
                              {in.type, in.sizes, in.strides, from.offset, numel}, value));
  in.data = dst;
  return write_to(to, in, std::move(value));
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
    detail::copy_elements(to, rows, mode);
    return Error::Ok;
  }
  ExpressionPtr value;
  if (is_from_here) {
    TENON_TRY(read(from, value));
  } else {
    const auto data = std::make_shared<Expression>();
    const size_t nbytes = static_cast<size_t>(numel) * elementSize(from.type);
    TENON_TRY(detail::make_data(nullptr, nbytes, *data));
    rows.data = const_cast<unsigned char*>(data->data.get());
    detail::copy_elements(rows, from);
    data->type = detail::public_type(from.type);
    data->sizes = from.sizes;
    TENON_TRY(detail::finish_node(*data));
    value = data;
  }
  if (from.type != to.type) TENON_TRY(detail::convert_expression(value, to.type, mode));
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  TENON_TRY(find(to, part));
  return write_to(part, to, std::move(value));
}

inline Error ExprBackend::constant(const TensorView& out, const void* element) {
  const detail::TensorView& view = detail::own_view(out);
  Expression node;
  node.kind = ExpressionKind::Constant;
  std::memcpy(node.element, element, elementSize(view.type));
  return write(view, std::move(node));
}

inline Error ExprBackend::eye(const TensorView& out) {
  if (TENON_UNLIKELY(out.sizes.size() != 2)) {
    return detail::fail(Error::InvalidArgument, {"sizes ", out.sizes, " are not a matrix's"});
  }
  Expression node;
  node.kind = ExpressionKind::Eye;
  return write(detail::own_view(out), std::move(node));
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
  return write(detail::own_view(out), std::move(node));
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
  return write(view, std::move(node));
}

inline Error ExprBackend::to_binary(const TensorView& in, int64_t count, void* bytes) {
  const detail::TensorView& view = detail::own_view(in);
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
  return write(detail::own_view(out), std::move(node));
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
  return write(detail::own_view(out), std::move(node));
}

inline Error ExprBackend::inspect(const TensorView& in, int64_t, std::string& text) {
  ExpressionPtr value;
  TENON_TRY(read(detail::own_view(in), value));
  text += to_string(*value);
  return Error::Ok;
}

inline Error ExprBackend::expression(const TensorView& in, ExpressionPtr& expression) {
  return read(detail::own_view(in), expression);
}

/// Bytes that came without a type and a shape get those of the tensor that has all of them.
inline void ExprBackend::on_made(const MadeTensor& tensor) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
#endif
    const detail::TensorView view{tensor.data, detail::own_type(tensor.type), device(),
                                  tensor.sizes, tensor.strides};
    const int64_t numel = detail::numel_of(view.sizes);
    if (numel == 0 || view.data == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Part part;
    if (find(view, part) != Error::Ok) return;
    ExpressionPtr& current = part.block->current;
    const detail::ExpressionPart all{view.type, view.sizes, view.strides, part.offset, numel};
    if (!all.is_all_of(*current) ||
        !detail::can_relabel(*current, detail::own_type(current->type) != view.type)) {
      return;
    }
    ExpressionPtr labelled;
    if (detail::take_part(current, all, labelled) == Error::Ok) current = labelled;
#if TENON_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {  // it keeps the label that it has
  }
#endif
}

TENON_END_NAMESPACE
