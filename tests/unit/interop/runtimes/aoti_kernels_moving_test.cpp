// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_moving.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_moving_test {

using namespace tenon;
using tests::RandomCases;

TEST_CASE("aoti_kernels: cat of random tensors", "[aoti_kernels_moving]") {
  RandomCases random(6);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(random.one_in(30) ? 0 : 1, 5);
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = random.one_in(40) || rank == 0 ? 5 : random.between(-rank, rank - 1);
    const ScalarType type = random.type();
    std::vector<Tensor> list;
    std::ostringstream text;
    for (int64_t count = random.below(5); count > 0; --count) {
      std::vector<int64_t> own = sizes;
      if (rank != 0 && dim != 5)
        own[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = random.below(4);
      if (random.one_in(60) && rank != 0) ++own[0];
      if (random.one_in(12)) own = {0};
      list.push_back(random.tensor(own, random.one_in(4) ? random.type() : type));
      text << list.back().scalar_type() << ' ' << list.back().sizes() << " by "
           << list.back().strides() << ", ";
    }
    INFO(text.str() << "dim " << dim);
    CHECK_PEER(aoti_torch_cpu_cat, 0, list, list.size(), dim);
  }
}

TEST_CASE("aoti_kernels: pad in each mode", "[aoti_kernels_moving]") {
  RandomCases random(7);
  for (int i = 0; i < tests::random_cases(); ++i) {
    const auto sizes = random.sizes(0, 5);
    const ScalarType type = random.one_in(3) ? random.type() : ScalarType::Float;
    const Tensor x = random.tensor(sizes, type);
    std::vector<int64_t> pad(
        static_cast<size_t>(2 * random.between(0, static_cast<int64_t>(sizes.size()))));
    for (int64_t& size : pad) size = random.between(random.one_in(6) ? -2 : 0, 2);
    if (random.one_in(50)) pad.push_back(1);
    const char* const mode =
        random.one_of<const char*>({"constant", "reflect", "replicate", "circular"});
    double value = random.one_in(2) ? 3 : 0;
    double* const given = random.one_in(2) ? &value : nullptr;
    INFO("case " << i << ": " << type << ' ' << x.sizes() << " by " << x.strides() << ", " << mode
                 << ", " << ArrayRef<int64_t>(pad) << ", " << (given == nullptr ? 0 : value));
    // torch's kernels have no Bool, and refuse what has no elements.
    if (mode != std::string("constant") && (type == ScalarType::Bool || x.numel() == 0)) continue;
    CHECK_PEER(aoti_torch_cpu_pad, 0, x, pad.data(), pad.size(), mode, given);
  }
}

TEST_CASE("aoti_kernels: the sizes of joined tensors do not overflow", "[aoti_kernels_moving]") {
  const int64_t half = int64_t{1} << 62;
  const Tensor huge = *empty({half, 0}, ScalarType::Byte);
  const std::vector<Tensor> list = {huge, huge};
  CHECK(tests::answer(&detail::aoti_torch_cpu_cat, list, 2, 0).empty());
  CHECK_PEER(aoti_torch_cpu_cat, 0, list, 2, 1);
}

}  // namespace aoti_kernels_moving_test
