// SPDX-License-Identifier: MIT
#include "tenon/core/device.h"

#include "support/catch.h"

namespace device_test {

using namespace tenon;

namespace {

struct Row {
  DeviceType type;
  int number;
  const char* name;
  bool host_accessible;
};

// The numbers are DLDeviceType's.
const Row kRows[] = {
    {DeviceType::CPU, 1, "cpu", true},
    {DeviceType::CUDA, 2, "cuda", false},
    {DeviceType::CUDAHost, 3, "cuda_host", true},
    {DeviceType::OpenCL, 4, "opencl", false},
    {DeviceType::Vulkan, 7, "vulkan", false},
    {DeviceType::Metal, 8, "metal", false},
    {DeviceType::VPI, 9, "vpi", false},
    {DeviceType::ROCM, 10, "rocm", false},
    {DeviceType::ROCMHost, 11, "rocm_host", true},
    {DeviceType::CUDAManaged, 13, "cuda_managed", true},
    {DeviceType::OneAPI, 14, "oneapi", false},
    {DeviceType::WebGPU, 15, "webgpu", false},
    {DeviceType::Hexagon, 16, "hexagon", false},
    {DeviceType::MAIA, 17, "maia", false},
    {DeviceType::Trn, 18, "trn", false},
    {DeviceType::Meta, 127, "meta", false},
};

std::string text_of(Device device) {
  char buffer[64];
  detail::Message message(buffer, sizeof buffer);
  append(message, device);
  return buffer;
}

}  // namespace

TEST_CASE("device: types have DLPack's numbers, a name, and are readable by the host or not") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(static_cast<int>(row.type) == row.number);
    CHECK(std::string(toString(row.type)) == row.name);
    CHECK(Device(row.type).is_host_accessible() == row.host_accessible);
    CHECK(Device(row.type).is_cuda() == (row.type == DeviceType::CUDA));
  }
  CHECK(std::string(toString(static_cast<DeviceType>(5))) == "unknown");
}

TEST_CASE("device: every name is parsed, with and without an index") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(Device(row.name) == Device(row.type, 0));
    CHECK(Device(std::string(row.name) + ":0") == Device(row.type, 0));
    if (row.type != DeviceType::CPU) {
      CHECK(Device(std::string(row.name) + ":1") == Device(row.type, 1));
    }
  }
}

TEST_CASE("device: any other text is an error that quotes it") {
  // clang-format off
  for (const char* text :
       {"", ":", ":0", "c", "cud", "cudaa", "cuda_", "CUDA", "Cpu", " cuda", "cuda ", "cuda:",
        "cuda:-1", "cuda:+1", "cuda:1x", "cuda:x", "cuda: 1", "cuda:1 ", "cuda:1:2", "cuda::1",
        "cuda:1234567", "cuda:99999999999999999999", "cuda1", "gpu", "gpu:0", "unknown"}) {
    // clang-format on
    RAISES(InvalidArgument, "\"" + std::string(text) + "\" is not a device", Device(text));
  }
  RAISES(InvalidArgument, "the CPU has only index 0", Device("cpu:1"));
  RAISES(InvalidArgument, "index 1 of cpu is out of range: the CPU has only index 0",
         Device(DeviceType::CPU, 1));
  RAISES(InvalidArgument, "\"with a zero inside\" is not", Device(std::string("cpu\0:1", 6)));
  const char* const nothing = nullptr;
  RAISES(InvalidArgument, "\"\" is not a device", Device(nothing));
}

TEST_CASE("device: it is printed as it is parsed, the CPU without an index") {
  CHECK(Device("cpu:0").to_string() == "cpu");
  CHECK(Device(DeviceType::CUDA).to_string() == "cuda:0");
  CHECK(Device("cuda:12").to_string() == "cuda:12");
  CHECK(Device(DeviceType::CUDAManaged, 3).to_string() == "cuda_managed:3");
  CHECK(text_of(Device()) == "cpu");
  CHECK(text_of(Device("cuda:12")) == "cuda:12");
  CHECK(text_of(Device(DeviceType::Meta)) == "meta:0");
}

}  // namespace device_test
