// SPDX-License-Identifier: MIT
// ATen mode: what autograd, inference mode and detach() make of tenon's tensors, and tenon of
// theirs.
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace autograd_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

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

TEST_CASE("autograd: a tensor that tenon made can require grad, and gets its gradient") {
  const TensorPtr t = tenon::make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  CHECK_FALSE(t->requires_grad());
  t->set_requires_grad(true);
  CHECK(t->is_leaf());
  t->mul(*t).sum().backward();
  REQUIRE(t->grad().defined());
  CHECK(tests::values<float>(t->grad()) == Floats{2, 4, 6, 8});
  CHECK(tests::values<float>(tenon::clone_tensor_ptr(t->grad())) == Floats{2, 4, 6, 8});
}

TEST_CASE("autograd: a view of tenon's is no step of the graph, and shares the version counter") {
  const TensorPtr t = tenon::ones({4});
  const Tensor view = tenon::view(t, {2, 2});
  CHECK(t->_version() == 0);
  view.add_(1);
  CHECK(t->_version() == 1);
  CHECK(view._version() == 1);
  t->set_requires_grad(true);
  CHECK_FALSE(tenon::view(t, {2, 2}).requires_grad());
}

TEST_CASE("autograd: a write through tenon's view to what backward needs is noticed") {
  const TensorPtr t = tenon::make_tensor_ptr({1.0f, 2.0f});
  t->set_requires_grad(true);
  const at::Tensor middle = t->exp();
  const at::Tensor result = middle.sum();
  tenon::select(middle, 0, 0).fill_(0);
  CHECK(tests::contains(thrown_by([&] { result.backward(); }), "modified by an inplace operation"));
}

TEST_CASE("autograd: what tenon writes is not recorded, and moves no version counter") {
  const TensorPtr t = tenon::zeros({3});
  t->set_requires_grad(true);
  CHECK(tenon::fill_(t, 2) == Error::Ok);  // at:: refuses to write to a leaf that requires grad
  CHECK(t->_version() == 0);
  t->mul(*t).sum().backward();
  CHECK(tests::values<float>(t->grad()) == Floats{4, 4, 4});
}

TEST_CASE("autograd: random numbers of libtorch are refused to a leaf that requires grad") {
  const TensorPtr t = tenon::zeros({3});
  t->set_requires_grad(true);
  RETURNS(NotSupported, "uniform_: libtorch: a leaf Variable that requires grad",
          tenon::uniform_(t));
  CHECK(tests::values<float>(t) == Floats{0, 0, 0});
  tenon::Generator generator(1);
  CHECK(tenon::uniform_(t, 0, 1, generator) == Error::Ok);
}

TEST_CASE("inference mode: tensors are made, viewed, resized and filled") {
  const c10::InferenceMode guard;
  const TensorPtr t = tenon::arange(0, 6, 1, ScalarType::Float, DYNAMIC);
  CHECK(t->is_inference());
  {
    const Tensor view = tenon::view(t, {2, 3});
    CHECK(view.is_inference());
    CHECK(tenon::fill_(view, 2) == Error::Ok);
    CHECK(view.add_(1).sum().item<float>() == 18);
  }
  CHECK(tenon::resize_tensor(*t, {50}) == Error::Ok);
  CHECK(tests::values<float>(tenon::slice(t, 0, 0, 2)) == Floats{3, 3});
  CHECK(tenon::rand({3})->is_inference());
}

TEST_CASE("inference mode: views cross its border in both directions") {
  const TensorPtr outside = tenon::zeros({4});
  TensorPtr inside;
  Tensor view;
  {
    const c10::InferenceMode guard;
    view = tenon::view(outside, {2, 2});
    CHECK_FALSE(view.is_inference());  // it is what its source is, as ATen's own views are
    view.add_(1);
    CHECK(outside->_version() == 1);
    inside = tenon::ones({4});
  }
  CHECK(tests::values<float>(outside) == Floats{1, 1, 1, 1});
  CHECK(tests::values<float>(view) == Floats{1, 1, 1, 1});
  CHECK(inside->is_inference());
  const Tensor inference_view = tenon::view(inside, {2, 2});
  CHECK(inference_view.is_inference());
  CHECK(tests::values<float>(inference_view) == Floats{1, 1, 1, 1});
  CHECK(tenon::copy_(inference_view, outside->view({2, 2})) == Error::Ok);
  CHECK(tests::values<float>(tenon::clone_tensor_ptr(inside)) == Floats{1, 1, 1, 1});
}

TEST_CASE("detach: the memory is shared, what only tenon knows is not") {
  const TensorPtr t = tenon::arange(0, 4, 1, ScalarType::Float, DYNAMIC);
  const at::Tensor detached = t->detach();
  CHECK(detached.data_ptr() == t->data_ptr());
  CHECK(tenon::ownership(detached) == Ownership::Adopted);
  CHECK(tenon::shape_dynamism(detached) == DYNAMIC);
  CHECK(tenon::shape_dynamism(tenon::zeros({4})->detach()) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(tenon::zero_(detached) == Error::Ok);
  CHECK(tests::values<float>(t) == Floats{0, 0, 0, 0});
}

TEST_CASE("detach: its shape is its own, and it grows when it alone has the memory") {
  TensorPtr t = tenon::arange(0, 4, 1, ScalarType::Float, DYNAMIC);
  Tensor detached = t->detach();
  CHECK(tenon::resize_tensor(detached, {2, 2}) == Error::Ok);
  CHECK(tests::sizes(t) == Vector{4});
  RETURNS(InUse, "a view or blob", tenon::resize_tensor(detached, {5}));
  t.reset();
  CHECK(tenon::resize_tensor(detached, {5}) == Error::Ok);
  CHECK(tests::values<float>(detached.slice(0, 0, 4)) == Floats{0, 1, 2, 3});
}

}  // namespace autograd_test
