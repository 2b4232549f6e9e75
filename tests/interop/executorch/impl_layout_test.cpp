// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch/impl_layout.h"

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
  const std::pair<Error, std::vector<Theirs>> rows[] = {
      {Error::Ok, {Theirs::Ok}},
      {Error::Internal, {Theirs::Internal}},
      {Error::InvalidState,
       {Theirs::InvalidState, Theirs::EndOfMethod, Theirs::AlreadyLoaded,
        Theirs::RegistrationAlreadyRegistered, Theirs::DelegateInvalidHandle}},
      {Error::NotSupported,
       {Theirs::NotSupported, Theirs::NotImplemented, Theirs::OperatorMissing,
        Theirs::RegistrationExceedingMaxKernels, Theirs::DelegateInvalidCompatibility}},
      {Error::InvalidArgument,
       {Theirs::InvalidArgument, Theirs::InvalidProgram, Theirs::InvalidExternalData}},
      {Error::InvalidType, {Theirs::InvalidType}},
      {Error::NotFound, {Theirs::NotFound}},
      {Error::AccessFailed, {Theirs::AccessFailed}},
      {Error::OutOfMemory,
       {Theirs::MemoryAllocationFailed, Theirs::OutOfResources,
        Theirs::DelegateMemoryAllocationFailed}},
  };
  for (const auto& [own, theirs] : rows) {
    CAPTURE(toString(own));
    for (const Theirs error : theirs) CHECK(own_error(error) == own);
  }
}

TEST_CASE("executorch errors: the message has what was done and the runtime's name; Ok leaves it") {
  RETURNS(InvalidArgument, "set_input of input 0: ExecuTorch says InvalidArgument",
          check_executorch(Theirs::InvalidArgument, "set_input of input ", 0));
  CHECK(check_executorch(Theirs::Ok, "execute") == Error::Ok);
  CHECK(tests::contains(last_error_message(), "set_input of input 0"));
  RETURNS(Internal, "execute: ExecuTorch says Unknown",
          check_executorch(static_cast<Theirs>(0x7e5), "execute"));
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

TEST_CASE("ExecutorchLayout: sizes, strides and dim order of what is dense in any order") {
  const struct {
    Tensor tensor;
    Vector sizes, strides, dim_order;
  } rows[] = {
      {for_blob(memory, {2, 3, 4}).make_tensor(), {2, 3, 4}, {12, 4, 1}, {0, 1, 2}},
      {transpose(for_blob(memory, {2, 3}).make_tensor(), 0, 1), {3, 2}, {1, 3}, {1, 0}},
      {*scalar_tensor(3), {}, {}, {}},
      {*empty({2, 0, 3}), {2, 0, 3}, {3, 3, 1}, {0, 1, 2}},
      {for_blob(memory, {1, 2, 1, 3}).strides({-7, 3, 50, 1}).make_tensor(),
       {1, 2, 1, 3},
       {6, 3, 3, 1},
       {0, 1, 2, 3}},
      {for_blob(memory, {0, 4}).strides({9, 9}).make_tensor(), {0, 4}, {4, 1}, {0, 1}},
      {*empty(Vector(16, 1)),
       Vector(16, 1),
       Vector(16, 1),
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
      {for_blob(memory, {4, 65536, 32767}).make_tensor(),  // more elements than 32 bits count
       {4, 65536, 32767},
       {2147418112, 32767, 1},
       {0, 1, 2}},
  };
  for (const auto& row : rows) {
    ExecutorchLayout layout;
    REQUIRE(make(row.tensor, layout) == Error::Ok);
    CHECK(sizes(layout) == row.sizes);
    CHECK(strides(layout) == row.strides);
    CHECK(dim_order(layout) == row.dim_order);
    CHECK(layout.make_impl().numel() == row.tensor.numel());
    CHECK(layout.data == row.tensor.const_data_ptr());
    CHECK(layout.device_type == executorch::aten::DeviceType::CPU);
  }
}

TEST_CASE("ExecutorchLayout: gaps, broadcasts, reversed dimensions and what is too large") {
  RETURNS(NotSupported,
          "strides {4, 1} of sizes {2, 3} are not dense, which ExecuTorch's have to be; "
          "contiguous() makes a copy",
          make({2, 3}, {4, 1}));
  RETURNS(NotSupported, "strides {0, 1}", make({2, 3}, {0, 1}));
  RETURNS(NotSupported, "strides {2}", make({3}, {2}));
  RETURNS(NotSupported, "strides {-1}", make(flip(for_blob(memory, {3}).make_tensor(), {0})));
  RETURNS(NotSupported, "the tensor has 17 dimensions, ExecuTorch's at most 16",
          make(empty(Vector(17, 1))));
  CHECK(make({2147483647}) == Error::Ok);
  RETURNS(NotSupported, "sizes {2147483648} or their strides are beyond ExecuTorch's 32 bits",
          make({2147483648}));
  RETURNS(NotSupported, "sizes {2, 65536, 32768} or their strides", make({2, 65536, 32768}));
  RETURNS(NotSupported, "beyond ExecuTorch's 32 bits", make({0, 65536, 65536}));
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
  for (const auto asked : {TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_BOUND,
                           TensorShapeDynamism::DYNAMIC_UNBOUND}) {
    ExecutorchLayout layout;
    REQUIRE(make(empty({2}, ScalarType::Float, asked), layout) == Error::Ok);
    CHECK(static_cast<int>(layout.dynamism) == static_cast<int>(asked));
  }
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
  RETURNS(NotSupported, "ExecuTorch has no device cuda:128", on("cuda:128", layout));
  RETURNS(NotSupported, "ExecuTorch has no device opencl:0", on("opencl", layout));
}

TEST_CASE("ExecutorchLayout: a tensor without memory is refused") {
  RETURNS(InvalidState, "the tensor is undefined", make(Tensor()));
  RETURNS(InvalidState, "the tensor is undefined", make(TensorPtr()));
  RETURNS(InvalidState, "the tensor is a placeholder without data",
          make(make_tensor_ptr({2, 3}, nullptr)));
  TemplateBackend templates;
  RETURNS(NotSupported, "is a template", make(empty({2}, templates)));
  TensorPtr gone = zeros({2});
  CHECK(backend_deallocate(gone) == Deallocation::Ok);
  RETURNS(InvalidState, "was deallocated", make(gone));
}
