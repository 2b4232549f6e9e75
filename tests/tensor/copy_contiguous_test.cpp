// SPDX-License-Identifier: MIT
// contiguous and to.
#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

// An address that faults when it is read or written.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

Tensor on_device(const tenon::Dims& shape, const tenon::Dims& steps) {
  return tenon::for_blob(kDevicePointer, shape).strides(steps).device("cuda:0").make_tensor();
}

}  // namespace

TEST_CASE("contiguous: a contiguous tensor is given back itself, whatever it is over") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(contiguous(t).unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  CHECK(contiguous(*t).unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  int32_t data[2] = {1, 2};
  for (const Tensor& same :
       {tenon::select(t, 0, 1), make_tensor(7), *from_blob(data, {1, 2}, {99, 1}),
        *from_blob(data, {0, 2}, {1, 9}), make_tensor({2}, nullptr), on_device({2, 2}, {})}) {
    CHECK(contiguous(same).unsafeGetTensorImpl() == same.unsafeGetTensorImpl());
  }
}

TEST_CASE("contiguous: any other becomes a row-major copy that owns its memory") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor t = contiguous(tenon::transpose(source, 0, 1));
  CHECK(sizes(t) == Vector{3, 2});
  CHECK(strides(t) == Vector{2, 1});
  CHECK(dim_order(t) == Vector{0, 1});
  CHECK(t.is_contiguous());
  CHECK(tenon::ownership(t) == Ownership::Owned);
  CHECK(tenon::is_aligned(t, 64));
  CHECK(values<int32_t>(t) == Ints{1, 4, 2, 5, 3, 6});
  tenon::mutable_data_ptr<int32_t>(t)[0] = 9;
  CHECK(values<int32_t>(source) == Ints{1, 2, 3, 4, 5, 6});
}

TEST_CASE("contiguous: of gaps and broadcast elements, and of 8 dimensions") {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(values<int32_t>(contiguous(from_blob(data, {2, 3}, {4, 1}))) == Ints{0, 1, 2, 4, 5, 6});
  CHECK(values<int32_t>(contiguous(tenon::expand(from_blob(data + 7, {1}), {2, 2}))) ==
        Ints{7, 7, 7, 7});
  const Vector steps{0, 0, 0, 0, 0, 0, 1, 2};
  const Tensor deep = contiguous(from_blob(data, {1, 1, 1, 1, 1, 1, 2, 3}, steps));
  CHECK(sizes(deep) == Vector{1, 1, 1, 1, 1, 1, 2, 3});
  CHECK(values<int32_t>(deep) == Ints{0, 2, 4, 1, 3, 5});
  CHECK(deep.is_contiguous());
}

TEST_CASE("contiguous: of reversed elements", "[plain]") {
  int32_t data[3] = {0, 1, 2};
  CHECK(values<int32_t>(contiguous(tenon::flip(from_blob(data, {3}), {0}))) == Ints{2, 1, 0});
}

TEST_CASE("contiguous: the copy keeps dtype and dynamism, is writable, and keeps nothing alive") {
  tests::Calls calls;
  int16_t data[4] = {1, 2, 3, 4};
  Tensor source = tenon::for_blob(data, {2, 2})
                      .strides({1, 2})
                      .dynamism(TensorShapeDynamism::DYNAMIC)
                      .deleter(calls.deleter())
                      .make_tensor();
  Tensor t = contiguous(source);
  source = Tensor();
  CHECK(calls.count == 1);
  CHECK(t.scalar_type() == ScalarType::Short);
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(tenon::shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(tenon::resize_tensor(t, {3, 2}) == Error::Ok);
  CHECK(tenon::data<int16_t>(t)[2] == 2);
  CHECK(tenon::shape_dynamism(contiguous(
            from_blob(data, {2}, {2}, ScalarType::Short, TensorShapeDynamism::STATIC))) ==
        TensorShapeDynamism::STATIC);
}

TEST_CASE("contiguous: the copy of a read-only tensor is writable", "[plain]") {
  const int16_t data[4] = {1, 2, 3, 4};
  const Tensor t = contiguous(from_blob(tests::read_only(data), {2, 2}, {1, 2}));
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(values<int16_t>(t) == std::vector<int16_t>{1, 3, 2, 4});
}

TEST_CASE("contiguous: undefined, and what would need data that the host cannot read, is refused") {
  CHECK_ERROR(Error::InvalidState, "contiguous: the source tensor is undefined",
              contiguous(Tensor()));
  CHECK_ERROR(Error::InvalidState, "contiguous: the source tensor is undefined",
              contiguous(TensorPtr()));
  CHECK_ERROR(Error::InvalidState, "contiguous: the source tensor is a placeholder without data",
              contiguous(tenon::for_blob(nullptr, {2, 2}).strides({1, 2}).make_tensor()));
  CHECK_ERROR(Error::NotSupported,
              "contiguous: the source tensor is on cuda:0, which the host cannot",
              contiguous(on_device({2, 2}, {1, 2})));
}

TEST_CASE("to: a tensor of the type is given back itself, whatever it is over") {
  auto t = make_tensor_ptr({1, 2});
  CHECK(to(t, ScalarType::Int).unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  CHECK(to(*t, ScalarType::Int, CastMode::Saturate).unsafeGetTensorImpl() ==
        t->unsafeGetTensorImpl());
  for (const Tensor& same : {tenon::slice(make_tensor({1.0f, 2.0f, 3.0f}), 0, 0, 3, 2),
                             make_tensor({2}, nullptr), on_device({2}, {})}) {
    CHECK(to(same, ScalarType::Float).unsafeGetTensorImpl() == same.unsafeGetTensorImpl());
  }
}

TEST_CASE("to: a reversed or read-only tensor of the type is given back itself", "[plain]") {
  const float data[2] = {1, 2};
  for (const Tensor& same :
       {tenon::flip(make_tensor({1.0f, 2.0f}), {0}), *from_blob(tests::read_only(data), {2})}) {
    CHECK(to(same, ScalarType::Float).unsafeGetTensorImpl() == same.unsafeGetTensorImpl());
  }
}

TEST_CASE("to: another type is a converted copy that owns its memory") {
  auto source = make_tensor_ptr({1, 2, 3});
  const Tensor t = to(source, ScalarType::Float);
  CHECK(tenon::ownership(t) == Ownership::Owned);
  CHECK(values<float>(t) == Floats{1, 2, 3});
  CHECK(values<int32_t>(source) == Ints{1, 2, 3});
  CHECK(tenon::item<double>(to(make_tensor(7), ScalarType::Double)) == 7);
  CHECK(sizes(to(tenon::zeros({0, 3}), ScalarType::Half)) == Vector{0, 3});
}

TEST_CASE("to: the result has the source's dim order and dynamism, dense strides are kept") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {}, ScalarType::Short,
                                TensorShapeDynamism::DYNAMIC);
  const Tensor t = to(source, ScalarType::Int);
  CHECK(dim_order(t) == Vector{1, 0});
  CHECK(strides(t) == Vector{1, 2});
  CHECK(tenon::shape_dynamism(t) == TensorShapeDynamism::DYNAMIC);
  CHECK(Ints(tenon::const_data_ptr<int32_t>(t), tenon::const_data_ptr<int32_t>(t) + 6) ==
        Ints{1, 2, 3, 4, 5, 6});
  CHECK(tenon::shape_dynamism(to(make_tensor(1), ScalarType::Half)) == TensorShapeDynamism::STATIC);
}

TEST_CASE("to: gaps and broadcast strides become dense ones in the same dim order") {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor columns = to(from_blob(data, {2, 2}, {1, 4}), ScalarType::Float);
  CHECK(strides(columns) == Vector{1, 2});
  CHECK(values<float>(columns) == Floats{0, 4, 1, 5});
  CHECK(values<float>(to(tenon::expand(from_blob(data + 3, {1}), {2, 2}), ScalarType::Float)) ==
        Floats{3, 3, 3, 3});
}

TEST_CASE("to: reversed strides become dense ones in the same dim order", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  const Tensor turned = to(tenon::flip(from_blob(data, {2, 3}), {0, 1}), ScalarType::Float);
  CHECK(strides(turned) == Vector{3, 1});
  CHECK(values<float>(turned) == Floats{5, 4, 3, 2, 1, 0});
}

TEST_CASE("to: the copy of a read-only tensor is writable", "[plain]") {
  const int32_t data[2] = {1, 2};
  const Tensor t = to(from_blob(tests::read_only(data), {2}), ScalarType::Float);
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(values<float>(t) == Floats{1, 2});
}

TEST_CASE("to: CastMode::Saturate quantises an image, Truncate cuts, Checked refuses") {
  float data[] = {-3.0f, 0.5f, 1.5f, 254.6f, 1e9f, 0.0f};
  auto image = from_blob(data, {2, 2}, {3, 1});
  const Tensor rounded = to(image, ScalarType::Byte, CastMode::Saturate);
  CHECK(values<uint8_t>(rounded) == std::vector<uint8_t>{0, 0, 255, 255});
  const Tensor cut = to(image, ScalarType::Byte, CastMode::Truncate);
  CHECK(values<uint8_t>(cut) == std::vector<uint8_t>{0, 0, 254, 255});
  CHECK_ERROR(Error::InvalidType,
              "to: values of Float cannot be cast to Byte here: convert explicitly with to(t, "
              "ScalarType::Byte, "
              "CastMode::Truncate)",
              to(image, ScalarType::Byte));
}

TEST_CASE("to: of a placeholder is one of the type, of device memory is refused") {
  const Tensor t = to(make_tensor({2, 3}, nullptr), ScalarType::Half);
  CHECK(t.scalar_type() == ScalarType::Half);
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(tenon::const_data_ptr(t) == nullptr);
  CHECK_ERROR(Error::NotSupported,
              "to: the source tensor is on cuda:0, which the host cannot reach",
              to(on_device({2}, {}), ScalarType::Half));
}

TEST_CASE("to: undefined tensors and types that are none are refused") {
  CHECK_ERROR(Error::InvalidState, "to: the source tensor is undefined",
              to(Tensor(), ScalarType::Int));
  CHECK_ERROR(Error::InvalidState, "to: the source tensor is undefined",
              to(TensorPtr(), ScalarType::Int));
  CHECK_ERROR(Error::InvalidType, "to: Undefined is not an element type",
              to(make_tensor(1), ScalarType::Undefined));
  CHECK_ERROR(Error::InvalidType, "is not an element type",
              to(make_tensor(1), static_cast<ScalarType>(99)));
}

TEST_CASE("contiguous, to: the try_ forms return a Result with the same tensor or error") {
  const Tensor source = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned = tenon::transpose(source, 0, 1);
  CHECK(tenon::try_contiguous(source)->unsafeGetTensorImpl() == source.unsafeGetTensorImpl());
  CHECK(values<int32_t>(*tenon::try_contiguous(turned)) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(tenon::try_to(source, ScalarType::Int)->unsafeGetTensorImpl() ==
        source.unsafeGetTensorImpl());
  CHECK(values<float>(*tenon::try_to(turned, ScalarType::Float)) == Floats{1, 4, 2, 5, 3, 6});
  const Tensor large = make_tensor({300.0f});
  CHECK(tenon::const_data_ptr<uint8_t>(
            *tenon::try_to(large, ScalarType::Byte, CastMode::Saturate))[0] == 255);

  const auto undefined = tenon::try_contiguous(Tensor());
  CHECK(undefined.error() == Error::InvalidState);
  CHECK(tests::contains(undefined.message(), "try_contiguous: the source tensor is undefined"));
  const auto refused = tenon::try_to(large, ScalarType::Int);
  CHECK(refused.error() == Error::InvalidType);
  CHECK(tests::contains(refused.message(), "try_to: "));
}
