// SPDX-License-Identifier: MIT
// Backends that go before their tensors, that have no memory, and whose tensors grow.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace backend_lifetime_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

Ints fetched(const TensorPtr& t) { return values<int32_t>(backend_copy(t, host_backend())); }

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: a backend that goes first says so once; its tensors' elements are errors") {
  const Reports told;
  TensorPtr t;
  TensorPtr nothing;
  Tensor view;
  {
    MinimalBackend backend("gpu");
    t = zeros({2, 3}, kDynamic, backend);
    nothing = zeros({0}, backend);
    view = tenon::select(t, 0, 1);
  }
  CHECK(contains(told.last(), "InUse: backend gpu was destroyed with 2 of its blocks in use"));
  view = Tensor();
  nothing.reset();
  const std::string words = " is in memory of backend gpu, which was destroyed";
  const TensorPtr host = zeros({2, 3});
  CHECK(sizes(t) == Vector{2, 3});
  RAISES(InvalidState, "backend_of: the tensor" + words, backend_of(t));
  RETURNS(InvalidState, "copy_: the source" + words, copy_(host, t));
  RETURNS(InvalidState, "copy_: the destination" + words, copy_(t, host));
  RETURNS(InvalidState, "fill_: the tensor" + words, fill_(t, 1));
  RETURNS(InvalidState, "uniform_: the tensor" + words, uniform_(t));
  RAISES(InvalidState, "to_binary: the tensor" + words, to_binary(t));
  RAISES(InvalidState, "clone_tensor_ptr: the source tensor" + words, clone_tensor_ptr(t));
  RAISES(InvalidState, "zeros_like: the source tensor" + words, zeros_like(t));
  RAISES(InvalidState, "backend_copy: the source tensor" + words, backend_copy(t, host_backend()));
  RAISES(InvalidState, "backend_transfer: the source tensor" + words,
         backend_transfer(t, host_backend()));
  RAISES(InvalidState, words, contiguous(transpose(t, 0, 1)));
  RETURNS(InvalidState, "resize_tensor_ptr: the tensor" + words, resize_tensor_ptr(t, {100}));
  CHECK(contains(tenon::to_string(t), "not shown: the tensor" + words));
  RAISES(NotSupported, "the tensor is on ext_dev:0, which the host cannot reach",
         const_data_ptr<float>(t));
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  CHECK(backend_deallocate(t) == Deallocation::AlreadyDeallocated);
  t.reset();
  CHECK(told.count() == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: memory that the host reads is not read once its backend is gone") {
  const Reports told;
  alignas(64) char buffer[4096];
  TensorPtr t;
  {
    ArenaBackend arena(buffer, sizeof buffer);
    t = zeros({1}, arena);
  }
  const std::string words = "the tensor is in memory of backend arena, which was destroyed";
  CHECK(contains(tenon::to_string(t), "not shown: " + words));
  RAISES(InvalidState, words, const_data_ptr<float>(t));
  RAISES(InvalidState, words, mutable_data_ptr<float>(t));
  RAISES(InvalidState, words, (tenon::accessor<const float, 1>(*t)));
  RAISES(InvalidState, words, tenon::item<float>(t));
  ATEN_LACKS(RAISES(InvalidState, words, t->item<float>());)
  RAISES(InvalidState, words, to_dlpack(t));
  RAISES(InvalidState, "the source tensor is in memory of backend arena", to_blob(t));
  t.reset();
  CHECK(told.count() == 1);
}

#if !TENON_ATEN_MODE
namespace {

/// Each way to the address of a tensor's elements says that they are gone; its metadata stays.
void check_no_way_to_elements(const TensorPtr& t, const std::string& words) {
  RAISES(InvalidState, "const_data_ptr: the tensor" + words, const_data_ptr(t));
  RAISES(InvalidState, "const_data_ptr: the tensor" + words, const_data_ptr<float>(t));
  RAISES(InvalidState, "mutable_data_ptr: the tensor" + words, mutable_data_ptr(t));
  RAISES(InvalidState, "mutable_data_ptr: the tensor" + words, mutable_data_ptr<float>(t));
  RAISES(InvalidState, "data: the tensor" + words, tenon::data<float>(t));
  RAISES(InvalidState, "data: the tensor" + words, tenon::data<const float>(t));
  RAISES(InvalidState, "accessor: the tensor" + words, (tenon::accessor<float, 1>(t)));
  RAISES(InvalidState, "item: the tensor" + words, item<float>(tenon::select(t, 0, 0)));
  RAISES(InvalidState, "as_view: the tensor" + words, as_view(t));
  RAISES(InvalidState, words, to_blob(t));
  RAISES(InvalidState, words, to_owned_blob(t));
  RAISES(InvalidState, words, to_dlpack(t));
  RAISES(InvalidState, words, to_dlpack_legacy(t));
  RAISES(InvalidState, words, to_binary(t));
  CHECK(t->numel() == 400);
  RAISES(InvalidState, "const_data_ptr: the tensor" + words, t->const_data_ptr());
  RAISES(InvalidState, "const_data_ptr: the tensor" + words, t->const_data_ptr<float>());
  RAISES(InvalidState, "mutable_data_ptr: the tensor" + words, t->mutable_data_ptr());
  RAISES(InvalidState, "mutable_data_ptr: the tensor" + words, t->mutable_data_ptr<float>());
  RAISES(InvalidState, "data_ptr: the tensor" + words, t->data_ptr());
  RAISES(InvalidState, "data_ptr: the tensor" + words, t->data_ptr<const float>());
  RAISES(InvalidState, "data: the tensor" + words, t->data<const float>());
  RAISES(InvalidState, "accessor: the tensor" + words, (t->accessor<const float, 1>()));
  RAISES(InvalidState, "as_view: the tensor" + words, t->as_view());
  RAISES(InvalidState, "data: the tensor" + words, t->impl()->data());
  RAISES(InvalidState, "data: the tensor" + words, t->impl()->data<float>());
  RAISES(InvalidState, "mutable_data: the tensor" + words, t->impl()->mutable_data());
  RAISES(InvalidState, "mutable_data: the tensor" + words, t->impl()->mutable_data<float>());
}
/// Blobs and structs that were made before.
void check_no_way_through_exports(const Blob& blob,
                                  tenon::dlpack::DLManagedTensorVersioned* managed,
                                  const std::string& words) {
  const TensorPtr host = zeros({400});
  RAISES(InvalidState, "as_view: the blob" + words, blob.as_view());
  RAISES(InvalidState, "accessor: the blob" + words, (tenon::accessor<float, 1>(blob)));
  RAISES(InvalidState, "from_blob: the blob" + words, from_blob(blob));
  RAISES(InvalidState, "from_blob: the blob" + words, from_blob(blob, 5));
  RETURNS(InvalidState, "assign: the blob" + words, assign(host, blob));
  RETURNS(InvalidState, "copy_to: the blob" + words, copy_to(host, blob));
  CHECK_FALSE(can_assign(host, blob));
  CHECK(blob.nbytes() == 1600);
  RAISES(InvalidState, "from_dlpack: the exported tensor" + words, from_dlpack(managed));
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: no pointer, view, Blob or struct leads to memory whose backend is gone",
          "[plain]") {
  const Reports told;
  static char buffer[1 << 15];
  auto arena = std::make_unique<ArenaBackend>(buffer, sizeof buffer);
  std::pmr::monotonic_buffer_resource resource;
  auto below = std::make_unique<PmrBackend>(&resource);
  PoolBackend pool(*below);
  TrackingBackend tracking(pool);
  float memory[400] = {};
  const std::string in_arena = " is in memory of backend arena, which was destroyed";
  const std::string wrapped = ", and the backend that it wraps was destroyed";
  struct Row {
    TensorPtr tensor;
    std::string words;
  };
  std::vector<Row> rows;
  rows.push_back({zeros({400}, *arena), in_arena});
  rows.push_back({make_tensor_ptr(tenon::slice(zeros({402}, *arena), 0, 2, 402)), in_arena});
  rows.push_back({from_blob(memory, {400}, *arena), in_arena});
  rows.push_back({zeros({400}, pool), " is in memory of backend pool" + wrapped});
  rows.push_back({zeros({400}, tracking), " is in memory of backend tracking" + wrapped});
  std::vector<Blob> blobs;
  std::vector<tenon::dlpack::DLManagedTensorVersioned*> structs;
  for (const Row& row : rows) {
    blobs.push_back(to_blob(row.tensor));
    structs.push_back(to_dlpack(row.tensor));
  }
  arena.reset();
  below.reset();
  size_t i = 0;
  for (const Row& row : rows) {
    INFO(i << row.words);
    check_no_way_to_elements(row.tensor, row.words);
    check_no_way_through_exports(blobs[i], structs[i], row.words);
    ++i;
  }
  CHECK(told.count() == 2);
}
#endif

TEST_CASE("lifetime: a backend that goes before its pool and its tracker says so, and no more") {
  const Reports told;
  auto backend = std::make_unique<MinimalBackend>("gpu");
  PoolBackend pool(*backend);
  PoolBackend unused(*backend);
  TrackingBackend tracking(pool);
  TensorPtr t = zeros({2, 3}, tracking);
  zeros({400}, tracking);  // kept by the pool
  backend.reset();
  CHECK(told.count() == 1);
  CHECK(contains(told.last(), "backend gpu was destroyed before a backend that wraps it"));
  RETURNS(InvalidState,
          "in memory of backend tracking, and the backend that it wraps was destroyed",
          fill_(t, 1));
  RAISES(InvalidState,
         "backend tracking has no memory, and the backend that it wraps was destroyed",
         zeros({400}, tracking));
  RAISES(InvalidState, "zeros: backend has no memory, and the backend that it wraps was destroyed",
         zeros({4}, unused));
  t.reset();
  CHECK(told.count() == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: another backend at the same address is another one") {
  const Reports told;
  alignas(MinimalBackend) unsigned char place[sizeof(MinimalBackend)];
  auto* backend = ::new (static_cast<void*>(place)) MinimalBackend("first");
  const TensorPtr t = zeros({2}, *backend);
  backend->~MinimalBackend();
  backend = ::new (static_cast<void*>(place)) MinimalBackend("second");
  RAISES(InvalidState, "backend first, which was destroyed", backend_of(t));
  CHECK(backend->live_blocks() == 0);
  backend->~MinimalBackend();
  CHECK(told.count() == 1);
}

TEST_CASE("no memory: every creator says whose, how much and why; nothing stays behind") {
  MinimalBackend backend("gpu");
  backend.room = 0;
  backend.refusal = "it is all used";
  const TensorPtr source = zeros({3});
  const char* const words = "backend gpu has no memory for 12 bytes: it is all used";
  RAISES(OutOfMemory, std::string("empty: ") + words, empty({3}, backend));
  RAISES(OutOfMemory, words, full({3}, 1, backend));
  RAISES(OutOfMemory, words, zeros_like(source, backend));
  RAISES(OutOfMemory, words, arange(3, ScalarType::Int, backend));
  RAISES(OutOfMemory, words, iota({3}, ScalarType::Int, backend));
  RAISES(OutOfMemory, words, eye(3, 1, backend));
  RAISES(OutOfMemory, words, tenon::rand({3}, backend));
  RAISES(OutOfMemory, words, make_tensor_ptr({1, 2, 3}, backend));
  RAISES(OutOfMemory, words, clone_tensor_ptr(source, backend));
  RAISES(OutOfMemory, words, backend_copy(source, backend));
  RAISES(OutOfMemory, words, backend_transfer(source, backend));
  CHECK(values<float>(source) == Floats{0, 0, 0});
  backend.refusal = "";
  RETURNS(OutOfMemory, "try_empty: backend gpu has no memory for 400 bytes",
          try_empty({100}, backend).error());
  CHECK(backend.live_blocks() == 0);
}

// A promise of docs/guarantees.md.
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
  const TensorPtr host = zeros({2, 3});
  check("constant", [&] { return try_ones_like(host, backend); });
  check("copy_from_host", [&] { return try_arange(3, backend); });
  check("copy_from_host", [&] { return try_make_tensor_ptr({1, 2}, backend); });
  check("copy_from_host", [&] { return try_backend_copy(host, backend); });
  check("copy", [&] { return try_clone_tensor_ptr(host, ScalarType::Double, backend); });
}

TEST_CASE("resize: a tensor grows in its backend's memory and keeps its elements, or all stays") {
  MinimalBackend backend("gpu");
  TensorPtr t = make_tensor_ptr({1, 2, 3}, kDynamic, backend);
  backend.uploaded = 0;
  backend.room = 20;
  RETURNS(OutOfMemory, "resize_tensor_ptr: backend gpu has no memory for 20 bytes",
          resize_tensor_ptr(t, {5}));
  backend.room = SIZE_MAX;
  backend.will["copy_within"] = Answer::Fails;
  RETURNS(AccessFailed, "resize_tensor_ptr: backend gpu failed in copy_within",
          resize_tensor_ptr(t, {5}));
  backend.will.clear();
  {
    const Tensor view = tenon::select(t, 0, 0);
    RETURNS(InUse, "a view or blob of the tensor is alive", resize_tensor_ptr(t, {5}));
  }
  CHECK(fetched(t) == Ints{1, 2, 3});
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.used() == 12);
  backend.downloaded = 0;
  CHECK(resize_tensor_ptr(t, {6}) == Error::Ok);
  CHECK(&backend_of(t) == &backend);
  CHECK(backend.used() == 24);
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.uploaded + backend.downloaded == 0);
  Ints values = fetched(t);
  values.resize(3);
  CHECK(values == Ints{1, 2, 3});
  backend.room = 24 + 28;  // double the room is too much, what is needed is not
  CHECK(resize_tensor_ptr(t, {7}) == Error::Ok);
  CHECK(backend.used() == 28);
  t.reset();
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.faults == 0);
}

TEST_CASE("to_string: of a backend's memory it fetches what it shows and nothing else") {
  MinimalBackend backend;
  const TensorPtr small = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, backend);
  CHECK(tenon::to_string(small) == "[[1 2]\n [3 4]]\nInt {2, 2} on ext_dev:0");
  CHECK(backend.downloaded == 16);
  const TensorPtr large = arange(1000000, ScalarType::Int, backend);
  backend.downloaded = 0;
  CHECK(tenon::to_string(large) ==
        "[     0      1      2 ... 999997 999998 999999]\nInt {1000000} on ext_dev:0");
  CHECK(backend.downloaded == 24);
  for (const Dims& sizes : {Dims{9, 5, 40}, Dims{1, 7, 1, 300}}) {
    for (int edge_items : {0, 3}) {
      const FormatOptions options{edge_items, 1000, 4, 80};
      CHECK(tenon::to_string(iota(sizes, ScalarType::Int, backend), options) ==
            tenon::to_string(iota(sizes, ScalarType::Int), options) + " on ext_dev:0");
    }
  }
  CHECK(backend.faults == 0);
}

TEST_CASE("to_string: a backend that fails is named in the text") {
  MinimalBackend backend("gpu");
  const TensorPtr t = zeros({2}, backend);
  backend.will["copy_to_host"] = Answer::Fails;
  CHECK(tenon::to_string(t) ==
        "Float {2} on ext_dev:0, not shown: backend gpu failed in copy_to_host: the cable is out");
}

}  // namespace backend_lifetime_test
