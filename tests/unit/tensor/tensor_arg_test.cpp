// SPDX-License-Identifier: MIT

#include "tenon/tensor/tensor.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace tensor_arg_test {

using namespace tenon;

namespace {
const TensorImpl* impl_of(TensorArg tensor) {
  return tensor.defined() ? tensor.tensor().unsafeGetTensorImpl() : nullptr;
}
}  // namespace

TEST_CASE("TensorArg: a Tensor, a temporary one and a TensorPtr are the same argument") {
  const TensorPtr pointer = make_tensor_ptr({1.0f, 2.0f});
  const Tensor handle = *pointer;
  CHECK(impl_of(pointer) == pointer->unsafeGetTensorImpl());
  CHECK(impl_of(handle) == pointer->unsafeGetTensorImpl());
  CHECK(impl_of(Tensor(handle)) == pointer->unsafeGetTensorImpl());
}

TEST_CASE("TensorArg: a null TensorPtr and an undefined Tensor are undefined") {
  CHECK(impl_of(TensorPtr()) == nullptr);
  CHECK(impl_of(Tensor()) == nullptr);
  RETURNS(InvalidState, "the output is undefined",
          tenon::detail::check_defined(TensorPtr(), "the output"));
  RETURNS(InvalidState, "the output is undefined",
          tenon::detail::check_defined(Tensor(), "the output"));
}

}  // namespace tensor_arg_test
