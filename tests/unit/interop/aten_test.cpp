// SPDX-License-Identifier: MIT
// to_aten. Needs libtorch, and is built with it by interop/libraries/aten/CMakeLists.txt.
#include "tenon/interop/aten.h"

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace aten_test {

using namespace tenon;
using tests::Calls;
using tests::Floats;
using tests::Vector;

namespace {

Vector sizes_of(const at::Tensor& t) { return t.sizes().vec(); }
Vector strides_of(const at::Tensor& t) { return t.strides().vec(); }

float memory[24] = {};

}  // namespace

TEST_CASE("to_aten: the at::Tensor has the tensor's memory, sizes, strides, dtype and device") {
  TensorPtr t = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  at::Tensor a = to_aten(t);
  CHECK(a.data_ptr() == t->const_data_ptr());
  CHECK(sizes_of(a) == Vector{2, 2});
  CHECK(strides_of(a) == Vector{2, 1});
  CHECK(a.scalar_type() == at::kFloat);
  CHECK(a.device() == at::Device(at::kCPU));
  CHECK(a.layout() == at::kStrided);
  CHECK(a.storage_offset() == 0);
  CHECK(a.is_contiguous());
  CHECK_FALSE(a.requires_grad());
  CHECK(to_aten(*t).data_ptr() == a.data_ptr());
  a.add_(10);
  CHECK(tests::values<float>(t) == Floats{11, 12, 13, 14});
  t->mutable_data_ptr<float>()[3] = 1;
  CHECK(a.matmul(a).select(0, 1).select(0, 0).item<float>() == 13 * 11 + 1 * 13);
}

TEST_CASE("to_aten: strides are kept: permuted, with gaps and broadcast") {
  for (int i = 0; i < 24; ++i) memory[i] = static_cast<float>(i);
  const at::Tensor permuted = to_aten(from_blob(memory, {2, 3, 4}, {4, 8, 1}));
  CHECK(strides_of(permuted) == Vector{4, 8, 1});
  CHECK_FALSE(permuted.is_contiguous());
  CHECK(permuted.select(0, 1).select(0, 2).select(0, 3).item<float>() == 23);
  const at::Tensor padded = to_aten(from_blob(memory, {2, 3}, {12, 4}));
  CHECK(strides_of(padded) == Vector{12, 4});
  CHECK(padded.sum().item<float>() == 0 + 4 + 8 + 12 + 16 + 20);
  const at::Tensor broadcast = to_aten(from_blob(memory, {3, 2}, {0, 1}));
  CHECK(strides_of(broadcast) == Vector{0, 1});
  CHECK(broadcast.sum().item<float>() == 3);
}

TEST_CASE("to_aten: strides that reach nothing may be negative, and become positive") {
  const at::Tensor one = to_aten(from_blob(memory, {2, 1, 3}, {3, -7, 1}));
  CHECK(strides_of(one) == Vector{3, 7, 1});
  CHECK(one.is_contiguous());
  const at::Tensor nothing = to_aten(from_blob(memory, {2, 0}, {-3, -1}));
  CHECK(strides_of(nothing) == Vector{3, 1});
}

TEST_CASE("to_aten: every dtype keeps its name and size") {
#if __has_include(<c10/util/Float8_e4m3fnuz.h>)
  const bool has_all = true;
#else
  const bool has_all = false;  // libtorch 1.13 has none of those from Float8_e5m2 on
#endif
#define TENON_TEST_ROW(cpp_type, name) ScalarType::name,
  constexpr ScalarType types[] = {TENON_FORALL_SCALAR_TYPES(TENON_TEST_ROW)};
#undef TENON_TEST_ROW
  int count = 0;
  for (ScalarType type : types) {
    const std::string name = toString(type);
    INFO(name);
    const TensorPtr t = zeros({3}, type);
    if (!has_all && (name.find("Float8") == 0 || name.find("UInt") == 0)) {
      RAISES(NotSupported, "to_aten: this libtorch has no dtype " + name, to_aten(t));
      continue;
    }
    const at::Tensor a = to_aten(t);
    CHECK(c10::toString(a.scalar_type()) == name);
    CHECK(a.element_size() == static_cast<int64_t>(t->element_size()));
    CHECK(a.storage().nbytes() == t->nbytes());
    CHECK(from_aten(a).scalar_type() == type);
    ++count;
  }
  CHECK(count == (has_all ? 20 : 13));
}

TEST_CASE("to_aten: the storage has exactly what the strides reach, and ATen cannot resize it") {
  const at::Tensor a = to_aten(from_blob(memory, {2, 3}, {8, 1}));
  CHECK(a.storage().nbytes() == 11 * sizeof(float));
  CHECK(a.as_strided({11}, {1}).numel() == 11);
  CHECK_THROWS_AS(a.as_strided({12}, {1}), c10::Error);
  CHECK_FALSE(a.storage().resizable());
  const at::Tensor b = to_aten(zeros({4}));
  CHECK_THROWS_AS(b.resize_({5}), c10::Error);
  b.resize_({2, 1});
}

// A promise of docs/guarantees.md.
TEST_CASE("to_aten: the memory, viewed or not, lives until the last of the storage is gone") {
  Calls calls;
  TensorPtr t = from_blob(memory, {6, 4}, ScalarType::Float, calls.deleter());
  to_aten(t).reset();
  CHECK(calls.count == 0);
  at::Tensor a = to_aten(transpose(slice(*t, 0, 2, 6, 2), 0, 1));
  t.reset();
  CHECK(a.data_ptr() == memory + 8);
  CHECK(sizes_of(a) == Vector{4, 2});
  CHECK(strides_of(a) == Vector{1, 8});
  at::Tensor part = a.narrow(0, 1, 2);
  a.reset();
  CHECK(calls.count == 0);
  part.reset();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("to_aten: memory on other devices is described, never touched") {
  void* const address = reinterpret_cast<void*>(uintptr_t{0x1000});
  const std::pair<Device, at::Device> pairs[] = {
      {Device(DeviceType::CUDA, 1), at::Device(at::kCUDA, 1)},
      {Device(DeviceType::CUDAManaged), at::Device(at::kCUDA, 0)},
      {Device(DeviceType::CUDAHost), at::Device(at::kCPU)},
      {Device(DeviceType::ROCMHost), at::Device(at::kCPU)},
      {Device(DeviceType::ROCM, 2), at::Device(at::kHIP, 2)},
      {Device(DeviceType::OneAPI), at::Device(at::kXPU, 0)},
      {Device(DeviceType::Metal), at::Device(at::kMPS, 0)},
      {Device(DeviceType::MAIA), at::Device(static_cast<at::DeviceType>(8), 0)},
  };
  for (const auto& [device, expected] : pairs) {
    INFO(device.to_string());
    Calls calls;
    at::Tensor a = to_aten(for_blob(address, {2, 3}, ScalarType::Half)
                               .device(device)
                               .deleter(calls.deleter())
                               .make_tensor());
    CHECK(a.device() == expected);
    CHECK(a.storage().device() == expected);
    CHECK(a.data_ptr() == address);
    CHECK(a.scalar_type() == at::kHalf);
    a.reset();
    CHECK(calls.count == 1);
  }
}

TEST_CASE("to_aten: a Meta tensor stays one, with which ATen infers shapes") {
  const Tensor t =
      for_blob(nullptr, {2, 3}, ScalarType::Float).device(Device(DeviceType::Meta)).make_tensor();
  const at::Tensor a = to_aten(t);
  CHECK(a.is_meta());
  CHECK(a.device() == at::Device(at::kMeta));
  CHECK(a.storage().nbytes() == 24);
  CHECK(sizes_of(a.transpose(0, 1)) == Vector{3, 2});
  CHECK(sizes_of(a.add(a)) == Vector{2, 3});
}

TEST_CASE("to_aten: what ATen has no tensors of is refused by name, with the way around it") {
  Calls calls;
  const float constants[] = {1, 2};
  const auto on = [](DeviceType type) {
    return for_blob(memory, {4}).device(Device(type)).make_tensor();
  };
  RAISES(NotSupported,
         "to_aten: the tensor is read-only, and ATen has no read-only tensors; "
         "clone_tensor_ptr() makes a writable copy",
         to_aten(from_blob(constants, {2}, ScalarType::Float, calls.deleter())));
  CHECK(calls.count == 1);
  RAISES(InvalidState, "to_aten: the source tensor is undefined", to_aten(Tensor()));
  RAISES(InvalidState, "to_aten: the source tensor is undefined", to_aten(TensorPtr()));
  RAISES(NotSupported,
         "to_aten: strides {-1} of sizes {3} are negative, but ATen's strides cannot be; "
         "contiguous() makes a copy",
         to_aten(flip(*make_tensor_ptr({1.0f, 2.0f, 3.0f}), {0})));
  RAISES(InvalidState, "to_aten: the tensor is a placeholder without data",
         to_aten(make_tensor_ptr({2, 3}, nullptr)));
  RAISES(NotSupported, "to_aten: libtorch has no device for webgpu:0",
         to_aten(on(DeviceType::WebGPU)));
  RAISES(NotSupported, "to_aten: libtorch has no strided tensors on opencl:0",
         to_aten(on(DeviceType::OpenCL)));
  RAISES(NotSupported, "to_aten: libtorch has no strided tensors on vulkan:0",
         to_aten(on(DeviceType::Vulkan)));
  CHECK(try_to_aten(zeros({2})).ok());
  RETURNS(InvalidState, "try_to_aten: the source tensor is undefined",
          try_to_aten(Tensor()).error());
}

}  // namespace aten_test
