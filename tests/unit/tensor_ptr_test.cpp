// SPDX-License-Identifier: MIT
// What the header has by itself; tensor/'s tests say what each of it does.
#include "tenon/tensor_ptr.h"

#include "support/catch.h"

namespace tensor_ptr_alone_test {

using namespace tenon;

TEST_CASE("tensor_ptr.h: tensors of memory and of values, and their elements") {
  float pixels[6] = {1, 2, 3, 4, 5, 6};
  const TensorPtr image = from_blob(pixels, {2, 3});
  CHECK(image->accessor<float, 2>()[1][2] == 6.0f);
  bool released = false;
  const auto release = [&released](void*) { released = true; };
  for_blob(pixels, {3, 2}).deleter(release).make_tensor_ptr().reset();
  CHECK(released);
  CHECK(data<double>(make_tensor_ptr({1.0, 2.0}))[1] == 2.0);
}

TEST_CASE("tensor_ptr.h: views, resizes, clones, copies and casts") {
  const TensorPtr image = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  Tensor turned = transpose(image, 0, 1);
  const TensorPtr clone = clone_tensor_ptr(turned, ScalarType::Double);
  CHECK(clone->accessor<double, 2>()[0][1] == 4.0);
  CHECK(copy_(turned, clone) == Error::Ok);
  CHECK(data<float>(slice(image, 0, 0, 1))[0] == 1.0f);
  const TensorPtr list = make_tensor_ptr({1, 2, 3});
  CHECK(resize_tensor_ptr(list, {2}) == Error::Ok);
  CHECK(try_reshape(list, {3}).error() == Error::InvalidArgument);
}

}  // namespace tensor_ptr_alone_test
