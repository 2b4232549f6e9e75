// SPDX-License-Identifier: MIT
// ATen mode: what ATen lacks is refused in words that say so, and nothing is leaked.
#include <ATen/core/Tensor.h>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace limits_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto STATIC = TensorShapeDynamism::STATIC;
constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

float memory[24] = {};

/// The text of what libtorch throws.
template <class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "ATen mode: negative strides over the caller's memory are refused, the deleter runs once") {
  RAISES(NotSupported, "from_blob: strides {-1} for sizes {3}: ATen has no negative",
         from_blob(memory + 2, {3}, {-1}));
  Calls calls;
  RAISES(NotSupported, "ATen has no negative",
         from_blob(memory + 2, {3}, {-1}, ScalarType::Float, calls.deleter()));
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory + 2);
  Calls maker;
  RAISES(NotSupported, "for_blob",
         for_blob(memory + 5, {2, 3}).strides({3, -1}).deleter(maker.deleter()).make_tensor_ptr());
  CHECK(maker.count == 1);
}

TEST_CASE("ATen mode: flip and negative as_strided are refused, and the source is not held") {
  const TensorPtr t = tenon::arange(0, 6, 1, ScalarType::Float, DYNAMIC);
  RAISES(NotSupported, "flip: strides {-1} for sizes {6}: ATen has no negative",
         tenon::flip(t, {0}));
  RAISES(NotSupported, "as_strided", tenon::as_strided(t, {3}, {-2}, 5));
  CHECK(t->storage().use_count() == 1);
  CHECK(tenon::resize_tensor(*t, {100}) == Error::Ok);
}

TEST_CASE("ATen mode: negative strides that reach nothing are taken for positive ones") {
  CHECK(tests::strides(from_blob(memory, {2, 1, 3}, {3, -7, 1})) == Vector{3, 7, 1});
  CHECK(tests::strides(from_blob(memory, {2, 0}, {-3, -1})) == Vector{3, 1});
  const TensorPtr column = tenon::arange(0, 3, 1, ScalarType::Float);
  CHECK(tests::values<float>(tenon::flip(tenon::unsqueeze(column, 1), {1})) == Floats{0, 1, 2});
}

TEST_CASE(
    "ATen mode: devices without strided tensors in libtorch are refused, the deleter runs once") {
  for (const DeviceType type : {DeviceType::OpenCL, DeviceType::Vulkan, DeviceType::VPI,
                                DeviceType::WebGPU, DeviceType::Hexagon}) {
    Calls calls;
    RAISES(NotSupported, "libtorch has no",
           for_blob(memory, {3}).device(Device(type)).deleter(calls.deleter()).make_tensor_ptr());
    CHECK(calls.count == 1);
  }
  RAISES(NotSupported, "libtorch has no strided tensors on opencl:1",
         for_blob(memory, {3}).device(Device(DeviceType::OpenCL, 1)).make_tensor_ptr());
}

TEST_CASE("ATen mode: pinned memory is the CPU's, managed memory its GPU's, Meta is Meta") {
  const auto made_on = [](Device device) {
    return for_blob(memory, {3}).device(device).make_tensor_ptr();
  };
  const TensorPtr pinned = made_on(Device(DeviceType::CUDAHost, 1));
  CHECK(tenon::device(pinned) == Device());
  CHECK(pinned->is_cpu());
  CHECK(tenon::const_data_ptr<float>(pinned) == memory);
  const TensorPtr cuda = made_on(Device(DeviceType::CUDA, 1));
  CHECK(tenon::device(cuda) == Device(DeviceType::CUDA, 1));
  CHECK(cuda->is_cuda());
  RAISES(NotSupported, "the tensor is on cuda:1", tenon::const_data_ptr<float>(cuda));
  CHECK(tenon::device(made_on(Device(DeviceType::CUDAManaged, 2))) == Device(DeviceType::CUDA, 2));
  const TensorPtr shape =
      for_blob(nullptr, {2, 3}).device(Device(DeviceType::Meta)).make_tensor_ptr();
  CHECK(shape->is_meta());
  CHECK(tenon::device(shape) == Device(DeviceType::Meta));
  CHECK(shape->storage().nbytes() == 6 * sizeof(float));  // as at::empty's
  const at::Tensor product = shape->matmul(shape->t());   // computes the shape
  CHECK(tests::sizes(product) == Vector{2, 2});
  CHECK(product.is_meta());
}

TEST_CASE("ATen mode: an offset in bytes that is no multiple of the element is refused") {
  const TensorPtr t = tenon::arange(0, 8, 1, ScalarType::Float);
  const Tensor part = tenon::slice(t, 0, 2, 6);
  RAISES(NotSupported,
         "elements of 16 bytes, 8 bytes into the storage: ATen counts such offsets in elements",
         tenon::view_as_type(part, ScalarType::ComplexDouble));
}

TEST_CASE("ATen mode: DYNAMIC_BOUND ends at its capacity for tenon and for ATen") {
  const TensorPtr t = tenon::arange(0, 6, 1, ScalarType::Float);
  const void* const data = t->data_ptr();
  RETURNS(InvalidArgument, "room for 6", tenon::resize_tensor(*t, {7}));
  CHECK(tenon::resize_tensor(*t, {2, 3}) == Error::Ok);
  CHECK(tenon::resize_tensor(*t, {2}) == Error::Ok);
  t->resize_({3, 2});
  CHECK(tests::values<float>(t) == Floats{0, 1, 2, 3, 4, 5});
  CHECK(tests::contains(thrown_by([&] { t->resize_({7}); }), "not resizable"));
  CHECK(t->data_ptr() == data);
}

TEST_CASE("ATen mode: DYNAMIC grows for tenon and for ATen, and keeps the elements") {
  const TensorPtr t = tenon::arange(0, 3, 1, ScalarType::Float, DYNAMIC);
  CHECK(tenon::resize_tensor(*t, {100}) == Error::Ok);
  CHECK(tests::values<float>(tenon::slice(t, 0, 0, 3)) == Floats{0, 1, 2});
  t->resize_({1000});
  CHECK(tests::values<float>(tenon::slice(t, 0, 0, 3)) == Floats{0, 1, 2});
  CHECK(tenon::zero_(t) == Error::Ok);
  CHECK(tenon::resize_tensor(*t, {2, 2000}) == Error::Ok);
  CHECK(tenon::fill_(t, 1) == Error::Ok);
  CHECK(t->sum().item<float>() == 4000);
  const TensorPtr borrowed = from_blob(memory, {3}, ScalarType::Float, DYNAMIC);
  RETURNS(NotSupported, "borrowed", tenon::resize_tensor(*borrowed, {4}));
  CHECK(thrown_by([&] { borrowed->resize_({4}); }) != "");
}

TEST_CASE(
    "ATen mode: a STATIC shape is refused by tenon, while ATen knows only that it cannot grow") {
  const TensorPtr t = tenon::full({2, 3}, 1, ScalarType::Float, STATIC);
  RETURNS(NotSupported, "STATIC", tenon::resize_tensor(*t, {2, 3}));
  CHECK(thrown_by([&] { t->resize_({7}); }) != "");
  t->resize_({3, 2});
  CHECK(tests::sizes(t) == Vector{3, 2});
  CHECK(tenon::shape_dynamism(t) == STATIC);
}

// A promise of docs/guarantees.md.
TEST_CASE("ATen mode: growth is refused while a view, of tenon or of ATen, or a Blob is alive") {
  const TensorPtr t = tenon::arange(0, 3, 1, ScalarType::Float, DYNAMIC);
  const auto refused = [&] {
    RETURNS(InUse, "a view or blob of the tensor is alive", tenon::resize_tensor(*t, {4}));
    CHECK(tests::values<float>(t) == Floats{0, 1, 2});
    CHECK(tenon::resize_tensor(*t, {3, 1}) == Error::Ok);
    CHECK(tenon::resize_tensor(*t, {3}) == Error::Ok);
  };
  Tensor borrower = tenon::view(t, {3, 1});
  refused();
  borrower = t->view({3, 1});
  refused();
  borrower = t->detach();
  refused();
  borrower = Tensor();
  {
    const Blob blob = tenon::to_blob(t);
    refused();
  }
  const Tensor handle = *t;  // shares the impl, and sees the growth
  CHECK(tenon::resize_tensor(*t, {4}) == Error::Ok);
  CHECK(tests::sizes(handle) == Vector{4});
}

// A promise of docs/guarantees.md.
TEST_CASE("ATen mode: views and Blobs of either side keep the memory, which goes with the last") {
  Calls calls;
  at::Tensor view;
  Blob blob;
  {
    const TensorPtr t = from_blob(memory, {4, 6}, ScalarType::Float, calls.deleter());
    const Tensor row = tenon::select(t, 0, 1);
    view = row.slice(0, 2, 4);
    blob = tenon::to_blob(tenon::narrow(view, 0, 1, 1));
  }
  CHECK(calls.count == 0);
  CHECK(view.data_ptr() == memory + 8);
  CHECK(blob.data == memory + 9);
  view = at::Tensor();
  CHECK(calls.count == 0);
  blob = Blob();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

}  // namespace limits_test
