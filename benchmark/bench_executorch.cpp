// SPDX-License-Identifier: MIT
//
// The cases on ExecuTorch's tensor extension, written as its tutorial writes them.

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "harness.h"

int main(int argc, char** argv) {
  using namespace executorch::extension;
  using executorch::aten::Device;
  using executorch::aten::DeviceType;
  using executorch::aten::DimOrderType;
  using executorch::aten::ScalarType;
  using executorch::aten::SizesType;
  using executorch::aten::StridesType;
  using executorch::aten::Tensor;
  using executorch::aten::TensorImpl;
  using executorch::aten::TensorShapeDynamism;
  using executorch::runtime::Error;
  executorch::runtime::runtime_init();
  bench::Suite suite(argc, argv);

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  suite.add("from_blob", [&] { return from_blob(data, {2, 3}); });
  suite.add("from_blob/deleter", [&] {
    return from_blob(data, {2, 3}, ScalarType::Float, Device(DeviceType::CPU),
                     [&deleted](void*) { ++deleted; });
  });
  suite.add("for_blob/strides", [&] {
    return for_blob(data, {2, 3}).strides({3, 1}).make_tensor_ptr();
  });

  suite.add("make_tensor_ptr/vector", [] {
    std::vector<float> values(6);
    return make_tensor_ptr({2, 3}, std::move(values));
  });
  suite.add("make_tensor_ptr/list", [] { return make_tensor_ptr({1.f, 2.f, 3.f, 4.f}); });
  suite.add("make_tensor_ptr/scalar", [] { return make_tensor_ptr(3.14f); });

  // It has no shared impl: a second TensorPtr to the same memory that keeps the first alive.
  const TensorPtr shared = from_blob(data, {2, 3});
  suite.add("make_tensor_ptr/share", [&] { return make_tensor_ptr(shared); });

  const TensorPtr source = make_tensor_ptr({2, 3}, std::vector<float>(6));
  suite.add("clone_tensor_ptr", [&] { return clone_tensor_ptr(source); });

  TensorPtr resized = make_tensor_ptr({2, 3}, std::vector<float>(6));
  const std::vector<SizesType> wide{2, 3};
  const std::vector<SizesType> tall{3, 2};
  suite.add("resize_tensor_ptr", [&] {
    bench::require(resize_tensor_ptr(resized, tall) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, wide) == Error::Ok);
    benchmark::DoNotOptimize(resized);
  });
  suite.add("resize_tensor_ptr/braces", [&] {
    bench::require(resize_tensor_ptr(resized, {3, 2}) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, {2, 3}) == Error::Ok);
    benchmark::DoNotOptimize(resized);
  });

  suite.add("stack_tensor", [&] {
    SizesType sizes[] = {2, 3};
    DimOrderType dim_order[] = {0, 1};
    StridesType strides[] = {3, 1};
    TensorImpl stack_impl(ScalarType::Float, 2, sizes, data, dim_order, strides,
                          TensorShapeDynamism::DYNAMIC_BOUND);
    Tensor tensor(&stack_impl);
    benchmark::DoNotOptimize(tensor);
  });

  suite.add("empty/4MiB", [] { return empty({1024, 1024}); });

  // Moving data: it fills, and clones with a conversion; it has no strided copies.
  const TensorPtr floats = ones({1024, 1024});
  const TensorPtr ints = ones({1024, 1024}, ScalarType::Int);
  const TensorPtr halves = ones({1024, 1024}, ScalarType::Half);
  const TensorPtr bfloats = ones({1024, 1024}, ScalarType::BFloat16);
  const TensorPtr bytes = ones({1024, 1024}, ScalarType::Byte);
  const TensorPtr large = ones({4096, 4096});
  suite.add("zeros/4MiB", [] { return zeros({1024, 1024}); });
  suite.add("full/4MiB", [] { return full({1024, 1024}, 42.5f); });
  suite.add("full/64MiB", [] { return full({4096, 4096}, 42.5f); });
  suite.add("clone/4MiB", [&] { return clone_tensor_ptr(floats); });
  suite.add("clone/64MiB", [&] { return clone_tensor_ptr(large); });
  suite.add("clone/int_float", [&] { return clone_tensor_ptr(ints, ScalarType::Float); });
  suite.add("clone/float_half", [&] { return clone_tensor_ptr(floats, ScalarType::Half); });
  suite.add("clone/half_float", [&] { return clone_tensor_ptr(halves, ScalarType::Float); });
  suite.add("clone/float_bfloat16", [&] { return clone_tensor_ptr(floats, ScalarType::BFloat16); });
  suite.add("clone/bfloat16_float", [&] { return clone_tensor_ptr(bfloats, ScalarType::Float); });
  suite.add("clone/byte_float", [&] { return clone_tensor_ptr(bytes, ScalarType::Float); });

  // Random numbers.
  suite.add("rand", [] { return rand({1024, 1024}); });
  suite.add("randn", [] { return randn({1024, 1024}); });
  suite.add("randint", [] { return randint(0, 100, {1024, 1024}); });

  return suite.run();
}
