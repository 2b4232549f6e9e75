// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_tensor_options.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_tensor_options_test {

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("aoti_kernels: a tensor like another in torch's memory formats",
          "[aoti_tensor_options]") {
  using Strides = std::vector<int64_t>;
  const TensorPtr given = ones({2, 3, 4, 5});
  const auto strides_of = [&](int64_t format) {
    Tensor made;
    REQUIRE(make_sized_like(permute(*given, {3, 2, 1, 0}), ScalarType::Half, format, made) ==
            Error::Ok);
    return Strides(made.strides().begin(), made.strides().end());
  };
  CHECK(strides_of(0) == Strides{24, 6, 2, 1});
  CHECK(strides_of(1) == Strides{1, 5, 20, 60});
  CHECK(strides_of(2) == Strides{24, 1, 8, 4});
  Tensor made;
  CHECK(make_sized_like(*given, ScalarType::Float, 3, made) == Error::InvalidArgument);
  CHECK(make_sized_like(*given, ScalarType::Float, 4, made) == Error::NotSupported);
}

}  // namespace aoti_tensor_options_test
