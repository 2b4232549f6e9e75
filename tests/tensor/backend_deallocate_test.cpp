// SPDX-License-Identifier: MIT
// backend_deallocate: whose memory goes, and what every function says of a tensor without it.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

TEST_CASE("backend_deallocate: the memory goes at once, the second time there is none") {
  MinimalBackend backend;
  const TensorPtr t = zeros({2, 3}, backend);
  CHECK(backend.used() == 24);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  CHECK(backend.calls["deallocate"] == 1);
  CHECK(backend.faults == 0);
}

TEST_CASE("backend_deallocate: an undefined tensor is refused") {
  RAISES(InvalidState, "backend_deallocate: the tensor is undefined", backend_deallocate(Tensor()));
}

TEST_CASE("backend_deallocate: memory of the host's heap goes too, inline or not") {
  for (int64_t size : {4, 100000}) {
    const TensorPtr t = zeros({size});
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
    CHECK(tests::sizes(t) == tests::Vector{size});
  }
}

TEST_CASE("backend_deallocate: all handles to the tensor see it") {
  const TensorPtr t = zeros({2});
  const Tensor handle = *t;
  const TensorPtr other = make_tensor_ptr(t);
  CHECK(backend_deallocate(handle) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  RAISES(InvalidState, "was deallocated", const_data_ptr(other));
}

TEST_CASE("backend_deallocate: while a view is alive both stay as they are") {
  MinimalBackend backend;
  const TensorPtr t = full({3}, 2, backend);
  {
    const Tensor view = slice(t, 0, 1, 3);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    CHECK(backend_deallocate(view) == Deallocation::InUse);
    CHECK(tests::values<float>(backend_copy(view, host_backend())) == std::vector<float>{2, 2});
  }
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
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

TEST_CASE("backend_deallocate: while a blob is alive the memory stays") {
  MinimalBackend backend;
  const TensorPtr t = zeros({3}, backend);
  {
    const Blob blob = to_blob(t);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    const Blob copy = blob;
    CHECK(backend_deallocate(t) == Deallocation::InUse);
  }
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

TEST_CASE("backend_deallocate: a tensor over a blob keeps the lender's memory") {
  MinimalBackend backend;
  register_backend(backend);
  const TensorPtr t = zeros({3}, backend);
  const TensorPtr over = from_blob(to_blob(t));
  CHECK(backend_deallocate(t) == Deallocation::InUse);
  CHECK(backend_deallocate(over) == Deallocation::Ok);  // which drops the blob's owner
  CHECK(backend.used() == 12);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
}

TEST_CASE("backend_deallocate: the deleter of adopted memory runs, once") {
  Calls calls;
  float data[2] = {1, 2};
  {
    const TensorPtr t = from_blob(data, {2}, ScalarType::Float, calls.deleter());
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    CHECK(calls.count == 1);
    CHECK(calls.argument == data);
  }
  CHECK(calls.count == 1);
}

TEST_CASE("backend_deallocate: memory lent by raw pointer is let go of") {
  float data[2] = {1, 2};
  const TensorPtr t = from_blob(data, {2});
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(data[1] == 2.f);
  RAISES(InvalidState, "of sizes {2}, was deallocated", const_data_ptr(t));
}

TEST_CASE("backend_deallocate: a placeholder and a tensor without elements have nothing to lose") {
  const TensorPtr placeholder = make_tensor_ptr({2}, nullptr);
  CHECK(backend_deallocate(placeholder) == Deallocation::Ok);
  CHECK(backend_deallocate(placeholder) == Deallocation::AlreadyDeallocated);
  const TensorPtr nothing = zeros({0});
  CHECK(backend_deallocate(nothing) == Deallocation::Ok);
  RAISES(InvalidState, "of sizes {0}, was deallocated", to_binary(nothing));
}

#if !TENON_ATEN_MODE
TEST_CASE("backend_deallocate: a TensorImpl on the stack lets go of the memory too", "[plain]") {
  float data[2] = {1, 2};
  const SizesType sizes[] = {2};
  TensorImpl impl(ScalarType::Float, 1, sizes, data);
  const Tensor t(&impl);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  CHECK(impl.data() == nullptr);
  RAISES(InvalidState, "was deallocated", impl.data<float>());
  RAISES(InvalidState, "was deallocated", impl.mutable_data<float>());
  RAISES(InvalidState, "was deallocated", impl.mutable_data());
  RAISES(InvalidState, "was deallocated", (impl.set_data(data), 0));
}

TEST_CASE("deallocated: the members of Tensor say so", "[plain]") {
  const TensorPtr t = full({1}, 3);
  backend_deallocate(t);
  const char* const words = "the tensor, of sizes {1}, was deallocated";
  RAISES(InvalidState, std::string("const_data_ptr: ") + words, t->const_data_ptr());
  RAISES(InvalidState, words, t->const_data_ptr<float>());
  RAISES(InvalidState, std::string("mutable_data_ptr: ") + words, t->mutable_data_ptr());
  RAISES(InvalidState, words, t->mutable_data_ptr<float>());
  RAISES(InvalidState, std::string("data_ptr: ") + words, t->data_ptr<float>());
  RAISES(InvalidState, std::string("data: ") + words, t->data<float>());
  RAISES(InvalidState, std::string("accessor: ") + words, (t->accessor<float, 1>()));
  RAISES(InvalidState, std::string("item: ") + words, t->item<float>());
  CHECK(t->sizes().size() == 1);
  CHECK(t->numel() == 1);
  CHECK(t->nbytes() == 4);
  CHECK(t->device().is_cpu());
  CHECK(t->ownership() == Ownership::Owned);
}
#endif

namespace {

/// A deallocated tensor of the host's, and one of a backend's.
struct Gone {
  Gone() {
    static_cast<void>(backend_deallocate(host));
    static_cast<void>(backend_deallocate(device));
  }
  MinimalBackend backend;
  TensorPtr host = full({2, 3}, 5, TensorShapeDynamism::DYNAMIC);
  TensorPtr device = full({2, 3}, 5, TensorShapeDynamism::DYNAMIC, backend);
  /// What errors call them.
  std::pair<TensorPtr*, const char*> both[2] = {{&host, ", of sizes {2, 3}, was deallocated"},
                                                {&device, ", of sizes {2, 3}, was deallocated"}};
};

}  // namespace

TEST_CASE("deallocated: the metadata stays") {
  Gone gone;
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    INFO(words);
    CHECK(tests::sizes(*t) == tests::Vector{2, 3});
    CHECK(tests::strides(*t) == tests::Vector{3, 1});
    CHECK(tests::dim_order(*t) == tests::Vector{0, 1});
    CHECK((*t)->numel() == 6);
    CHECK((*t)->scalar_type() == ScalarType::Float);
    CHECK(shape_dynamism(*t) == TensorShapeDynamism::DYNAMIC);
    CHECK(ownership(*t) == Ownership::Owned);
    CHECK_FALSE(is_readonly(*t));
    CHECK(as_view(*t).data == nullptr);
  }
  CHECK(device(gone.host) == Device());
  CHECK(device(gone.device) == gone.backend.device());
}

TEST_CASE("deallocated: every way to the elements is an error that names the tensor") {
  Gone gone;
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the tensor") + words;
    RAISES(InvalidState, "const_data_ptr: " + named, const_data_ptr(*t));
    RAISES(InvalidState, "const_data_ptr: " + named, const_data_ptr<float>(*t));
    RAISES(InvalidState, "mutable_data_ptr: " + named, mutable_data_ptr(*t));
    RAISES(InvalidState, "mutable_data_ptr: " + named, mutable_data_ptr<float>(*t));
    RAISES(InvalidState, "data: " + named, tenon::data<float>(*t));
    RAISES(InvalidState, "accessor: " + named, (accessor<float, 2>(*t)));
    RAISES(InvalidState, "item: " + named, item<float>(*t));
    RETURNS(InvalidState, "set_data: " + named, set_data(*t, nullptr));
    RAISES(InvalidState, "backend_of: " + named, backend_of(*t));
  }
}

TEST_CASE("deallocated: there are no views of it") {
  Gone gone;
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the source tensor") + words;
    RAISES(InvalidState, "view: " + named, view(*t, {6}));
    RAISES(InvalidState, "reshape: " + named, reshape(*t, {6}));
    RAISES(InvalidState, "flatten: " + named, flatten(*t));
    RAISES(InvalidState, "select: " + named, tenon::select(*t, 0, 0));
    RAISES(InvalidState, "slice: " + named, slice(*t, 0, 0, 1));
    RAISES(InvalidState, "narrow: " + named, narrow(*t, 0, 0, 1));
    RAISES(InvalidState, "transpose: " + named, transpose(*t, 0, 1));
    RAISES(InvalidState, "permute: " + named, permute(*t, {1, 0}));
    RAISES(InvalidState, "squeeze: " + named, squeeze(*t));
    RAISES(InvalidState, "squeeze: " + named, squeeze(*t, 0));
    RAISES(InvalidState, "unsqueeze: " + named, unsqueeze(*t, 0));
    RAISES(InvalidState, "expand: " + named, expand(*t, {4, 2, 3}));
    RAISES(InvalidState, "flip: " + named, flip(*t, {0}));
    RAISES(InvalidState, "as_strided: " + named, as_strided(*t, {2}, {1}));
    RAISES(InvalidState, "view_as_type: " + named, view_as_type(*t, ScalarType::Int));
    RAISES(InvalidState, "make_tensor_ptr: " + named, make_tensor_ptr(*t, {3, 2}));
    RAISES(InvalidState, "make_tensor_ptr: the tensor", make_tensor_ptr(*t));
  }
}

TEST_CASE("deallocated: it is neither copied nor copied to") {
  Gone gone;
  const TensorPtr other = zeros({2, 3});
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string source = std::string("the source") + words;
    const std::string tensor = std::string("the source tensor") + words;
    RETURNS(InvalidState, "copy_: " + source, copy_(other, *t));
    RETURNS(InvalidState, std::string("copy_: the destination") + words, copy_(*t, other));
    RAISES(InvalidState, "plan_copy: " + source, plan_copy(other, *t));
    RETURNS(InvalidState, std::string("fill_: the tensor") + words, fill_(*t, 1));
    RETURNS(InvalidState, std::string("zero_: the tensor") + words, zero_(*t));
    RETURNS(InvalidState, std::string("uniform_: the tensor") + words, uniform_(*t));
    RETURNS(InvalidState, std::string("normal_: the tensor") + words, normal_(*t));
    RETURNS(InvalidState, std::string("random_: the tensor") + words, random_(*t));
    RAISES(InvalidState, words, contiguous(*t));
    RAISES(InvalidState, "to: " + tensor, to(*t, ScalarType::Int));
    RAISES(InvalidState, "to: " + tensor, to(*t, ScalarType::Float));
    RAISES(InvalidState, "clone_tensor_ptr: " + tensor, clone_tensor_ptr(*t));
    RAISES(InvalidState, "backend_copy: " + tensor, backend_copy(*t, host_backend()));
    RAISES(InvalidState, "zeros_like: " + tensor, zeros_like(*t));
    RAISES(InvalidState, "empty_like: " + tensor, empty_like(*t));
    RAISES(InvalidState, "full_like: " + tensor, full_like(*t, 1));
    RAISES(InvalidState, "rand_like: " + tensor, rand_like(*t));
  }
}

TEST_CASE("deallocated: its shape does not change, and no bytes come from it or go there") {
  Gone gone;
  float bytes[6] = {};
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the tensor") + words;
    RETURNS(InvalidState, "resize_tensor_ptr: " + named, resize_tensor_ptr(*t, {1}));
    RETURNS(InvalidState, "resize_tensor_ptr: " + named, resize_tensor_ptr(*t, {0, 3}));
    RETURNS(InvalidState, "reserve_tensor_ptr: " + named, reserve_tensor_ptr(*t, 0));
    RAISES(InvalidState, std::string("to_blob: the source tensor") + words, to_blob(*t));
    RAISES(InvalidState, "to_binary: " + named, to_binary(*t));
    RAISES(InvalidState, "to_binary: " + named, to_binary(*t, 0));
    RETURNS(InvalidState, "assign: " + named, assign(*t, Blob{bytes, {2, 3}}));
    RETURNS(InvalidState, "assign: " + named, assign(*t, bytes, 24));
    CHECK_FALSE(can_assign(*t, bytes, 24));
    RETURNS(InvalidState, "copy_to: " + named, copy_to(*t, Blob{bytes, {2, 3}}));
    RETURNS(InvalidState, "copy_to: " + named, copy_to(*t, bytes, 24));
    CHECK(tests::sizes(*t) == tests::Vector{2, 3});
  }
}

TEST_CASE("deallocated: its text says so") {
  Gone gone;
  CHECK(tenon::to_string(gone.host) == "Float {2, 3}, deallocated");
  CHECK(tenon::to_string(gone.device) == "Float {2, 3} on ext_dev:0, deallocated");
}

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

TEST_CASE("backend_deallocate: of a view, the deleter of what it views may use the view") {
  TensorPtr view;
  int released = 0;
  float data[2] = {1, 2};
  {
    const TensorPtr base = from_blob(data, {2}, ScalarType::Float, [&](void*) {
      ++released;
      CHECK(backend_deallocate(view) == Deallocation::AlreadyDeallocated);
    });
    view = make_tensor_ptr(*base, {1});
  }
  CHECK(backend_deallocate(view) == Deallocation::Ok);
  CHECK(released == 1);
}

TEST_CASE("backend_transfer: a deleter of the source that runs in it may drop the source") {
  MinimalBackend backend;
  TensorPtr source;
  float data[2] = {1, 2};
  int released = 0;
  source = from_blob(data, {2}, ScalarType::Float, [&](void*) {
    ++released;
    source.reset();
  });
  const TensorPtr moved = backend_transfer(source, backend);
  CHECK(source == nullptr);
  CHECK(released == 1);
  CHECK(tests::values<float>(backend_copy(moved, host_backend())) == std::vector<float>{1, 2});
}
