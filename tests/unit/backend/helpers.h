// SPDX-License-Identifier: MIT
// Backends for tests: one that does what every backend must, and one that does all there is and
// records it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/kernels/byte_order.h"

namespace tests {

/// What the failure handler is told, as long as it lives.
class Reports {
 public:
  Reports() { all_ = {""}; }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() { tenon::set_failure_handler(before_); }

  size_t count() const { return all_.size() - 1; }
  const std::string& last() const { return all_.back(); }  // "" before the first
  const std::string& operator[](size_t i) const { return all_[i + 1]; }

 private:
  static inline std::vector<std::string> all_;
  const tenon::FailureHandler before_ =
      tenon::set_failure_handler([](tenon::Error error, const char* message) noexcept {
        all_.push_back(std::string(tenon::toString(error)) + ": " + message);
      });
};

[[noreturn]] inline void throw_error(const char* text) {
#if TENON_HAS_EXCEPTIONS
  throw std::runtime_error(text);
#else
  std::fprintf(stderr, "%s\n", text);
  std::abort();
#endif
}

/// What a backend does when it is asked for an operation.
enum class Answer { Does, NotSupported, Fails, Throws };

/// The nine functions that every backend has, over memory of the heap. The addresses that it gives
/// are not those of the memory: the host that reads one is stopped by the processor.
class MinimalBackend : public tenon::Backend {
 public:
  explicit MinimalBackend(const char* name = "minimal",
                          tenon::Device device = tenon::Device(tenon::DeviceType::ExtDev, 0))
      : name_(name), device_(device) {}

  /// Releases what tensors still hold, so that nothing leaks; they must not give it back anymore.
  ~MinimalBackend() override {
    for (const auto& block : blocks_) std::free(reinterpret_cast<void*>(block.first));
  }

  size_t room = SIZE_MAX;              // bytes that may be in use
  const char* refusal = "";            // what allocate() says then
  std::map<std::string, int> calls;    // of each operation
  std::map<std::string, Answer> will;  // what it does; those that are not there it does
  size_t uploaded = 0;                 // bytes
  size_t downloaded = 0;
  size_t last_nbytes = 0;  // of allocate()
  size_t last_alignment = 0;
  std::function<void()> use;  // called once, in the next allocation or operation
  int faults = 0;             // memory that it was told to touch and is not its own

  size_t used() const {
    size_t sum = 0;
    for (const auto& block : blocks_) sum += block.second;
    return sum;
  }

  const char* name() const noexcept override { return name_; }
  tenon::Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return true; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    call();
    const std::lock_guard<std::recursive_mutex> guard(mutex_);
    ++calls["allocate"];
    last_nbytes = nbytes;
    last_alignment = alignment;
    if (nbytes > room || used() > room - nbytes) {
      if (*refusal != '\0') static_cast<void>(set_error(tenon::Error::OutOfMemory, refusal));
      return nullptr;
    }
    void* const memory =
        std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xcd, nbytes);
    blocks_[reinterpret_cast<uintptr_t>(memory)] = nbytes;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) + kShift);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const std::lock_guard<std::recursive_mutex> guard(mutex_);
    ++calls["deallocate"];
    const auto block = blocks_.find(reinterpret_cast<uintptr_t>(p) - kShift);
    if (block == blocks_.end() || block->second != nbytes) {
      ++faults;
      return;
    }
    std::free(reinterpret_cast<void*>(block->first));
    blocks_.erase(block);
  }
  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    return perform("copy_from_host", [&] {
      std::memcpy(at(dst, nbytes), src, nbytes);
      uploaded += nbytes;
    });
  }
  tenon::Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    return perform("copy_to_host", [&] {
      std::memcpy(dst, at(src, nbytes), nbytes);
      downloaded += nbytes;
    });
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return perform("copy_within", [&] {
      char* const to = at(dst, nbytes);
      const char* const from = at(src, nbytes);
      if (to < from + nbytes && from < to + nbytes) ++faults;
      std::memcpy(to, from, nbytes);
    });
  }
  tenon::Error synchronize() override {
    return perform("synchronize", [] {});
  }

  /// Where what a tensor's address stands for really is.
  char* at(const void* p, size_t nbytes = 0) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p) - kShift;
    const std::lock_guard<std::recursive_mutex> guard(mutex_);
    auto block = blocks_.upper_bound(address);
    const bool found =
        block != blocks_.begin() && (--block)->first + block->second >= address + nbytes;
    if (!found) {
      ++faults;
      return spare_;
    }
    return reinterpret_cast<char*>(address);
  }
  /// An element of a tensor's memory, counted from `p`.
  template <class T>
  T get(const void* p, int64_t i) {
    T value;
    std::memcpy(&value, at(static_cast<const char*>(p) + i * int64_t{sizeof(T)}, sizeof value),
                sizeof value);
    return value;
  }

 protected:
  void call() {
    if (use) std::exchange(use, nullptr)();
  }
  /// Counts an operation and does it, or what else it is to do.
  template <class F>
  tenon::Error perform(const char* operation, const F& f) {
    call();
    const std::lock_guard<std::recursive_mutex> guard(mutex_);
    ++calls[operation];
    const auto found = will.find(operation);
    switch (found == will.end() ? Answer::Does : found->second) {
      case Answer::Does: f(); return tenon::Error::Ok;
      case Answer::NotSupported: return tenon::Error::NotSupported;
      case Answer::Fails: return set_error(tenon::Error::AccessFailed, "the cable is out");
      case Answer::Throws: break;
    }
    throw_error("thrown on the way");
  }

 private:
  static constexpr uintptr_t kShift =
      sizeof(void*) == 8 ? uintptr_t{1} << (sizeof(void*) * 8 - 2) : 0;

  const char* name_;
  tenon::Device device_;
  std::recursive_mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;
  char spare_[4096] = {};
};

/// Elements as numbers.
inline double read_number(tenon::ScalarType type, const void* p) {
  return tenon::detail::load_scalar(tenon::detail::own_type(type), p).to<double>();
}
inline void write_number(tenon::ScalarType type, void* p, double value) {
  const tenon::own::Scalar whole(static_cast<int64_t>(value));
  const tenon::own::Scalar number = isFloatingType(type) ? tenon::own::Scalar(value) : whole;
  const tenon::Error error = tenon::detail::store_scalar(tenon::detail::own_type(type), number, p);
  if (error != tenon::Error::Ok) throw_error(tenon::last_error_message());
}

/// Calls f(i, index, address) for each element in row-major order.
template <class F>
void for_each_element(const tenon::TensorView& view, const F& f) {
  const size_t rank = view.sizes.size();
  std::vector<int64_t> index(rank, 0);
  int64_t numel = 1;
  for (int64_t size : view.sizes) numel *= size;
  for (int64_t i = 0; i < numel; ++i) {
    int64_t left = i;
    int64_t offset = 0;
    for (size_t d = rank; d-- > 0;) {
      index[d] = left % view.sizes[d];
      left /= view.sizes[d];
      offset += index[d] * view.strides[d];
    }
    f(i, index,
      static_cast<char*>(view.data) + offset * static_cast<int64_t>(tenon::elementSize(view.type)));
  }
}

/// All functions that a backend can have. Of each call it keeps what it was given.
class CountingBackend : public MinimalBackend {
 public:
  explicit CountingBackend(const char* name = "counting",
                           tenon::Device device = tenon::Device(tenon::DeviceType::ExtDev, 0))
      : MinimalBackend(name, device) {
    for (const char* operation : kOptional) will[operation] = Answer::Does;
  }

  static constexpr const char* kOptional[] = {"copy",           "constant",      "eye",
                                              "iota",           "from_binary",   "to_binary",
                                              "random_uniform", "random_normal", "inspect"};

  /// Answers all optional operations alike.
  void set_all(Answer answer) {
    for (const char* operation : kOptional) will[operation] = answer;
  }
  /// How many of the optional operations it was asked for, in all.
  int optional_calls() {
    int sum = 0;
    for (const char* operation : kOptional) sum += calls[operation];
    return sum;
  }

  /// What the last optional operation was given.
  struct Last {
    std::string operation;
    const void* data = nullptr;
    tenon::ScalarType type = tenon::ScalarType::Undefined;
    std::vector<int64_t> sizes, strides;
    std::vector<unsigned char> bytes;  // an element, or a binary
    int64_t axis = -100;               // that for none
    int64_t count = -1;                // of to_binary(), limit of inspect()
    double a = 0, b = 0;
    uint64_t seed = 0, offset = 0;
    tenon::CastMode mode = tenon::CastMode::Checked;
    tenon::Device source;
  };
  Last last;
  struct Made {
    std::string function;
    const void* data;
    tenon::ScalarType type;
    std::vector<int64_t> sizes, strides;
  };
  std::vector<Made> made;

  tenon::Error copy(const tenon::TensorView& dst, const tenon::TensorView& src,
                    tenon::CastMode mode) override {
    keep("copy", dst);
    last.mode = mode;
    last.source = src.device;
    return perform("copy", [&] {
      std::vector<double> numbers;
      for_each_element(src, [&](int64_t, const auto&, const void* p) {
        numbers.push_back(read_number(src.type, real(src, p)));
      });
      for_each_element(dst, [&](int64_t i, const auto&, const void* p) {
        write_number(dst.type, real(dst, p), numbers[static_cast<size_t>(i)]);
      });
    });
  }
  tenon::Error constant(const tenon::TensorView& out, const void* element) override {
    keep("constant", out);
    const size_t size = tenon::elementSize(out.type);
    const auto* const bytes = static_cast<const unsigned char*>(element);
    last.bytes.assign(bytes, bytes + size);
    return perform("constant", [&] {
      for_each_element(out, [&](int64_t, const auto&, const void* p) {
        std::memcpy(at(p, size), element, size);
      });
    });
  }
  tenon::Error eye(const tenon::TensorView& out) override {
    keep("eye", out);
    return perform("eye", [&] {
      write(out, [](int64_t, const auto& index) { return index[0] == index[1] ? 1 : 0; });
    });
  }
  tenon::Error iota(const tenon::TensorView& out, tenon::OptionalIndex axis) override {
    keep("iota", out);
    last.axis = axis.value_or(-100);
    return perform("iota", [&] {
      write(out, [&](int64_t i, const auto& index) {
        return axis.has_value() ? index[static_cast<size_t>(axis.value_or(0))] : i;
      });
    });
  }
  tenon::Error from_binary(const tenon::TensorView& out, const void* bytes,
                           size_t nbytes) override {
    keep("from_binary", out);
    const auto* const first = static_cast<const unsigned char*>(bytes);
    last.bytes.assign(first, first + nbytes);
    return perform("from_binary", [&] {
      void* const to = at(out.data, nbytes);
      std::memcpy(to, bytes, nbytes);
      tenon::detail::exchange_little_endian(tenon::detail::own_type(out.type), to, nbytes);
    });
  }
  tenon::Error to_binary(const tenon::TensorView& in, int64_t count, void* bytes) override {
    keep("to_binary", in);
    last.count = count;
    return perform("to_binary", [&] {
      const size_t size = tenon::elementSize(in.type);
      for_each_element(in, [&](int64_t i, const auto&, const void* p) {
        if (i < count)
          std::memcpy(static_cast<char*>(bytes) + i * static_cast<int64_t>(size), at(p, size),
                      size);
      });
      tenon::detail::exchange_little_endian(tenon::detail::own_type(in.type), bytes,
                                            static_cast<size_t>(count) * size);
    });
  }
  tenon::Error random_uniform(const tenon::TensorView& out, double min, double max,
                              const tenon::Generator::State& start) override {
    return make_random("random_uniform", out, min, max, start, 1000);
  }
  tenon::Error random_normal(const tenon::TensorView& out, double mu, double sigma,
                             const tenon::Generator::State& start) override {
    return make_random("random_normal", out, mu, sigma, start, 2000);
  }
  tenon::Error inspect(const tenon::TensorView& in, int64_t limit, std::string& text) override {
    keep("inspect", in);
    last.count = limit;
    return perform("inspect", [&] { text += "<elements of " + std::string(name()) + ">"; });
  }
  void on_made(const tenon::MadeTensor& tensor) noexcept override {
    made.push_back({tensor.function,
                    tensor.data,
                    tensor.type,
                    {tensor.sizes.begin(), tensor.sizes.end()},
                    {tensor.strides.begin(), tensor.strides.end()}});
  }

 private:
  void keep(const char* operation, const tenon::TensorView& view) {
    last = Last();
    last.operation = operation;
    last.data = view.data;
    last.type = view.type;
    last.sizes.assign(view.sizes.begin(), view.sizes.end());
    last.strides.assign(view.strides.begin(), view.strides.end());
  }
  /// Numbers that nobody takes for random ones: `first` and the element's index.
  tenon::Error make_random(const char* operation, const tenon::TensorView& out, double a, double b,
                           const tenon::Generator::State& start, int64_t first) {
    keep(operation, out);
    last.a = a;
    last.b = b;
    last.seed = start.seed;
    last.offset = start.offset;
    return perform(operation,
                   [&] { write(out, [&](int64_t i, const auto&) { return first + i; }); });
  }
  /// Where an element of the host's or of this memory is.
  void* real(const tenon::TensorView& view, const void* p) {
    return view.device.is_cpu() ? const_cast<void*>(p) : at(p, tenon::elementSize(view.type));
  }
  template <class F>
  void write(const tenon::TensorView& out, const F& value) {
    for_each_element(out, [&](int64_t i, const auto& index, const void* p) {
      write_number(out.type, at(p, tenon::elementSize(out.type)),
                   static_cast<double>(value(i, index)));
    });
  }
};

}  // namespace tests
