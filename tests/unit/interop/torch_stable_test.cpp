// SPDX-License-Identifier: MIT
// Two programs: one has torch's functions from libtorch, the other from tenon's shims.
#include "tenon/interop/torch_stable.h"

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"
#if defined(TENON_STABLE_ON_TENON)
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/torch_stable_shim.h"
#endif

namespace torch_stable_test {

using namespace tenon;

TEST_CASE("torch_stable: a tensor goes to torch and back over the same memory") {
  const TensorPtr x = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const Tensor turned = transpose(x, 0, 1);
  const torch::stable::Tensor stable = to_stable(turned);
  CHECK(stable.const_data_ptr() == x->const_data_ptr());
  CHECK(stable.dim() == 2);
  CHECK(stable.size(0) == 3);
  CHECK(stable.stride(0) == 1);
  CHECK(stable.stride(1) == 3);
  CHECK(stable.scalar_type() == torch::headeronly::ScalarType::Float);
  CHECK(stable.is_cpu());
  const TensorPtr back = from_stable(stable);
  CHECK(back->const_data_ptr() == x->const_data_ptr());
  CHECK(back->sizes() == Dims{3, 2});
  CHECK(back->strides() == Dims{1, 3});
  back->mutable_data_ptr<float>()[0] = 9;
  CHECK(x->const_data_ptr<float>()[0] == 9);
}

TEST_CASE("torch_stable: each keeps the other's memory alive, and lets it go once") {
  float memory[] = {1, 2, 3, 4};
  int released = 0;
  {
    torch::stable::Tensor stable =
        to_stable(from_blob(memory, {4}, ScalarType::Float, [&](void*) { ++released; }));
    CHECK(released == 0);
    TensorPtr back = from_stable(stable);
    stable = torch::stable::Tensor();
    CHECK(released == 0);
    CHECK(tests::values<float>(*back) == tests::Floats{1, 2, 3, 4});
    back.reset();
    CHECK(released == 1);
  }
  CHECK(released == 1);
}

TEST_CASE("torch_stable: each dtype that both have, and tensors of no elements") {
  for (const ScalarType type :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long,
        ScalarType::Half, ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat,
        ScalarType::Bool, ScalarType::BFloat16, ScalarType::UInt16}) {
    INFO(toString(type));
    const TensorPtr x = zeros({2, 0, 3}, type);
    const TensorPtr back = from_stable(to_stable(x));
    CHECK(back->scalar_type() == type);
    CHECK(back->sizes() == Dims{2, 0, 3});
    CHECK(from_stable(to_stable(zeros({}, type)))->dim() == 0);
  }
}

TEST_CASE("torch_stable: what cannot be passed on is an error") {
  CHECK(try_to_stable(Tensor()).error() == Error::InvalidState);
  const float constants[] = {1, 2};
  CHECK(try_to_stable(from_blob(constants, {2})).error() == Error::InvalidState);
  CHECK(tests::contains(last_error_message(), "to_stable: the tensor is read-only"));
  CHECK(try_from_stable(torch::stable::Tensor()).error() == Error::InvalidState);
  CHECK(tests::contains(last_error_message(), "from_stable: the tensor is undefined"));
}

#if defined(TENON_STABLE_ON_TENON)
TEST_CASE("torch_stable: every allocation that fails is an error, and the memory is let go") {
  if (!tests::heap_is_counted()) return;
  float memory[] = {1, 2};
  int released = 0;
  int failed = 0;
  for (int64_t n = 1; n < 100; ++n) {
    released = 0;
    {
      const TensorPtr x = from_blob(memory, {2}, ScalarType::Float, [&](void*) { ++released; });
      tests::start_counting(n);
      const Result<torch::stable::Tensor> stable = try_to_stable(x);
      Error error = stable.error();
      if (error == Error::Ok) error = try_from_stable(*stable).error();
      tests::stop_counting();
      if (tests::failures() != 0) CHECK(error != Error::Ok);
      if (tests::failures() == 0) CHECK(error == Error::Ok);
    }
    CHECK(released == 1);
    if (tests::failures() == 0) break;
    ++failed;
  }
  CHECK(failed > 1);
}
#endif

}  // namespace torch_stable_test
