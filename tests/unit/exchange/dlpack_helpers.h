// SPDX-License-Identifier: MIT
// DLPack structs as a producer hands them over: by hand, without the code under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/exchange/dlpack_types.h"
#include "tensor/helpers.h"

namespace tests {

inline constexpr tenon::dlpack::DLDataType kFloat32{2, 32, 1};
inline constexpr tenon::dlpack::DLDataType kFloat64{2, 64, 1};
inline constexpr tenon::dlpack::DLDataType kInt32{0, 32, 1};
inline constexpr tenon::dlpack::DLDataType kUInt8{1, 8, 1};
inline constexpr tenon::dlpack::DLDataType kBool8{6, 8, 1};

/// A struct with its shape, of anybody's type, that counts how often it is released. It outlives its
/// release, which spoils what it points to: who still reads that is found out.
template <class Managed = tenon::dlpack::DLManagedTensorVersioned>
class Lent {
 public:
  /// Without `steps` the strides are null.
  Lent(void* data, tenon::dlpack::DLDataType type, Vector sizes, Vector steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    auto& t = managed.dl_tensor;
    t.data = data;
    set_device(1, 0);
    t.ndim = static_cast<int32_t>(shape.size());
    t.dtype.code = type.code;
    t.dtype.bits = type.bits;
    t.dtype.lanes = type.lanes;
    t.shape = shape.empty() ? nullptr : shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
    if constexpr (std::is_same_v<Managed, tenon::dlpack::DLManagedTensorVersioned>)
      managed.version = {1, 3};
    managed.manager_ctx = this;
    managed.deleter = &Lent::release;
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  void set_device(int32_t type, int32_t index) {
    auto& device = managed.dl_tensor.device;
    device.device_type = static_cast<decltype(device.device_type)>(type);
    device.device_id = index;
  }
  Managed* get() noexcept { return &managed; }
  auto& tensor() noexcept { return managed.dl_tensor; }

  Managed managed{};
  Vector shape, strides;
  int released = 0;

 private:
  static void release(Managed* self) {
    Lent& lent = *static_cast<Lent*>(self->manager_ctx);
    ++lent.released;
    std::fill(lent.shape.begin(), lent.shape.end(), -7);
    std::fill(lent.strides.begin(), lent.strides.end(), INT64_MAX);
    self->dl_tensor.data = nullptr;
    self->dl_tensor.shape = nullptr;
    self->dl_tensor.strides = nullptr;
  }
};

/// The sizes and strides of anybody's struct.
template <class T>
Vector shape_of(const T& tensor) {
  return Vector(tensor.shape, tensor.shape + tensor.ndim);
}
template <class T>
Vector strides_of(const T& tensor) {
  return Vector(tensor.strides, tensor.strides + tensor.ndim);
}

}  // namespace tests
