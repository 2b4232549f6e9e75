// SPDX-License-Identifier: MIT
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace creation_suite {

using namespace tenon;
using namespace tests;

TEST_CASE("creation: full, zeros, ones, empty of all types") {
#define TENON_TESTS_CREATE(cpp_type, name)                                                 \
  {                                                                                        \
    const TensorPtr one = ones({2, 3}, ScalarType::name);                                  \
    CHECK(one->scalar_type() == ScalarType::name && one->numel() == 6);                    \
    CHECK(one->is_aligned(TENON_DATA_ALIGNMENT) && one->is_contiguous());                  \
    CHECK(values<float>(to(one, ScalarType::Float, CastMode::Truncate)) == Floats(6, 1));  \
    const TensorPtr zero = zeros_like(one);                                                \
    CHECK(values<float>(to(zero, ScalarType::Float, CastMode::Truncate)) == Floats(6, 0)); \
    CHECK(empty({0, 4}, ScalarType::name)->numel() == 0);                                  \
  }
  TENON_FORALL_SCALAR_TYPES(TENON_TESTS_CREATE)
#undef TENON_TESTS_CREATE
  CHECK(values<float>(full({3}, 2.5)) == Floats{2.5f, 2.5f, 2.5f});
  CHECK(values<int64_t>(full({2}, INT64_MIN, ScalarType::Long)) == Longs{INT64_MIN, INT64_MIN});
}

TEST_CASE("creation: from values") {
  CHECK(values<int32_t>(make_tensor_ptr({1, 2, 3})) == Ints{1, 2, 3});
  CHECK(values<double>(make_tensor_ptr({0.5, -2.0})) == Doubles{0.5, -2});
  CHECK(values<uint8_t>(make_tensor_ptr({2, 2}, {1, 2, 3, 255}, ScalarType::Byte)) ==
        Bytes{1, 2, 3, 255});
  CHECK(try_make_tensor_ptr({300}, ScalarType::Byte).error() == Error::InvalidArgument);
  CHECK(try_make_tensor_ptr({2, 2}, {1, 2, 3}).error() == Error::InvalidArgument);
  const TensorPtr scalar = make_tensor_ptr(-7);
  CHECK(scalar->dim() == 0 && scalar->item<int32_t>() == -7);
  CHECK(scalar->shape_dynamism() == TensorShapeDynamism::STATIC);
  const TensorPtr columns = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}, {1, 2});
  CHECK(values<int32_t>(columns) == Ints{1, 3, 2, 4});
}

TEST_CASE("creation: arange, iota, eye") {
  CHECK(values<int64_t>(arange(2, 9, 3)) == Longs{2, 5, 8});
  CHECK(values<float>(arange(0.5, 2.0, 0.5)) == Floats{0.5f, 1, 1.5f});
  CHECK(values<int64_t>(iota({2, 2}, 1)) == Longs{0, 1, 0, 1});
  CHECK(values<float>(eye(2, 3)) == Floats{1, 0, 0, 0, 1, 0});
}

TEST_CASE("creation: 64 dimensions, and not 65") {
  Vector many(64, 1);
  const TensorPtr t = ones(many);
  CHECK(t->dim() == 64 && t->numel() == 1);
  CHECK(*t->const_data_ptr<float>() == 1);
  many.push_back(1);
  CHECK(try_ones(many).error() != Error::Ok);
}

TEST_CASE("creation: what the heap has no room for is refused, and leaves the heap as it was") {
  const auto most = int64_t{1} << 30;  // more than any of the machines has
  for (int i = 0; i < 3 && TENON_BARE_METAL; ++i) {
    CHECK(try_empty({most}, ScalarType::Byte).error() == Error::OutOfMemory);
    CHECK(try_zeros({most}, ScalarType::Byte).error() == Error::OutOfMemory);
  }
  CHECK(values<float>(zeros({2})) == Floats{0, 0});
}

}  // namespace creation_suite
