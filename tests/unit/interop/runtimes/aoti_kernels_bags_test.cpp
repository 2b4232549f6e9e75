// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_bags.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_bags_test {

using namespace tenon;

namespace {

const int64_t kSum = 0;
const int64_t kMean = 1;
const int64_t kMax = 2;

Tensor list(const std::vector<int64_t>& values, ScalarType type = ScalarType::Long) {
  const TensorPtr made = zeros({values.size()}, type);
  const TensorPtr longs =
      from_blob(const_cast<int64_t*>(values.data()), {values.size()}, ScalarType::Long);
  REQUIRE(copy_(*made, *longs, CastMode::Truncate) == Error::Ok);
  return *made;
}

}  // namespace

TEST_CASE("aoti_kernels: embedding bags of each type, with padding and weights of samples",
          "[aoti_kernels_bags]") {
  const TensorPtr numbers = randn({6, 5});
  const TensorPtr factors = rand({7});
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double close = type == ScalarType::BFloat16 ? 0.03
                         : type == ScalarType::Half   ? 4e-3
                                                      : 1e-6;
    const Tensor weight = to(*numbers, type, CastMode::Truncate);
    const std::vector<Tensor> samples = {to(*factors, type, CastMode::Truncate)};
    for (const ScalarType index : {ScalarType::Int, ScalarType::Long}) {
      const Tensor indices = list({1, 2, 4, 5, 2, 0, 3}, index);
      for (const bool has_last : {false, true}) {
        const Tensor offsets = has_last ? list({0, 3, 3, 5, 7}, index) : list({0, 3, 3, 5}, index);
        for (const int64_t padding : {-1, 2}) {
          CAPTURE(type, index, has_last, padding);
          for (const int64_t mode : {kSum, kMean, kMax}) {
            CHECK_PEER(aoti_torch_cpu__embedding_bag, close, weight, indices, offsets, 0, mode, 0,
                       nullptr, has_last, padding);
            CHECK_PEER(aoti_torch_cpu__embedding_bag_forward_only, close, weight, indices, offsets,
                       0, mode, 0, nullptr, has_last, padding);
          }
          CHECK_PEER(aoti_torch_cpu__embedding_bag, close, weight, indices, offsets, 0, kSum, 0,
                     samples, has_last, padding);
          CHECK_PEER(aoti_torch__embedding_bag, close, weight, indices, offsets, 0,
                     static_cast<int32_t>(kSum), 0, samples[0], has_last, padding);
          CHECK_PEER(aoti_torch__embedding_bag, close, weight, indices, offsets, 0,
                     static_cast<int32_t>(kMax), 0, Tensor(), has_last, padding);
        }
      }
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: embedding bags refuse wrong indices, offsets, types and modes",
          "[aoti_kernels_bags]") {
  const Tensor weight = *ones({3, 2});
  const Tensor indices = list({0, 2});
  const Tensor offsets = list({0, 1});
  const auto refuses = [&](const Tensor& rows, const Tensor& at, const Tensor& from, int64_t mode,
                           bool has_last, bool is_compared = true) {
    tests::Arguments args(false);
    AtenTensorHandle results[4] = {};
    CHECK(detail::aoti_torch_cpu__embedding_bag(
              args.pass<AtenTensorHandle>(rows), args.pass<AtenTensorHandle>(at),
              args.pass<AtenTensorHandle>(from), 0, mode, 0, nullptr, has_last, -1, &results[0],
              &results[1], &results[2], &results[3]) == 1);
    if (!is_compared) return;
    CHECK_PEER(aoti_torch_cpu__embedding_bag, 0, rows, at, from, 0, mode, 0, nullptr, has_last,
               int64_t{-1});
  };
  refuses(weight, list({0, 3}), offsets, kSum, false);
  refuses(weight, list({0, -1}), offsets, kSum, false);
  refuses(weight, list({0, 3}), offsets, kMax, false, false);  // libtorch reads out of bounds
  refuses(weight, list({0, -1}), offsets, kMean, false, false);
  refuses(weight, indices, list({1, 2}), kMean, false);
  refuses(weight, indices, list({0, 3}), kMean, false);
  refuses(weight, indices, list({0, 2, 1}), kSum, false, false);
  refuses(weight, indices, list({}), kSum, true);
  refuses(weight, indices, *zeros({1, 1}, ScalarType::Long), kSum, false);
  const Tensor shorts = to(indices, ScalarType::Short, CastMode::Truncate);
  refuses(weight, shorts, to(offsets, ScalarType::Short, CastMode::Truncate), kSum, false);
  CHECK_PEER(aoti_torch_cpu__embedding_bag, 0, weight, shorts, offsets, 0, kMean, 0, nullptr, 0,
             int64_t{-1});
  refuses(*zeros({3, 2}, ScalarType::Long), indices, offsets, kSum, false);
  refuses(weight, indices, offsets, 3, false, false);
  const std::vector<Tensor> factors = {*ones({2})};
  CHECK_PEER(aoti_torch_cpu__embedding_bag, 0, weight, indices, offsets, 0, kMax, 0, factors, 0,
             int64_t{-1});
  const std::vector<Tensor> few = {*ones({1})};
  CHECK_PEER(aoti_torch_cpu__embedding_bag, 0, weight, indices, offsets, 0, kSum, 0, few, 0,
             int64_t{-1});
}

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: random embedding bags", "[aoti_kernels_bags]") {
  manual_seed(6);
  const auto pick = [](int64_t low, int64_t high) {
    return randint(low, high + 1, {1}, ScalarType::Long)->const_data_ptr<int64_t>()[0];
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t rows = pick(1, 9);
    const int64_t count = pick(0, 12);
    std::vector<int64_t> offsets = {0};
    while (pick(0, 3) != 0) offsets.push_back((std::min)(count, offsets.back() + pick(0, 4)));
    const Tensor indices = *randint(0, rows, {count}, ScalarType::Long);
    const Tensor weight = *randn({rows, pick(1, 40)});
    const int64_t mode = pick(0, 2);
    const int64_t padding = pick(-1, rows - 1);
    CAPTURE(weight.sizes(), indices, offsets, mode, padding);
    CHECK_PEER(aoti_torch_cpu__embedding_bag, 1e-5, weight, indices, list(offsets), 0, mode, 0,
               nullptr, 0, padding);
  }
}

TEST_CASE("aoti_kernels: the last offset may be an end alone, of no bags or one",
          "[aoti_kernels_bags]") {
  const std::vector<Tensor> none =
      tests::answer(&detail::aoti_torch_cpu__embedding_bag_forward_only, *ones({4, 2}),
                    list({3, 1}), list({0}), 0, kMean, 0, nullptr, 1, int64_t{-1});
  CHECK(equal(none.at(1), list({-1, -1})));
  const std::vector<Tensor> one =
      tests::answer(&detail::aoti_torch_cpu__embedding_bag, *ones({4, 2}), list({3, 1, 2}),
                    list({0, 2}), 0, kSum, 0, nullptr, 1, int64_t{-1});
  CHECK(equal(one.at(0), *full({1, 2}, 2.0f)));
}

}  // namespace aoti_kernels_bags_test
