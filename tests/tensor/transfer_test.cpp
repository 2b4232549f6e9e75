// SPDX-License-Identifier: MIT
#include "tenon/tensor/transfer.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

/// What is in a tensor, fetched by the host.
Floats fetched(const TensorPtr& t) { return tests::values<float>(backend_copy(t, host_backend())); }

}  // namespace

TEST_CASE("backend_of: it is who gave the memory, for a view too") {
  MinimalBackend backend;
  const TensorPtr t = empty({2, 3}, backend);
  CHECK(&backend_of(t) == &backend);
  CHECK(&backend_of(*t) == &backend);
  CHECK(&backend_of(tenon::select(t, 0, 1)) == &backend);
}

TEST_CASE("backend_of: memory that the host reaches is the CPU's") {
  CHECK(&backend_of(empty({2})) == &host_backend());
  CpuBackend cpu;
  CHECK(&backend_of(empty({2}, cpu)) == &host_backend());
  float data[2] = {};
  CHECK(&backend_of(from_blob(data, {2})) == &host_backend());
}

TEST_CASE("backend_of: memory of another device is of the backend that is registered for it") {
  int dummy = 0;
  const TensorPtr t = for_blob(static_cast<void*>(&dummy), {1}, ScalarType::Int)
                          .device("ext_dev:0")
                          .make_tensor_ptr();
  RAISES(NotFound, "backend_of: no backend is registered for ext_dev:0", backend_of(t));
  MinimalBackend backend;
  register_backend(backend);
  CHECK(&backend_of(t) == &backend);
}

TEST_CASE("backend_of: an undefined and a deallocated tensor have none") {
  RAISES(InvalidState, "backend_of: the tensor is undefined", backend_of(Tensor()));
  MinimalBackend backend;
  const TensorPtr t = empty({2}, backend);
  backend_deallocate(t);
  RAISES(InvalidState, "backend_of: the tensor, of sizes {2}, was deallocated", backend_of(t));
}

TEST_CASE("backend_copy: there and back, the source stays") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2, 2}, {1.f, 2.f, 3.f, 4.f});
  const TensorPtr there = backend_copy(a, backend);
  CHECK(&backend_of(there) == &backend);
  CHECK(device(there) == backend.device());
  CHECK(ownership(there) == Ownership::Owned);
  CHECK(backend.get<float>(const_data_ptr(there), 3) == 4.f);
  const TensorPtr back = backend_copy(there, host_backend());
  CHECK(&backend_of(back) == &host_backend());
  CHECK(tests::values<float>(back) == Floats{1, 2, 3, 4});
  CHECK(tests::values<float>(a) == Floats{1, 2, 3, 4});
  CHECK(fetched(there) == Floats{1, 2, 3, 4});
  CHECK(backend.faults == 0);
}

TEST_CASE("backend_copy: on one backend it is a copy too, inside of it") {
  MinimalBackend backend;
  const TensorPtr a = full({4}, 3, backend);
  backend.calls.clear();
  const TensorPtr b = backend_copy(a, backend);
  CHECK(const_data_ptr(b) != const_data_ptr(a));
  CHECK(fetched(b) == Floats{3, 3, 3, 3});
  CHECK(backend.calls["copy_within"] == 1);
  CHECK(backend.calls["copy_from_host"] == 0);
}

TEST_CASE("backend_copy: shape, strides, type and dynamism are the source's") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, {1, 0}, {1, 2}, ScalarType::Int,
                                      TensorShapeDynamism::STATIC);
  const TensorPtr b = backend_copy(a, backend);
  CHECK(tests::strides(b) == tests::Vector{1, 2});
  CHECK(b->scalar_type() == ScalarType::Int);
  CHECK(shape_dynamism(b) == TensorShapeDynamism::STATIC);
  const TensorPtr c = backend_copy(b, host_backend());
  CHECK(tests::values<int32_t>(c) == std::vector<int32_t>{0, 2, 4, 1, 3, 5});
}

TEST_CASE("backend_copy: what has gaps becomes dense") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const TensorPtr b = backend_copy(slice(a, 1, 0, 3, 2), backend);
  CHECK(tests::strides(b) == tests::Vector{2, 1});
  CHECK(backend.used() == 16);
  CHECK(fetched(b) == Floats{1, 3, 4, 6});
  const TensorPtr c = backend_copy(transpose(b, 0, 1), host_backend());
  CHECK(tests::values<float>(c) == Floats{1, 4, 3, 6});
}

TEST_CASE("backend_copy: without elements nothing is moved") {
  MinimalBackend backend;
  const TensorPtr t = backend_copy(empty({0, 3}), backend);
  CHECK(tests::sizes(t) == tests::Vector{0, 3});
  CHECK(&backend_of(t) == &backend);
  CHECK(backend.used() == 0);
  CHECK(backend.calls["copy_from_host"] == 0);
}

TEST_CASE("backend_copy: undefined tensors and placeholders are refused") {
  MinimalBackend backend;
  RAISES(InvalidState, "backend_copy: the source tensor is undefined",
         backend_copy(Tensor(), backend));
  RAISES(InvalidState, "backend_copy: the source tensor is a placeholder without data",
         backend_copy(make_tensor_ptr({2}, nullptr), backend));
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("backend_copy: memory of a device that nobody knows is refused") {
  MinimalBackend backend;
  int dummy = 0;
  const TensorPtr t = for_blob(static_cast<void*>(&dummy), {1}, ScalarType::Int)
                          .device("ext_dev:3")
                          .make_tensor_ptr();
  RAISES(NotSupported,
         "backend_copy: the source tensor is on ext_dev:3, which the host cannot reach; no "
         "backend is registered for it",
         backend_copy(t, backend));
}

TEST_CASE("backend_copy: an error of the backend is reported, and nothing stays allocated") {
  MinimalBackend backend("gpu");
  backend.will["copy_from_host"] = Answer::Fails;
  const TensorPtr t = zeros({4});
  RAISES(AccessFailed, "backend_copy: backend gpu failed in copy_from_host: the cable is out",
         backend_copy(t, backend));
  CHECK(backend.live_blocks() == 0);
  CHECK(backend.used() == 0);
  const auto result = try_backend_copy(t, backend);
  CHECK(result.error() == Error::AccessFailed);
  CHECK(std::string(result.message()) ==
        "try_backend_copy: backend gpu failed in copy_from_host: the cable is out");
}

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
}

TEST_CASE("backend_transfer: back to the host, the backend's memory is free") {
  MinimalBackend backend;
  const TensorPtr a = full({3}, 4, backend);
  const TensorPtr b = backend_transfer(a, host_backend());
  CHECK(tests::values<float>(b) == Floats{4, 4, 4});
  CHECK(backend.used() == 0);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("backend_transfer: to where it lives already it is the same tensor") {
  MinimalBackend backend;
  const TensorPtr a = zeros({3}, backend);
  backend.calls.clear();
  const TensorPtr b = backend_transfer(a, backend);
  CHECK(b->unsafeGetTensorImpl() == a->unsafeGetTensorImpl());
  CHECK(backend.calls.empty());
  const TensorPtr c = zeros({3});
  CpuBackend cpu;
  CHECK(backend_transfer(c, cpu)->unsafeGetTensorImpl() == c->unsafeGetTensorImpl());
  // A view of it may stay, then.
  const Tensor view = tenon::select(a, 0, 0);
  CHECK(backend_transfer(a, backend)->unsafeGetTensorImpl() == a->unsafeGetTensorImpl());
}

TEST_CASE("backend_transfer: to the backend that is registered for its device it is the same") {
  MinimalBackend backend;
  register_backend(backend);
  int dummy = 0;
  const TensorPtr t = for_blob(static_cast<void*>(&dummy), {1}, ScalarType::Int)
                          .device("ext_dev:0")
                          .make_tensor_ptr();
  CHECK(backend_transfer(t, backend)->unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
}

TEST_CASE("backend_transfer: views and blobs keep the source where it is") {
  MinimalBackend backend;
  const TensorPtr a = make_tensor_ptr({2}, {1.f, 2.f});
  const char* const words = "backend_transfer: views or exports of the source tensor are alive";
  {
    const Tensor view = tenon::select(a, 0, 0);
    RAISES(InUse, words, backend_transfer(a, backend));
    RAISES(InUse, words, backend_transfer(view, backend));
    CHECK(tests::values<float>(view) == Floats{1});
  }
  {
    const Blob blob = to_blob(a);
    RAISES(InUse, words, backend_transfer(a, backend));
  }
  CHECK(tests::values<float>(a) == Floats{1, 2});
  CHECK(backend.calls["allocate"] == 0);
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
  CHECK(tests::values<float>(a) == Floats{1, 2});
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
  backend_deallocate(t);
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
