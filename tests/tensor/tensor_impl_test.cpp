// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor_impl.h"

#include "support/catch.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

static_assert(!std::is_copy_constructible_v<TensorImpl>);
static_assert(!std::is_move_constructible_v<TensorImpl>);
static_assert(!std::is_default_constructible_v<TensorImpl>);
static_assert(TensorShapeDynamism::DYNAMIC == TensorShapeDynamism::DYNAMIC_UNBOUND);
static_assert(static_cast<int>(TensorShapeDynamism::STATIC) == 0);
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_BOUND) == 1);
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_UNBOUND) == 2);

TEST_CASE("tensor_impl: its accessors say what it was made with") {
  int32_t data[8] = {};
  const int64_t sizes[] = {2, 3};
  const int64_t strides[] = {1, 2};
  const DimOrderType order[] = {1, 0};
  TensorImpl impl(ScalarType::Int, 2, sizes, data, order, strides,
                  TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(impl.dim() == 2);
  CHECK(impl.numel() == 6);
  CHECK(impl.nbytes() == 24);
  CHECK(impl.size(1) == 3);
  CHECK(impl.size(-2) == 2);
  CHECK(impl.stride(-1) == 2);
  CHECK(tests::list(impl.sizes()) == Vector{2, 3});
  CHECK(tests::list(impl.strides()) == Vector{1, 2});
  CHECK(tests::list(impl.dim_order()) == Vector{1, 0});
  CHECK(impl.scalar_type() == ScalarType::Int);
  CHECK(impl.dtype() == ScalarType::Int);
  CHECK(impl.element_size() == 4);
  CHECK(impl.device() == Device());
  CHECK(impl.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(impl.ownership() == Ownership::Borrowed);
  CHECK_FALSE(impl.is_readonly());
  CHECK_FALSE(impl.is_contiguous());
  CHECK(impl.has_data());
  CHECK(impl.data() == data);
  CHECK(impl.mutable_data() == data);
  CHECK(impl.data<int32_t>() == data);
  CHECK(impl.mutable_data<int32_t>() == data);
  RAISES(InvalidType, "data: asked for Float", impl.data<float>());
  RAISES(InvalidType, "mutable_data: asked for Float", impl.mutable_data<float>());
  RAISES(OutOfBounds, "size: dimension 2", impl.size(2));
  RAISES(OutOfBounds, "stride: dimension -3", impl.stride(-3));
}

TEST_CASE("tensor_impl: lists that are left out have defaults, and are copied when given") {
  float data[6] = {};
  int64_t sizes[] = {2, 3};
  TensorImpl impl(ScalarType::Float, 2, sizes, data);
  sizes[0] = 99;
  CHECK(tests::list(impl.sizes()) == Vector{2, 3});
  CHECK(tests::list(impl.strides()) == Vector{3, 1});
  CHECK(tests::list(impl.dim_order()) == Vector{0, 1});
  CHECK(impl.shape_dynamism() == TensorShapeDynamism::STATIC);
  CHECK(impl.is_contiguous());
}

TEST_CASE("tensor_impl: of rank 0 it is STATIC, whatever was asked for") {
  float data[1] = {3};
  TensorImpl impl(ScalarType::Float, 0, nullptr, data, nullptr, nullptr,
                  TensorShapeDynamism::DYNAMIC);
  CHECK(impl.dim() == 0);
  CHECK(impl.numel() == 1);
  CHECK(impl.shape_dynamism() == TensorShapeDynamism::STATIC);
}

TEST_CASE("tensor_impl: without data it is a placeholder until set_data") {
  const int64_t sizes[] = {2};
  TensorImpl impl(ScalarType::Float, 1, sizes);
  CHECK_FALSE(impl.has_data());
  CHECK(impl.data() == nullptr);
  CHECK(impl.data<float>() == nullptr);
  float data[2] = {};
  impl.set_data(data);
  CHECK(impl.has_data());
  CHECK(impl.data<float>() == data);
  const int64_t nothing[] = {0};
  CHECK(TensorImpl(ScalarType::Float, 1, nothing).has_data());
}

TEST_CASE("tensor_impl: bad arguments are reported by its name") {
  const int64_t negative[] = {2, -1};
  const int64_t large[] = {INT64_MAX, 2};
  const int64_t sizes[] = {2, 3};
  const DimOrderType order[] = {1, 1};
  const int64_t strides[] = {3, 1};
  const DimOrderType swapped[] = {1, 0};
  const Error argument = Error::InvalidArgument;
  const auto make = [](auto... arguments) {
    TensorImpl impl(arguments...);
    return impl.dim();
  };
  void* const nothing = nullptr;
  CHECK_ERROR(argument, "TensorImpl: size -1", make(ScalarType::Float, 2, negative));
  CHECK_ERROR(argument, "TensorImpl: ", make(ScalarType::Float, 2, large));
  CHECK_ERROR(argument, "{1, 1}", make(ScalarType::Float, 2, sizes, nothing, order));
  CHECK_ERROR(argument, "{3, 1}", make(ScalarType::Float, 2, sizes, nothing, swapped, strides));
  CHECK_ERROR(argument, "TensorImpl: -1 dimensions", make(ScalarType::Float, -1, sizes));
  CHECK_ERROR(argument, "TensorImpl: 2 dimensions without sizes",
              make(ScalarType::Float, 2, static_cast<const int64_t*>(nullptr)));
  const std::vector<int64_t> many(65, 1);
  CHECK_ERROR(argument, "TensorImpl: sizes has more than 64",
              make(ScalarType::Float, 65, many.data()));
  RAISES(InvalidType, "TensorImpl: Undefined", make(ScalarType::Undefined, 2, sizes));
}
