// SPDX-License-Identifier: MIT
// ExprMemory: addresses with nothing behind them, and for each block how its contents came about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "tenon/backend/expression.h"
#include "tenon/backend/expression_part.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The range of addresses that no memory has, as far as there is one: 64-bit processors fault on
/// these, because they are beyond what they translate.
inline constexpr bool kWideAddresses = sizeof(void*) == 8;
inline constexpr uintptr_t kFirstMadeUp = kWideAddresses ? 0x7e7e000000000000u : 0x00010000u;
inline constexpr uintptr_t kEndOfMadeUp = kWideAddresses ? 0x7eff000000000000u : 0xffff0000u;

/// The memory of an ExprBackend. Views are in it or InvalidArgument; those without elements need
/// none. Any thread may call anything: it locks.
class ExprMemory {
 public:
  void* allocate(size_t nbytes, size_t alignment) noexcept;
  void deallocate(void* p) noexcept;

  /// Writes a node that has everything but the type and the sizes, which are the view's.
  Error write(const TensorView& out, Expression&& value);
  /// Writes a node of the view's type and sizes.
  Error write(const TensorView& out, ExpressionPtr value);
  /// Writes a node that has everything but the type and the sizes to bytes, of whatever they hold.
  Error write_bytes(void* dst, size_t nbytes, const std::shared_ptr<Expression>& value);
  Error copy_bytes(void* dst, const void* src, size_t nbytes);
  /// How the elements of a view came about.
  Error read(const TensorView& in, ExpressionPtr& value);
  /// Bytes that came without a type and a shape get those of a view of all of them.
  Error label(const TensorView& view);

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

  // The lock is held.
  Error find(const TensorView& view, Part& part);
  Error find_bytes(const void* address, size_t nbytes, Part& part, TensorView& view);
  static Error write_to(const Part& part, const TensorView& out, ExpressionPtr value);

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
  uintptr_t next_ = 0;
};

inline void* ExprMemory::allocate(size_t nbytes, size_t alignment) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Addresses are not used again as long as there are others, so that a stale one is found out.
  const auto fits = [&](uintptr_t from, uintptr_t end, uintptr_t& address) {
    const uintptr_t skipped = (uintptr_t{0} - from) % alignment;
    address = from + skipped;
    return from <= end && skipped <= end - from && nbytes <= end - address;
  };
  uintptr_t address = 0;
  if (next_ == 0) next_ = kFirstMadeUp;
  bool found = fits(next_, kEndOfMadeUp, address);
  uintptr_t from = kFirstMadeUp;
  for (auto at = blocks_.begin(); !found && at != blocks_.end(); ++at) {
    found = fits(from, at->first, address);
    from = at->first + at->second.nbytes;
  }
  if (!found && !fits(from, kEndOfMadeUp, address)) {
    static_cast<void>(fail(Error::OutOfMemory, {"there are no addresses left"}));
    return nullptr;
  }
#if TENON_HAS_EXCEPTIONS
  try {
#endif
    const auto nothing = std::make_shared<Expression>();
    nothing->type = public_type(ScalarType::Byte);
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

inline void ExprMemory::deallocate(void* p) noexcept {
  ExpressionPtr last;  // released without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(p));
  if (found == blocks_.end()) return;
  last = std::move(found->second.current);
  blocks_.erase(found);
}

/// The block that holds a view with elements.
inline Error ExprMemory::find(const TensorView& view, Part& part) {
  const ByteRange range = byte_range(view);
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
  return fail(Error::InvalidArgument,
              {view.type, ' ', view.sizes, " is not in memory of this backend"});
}

/// Bytes as elements of what their block holds, if they are whole ones.
inline Error ExprMemory::find_bytes(const void* address, size_t nbytes, Part& part,
                                    TensorView& view) {
  view = {const_cast<void*>(address), ScalarType::Byte, Device(DeviceType::Expr), {nbytes}, {1}};
  TENON_TRY(find(view, part));
  const Expression& current = *part.block->current;
  view.type = own_type(current.type);
  const size_t size = elementSize(view.type);
  if (nbytes % size != 0 || static_cast<size_t>(part.offset) % size != 0) {
    view.type = ScalarType::Byte;
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

inline Error ExprMemory::write_to(const Part& part, const TensorView& out, ExpressionPtr value) {
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
  const ExpressionPart written{out.type, out.sizes, out.strides, part.offset, numel};
  // What is overwritten need not be kept.
  while (made->inputs[0]->kind == ExpressionKind::Update &&
         written.is_written_by(*made->inputs[0])) {
    made->inputs[0] = made->inputs[0]->inputs[0];
  }
  if (is_all) {
    const auto nothing = std::make_shared<Expression>();
    nothing->type = current->type;
    nothing->sizes = current->sizes;
    TENON_TRY(finish_node(*nothing));
    made->inputs[0] = nothing;
  }
  made->inputs[1] = std::move(value);
  TENON_TRY(finish_node(*made));
  current = made;
  return Error::Ok;
}

inline Error ExprMemory::write(const TensorView& out, Expression&& value) {
  if (numel_of(out.sizes) == 0) return Error::Ok;
  value.type = public_type(out.type);
  value.sizes = out.sizes;
  TENON_TRY(finish_node(value));
  return write(out, std::make_shared<const Expression>(std::move(value)));
}

inline Error ExprMemory::write(const TensorView& out, ExpressionPtr value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  TENON_TRY(find(out, part));
  return write_to(part, out, std::move(value));
}

inline Error ExprMemory::write_bytes(void* dst, size_t nbytes,
                                     const std::shared_ptr<Expression>& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  TensorView out;
  TENON_TRY(find_bytes(dst, nbytes, part, out));
  value->type = public_type(out.type);
  value->sizes = out.sizes;
  TENON_TRY(finish_node(*value));
  return write_to(part, out, value);
}

inline Error ExprMemory::copy_bytes(void* dst, const void* src, size_t nbytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Part from;
  Part to;
  TensorView in;
  TensorView out;
  TENON_TRY(find_bytes(src, nbytes, from, in));
  TENON_TRY(find_bytes(dst, nbytes, to, out));
  ExpressionPtr value;
  TENON_TRY(take_part(from.block->current,
                      {in.type, in.sizes, in.strides, from.offset, numel_of(in.sizes)}, value));
  in.data = dst;
  return write_to(to, in, std::move(value));
}

inline Error ExprMemory::read(const TensorView& in, ExpressionPtr& value) {
  const int64_t numel = numel_of(in.sizes);
  if (numel == 0) {
    const auto nothing = std::make_shared<Expression>();
    nothing->type = public_type(in.type);
    nothing->sizes = in.sizes;
    TENON_TRY(finish_node(*nothing));
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
  return take_part(std::move(current), {in.type, in.sizes, in.strides, part.offset, numel}, value);
}

inline Error ExprMemory::label(const TensorView& view) {
  const int64_t numel = numel_of(view.sizes);
  if (numel == 0 || view.data == nullptr) return Error::Ok;
  const std::lock_guard<std::mutex> lock(mutex_);
  Part part;
  TENON_TRY(find(view, part));
  ExpressionPtr& current = part.block->current;
  const ExpressionPart all{view.type, view.sizes, view.strides, part.offset, numel};
  if (!all.is_all_of(*current) || !can_relabel(*current, own_type(current->type) != view.type)) {
    return Error::Ok;
  }
  ExpressionPtr labelled;
  TENON_TRY(take_part(current, all, labelled));
  current = labelled;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
