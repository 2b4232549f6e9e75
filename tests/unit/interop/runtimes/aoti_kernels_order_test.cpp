// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_order.h"

#include "interop/runtimes/aoti_kernels/peer.h"

using namespace tenon;
using tests::differs;

TEST_CASE("aoti_kernels: cumsum of each type, along each dimension, in each layout",
          "[aoti_kernels_order]") {
  const TensorPtr numbers = randint(-9, 9, {4, 3, 5}, ScalarType::Float);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Byte,
                                ScalarType::Bool, ScalarType::Half}) {
    for (const int64_t dim : {0, 1, -1}) {
      const Tensor x = to(*numbers, type, CastMode::Truncate);
      CHECK(differs(TENON_PEER(aoti_torch_cpu_cumsum), 1e-3, x, dim, nullptr) == "");
      CHECK(differs(TENON_PEER(aoti_torch_cpu_cumsum), 1e-3, permute(x, {2, 0, 1}), dim, nullptr) ==
            "");
    }
  }
  CHECK(differs(TENON_PEER(aoti_torch_cpu_cumsum), 0, *zeros({2, 3}), 2, nullptr) == "");
}
