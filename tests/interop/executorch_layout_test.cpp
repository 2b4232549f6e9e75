// SPDX-License-Identifier: MIT
// ExecutorchLayout. Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch_layout.h"

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "support/catch.h"
#include "tenon/backend/template.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::ExecutorchLayout;
using tenon::detail::make_executorch_layout;
using tenon::detail::ReadOnly;
using tests::Vector;

namespace {

float memory[64] = {};

Error make(const TensorArg& tensor, ExecutorchLayout& layout) {
  return make_executorch_layout(tensor, ReadOnly::Refuse, layout);
}
Error make(const TensorArg& tensor) {
  ExecutorchLayout layout;
  return make(tensor, layout);
}
// Over memory that is never touched, so that there may be any number of elements.
Error make(const Dims& sizes, const Dims& strides = {}) {
  return make(for_blob(memory, sizes).strides(strides).make_tensor());
}

Vector sizes(const ExecutorchLayout& layout) {
  return Vector(layout.sizes, layout.sizes + layout.rank);
}
Vector strides(const ExecutorchLayout& layout) {
  return Vector(layout.strides, layout.strides + layout.rank);
}
Vector dim_order(const ExecutorchLayout& layout) {
  return Vector(layout.dim_order, layout.dim_order + layout.rank);
}

}  // namespace

TEST_CASE("ExecutorchLayout: has sizes, strides, dim order, dtype, dynamism and data") {
  ExecutorchLayout layout;
  REQUIRE(make(for_blob(memory, {2, 3, 4}).make_tensor(), layout) == Error::Ok);
  CHECK(sizes(layout) == Vector{2, 3, 4});
  CHECK(strides(layout) == Vector{12, 4, 1});
  CHECK(dim_order(layout) == Vector{0, 1, 2});
  CHECK(layout.type == executorch::aten::ScalarType::Float);
  CHECK(layout.dynamism == executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(layout.device_type == executorch::aten::DeviceType::CPU);
  CHECK(layout.data == memory);
}

TEST_CASE("ExecutorchLayout: make_impl() gives a TensorImpl over its lists") {
  ExecutorchLayout layout;
  REQUIRE(make(for_blob(memory, {1, 2, 3, 4}).dim_order({0, 2, 3, 1}).make_tensor(), layout) ==
          Error::Ok);
  const executorch::aten::TensorImpl impl = layout.make_impl();
  CHECK(impl.dim() == 4);
  CHECK(impl.numel() == 24);
  CHECK(impl.nbytes() == 96);
  CHECK(impl.data() == memory);
  CHECK(impl.sizes().data() == layout.sizes);
  CHECK(impl.strides().data() == layout.strides);
  CHECK(impl.dim_order().data() == layout.dim_order);
  CHECK(tests::list(impl.strides()) == Vector{24, 1, 8, 2});
  CHECK(tests::list(impl.dim_order()) == Vector{0, 2, 3, 1});
}

TEST_CASE("ExecutorchLayout: a transposed tensor is dense in another dim order") {
  ExecutorchLayout layout;
  const Tensor t = tenon::transpose(for_blob(memory, {2, 3}).make_tensor(), 0, 1);
  REQUIRE(make(t, layout) == Error::Ok);
  CHECK(sizes(layout) == Vector{3, 2});
  CHECK(strides(layout) == Vector{1, 3});
  CHECK(dim_order(layout) == Vector{1, 0});
}

TEST_CASE("ExecutorchLayout: 0-d and shapes without elements") {
  ExecutorchLayout layout;
  REQUIRE(make(tenon::scalar_tensor(3), layout) == Error::Ok);
  CHECK(layout.rank == 0);
  CHECK(layout.make_impl().numel() == 1);
  REQUIRE(make(tenon::empty({2, 0, 3}), layout) == Error::Ok);
  CHECK(sizes(layout) == Vector{2, 0, 3});
  CHECK(strides(layout) == Vector{3, 3, 1});
  CHECK(layout.make_impl().numel() == 0);
  REQUIRE(make(for_blob(nullptr, {0}).make_tensor(), layout) == Error::Ok);
  CHECK(layout.data == nullptr);
}

TEST_CASE("ExecutorchLayout: strides without a meaning become those of the dim order") {
  ExecutorchLayout layout;
  REQUIRE(make(for_blob(memory, {1, 2, 1, 3}).strides({-7, 3, 50, 1}).make_tensor(), layout) ==
          Error::Ok);
  CHECK(strides(layout) == Vector{6, 3, 3, 1});
  CHECK(dim_order(layout) == Vector{0, 1, 2, 3});
  REQUIRE(make(for_blob(memory, {0, 4}).strides({9, 9}).make_tensor(), layout) == Error::Ok);
  CHECK(strides(layout) == Vector{4, 1});
}

TEST_CASE("ExecutorchLayout: gaps, broadcasts and reversed dimensions are refused with advice") {
  CHECK_RETURNS(Error::NotSupported,
                "strides {4, 1} of sizes {2, 3} are not dense, which ExecuTorch's have to be; "
                "contiguous() makes a copy",
                make({2, 3}, {4, 1}));
  CHECK_RETURNS(Error::NotSupported, "strides {0, 1}", make({2, 3}, {0, 1}));
  CHECK_RETURNS(Error::NotSupported, "strides {2}", make({3}, {2}));
  CHECK_RETURNS(Error::NotSupported, "strides {-1}",
                make(tenon::flip(for_blob(memory, {3}).make_tensor(), {0})));
}

TEST_CASE("ExecutorchLayout: 16 dimensions are the most") {
  ExecutorchLayout layout;
  const Vector sixteen(16, 1);
  REQUIRE(make(tenon::empty(sixteen), layout) == Error::Ok);
  CHECK(layout.rank == 16);
  CHECK(sizes(layout) == sixteen);
  CHECK(dim_order(layout) == Vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK_RETURNS(Error::NotSupported, "the tensor has 17 dimensions, ExecuTorch's at most 16",
                make(tenon::empty(Vector(17, 1))));
}

TEST_CASE("ExecutorchLayout: sizes and strides fit 32 bits") {
  CHECK(make({2147483647}) == Error::Ok);
  CHECK_RETURNS(Error::NotSupported, "sizes {2147483648} or their strides are beyond 32 bits",
                make({2147483648}));
  // More elements than that are fine.
  ExecutorchLayout layout;
  REQUIRE(make(for_blob(memory, {4, 65536, 32767}).make_tensor(), layout) == Error::Ok);
  CHECK(strides(layout) == Vector{2147418112, 32767, 1});
  CHECK(layout.make_impl().numel() == 8589672448);
  CHECK_RETURNS(Error::NotSupported, "sizes {2, 65536, 32768} or their strides",
                make({2, 65536, 32768}));
  CHECK_RETURNS(Error::NotSupported, "beyond 32 bits", make({0, 65536, 65536}));
}

TEST_CASE("ExecutorchLayout: every dtype has its number, name and size in ExecuTorch") {
  int count = 0;
  for (int number = 0; number < static_cast<int>(ScalarType::Undefined); ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (!tenon::isValidType(type)) continue;
    INFO(tenon::toString(type));
    ExecutorchLayout layout;
    REQUIRE(make(for_blob(static_cast<void*>(memory), {2}, type).make_tensor(), layout) ==
            Error::Ok);
    CHECK(std::string(executorch::runtime::toString(layout.type)) == tenon::toString(type));
    CHECK(layout.make_impl().nbytes() == 2 * tenon::elementSize(type));
    ++count;
  }
  CHECK(count == 20);
}

TEST_CASE("ExecutorchLayout: dynamism is the tensor's") {
  using Theirs = executorch::aten::TensorShapeDynamism;
  const auto dynamism = [](TensorShapeDynamism asked) {
    ExecutorchLayout layout;
    REQUIRE(make(tenon::empty({2}, ScalarType::Float, asked), layout) == Error::Ok);
    return layout.dynamism;
  };
  CHECK(dynamism(TensorShapeDynamism::STATIC) == Theirs::STATIC);
  CHECK(dynamism(TensorShapeDynamism::DYNAMIC_BOUND) == Theirs::DYNAMIC_BOUND);
  CHECK(dynamism(TensorShapeDynamism::DYNAMIC_UNBOUND) == Theirs::DYNAMIC_UNBOUND);
}

TEST_CASE("ExecutorchLayout: CUDA's devices stay, pinned memory is the host's") {
  const auto on = [](Device device, ExecutorchLayout& layout) {
    return make(for_blob(memory, {2}).device(device).make_tensor(), layout);
  };
  ExecutorchLayout layout;
  REQUIRE(on("cuda:3", layout) == Error::Ok);
  CHECK(layout.device_type == executorch::aten::DeviceType::CUDA);
  CHECK(layout.device_index == 3);
  CHECK(layout.make_impl().device_index() == 3);
  REQUIRE(on("cuda_host:3", layout) == Error::Ok);
  CHECK(layout.device_type == executorch::aten::DeviceType::CPU);
  CHECK(layout.device_index == 0);
  CHECK_RETURNS(Error::NotSupported, "ExecuTorch has no device cuda:128", on("cuda:128", layout));
  CHECK_RETURNS(Error::NotSupported, "ExecuTorch has no device opencl:0", on("opencl", layout));
}

TEST_CASE("ExecutorchLayout: a tensor without memory is refused") {
  CHECK_RETURNS(Error::InvalidState, "the tensor is undefined", make(Tensor()));
  CHECK_RETURNS(Error::InvalidState, "the tensor is undefined", make(TensorPtr()));
  CHECK_RETURNS(Error::InvalidState, "the tensor is a placeholder without data",
                make(tenon::make_tensor_ptr({2, 3}, nullptr)));
  tenon::TemplateBackend templates;
  CHECK_RETURNS(Error::NotSupported, "is a template", make(tenon::empty({2}, templates)));
  TensorPtr gone = tenon::zeros({2});
  CHECK(tenon::backend_deallocate(gone) == tenon::Deallocation::Ok);
  CHECK_RETURNS(Error::InvalidState, "was deallocated", make(gone));
}

TEST_CASE("ExecutorchLayout: a read-only tensor passes only for who reads") {
  static const float constants[3] = {1, 2, 3};
  const Tensor t = for_blob(constants, {3}).make_tensor();
  CHECK_RETURNS(Error::NotSupported,
                "the tensor is read-only, and ExecuTorch has no read-only tensors; "
                "clone_tensor_ptr() makes a writable copy",
                make(t));
  ExecutorchLayout layout;
  CHECK(make_executorch_layout(t, ReadOnly::Pass, layout) == Error::Ok);
  CHECK(layout.data == constants);
}
