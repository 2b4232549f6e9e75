// SPDX-License-Identifier: MIT
#include "tenon/tensor/location.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/backend.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

namespace location_test {

using namespace tenon;
using namespace tests;

namespace {

Error find(const TensorPtr& t, detail::MemoryLocation& location) {
  return detail::find_location(detail::fields(TensorArg(t)), "the tensor", location);
}
/// Who moves a tensor's memory; null for the host.
Backend* transfer_backend(const TensorPtr& t) {
  detail::MemoryLocation location;
  REQUIRE(find(t, location) == Error::Ok);
  CHECK(location.view.data == const_data_ptr(t));
  return location.backend;
}

class Wrapper : public WrapperBackend {
 public:
  explicit Wrapper(Backend& inner) : WrapperBackend(inner) {}
  const char* name() const noexcept override { return "wrapper"; }
};

/// Memory that the host reaches, of a backend that makes values too.
class HostBackend : public CountingBackend {
 public:
  HostBackend() : CountingBackend("near", Device()) {}
  bool is_opaque() const noexcept override { return false; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return host_backend().allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    host_backend().deallocate(p, nbytes);
  }
  Error constant(const TensorView& out, const void* element) override {
    ++calls["constant"];
    if (will["constant"] == Answer::NotSupported) return Error::NotSupported;
    for_each_element(out, [&](int64_t, const auto&, void* p) {
      std::memcpy(p, element, elementSize(out.type));
    });
    return Error::Ok;
  }
};

TensorPtr on(const char* device) {
  static float element = 0;
  return for_blob(static_cast<void*>(&element), {1}).device(device).make_tensor_ptr();
}

}  // namespace

TEST_CASE(
    "find_location: host memory has no transfer_backend, a backend's what it wraps in the end") {
  HostBackend near;
  MinimalBackend inner;
  Wrapper wrapper(inner);
  CHECK(transfer_backend(zeros({2, 3})) == nullptr);
  CHECK(transfer_backend(zeros({2, 3}, near)) == nullptr);
  CHECK(transfer_backend(empty({2, 3}, inner)) == &inner);
  CHECK(transfer_backend(empty({2, 3}, wrapper)) == &inner);
  register_backend(wrapper);
  CHECK(transfer_backend(on("ext_dev:0")) == &inner);
}

TEST_CASE("find_location: opaque memory is not the host's, even on the CPU") {
  MinimalBackend opaque("opaque", Device());
  const TensorPtr t = full({2}, 3, opaque);
  CHECK(transfer_backend(t) == &opaque);
  CHECK(opaque.get<float>(const_data_ptr(t), 1) == 3.f);
  RAISES(NotSupported, "const_data_ptr: ", const_data_ptr<float>(t));
  CHECK(values<float>(backend_copy(t, host_backend())) == Floats{3, 3});
  CHECK(opaque.faults == 0);
}

TEST_CASE("find_location: memory that nobody can reach, and none at all") {
  detail::MemoryLocation location;
  RETURNS(
      NotSupported,
      "the tensor is on ext_dev:1, which the host cannot reach; no backend is registered for it",
      find(on("ext_dev:1"), location));
  RETURNS(InvalidState, "the tensor is a placeholder without data",
          find(make_tensor_ptr({2}, nullptr), location));
  const TensorPtr gone = zeros({2});
  REQUIRE(backend_deallocate(gone) == Deallocation::Ok);
  RETURNS(InvalidState, "the tensor, of sizes {2}, was deallocated", find(gone, location));
}

TEST_CASE("produce: a backend of host memory is asked too, else the host writes there itself") {
  HostBackend near;
  const TensorPtr t = full({3}, 2, near);
  CHECK(near.calls["constant"] == 1);
  near.will["constant"] = Answer::NotSupported;
  const TensorPtr other = full({3}, 4, near);
  CHECK(near.calls["constant"] == 2);
  CHECK(near.calls["copy_from_host"] == 0);
  CHECK(values<float>(t) == Floats{2, 2, 2});
  CHECK(values<float>(other) == Floats{4, 4, 4});
}

TEST_CASE("produce: a wrapper is not asked, what it wraps is") {
  CountingBackend inner;
  Wrapper wrapper(inner);
  const TensorPtr t = full({3}, 2, wrapper);
  CHECK(inner.calls["constant"] == 1);
  CHECK(inner.get<float>(const_data_ptr(t), 2) == 2.f);
}

}  // namespace location_test
