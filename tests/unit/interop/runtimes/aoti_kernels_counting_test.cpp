// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_counting.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_kernels/random_tensors.h"

namespace aoti_kernels_counting_test {

using namespace tenon;
using tests::answer;
using tests::RandomTensors;

TEST_CASE("aoti_kernels: histograms beside libtorch's, on random tensors",
          "[aoti_kernels_counting]") {
  RandomTensors random(1);
  for (int i = 0; i < 100; ++i) {
    const ScalarType type = random.one_of({kFloat, kDouble, kHalf});
    std::vector<int64_t> sizes = random.sizes();
    const Tensor x = random.tensor(type, sizes, random.chance(20));
    const Tensor weight = random.tensor(type, sizes, false);
    const int64_t bins = random.number(random.chance(20) ? -1 : 1, 12);
    const auto low = static_cast<double>(random.number(-4, 2));
    const double high = low + static_cast<double>(random.number(random.chance(20) ? -1 : 0, 5));
    const auto is_density = static_cast<int32_t>(random.number(0, 1));
    const bool has_range = type == kHalf || random.chance(2);
    CAPTURE(i);
    CHECK_PEER(aoti_torch_cpu_histc, 0, x, bins, low, high);
    const double tolerance = type == kHalf ? 2e-2 : 1e-5;
    const double ranges[] = {low, high, low, high + 1};
    const double* range = ranges;
    const double** const given = has_range ? &range : nullptr;
    CHECK_PEER(aoti_torch_cpu_histogram_bin_ct, tolerance, x, bins, given, int64_t{2}, nullptr,
               is_density);
    CHECK_PEER(aoti_torch_cpu_histogram_bin_ct, tolerance, x, bins, given, int64_t{2}, weight,
               is_density);
    sizes.push_back(2);
    const Tensor points = random.tensor(type, sizes, false);
    const int64_t all_bins[] = {bins, 3};
    const int64_t* const counts = all_bins;
    CHECK_PEER(aoti_torch_cpu__histogramdd_from_bin_cts, tolerance, points, counts, int64_t{2},
               given, int64_t{4}, nullptr, is_density);
    if (sizes.size() > 1) {
      CHECK_PEER(aoti_torch_cpu__histogramdd_from_bin_cts, tolerance, points, counts, int64_t{2},
                 given, int64_t{4}, weight, is_density);
    }
  }
}

TEST_CASE("aoti_kernels: histc without a range takes that of the elements",
          "[aoti_kernels_counting]") {
  const TensorPtr x = make_tensor_ptr({5}, std::vector<float>{1, 2, 3, 3, 9});
  const std::vector<Tensor> counts = answer(&detail::aoti_torch_cpu_histc, *x, 4, 0, 0);
  CHECK(equal(counts.at(0), *make_tensor_ptr({4}, std::vector<float>{2, 2, 0, 1})));
  CHECK(answer(&detail::aoti_torch_cpu_histc, *full({2}, NAN, kFloat), 4, 0, 0).empty());
  for (const ScalarType type : {kLong, kComplexFloat, kBFloat16}) {
    CHECK_PEER(aoti_torch_cpu_histc, 0, to(*x, type, CastMode::Truncate), 4, 0.0, 0.0);
  }
}

TEST_CASE("aoti_kernels: segments beside libtorch's, on random tensors",
          "[aoti_kernels_counting]") {
  RandomTensors random(1);
  for (int i = 0; i < 300; ++i) {
    const ScalarType type = random.one_of({kFloat, kDouble, kHalf, kBFloat16});
    const Tensor x =
        random.tensor(type, {random.number(1, 3), random.number(4, 7), random.number(4, 6)});
    const std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
    const auto axis = static_cast<size_t>(random.number(0, 2));
    const bool are_offsets = random.chance(2);
    const int64_t count = random.number(1, 4);
    std::vector<int64_t> segment_sizes(sizes.begin(), sizes.begin() + int(axis));
    segment_sizes.push_back(count + (are_offsets ? 1 : 0));
    const TensorPtr segments = zeros(segment_sizes, kLong);
    auto* at = segments->mutable_data_ptr<int64_t>();
    for (int64_t row = 0; row < segments->numel() / segment_sizes.back(); ++row) {
      int64_t begin = 0;
      for (int64_t s = 0; s < count; ++s) {
        const int64_t left = sizes[axis] - begin;
        const int64_t length = s + 1 == count ? left : random.number(0, left);
        *at++ = are_offsets ? begin : length;
        begin += length;
      }
      if (are_offsets) *at++ = begin;
    }
    const char* const how = random.one_of({"max", "mean", "min", "sum", "prod"});
    double number = static_cast<double>(random.number(-4, 4)) / 2;
    double* const initial = random.chance(2) ? &number : nullptr;
    CAPTURE(i);
    const auto d = static_cast<int64_t>(axis);
    if (are_offsets) {
      CHECK_PEER(aoti_torch_cpu_segment_reduce, 0, x, how, nullptr, nullptr, *segments, d, 0,
                 initial);
    } else {
      CHECK_PEER(aoti_torch_cpu_segment_reduce, 0, x, how, *segments, nullptr, nullptr, d, 0,
                 initial);
    }
  }
}

TEST_CASE("aoti_kernels: a segment outside its row is refused, unsafe or not",
          "[aoti_kernels_counting]") {
  const TensorPtr x = zeros({3});
  const TensorPtr lengths = make_tensor_ptr({2}, std::vector<int64_t>{2, 2});
  CHECK(answer(&detail::aoti_torch_cpu_segment_reduce, *x, "sum", *lengths, nullptr, nullptr, 0, 1,
               nullptr)
            .empty());
  CHECK(std::string(last_error_message()) ==
        "aoti_torch_cpu_segment_reduce: a segment of length 2 at 2 is outside 3 elements");
  const TensorPtr offsets = make_tensor_ptr({3}, std::vector<int64_t>{0, 4, 2});
  CHECK(answer(&detail::aoti_torch_cpu_segment_reduce, *x, "sum", nullptr, nullptr, *offsets, 0, 1,
               nullptr)
            .empty());
  const TensorPtr few = make_tensor_ptr({1}, std::vector<int64_t>{2});
  CHECK(answer(&detail::aoti_torch_cpu_segment_reduce, *x, "sum", *few, nullptr, nullptr, 0, 0,
               nullptr)
            .empty());
}

}  // namespace aoti_kernels_counting_test
