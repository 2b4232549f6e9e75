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

TEST_CASE("produce: a wrapper is not asked, what it wraps is") {
  CountingBackend inner;
  Wrapper wrapper(inner);
  const TensorPtr t = full({3}, 2, wrapper);
  CHECK(inner.calls["constant"] == 1);
  CHECK(inner.get<float>(const_data_ptr(t), 2) == 2.f);
}

}  // namespace location_test
