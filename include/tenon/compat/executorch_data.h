// SPDX-License-Identifier: MIT
// What ExecuTorch's Module is made from: loaders of a program's bytes, allocators and a tracer.
// tenon's runtimes take the bytes alone; docs/executorch.md says what is not used.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/compat/executorch_platform.h"
#include "tenon/interop/files/file.h"

namespace executorch {
namespace runtime {
inline namespace tenon_compat {

namespace internal {

constexpr bool is_power_of_2(size_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}
/// The bytes from `p` to the next multiple of `alignment`, a power of two.
inline size_t padding_of(const void* p, size_t alignment) noexcept {
  return (0 - reinterpret_cast<uintptr_t>(p)) & (alignment - 1);
}
/// From malloc; null if there is no memory. `data` is a multiple of `alignment`.
inline std::unique_ptr<void, void (*)(void*)> allocate(size_t size, size_t alignment,
                                                       uint8_t*& data) noexcept {
  constexpr size_t kMost = PTRDIFF_MAX;  // GCC warns of more
  const bool fits = size <= kMost && alignment <= kMost - size;
  void* const block = fits ? std::malloc(size + alignment) : nullptr;
  if (block != nullptr) data = static_cast<uint8_t*>(block) + padding_of(block, alignment);
  return {block, &std::free};
}

}  // namespace internal

/// Bytes that a function frees. Movable.
/// Ownership: calls `free(context, data, size)` once, at the end of its life or in Free().
class FreeableBuffer {
 public:
  using FreeFn = void (*)(void* context, void* data, size_t size);

  FreeableBuffer() noexcept = default;
  FreeableBuffer(const void* data, size_t size, FreeFn free, void* context = nullptr) noexcept
      : data_(data), size_(size), free_(free), context_(context) {}
  FreeableBuffer(FreeableBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        free_(std::exchange(other.free_, nullptr)),
        context_(other.context_) {}
  FreeableBuffer& operator=(FreeableBuffer&&) = delete;
  ~FreeableBuffer() { Free(); }

  void Free() {
    const void* const data = std::exchange(data_, nullptr);
    const size_t size = std::exchange(size_, 0);
    const FreeFn free = std::exchange(free_, nullptr);
    if (data != nullptr && free != nullptr) free(context_, const_cast<void*>(data), size);
  }
  const void* data() const noexcept { return data_; }
  Result<const void*> data_safe() const { return data_; }
  size_t size() const noexcept { return size_; }

 private:
  const void* data_ = nullptr;
  size_t size_ = 0;
  FreeFn free_ = nullptr;
  void* context_ = nullptr;
};

/// Where a program's bytes are. Programs may derive from it.
class DataLoader {
 public:
  struct SegmentInfo {
    enum class Type { Program, Constant, Backend, Mutable, External };
    SegmentInfo() noexcept = default;
    explicit SegmentInfo(Type type, size_t index = 0, const char* text = nullptr) noexcept
        : segment_type(type), segment_index(index), descriptor(text) {}

    Type segment_type = Type::Program;
    size_t segment_index = 0;
    const char* descriptor = nullptr;
  };

  DataLoader() = default;
  DataLoader(const DataLoader&) = default;
  DataLoader& operator=(const DataLoader&) = default;
  virtual ~DataLoader() = default;
  [[nodiscard]] virtual Result<FreeableBuffer> load(size_t offset, size_t size,
                                                    const SegmentInfo& info) const = 0;
  [[nodiscard]] virtual Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                                        void* to) const {
    TENON_DETAIL_ET_CHECK(size == 0 || to != nullptr, InvalidArgument, "the memory is null");
    const auto loaded = load(offset, size, info);
    if (!loaded.ok()) return loaded.error();
    TENON_DETAIL_ET_CHECK(loaded->size() >= size, InvalidExternalData,
                          "load() gave %zu bytes, expected %zu", loaded->size(), size);
    if (size != 0) std::memcpy(to, loaded->data(), size);
    return Error::Ok;
  }
  [[nodiscard]] virtual Result<size_t> size() const = 0;
  /// Not in ExecuTorch: the file, which tenon's runtimes open themselves; null if there is none.
  virtual const char* path() const noexcept { return nullptr; }
  /// Not in ExecuTorch: whether the file is to be mapped.
  virtual bool maps() const noexcept { return false; }
};

/// Takes memory from the caller. tenon's runtimes do not use it.
class MemoryAllocator {
 public:
  static constexpr size_t kDefaultAlignment = alignof(void*);

  MemoryAllocator(uint32_t size, uint8_t* base) noexcept : base_(base), size_(size) {}
  virtual ~MemoryAllocator() = default;
  /// Null if there is no room, or the alignment is not a power of two.
  virtual void* allocate(size_t size, size_t alignment = kDefaultAlignment) {
    if (!isPowerOf2(alignment) || base_ == nullptr) return nullptr;
    const size_t padding = internal::padding_of(base_ + used_, alignment);
    if (padding > free_size() || size > free_size() - padding) return nullptr;
    used_ += padding + size;
    return base_ + used_ - size;
  }
  template <class T>
  T* allocateInstance(size_t alignment = alignof(T)) {
    return static_cast<T*>(allocate(sizeof(T), alignment));
  }
  template <class T>
  T* allocateList(size_t count, size_t alignment = alignof(T)) {
    return count > SIZE_MAX / sizeof(T) ? nullptr
                                        : static_cast<T*>(allocate(count * sizeof(T), alignment));
  }
  virtual uint8_t* base_address() const { return base_; }
  virtual uint32_t size() const { return size_; }
  virtual size_t used_size() const { return used_; }
  virtual size_t free_size() const { return size_ - used_; }
  virtual void reset() { used_ = 0; }

 protected:
  static constexpr bool isPowerOf2(size_t value) noexcept { return internal::is_power_of_2(value); }

 private:
  uint8_t* base_;
  uint32_t size_;
  size_t used_ = 0;
};

/// Planned memory by number. tenon's runtimes plan their own, and do not use it.
class HierarchicalAllocator {
 public:
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) noexcept : buffers_(buffers) {}
  Result<void*> get_offset_address(uint32_t memory, size_t offset, size_t size) {
    TENON_DETAIL_ET_CHECK(memory < buffers_.size(), InvalidArgument, "buffer %u of %zu", memory,
                          buffers_.size());
    const Span<uint8_t> buffer = buffers_[memory];
    TENON_DETAIL_ET_CHECK(offset <= buffer.size() && size <= buffer.size() - offset,
                          MemoryAllocationFailed, "%zu bytes at %zu of %zu", size, offset,
                          buffer.size());
    return static_cast<void*>(buffer.data() + offset);
  }

 private:
  Span<Span<uint8_t>> buffers_;
};
class MemoryManager {
 public:
  explicit MemoryManager(MemoryAllocator* method, HierarchicalAllocator* planned = nullptr,
                         MemoryAllocator* temporary = nullptr) noexcept
      : method_(method), planned_(planned), temporary_(temporary) {}
  MemoryAllocator* method_allocator() const noexcept { return method_; }
  HierarchicalAllocator* planned_memory() const noexcept { return planned_; }
  MemoryAllocator* temp_allocator() const noexcept { return temporary_; }

 private:
  MemoryAllocator* method_;
  HierarchicalAllocator* planned_;
  MemoryAllocator* temporary_;
};

/// Module keeps a tracer, and does not call it.
class EventTracer {
 public:
  virtual ~EventTracer() = default;
};

// Named in Module's parameters.
class Method;  // NOLINT: another than tenon::detail's
class NamedDataMap;
struct Kernel {};

/// Takes a kernel's error. Models call their runtime's kernels; a program that calls one of
/// ExecuTorch's itself compiles it too.
class KernelRuntimeContext {
 public:
  explicit KernelRuntimeContext(EventTracer* = nullptr, MemoryAllocator* = nullptr) noexcept {}
  void fail(Error error) noexcept { error_ = error; }
  Error failure_state() const noexcept { return error_; }

 private:
  Error error_ = Error::Ok;
};

}  // namespace tenon_compat
}  // namespace runtime

namespace extension {
inline namespace tenon_compat {

/// Reads a file.
/// Threads: load() may be called from several.
class FileDataLoader : public runtime::DataLoader {
 public:
  /// Errors: AccessFailed; InvalidArgument for no path, or an alignment that is not a power of two.
  static runtime::Result<FileDataLoader> from(const char* path, size_t alignment = 16) {
    TENON_DETAIL_ET_CHECK(runtime::internal::is_power_of_2(alignment), InvalidArgument,
                          "alignment %zu is not a power of two", alignment);
    TENON_DETAIL_ET_CHECK(path != nullptr, InvalidArgument, "the path is null");
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(open(path, file));
    return FileDataLoader(path, alignment);
  }
  [[nodiscard]] runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& = SegmentInfo()) const override {
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(open(file));
    ET_CHECK_OK_OR_RETURN_ERROR(check_range(file, offset, size));
    if (size == 0) return runtime::FreeableBuffer();
    uint8_t* data = nullptr;
    auto block = runtime::internal::allocate(size, alignment_, data);
    TENON_DETAIL_ET_CHECK(block != nullptr, MemoryAllocationFailed,
                          "%s: out of memory for %zu bytes", path(), size);
    ET_CHECK_OK_OR_RETURN_ERROR(report(path(), file.read(offset, data, size)));
    return runtime::FreeableBuffer(
        data, size, [](void* context, void*, size_t) { std::free(context); }, block.release());
  }
  [[nodiscard]] runtime::Error load_into(size_t offset, size_t size, const SegmentInfo&,
                                         void* to) const override {
    TENON_DETAIL_ET_CHECK(size == 0 || to != nullptr, InvalidArgument, "the memory is null");
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(open(file));
    ET_CHECK_OK_OR_RETURN_ERROR(check_range(file, offset, size));
    return size == 0 ? runtime::Error::Ok : report(path(), file.read(offset, to, size));
  }
  [[nodiscard]] runtime::Result<size_t> size() const override {
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(open(file));
    return static_cast<size_t>(static_cast<ptrdiff_t>(file.size()));
  }
  const char* path() const noexcept override { return path_.c_str(); }

 protected:
  explicit FileDataLoader(const char* path, size_t alignment = 16)
      : path_(path), alignment_(alignment) {}

 private:
  static runtime::Error open(const char* path, tenon::detail::InputFile& file) {
    const tenon::Error error = file.open(path);
    if (error == tenon::Error::Ok) return runtime::Error::Ok;
    static_cast<void>(report(path, error));
    return runtime::Error::AccessFailed;
  }
  runtime::Error open(tenon::detail::InputFile& file) const {
    TENON_DETAIL_ET_CHECK(!path_.empty(), InvalidState, "the loader was moved from");
    return open(path(), file);
  }
  static runtime::Error report(const char* path, tenon::Error error) {
    if (error == tenon::Error::Ok) return runtime::Error::Ok;
    return runtime::internal::report(tenon::detail::FilePath(path).add_context(error));
  }
  runtime::Error check_range(const tenon::detail::InputFile& file, size_t offset,
                             size_t size) const {
    TENON_DETAIL_ET_CHECK(offset <= file.size() && size <= file.size() - offset, InvalidArgument,
                          "%s: %zu bytes at %zu, but the file has %" PRIu64, path(), size, offset,
                          file.size());
    return runtime::Error::Ok;
  }

  std::string path_;
  size_t alignment_;
};

/// A file whose program is mapped, where the runtime can.
class MmapDataLoader : public FileDataLoader {
 public:
  enum class MlockConfig { NoMlock, UseMlock, UseMlockIgnoreErrors, UseMadvise };

  static runtime::Result<MmapDataLoader> from(const char* path,
                                              MlockConfig config = MlockConfig::UseMlock) {
    static_cast<void>(config);
    const auto file = FileDataLoader::from(path);
    if (!file.ok()) return file.error();
    return MmapDataLoader(path);
  }
  bool maps() const noexcept override { return true; }

 private:
  using FileDataLoader::FileDataLoader;
};

/// A program in memory.
/// Ownership: borrows the bytes.
class BufferDataLoader : public runtime::DataLoader {
 public:
  BufferDataLoader(const void* data, size_t size) noexcept : data_(data), size_(size) {}

  [[nodiscard]] runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& = SegmentInfo()) const override {
    TENON_DETAIL_ET_CHECK(offset <= size_ && size <= size_ - offset, InvalidArgument,
                          "%zu bytes at %zu of %zu", size, offset, size_);
    return runtime::FreeableBuffer(static_cast<const uint8_t*>(data_) + offset, size, nullptr);
  }
  [[nodiscard]] runtime::Result<size_t> size() const override { return size_; }

 private:
  const void* data_;
  size_t size_;
};

/// Memory from the heap, released together.
class MallocMemoryAllocator : public runtime::MemoryAllocator {
 public:
  MallocMemoryAllocator() noexcept : MemoryAllocator(0, nullptr) {}
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) return nullptr;
    uint8_t* data = nullptr;
    blocks_.push_back(runtime::internal::allocate(size, alignment, data));
    return data;
  }
  void reset() override { blocks_.clear(); }

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
};
/// Caches nothing: no runtime here takes memory from it.
class CPUCachingAllocator : public MallocMemoryAllocator {
 public:
  explicit CPUCachingAllocator(size_t max_size) noexcept { static_cast<void>(max_size); }
};

}  // namespace tenon_compat
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::EventTracer, ::executorch::runtime::KernelRuntimeContext,
    ::executorch::runtime::MemoryAllocator;
}  // namespace executor
}  // namespace torch
