// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_masks.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_masks_test {

using namespace tenon;
using tests::differs;
using tests::RandomCases;

TEST_CASE("aoti_kernels: nonzero, masked_select and masked_scatter of random tensors",
          "[aoti_kernels_masks]") {
  RandomCases random(4);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(0, 4);
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type, -1, 2);
    CHECK(differs(TENON_PEER(aoti_torch_cpu_nonzero), 0, x) == "");
    CHECK(differs(TENON_PEER(aoti_torch_nonzero), 0, x) == "");
    CHECK(differs(TENON_PEER(aoti_torch_cpu_nonzero_static), 0, x, random.between(-1, 9),
                  random.between(-3, 3)) == "");
    std::vector<int64_t> covered = sizes;
    for (int64_t& size : covered) size = random.one_in(4) ? 1 : size == 1 ? 3 : size;
    if (!covered.empty() && random.one_in(4)) covered.erase(covered.begin());
    if (!covered.empty() && random.one_in(30)) ++covered[0];
    const ScalarType mask_type = random.one_in(30) ? ScalarType::Byte : ScalarType::Bool;
    const Tensor mask = random.tensor(covered, mask_type, 0, 1);
    const Tensor source = random.tensor(random.sizes(0, 5), type);
    INFO(type << ' ' << x.sizes() << ", mask " << mask_type << ' ' << mask.sizes() << ", source "
              << source.sizes());
    CHECK(differs(TENON_PEER(aoti_torch_cpu_masked_select), 0, x, mask) == "");
    CHECK(differs(TENON_PEER(aoti_torch_cpu_masked_scatter), 0, x, mask, source) == "");
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
    CHECK(differs(TENON_PEER(aoti_torch_cpu_repeat_interleave_Tensor), 0, counts, given) == "");
    CHECK(differs(TENON_PEER(aoti_torch_repeat_interleave_Tensor), 0, counts, given) == "");
  }
}

TEST_CASE("aoti_kernels: masks without libtorch beside them", "[aoti_kernels_masks]") {
  using tests::answer;
  const Tensor x = *make_tensor_ptr({2, 2}, {0.0f, 6.0f, 7.0f, 0.0f});
  CHECK(equal(answer(&detail::aoti_torch_cpu_nonzero, x).at(0),
              *make_tensor_ptr({2, 2}, std::vector<int64_t>{0, 1, 1, 0})));
  CHECK(equal(answer(&detail::aoti_torch_cpu_nonzero_static, x, 1, -1).at(0),
              *make_tensor_ptr({1, 2}, std::vector<int64_t>{0, 1})));
  const Tensor mask = to(x, ScalarType::Bool, CastMode::Truncate);
  CHECK(equal(answer(&detail::aoti_torch_cpu_masked_select, x, mask).at(0),
              *make_tensor_ptr({2}, {6.0f, 7.0f})));
  const Tensor source = *make_tensor_ptr({2}, {1.0f, 2.0f});
  CHECK(equal(answer(&detail::aoti_torch_cpu_masked_scatter, x, mask, source).at(0),
              *make_tensor_ptr({2, 2}, {0.0f, 1.0f, 2.0f, 0.0f})));
  const Tensor counts = *make_tensor_ptr({3}, std::vector<int64_t>{2, 0, 1});
  CHECK(equal(answer(&detail::aoti_torch_cpu_repeat_interleave_Tensor, counts, nullptr).at(0),
              *make_tensor_ptr({3}, std::vector<int64_t>{0, 0, 2})));
}

}  // namespace aoti_kernels_masks_test
