// SPDX-License-Identifier: MIT
// Backends that go before their tensors, that have no memory, and whose tensors grow.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/exchange/binary.h"
#include "tenon/exchange/blob.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kDynamic = tenon::TensorShapeDynamism::DYNAMIC;
using Ints = std::vector<int32_t>;

Ints fetched(const TensorPtr& t) {
  return tests::values<int32_t>(tenon::backend_copy(t, tenon::host_backend()));
}

}  // namespace

TEST_CASE("lifetime: a backend that goes before its tensors says so once, with their number") {
  const Reports told;
  TensorPtr a;
  TensorPtr b;
  Tensor view;
  {
    MinimalBackend backend("gpu");
    a = tenon::zeros({2, 3}, backend);
    b = tenon::zeros({0}, backend);
    view = tenon::select(a, 0, 1);
  }
  CHECK(told.count() == 1);
  CHECK(tests::contains(
      told.last(), "InUse: backend gpu was destroyed while 2 blocks of its memory are in use"));
  a.reset();
  view = Tensor();
  b.reset();
  CHECK(told.count() == 1);
}

TEST_CASE("lifetime: a backend that goes before its pool and its tracker says so, and no more") {
  const Reports told;
  auto backend = std::make_unique<MinimalBackend>("gpu");
  tenon::PoolBackend pool(*backend);
  tenon::TrackingBackend tracking(pool);
  TensorPtr t = tenon::zeros({2, 3}, tracking);
  tenon::zeros({400}, tracking);  // kept by the pool
  backend.reset();
  CHECK(told.count() == 1);
  CHECK(tests::contains(told.last(), "backend gpu was destroyed before one that wraps it"));
  CHECK_RETURNS(Error::InvalidState,
                "the tensor is in memory of backend tracking, whose own backend was destroyed",
                tenon::fill_(t, 1));
  CHECK_ERROR(Error::InvalidState, "backend tracking has no memory, its own backend was destroyed",
              tenon::zeros({400}, tracking));
  t.reset();
  CHECK(told.count() == 1);
}

TEST_CASE("lifetime: a pool whose backend is gone before it made a tensor makes none") {
  const Reports told;
  auto backend = std::make_unique<MinimalBackend>("gpu");
  tenon::PoolBackend pool(*backend);
  backend.reset();
  CHECK_ERROR(Error::InvalidState, "has no memory, its own backend was destroyed",
              tenon::zeros({4}, pool));
  CHECK_ERROR(Error::InvalidState, "", tenon::make_tensor_ptr({1, 2, 3}, pool));
}

TEST_CASE("lifetime: without its backend a tensor's elements are an error that names it") {
  const Reports told;
  TensorPtr t;
  {
    MinimalBackend backend("gpu");
    t = tenon::zeros({2, 3}, kDynamic, backend);
  }
  const std::string words = " is in memory of backend gpu, which was destroyed";
  const TensorPtr host = tenon::zeros({2, 3});
  CHECK(tests::sizes(t) == tests::Vector{2, 3});
  CHECK_ERROR(Error::InvalidState, "backend_of: the tensor" + words, tenon::backend_of(t));
  CHECK_RETURNS(Error::InvalidState, "copy_: the source" + words, tenon::copy_(host, t));
  CHECK_RETURNS(Error::InvalidState, "copy_: the destination" + words, tenon::copy_(t, host));
  CHECK_RETURNS(Error::InvalidState, "fill_: the tensor" + words, tenon::fill_(t, 1));
  CHECK_RETURNS(Error::InvalidState, "zero_: the tensor" + words, tenon::zero_(t));
  CHECK_RETURNS(Error::InvalidState, "uniform_: the tensor" + words, tenon::uniform_(t));
  CHECK_ERROR(Error::InvalidState, "to_binary: the tensor" + words, tenon::to_binary(t));
  CHECK_ERROR(Error::InvalidState, "clone_tensor_ptr: the source tensor" + words,
              tenon::clone_tensor_ptr(t));
  CHECK_ERROR(Error::InvalidState, "zeros_like: the source tensor" + words, tenon::zeros_like(t));
  CHECK_ERROR(Error::InvalidState, "backend_copy: the source tensor" + words,
              tenon::backend_copy(t, tenon::host_backend()));
  CHECK_ERROR(Error::InvalidState, "backend_transfer: the source tensor" + words,
              tenon::backend_transfer(t, tenon::host_backend()));
  CHECK_ERROR(Error::InvalidState, words, tenon::contiguous(tenon::transpose(t, 0, 1)));
  CHECK_RETURNS(Error::InvalidState, "resize_tensor_ptr: the tensor" + words,
                tenon::resize_tensor_ptr(t, {100}));
  CHECK(tests::contains(tenon::to_string(t), "not shown: the tensor" + words));
  CHECK_ERROR(Error::NotSupported, "memory on ext_dev:0 cannot be read by the host",
              tenon::const_data_ptr<float>(t));
  CHECK(tenon::backend_deallocate(t) == tenon::Deallocation::Ok);
  CHECK(tenon::backend_deallocate(t) == tenon::Deallocation::AlreadyDeallocated);
}

TEST_CASE("lifetime: another backend at the same address is another one") {
  const Reports told;
  alignas(MinimalBackend) unsigned char place[sizeof(MinimalBackend)];
  auto* backend = ::new (static_cast<void*>(place)) MinimalBackend("first");
  const TensorPtr t = tenon::zeros({2}, *backend);
  backend->~MinimalBackend();
  backend = ::new (static_cast<void*>(place)) MinimalBackend("second");
  CHECK_ERROR(Error::InvalidState, "backend first, which was destroyed", tenon::backend_of(t));
  CHECK(backend->live_blocks() == 0);
  backend->~MinimalBackend();
  CHECK(told.count() == 1);
}

TEST_CASE("lifetime: a blob keeps the memory in use") {
  MinimalBackend backend;
  tenon::Blob blob;
  {
    const TensorPtr t = tenon::zeros({2}, backend);
    blob = tenon::to_blob(t);
  }
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.used() == 8);
  blob = tenon::Blob();
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.used() == 0);
}

TEST_CASE("no memory: the message has the backend's name, the bytes and its own text") {
  MinimalBackend backend("gpu");
  backend.room = 100;
  CHECK_ERROR(Error::OutOfMemory, "zeros: backend gpu has no memory for 400 bytes",
              tenon::zeros({100}, backend));
  CHECK(std::string(tenon::last_error_message()) ==
        "zeros: backend gpu has no memory for 400 bytes");
  backend.refusal = "100 bytes are all it has";
  const auto result = tenon::try_empty({100}, backend);
  CHECK(result.error() == Error::OutOfMemory);
  CHECK(std::string(result.message()) ==
        "try_empty: backend gpu has no memory for 400 bytes: 100 bytes are all it has");
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("no memory: it is the backend's in every creator, and nothing stays behind") {
  MinimalBackend backend("gpu");
  backend.room = 0;
  const TensorPtr source = tenon::zeros({3});
  const char* const words = "backend gpu has no memory for 12 bytes";
  CHECK_ERROR(Error::OutOfMemory, words, tenon::empty({3}, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::full({3}, 1, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::zeros_like(source, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::arange(3, ScalarType::Int, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::iota({3}, ScalarType::Int, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::eye(3, 1, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::rand({3}, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::make_tensor_ptr({1, 2, 3}, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::clone_tensor_ptr(source, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::backend_copy(source, backend));
  CHECK_ERROR(Error::OutOfMemory, words, tenon::backend_transfer(source, backend));
  CHECK(tests::values<float>(source) == std::vector<float>{0, 0, 0});
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("failures: a creator that fails half-way gives everything back") {
  CountingBackend backend;
  const auto check = [&](const char* operation, const auto& make) {
    INFO(operation);
    for (const Answer answer : {Answer::Fails, Answer::Throws}) {
      backend.will[operation] = answer;
      CHECK_FALSE(make().ok());
      backend.will[operation] = Answer::Does;
      CHECK(backend.live_blocks() == 0);
      CHECK(backend.used() == 0);
    }
  };
  const std::vector<uint8_t> bytes(4, 1);
  const TensorPtr host = tenon::zeros({2, 3});
  check("constant", [&] { return tenon::try_full({3}, 2, backend); });
  check("constant", [&] { return tenon::try_ones_like(host, backend); });
  check("constant", [&] { return tenon::try_make_tensor_ptr(3, backend); });
  check("eye", [&] { return tenon::try_eye(3, backend); });
  check("iota", [&] { return tenon::try_iota({3}, backend); });
  check("random_uniform", [&] { return tenon::try_rand({3}, backend); });
  check("random_normal", [&] { return tenon::try_randn({3}, backend); });
  check("copy_from_host", [&] { return tenon::try_arange(3, backend); });
  check("copy_from_host", [&] { return tenon::try_make_tensor_ptr({1, 2}, backend); });
  check("copy_from_host", [&] { return tenon::try_backend_copy(host, backend); });
  check("copy", [&] { return tenon::try_clone_tensor_ptr(host, ScalarType::Double, backend); });
}

TEST_CASE("failures: a value that does not fit asks for no memory") {
  MinimalBackend backend;
  CHECK_ERROR(Error::InvalidArgument, "full: ", tenon::full({2}, 300, ScalarType::Byte, backend));
  CHECK_ERROR(Error::InvalidArgument, "zeros: ", tenon::zeros({-1}, backend));
  CHECK_ERROR(Error::InvalidArgument,
              "make_tensor_ptr: ", tenon::make_tensor_ptr({3}, {1, 2}, backend));
  CHECK(backend.calls["allocate"] == 0);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("resize: a tensor grows in its backend's memory and keeps its elements") {
  MinimalBackend backend;
  TensorPtr t = tenon::make_tensor_ptr({1, 2, 3}, kDynamic, backend);
  backend.uploaded = 0;
  CHECK(tenon::resize_tensor_ptr(t, {6}) == Error::Ok);
  CHECK(&tenon::backend_of(t) == &backend);
  CHECK(backend.used() == 24);
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.calls["copy_within"] == 1);
  CHECK(backend.uploaded == 0);
  CHECK(backend.downloaded == 0);
  Ints values = fetched(t);
  values.resize(3);
  CHECK(values == Ints{1, 2, 3});
  CHECK(tenon::resize_tensor_ptr(t, {2}) == Error::Ok);
  CHECK(tenon::resize_tensor_ptr(t, {3, 2}) == Error::Ok);
  CHECK(backend.calls["allocate"] == 2);
  t.reset();
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.faults == 0);
}

TEST_CASE("resize: what cannot grow in the backend's memory stays as it was") {
  MinimalBackend backend("gpu");
  TensorPtr t = tenon::make_tensor_ptr({1, 2, 3}, kDynamic, backend);
  backend.room = 20;
  CHECK_RETURNS(Error::OutOfMemory, "resize_tensor_ptr: backend gpu has no memory for 20 bytes",
                tenon::resize_tensor_ptr(t, {5}));
  backend.room = SIZE_MAX;
  backend.will["copy_within"] = Answer::Fails;
  CHECK_RETURNS(Error::AccessFailed, "resize_tensor_ptr: backend gpu failed in copy_within",
                tenon::resize_tensor_ptr(t, {5}));
  CHECK_RETURNS(Error::AccessFailed, "reserve_tensor_ptr: backend gpu failed in copy_within",
                tenon::reserve_tensor_ptr(t, 100));
  CHECK(fetched(t) == Ints{1, 2, 3});
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.used() == 12);
  const Tensor view = tenon::select(t, 0, 0);
  CHECK_RETURNS(Error::InUse, "a view or blob of the tensor is alive",
                tenon::resize_tensor_ptr(t, {5}));
}

TEST_CASE("resize: where double the room is too much, what is needed is taken") {
  MinimalBackend backend;
  TensorPtr t = tenon::make_tensor_ptr({1, 2, 3, 4}, kDynamic, backend);
  backend.room = 16 + 20;
  CHECK(tenon::resize_tensor_ptr(t, {5}) == Error::Ok);
  CHECK(backend.last_nbytes == 20);
  CHECK(backend.used() == 20);
}

TEST_CASE("resize: adopted memory of a backend's grows to the backend's own") {
  MinimalBackend backend;
  tests::Calls calls;
  void* const p = backend.allocate(8, 64);
  const int32_t values[2] = {7, 8};
  REQUIRE(backend.copy_from_host(p, values, 8) == Error::Ok);
  {
    TensorPtr t = tenon::from_blob(p, {2}, ScalarType::Int, calls.deleter(), kDynamic, backend);
    CHECK(tenon::reserve_tensor_ptr(t, 40) == Error::Ok);
    CHECK(calls.count == 1);
    CHECK(tenon::ownership(t) == tenon::Ownership::Owned);
    CHECK(fetched(t) == Ints{7, 8});
    CHECK(backend.live_blocks() == 1);
  }
  CHECK(calls.count == 1);
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.used() == 8);
  backend.deallocate(p, 8);
}

TEST_CASE("to_string: of a backend's memory it fetches what it shows and nothing else") {
  MinimalBackend backend;
  const TensorPtr small = tenon::make_tensor_ptr({2, 2}, {1, 2, 3, 4}, backend);
  CHECK(tenon::to_string(small) == "[[1 2]\n [3 4]]\nInt {2, 2} on ext_dev:0");
  CHECK(backend.downloaded == 16);
  const TensorPtr large = tenon::arange(1000000, ScalarType::Int, backend);
  backend.downloaded = 0;
  CHECK(tenon::to_string(large) ==
        "[     0      1      2 ... 999997 999998 999999]\nInt {1000000} on ext_dev:0");
  CHECK(backend.downloaded == 24);
  const TensorPtr square = tenon::iota({200, 300}, ScalarType::Int, backend);
  const TensorPtr twin = tenon::iota({200, 300}, ScalarType::Int);
  backend.downloaded = 0;
  const std::string there = tenon::to_string(square);
  CHECK(backend.downloaded == 6 * 6 * 4);
  const std::string here = tenon::to_string(twin);
  CHECK(there == here + " on ext_dev:0");
  const std::string turned = tenon::to_string(tenon::transpose(twin, 0, 1));
  const size_t at = turned.rfind(", strides");
  CHECK(tenon::to_string(tenon::transpose(square, 0, 1)) ==
        turned.substr(0, at) + " on ext_dev:0" + turned.substr(at));
  CHECK(backend.faults == 0);
}

TEST_CASE("to_string: a backend that fails is named in the text") {
  MinimalBackend backend("gpu");
  const TensorPtr t = tenon::zeros({2}, backend);
  backend.will["copy_to_host"] = Answer::Fails;
  CHECK(tenon::to_string(t) ==
        "Float {2} on ext_dev:0, not shown: backend gpu failed in copy_to_host: the cable is out");
}
