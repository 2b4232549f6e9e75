// SPDX-License-Identifier: MIT
// backend_deallocate: whose memory goes, and what every function says of a tensor without it.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace backend_deallocate_test {

using namespace tenon;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("backend_deallocate: the memory goes at once, for all handles, the second time none") {
  MinimalBackend backend;
  const TensorPtr t = zeros({2, 3}, backend);
  const TensorPtr other = make_tensor_ptr(t);
  CHECK(backend.used() == 24);
  CHECK(backend_deallocate(*t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend_deallocate(other) == Deallocation::AlreadyDeallocated);
  RAISES(InvalidState, "was deallocated", const_data_ptr(other));
  CHECK(backend.calls["deallocate"] == 1);
  CHECK(backend.faults == 0);
  RAISES(InvalidState, "backend_deallocate: the tensor is undefined", backend_deallocate(Tensor()));
}

TEST_CASE("try_backend_deallocate, try_backend_of: the value, or the error by their own names") {
  MinimalBackend backend;
  const TensorPtr t = zeros({2}, backend);
  CHECK(*try_backend_of(t) == &backend);
  CHECK(*try_backend_deallocate(t) == Deallocation::Ok);
  CHECK(*try_backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  FAILS(InvalidState, "try_backend_deallocate: the tensor is undefined",
        try_backend_deallocate(TensorPtr()));
  FAILS(InvalidState, "try_backend_of: the tensor is undefined", try_backend_of(TensorPtr()));
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_deallocate: while a view or a blob is alive all stay as they are") {
  MinimalBackend backend;
  const TensorPtr t = full({3}, 2, backend);
  {
    const Tensor view = slice(t, 0, 1, 3);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    CHECK(backend_deallocate(view) == Deallocation::InUse);
    CHECK(values<float>(backend_copy(view, host_backend())) == Floats{2, 2});
  }
  {
    const Blob blob = to_blob(t);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    const Blob copy = blob;
    CHECK(backend_deallocate(t) == Deallocation::InUse);
  }
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_deallocate: a deleter runs once; memory lent by raw pointer is let go of") {
  Calls calls;
  float data[2] = {1, 2};
  {
    const TensorPtr t = from_blob(data, {2}, ScalarType::Float, calls.deleter());
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    CHECK(calls.count == 1);
    CHECK(calls.argument == data);
  }
  CHECK(calls.count == 1);
  const TensorPtr lent = from_blob(data, {2});
  CHECK(backend_deallocate(lent) == Deallocation::Ok);
  CHECK(data[1] == 2.f);
  RAISES(InvalidState, "of sizes {2}, was deallocated", const_data_ptr(lent));
}

#if !TENON_ATEN_MODE
TEST_CASE("backend_deallocate: a TensorImpl on the stack lets go of the memory too", "[plain]") {
  float data[2] = {1, 2};
  const SizesType sizes[] = {2};
  TensorImpl impl(ScalarType::Float, 1, sizes, data);
  const Tensor t(&impl);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  RAISES(InvalidState, "was deallocated", impl.data());
  RAISES(InvalidState, "was deallocated", impl.mutable_data());
  RAISES(InvalidState, "was deallocated", (impl.set_data(data), 0));
}

#endif

// A promise of docs/guarantees.md.
TEST_CASE("deallocated: the metadata stays, and every function names the tensor") {
  MinimalBackend backend;
  TensorPtr on_host = full({2, 3}, 5, TensorShapeDynamism::DYNAMIC);
  TensorPtr there = full({2, 3}, 5, TensorShapeDynamism::DYNAMIC, backend);
  const TensorPtr other = zeros({2, 3});
  float bytes[6] = {};
  const std::string words = ", of sizes {2, 3}, was deallocated";
  const std::string gone = "the tensor" + words;
  const std::string source = "the source tensor" + words;
  for (TensorPtr* each : {&on_host, &there}) {
    TensorPtr& t = *each;
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    INFO(device(t).to_string());
    CHECK(sizes(t) == Vector{2, 3});
    CHECK(strides(t) == Vector{3, 1});
    CHECK(dim_order(t) == Vector{0, 1});
    CHECK(t->numel() == 6);
    CHECK(t->scalar_type() == ScalarType::Float);
    CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
    CHECK(ownership(t) == Ownership::Owned);
    CHECK_FALSE(is_readonly(t));
    CHECK(as_view(t).data == nullptr);
    CHECK(device(t) == (&t == &on_host ? Device() : backend.device()));
    // Its elements.
    RAISES(InvalidState, "const_data_ptr: " + gone, const_data_ptr(t));
    RAISES(InvalidState, "const_data_ptr: " + gone, const_data_ptr<float>(t));
    RAISES(InvalidState, "mutable_data_ptr: " + gone, mutable_data_ptr(t));
    RAISES(InvalidState, "mutable_data_ptr: " + gone, mutable_data_ptr<float>(t));
    RAISES(InvalidState, "data: " + gone, tenon::data<float>(t));
    RAISES(InvalidState, "accessor: " + gone, (accessor<float, 2>(t)));
    RAISES(InvalidState, "item: " + gone, item<float>(t));
    FAILS(InvalidState, "try_const_data_ptr: " + gone, try_const_data_ptr(t));
    FAILS(InvalidState, "try_const_data_ptr: " + gone, try_const_data_ptr<float>(t));
    FAILS(InvalidState, "try_mutable_data_ptr: " + gone, try_mutable_data_ptr(t));
    FAILS(InvalidState, "try_data: " + gone, try_data<float>(t));
    FAILS(InvalidState, "try_accessor: " + gone, (try_accessor<float, 2>(t)));
    FAILS(InvalidState, "try_item: " + gone, try_item<float>(t));
    FAILS(InvalidState, "try_backend_of: " + gone, try_backend_of(t));
    FAILS(InvalidState, "try_plan_copy: the source" + words, try_plan_copy(other, t));
    CHECK(*try_backend_deallocate(t) == Deallocation::AlreadyDeallocated);
    RETURNS(InvalidState, "set_data: " + gone, set_data(t, nullptr));
    RAISES(InvalidState, "backend_of: " + gone, backend_of(t));
    // Views.
    RAISES(InvalidState, "view: " + source, view(t, {6}));
    RAISES(InvalidState, "reshape: " + source, reshape(t, {6}));
    RAISES(InvalidState, "flatten: " + source, flatten(t));
    RAISES(InvalidState, "select: " + source, tenon::select(t, 0, 0));
    RAISES(InvalidState, "slice: " + source, slice(t, 0, 0, 1));
    RAISES(InvalidState, "narrow: " + source, narrow(t, 0, 0, 1));
    RAISES(InvalidState, "transpose: " + source, transpose(t, 0, 1));
    RAISES(InvalidState, "permute: " + source, permute(t, {1, 0}));
    RAISES(InvalidState, "transpose: " + source, transpose(t));
    RAISES(InvalidState, "movedim: " + source, movedim(t, 0, 1));
    RAISES(InvalidState, "diagonal: " + source, diagonal(t));
    RAISES(InvalidState, "view: " + source, view(t));
    RAISES(InvalidState, "share: " + gone, share(t));
    RAISES(InvalidState, "squeeze: " + source, squeeze(t));
    RAISES(InvalidState, "squeeze: " + source, squeeze(t, 0));
    RAISES(InvalidState, "unsqueeze: " + source, unsqueeze(t, 0));
    RAISES(InvalidState, "expand: " + source, expand(t, {4, 2, 3}));
    RAISES(InvalidState, "flip: " + source, flip(t, {0}));
    RAISES(InvalidState, "as_strided: " + source, as_strided(t, {2}, {1}));
    RAISES(InvalidState, "view_as_type: " + source, view_as_type(t, ScalarType::Int));
    RAISES(InvalidState, "make_tensor_ptr: " + source, make_tensor_ptr(t, {3, 2}));
    RAISES(InvalidState, "make_tensor_ptr: the tensor", make_tensor_ptr(t));
    // Copies.
    RETURNS(InvalidState, "copy_: the source" + words, copy_(other, t));
    RETURNS(InvalidState, "copy_: the destination" + words, copy_(t, other));
    RAISES(InvalidState, "plan_copy: the source" + words, plan_copy(other, t));
    RETURNS(InvalidState, "fill_: " + gone, fill_(t, 1));
    RETURNS(InvalidState, "zero_: " + gone, zero_(t));
    RETURNS(InvalidState, "uniform_: " + gone, uniform_(t));
    RETURNS(InvalidState, "normal_: " + gone, normal_(t));
    RETURNS(InvalidState, "random_: " + gone, random_(t));
    RAISES(InvalidState, words, contiguous(t));
    RAISES(InvalidState, "to: " + source, to(t, ScalarType::Int));
    RAISES(InvalidState, "to: " + source, to(t, ScalarType::Float));
    RAISES(InvalidState, "to: " + source, to(t, "cpu"));
    RAISES(InvalidState, "clone: " + source, clone(t));
    RAISES(InvalidState, "clone_tensor_ptr: " + source, clone_tensor_ptr(t));
    RAISES(InvalidState, "backend_copy: " + source, backend_copy(t, host_backend()));
    RAISES(InvalidState, "zeros_like: " + source, zeros_like(t));
    RAISES(InvalidState, "empty_like: " + source, empty_like(t));
    RAISES(InvalidState, "full_like: " + source, full_like(t, 1));
    RAISES(InvalidState, "rand_like: " + source, rand_like(t));
    // Its shape, and bytes.
    RETURNS(InvalidState, "resize_tensor_ptr: " + gone, resize_tensor_ptr(t, {1}));
    RETURNS(InvalidState, "resize_tensor_ptr: " + gone, resize_tensor_ptr(t, {0, 3}));
    RETURNS(InvalidState, "reserve_nbytes: " + gone, reserve_nbytes(t, 0));
    RAISES(InvalidState, "to_blob: " + source, to_blob(t));
    RAISES(InvalidState, "to_binary: " + gone, to_binary(t));
    RAISES(InvalidState, "to_binary: " + gone, to_binary(t, 0));
    RETURNS(InvalidState, "assign: " + gone, assign(t, Blob::of(bytes, {2, 3})));
    RETURNS(InvalidState, "assign: " + gone, assign(t, bytes, 24));
    CHECK_FALSE(can_assign(t, bytes, 24));
    RETURNS(InvalidState, "copy_to: " + gone, copy_to(t, Blob::of(bytes, {2, 3})));
    RETURNS(InvalidState, "copy_to: " + gone, copy_to(t, bytes, 24));
    CHECK(sizes(t) == Vector{2, 3});
  }
  CHECK(tenon::to_string(on_host) == "Float {2, 3}, deallocated");
  CHECK(tenon::to_string(there) == "Float {2, 3} on ext_dev:0, deallocated");
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_deallocate: a deleter that runs in it may use the tensor, or drop it") {
  TensorPtr t;
  int released = 0;
  const auto adopt = [&](auto use) {
    void* const memory = std::malloc(8);
    REQUIRE(memory != nullptr);
    t = from_blob(
        memory, {2}, ScalarType::Float,
        [&released, use](void* p) {
          ++released;
          use();
          std::free(p);
        },
        TensorShapeDynamism::DYNAMIC);
  };
  adopt([&] {
    CHECK(tests::sizes(t) == tests::Vector{2});
    RAISES(InvalidState, "was deallocated", const_data_ptr<float>(t));
    CHECK(resize_tensor_ptr(t, {1000}) == Error::InvalidState);
    CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  });
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(released == 1);
  t.reset();
  CHECK(released == 1);
  adopt([&] { t.reset(); });
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(t == nullptr);
  CHECK(released == 2);
}

TEST_CASE("backend_deallocate: a view that is all that is left may let go of the memory") {
  Calls calls;
  float data[3] = {1, 2, 3};
  TensorPtr t = from_blob(data, {3}, ScalarType::Float, calls.deleter());
  Tensor view = slice(t, 0, 1, 3);
  Tensor second = slice(t, 0, 0, 1);
  t.reset();
  CHECK(backend_deallocate(view) == Deallocation::InUse);
  second = Tensor();
  CHECK(calls.count == 0);
  CHECK(backend_deallocate(view) == Deallocation::Ok);
  CHECK(calls.count == 1);
  CHECK(backend_deallocate(view) == Deallocation::AlreadyDeallocated);
  CHECK(tests::sizes(view) == tests::Vector{2});
}

}  // namespace backend_deallocate_test
