// SPDX-License-Identifier: MIT
// Needs libtorch, and is built with it by interop/libraries/aten/CMakeLists.txt.
#include "tenon/aten/c10.h"

#include "support/catch.h"

namespace c10_test {

using namespace tenon;
using tenon::detail::from_c10;
using tenon::detail::to_c10;

namespace {

struct Pair {
  DeviceType type;
  c10::DeviceType c10_type;
};

// c10's by number where libtorch 1.13 has another name for it.
constexpr Pair kBothWays[] = {
    {DeviceType::CUDA, c10::DeviceType::CUDA},
    {DeviceType::OpenCL, c10::DeviceType::OPENCL},
    {DeviceType::Vulkan, c10::DeviceType::Vulkan},
    {DeviceType::Metal, c10::DeviceType::MPS},
    {DeviceType::ROCM, c10::DeviceType::HIP},
    {DeviceType::OneAPI, c10::DeviceType::XPU},
    {DeviceType::MAIA, static_cast<c10::DeviceType>(8)},
    {DeviceType::ExtDev, c10::DeviceType::PrivateUse1},
};

c10::Device c10_of(Device device) {
  c10::Device out(c10::DeviceType::Lazy);
  REQUIRE(to_c10(device, out) == Error::Ok);
  return out;
}

Device tenon_of(c10::Device device) {
  Device out(DeviceType::Hexagon, 5);
  REQUIRE(from_c10(device, out) == Error::Ok);
  return out;
}

}  // namespace

TEST_CASE("c10 devices: kinds that both know cross in both directions, with their index") {
  for (const Pair& pair : kBothWays) {
    INFO(tenon::toString(pair.type));
    CHECK(c10_of(Device(pair.type, 3)) == c10::Device(pair.c10_type, 3));
    CHECK(tenon_of(c10::Device(pair.c10_type, 3)) == Device(pair.type, 3));
    CHECK(c10_of(Device(pair.type)) == c10::Device(pair.c10_type, 0));
    CHECK(tenon_of(c10::Device(pair.c10_type)) == Device(pair.type, 0));
  }
}

TEST_CASE("c10 devices: the CPU has no index there and index 0 here") {
  CHECK(c10_of(Device()) == c10::Device(c10::DeviceType::CPU));
  CHECK_FALSE(c10_of(Device()).has_index());
  CHECK(tenon_of(c10::Device(c10::DeviceType::CPU)) == Device());
  CHECK(tenon_of(c10::Device(c10::DeviceType::CPU, 0)) == Device());
}

TEST_CASE("c10 devices: pinned host memory is the CPU's, managed memory that of its GPU") {
  CHECK(c10_of(Device(DeviceType::CUDAHost, 2)) == c10::Device(c10::DeviceType::CPU));
  CHECK(c10_of(Device(DeviceType::ROCMHost)) == c10::Device(c10::DeviceType::CPU));
  CHECK(c10_of(Device(DeviceType::CUDAManaged, 1)) == c10::Device(c10::DeviceType::CUDA, 1));
}

TEST_CASE("c10 devices: Meta has no index") {
  CHECK(c10_of(Device(DeviceType::Meta)) == c10::Device(c10::DeviceType::Meta));
  CHECK(tenon_of(c10::Device(c10::DeviceType::Meta)) == Device(DeviceType::Meta));
  CHECK(tenon_of(c10::Device(c10::DeviceType::Metal)) == Device(DeviceType::Metal));
}

TEST_CASE("c10 devices: a kind that the other lacks is refused by name, and nothing is changed") {
  c10::Device out(c10::DeviceType::XLA, 1);
  const std::pair<Device, const char*> rows[] = {
      {Device(DeviceType::VPI), "libtorch has no device for vpi:0"},
      {Device(DeviceType::WebGPU, 2), "libtorch has no device for webgpu:2"},
      {Device(DeviceType::Hexagon), "libtorch has no device for hexagon:0"},
      {Device(static_cast<DeviceType>(99)), "libtorch has no device for unknown:0"}};
  for (const auto& [device, words] : rows) RETURNS(NotSupported, words, to_c10(device, out));
  CHECK(out == c10::Device(c10::DeviceType::XLA, 1));
  Device back(DeviceType::CUDA, 4);
  RETURNS(NotSupported, "tenon has no device for libtorch's \"xla\"",
          from_c10(c10::Device(c10::DeviceType::XLA, 0), back));
  RETURNS(NotSupported, "tenon has no device for libtorch's",  // a number that nobody knows
          from_c10(c10::Device(static_cast<c10::DeviceType>(101)), back));
  CHECK(back == Device(DeviceType::CUDA, 4));
}

TEST_CASE("c10 devices: an index beyond c10's 8 bits is refused") {
  c10::Device out(c10::DeviceType::CPU);
  CHECK(to_c10(Device(DeviceType::CUDA, 127), out) == Error::Ok);
  CHECK(out.index() == 127);
  RETURNS(NotSupported, "no device for cuda:128; its indices end at 127",
          to_c10(Device(DeviceType::CUDA, 128), out));
  CHECK(out.index() == 127);
}

}  // namespace c10_test
