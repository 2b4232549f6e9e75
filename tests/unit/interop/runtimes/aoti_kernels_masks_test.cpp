// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_masks.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_masks_test {

using namespace tenon;
using tests::RandomCases;

TEST_CASE("aoti_kernels: nonzero, masked_select and masked_scatter of random tensors",
          "[aoti_kernels_masks]") {
  RandomCases random(4);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(0, 4);
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type, -1, 2);
    CHECK_PEER(aoti_torch_cpu_nonzero, 0, x);
    CHECK_PEER(aoti_torch_nonzero, 0, x);
    CHECK_PEER(aoti_torch_cpu_nonzero_static, 0, x, random.between(-1, 9), random.between(-3, 3));
    std::vector<int64_t> covered = sizes;
    for (int64_t& size : covered) size = random.one_in(4) ? 1 : size == 1 ? 3 : size;
    if (!covered.empty() && random.one_in(4)) covered.erase(covered.begin());
    if (!covered.empty() && random.one_in(30)) ++covered[0];
    const ScalarType mask_type = random.one_in(30) ? ScalarType::Byte : ScalarType::Bool;
    const Tensor mask = random.tensor(covered, mask_type, 0, 1);
    const Tensor source = random.tensor(random.sizes(0, 5), type);
    INFO(type << ' ' << x.sizes() << ", mask " << mask_type << ' ' << mask.sizes() << ", source "
              << source.sizes());
    CHECK_PEER(aoti_torch_cpu_masked_select, 0, x, mask);
    CHECK_PEER(aoti_torch_cpu_masked_scatter, 0, x, mask, source);
  }
}

TEST_CASE("aoti_kernels: repeat_interleave of random counts", "[aoti_kernels_masks]") {
  RandomCases random(5);
  for (int i = 0; i < tests::random_cases(); ++i) {
    const auto sizes = random.sizes(1, random.one_in(30) ? 2 : 1);
    const ScalarType type = random.one_in(30)  ? ScalarType::Float
                            : random.one_in(2) ? ScalarType::Int
                                               : ScalarType::Long;
    const Tensor counts = random.tensor(sizes, type, random.one_in(30) ? -1 : 0, 3);
    int64_t total = random.one_in(30) ? 1 : 0;
    for (int64_t k = 0; k < (counts.dim() == 1 ? counts.numel() : 0); ++k) {
      total += detail::load_scalar(type, select(counts, 0, k).const_data_ptr()).to<int64_t>();
    }
    int64_t* const given = random.one_in(2) ? &total : nullptr;
    INFO("case " << i << ": " << counts << ", output_size " << (given == nullptr ? -1 : total));
    CHECK_PEER(aoti_torch_cpu_repeat_interleave_Tensor, 0, counts, given);
    CHECK_PEER(aoti_torch_repeat_interleave_Tensor, 0, counts, given);
  }
}

}  // namespace aoti_kernels_masks_test
