// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_norm.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_norm_test {

using namespace tenon;
using tests::differs;

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
        CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), close, given, last.data(),
                      int64_t{1}, weight, epsilon) == "");
        CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), close, given, last_two.data(),
                      int64_t{2}, nullptr, epsilon) == "");
      }
      CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), close, given, last_two.data(),
                    int64_t{2}, plane, nullptr) == "");
    }
    // Zeros, whose mean is less than epsilon.
    CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), close, *zeros({2, 6}, type),
                  last.data(), int64_t{1}, weight, nullptr) == "");
  }
}

TEST_CASE("aoti_kernels: normalization of nothing, and of what does not fit",
          "[aoti_kernels_norm]") {
  const std::vector<int64_t> shape = {6};
  const std::vector<int64_t> other = {5};
  const std::vector<Tensor> weight = {*ones({5})};
  CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), 0, *zeros({0, 6}), shape.data(),
                int64_t{1}, nullptr, nullptr) == "");
  CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), 0, *ones({2, 6}), shape.data(),
                int64_t{1}, weight, nullptr) == "");
  CHECK(differs(TENON_PEER(aoti_torch_cpu__fused_rms_norm), 0, *ones({2, 6}, ScalarType::Long),
                shape.data(), int64_t{1}, nullptr, nullptr) == "");
  // 3 and 4: the mean of squares is 12.5.
  const std::vector<int64_t> two = {2};
  double eps = 0;
  tests::Arguments args(false);
  AtenTensorHandle results[2] = {};
  CHECK(detail::aoti_torch_cpu__fused_rms_norm(args.pass<AtenTensorHandle>(*ones({2, 6})),
                                               other.data(), 1, nullptr, nullptr, &results[0],
                                               &results[1]) == 1);
  const Tensor x = *make_tensor_ptr({2}, std::vector<double>{3, 4});
  REQUIRE(detail::aoti_torch_cpu__fused_rms_norm(args.pass<AtenTensorHandle>(x), two.data(), 1,
                                                 nullptr, &eps, &results[0], &results[1]) == 0);
  CHECK(args.read(results[0]).const_data_ptr<double>()[0] == Approx(3 / std::sqrt(12.5)));
  CHECK(args.read(results[1]).const_data_ptr<double>()[0] == Approx(1 / std::sqrt(12.5)));
  for (const AtenTensorHandle result : results) args.drop(result);
}

}  // namespace aoti_kernels_norm_test
