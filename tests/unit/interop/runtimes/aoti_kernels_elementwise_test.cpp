// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_elementwise.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_elementwise_test {

using namespace tenon;

TEST_CASE("Elementwise: sizes broadcast, and strides follow the first input that tells",
          "[aoti_kernels_elementwise]") {
  const auto strides_of = [](const Tensor& a, const Tensor& b) {
    AtenTensorHandle handles[] = {nullptr, nullptr};
    REQUIRE(detail::make_aoti_handle(a, handles[0]) == Error::Ok);
    REQUIRE(detail::make_aoti_handle(b, handles[1]) == Error::Ok);
    detail::Elementwise job;
    REQUIRE(job.read(handles[0], "a") == Error::Ok);
    REQUIRE(job.read(handles[1], "b") == Error::Ok);
    REQUIRE(job.begin(job.common_type(), ScalarType::Float) == Error::Ok);
    job.compute<float, float>([](float x, float y) { return x + 10 * y; });
    for (const AtenTensorHandle handle : handles) {
      REQUIRE(detail::tenon_aoti_shim.delete_tensor_object(handle) == 0);
    }
    AtenTensorHandle result = nullptr;
    Tensor made;
    REQUIRE(job.finish(&result) == Error::Ok);
    REQUIRE(detail::take_aoti_tensor(result, made) == Error::Ok);
    const Tensor x = expand(a, made.sizes());
    const Tensor y = expand(b, made.sizes());
    for (int64_t i = 0; i < made.size(0); ++i) {
      for (int64_t j = 0; j < made.size(1); ++j) {
        const auto at = [&](const Tensor& t) {
          return *select(select(t, 0, i), 0, j).const_data_ptr<float>();
        };
        CHECK(at(made) == at(x) + 10 * at(y));
      }
    }
    return std::vector<int64_t>(made.strides().begin(), made.strides().end());
  };
  using Strides = std::vector<int64_t>;
  const TensorPtr rows = rand({3, 4});
  const Tensor columns = permute(*rand({4, 3}), {1, 0});
  CHECK(strides_of(*rows, *rows) == Strides{4, 1});
  CHECK(strides_of(columns, columns) == Strides{1, 3});
  CHECK(strides_of(*rows, columns) == Strides{4, 1});
  CHECK(strides_of(columns, *rows) == Strides{1, 3});
  CHECK(strides_of(*rand({}), columns) == Strides{1, 3});
  CHECK(strides_of(*rand({3, 1}), columns) == Strides{1, 3});
  CHECK(strides_of(narrow(*rand({3, 9}), 1, 2, 4), *rand({4})) == Strides{4, 1});
}

TEST_CASE("Elementwise: a tensor of rank 0 decides on the type only by its kind",
          "[aoti_kernels_elementwise]") {
  const auto common = [](ScalarType a, const Dims& of_a, ScalarType b) {
    AtenTensorHandle handles[] = {nullptr, nullptr};
    REQUIRE(detail::make_aoti_handle(*empty(of_a, a), handles[0]) == Error::Ok);
    REQUIRE(detail::make_aoti_handle(*empty({2}, b), handles[1]) == Error::Ok);
    detail::Elementwise job;
    for (const AtenTensorHandle handle : handles) {
      REQUIRE(job.read(handle, "a tensor") == Error::Ok);
      REQUIRE(detail::tenon_aoti_shim.delete_tensor_object(handle) == 0);
    }
    return job.common_type();
  };
  CHECK(common(ScalarType::Double, {}, ScalarType::Half) == ScalarType::Half);
  CHECK(common(ScalarType::Double, {1}, ScalarType::Half) == ScalarType::Double);
  CHECK(common(ScalarType::Long, {}, ScalarType::Char) == ScalarType::Char);
  CHECK(common(ScalarType::Long, {}, ScalarType::Bool) == ScalarType::Long);
  CHECK(common(ScalarType::Double, {}, ScalarType::Int) == ScalarType::Double);
  CHECK(common(ScalarType::ComplexDouble, {}, ScalarType::Float) == ScalarType::ComplexFloat);
  CHECK(common(ScalarType::ComplexFloat, {}, ScalarType::Double) == ScalarType::ComplexDouble);
}

}  // namespace aoti_kernels_elementwise_test
