// SPDX-License-Identifier: MIT
// backend_deallocate: whose memory goes, and what every function says of a tensor without it.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/exchange/assign.h"
#include "tenon/exchange/binary.h"
#include "tenon/exchange/blob.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

TEST_CASE("backend_deallocate: the memory goes at once, the second time there is none") {
  MinimalBackend backend;
  const TensorPtr t = tenon::zeros({2, 3}, backend);
  CHECK(backend.used() == 24);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  CHECK(backend.calls["deallocate"] == 1);
  CHECK(backend.faults == 0);
}

TEST_CASE("backend_deallocate: an undefined tensor is refused") {
  CHECK_ERROR(Error::InvalidState, "backend_deallocate: the tensor is undefined",
              backend_deallocate(Tensor()));
}

TEST_CASE("backend_deallocate: memory of the host's heap goes too, inline or not") {
  for (int64_t size : {4, 100000}) {
    const TensorPtr t = tenon::zeros({size});
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
    CHECK(tests::sizes(t) == tests::Vector{size});
  }
}

TEST_CASE("backend_deallocate: all handles to the tensor see it") {
  const TensorPtr t = tenon::zeros({2});
  const Tensor handle = *t;
  const TensorPtr other = tenon::make_tensor_ptr(t);
  CHECK(backend_deallocate(handle) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  CHECK_ERROR(Error::InvalidState, "was deallocated", tenon::const_data_ptr(other));
}

TEST_CASE("backend_deallocate: while a view is alive both stay as they are") {
  MinimalBackend backend;
  const TensorPtr t = tenon::full({3}, 2, backend);
  {
    const Tensor view = tenon::slice(t, 0, 1, 3);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    CHECK(backend_deallocate(view) == Deallocation::InUse);
    CHECK(tests::values<float>(tenon::backend_copy(view, tenon::host_backend())) ==
          std::vector<float>{2, 2});
  }
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend.used() == 0);
}

TEST_CASE("backend_deallocate: a view that is all that is left may let go of the memory") {
  Calls calls;
  float data[3] = {1, 2, 3};
  TensorPtr t = tenon::from_blob(data, {3}, ScalarType::Float, calls.deleter());
  Tensor view = tenon::slice(t, 0, 1, 3);
  Tensor second = tenon::slice(t, 0, 0, 1);
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
  const TensorPtr t = tenon::zeros({3}, backend);
  {
    const tenon::Blob blob = tenon::to_blob(t);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    const tenon::Blob copy = blob;
    CHECK(backend_deallocate(t) == Deallocation::InUse);
  }
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

TEST_CASE("backend_deallocate: a tensor over a blob keeps the lender's memory") {
  MinimalBackend backend;
  tenon::register_backend(backend);
  const TensorPtr t = tenon::zeros({3}, backend);
  const TensorPtr over = tenon::from_blob(tenon::to_blob(t));
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
    const TensorPtr t = tenon::from_blob(data, {2}, ScalarType::Float, calls.deleter());
    CHECK(backend_deallocate(t) == Deallocation::Ok);
    CHECK(calls.count == 1);
    CHECK(calls.argument == data);
  }
  CHECK(calls.count == 1);
}

TEST_CASE("backend_deallocate: memory lent by raw pointer is let go of") {
  float data[2] = {1, 2};
  const TensorPtr t = tenon::from_blob(data, {2});
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(data[1] == 2.f);
  CHECK_ERROR(Error::InvalidState, "of sizes {2}, was deallocated", tenon::const_data_ptr(t));
}

TEST_CASE("backend_deallocate: a placeholder and a tensor without elements have nothing to lose") {
  const TensorPtr placeholder = tenon::make_tensor_ptr({2}, nullptr);
  CHECK(backend_deallocate(placeholder) == Deallocation::Ok);
  CHECK(backend_deallocate(placeholder) == Deallocation::AlreadyDeallocated);
  const TensorPtr none = tenon::zeros({0});
  CHECK(backend_deallocate(none) == Deallocation::Ok);
  CHECK_ERROR(Error::InvalidState, "of sizes {0}, was deallocated", tenon::to_binary(none));
}

#if !TENON_ATEN_MODE
TEST_CASE("backend_deallocate: a TensorImpl on the stack lets go of the memory too", "[plain]") {
  float data[2] = {1, 2};
  const tenon::SizesType sizes[] = {2};
  tenon::TensorImpl impl(ScalarType::Float, 1, sizes, data);
  const Tensor t(&impl);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  CHECK(impl.data() == nullptr);
  CHECK_ERROR(Error::InvalidState, "was deallocated", impl.data<float>());
  CHECK_ERROR(Error::InvalidState, "was deallocated", impl.mutable_data<float>());
  CHECK_ERROR(Error::InvalidState, "was deallocated", impl.mutable_data());
  CHECK_ERROR(Error::InvalidState, "was deallocated", (impl.set_data(data), 0));
}

TEST_CASE("deallocated: the members of Tensor say so", "[plain]") {
  const TensorPtr t = tenon::full({1}, 3);
  backend_deallocate(t);
  const char* const words = "the tensor, of sizes {1}, was deallocated";
  CHECK_ERROR(Error::InvalidState, std::string("const_data_ptr: ") + words, t->const_data_ptr());
  CHECK_ERROR(Error::InvalidState, words, t->const_data_ptr<float>());
  CHECK_ERROR(Error::InvalidState, std::string("mutable_data_ptr: ") + words,
              t->mutable_data_ptr());
  CHECK_ERROR(Error::InvalidState, words, t->mutable_data_ptr<float>());
  CHECK_ERROR(Error::InvalidState, std::string("data_ptr: ") + words, t->data_ptr<float>());
  CHECK_ERROR(Error::InvalidState, std::string("data: ") + words, t->data<float>());
  CHECK_ERROR(Error::InvalidState, std::string("accessor: ") + words, (t->accessor<float, 1>()));
  CHECK_ERROR(Error::InvalidState, std::string("item: ") + words, t->item<float>());
  CHECK(t->sizes().size() == 1);
  CHECK(t->numel() == 1);
  CHECK(t->nbytes() == 4);
  CHECK(t->device().is_cpu());
  CHECK(t->ownership() == tenon::Ownership::Owned);
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
  TensorPtr host = tenon::full({2, 3}, 5, tenon::TensorShapeDynamism::DYNAMIC);
  TensorPtr device = tenon::full({2, 3}, 5, tenon::TensorShapeDynamism::DYNAMIC, backend);
  /// What errors call them.
  std::pair<TensorPtr*, const char*> both[2] = {
      {&host, ", of sizes {2, 3}, was deallocated"},
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
    CHECK(tenon::shape_dynamism(*t) == tenon::TensorShapeDynamism::DYNAMIC);
    CHECK(tenon::ownership(*t) == tenon::Ownership::Owned);
    CHECK_FALSE(tenon::is_readonly(*t));
    CHECK(tenon::as_view(*t).data == nullptr);
  }
  CHECK(tenon::device(gone.host) == tenon::Device());
  CHECK(tenon::device(gone.device) == gone.backend.device());
}

TEST_CASE("deallocated: every way to the elements is an error that names the tensor") {
  Gone gone;
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the tensor") + words;
    CHECK_ERROR(Error::InvalidState, "const_data_ptr: " + named, tenon::const_data_ptr(*t));
    CHECK_ERROR(Error::InvalidState, "const_data_ptr: " + named, tenon::const_data_ptr<float>(*t));
    CHECK_ERROR(Error::InvalidState, "mutable_data_ptr: " + named, tenon::mutable_data_ptr(*t));
    CHECK_ERROR(Error::InvalidState, "mutable_data_ptr: " + named,
                tenon::mutable_data_ptr<float>(*t));
    CHECK_ERROR(Error::InvalidState, "data: " + named, tenon::data<float>(*t));
    CHECK_ERROR(Error::InvalidState, "accessor: " + named, (tenon::accessor<float, 2>(*t)));
    CHECK_ERROR(Error::InvalidState, "item: " + named, tenon::item<float>(*t));
    CHECK_RETURNS(Error::InvalidState, "set_data: " + named, tenon::set_data(*t, nullptr));
    CHECK_ERROR(Error::InvalidState, "backend_of: " + named, tenon::backend_of(*t));
  }
}

TEST_CASE("deallocated: there are no views of it") {
  Gone gone;
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the source tensor") + words;
    CHECK_ERROR(Error::InvalidState, "view: " + named, tenon::view(*t, {6}));
    CHECK_ERROR(Error::InvalidState, "reshape: " + named, tenon::reshape(*t, {6}));
    CHECK_ERROR(Error::InvalidState, "flatten: " + named, tenon::flatten(*t));
    CHECK_ERROR(Error::InvalidState, "select: " + named, tenon::select(*t, 0, 0));
    CHECK_ERROR(Error::InvalidState, "slice: " + named, tenon::slice(*t, 0, 0, 1));
    CHECK_ERROR(Error::InvalidState, "narrow: " + named, tenon::narrow(*t, 0, 0, 1));
    CHECK_ERROR(Error::InvalidState, "transpose: " + named, tenon::transpose(*t, 0, 1));
    CHECK_ERROR(Error::InvalidState, "permute: " + named, tenon::permute(*t, {1, 0}));
    CHECK_ERROR(Error::InvalidState, "squeeze: " + named, tenon::squeeze(*t));
    CHECK_ERROR(Error::InvalidState, "squeeze: " + named, tenon::squeeze(*t, 0));
    CHECK_ERROR(Error::InvalidState, "unsqueeze: " + named, tenon::unsqueeze(*t, 0));
    CHECK_ERROR(Error::InvalidState, "expand: " + named, tenon::expand(*t, {4, 2, 3}));
    CHECK_ERROR(Error::InvalidState, "flip: " + named, tenon::flip(*t, {0}));
    CHECK_ERROR(Error::InvalidState, "as_strided: " + named, tenon::as_strided(*t, {2}, {1}));
    CHECK_ERROR(Error::InvalidState, "view_as_type: " + named,
                tenon::view_as_type(*t, ScalarType::Int));
    CHECK_ERROR(Error::InvalidState, "make_tensor_ptr: " + named,
                tenon::make_tensor_ptr(*t, {3, 2}));
    CHECK_ERROR(Error::InvalidState, "make_tensor_ptr: the tensor", tenon::make_tensor_ptr(*t));
  }
}

TEST_CASE("deallocated: it is neither copied nor copied to") {
  Gone gone;
  const TensorPtr other = tenon::zeros({2, 3});
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string source = std::string("the source") + words;
    const std::string tensor = std::string("the source tensor") + words;
    CHECK_RETURNS(Error::InvalidState, "copy_: " + source, tenon::copy_(other, *t));
    CHECK_RETURNS(Error::InvalidState, std::string("copy_: the destination") + words,
                  tenon::copy_(*t, other));
    CHECK_ERROR(Error::InvalidState, "plan_copy: " + source, tenon::plan_copy(other, *t));
    CHECK_RETURNS(Error::InvalidState, std::string("fill_: the tensor") + words,
                  tenon::fill_(*t, 1));
    CHECK_RETURNS(Error::InvalidState, std::string("zero_: the tensor") + words, tenon::zero_(*t));
    CHECK_RETURNS(Error::InvalidState, std::string("uniform_: the tensor") + words,
                  tenon::uniform_(*t));
    CHECK_RETURNS(Error::InvalidState, std::string("normal_: the tensor") + words,
                  tenon::normal_(*t));
    CHECK_RETURNS(Error::InvalidState, std::string("random_: the tensor") + words,
                  tenon::random_(*t));
    CHECK_ERROR(Error::InvalidState, words, tenon::contiguous(*t));
    CHECK_ERROR(Error::InvalidState, "to: " + tensor, tenon::to(*t, ScalarType::Int));
    CHECK_ERROR(Error::InvalidState, "to: " + tensor, tenon::to(*t, ScalarType::Float));
    CHECK_ERROR(Error::InvalidState, "clone_tensor_ptr: " + tensor, tenon::clone_tensor_ptr(*t));
    CHECK_ERROR(Error::InvalidState, "backend_copy: " + tensor,
                tenon::backend_copy(*t, tenon::host_backend()));
    CHECK_ERROR(Error::InvalidState, "zeros_like: " + tensor, tenon::zeros_like(*t));
    CHECK_ERROR(Error::InvalidState, "empty_like: " + tensor, tenon::empty_like(*t));
    CHECK_ERROR(Error::InvalidState, "full_like: " + tensor, tenon::full_like(*t, 1));
    CHECK_ERROR(Error::InvalidState, "rand_like: " + tensor, tenon::rand_like(*t));
  }
}

TEST_CASE("deallocated: its shape does not change, and no bytes come from it or go there") {
  Gone gone;
  float bytes[6] = {};
  for (const auto& each : gone.both) {
    TensorPtr* const t = each.first;
    const char* const words = each.second;
    const std::string named = std::string("the tensor") + words;
    CHECK_RETURNS(Error::InvalidState, "resize_tensor_ptr: " + named,
                  tenon::resize_tensor_ptr(*t, {1}));
    CHECK_RETURNS(Error::InvalidState, "resize_tensor_ptr: " + named,
                  tenon::resize_tensor_ptr(*t, {0, 3}));
    CHECK_RETURNS(Error::InvalidState, "reserve_tensor_ptr: " + named,
                  tenon::reserve_tensor_ptr(*t, 0));
    CHECK_ERROR(Error::InvalidState, std::string("to_blob: the source tensor") + words,
                tenon::to_blob(*t));
    CHECK_ERROR(Error::InvalidState, "to_binary: " + named, tenon::to_binary(*t));
    CHECK_ERROR(Error::InvalidState, "to_binary: " + named, tenon::to_binary(*t, 0));
    CHECK_RETURNS(Error::InvalidState, "assign: " + named,
                  tenon::assign(*t, tenon::Blob{bytes, {2, 3}}));
    CHECK_RETURNS(Error::InvalidState, "assign: " + named, tenon::assign(*t, bytes, 24));
    CHECK_FALSE(tenon::can_assign(*t, bytes, 24));
    CHECK_RETURNS(Error::InvalidState, "copy_to: " + named,
                  tenon::copy_to(*t, tenon::Blob{bytes, {2, 3}}));
    CHECK_RETURNS(Error::InvalidState, "copy_to: " + named, tenon::copy_to(*t, bytes, 24));
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
    t = tenon::from_blob(
        memory, {2}, ScalarType::Float,
        [&released, use](void* p) {
          ++released;
          use();
          std::free(p);
        },
        tenon::TensorShapeDynamism::DYNAMIC);
  };
  adopt([&] {
    CHECK(tests::sizes(t) == tests::Vector{2});
    CHECK_ERROR(Error::InvalidState, "was deallocated", tenon::const_data_ptr<float>(t));
    CHECK(tenon::resize_tensor_ptr(t, {1000}) == Error::InvalidState);
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
    const TensorPtr base = tenon::from_blob(data, {2}, ScalarType::Float, [&](void*) {
      ++released;
      CHECK(backend_deallocate(view) == Deallocation::AlreadyDeallocated);
    });
    view = tenon::make_tensor_ptr(*base, {1});
  }
  CHECK(backend_deallocate(view) == Deallocation::Ok);
  CHECK(released == 1);
}

TEST_CASE("backend_transfer: a deleter of the source that runs in it may drop the source") {
  MinimalBackend backend;
  TensorPtr source;
  float data[2] = {1, 2};
  int released = 0;
  source = tenon::from_blob(data, {2}, ScalarType::Float, [&](void*) {
    ++released;
    source.reset();
  });
  const TensorPtr moved = tenon::backend_transfer(source, backend);
  CHECK(source == nullptr);
  CHECK(released == 1);
  CHECK(tests::values<float>(tenon::backend_copy(moved, tenon::host_backend())) ==
        std::vector<float>{1, 2});
}
