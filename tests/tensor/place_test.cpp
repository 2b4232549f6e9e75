// SPDX-License-Identifier: MIT
#include "tenon/tensor/place.h"

#include <string>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/transfer.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::find_place;
using tenon::detail::Place;
using namespace tests;

namespace {

Error find(const TensorPtr& t, Place& place) {
  return find_place(tenon::detail::fields(tenon::TensorArg(t)), "the tensor", place);
}

class Wrapper : public MinimalBackend {
 public:
  explicit Wrapper(tenon::Backend& inner) : MinimalBackend("wrapper"), inner_(inner) {}
  tenon::Backend& base() noexcept override { return inner_; }

 private:
  tenon::Backend& inner_;
};

/// Memory that the host reaches, of a backend that makes values too.
class HostBackend : public CountingBackend {
 public:
  HostBackend() : CountingBackend("near", tenon::Device()) {}
  bool is_opaque() const noexcept override { return false; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return tenon::host_backend().allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    tenon::host_backend().deallocate(p, nbytes);
  }
  Error constant(const tenon::TensorView& out, const void* element) override {
    ++calls["constant"];
    if (will["constant"] == Answer::NotSupported) return Error::NotSupported;
    tests::for_each_element(out, [&](int64_t, const auto&, void* p) {
      std::memcpy(p, element, tenon::elementSize(out.type));
    });
    return Error::Ok;
  }
};

}  // namespace

TEST_CASE("find_place: host memory has no backend, whose ever it is") {
  Place place;
  const TensorPtr t = tenon::zeros({2, 3});
  REQUIRE(find(t, place) == Error::Ok);
  CHECK(place.backend == nullptr);
  CHECK(place.view.data == tenon::const_data_ptr(t));
  HostBackend near;
  const TensorPtr other = tenon::zeros({2, 3}, near);
  REQUIRE(find(other, place) == Error::Ok);
  CHECK(place.backend == nullptr);
}

TEST_CASE("find_place: a backend's memory is moved by what it wraps in the end") {
  MinimalBackend inner;
  Wrapper wrapper(inner);
  Place place;
  const TensorPtr t = tenon::empty({2, 3}, inner);
  REQUIRE(find(t, place) == Error::Ok);
  CHECK(place.backend == &inner);
  CHECK(place.view.data == tenon::const_data_ptr(t));
  CHECK(place.view.device == inner.device());
  const TensorPtr other = tenon::empty({2, 3}, wrapper);
  REQUIRE(find(other, place) == Error::Ok);
  CHECK(place.backend == &inner);
  CHECK(&tenon::backend_of(other) == &wrapper);
}

TEST_CASE("find_place: opaque memory is not the host's, even on the CPU") {
  MinimalBackend opaque("opaque", tenon::Device());
  Place place;
  const TensorPtr t = tenon::full({2}, 3, opaque);
  REQUIRE(find(t, place) == Error::Ok);
  CHECK(place.backend == &opaque);
  CHECK(opaque.get<float>(tenon::const_data_ptr(t), 1) == 3.f);
  CHECK_ERROR(Error::NotSupported, "const_data_ptr: ", tenon::const_data_ptr<float>(t));
  CHECK(tests::values<float>(tenon::backend_copy(t, tenon::host_backend())) ==
        std::vector<float>{3, 3});
  CHECK(opaque.faults == 0);
}

TEST_CASE("find_place: memory that nobody can reach, and none at all") {
  Place place;
  int dummy = 0;
  const TensorPtr far =
      tenon::for_blob(static_cast<void*>(&dummy), {1}).device("ext_dev:1").make_tensor_ptr();
  CHECK_RETURNS(Error::NotSupported,
                "the tensor is on ext_dev:1, which the host cannot reach; no backend is registered "
                "for it",
                find(far, place));
  CHECK_RETURNS(Error::InvalidState, "the tensor is a placeholder without data",
                find(tenon::make_tensor_ptr({2}, nullptr), place));
  const TensorPtr gone = tenon::zeros({2});
  tenon::backend_deallocate(gone);
  CHECK_RETURNS(Error::InvalidState, "the tensor, of sizes {2}, was deallocated",
                find(gone, place));
}

TEST_CASE("find_place: a registered wrapper's memory is moved by what it wraps") {
  MinimalBackend inner;
  Wrapper wrapper(inner);
  tenon::register_backend(wrapper);
  int dummy = 0;
  const TensorPtr t =
      tenon::for_blob(static_cast<void*>(&dummy), {1}).device("ext_dev:0").make_tensor_ptr();
  Place place;
  REQUIRE(find(t, place) == Error::Ok);
  CHECK(place.backend == &inner);
}

TEST_CASE("produce: a backend of host memory is asked too, else the host writes there itself") {
  HostBackend near;
  const TensorPtr t = tenon::full({3}, 2, near);
  CHECK(near.calls["constant"] == 1);
  CHECK(tests::values<float>(t) == std::vector<float>{2, 2, 2});
  near.will["constant"] = Answer::NotSupported;
  const TensorPtr other = tenon::full({3}, 4, near);
  CHECK(near.calls["constant"] == 2);
  CHECK(tests::values<float>(other) == std::vector<float>{4, 4, 4});
  CHECK(near.calls["copy_from_host"] == 0);
  CHECK(near.live_blocks() == 2);
}

TEST_CASE("produce: a wrapper is not asked, what it wraps is") {
  CountingBackend inner;
  struct Passing : Wrapper {
    explicit Passing(CountingBackend& to) : Wrapper(to), target(to) {}
    void* allocate(size_t n, size_t a) noexcept override { return target.allocate(n, a); }
    void deallocate(void* p, size_t n) noexcept override { target.deallocate(p, n); }
    CountingBackend& target;
  } wrapper(inner);
  const TensorPtr t = tenon::full({3}, 2, wrapper);
  CHECK(inner.calls["constant"] == 1);
  CHECK(wrapper.calls["copy_from_host"] == 0);
  CHECK(inner.get<float>(tenon::const_data_ptr(t), 2) == 2.f);
}
