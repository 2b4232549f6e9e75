// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch/impl_layout.h"

#include <cstdint>
#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "support/catch.h"
#include "tenon/backend/template.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::check_executorch;
using tenon::detail::ExecutorchLayout;
using tenon::detail::make_executorch_layout;
using tenon::detail::own_error;
using tests::Vector;
using Theirs = executorch::runtime::Error;

namespace {

float memory[64] = {};

Error make(const TensorArg& tensor, ExecutorchLayout& layout) {
  return make_executorch_layout(tensor, layout);
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

TEST_CASE("executorch errors: each is of the kind that a caller can act on") {
  CHECK(own_error(Theirs::Ok) == Error::Ok);
  CHECK(own_error(Theirs::Internal) == Error::Internal);
  for (const Theirs error :
       {Theirs::InvalidState, Theirs::EndOfMethod, Theirs::AlreadyLoaded,
        Theirs::RegistrationAlreadyRegistered, Theirs::DelegateInvalidHandle}) {
    CHECK(own_error(error) == Error::InvalidState);
  }
  for (const Theirs error :
       {Theirs::NotSupported, Theirs::NotImplemented, Theirs::OperatorMissing,
        Theirs::RegistrationExceedingMaxKernels, Theirs::DelegateInvalidCompatibility}) {
    CHECK(own_error(error) == Error::NotSupported);
  }
  for (const Theirs error :
       {Theirs::InvalidArgument, Theirs::InvalidProgram, Theirs::InvalidExternalData}) {
    CHECK(own_error(error) == Error::InvalidArgument);
  }
  CHECK(own_error(Theirs::InvalidType) == Error::InvalidType);
  CHECK(own_error(Theirs::NotFound) == Error::NotFound);
  CHECK(own_error(Theirs::AccessFailed) == Error::AccessFailed);
  for (const Theirs error : {Theirs::MemoryAllocationFailed, Theirs::OutOfResources,
                             Theirs::DelegateMemoryAllocationFailed}) {
    CHECK(own_error(error) == Error::OutOfMemory);
  }
}

TEST_CASE("executorch errors: a number that is none of them is Internal") {
  CHECK_RETURNS(Error::Internal, "execute: ExecuTorch says Unknown (0x7e5)",
                check_executorch(static_cast<Theirs>(0x7e5), "execute"));
  CHECK_RETURNS(Error::Internal, "(0xffffffff)",
                check_executorch(static_cast<Theirs>(0xffffffff), "execute"));
}

TEST_CASE("executorch errors: the message has what was done, the runtime's name and its number") {
  CHECK(check_executorch(Theirs::InvalidArgument, "set_input of input ", 0) ==
        Error::InvalidArgument);
  CHECK(std::string(last_error_message()) ==
        "set_input of input 0: ExecuTorch says InvalidArgument (0x12)");
  CHECK(check_executorch(Theirs::InvalidState, "execute") == Error::InvalidState);
  CHECK(std::string(last_error_message()) == "execute: ExecuTorch says InvalidState (0x2)");
}

TEST_CASE("executorch errors: Ok leaves the last message alone") {
  CHECK(check_executorch(Theirs::NotFound, "method forward") == Error::NotFound);
  CHECK(check_executorch(Theirs::Ok, "execute") == Error::Ok);
  CHECK(std::string(last_error_message()) == "method forward: ExecuTorch says NotFound (0x20)");
}

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
  const Tensor t = transpose(for_blob(memory, {2, 3}).make_tensor(), 0, 1);
  REQUIRE(make(t, layout) == Error::Ok);
  CHECK(sizes(layout) == Vector{3, 2});
  CHECK(strides(layout) == Vector{1, 3});
  CHECK(dim_order(layout) == Vector{1, 0});
}

TEST_CASE("ExecutorchLayout: 0-d and shapes without elements") {
  ExecutorchLayout layout;
  REQUIRE(make(scalar_tensor(3), layout) == Error::Ok);
  CHECK(layout.rank == 0);
  CHECK(layout.make_impl().numel() == 1);
  REQUIRE(make(empty({2, 0, 3}), layout) == Error::Ok);
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
                make(flip(for_blob(memory, {3}).make_tensor(), {0})));
}

TEST_CASE("ExecutorchLayout: 16 dimensions are the most") {
  ExecutorchLayout layout;
  const Vector sixteen(16, 1);
  REQUIRE(make(empty(sixteen), layout) == Error::Ok);
  CHECK(layout.rank == 16);
  CHECK(sizes(layout) == sixteen);
  CHECK(dim_order(layout) == Vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK_RETURNS(Error::NotSupported, "the tensor has 17 dimensions, ExecuTorch's at most 16",
                make(empty(Vector(17, 1))));
}

TEST_CASE("ExecutorchLayout: sizes and strides fit 32 bits") {
  CHECK(make({2147483647}) == Error::Ok);
  CHECK_RETURNS(Error::NotSupported,
                "sizes {2147483648} or their strides are beyond ExecuTorch's 32 bits",
                make({2147483648}));
  // More elements than that are fine.
  ExecutorchLayout layout;
  REQUIRE(make(for_blob(memory, {4, 65536, 32767}).make_tensor(), layout) == Error::Ok);
  CHECK(strides(layout) == Vector{2147418112, 32767, 1});
  CHECK(layout.make_impl().numel() == 8589672448);
  CHECK_RETURNS(Error::NotSupported, "sizes {2, 65536, 32768} or their strides",
                make({2, 65536, 32768}));
  CHECK_RETURNS(Error::NotSupported, "beyond ExecuTorch's 32 bits", make({0, 65536, 65536}));
}

TEST_CASE("ExecutorchLayout: every dtype has its number, name and size in ExecuTorch") {
  int count = 0;
  for (int number = 0; number < static_cast<int>(ScalarType::Undefined); ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (!isValidType(type)) continue;
    INFO(toString(type));
    ExecutorchLayout layout;
    REQUIRE(make(for_blob(static_cast<void*>(memory), {2}, type).make_tensor(), layout) ==
            Error::Ok);
    CHECK(std::string(executorch::runtime::toString(layout.type)) == toString(type));
    CHECK(layout.make_impl().nbytes() == 2 * elementSize(type));
    ++count;
  }
  CHECK(count == 20);
}

TEST_CASE("ExecutorchLayout: dynamism is the tensor's") {
  using Dynamism = executorch::aten::TensorShapeDynamism;
  const auto dynamism = [](TensorShapeDynamism asked) {
    ExecutorchLayout layout;
    REQUIRE(make(empty({2}, ScalarType::Float, asked), layout) == Error::Ok);
    return layout.dynamism;
  };
  CHECK(dynamism(TensorShapeDynamism::STATIC) == Dynamism::STATIC);
  CHECK(dynamism(TensorShapeDynamism::DYNAMIC_BOUND) == Dynamism::DYNAMIC_BOUND);
  CHECK(dynamism(TensorShapeDynamism::DYNAMIC_UNBOUND) == Dynamism::DYNAMIC_UNBOUND);
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
                make(make_tensor_ptr({2, 3}, nullptr)));
  TemplateBackend templates;
  CHECK_RETURNS(Error::NotSupported, "is a template", make(empty({2}, templates)));
  TensorPtr gone = zeros({2});
  CHECK(backend_deallocate(gone) == Deallocation::Ok);
  CHECK_RETURNS(Error::InvalidState, "was deallocated", make(gone));
}
