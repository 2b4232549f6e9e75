// SPDX-License-Identifier: MIT
// A DeviceBackend for tests, in memory of the heap.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tenon/backend/backend.h"

namespace tests {

/// Records which streams it was told to order and which memory to check. It takes for its own what
/// it allocated, and what is lent to it.
class RecordingDevice : public tenon::DeviceBackend {
 public:
  explicit RecordingDevice(tenon::Device device = tenon::Device(tenon::DeviceType::CUDA, 0))
      : device_(device) {}

  std::vector<std::string> calls;
  int64_t stream = 1;                      // that of its next work
  tenon::Error answer = tenon::Error::Ok;  // to what is asked of streams
  bool knows_others = false;               // whether it copies between itself and another
  std::map<const void*, size_t> memory;    // by its beginning
  void lend(const void* p, size_t nbytes) { memory[p] = nbytes; }

  const char* name() const noexcept override { return "recording"; }
  tenon::Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return true; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    void* const p = std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
    if (p != nullptr) memory[p] = nbytes;
    return p;
  }
  void deallocate(void* p, size_t) noexcept override {
    memory.erase(p);
    std::free(p);
  }
  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    calls.push_back("copy_from_host");
    std::memcpy(dst, src, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    calls.push_back("copy_to_host");
    std::memcpy(dst, src, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    calls.push_back("copy_within");
    std::memcpy(dst, src, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error synchronize() override {
    calls.push_back("synchronize");
    return tenon::Error::Ok;
  }

  int64_t stream_number() const noexcept override { return stream; }
  tenon::Error order_before(int64_t other) override {
    calls.push_back("order_before " + std::to_string(other));
    return answer == tenon::Error::Ok ? answer : set_error(answer, "the stream is lost");
  }
  tenon::Error order_after(int64_t other) override {
    calls.push_back("order_after " + std::to_string(other));
    return answer == tenon::Error::Ok ? answer : set_error(answer, "the stream is lost");
  }
  tenon::Error join_streams() noexcept override {
    calls.push_back("join_streams");
    return answer;
  }
  tenon::Error check_memory(const void* lowest, size_t nbytes) override {
    calls.push_back("check_memory " + std::to_string(nbytes));
    const auto begin = reinterpret_cast<uintptr_t>(lowest);
    for (const auto& block : memory) {
      const auto start = reinterpret_cast<uintptr_t>(block.first);
      if (start <= begin && begin + nbytes <= start + block.second) return tenon::Error::Ok;
    }
    return set_error(tenon::Error::InvalidArgument, "the driver knows it as host memory");
  }
  tenon::Error copy_between(const tenon::TensorView& dst, const tenon::TensorView& src,
                            tenon::CastMode, tenon::Backend& other) override {
    calls.push_back("copy_between " + other.device().to_string());
    if (!knows_others) return tenon::Error::NotSupported;
    size_t nbytes = tenon::elementSize(dst.type);  // of views that are rows
    for (const int64_t size : dst.sizes) nbytes *= static_cast<size_t>(size);
    std::memcpy(dst.data, src.data, nbytes);
    return tenon::Error::Ok;
  }

 private:
  tenon::Device device_;
};

}  // namespace tests
