// SPDX-License-Identifier: MIT
#include "tenon/tensor/handle.h"

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/transfer.h"
#include "tensor/helpers.h"

namespace handle_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

}  // namespace

TEST_CASE("handle: a draft that is finished is the handle's, with its memory") {
  detail::NewTensor draft;
  const detail::CreateOptions plan(own::ScalarType::Float, DYNAMIC);
  REQUIRE(detail::make_row_major({2, 3}, plan, true, draft) == Error::Ok);
  const void* const memory = detail::fields(draft).data;
  TensorPtr t;
  REQUIRE(detail::finish_draft(draft, t, nullptr) == Error::Ok);
  CHECK(draft == nullptr);
  CHECK(t->const_data_ptr() == memory);
  CHECK(values<float>(t) == Floats(6));
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(resize_tensor_ptr(t, {7}) == Error::Ok);
}

TEST_CASE("handle: while memory is held a tensor neither grows nor lets it go") {
  const TensorPtr t = full({2}, 3, ScalarType::Float, DYNAMIC);
  {
    detail::MemoryHold hold;
    CHECK(hold.tensor() == nullptr);
    REQUIRE(hold.hold(t) == Error::Ok);
    const detail::MemoryHold copy = hold.copy();
    CHECK(copy.origin() == t->const_data_ptr());
    CHECK(detail::is_borrowed(detail::resizable(t)));
    CHECK(resize_tensor_ptr(t, {3}) == Error::InUse);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  }
  CHECK_FALSE(detail::is_borrowed(detail::resizable(t)));
  CHECK(resize_tensor_ptr(t, {3}) == Error::Ok);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

TEST_CASE("handle: held memory outlives its tensor, and its deleter runs once, after that") {
  float data[2] = {1, 2};
  Calls deleter;
  {
    TensorPtr t = from_blob(data, {2}, ScalarType::Float, deleter.deleter());
    detail::MemoryHold hold;
    REQUIRE(hold.hold(t) == Error::Ok);
    t.reset();
    CHECK(deleter.count == 0);
    CHECK(hold.origin() == data);
  }
  CHECK(deleter.count == 1);
}

TEST_CASE("handle: another handle shares the tensor") {
  const TensorPtr t = zeros({2}, ScalarType::Float, DYNAMIC);
  TensorPtr other;
  REQUIRE(detail::make_handle(Tensor(*t), other, nullptr) == Error::Ok);
  CHECK(other->unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  CHECK(resize_tensor_ptr(t, {5}) == Error::Ok);
  CHECK(sizes(other) == Vector{5});
}

}  // namespace handle_test
