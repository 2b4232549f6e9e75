// SPDX-License-Identifier: MIT
#include "tenon/tensor/access.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::Vector;

TEST_CASE("access: what a tensor is, through a Tensor and through a TensorPtr") {
  auto t =
      make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  CHECK(tenon::shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(tenon::shape_dynamism(*t) == TensorShapeDynamism::DYNAMIC);
  CHECK(tenon::ownership(t) == Ownership::Owned);
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(tenon::device(t) == tenon::Device());
  CHECK(tenon::is_aligned(t, 64));
  CHECK(tests::dim_order(t) == Vector{0, 1});
  const Tensor view = tenon::transpose(*t, 0, 1);
  CHECK(tests::dim_order(view) == Vector{1, 0});
  CHECK(tenon::ownership(view) == Ownership::View);
}

TEST_CASE("access: a view of the memory has its sizes and strides, type and device") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Short);
  const tenon::TensorView view = tenon::as_view(tenon::transpose(*t, 0, 1));
  CHECK(view.data == tenon::const_data_ptr(t));
  CHECK(view.type == ScalarType::Short);
  CHECK(view.sizes == tenon::Dims({3, 2}));
  CHECK(view.strides == tenon::Dims({1, 3}));
  CHECK((tenon::accessor<int16_t, 2>(view)[2][1]) == 6);
}

TEST_CASE("access: elements by pointer, span, indices and as a single value") {
  auto t = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  tenon::mutable_data_ptr<float>(t)[3] = 8;
  CHECK(tenon::const_data_ptr<float>(t)[3] == 8);
  CHECK(tenon::mutable_data_ptr(t) == tenon::const_data_ptr(t));
  float sum = 0;
  for (float value : tenon::data<const float>(t)) sum += value;
  CHECK(sum == 14);
  auto a = tenon::accessor<float, 2>(t);
  a[1][0] = 7;
  CHECK(a(1, 0) == 7);
  CHECK(tenon::item<float>(tenon::select(tenon::select(*t, 0, 1), 0, 0)) == 7);
  CHECK(tenon::item<int64_t>(tenon::scalar_tensor(5, ScalarType::UInt64)) == 5);
}

TEST_CASE("access: errors name the function and what is wrong") {
  auto t = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  CHECK_ERROR(Error::InvalidType, "const_data_ptr: asked for Int, but the tensor's dtype is Float",
              tenon::const_data_ptr<int32_t>(t));
  CHECK_ERROR(Error::InvalidType, "mutable_data_ptr: ", tenon::mutable_data_ptr<double>(t));
  CHECK_ERROR(Error::InvalidArgument, "item: a tensor of sizes {2, 2} has 4 elements",
              tenon::item<float>(t));
  CHECK_ERROR(Error::InvalidArgument, "accessor: asked for 1 dimensions",
              (tenon::accessor<float, 1>(t)));
  CHECK_ERROR(Error::InvalidState, "data: strides", tenon::data<float>(tenon::transpose(*t, 0, 1)));
  CHECK_ERROR(Error::InvalidArgument, "is_aligned: 0", tenon::is_aligned(t, 0));
  CHECK_ERROR(Error::InvalidArgument, "item: 1.5 does not fit Int",
              tenon::item<int32_t>(make_tensor_ptr(1.5)));
  const TensorPtr null;
  CHECK_ERROR(Error::InvalidState, "ownership: the tensor is undefined", tenon::ownership(null));
  CHECK_ERROR(Error::InvalidState, "as_view: the tensor is undefined", tenon::as_view(Tensor()));
  CHECK_ERROR(Error::InvalidState, "dim_order: the tensor is undefined", tenon::dim_order(null));
  CHECK_ERROR(Error::InvalidState, "item: the tensor is undefined", tenon::item<int>(null));
  CHECK_RETURNS(Error::InvalidState, "set_data: the tensor is undefined",
                tenon::set_data(null, nullptr));
}

TEST_CASE("access: a placeholder has no elements, until memory is bound to it") {
  auto t = make_tensor_ptr({2}, nullptr, ScalarType::Int);
  CHECK(tenon::const_data_ptr(t) == nullptr);
  CHECK_ERROR(Error::InvalidState, "data: the tensor is a placeholder", tenon::data<int32_t>(t));
  CHECK_ERROR(Error::InvalidState, "accessor: the tensor is a placeholder",
              (tenon::accessor<int32_t, 1>(t)));
  int32_t memory[2] = {3, 4};
  REQUIRE(tenon::set_data(t, memory) == Error::Ok);
  CHECK(tenon::data<int32_t>(t)[1] == 4);
}

TEST_CASE("access: memory that the host cannot read is not read") {
  int32_t data[1] = {};
  auto t = tenon::for_blob(data, {1}).device("cuda:1").make_tensor_ptr();
  CHECK(tenon::device(t) == tenon::Device("cuda:1"));
  CHECK(tenon::const_data_ptr(t) == data);
  CHECK_ERROR(Error::NotSupported, "cuda:1", tenon::const_data_ptr<int32_t>(t));
  CHECK_ERROR(Error::NotSupported, "item: memory on cuda:1", tenon::item<int32_t>(t));
}

TEST_CASE("access: a read-only tensor gives const elements only", "[plain]") {
  const int32_t data[1] = {5};
  auto t = tenon::from_blob(tests::read_only(data), {1});
  CHECK(tenon::is_readonly(t));
  CHECK(tenon::data<const int32_t>(t)[0] == 5);
  CHECK_ERROR(Error::InvalidState, "mutable_data_ptr: the tensor is read-only",
              tenon::mutable_data_ptr(t));
  CHECK_ERROR(Error::InvalidState, "data: the tensor is read-only", tenon::data<int32_t>(t));
}

TEST_CASE("access: data that is not aligned for the dtype has no typed pointer") {
  alignas(16) unsigned char memory[40];
  for (unsigned char& byte : memory) byte = 0;
  const auto over = [&memory](size_t at, ScalarType type) {
    return tenon::from_blob(static_cast<void*>(memory + at), {2}, type);
  };
  const std::string words =
      "the data lies 1 bytes after a multiple of 4, at which elements of Float";
  const TensorPtr t = over(1, ScalarType::Float);
  CHECK_ERROR(Error::InvalidArgument, "const_data_ptr: " + words, tenon::const_data_ptr<float>(t));
  CHECK_ERROR(Error::InvalidArgument, "mutable_data_ptr: " + words,
              tenon::mutable_data_ptr<float>(t));
  CHECK_ERROR(Error::InvalidArgument, "data: " + words, tenon::data<float>(t));
  CHECK_ERROR(Error::InvalidArgument, "accessor: " + words, (tenon::accessor<float, 1>(t)));
  CHECK_ERROR(Error::InvalidArgument, "accessor: " + words,
              (tenon::accessor<float, 1>(tenon::as_view(t))));
  // What does not need it works on: the bytes, whole tensors, single values.
  CHECK(tenon::const_data_ptr(t) == memory + 1);
  REQUIRE(tenon::fill_(t, 1.5) == Error::Ok);
  CHECK(tenon::item<float>(tenon::select(t, 0, 1)) == 1.5f);
  CHECK(tests::values<float>(tenon::clone_tensor_ptr(t)) == std::vector<float>{1.5f, 1.5f});
  CHECK(tests::contains(tenon::to_string(t), "[1.5 1.5]"));
  // The parts of a complex number are what is aligned, and a byte lies anywhere.
  CHECK(tenon::const_data_ptr<tenon::complex<float>>(over(4, ScalarType::ComplexFloat)) != nullptr);
  CHECK_ERROR(Error::InvalidArgument, "after a multiple of 8",
              tenon::const_data_ptr<double>(over(4, ScalarType::Double)));
  CHECK(tenon::const_data_ptr<uint8_t>(over(1, ScalarType::Byte)) == memory + 1);
  // Without elements there is nothing to be read.
  const TensorPtr none = tenon::from_blob(static_cast<void*>(memory + 1), {0}, ScalarType::Float);
  CHECK(tenon::data<float>(none).empty());
}
