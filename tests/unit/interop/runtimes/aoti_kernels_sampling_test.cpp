// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_sampling.h"

#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_sampling_test {

using namespace tenon;

namespace {

using Ints = std::vector<int64_t>;

/// The list as a C function takes it.
#define LIST(ints) ints.data(), static_cast<int64_t>(ints.size())

Tensor channels_last(const Tensor& x) {
  return permute(contiguous(permute(x, {0, 2, 3, 1})), {0, 3, 1, 2});
}

}  // namespace

TEST_CASE("aoti_kernels: fractional maximum pools of each type", "[aoti_kernels_sampling]") {
  const Ints kernel = {2, 3};
  const Ints size = {4, 2};
  const Ints kernel3 = {2, 1, 3};
  const Ints size3 = {3, 4, 2};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const Tensor x = to(*randn({2, 3, 8, 7}), type, CastMode::Truncate);
    const Tensor samples = to(*rand({2, 3, 2}), type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_fractional_max_pool2d, 0, x, LIST(kernel), LIST(size), samples);
    CHECK_PEER(aoti_torch_cpu_fractional_max_pool2d, 0, channels_last(x), LIST(kernel), LIST(size),
               samples);
    CHECK_PEER(aoti_torch_cpu_fractional_max_pool2d, 0, select(x, 0, 1), LIST(kernel), LIST(size),
               narrow(samples, 0, 0, 1));
    const Tensor volumes = to(*randn({2, 3, 6, 5, 7}), type, CastMode::Truncate);
    const Tensor points = to(*rand({2, 3, 3}), type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_fractional_max_pool3d, 0, volumes, LIST(kernel3), LIST(size3),
               points);
    CHECK_PEER(aoti_torch_cpu_fractional_max_pool3d, 0, select(volumes, 0, 0), LIST(kernel3),
               LIST(size3), narrow(points, 0, 0, 1));
  }
}

TEST_CASE("aoti_kernels: fractional maximum pools refuse samples beyond 0 to 1, and large windows",
          "[aoti_kernels_sampling]") {
  const Ints kernel = {2, 3};
  const Ints size = {4, 2};
  const Ints large = {8, 2};
  const Tensor x = *randn({1, 3, 8, 7});
  for (const float sample : {-0.5f, 1.5f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    tests::Arguments args(false);
    AtenTensorHandle results[2] = {};
    CHECK(detail::aoti_torch_cpu_fractional_max_pool2d(
              args.pass<AtenTensorHandle>(x), LIST(kernel), LIST(size),
              args.pass<AtenTensorHandle>(*full({1, 3, 2}, sample)), &results[0],
              &results[1]) == 1);
  }
  CHECK_PEER(aoti_torch_cpu_fractional_max_pool2d, 0, x, LIST(kernel), LIST(large),
             *rand({1, 3, 2}));
  CHECK_PEER(aoti_torch_cpu_fractional_max_pool2d, 0, x, LIST(kernel), LIST(size),
             *rand({1, 2, 2}));
}

TEST_CASE("aoti_kernels: max_unpool puts elements where their indices say",
          "[aoti_kernels_sampling]") {
  const Ints size = {3, 4};
  const Ints size3 = {2, 3, 4};
  const Ints one = {1, 1, 1};
  const Ints zero = {0, 0, 0};
  const Tensor places = *make_tensor_ptr({1, 2, 2, 2}, Ints{11, 0, 3, 7, 2, 1, 8, 5});
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
    const Tensor x = to(*randn({1, 2, 2, 2}), type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_max_unpool2d, 0, x, places, LIST(size));
    CHECK_PEER(aoti_torch_cpu_max_unpool2d, 0, channels_last(x), places, LIST(size));
    CHECK_PEER(aoti_torch_cpu_max_unpool2d, 0, select(x, 0, 0), select(places, 0, 0), LIST(size));
    CHECK_PEER(aoti_torch_cpu_max_unpool3d, 0, unsqueeze(x, 0), unsqueeze(places, 0), LIST(size3),
               LIST(one), LIST(zero));
  }
  for (const int64_t wrong : {int64_t{12}, int64_t{-1}}) {
    CHECK_PEER(aoti_torch_cpu_max_unpool2d, 0, *ones({1, 1, 1, 1}), *full({1, 1, 1, 1}, wrong),
               LIST(size));
  }
  CHECK_PEER(aoti_torch_cpu_max_unpool2d, 0, *ones({1, 1, 1, 1}), places, LIST(size));
}

TEST_CASE("aoti_kernels: a grid's points of volumes, in each mode", "[aoti_kernels_sampling]") {
  manual_seed(2);
  const Tensor x = *randn({2, 3, 4, 5, 2});
  const Tensor grid = *rand({2, 3, 2, 4, 3});
  float* const points = grid.mutable_data_ptr<float>();
  for (int64_t i = 0; i < grid.numel(); ++i) points[i] = points[i] * 4 - 2;
  const float special[] = {-1, 1, 0, 1e20f, -1e20f, std::numeric_limits<float>::quiet_NaN()};
  for (size_t i = 0; i < std::size(special); ++i) points[i * 4] = special[i];
  for (const int64_t mode : {0, 1}) {
    for (const int64_t padding : {0, 1, 2}) {
      for (const bool aligns : {false, true}) {
        CAPTURE(mode, padding, aligns);
        CHECK_PEER(aoti_torch_cpu_grid_sampler_3d, 1e-5, x, grid, mode, padding, aligns);
        CHECK_PEER(aoti_torch_cpu_grid_sampler_3d, 1e-5,
                   permute(*randn({2, 3, 4, 5, 2}), {0, 4, 2, 3, 1}), grid, mode, padding, aligns);
      }
    }
  }
  CHECK_PEER(aoti_torch_cpu_grid_sampler_3d, 0, x, *rand({1, 3, 2, 4, 3}), int64_t{0}, int64_t{0},
             0);
}

}  // namespace aoti_kernels_sampling_test
