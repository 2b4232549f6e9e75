// SPDX-License-Identifier: MIT
#include "tenon/tensor/clone.h"

#include "backend/calling_backend.h"
#include "backend/device_helpers.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace transfer_test {

using namespace tenon;
using namespace tests;

namespace {

/// What is in a tensor, fetched by the host.
Floats fetched(const TensorPtr& t) { return values<float>(backend_copy(t, host_backend())); }

/// An int on a device, without a backend's memory.
TensorPtr on(const char* device) {
  static int element = 0;
  return for_blob(static_cast<void*>(&element), {1}, ScalarType::Int)
      .device(device)
      .make_tensor_ptr();
}

}  // namespace

TEST_CASE("backend_of: who gave the memory, for views too, else who is registered for the device") {
  MinimalBackend backend;
  const TensorPtr t = empty({2, 3}, backend);
  CHECK(&backend_of(t) == &backend);
  CHECK(&backend_of(tenon::select(t, 0, 1)) == &backend);
  CpuBackend cpu;
  float data[2] = {};
  for (const TensorPtr& host : {empty({2}), empty({2}, cpu), from_blob(data, {2})}) {
    CHECK(&backend_of(host) == &host_backend());
  }
  const TensorPtr far = on("ext_dev:0");
  RAISES(NotFound, "backend_of: no backend is registered for ext_dev:0", backend_of(far));
  register_backend(backend);
  CHECK(&backend_of(far) == &backend);
  RAISES(InvalidState, "backend_of: the tensor is undefined", backend_of(Tensor()));
  REQUIRE(backend_deallocate(t) == Deallocation::Ok);
  RAISES(InvalidState, "backend_of: the tensor, of sizes {2, 3}, was deallocated", backend_of(t));
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_copy: there, within it and back, the source stays") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2, 2}, {1.f, 2.f, 3.f, 4.f});
  const TensorPtr there = backend_copy(a, backend);
  CHECK(&backend_of(there) == &backend);
  CHECK(device(there) == backend.device());
  CHECK(ownership(there) == Ownership::Owned);
  CHECK(backend.get<float>(const_data_ptr(there), 3) == 4.f);
  backend.calls.clear();
  const TensorPtr second = backend_copy(there, backend);
  CHECK(const_data_ptr(second) != const_data_ptr(there));
  CHECK(backend.calls["copy_within"] == 1);
  CHECK(backend.calls["copy_from_host"] == 0);
  const TensorPtr back = backend_copy(second, host_backend());
  CHECK(&backend_of(back) == &host_backend());
  for (const TensorPtr* t : {&a, &there, &back}) CHECK(fetched(*t) == Floats{1, 2, 3, 4});
  CHECK(backend.faults == 0);
}

TEST_CASE("backend_copy: shape, type and dynamism are the source's, what has gaps becomes dense") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, {1, 0}, {1, 2}, ScalarType::Int,
                                      TensorShapeDynamism::STATIC);
  const TensorPtr b = backend_copy(a, backend);
  CHECK(strides(b) == Vector{1, 2});
  CHECK(b->scalar_type() == ScalarType::Int);
  CHECK(shape_dynamism(b) == TensorShapeDynamism::STATIC);
  CHECK(values<int32_t>(backend_copy(b, host_backend())) == Ints{0, 2, 4, 1, 3, 5});
  const TensorPtr rows = make_tensor_ptr({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const TensorPtr c = backend_copy(slice(rows, 1, 0, 3, 2), backend);
  CHECK(strides(c) == Vector{2, 1});
  CHECK(backend.used() == 24 + 16);
  CHECK(fetched(c) == Floats{1, 3, 4, 6});
  CHECK(values<float>(backend_copy(transpose(c, 0, 1), host_backend())) == Floats{1, 4, 3, 6});
  backend.calls.clear();
  const TensorPtr nothing = backend_copy(empty({0, 3}), backend);
  CHECK(sizes(nothing) == Vector{0, 3});
  CHECK(&backend_of(nothing) == &backend);
  CHECK(backend.calls.empty());
}

TEST_CASE("backend_copy: what cannot be copied is refused, and nothing stays allocated") {
  MinimalBackend backend("gpu");
  RAISES(InvalidState, "backend_copy: the source tensor is undefined",
         backend_copy(Tensor(), backend));
  RAISES(InvalidState, "backend_copy: the source tensor is a placeholder without data",
         backend_copy(make_tensor_ptr({2}, nullptr), backend));
  RAISES(NotSupported,
         "backend_copy: the source tensor is on ext_dev:3, which the host cannot reach; no "
         "backend is registered for it",
         backend_copy(on("ext_dev:3"), backend));
  backend.will["copy_from_host"] = Answer::Fails;
  const TensorPtr t = zeros({4});
  RAISES(AccessFailed, "backend_copy: backend gpu failed in copy_from_host: the cable is out",
         backend_copy(t, backend));
  RETURNS(AccessFailed, "try_backend_copy: backend gpu failed in copy_from_host: the",
          try_backend_copy(t, backend).error());
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.used() == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_transfer: the source is deallocated, in all its handles") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2}, {1.f, 2.f});
  const TensorPtr other = make_tensor_ptr(a);
  const TensorPtr b = backend_transfer(a, backend);
  CHECK(&backend_of(b) == &backend);
  CHECK(fetched(b) == Floats{1, 2});
  for (const TensorPtr* t : {&a, &other}) {
    CHECK(backend_deallocate(*t) == Deallocation::AlreadyDeallocated);
    RAISES(InvalidState, "the tensor, of sizes {2}, was deallocated", const_data_ptr(*t));
  }
  CHECK(values<float>(backend_transfer(b, host_backend())) == Floats{1, 2});
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("backend_transfer: to where it lives already it is the same tensor, views or not") {
  MinimalBackend backend;
  CpuBackend cpu;
  register_backend(backend);
  const TensorPtr a = zeros({3}, backend);
  const Tensor view = tenon::select(a, 0, 0);
  backend.calls.clear();
  const auto check = [](const TensorPtr& t, Backend& to) {
    CHECK(backend_transfer(t, to)->unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  };
  check(a, backend);
  check(zeros({3}), cpu);
  check(on("ext_dev:0"), backend);
  CHECK(backend.calls.empty());
}

// A promise of docs/guarantees.md.
TEST_CASE("backend_transfer: views and blobs keep the source where it is") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2}, {1.f, 2.f});
  const char* const words = "backend_transfer: views or exports of the source tensor are alive";
  {
    const Tensor view = tenon::select(a, 0, 0);
    RAISES(InUse, words, backend_transfer(a, backend));
    RAISES(InUse, words, backend_transfer(view, backend));
    CHECK(values<float>(view) == Floats{1});
  }
  {
    const Blob blob = to_blob(a);
    RAISES(InUse, words, backend_transfer(a, backend));
  }
  CHECK(values<float>(a) == Floats{1, 2});
  CHECK(backend.calls["allocate"] == 0);
  {
    // A view that is made while the backend copies.
    Tensor view;
    backend.use = [&] { backend.use = [&] { view = tenon::select(a, 0, 0); }; };
    RAISES(InUse, words, backend_transfer(a, backend));
    CHECK(values<float>(view) == Floats{1});
    CHECK(backend.used() == 0);
  }
  CHECK(fetched(backend_transfer(a, backend)) == Floats{1, 2});
}

TEST_CASE("backend_transfer: adopted memory is released once, and once it is copied") {
  MinimalBackend backend;
  Calls calls;
  float data[2] = {1, 2};
  const TensorPtr a = from_blob(data, {2}, ScalarType::Float, calls.deleter());
  backend.will["copy_from_host"] = Answer::Fails;
  RAISES(AccessFailed, "the cable is out", backend_transfer(a, backend));
  CHECK(calls.count == 0);
  CHECK(values<float>(a) == Floats{1, 2});
  backend.will.clear();
  const TensorPtr b = backend_transfer(a, backend);
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
  CHECK(fetched(b) == Floats{1, 2});
}

TEST_CASE("backend_transfer: undefined, deallocated tensors and placeholders are refused") {
  MinimalBackend backend;
  RAISES(InvalidState, "backend_transfer: the source tensor is undefined",
         backend_transfer(TensorPtr(), backend));
  const TensorPtr t = zeros({2}, backend);
  REQUIRE(backend_deallocate(t) == Deallocation::Ok);
  RAISES(InvalidState, "backend_transfer: the source tensor, of sizes {2}, was deallocated",
         backend_transfer(t, backend));
  RAISES(InvalidState, "backend_transfer: the source tensor is a placeholder",
         backend_transfer(make_tensor_ptr({2}, nullptr), backend));
  CHECK(try_backend_transfer(t, backend).error() == Error::InvalidState);
}

TEST_CASE("synchronize: the backend is asked, and its error is reported") {
  MinimalBackend backend("gpu");
  CHECK(synchronize(backend) == Error::Ok);
  CHECK(backend.calls["synchronize"] == 1);
  backend.will["synchronize"] = Answer::Fails;
  RETURNS(AccessFailed, "synchronize: backend gpu failed in synchronize: the cable is out",
          synchronize(backend));
  backend.will["synchronize"] = Answer::Throws;
  RETURNS(Internal, "synchronize: backend gpu failed in synchronize: thrown on the way",
          synchronize(backend));
}

TEST_CASE("Deallocation: its names") {
  CHECK(std::string(toString(Deallocation::Ok)) == "Ok");
  CHECK(std::string(toString(Deallocation::AlreadyDeallocated)) == "AlreadyDeallocated");
  CHECK(std::string(toString(Deallocation::InUse)) == "InUse");
}

TEST_CASE("clone_tensor_ptr_to: to the backend of the device, back, across and on one device") {
  RecordingDevice cuda0;
  RecordingDevice cuda1(Device(DeviceType::CUDA, 1));
  register_backend(cuda0);
  register_backend(cuda1);
  const TensorPtr a = make_tensor_ptr({2, 2}, {1.f, 2.f, 3.f, 4.f});
  const TensorPtr there = clone_tensor_ptr_to(a, DeviceType::CUDA);
  CHECK(&backend_of(there) == &cuda0);
  CHECK(device(there) == Device("cuda:0"));
  CHECK(ownership(there) == Ownership::Owned);
  const TensorPtr across = clone_tensor_ptr_to(there, "cuda:1");
  CHECK(&backend_of(across) == &cuda1);
  CHECK(cuda1.calls.front() == "copy_between cuda:0");
  cuda1.calls.clear();
  const TensorPtr second = clone_tensor_ptr_to(*across, "cuda:1");
  CHECK(&backend_of(second) == &cuda1);
  CHECK(const_data_ptr(second) != const_data_ptr(across));
  CHECK(cuda1.calls == Texts{"copy_within"});
  const TensorPtr back = clone_tensor_ptr_to(second, DeviceType::CPU);
  CHECK(&backend_of(back) == &host_backend());
  CHECK(values<float>(back) == Floats{1, 2, 3, 4});
  CHECK(values<float>(a) == Floats{1, 2, 3, 4});
}

TEST_CASE("clone_tensor_ptr_to: the cpu is the host's heap, whatever holds or asks for memory") {
  alignas(64) unsigned char room[2048];
  ArenaBackend arena(room, sizeof room);
  const BackendScope scope(arena);
  const TensorPtr a = full({3}, 7.f);
  const TensorPtr there = clone_tensor_ptr_to(a, "cpu");
  CHECK(&backend_of(there) == &host_backend());
  CHECK(values<float>(there) == Floats{7, 7, 7});
}

TEST_CASE("clone_tensor_ptr_to: a device without a backend is NotFound, and names it") {
  const TensorPtr a = zeros({2});
  RAISES(NotFound, "clone_tensor_ptr_to: no backend is registered for cuda:1",
         clone_tensor_ptr_to(a, "cuda:1"));
  RETURNS(NotFound, "try_clone_tensor_ptr_to: no backend is registered for",
          try_clone_tensor_ptr_to(a, "cuda_host").error());
  RAISES(InvalidState, "clone_tensor_ptr_to: the source tensor is undefined",
         clone_tensor_ptr_to(Tensor(), "cpu"));
}

TEST_CASE("backend_transfer: a backend may drop the source while it allocates") {
  CallingBackend backend;
  Calls calls;
  Ints elements = {1, 2, 3};
  auto source = from_blob(elements.data(), {3}, ScalarType::Int, calls.deleter());
  backend.use = [&] { source.reset(); };
  const auto t = backend_transfer(source, backend);
  CHECK(values<int32_t>(t) == elements);
  CHECK(calls.count == 1);
}

}  // namespace transfer_test
