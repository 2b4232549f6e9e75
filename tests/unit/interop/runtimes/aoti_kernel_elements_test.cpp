// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernel_elements.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_kernel_elements_test {

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("aoti_kernels: numbers that fit an element", "[aoti_kernel_elements]") {
  Scalar number;
  CHECK(read_number(ScalarType::Byte, 255.5, number) == Error::InvalidArgument);
  CHECK(read_number(ScalarType::Char, -129, number) == Error::InvalidArgument);
  CHECK(read_number(ScalarType::Half, 65505, number) == Error::InvalidArgument);
  CHECK(read_number(ScalarType::Float, -INFINITY, number) == Error::Ok);
  REQUIRE(read_number(ScalarType::Char, -3.7, number) == Error::Ok);
  CHECK(number.to<int64_t>() == -3);
  REQUIRE(read_number(ScalarType::Bool, 0.5, number) == Error::Ok);
  CHECK(number.to<bool>());
}

TEST_CASE("aoti_kernels: joined and padded images keep channels last", "[aoti_kernel_elements]") {
  const Tensor image = permute(*rand({2, 4, 5, 3}), {0, 3, 1, 2});
  const Tensor list[] = {image, image};
  Tensor made;
  REQUIRE(join(list, 1, made) == Error::Ok);
  CHECK(made.strides() == ArrayRef<int64_t>({120, 1, 30, 6}));
  REQUIRE(join({list, 2}, 3, made) == Error::Ok);
  CHECK(made.strides() == ArrayRef<int64_t>({120, 1, 30, 3}));
  const int64_t pad[] = {1, 0};
  REQUIRE(pad_by(image, pad, "constant", nullptr, made) == Error::Ok);
  CHECK(made.strides() == ArrayRef<int64_t>({72, 1, 18, 3}));
  CHECK(join(ArrayRef<Tensor>(), 0, made) == Error::InvalidArgument);
}

}  // namespace aoti_kernel_elements_test
