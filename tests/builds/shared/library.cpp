// SPDX-License-Identifier: MIT
// Either library: LIBRARY is its name.
#include "library.h"

#include <tenon/module/function_module.h>
#include <tenon/module/runtimes.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>

#include <cstdlib>
#include <cstring>

namespace {

class DeviceBackend : public tenon::Backend {
 public:
  explicit DeviceBackend(int32_t index) : device_(tenon::DeviceType::ExtDev, index) {}
  const char* name() const noexcept override { return "library's"; }
  tenon::Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return true; }
  void* allocate(size_t nbytes, size_t) noexcept override { return std::malloc(nbytes); }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    std::memcpy(dst, src, nbytes);
    return tenon::Error::Ok;
  }
  tenon::Error copy_to_host(void*, const void*, size_t) override {
    return set_error(tenon::Error::AccessFailed, "it is far away");
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return copy_from_host(dst, src, nbytes);
  }
  tenon::Error synchronize() override { return tenon::Error::Ok; }

 private:
  tenon::Device device_;
};

// Static objects of either library are destroyed in an order that nobody chose.
tenon::TensorPtr kept;
alignas(DeviceBackend) unsigned char place[sizeof(DeviceBackend)];
struct StaticBackend {
  DeviceBackend* backend = nullptr;
  ~StaticBackend() {
    if (backend != nullptr) backend->~DeviceBackend();
  }
} held;

float lent[6] = {1, 2, 3, 4, 5, 6};
int released_count;

}  // namespace

namespace LIBRARY {

const void* generator() { return &tenon::default_generator(); }

uint64_t take() { return tenon::default_generator().advance(1); }

void seed(uint64_t value) { tenon::manual_seed(value); }

void register_device(int32_t index) {
  held.backend = ::new (static_cast<void*>(place)) DeviceBackend(index);
  tenon::register_backend(*held.backend);
}

void unregister_device() { tenon::unregister_backend(*held.backend); }

const void* find(int32_t index) {
  return tenon::detail::find_backend(tenon::Device(tenon::DeviceType::ExtDev, index));
}

void register_runtime(const char* suffix) {
  tenon::register_runtime(suffix, [](const tenon::ModelFile& file) {
    const auto length = static_cast<int64_t>(file.path.size());
    return std::make_shared<tenon::FunctionModule>(
        [length](tenon::Span<const tenon::EValue>) { return tenon::EValue(length); });
  });
}

void unregister_runtime(const char* suffix) { tenon::register_runtime(suffix, nullptr); }

bool can_open(const char* path) { return tenon::open_module(path).ok(); }

const void* current() { return &tenon::default_backend(); }

const char* message() { return tenon::last_error_message(); }

void keep_tensor() { kept = tenon::zeros({4}, *held.backend); }

void make_template(void* tensor) {
  *static_cast<tenon::TensorPtr*>(tensor) =
      tenon::make_template({2, 3}, tenon::ScalarType::Float, {"n", "c"});
}

void make_expression(void* tensor) {
  static tenon::ExprBackend backend;
  *static_cast<tenon::TensorPtr*>(tensor) = tenon::ones({2, 3}, backend);
}

void* lend() {
  const std::shared_ptr<void> owner(lent, [](void*) { ++released_count; });
  return tenon::to_dlpack(tenon::from_blob(tenon::Blob::of(lent, {2, 3}, {}, owner)));
}

double sum(void* managed) {
  const tenon::Blob blob = tenon::to_blob(
      tenon::from_dlpack(static_cast<tenon::dlpack::DLManagedTensorVersioned*>(managed)));
  const auto elements = tenon::accessor<const float, 2>(blob);
  double sum = 0;
  for (int64_t i = 0; i < blob.sizes[0]; ++i) {
    for (int64_t j = 0; j < blob.sizes[1]; ++j) sum += static_cast<double>(elements[i][j]);
  }
  return sum;
}

int released() { return released_count; }

void fail() { tenon::zeros({-1}); }

}  // namespace LIBRARY
