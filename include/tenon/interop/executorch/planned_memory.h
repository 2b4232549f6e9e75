// SPDX-License-Identifier: MIT
// The memory that a method of ExecuTorch's lives in, from a backend of tenon's.
#pragma once

#include <optional>

#include "tenon/interop/executorch/impl_layout.h"
#include "tenon/module/stored_array.h"
#include "tenon/tensor/creators.h"

#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// Hands memory out in a row, from blocks that are tensors in a backend's memory.
///
/// Ownership: keeps the blocks until it is destroyed; the backend outlives it.
/// Cost: reset() makes one block of several, so that kernels, which take as much in each run, soon
/// take it without an allocation.
class ExecutorchMemory final : public ::executorch::runtime::MemoryAllocator {
 public:
  explicit ExecutorchMemory(Backend& memory) noexcept
      : MemoryAllocator(0, nullptr), memory_(memory), blocks_(storage_of(&memory)) {}

  /// Null, with the thread's text, when there is none.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) return nullptr;
    void* const found = take(size, alignment);
    if (found != nullptr || !add_block(size, alignment)) return found;
    return take(size, alignment);
  }
  void reset() override {
    if (blocks_.size() > 1) {
      static_cast<void>(blocks_.resize(0));
      next_ = end_ = nullptr;
    } else if (blocks_.size() == 1) {
      next_ = end_ - capacity_;
    }
  }

 private:
  static constexpr size_t kBlock = 4096;

  void* take(size_t size, size_t alignment) noexcept {
    if (next_ == nullptr) return nullptr;
    const size_t padding = (uintptr_t{0} - reinterpret_cast<uintptr_t>(next_)) % alignment;
    const auto room = static_cast<size_t>(end_ - next_);
    if (padding > room || size > room - padding) return nullptr;
    void* const taken = next_ + padding;
    next_ += padding + size;
    return taken;
  }
  bool add_block(size_t size, size_t alignment) noexcept {
    if (size > PTRDIFF_MAX - alignment) return false;
    size_t nbytes = size + alignment;
    if (blocks_.size() == 0 && nbytes < capacity_) nbytes = capacity_;  // what the last run took
    if (nbytes < kBlock) nbytes = kBlock;
    constexpr Empty<Result<Tensor>> make{"empty"};
    Result<Tensor> block = make({static_cast<int64_t>(nbytes)}, ScalarType::Byte,
                                TensorShapeDynamism::STATIC, memory_);
    if (!block.ok()) return false;
    auto* const begin = static_cast<unsigned char*>(fields(TensorArg(*block)).data);
    if (blocks_.push_back(std::move(*block)) != Error::Ok) return false;
    next_ = begin;
    end_ = begin + nbytes;
    capacity_ = blocks_.size() == 1 ? nbytes : capacity_ + nbytes;
    return true;
  }

  Backend& memory_;
  StoredArray<Tensor> blocks_;
  unsigned char* next_ = nullptr;  // in the last block
  unsigned char* end_ = nullptr;
  size_t capacity_ = 0;  // of all blocks
};

/// All memory of one method but that of its inputs and outputs: what was planned at export, what
/// the runtime keeps, and what kernels need during a run.
///
/// Ownership: keeps it all; the method goes first.
class ExecutorchStorage {
 public:
  explicit ExecutorchStorage(Backend& memory) noexcept
      : memory_(memory),
        planned_(storage_of(&memory)),
        spans_(storage_of(&memory)),
        kept_(memory),
        temporary_(memory) {}

  /// Makes what was planned, of zeros: so starts a mutable buffer that has no value yet.
  /// Errors: OutOfMemory; NotSupported for a plan with other memory than the host's; the runtime's.
  Error plan(const ::executorch::runtime::MethodMeta& meta) {
    const size_t count = meta.num_memory_planned_buffers();
    TENON_TRY(planned_.reserve(count));
    TENON_TRY(spans_.reserve(count));
    for (size_t i = 0; i < count; ++i) {
      const auto nbytes = meta.memory_planned_buffer_size(i);
      const auto device = meta.memory_planned_buffer_device(i);
      TENON_TRY(check_executorch(nbytes.error(), "planned memory ", i));
      TENON_TRY(check_executorch(device.error(), "planned memory ", i));
      if (TENON_UNLIKELY(device->type() != ::executorch::aten::DeviceType::CPU || *nbytes < 0)) {
        return fail(Error::NotSupported, "planned memory ", i, " is not to be the host's");
      }
      constexpr Constant<Result<Tensor>, 0> make{"zeros"};
      Result<Tensor> made = make({*nbytes}, ScalarType::Byte, TensorShapeDynamism::STATIC, memory_);
      if (TENON_UNLIKELY(!made.ok())) return fail(made.error(), made.message());
      TENON_TRY(spans_.push_back(
          {static_cast<uint8_t*>(fields(TensorArg(*made)).data), static_cast<size_t>(*nbytes)}));
      TENON_TRY(planned_.push_back(std::move(*made)));
    }
    hierarchy_.emplace(
        ::executorch::runtime::Span<::executorch::runtime::Span<uint8_t>>(spans_.data(), count));
    manager_.emplace(&kept_, &*hierarchy_, &temporary_);
    return Error::Ok;
  }
  ::executorch::runtime::MemoryManager* manager() noexcept { return &*manager_; }

 private:
  Backend& memory_;
  StoredArray<Tensor> planned_;
  StoredArray<::executorch::runtime::Span<uint8_t>> spans_;
  ExecutorchMemory kept_;
  ExecutorchMemory temporary_;
  std::optional<::executorch::runtime::HierarchicalAllocator> hierarchy_;
  std::optional<::executorch::runtime::MemoryManager> manager_;
};

}  // namespace detail
TENON_END_NAMESPACE
