// SPDX-License-Identifier: MIT
// The library. It does not hide its symbols: the program need not either, as it often is.
#include "plugin.h"

namespace {

class DeviceBackend final : public tenon::WrapperBackend {
 public:
  DeviceBackend() : WrapperBackend(tenon::host_backend()) {}
  const char* name() const noexcept override { return "plugin's"; }
  tenon::Device device() const noexcept override {
    return tenon::Device(tenon::DeviceType::ExtDev, index);
  }
  int32_t index = 0;
} device_backend;

float memory[3] = {1, 2, 3};
int released = 0;

PluginPlaces places() {
  return {&tenon::detail::backend_registry(), &tenon::host_backend(), &tenon::default_generator(),
          tenon::last_error_message()};
}

void make(std::vector<tenon::Tensor>& tensors) {
  tensors.push_back(tenon::make_tensor({1.0f, 2.0f, 3.0f}));
  tensors.push_back(tenon::make_tensor({3}, std::vector<float>{1, 2, 3}));
  tensors.push_back(
      *tenon::from_blob(memory, {3}, tenon::ScalarType::Float, [](void*) noexcept { ++released; }));
  static tenon::PoolBackend pool(tenon::host_backend());
  tensors.push_back(*tenon::arange(1, 4, 1, tenon::ScalarType::Float, pool));
}

bool use(tenon::Backend& backend) {
  const tenon::TensorPtr t = tenon::full({3}, 7, backend);
  const tenon::TensorPtr on_heap = tenon::backend_copy(t, tenon::host_backend());
  tenon::PoolBackend wrapper(backend);
  const tenon::TensorPtr wrapped = tenon::full({3}, 7, wrapper);
  return on_heap->const_data_ptr<float>()[2] == 7 && wrapped->const_data_ptr<float>()[2] == 7;
}

void keep_in_thread() {
  static thread_local tenon::TensorPtr kept;
  kept = tenon::zeros({3});
  tenon::manual_seed(5);
  static_cast<void>(tenon::try_empty({-1}));
}

void register_device(int32_t index) {
  device_backend.index = index;
  tenon::register_backend(device_backend);
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const Plugin plugin{&places, &make, &released, &use, &keep_in_thread, &register_device};
