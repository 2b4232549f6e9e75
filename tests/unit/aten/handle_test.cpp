// SPDX-License-Identifier: MIT
// ATen mode: tensors in the making, and how their storages are made, grow and are exchanged.
#include "tenon/aten/handle.h"

#include <ATen/ops/ones.h>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace aten_handle_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

float memory[24] = {};

size_t storage_bytes(const TensorPtr& t) { return t->storage().nbytes(); }

}  // namespace

TEST_CASE("ATen draft: only a DYNAMIC tensor with memory to let go has a resizable storage") {
  const auto resizable = [](const TensorPtr& t) { return t->storage().resizable(); };
  CHECK(resizable(tenon::zeros({2}, ScalarType::Float, DYNAMIC)));
  CHECK(resizable(from_blob(
      memory, {2}, ScalarType::Float, [](void*) {}, DYNAMIC)));
  CHECK_FALSE(resizable(tenon::zeros({2})));
  CHECK_FALSE(resizable(tenon::zeros({2}, ScalarType::Float, TensorShapeDynamism::STATIC)));
  CHECK_FALSE(resizable(from_blob(memory, {2}, ScalarType::Float, DYNAMIC)));
}

TEST_CASE("ATen draft: the storage is as long as the strides reach") {
  CHECK(storage_bytes(tenon::zeros({2, 3})) == 24);
  CHECK(storage_bytes(from_blob(memory, {2, 3}, {12, 4})) == (12 + 8 + 1) * sizeof(float));
  CHECK(storage_bytes(from_blob(memory, {5, 2}, {0, 1})) == 2 * sizeof(float));
  CHECK(storage_bytes(tenon::zeros({2, 0})) == 0);
  CHECK(storage_bytes(tenon::make_tensor_ptr({2, 3}, nullptr)) == 0);
}

TEST_CASE("ATen draft: growth doubles the room, and the storage is as long as the room") {
  const TensorPtr t = tenon::arange(0, 6, 1, ScalarType::Float, DYNAMIC);
  CHECK(tenon::is_aligned(t, 64));
  CHECK(tenon::resize_tensor(*t, {7}) == Error::Ok);
  CHECK(tenon::is_aligned(t, 64));
  CHECK(storage_bytes(t) == 12 * sizeof(float));
  const void* const data = t->data_ptr();
  CHECK(tenon::resize_tensor(*t, {12}) == Error::Ok);
  CHECK(t->data_ptr() == data);
  CHECK(tenon::reserve_tensor(*t, 400) == Error::Ok);
  CHECK(storage_bytes(t) == 400);
  CHECK(tests::sizes(t) == Vector{12});
  CHECK(tests::values<float>(tenon::slice(t, 0, 0, 6)) == Floats{0, 1, 2, 3, 4, 5});
  CHECK(tenon::ownership(t) == Ownership::Owned);
}

TEST_CASE("ATen draft: adopted memory that grows, through tenon or ATen, is released at once") {
  Calls of_tenon, of_aten;
  const TensorPtr a = from_blob(memory, {6}, ScalarType::Float, of_tenon.deleter(), DYNAMIC);
  const TensorPtr b = from_blob(memory, {6}, ScalarType::Float, of_aten.deleter(), DYNAMIC);
  CHECK(tenon::resize_tensor(*a, {50}) == Error::Ok);
  CHECK(of_tenon.count == 1);
  b->resize_({50});
  CHECK(of_aten.count == 1);
  CHECK(of_aten.argument == memory);
  CHECK(tenon::fill_(a, 1) == Error::Ok);
  CHECK(tenon::fill_(b, 1) == Error::Ok);
}

TEST_CASE("ATen draft: set_data leaves views their memory, and keeps the room of the first shape") {
  const TensorPtr t = from_blob(memory, {2, 3});
  const Tensor view = tenon::select(t, 0, 1);
  const at::Tensor of_aten = t->select(0, 1);
  CHECK(tenon::resize_tensor(*t, {2}) == Error::Ok);
  CHECK(tenon::set_data(t, memory + 6) == Error::Ok);
  CHECK(t->data_ptr() == memory + 6);
  CHECK(view.data_ptr() == memory + 3);
  CHECK(of_aten.data_ptr() == memory + 3);
  CHECK(tenon::resize_tensor(*t, {6}) == Error::Ok);
  CHECK(tenon::fill_(t, 1) == Error::Ok);
}

TEST_CASE("ATen draft: set_data replaces memory of any ownership, and refuses ATen's own tensors") {
  Calls calls;
  const TensorPtr adopted = from_blob(memory, {2}, ScalarType::Float, calls.deleter(), DYNAMIC);
  const TensorPtr owned = tenon::full({4}, 5.0f, ScalarType::Float, DYNAMIC);
  const Tensor part = tenon::slice(owned, 0, 1, 3);
  float other[4] = {1, 2, 3, 4};
  for (const Tensor& t : {*adopted, *owned, part}) {
    REQUIRE(tenon::set_data(t, other) == Error::Ok);
    CHECK(t.data_ptr() == other);
    CHECK(t.storage_offset() == 0);
    CHECK(tenon::ownership(t) == Ownership::Borrowed);
    RETURNS(NotSupported, "borrowed", tenon::resize_tensor(t, {10}));
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
  RETURNS(InvalidState, "set_data: tenon did not make the tensor; at::Tensor::set_() replaces",
          tenon::set_data(at::zeros({2}), other));
}

TEST_CASE("ATen draft: memory of ATen's is held by its storage, through each handle") {
  at::Tensor t = at::ones({4});
  const float* const data = t.const_data_ptr<float>();
  {
    tenon::detail::MemoryHold hold;
    REQUIRE(hold.hold(t) == Error::Ok);
    const tenon::detail::MemoryHold copy = hold.copy();
    CHECK(copy.origin() == data);
    CHECK(tenon::resize_tensor(t, {5}) == Error::InUse);
    CHECK(tenon::backend_deallocate(t.view({2, 2})) == Deallocation::InUse);
    t = at::Tensor();
    CHECK(data[3] == 1);
  }
  t = at::ones({4});
  CHECK(tenon::resize_tensor(t, {5}) == Error::Ok);
  CHECK(t.size(0) == 5);
}

TEST_CASE("ATen draft: ATen may exchange memory that is held, which lives on") {
  Calls deleter;
  const TensorPtr t = from_blob(memory, {6}, ScalarType::Float, deleter.deleter(), DYNAMIC);
  {
    tenon::detail::MemoryHold hold;
    REQUIRE(hold.hold(t) == Error::Ok);
    t->resize_({50});
    CHECK(deleter.count == 0);
    CHECK(hold.origin() == memory);
    CHECK(tenon::fill_(t, 1) == Error::Ok);
  }
  CHECK(deleter.count == 1);
}

}  // namespace aten_handle_test
