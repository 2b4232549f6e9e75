// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_norm.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_norm_test {

using namespace tenon;

TEST_CASE("aoti_kernels: normalization by the root mean square", "[aoti_kernels_norm]") {
  double eps = 1e-3;
  const std::vector<int64_t> last = {6};
  const std::vector<int64_t> last_two = {5, 6};
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double close = type == ScalarType::BFloat16 ? 0.03
                         : type == ScalarType::Half   ? 4e-3
                                                      : 1e-5;
    const Tensor x = to(*randn({2, 3, 5, 6}), type, CastMode::Truncate);
    const std::vector<Tensor> weight = {to(*randn({6}), type, CastMode::Truncate)};
    const std::vector<Tensor> plane = {to(*randn({5, 6}), type, CastMode::Truncate)};
    const Tensor channels_last = permute(contiguous(permute(x, {0, 2, 3, 1})), {0, 3, 1, 2});
    for (const Tensor& given : {x, channels_last, select(x, 0, 1), narrow(x, 1, 1, 2),
                                expand(narrow(x, 0, 0, 1), {2, 3, 5, 6})}) {
      CAPTURE(type, given.sizes(), given.strides());
      for (double* const epsilon : {static_cast<double*>(nullptr), &eps}) {
        CHECK_PEER(aoti_torch_cpu__fused_rms_norm, close, given, last.data(), int64_t{1}, weight,
                   epsilon);
        CHECK_PEER(aoti_torch_cpu__fused_rms_norm, close, given, last_two.data(), int64_t{2},
                   nullptr, epsilon);
      }
      CHECK_PEER(aoti_torch_cpu__fused_rms_norm, close, given, last_two.data(), int64_t{2}, plane,
                 nullptr);
    }
    // Zeros, whose mean is less than epsilon.
    CHECK_PEER(aoti_torch_cpu__fused_rms_norm, close, *zeros({2, 6}, type), last.data(), int64_t{1},
               weight, nullptr);
  }
}

TEST_CASE("aoti_kernels: normalization of nothing, and of what does not fit",
          "[aoti_kernels_norm]") {
  const std::vector<int64_t> shape = {6};
  const std::vector<int64_t> other = {5};
  const std::vector<Tensor> weight = {*ones({5})};
  CHECK_PEER(aoti_torch_cpu__fused_rms_norm, 0, *zeros({0, 6}), shape.data(), int64_t{1}, nullptr,
             nullptr);
  CHECK_PEER(aoti_torch_cpu__fused_rms_norm, 0, *ones({2, 6}), shape.data(), int64_t{1}, weight,
             nullptr);
  CHECK_PEER(aoti_torch_cpu__fused_rms_norm, 0, *ones({2, 6}, ScalarType::Long), shape.data(),
             int64_t{1}, nullptr, nullptr);
  tests::Arguments args(false);
  AtenTensorHandle results[2] = {};
  CHECK(detail::aoti_torch_cpu__fused_rms_norm(args.pass<AtenTensorHandle>(*ones({2, 6})),
                                               other.data(), 1, nullptr, nullptr, &results[0],
                                               &results[1]) == 1);
}

}  // namespace aoti_kernels_norm_test
