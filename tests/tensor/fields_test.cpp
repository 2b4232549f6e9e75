// SPDX-License-Identifier: MIT
#include "tenon/tensor/fields.h"

#include "support/catch.h"

using namespace tenon;
using tenon::detail::TensorFields;

namespace {

TensorFields fields_of(const Dims& sizes, const Dims& strides, void* data) {
  TensorFields fields;
  REQUIRE(make_layout(sizes, {}, strides, sizeof(float), fields.layout) == Error::Ok);
  fields.data = data;
  fields.settle(TensorShapeDynamism::DYNAMIC_BOUND);
  return fields;
}

}  // namespace

TEST_CASE("fields: rank 0 is STATIC, any other as dynamic as asked") {
  float data[6] = {};
  CHECK(fields_of({}, {}, data).dynamism == TensorShapeDynamism::STATIC);
  CHECK(fields_of({2, 3}, {}, data).dynamism == TensorShapeDynamism::DYNAMIC_BOUND);
}

TEST_CASE("fields: the capacity is what lies from element 0 upward, at most one place an element") {
  float data[12] = {};
  CHECK(fields_of({2, 3}, {}, data).capacity == 6);
  CHECK(fields_of({2, 3}, {6, 1}, data).capacity == 6);       // gaps
  CHECK(fields_of({2, 3}, {0, 1}, data).capacity == 3);       // two rows in one
  CHECK(fields_of({2, 3}, {-3, 1}, data + 3).capacity == 3);  // half of it below
  CHECK(fields_of({0, 3}, {}, data).capacity == 0);
}

TEST_CASE("fields: without data only a tensor without elements has all that it needs") {
  float data[1] = {};
  CHECK(fields_of({1}, {}, data).has_data());
  CHECK_FALSE(fields_of({1}, {}, nullptr).has_data());
  CHECK(fields_of({0}, {}, nullptr).has_data());
  RETURNS(InvalidState, "placeholder", check_has_data(fields_of({1}, {}, nullptr)));
}

TEST_CASE("fields: bytes are those of the elements, not of gaps") {
  float data[12] = {};
  CHECK(fields_of({2, 3}, {6, 1}, data).nbytes() == 24);
}

TEST_CASE("fields: typed access needs the dtype and memory of the host") {
  float data[1] = {};
  TensorFields fields = fields_of({1}, {}, data);
  CHECK(check_typed(fields, ScalarType::Float) == Error::Ok);
  RETURNS(InvalidType, "asked for Int, but the tensor's dtype is Float",
          check_typed(fields, ScalarType::Int));
  fields.device = Device("cuda:1");
  RETURNS(NotSupported, "cuda:1", check_typed(fields, ScalarType::Float));
}

TEST_CASE("fields: only borrowed memory may be exchanged") {
  float data[1] = {};
  TensorFields fields = fields_of({1}, {}, data);
  CHECK(check_can_bind(fields) == Error::Ok);
  fields.ownership = Ownership::View;
  RETURNS(InvalidState, "not borrowed", check_can_bind(fields));
}
