// SPDX-License-Identifier: MIT
// Specs by a program of ExecuTorch's. Needs ExecuTorch, and is built with it by
// interop/executorch/CMakeLists.txt.
#include "tenon/interop/executorch_spec.h"

#include <cstdint>
#include <initializer_list>

#include "support/catch.h"

using executorch::runtime::Tag;
using namespace tenon;
using tenon::detail::describe_value;
using tenon::detail::find_kind;
using tenon::detail::is_same_order;

namespace {

using Their = executorch::aten::TensorImpl;

bool is_same(const Dims& sizes, std::initializer_list<uint8_t> a,
             std::initializer_list<uint8_t> b) {
  return is_same_order(sizes, ArrayRef<uint8_t>(a.begin(), a.size()),
                       ArrayRef<uint8_t>(b.begin(), b.size()));
}

}  // namespace

TEST_CASE("find_kind: each kind that an EValue has, and lists of tensors are refused") {
  ValueKind kind = ValueKind::None;
  const auto found = [&kind](Tag tag) {
    REQUIRE(find_kind(tag, kind) == Error::Ok);
    return kind;
  };
  CHECK(found(Tag::Tensor) == ValueKind::Tensor);
  CHECK(found(Tag::None) == ValueKind::None);
  CHECK(found(Tag::Int) == ValueKind::Int);
  CHECK(found(Tag::Double) == ValueKind::Double);
  CHECK(found(Tag::Bool) == ValueKind::Bool);
  CHECK(found(Tag::String) == ValueKind::String);
  CHECK(found(Tag::ListInt) == ValueKind::IntList);
  CHECK(found(Tag::ListDouble) == ValueKind::DoubleList);
  CHECK(found(Tag::ListBool) == ValueKind::BoolList);
  for (const Tag tag : {Tag::ListTensor, Tag::ListOptionalTensor, Tag::ListScalar}) {
    CHECK_RETURNS(Error::NotSupported, "list of tensors", find_kind(tag, kind));
  }
}

TEST_CASE("describe_value: the sizes of a fixed shape, the largest of a dynamic one") {
  int32_t sizes[] = {2, 3};
  uint8_t order[] = {0, 1};
  int32_t strides[] = {3, 1};
  Their fixed(executorch::aten::ScalarType::Long, 2, sizes, nullptr, order, strides);
  ValueSpec spec;
  REQUIRE(describe_value(executorch::aten::Tensor(&fixed), spec) == Error::Ok);
  CHECK((spec.kind == ValueKind::Tensor && spec.is_described));
  CHECK(spec.tensor.type == ScalarType::Long);
  CHECK(spec.tensor.sizes == Dims{2, 3});
  CHECK(spec.tensor.max_sizes.empty());
  Their dynamic(executorch::aten::ScalarType::Long, 2, sizes, nullptr, order, strides,
                executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  REQUIRE(describe_value(executorch::aten::Tensor(&dynamic), spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{-1, -1});
  CHECK(spec.tensor.max_sizes == Dims{2, 3});
}

TEST_CASE("describe_value: a dtype that tenon lacks and another device's memory are refused") {
  int32_t size = 4;
  uint8_t order = 0;
  int32_t stride = 1;
  Their quantised(executorch::aten::ScalarType::QInt8, 1, &size, nullptr, &order, &stride);
  ValueSpec spec;
  CHECK_RETURNS(Error::NotSupported, "tenon has no dtype number 12",
                describe_value(executorch::aten::Tensor(&quantised), spec));
  Their elsewhere(executorch::aten::ScalarType::Float, 1, &size, nullptr, &order, &stride,
                  executorch::aten::TensorShapeDynamism::STATIC,
                  executorch::aten::DeviceType::CUDA);
  CHECK_RETURNS(Error::NotSupported, "not the host's",
                describe_value(executorch::aten::Tensor(&elsewhere), spec));
}

TEST_CASE("describe_value: what is no tensor by its kind") {
  ValueSpec spec;
  REQUIRE(describe_value(int64_t{5}, spec) == Error::Ok);
  CHECK((spec.kind == ValueKind::Int && !spec.is_described));
  REQUIRE(describe_value({}, spec) == Error::Ok);
  CHECK(spec.kind == ValueKind::None);
}

TEST_CASE("is_same_order: dimensions of size 1 may stand anywhere") {
  CHECK(is_same({2, 3}, {0, 1}, {0, 1}));
  CHECK_FALSE(is_same({2, 3}, {0, 1}, {1, 0}));
  CHECK(is_same({1, 3}, {0, 1}, {1, 0}));
  CHECK(is_same({2, 1, 4, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK_FALSE(is_same({2, 3, 4, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK_FALSE(is_same({2, 3, 1, 5}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  CHECK(is_same({1, 1}, {0, 1}, {1, 0}));
  CHECK(is_same({}, {}, {}));
}
