// SPDX-License-Identifier: MIT
#include <cstdint>
#include <thread>
#include <vector>

#include "opencl_helpers.h"

namespace opencl_errors_test {

using namespace tests;
using namespace tenon;

TEST_CASE("opencl: what it is") {
  CHECK(opencl().name() == std::string("opencl"));
  CHECK(opencl().device() == Device(DeviceType::OpenCL, 0));
  CHECK(opencl().is_opaque());
  CHECK(!opencl().device_name().empty());
  CHECK(&opencl().base() == &opencl());
  CHECK(opencl().init({}) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"queues\"",
                opencl().init({{"queues", 2}}));
}

TEST_CASE("opencl: a device that is not there is refused, with the number of those that are") {
  static_cast<void>(opencl());
  CHECK_ERROR(Error::NotFound, "there is no OpenCL device 1000; found ", OpenClBackend(1000));
  CHECK_ERROR(Error::InvalidArgument, "index -2 of opencl", OpenClBackend(-2));
}

TEST_CASE("opencl: bytes outside of an allocation are refused, with their address") {
  const Memory memory(pattern(100, 1));
  unsigned char host[200] = {};
  const char* const words = "not within one allocation";
  CHECK_RETURNS(Error::InvalidArgument, words,
                opencl().copy_from_host(memory.data() + 1, host, 100));
  CHECK_RETURNS(Error::InvalidArgument, words, opencl().copy_to_host(host, memory.data() - 1, 2));
  CHECK_RETURNS(Error::InvalidArgument, words,
                opencl().copy_to_host(host, memory.data(), SIZE_MAX));
  CHECK_RETURNS(Error::InvalidArgument, words,
                opencl().copy_within(memory.data(), memory.data() + 60, 41));
  CHECK_RETURNS(Error::InvalidArgument, "4 bytes at 0x1 are",
                opencl().copy_to_host(host, reinterpret_cast<void*>(uintptr_t{1}), 4));

  const Device device = opencl().device();
  const ViewWithLists beyond{
      memory.data() + 4, ScalarType::Float, device, {5}, {6}};  // to byte 104
  const ViewWithLists before{memory.data() + 12, ScalarType::Float, device, {5}, {-1}};
  const float one = 1;
  for (const ViewWithLists* const view : {&beyond, &before}) {
    const TensorView& out = *view;
    CHECK_RETURNS(Error::InvalidArgument, words, opencl().constant(out, &one));
    CHECK_RETURNS(Error::InvalidArgument, words, opencl().iota(out, none));
    CHECK_RETURNS(Error::InvalidArgument, words, opencl().copy(out, out, CastMode::Checked));
  }
  CHECK(memory.bytes() == pattern(100, 1));
}

TEST_CASE("opencl: memory that was given back is not found anymore") {
  void* const p = opencl().allocate(16, 64);
  REQUIRE(p != nullptr);
  opencl().deallocate(p, 16);
  opencl().deallocate(p, 16);        // neither is it here
  opencl().deallocate(nullptr, 16);  // nor ever was
  char byte = 0;
  CHECK_RETURNS(Error::InvalidArgument, "not within", opencl().copy_to_host(&byte, p, 1));
}

TEST_CASE("opencl: memory may go while commands that use it are under way") {
  const Memory result(pattern(1 << 20, 1));
  const Bytes expected = pattern(1 << 20, 2);
  {
    const Memory source(expected);
    REQUIRE(opencl().copy_within(result.data(), source.data(), 1 << 20) == Error::Ok);
  }
  CHECK(result.bytes() == expected);
}

TEST_CASE("opencl: several threads allocate, fill, copy and check at once") {
  static_cast<void>(opencl());
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      OpenClBackend& backend = opencl();
      for (int32_t i = 0; i < 50; ++i) {
        const int64_t n = 100 + i;
        const size_t nbytes = static_cast<size_t>(n) * 4;
        void* const a = backend.allocate(nbytes, 64);
        void* const b = backend.allocate(nbytes, 64);
        const int32_t value = static_cast<int32_t>(t) * 1000 + i;
        std::vector<int32_t> host(static_cast<size_t>(n));
        const ViewWithLists out{a, ScalarType::Int, backend.device(), {n}, {1}};
        const bool done = backend.iota(out, none) == Error::Ok &&
                          backend.copy_within(b, a, nbytes) == Error::Ok &&
                          backend.constant(out, &value) == Error::Ok &&
                          backend.copy_to_host(host.data(), b, nbytes) == Error::Ok;
        if (!done) ++wrong[t];
        for (int32_t k = 0; k < n; ++k) wrong[t] += host[static_cast<size_t>(k)] != k ? 1 : 0;
        if (backend.copy_to_host(host.data(), a, nbytes) != Error::Ok) ++wrong[t];
        for (const int32_t v : host) wrong[t] += v != value ? 1 : 0;
        backend.deallocate(a, nbytes);
        backend.deallocate(b, nbytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("opencl: a second backend for the same device has memory of its own") {
  OpenClBackend other;
  void* const p = other.allocate(16, 64);
  REQUIRE(p != nullptr);
  const float one = 1;
  const ViewWithLists out{p, ScalarType::Float, other.device(), {4}, {1}};
  CHECK(other.constant(out, &one) == Error::Ok);
  float values[4] = {};
  CHECK(other.copy_to_host(values, p, 16) == Error::Ok);
  CHECK(values[3] == 1);
  other.deallocate(p, 16);
}

}  // namespace opencl_errors_test
