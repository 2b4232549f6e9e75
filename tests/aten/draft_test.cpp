// SPDX-License-Identifier: MIT
// ATen mode: tensors in the making, and how their storages are made, grow and are exchanged.
#include "tenon/aten/draft.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::Draft;
using namespace tests;

namespace {

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

float memory[24] = {};

/// A draft over `memory` of a DYNAMIC_BOUND tensor of six floats, released by `calls`.
void start(Draft& draft, Calls& calls) {
  tenon::detail::ImplFields& made = fields(draft);
  REQUIRE(tenon::make_layout({2, 3}, {}, {}, 4, made.layout) == Error::Ok);
  made.data = memory;
  made.ownership = Ownership::Adopted;
  made.settle(TensorShapeDynamism::DYNAMIC_BOUND);
  made.deleter = Deleter(memory, calls.deleter());
}

size_t storage_bytes(const TensorPtr& t) { return t->storage().nbytes(); }

}  // namespace

TEST_CASE("ATen draft: one that is dropped releases its memory once") {
  Calls calls;
  {
    Draft draft;
    start(draft, calls);
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("ATen draft: one that was committed leaves that to the tensor") {
  Calls calls;
  Tensor tensor;
  {
    Draft draft;
    start(draft, calls);
    REQUIRE(draft.commit() == Error::Ok);
    REQUIRE(draft.commit() == Error::Ok);  // a second time does nothing
    tensor = Tensor(draft.impl());
  }
  CHECK(calls.count == 0);
  CHECK(tensor.data_ptr() == memory);
  CHECK(tensor.storage().nbytes() == 24);
  tensor = Tensor();
  CHECK(calls.count == 1);
}

TEST_CASE("ATen draft: a refused commit keeps the memory for the draft to release") {
  Calls calls;
  {
    Draft draft;
    start(draft, calls);
    fields(draft).readonly = true;
    CHECK(draft.commit() == Error::NotSupported);
    CHECK_FALSE(draft.impl().defined());
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
}

TEST_CASE("ATen draft: moving hands the memory on, assigning releases what was there") {
  Calls first, second;
  Draft a;
  start(a, first);
  Draft b(std::move(a));
  CHECK(first.count == 0);
  start(a, second);
  b = std::move(a);
  CHECK(first.count == 1);
  CHECK(second.count == 0);
  b = Draft();
  CHECK(second.count == 1);
}

TEST_CASE("ATen draft: own memory that no tensor took over is freed") {
  Draft a, b;
  const auto make = [](Draft& draft) {
    const tenon::detail::Making bytes{tenon::detail::ScalarType::Byte, DYNAMIC};
    return tenon::detail::make_owned({4000}, {}, {}, bytes, tenon::detail::Contents::Zero, draft);
  };
  REQUIRE(make(a) == Error::Ok);
  b = std::move(a);
  REQUIRE(make(a) == Error::Ok);
  b = std::move(a);  // what leaks, AddressSanitizer shows
  CHECK(fields(b).ownership == Ownership::Owned);
}

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

TEST_CASE("ATen draft: memory of its own is aligned to 64 bytes, before and after it grows") {
  const TensorPtr t = tenon::zeros({3}, ScalarType::Float, DYNAMIC);
  CHECK(tenon::is_aligned(t, 64));
  CHECK(tenon::resize_tensor(*t, {77}) == Error::Ok);
  CHECK(tenon::is_aligned(t, 64));
}

TEST_CASE("ATen draft: growth doubles the room, and the storage is as long as the room") {
  const TensorPtr t = tenon::arange(0, 6, 1, ScalarType::Float, DYNAMIC);
  CHECK(tenon::resize_tensor(*t, {7}) == Error::Ok);
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

TEST_CASE("ATen draft: set_data gives a placeholder its memory, and takes it away") {
  const TensorPtr t = tenon::make_tensor_ptr({2, 3}, nullptr);
  CHECK(t->data_ptr() == nullptr);
  RETURNS(InvalidState, "placeholder", tenon::zero_(t));
  CHECK(tenon::set_data(t, memory) == Error::Ok);
  CHECK(t->data_ptr() == memory);
  CHECK(storage_bytes(t) == 24);
  CHECK(tenon::fill_(t, 2) == Error::Ok);
  CHECK(t->sum().item<float>() == 12);
  CHECK(tenon::set_data(t, nullptr) == Error::Ok);
  CHECK(t->data_ptr() == nullptr);
}

TEST_CASE("ATen draft: set_data leaves views of either kind with the memory that they have") {
  const TensorPtr t = from_blob(memory, {2, 3});
  const Tensor view = tenon::select(t, 0, 1);
  const at::Tensor of_aten = t->select(0, 1);
  CHECK(tenon::set_data(t, memory + 6) == Error::Ok);
  CHECK(t->data_ptr() == memory + 6);
  CHECK(view.data_ptr() == memory + 3);
  CHECK(of_aten.data_ptr() == memory + 3);
}

TEST_CASE("ATen draft: set_data after a smaller shape keeps the room of the first one") {
  const TensorPtr t = from_blob(memory, {2, 3});
  CHECK(tenon::resize_tensor(*t, {2}) == Error::Ok);
  CHECK(tenon::set_data(t, memory + 6) == Error::Ok);
  CHECK(tenon::resize_tensor(*t, {6}) == Error::Ok);
  CHECK(tenon::fill_(t, 1) == Error::Ok);
}

TEST_CASE("ATen draft: set_data refuses memory that is not the caller's") {
  const TensorPtr t = tenon::zeros({2});
  RETURNS(InvalidState, "set_data: the tensor's memory is not borrowed",
          tenon::set_data(t, memory));
  RETURNS(InvalidState, "not borrowed", tenon::set_data(tenon::view(t, {2}), memory));
  RETURNS(InvalidState, "not borrowed", tenon::set_data(t->view({2}), memory));
}

TEST_CASE("ATen draft: a view's offset counts from the start of the storage") {
  const TensorPtr t = from_blob(memory, {4, 6});
  const Tensor row = tenon::select(t, 0, 2);
  CHECK(row.storage_offset() == 12);
  CHECK(tenon::slice(row, 0, 1, 3).storage_offset() == 13);
  CHECK(tenon::view_as_type(row, ScalarType::Double).storage_offset() == 6);
  CHECK(tenon::view_as_type(row, ScalarType::Byte).storage_offset() == 48);
  CHECK(row.is_alias_of(*t));
}

TEST_CASE("ATen draft: a Slot of which nothing came hands out nothing, as each kind of handle") {
  // Not libtorch's shared impl of undefined tensors, whose count a plain pointer would take down.
  CHECK_FALSE(tenon::detail::Slot<tenon::TensorImplPtr>().take().defined());
  CHECK_FALSE(tenon::detail::Slot<at::Tensor>().take().defined());
  CHECK(tenon::detail::Slot<TensorPtr>().take() == nullptr);
}

TEST_CASE("ATen draft: a Slot hands out the one impl as each kind of handle") {
  Calls calls;
  {
    tenon::detail::Slot<TensorPtr> slot;
    start(slot.draft(), calls);
    REQUIRE(slot.commit() == Error::Ok);
    const void* const impl = slot.draft().impl().get();
    REQUIRE(slot.commit() == Error::Ok);
    CHECK(slot.draft().impl().get() == impl);
    const TensorPtr made = slot.take();
    CHECK(made->unsafeGetTensorImpl() == impl);
    CHECK(made->use_count() == 1);
    CHECK(made->data_ptr() == memory);
    CHECK(made->storage().use_count() == 1);
  }
  CHECK(calls.count == 1);
}
