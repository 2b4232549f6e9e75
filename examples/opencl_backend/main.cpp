// SPDX-License-Identifier: MIT
// Tensors on an OpenCL device, through a backend that tenon knows nothing of (opencl_backend.h).
// Everything is done twice, in the device's memory and in the host's, and has to give the same bytes.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "opencl_backend.h"
#include "tenon/tenon.h"

using tenon::Backend;
using tenon::check;
using tenon::Error;
using tenon::Generator;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorArg;
using tenon::TensorPtr;

/// Compares all elements, wherever they are: to_binary() fetches them.
void expect_equal(const char* what, TensorArg on_device, TensorArg on_host) {
  if (tenon::to_binary(on_device) != tenon::to_binary(on_host)) {
    throw std::runtime_error(std::string("device and host differ: ") + what);
  }
  std::printf("  equal to the byte: %s\n", what);
}

/// A picture of noise, rows of which are 640 pixels, planes 480 rows.
TensorPtr make_picture(Backend& backend) {
  Generator generator(2024);
  return tenon::rand({3, 480, 640}, generator, backend);
}

/// A view of 32 rows of 48 pixels somewhere in it; in the device's memory as in the host's.
Tensor region_of(const TensorPtr& picture) {
  return tenon::narrow(tenon::narrow(picture, 1, 100, 32), 2, 200, 48);
}

/// What only the host can do: the region goes there, is worked on, and goes back to where it was.
void invert_region(const TensorPtr& picture) {
  const Tensor region = region_of(picture);
  const TensorPtr local = tenon::backend_copy(region, tenon::host_backend());
  for (float& pixel : local->data<float>()) pixel = 1 - pixel;
  check(tenon::copy_(region, local));
}

void run(OpenClBackend& opencl) {
  Backend& host = tenon::host_backend();
  std::printf("\n  %s, as %s\n\n", opencl.device_name().c_str(),
              opencl.device().to_string().c_str());

  const TensorPtr picture = make_picture(opencl);
  const TensorPtr host_picture = make_picture(host);
  expect_equal("921600 uniform random numbers", picture, host_picture);

  invert_region(picture);
  invert_region(host_picture);
  expect_equal("the picture with a region inverted by the host", picture, host_picture);

  check(tenon::fill_(tenon::select(region_of(picture), 0, 1), 0.5));
  check(tenon::fill_(tenon::select(region_of(host_picture), 0, 1), 0.5));
  expect_equal("the region's green plane filled with 0.5", picture, host_picture);

  const Tensor pixels = tenon::contiguous(tenon::permute(picture, {1, 2, 0}));
  const Tensor host_pixels = tenon::contiguous(tenon::permute(host_picture, {1, 2, 0}));
  expect_equal("the pixels of all planes, interleaved", pixels, host_pixels);

  // The device does no conversions and knows no Half: this goes by way of the host, unasked.
  const Tensor half = tenon::to(region_of(picture), ScalarType::Half);
  expect_equal("the region as Half", half, tenon::to(region_of(host_picture), ScalarType::Half));

  Generator generator(7);
  Generator host_generator(7);
  const TensorPtr noise = tenon::randn({1000, 1001}, generator, opencl);
  expect_equal("1001000 normal random numbers", noise,
               tenon::randn({1000, 1001}, host_generator, host));

  // As the thread's default the backend needs no mention.
  const tenon::BackendScope scope(opencl);
  const TensorPtr numbers = tenon::iota({4, 1000});
  check(tenon::copy_(tenon::select(numbers, 0, 2), tenon::flip(tenon::select(numbers, 0, 1), {0})));
  std::printf(
      "\n  A tensor in memory that only OpenCL reads; its corners were fetched for this:\n%s\n",
      tenon::to_string(numbers).c_str());

  std::printf("\n  What happens when the device has not enough memory:\n");
  const auto huge = tenon::try_empty({int64_t{1} << 40, 1000});
  if (huge.ok()) throw std::runtime_error("a petabyte was allocated");
  std::printf("    %s\n", huge.message());
  std::printf("\n  %lld blocks of its memory in use\n",
              static_cast<long long>(opencl.live_blocks()));
}

int main() {
  try {
    OpenClBackend opencl;
    run(opencl);
    std::printf("  %lld afterwards\n", static_cast<long long>(opencl.live_blocks()));
    return opencl.live_blocks() == 0 ? 0 : 1;
  } catch (const tenon::Exception& error) {
    // CTest counts 77 as skipped: the runtime is there, a device is not.
    const bool no_device = error.error() == Error::NotFound;
    std::fprintf(stderr, "opencl_backend: %s%s\n", no_device ? "tenon: skipped: " : "",
                 error.what());
    return no_device ? 77 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opencl_backend: %s\n", error.what());
    return 1;
  }
}
