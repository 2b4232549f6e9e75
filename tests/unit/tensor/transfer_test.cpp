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
  const TensorPtr back = clone_tensor_ptr_to(across, DeviceType::CPU);
  CHECK(&backend_of(back) == &host_backend());
  CHECK(values<float>(back) == Floats{1, 2, 3, 4});
}

TEST_CASE("clone_tensor_ptr_to: a device without a backend is NotFound, and names it") {
  const TensorPtr a = zeros({2});
  RAISES(NotFound, "clone_tensor_ptr_to: no backend is registered for cuda:1",
         clone_tensor_ptr_to(a, "cuda:1"));
  RETURNS(NotFound, "try_clone_tensor_ptr_to: no backend is registered for",
          try_clone_tensor_ptr_to(a, "cuda_host").error());
}

}  // namespace transfer_test
