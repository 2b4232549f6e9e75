// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti_kernels.h"

#include "support/catch.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"
#include "tenon/tenon.h"

namespace aoti_kernels_test {

using namespace tenon;

TEST_CASE("aoti_kernels: the header's own operators are registered before main()",
          "[aoti_kernels]") {
  const auto counts =
      call_torch_operator("aten::bincount", {make_tensor({int64_t{2}, int64_t{0}, int64_t{2}})});
  REQUIRE(counts.ok());
  CHECK((*counts)[0].toTensor().sizes() == ArrayRef<int64_t>({3}));
}

TEST_CASE("aoti_kernels: the program's own operator goes before the header's", "[aoti_kernels]") {
  const auto call = [] {
    return call_torch_operator("aten::bincount", {*ones({1}, ScalarType::Long)});
  };
  REQUIRE(register_torch_operator(
              "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
              [](Span<const EValue>, std::vector<EValue>& outputs) {
                outputs.emplace_back(Tensor(*zeros({7})));
                return Error::Ok;
              }) == Error::Ok);
  CHECK(call().value()[0].toTensor().numel() == 7);
  CHECK(unregister_torch_operator("aten::bincount") == Error::Ok);
  CHECK(call().value()[0].toTensor().numel() == 2);
  CHECK(unregister_torch_operator("aten::bincount") == Error::NotFound);
}

}  // namespace aoti_kernels_test
