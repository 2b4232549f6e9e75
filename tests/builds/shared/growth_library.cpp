// SPDX-License-Identifier: MIT
// The library of growth_main.cpp. Its classes have functions of their own behind tenon's, which must
// not be taken for the later ones.
#include "growth.h"

namespace {

using namespace tenon;

int calls;

class Host : public WrapperBackend {
 public:
  Host() : WrapperBackend(host_backend()) {}
  const char* name() const noexcept override { return "library"; }
  virtual Error reset(int) { return ++calls, Error::Ok; }
};

class Accelerator : public DeviceBackend {
 public:
  const char* name() const noexcept override { return "accelerator"; }
  Device device() const noexcept override { return Device(DeviceType::ExtDev, 3); }
  bool is_opaque() const noexcept override { return true; }
  void* allocate(size_t, size_t) noexcept override { return nullptr; }
  void deallocate(void*, size_t) noexcept override {}
  Error copy_from_host(void*, const void*, size_t) override { return Error::Ok; }
  Error copy_to_host(void*, const void*, size_t) override { return Error::Ok; }
  Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  Error synchronize() override { return Error::Ok; }
  int64_t stream_number() const noexcept override { return 7; }
  Error order_before(int64_t) override { return Error::Ok; }
  Error order_after(int64_t) override { return Error::Ok; }
  Error join_streams() noexcept override { return Error::Ok; }
  Error check_memory(const void*, size_t) override { return Error::Ok; }
  Error copy_between(const TensorView&, const TensorView&, CastMode, Backend&) override {
    return Error::Ok;
  }
  virtual Error reset(int) { return ++calls, Error::Ok; }
};

class Doubler : public Module {
 public:
  size_t count_methods() const noexcept override { return 1; }
  const char* name_of(size_t) const noexcept override { return "forward"; }
  Error prepare(size_t, MethodMeta&) override { return Error::Ok; }
  Error invoke(size_t, Span<const EValue> inputs, Outputs& outputs) override {
    TENON_TRY(outputs.resize(1));
    return outputs.put(0, EValue(2 * inputs[0].toInt()));
  }
  virtual Error reset(int) { return ++calls, Error::Ok; }
};

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE Backend* growth_backend() {
  static Host backend;
  return &backend;
}
VISIBLE DeviceBackend* growth_device() {
  static Accelerator backend;
  return &backend;
}
VISIBLE Module* growth_module() {
  static Doubler module;
  return &module;
}
VISIBLE int growth_calls() { return calls; }
