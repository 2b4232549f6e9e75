// SPDX-License-Identifier: MIT
// Every part of the library on tensors over an impl that the caller keeps, on the stack.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

template <class T>
struct OnStack {
  OnStack(const Vector& shape, std::vector<T> values, const Vector& strides = {},
          TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC)
      : data(std::move(values)),
        impl(CppTypeToScalarType<T>::value, static_cast<int64_t>(shape.size()), shape.data(),
             data.data(), nullptr, strides.empty() ? nullptr : strides.data(), dynamism),
        t(&impl) {}
  std::vector<T> data;
  TensorImpl impl;
  Tensor t;
};

}  // namespace

TEST_CASE("stack: values are assigned, copied, filled, drawn and written as bytes and text") {
  const int32_t one_two[2] = {1, 2};
  int32_t back[2] = {};
  OnStack<int32_t> pair({2}, {0, 0});
  CHECK(assign(pair.t, one_two, 8) == Error::Ok);
  CHECK(pair.data == Ints{1, 2});
  CHECK(copy_to(pair.t, back, 8) == Error::Ok);
  CHECK(back[1] == 2);
  CHECK(to_binary(pair.t) == Bytes{1, 0, 0, 0, 2, 0, 0, 0});
  CHECK(to_string(pair.t) == "[1 2]\nInt {2}");
  CHECK(contiguous(pair.t).unsafeGetTensorImpl() == &pair.impl);
  CHECK(zero_(pair.t) == Error::Ok);
  CHECK(pair.data == Ints{0, 0});

  OnStack<int32_t> turned({2, 2}, {0, 0, 0, 0}, {1, 2});
  CHECK(copy_(turned.t, OnStack<int32_t>({2, 2}, {1, 2, 3, 4}).t) == Error::Ok);
  CHECK(turned.data == Ints{1, 3, 2, 4});
  Generator g(0);
  CHECK(random_(turned.t, 0, 100, g) == Error::Ok);
  CHECK(turned.data == Ints{39, 73, 88, 60});
}

TEST_CASE("stack: a blob has no owner") {
  OnStack<float> source({4}, {0, 0, 0, 0});
  const Blob blob = to_blob(source.t);
  CHECK(blob.data == source.data.data());
  CHECK(blob.owner == nullptr);
  CHECK(blob.owner.use_count() == 0);
}

TEST_CASE("stack: resizes within its bound") {
  OnStack<int32_t> six({6}, {0, 1, 2, 3, 4, 5}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
  REQUIRE(resize_tensor(six.t, {2, 3}) == Error::Ok);
  CHECK(tests::sizes(six.t) == Vector{2, 3});
  RETURNS(InvalidArgument, "resize_tensor: ", resize_tensor(six.t, {7}));
}

TEST_CASE("stack: a view keeps nothing, a view of that one does") {
  OnStack<int32_t> source({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  for (const Tensor& view :
       {tenon::select(source.t, 0, 1), *make_tensor_ptr(source.t, {3}, {}, {}, 3)}) {
    CHECK(view.ownership() == Ownership::View);
    CHECK_FALSE(view.is_alias_of(source.t));
    const Tensor second = slice(view, -1, 1, 3);
    CHECK(values<int32_t>(second) == Ints{5, 6});
    CHECK(second.is_alias_of(view));
  }
}
