// SPDX-License-Identifier: MIT
// The backend as the library uses it: tensors in its memory do what those of the host do.
#include <cstdint>
#include <string>
#include <vector>

#include "opencl_helpers.h"
#include "tenon/tenon.h"

using namespace tests;
using namespace tenon;

namespace {

/// All elements, wherever they are.
std::vector<uint8_t> bytes_of(TensorArg t) {
  const auto bytes = tenon::to_binary(t);
  return {bytes.begin(), bytes.end()};
}

constexpr ScalarType kAllTypes[] = {
#define TENON_TEST_TYPE(cpp_type, name) ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(TENON_TEST_TYPE)
#undef TENON_TEST_TYPE
};

}  // namespace

TEST_CASE("opencl tensors: what creators make of every type is what they make on the host") {
  for (const ScalarType type : kAllTypes) {
    INFO(toString(type));
    CHECK(bytes_of(tenon::zeros({2, 3}, type, opencl())) == bytes_of(tenon::zeros({2, 3}, type)));
    CHECK(bytes_of(tenon::ones({2, 3}, type, opencl())) == bytes_of(tenon::ones({2, 3}, type)));
    CHECK(bytes_of(tenon::full({7}, 1, type, opencl())) == bytes_of(tenon::full({7}, 1, type)));
    CHECK(bytes_of(tenon::eye(3, 4, type, opencl())) == bytes_of(tenon::eye(3, 4, type)));
    if (type == ScalarType::Bool) continue;
    CHECK(bytes_of(tenon::iota({2, 3}, 1, type, opencl())) ==
          bytes_of(tenon::iota({2, 3}, 1, type)));
    CHECK(bytes_of(tenon::arange(0, 5, 1, type, opencl())) ==
          bytes_of(tenon::arange(0, 5, 1, type)));
  }
}

TEST_CASE(
    "opencl tensors: random numbers of every type are the host's, and advance the generator") {
  Generator there(11, 3);
  Generator here(11, 3);
  for (const ScalarType type : kAllTypes) {
    INFO(toString(type));
    CHECK(bytes_of(tenon::rand({5, 7}, type, there, opencl())) ==
          bytes_of(tenon::rand({5, 7}, type, here)));
    CHECK(bytes_of(tenon::randn({5, 7}, type, there, opencl())) ==
          bytes_of(tenon::randn({5, 7}, type, here)));
    if (type == ScalarType::Bool) continue;
    CHECK(bytes_of(tenon::randint(0, 3, {5, 7}, type, there, opencl())) ==
          bytes_of(tenon::randint(0, 3, {5, 7}, type, here)));
  }
  CHECK(there.offset() == here.offset());
}

TEST_CASE("opencl tensors: views are written and read where they lie") {
  const auto work = [](const TensorPtr& t) {
    const Tensor columns = tenon::slice(t, 1, 1, 9, 3);
    CHECK(tenon::fill_(columns, 7) == Error::Ok);
    CHECK(tenon::copy_(tenon::select(t, 0, 0), tenon::flip(tenon::select(t, 0, 3), {0})) ==
          Error::Ok);
    Generator generator(1);
    CHECK(tenon::normal_(tenon::permute(tenon::narrow(t, 0, 1, 2), {1, 0}), 0, 1, generator) ==
          Error::Ok);
    CHECK(tenon::copy_(tenon::narrow(t, 0, 3, 2), tenon::ones({2, 10}, ScalarType::Int)) ==
          Error::Ok);
    return bytes_of(t);
  };
  CHECK(work(tenon::zeros({5, 10}, opencl())) == work(tenon::zeros({5, 10})));
}

TEST_CASE("opencl tensors: copies and conversions from and to the host, strided") {
  const TensorPtr here = tenon::iota({4, 5, 6}, tenon::none, ScalarType::Float);
  const TensorPtr there = tenon::backend_copy(tenon::permute(here, {2, 0, 1}), opencl());
  CHECK(there->device() == opencl().device());
  CHECK(bytes_of(there) == bytes_of(tenon::contiguous(tenon::permute(here, {2, 0, 1}))));
  const Tensor half = tenon::to(there, ScalarType::Half);
  CHECK(half.device() == opencl().device());
  CHECK(bytes_of(half) == bytes_of(tenon::to(tenon::permute(here, {2, 0, 1}), ScalarType::Half)));
  const TensorPtr back = tenon::backend_transfer(there, tenon::host_backend());
  CHECK(back->device() == tenon::Device());
  CHECK(bytes_of(back) == bytes_of(tenon::contiguous(tenon::permute(here, {2, 0, 1}))));
  CHECK(tenon::backend_deallocate(there) == tenon::Deallocation::AlreadyDeallocated);
}

TEST_CASE("opencl tensors: the host reads no element, but shows them") {
  const TensorPtr t = tenon::iota({2, 3}, opencl());
  CHECK_ERROR(Error::NotSupported, "opencl", tenon::const_data_ptr<int64_t>(t)[0]);
  CHECK(contains(tenon::to_string(t), "[[0 1 2]\n [3 4 5]]"));
}

TEST_CASE("opencl tensors: memory goes when the last handle does") {
  const int64_t before = opencl().live_blocks();
  {
    const TensorPtr t = tenon::zeros({100}, opencl());
    const Tensor view = tenon::slice(t, 0, 0, 10);
    CHECK(opencl().live_blocks() == before + 1);
  }
  CHECK(opencl().live_blocks() == before);
}

namespace {
std::string reported;
}

TEST_CASE("opencl tensors: a backend that goes first is reported, and its tensor can be dropped") {
  static_cast<void>(opencl());
  reported.clear();
  const tenon::FailureHandler old =
      tenon::set_failure_handler([](Error, const char* message) noexcept { reported = message; });
  {
    TensorPtr t;
    {
      OpenClBackend backend;
      t = tenon::zeros({10}, backend);
    }
    CHECK(contains(reported, "backend opencl was destroyed while 1 block of its memory is in"));
    CHECK_ERROR(Error::InvalidState, "", tenon::to_binary(t));
  }
  static_cast<void>(tenon::set_failure_handler(old));
}

TEST_CASE("opencl tensors: without memory the error says who has none, and why") {
  CHECK_ERROR(Error::OutOfMemory,
              "empty: backend opencl has no memory for 4611686018427387904 bytes: clCreateBuffer: "
              "CL_INVALID_BUFFER_SIZE",
              tenon::empty({int64_t{1} << 60}, opencl()));
}

TEST_CASE("opencl tensors: a registered backend is the one of its device") {
  tenon::register_backend(opencl());
  CHECK(&tenon::backend_for("opencl:0") == &opencl());
  tenon::unregister_backend(opencl());
}
