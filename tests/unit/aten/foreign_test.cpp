// SPDX-License-Identifier: MIT
// ATen mode: tensors that tenon did not make, of every kind that libtorch has, as arguments.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#if __has_include(<ATen/ops/_lazy_clone.h>)  // libtorch 1.13 has none
#include <ATen/ops/_lazy_clone.h>
#endif

#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace foreign_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

/// Every kind of function refuses the tensor with this error and these words.
void check_refused(const at::Tensor& t, Error error, const char* words) {
  CHECK_ERROR(error, words, tenon::clone_tensor_ptr(t));
  CHECK_ERROR(error, words, tenon::zeros_like(t));
  CHECK_ERROR(error, words, tenon::view(t, {-1}));
  CHECK_ERROR(error, words, tenon::make_tensor_ptr(t));
  CHECK_ERROR(error, words, tenon::contiguous(t));
  CHECK_ERROR(error, words, tenon::to_blob(t));
  CHECK_ERROR(error, words, tenon::to_binary(t));
  CHECK_ERROR(error, words, tenon::ownership(t));
  CHECK_ERROR(error, words, tenon::as_view(t));
  CHECK_ERROR(error, words, tenon::const_data_ptr(t));
  CHECK_RETURNS(error, words, tenon::fill_(t, 1));
  CHECK_RETURNS(error, words, tenon::copy_(tenon::zeros({1}), t));
  CHECK_RETURNS(error, words, tenon::copy_(t, tenon::zeros({1})));
  CHECK_RETURNS(error, words, tenon::uniform_(t));
  CHECK_RETURNS(error, words, tenon::set_data(t, nullptr));
  Tensor handle = t;
  CHECK_RETURNS(error, words, tenon::resize_tensor(handle, {1}));
  CHECK_RETURNS(error, words, tenon::reserve_tensor(handle, 1));
}

}  // namespace

TEST_CASE("foreign tensors: one that at:: made works, is Adopted and DYNAMIC") {
  at::Tensor t = at::zeros({2, 3});
  CHECK(tenon::ownership(t) == Ownership::Adopted);
  CHECK(tenon::shape_dynamism(t) == DYNAMIC);
  CHECK(tests::dim_order(t) == Vector{0, 1});
  CHECK(tenon::fill_(t, 2) == Error::Ok);
  CHECK(tests::values<float>(tenon::clone_tensor_ptr(t)) == Floats(6, 2));
  CHECK(tenon::resize_tensor(t, {40, 50}) == Error::Ok);
  CHECK(tests::values<float>(t.view({-1}).slice(0, 0, 6)) == Floats(6, 2));
  CHECK(t.zero_().sum().item<float>() == 0);
}

TEST_CASE("foreign tensors: a view of ATen's keeps its base, so that it cannot grow") {
  at::Tensor t = at::arange(6, at::kFloat);
  Tensor tail = t.slice(0, 2);
  CHECK(tenon::shape_dynamism(tail) == DYNAMIC);
  t = at::Tensor();
  RETURNS(InUse, "a view or blob", tenon::resize_tensor(tail, {5}));
  CHECK(tests::values<float>(tail) == Floats{2, 3, 4, 5});
}

TEST_CASE("foreign tensors: in inference mode a view keeps only the memory, and grows when alone") {
  const c10::InferenceMode guard;
  at::Tensor t = at::arange(6, at::kFloat);
  Tensor tail = t.slice(0, 2);
  RETURNS(InUse, "a view or blob", tenon::resize_tensor(tail, {5}));
  t = at::Tensor();
  CHECK(tenon::resize_tensor(tail, {5}) == Error::Ok);
  CHECK(tail.storage_offset() == 0);
  CHECK(tests::values<float>(tail.slice(0, 0, 4)) == Floats{2, 3, 4, 5});
}

TEST_CASE(
    "foreign tensors: kinds that tenon does not have are refused everywhere, with the reason") {
  check_refused(at::Tensor(), Error::InvalidState, "undefined");
  const at::Tensor sparse = at::zeros({2, 3}).fill_(1).to_sparse();
  check_refused(sparse, Error::NotSupported,
                "has a layout without strides, which tenon does not have");
  CHECK(tenon::to_string(sparse) ==
        "not shown: the tensor has a layout without strides, which tenon does not have");
  const at::Tensor complex = at::zeros({2}, at::kComplexFloat).fill_(c10::complex<float>(1, 2));
  check_refused(complex.conj(), Error::NotSupported,
                "is conjugated when it is read; resolve_conj() does it");
  const Tensor resolved = complex.conj().resolve_conj();
  CHECK(tenon::const_data_ptr<c10::complex<float>>(resolved)[1] == c10::complex<float>(1, -2));
  const at::Tensor negated = at::_neg_view(at::arange(3, at::kFloat));
  check_refused(negated, Error::NotSupported, "is negated when it is read; resolve_neg() does it");
  CHECK(tests::values<float>(negated.resolve_neg()) == Floats{0, -1, -2});
  check_refused(at::quantize_per_tensor(at::zeros({2}), 0.1, 0, at::kQInt8), Error::InvalidType,
                "has a dtype that tenon does not have: QInt8");
}

TEST_CASE("foreign tensors: a meta one is of the Meta device, without memory") {
  const at::Tensor t = at::empty({2, 3}, at::TensorOptions(at::kMeta));
  CHECK(tenon::device(t) == tenon::Device(tenon::DeviceType::Meta));
  CHECK(tenon::const_data_ptr(t) == nullptr);
  CHECK(tests::sizes(tenon::view(t, {3, 2})) == Vector{3, 2});
  CHECK(tenon::view(t, {3, 2}).is_meta());
  CHECK(tenon::clone_tensor_ptr(t)->is_meta());
  RETURNS(NotSupported, "is a meta tensor", tenon::fill_(t, 1));
  RAISES(NotSupported, "is a meta tensor", tenon::const_data_ptr<float>(t));
}

TEST_CASE("foreign tensors: one whose storage was shrunk below its elements is InvalidState") {
  const at::Tensor t = at::zeros({2, 3});
  t.storage().unsafeGetStorageImpl()->set_nbytes(5 * sizeof(float));
  check_refused(t, Error::InvalidState, "has a storage that lacks some of its elements");
  t.storage().unsafeGetStorageImpl()->set_nbytes(6 * sizeof(float));
  CHECK(tests::values<float>(t) == Floats(6, 0));
}

TEST_CASE(
    "foreign tensors: of a storage that ATen exchanged or shrank, the room is what is there") {
  const TensorPtr t = tenon::zeros({100}, ScalarType::Float, DYNAMIC);
  t->set_();  // an empty storage
  CHECK(t->numel() == 0);
  CHECK(tenon::resize_tensor(*t, {50}) == Error::Ok);
  CHECK(tenon::fill_(t, 1) == Error::Ok);
  CHECK(t->sum().item<float>() == 50);
  t->set_(at::zeros({2}));
  CHECK(tenon::resize_tensor(*t, {70}) == Error::Ok);  // grows
  CHECK(t->storage().nbytes() >= 70 * sizeof(float));
  CHECK(tenon::fill_(t, 1) == Error::Ok);

  const TensorPtr bound = tenon::zeros({100});
  CHECK(tenon::resize_tensor(*bound, {4}) == Error::Ok);
  bound->storage().unsafeGetStorageImpl()->set_nbytes(10 * sizeof(float));
  RETURNS(InvalidArgument, "room for 10", tenon::resize_tensor(*bound, {50}));
  CHECK(tenon::resize_tensor(*bound, {10}) == Error::Ok);
  bound->set_data(at::zeros({2}));
  RETURNS(InvalidArgument, "room for 2", tenon::resize_tensor(*bound, {50}));
  CHECK(tests::sizes(bound) == Vector{2});
}

TEST_CASE("ATen tensor: after a resize_() that failed half way it says what is wrong with it") {
  const TensorPtr t = tenon::make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_THROWS(t->resize_({9, 9}));  // which leaves the new sizes
  CHECK(tenon::to_string(t) ==
        "not shown: the tensor has a storage that lacks some of its elements");
  RAISES(InvalidState, "clone_tensor_ptr: the source tensor has a storage that lacks",
         tenon::clone_tensor_ptr(t));
  RETURNS(InvalidState, "lacks some of its elements", tenon::zero_(t));
}

#if __has_include(<ATen/ops/_lazy_clone.h>)
TEST_CASE("foreign tensors: one whose storage refuses to show its memory is refused") {
  const at::Tensor t = at::zeros({2, 3});
  t.storage().unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_("no");
  check_refused(t, Error::NotSupported, "is of a kind that does not show its memory");
}

TEST_CASE("ATen tensor: asking and reading leave a lazy clone's data shared, writing does not") {
  const Tensor source = at::zeros({2, 3});
  Tensor lazy = at::_lazy_clone(source);
  const void* const shared = source.const_data_ptr();
  REQUIRE(lazy.const_data_ptr() == shared);
  CHECK_FALSE(tenon::is_readonly(lazy));
  CHECK(tenon::ownership(lazy) == Ownership::Adopted);
  CHECK(tenon::shape_dynamism(lazy) == TensorShapeDynamism::DYNAMIC);
  CHECK(tenon::dim_order(lazy).size() == 2);
  CHECK(tenon::device(lazy).is_cpu());
  CHECK(tenon::is_aligned(lazy, 4));
  CHECK(tenon::const_data_ptr(lazy) == shared);
  CHECK(tenon::const_data_ptr<float>(lazy) == shared);
  CHECK(tenon::data<const float>(lazy)[5] == 0);
  CHECK(tenon::accessor<const float, 2>(lazy)[1][2] == 0);
  CHECK(tenon::item<float>(tenon::view(tenon::slice(lazy, 1, 0, 1), {2}).slice(0, 0, 1)) == 0);
  CHECK(tenon::contiguous(lazy).const_data_ptr() == shared);
  CHECK(tests::values<float>(tenon::clone_tensor_ptr(lazy)) == Floats(6));
  CHECK(tenon::zeros_like(lazy)->numel() == 6);
  CHECK(tests::contains(tenon::to_string(lazy), "Float {2, 3}"));
  CHECK(tenon::to_binary(lazy).size() == 24);
  CHECK(lazy.const_data_ptr() == shared);

  const Tensor row = tenon::select(lazy, 0, 1);
  REQUIRE(tenon::fill_(row, 7) == Error::Ok);
  CHECK(lazy.const_data_ptr() != shared);
  CHECK(tests::values<float>(lazy) == Floats{0, 0, 0, 7, 7, 7});
  CHECK(tests::values<float>(source) == Floats(6));
  Tensor other = at::_lazy_clone(source);
  CHECK(tenon::mutable_data_ptr<float>(other) != shared);
}
#endif

}  // namespace foreign_test
