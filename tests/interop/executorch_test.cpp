// SPDX-License-Identifier: MIT
// The umbrella. Needs ExecuTorch, and is built with it by interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch.h"

#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tensor/helpers.h"

static_assert(std::is_base_of_v<tenon::Module, tenon::ExecuTorchModule>);

TEST_CASE("executorch.h: tensors and EValues cross in both directions with this header alone") {
  const tenon::TensorPtr t = tenon::full({2, 2}, 3.0f);
  const auto e = tenon::to_executorch(t);
  CHECK(tests::values<float>(tenon::from_executorch(e)) == std::vector<float>{3, 3, 3, 3});
  const executorch::runtime::EValue value(e);
  CHECK(tenon::from_executorch(value, e).toTensor().const_data_ptr() == t->const_data_ptr());
}
