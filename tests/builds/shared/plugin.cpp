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

bool grow(tenon::Tensor& tensor, int64_t count, bool is_reserve) {
  const auto nbytes = static_cast<size_t>(count) * sizeof(float);
  return (is_reserve ? tenon::reserve_tensor(tensor, nbytes)
                     : tenon::resize_tensor(tensor, {count})) == tenon::Error::Ok;
}

bool read_expression(const tenon::Tensor& tensor) {
  const tenon::Tensor flat = tenon::view(tensor, {6});
  const tenon::TensorPtr all = tenon::materialize(flat, tenon::host_backend());
  const tenon::TensorPtr part =
      tenon::materialize(tenon::slice(flat, 0, 1, 3), tenon::host_backend());
  const tenon::TensorPtr copy = tenon::backend_copy(tensor, tenon::host_backend());
  tenon::Tensor written = tensor;
  const bool is_written = tenon::fill_(tenon::select(written, 0, 1), 5) == tenon::Error::Ok;
  const bool is_known = tenon::expression(flat)->kind == tenon::ExpressionKind::Data &&
                        tenon::to_string(tensor).size() > 10 && !tenon::to_dot(tensor).empty();
  return is_known && is_written && all->const_data_ptr<float>()[5] == 2 && part->numel() == 2 &&
         copy->numel() == 6;
}

bool track(tenon::TrackingBackend& tracker) {
  const tenon::TrackingScope scope(tracker, "plugin's");
  const tenon::TensorPtr t = tenon::zeros({64, 64}, tracker);
  return t->numel() == 4096 && !tracker.leak_report().empty();
}

bool exchange(const tenon::Tensor& tensor) {
  const tenon::Tensor part = tenon::slice(tensor, 0, 0, 1);
  const tenon::TensorPtr all[] = {tenon::from_dlpack(tenon::to_dlpack(tensor)),
                                  tenon::from_dlpack(tenon::to_dlpack(part)),
                                  tenon::from_blob(tenon::to_blob(tensor)),
                                  tenon::from_blob(tenon::to_blob(part)),
                                  tenon::make_tensor_ptr(tensor),
                                  tenon::clone_tensor_ptr(tensor)};
  for (const tenon::TensorPtr& t : all) {
    if (t->const_data_ptr<float>()[0] != 1) return false;
  }
  return true;
}

bool change(tenon::Tensor& tensor) {
  return tenon::resize_tensor(tensor, {1, 2}) == tenon::Error::Ok &&
         tenon::fill_(tensor, 3) == tenon::Error::Ok &&
         tenon::copy_(tensor, tenon::ones({1, 2})) == tenon::Error::Ok &&
         tenon::backend_deallocate(tensor) == tenon::Deallocation::Ok;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Plugin plugin{
    &places,          &make,  &released, &use,   &keep_in_thread, &register_device, &grow,
    &read_expression, &track, &exchange, &change};
