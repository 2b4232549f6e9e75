// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_windows.h"

#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_windows_test {

using namespace tenon;

namespace {

using Ints = std::vector<int64_t>;

/// The list as a C function takes it.
#define LIST(ints) ints.data(), static_cast<int64_t>(ints.size())

Tensor channels_last(const Tensor& x) {
  return x.dim() == 4 ? permute(contiguous(permute(x, {0, 2, 3, 1})), {0, 3, 1, 2})
                      : permute(contiguous(permute(x, {0, 2, 3, 4, 1})), {0, 4, 1, 2, 3});
}
/// Numbers of sizes `sizes`, in several layouts.
std::vector<Tensor> layouts(const Ints& sizes, ScalarType type) {
  const Tensor x = to(*randint(-9, 10, sizes, ScalarType::Float), type, CastMode::Truncate);
  const int64_t last = x.dim() - 1;
  return {x, channels_last(x), transpose(x, last, last - 1), narrow(x, last, 1, sizes.back() - 1),
          expand(narrow(x, 1, 0, 1), sizes)};
}
}  // namespace

TEST_CASE("aoti_kernels: pools of images, in each layout and type", "[aoti_kernels_windows]") {
  const Ints kernel = {3, 2};
  const Ints two = {2};
  const Ints one = {1};
  const Ints zero = {0};
  const Ints none;
  const Ints size = {3, 4};
  int64_t divisor = 3;
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                                ScalarType::BFloat16, ScalarType::Long, ScalarType::Byte}) {
    const double close = type == ScalarType::BFloat16 ? 0.05
                         : type == ScalarType::Half   ? 4e-3
                                                      : 1e-6;
    for (const Tensor& x : layouts({2, 3, 7, 6}, type)) {
      CAPTURE(type, x.strides());
      for (const bool rounds_up : {false, true}) {
        CHECK_PEER(aoti_torch_cpu_avg_pool2d, close, x, LIST(kernel), LIST(none), LIST(one),
                   rounds_up, true, nullptr);
        CHECK_PEER(aoti_torch_cpu_avg_pool2d, close, x, LIST(kernel), LIST(two), LIST(one),
                   rounds_up, false, nullptr);
        CHECK_PEER(aoti_torch_cpu_avg_pool2d, close, x, LIST(two), LIST(one), LIST(zero), rounds_up,
                   false, &divisor);
        CHECK_PEER(aoti_torch_cpu_max_pool2d_with_indices, 0, x, LIST(kernel), LIST(none),
                   LIST(one), LIST(two), rounds_up);
      }
      CHECK_PEER(aoti_torch_cpu__adaptive_avg_pool2d, close, x, LIST(size));
      CHECK_PEER(aoti_torch_cpu_adaptive_max_pool2d, 0, x, LIST(size));
      const Tensor single = select(x, 0, 1);
      CHECK_PEER(aoti_torch_cpu_avg_pool2d, close, single, LIST(kernel), LIST(none), LIST(one), 0,
                 1, nullptr);
      CHECK_PEER(aoti_torch_cpu_adaptive_max_pool2d, 0, single, LIST(size));
    }
  }
}

TEST_CASE("aoti_kernels: pools of volumes, in each layout", "[aoti_kernels_windows]") {
  const Ints kernel = {2, 3, 1};
  const Ints padding = {1, 1, 0};
  const Ints two = {2};
  const Ints one = {1};
  const Ints none;
  const Ints size = {2, 5, 1};
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Long}) {
    for (const Tensor& x : layouts({2, 3, 5, 6, 4}, type)) {
      CAPTURE(type, x.strides());
      CHECK_PEER(aoti_torch_cpu_avg_pool3d, 1e-6, x, LIST(kernel), LIST(none), LIST(padding), 1, 0,
                 nullptr);
      CHECK_PEER(aoti_torch_cpu_max_pool3d_with_indices, 0, x, LIST(kernel), LIST(two),
                 LIST(padding), LIST(one), 1);
      CHECK_PEER(aoti_torch_cpu__adaptive_avg_pool3d, 1e-6, x, LIST(size));
      CHECK_PEER(aoti_torch_cpu_adaptive_max_pool3d, 0, x, LIST(size));
      const Tensor single = select(x, 0, 1);
      CHECK_PEER(aoti_torch_cpu_max_pool3d_with_indices, 0, single, LIST(kernel), LIST(two),
                 LIST(padding), LIST(one), 0);
    }
  }
}

TEST_CASE("aoti_kernels: pools of nothing, of NaN, and of what torch refuses",
          "[aoti_kernels_windows]") {
  const Tensor x = *zeros({2, 3, 4, 4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor nans = *make_tensor_ptr({1, 2, 4}, {1.0f, 3.0f, nan, 5.0f, 3.0f, 2.0f, nan, 7.0f});
  const Ints none;
  const Ints zero = {0};
  const Ints one = {1};
  const Ints two = {2};
  const Ints five = {5};
  const Ints three_of_them = {1, 1, 1};
  const Ints large = {int64_t{1} << 40};
  CHECK_PEER(aoti_torch_cpu_avg_pool2d, 0, *zeros({0, 3, 4, 4}), LIST(two), LIST(none), LIST(zero),
             0, 1, nullptr);
  CHECK_PEER(aoti_torch_cpu__adaptive_avg_pool2d, 0, x, zero.data(), int64_t{1});
  CHECK_PEER(aoti_torch_cpu_max_pool2d_with_indices, 0, nans, LIST(two), LIST(none), LIST(zero),
             LIST(one), 0);
  int64_t divisor = 0;
  for (const Ints& kernel : {zero, five, three_of_them, large, none}) {
    CAPTURE(kernel);
    CHECK_PEER(aoti_torch_cpu_avg_pool2d, 0, x, LIST(kernel), LIST(none), LIST(zero), 0, 1,
               nullptr);
    CHECK_PEER(aoti_torch_cpu_max_pool2d_with_indices, 0, x, LIST(kernel), LIST(none), LIST(zero),
               LIST(one), 0);
  }
  CHECK_PEER(aoti_torch_cpu_avg_pool2d, 0, x, LIST(two), LIST(none), LIST(two), 0, 1, nullptr);
  CHECK_PEER(aoti_torch_cpu_avg_pool2d, 0, x, LIST(two), LIST(none), LIST(one), 0, 1, &divisor);
  CHECK_PEER(aoti_torch_cpu_avg_pool2d, 0, *zeros({4, 4}), LIST(two), LIST(none), LIST(one), 0, 1,
             nullptr);
  CHECK_PEER(aoti_torch_cpu_max_pool2d_with_indices, 0, *zeros({1, 3, 4}, ScalarType::Bool),
             LIST(two), LIST(none), LIST(zero), LIST(one), 0);
}

TEST_CASE("aoti_kernels: pools of random sizes", "[aoti_kernels_windows]") {
  manual_seed(4);
  const auto pick = [](int64_t low, int64_t high) {
    return randint(low, high + 1, {1}, ScalarType::Long)->const_data_ptr<int64_t>()[0];
  };
  for (int i = 0; i < 60; ++i) {
    const Tensor x = *randint(-9, 9, {pick(1, 3), pick(1, 3), pick(1, 7), pick(1, 7)},
                              i % 2 == 0 ? ScalarType::Float : ScalarType::Int);
    const Tensor given = i % 3 == 0 ? channels_last(x) : x;
    const Ints kernel = {pick(1, 3), pick(1, 3)};
    const Ints stride = {pick(1, 3), pick(1, 3)};
    const Ints padding = {pick(0, 1), pick(0, 1)};
    const Ints dilation = {pick(1, 3), pick(1, 2)};
    const bool rounds_up = pick(0, 1) != 0;
    CAPTURE(given.sizes(), given.strides(), kernel, stride, padding, dilation, rounds_up);
    CHECK_PEER(aoti_torch_cpu_max_pool2d_with_indices, 0, given, LIST(kernel), LIST(stride),
               LIST(padding), LIST(dilation), rounds_up);
    CHECK_PEER(aoti_torch_cpu_avg_pool2d, 1e-6, given, LIST(kernel), LIST(stride), LIST(padding),
               rounds_up, pick(0, 1), nullptr);
  }
}

}  // namespace aoti_kernels_windows_test
