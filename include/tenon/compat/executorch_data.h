// SPDX-License-Identifier: MIT
// The arguments of ExecuTorch's Module: loaders of a program's bytes, allocators and a tracer.
// tenon's runtimes use only the bytes; docs/executorch.md lists the ignored arguments.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "tenon/compat/executorch_platform.h"
#include "tenon/interop/files/file.h"

namespace executorch {
namespace runtime {
inline namespace tenon_compat {

/// Bytes, and the function that frees them. Movable.
/// Ownership: calls `free(context, data, size)` once, in the destructor or in Free().
class FreeableBuffer {
 public:
  using FreeFn = void (*)(void* context, void* data, size_t size);

  FreeableBuffer() noexcept = default;
  FreeableBuffer(const void* data, size_t size, FreeFn free, void* context = nullptr) noexcept
      : bytes_{data, size, free, context} {}
  FreeableBuffer(FreeableBuffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FreeableBuffer& operator=(FreeableBuffer&&) = delete;
  ~FreeableBuffer() { Free(); }

  void Free() {
    const Bytes old = std::exchange(bytes_, {});
    if (old.data != nullptr && old.free != nullptr) {
      old.free(old.context, const_cast<void*>(old.data), old.size);
    }
  }
  const void* data() const noexcept { return bytes_.data; }
  Result<const void*> data_safe() const { return bytes_.data; }
  size_t size() const noexcept { return bytes_.size; }

 private:
  struct Bytes {
    const void* data;
    size_t size;
    FreeFn free;
    void* context;
  };
  Bytes bytes_ = {};
};

/// A source of a program's bytes. Programs may derive from it.
class DataLoader {
 public:
  struct SegmentInfo {
    enum class Type { Program, Constant, Backend, Mutable, External };
    SegmentInfo(Type type = Type::Program, size_t index = 0, const char* text = nullptr) noexcept
        : segment_type(type), segment_index(index), descriptor(text) {}

    Type segment_type;
    size_t segment_index;
    const char* descriptor;
  };

  virtual ~DataLoader() = default;
  [[nodiscard]] virtual Result<FreeableBuffer> load(size_t offset, size_t size,
                                                    const SegmentInfo& info) const = 0;
  [[nodiscard]] virtual Error load_into(size_t offset, size_t size, const SegmentInfo& info,
                                        void* to) const {
    TENON_DETAIL_ET_CHECK(size == 0 || to != nullptr, InvalidArgument, "the memory is null");
    const auto loaded = load(offset, size, info);
    if (!loaded.ok()) return loaded.error();
    TENON_DETAIL_ET_CHECK(loaded->size() >= size, InvalidExternalData,
                          "load() returned %zu bytes, expected %zu", loaded->size(), size);
    if (size != 0) std::memcpy(to, loaded->data(), size);
    return Error::Ok;
  }
  [[nodiscard]] virtual Result<size_t> size() const = 0;
  /// Not in ExecuTorch: the file, which tenon's runtimes open themselves; null if there is no file.
  virtual const char* path() const noexcept { return nullptr; }
  /// Not in ExecuTorch: whether the file is to be mapped.
  virtual bool maps() const noexcept { return false; }
};

/// An argument of constructors. tenon's runtimes allocate their memory without it.
class MemoryAllocator {
 public:
  MemoryAllocator(uint32_t, uint8_t*) noexcept {}
  virtual ~MemoryAllocator() = default;
};
/// An argument of Module. Module keeps the tracer but does not call it.
class EventTracer {
 public:
  virtual ~EventTracer() = default;
};

// Module's parameters name these classes.
class HierarchicalAllocator;
class Method;  // NOLINT: not tenon::detail::Method
class NamedDataMap;
struct Kernel {};

/// Receives a kernel's error. Models call the kernels of their runtime; this class is for programs
/// that call one of ExecuTorch's kernels themselves.
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
/// Threads: several threads may call load() at once.
class FileDataLoader : public runtime::DataLoader {
 public:
  /// Errors: AccessFailed; InvalidArgument for a null path, or an alignment that is not a power of
  /// two.
  static runtime::Result<FileDataLoader> from(const char* path, size_t alignment = 16) {
    TENON_DETAIL_ET_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                          "alignment %zu is not a power of two", alignment);
    TENON_DETAIL_ET_CHECK(path != nullptr, InvalidArgument, "the path is null");
    FileDataLoader loader(path, alignment);
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(loader.open(file));
    return runtime::Result<FileDataLoader>(std::move(loader));
  }
  [[nodiscard]] runtime::Result<runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& = SegmentInfo()) const override {
    tenon::detail::InputFile file;
    ET_CHECK_OK_OR_RETURN_ERROR(open(file));
    TENON_DETAIL_ET_CHECK(offset <= file.size() && size <= file.size() - offset, InvalidArgument,
                          "%s: %zu bytes at %zu are beyond the file's %" PRIu64 " bytes", path(),
                          size, offset, file.size());
    if (size == 0) return runtime::FreeableBuffer();
    const std::align_val_t alignment{alignment_};
    void* const data = ::operator new(size, alignment, std::nothrow);
    TENON_DETAIL_ET_CHECK(data != nullptr, MemoryAllocationFailed,
                          "%s: out of memory for %zu bytes", path(), size);
    const auto free = [](void* context, void* memory, size_t) {
      ::operator delete(memory, std::align_val_t(reinterpret_cast<uintptr_t>(context)));
    };
    void* const context = reinterpret_cast<void*>(alignment_);  // NOLINT: a number for `free`
    runtime::FreeableBuffer buffer(data, size, free, context);
    const tenon::Error error = file.read(offset, data, size);
    if (error == tenon::Error::Ok)
      return runtime::Result<runtime::FreeableBuffer>(std::move(buffer));
    return runtime::internal::report(tenon::detail::FilePath(path()).add_context(error));
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
  runtime::Error open(tenon::detail::InputFile& file) const {
    const tenon::Error error = file.open(path());
    if (error == tenon::Error::Ok) return runtime::Error::Ok;
    static_cast<void>(
        runtime::internal::report(tenon::detail::FilePath(path()).add_context(error)));
    return runtime::Error::AccessFailed;
  }

  std::string path_;
  size_t alignment_;
};

/// A file that the runtime maps, if it can map files.
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
                          "%zu bytes at %zu are beyond the data's %zu bytes", size, offset, size_);
    return runtime::FreeableBuffer(static_cast<const uint8_t*>(data_) + offset, size, nullptr);
  }
  [[nodiscard]] runtime::Result<size_t> size() const override { return size_; }

 private:
  const void* data_;
  size_t size_;
};

/// Only an argument of constructors, like MemoryAllocator.
struct MallocMemoryAllocator : runtime::MemoryAllocator {
  MallocMemoryAllocator() noexcept : MemoryAllocator(0, nullptr) {}
};
struct CPUCachingAllocator : MallocMemoryAllocator {
  explicit CPUCachingAllocator(size_t) noexcept {}
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
