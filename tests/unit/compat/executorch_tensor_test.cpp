// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_tensor.h"

#include "backend/device_helpers.h"
#include "support/catch.h"

namespace executorch_tensor_test {

// As ExecuTorch programs do; none of the names below may be ambiguous.
using namespace ::executorch::extension;
using namespace ::executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;

TEST_CASE("executorch: a STATIC tensor keeps its sizes, any its number of dimensions") {
  auto fixed =
      make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::STATIC);
  CHECK(resize_tensor_ptr(fixed, {2, 3}) == Error::Ok);
  CHECK(resize_tensor_ptr(fixed, {3, 2}) == Error::NotSupported);
  auto tensor = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  CHECK_RETURNS(Error::NotSupported, "resize_tensor_ptr: sizes {6} do not have 2 dimensions",
                resize_tensor_ptr(tensor, {6}));
  CHECK(tensor->dim() == 2);
}

// A promise of docs/guarantees.md.
TEST_CASE("executorch: deleters run once, in both orders of arguments that releases had") {
  using executorch::aten::Device;
  using executorch::aten::DeviceType;
  constexpr auto kStatic = TensorShapeDynamism::STATIC;
  constexpr auto kDouble = ScalarType::Double;
  double data[6] = {};
  int count = 0;
  const auto deleter = [&](void* p) { count += p == data ? 1 : 100; };
  make_tensor_ptr({2, 3}, data, kDouble, TensorShapeDynamism::DYNAMIC_BOUND, deleter);
  CHECK(count == 1);
  make_tensor_ptr({2, 3}, data, {}, {}, kDouble, DeviceType::CPU, kStatic,
                  std::function<void(void*)>(deleter));
  CHECK(count == 2);
  from_blob(data, {3}, kDouble, deleter);
  CHECK(count == 3);
  from_blob(data, {3}, {1}, kDouble, Device("cpu"), deleter, kStatic);
  CHECK(count == 4);
  for_blob(data, {3}).deleter(deleter).make_tensor_ptr();
  CHECK(count == 5);
  CHECK_THROWS(for_blob(data, {-3}).deleter(deleter).make_tensor_ptr());
  CHECK(count == 6);
  double* const null = nullptr;
  make_tensor_ptr({2, 3}, null, kDouble, kStatic, nullptr);
  // A second one is an error, the first runs once, the second never.
  int second = 0;
  const auto other = [&second](void*) { ++second; };
  RAISES(InvalidArgument, "for_blob: 2 deleters",
         for_blob(data, {1}).deleter(deleter).deleter(other).make_tensor_ptr());
  CHECK(count == 7);
  CHECK(second == 0);
}

TEST_CASE("executorch: a view's deleter runs once for a read-only source and for a failed view") {
  const float data[2] = {1, 2};
  const tenon::Tensor source = tenon::make_tensor({2}, data);
  int released = 0;
  const auto deleter = [&released](void*) { ++released; };
  {
    auto view = make_tensor_ptr(source, {}, {}, {}, deleter);
    CHECK(view->is_readonly());
    CHECK(released == 0);
  }
  CHECK(released == 1);
  RAISES(OutOfBounds, "make_tensor_ptr", make_tensor_ptr(source, {3}, {}, {}, deleter));
  CHECK(released == 2);
  RAISES(InvalidState, "undefined", make_tensor_ptr(tenon::Tensor(), {}, {}, {}, deleter));
  CHECK(released == 3);
}

TEST_CASE("executorch: a registered device checks pointers to it, and clones go there and back") {
  using executorch::aten::DeviceType;
  using tests::Texts;
  tests::RecordingDevice cuda;
  tenon::register_backend(cuda);
  float memory[6] = {1, 2, 3, 4, 5, 6};
  float elsewhere[6] = {};
  void* const p = memory;
  cuda.lend(memory, sizeof memory);
  int released = 0;
  const std::function<void(void*)> deleter = [&](void*) { ++released; };
  constexpr auto kFloat = ScalarType::Float;
  for (const TensorPtr& t :
       {from_blob(p, {2, 3}, kFloat, DeviceType::CUDA),
        from_blob(p, {2, 3}, {3, 1}, kFloat, DeviceType::CUDA, TensorShapeDynamism::STATIC),
        from_blob(p, {2, 3}, kFloat, DeviceType::CUDA, deleter),
        from_blob(p, {2, 3}, {3, 1}, kFloat, DeviceType::CUDA, deleter,
                  TensorShapeDynamism::STATIC),
        make_tensor_ptr({2, 3}, p, {}, {}, kFloat, DeviceType::CUDA,
                        TensorShapeDynamism::DYNAMIC_BOUND, deleter),
        for_blob(p, {2, 3}, kFloat).device(DeviceType::CUDA).make_tensor_ptr()}) {
    CHECK(t->device() == cuda.device());
  }
  CHECK(released == 3);
  CHECK(cuda.calls == Texts(6, "check_memory 24"));
  RAISES(InvalidArgument,
         "from_blob: backend recording failed in check_memory: the driver knows it as host",
         from_blob(elsewhere, {2, 3}, kFloat, DeviceType::CUDA, deleter));
  CHECK(released == 4);
  RAISES(InvalidArgument, "make_tensor_ptr: backend recording failed in check_memory",
         make_tensor_ptr({2, 3}, elsewhere, kFloat, DeviceType::CUDA));
  const TensorPtr there =
      clone_tensor_ptr_to(make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}), DeviceType::CUDA);
  CHECK(there->device() == cuda.device());
  CHECK(clone_tensor_ptr_to(there, DeviceType::CPU)->const_data_ptr<float>()[3] == 4);
}

using Sizes = std::vector<executorch::aten::SizesType>;

TEST_CASE("executorch: an empty list is floats, or of the type spelled out") {
  const auto none = make_tensor_ptr({0}, {});
  CHECK(none->scalar_type() == ScalarType::Float);
  CHECK(none->dim() == 1);
  CHECK(none->numel() == 0);
  CHECK(make_tensor_ptr<int32_t>({0, 2}, {})->scalar_type() == ScalarType::Int);
  RAISES(InvalidArgument, "0 values were given, sizes {2} need 2", make_tensor_ptr({2}, {}));
}

TEST_CASE("executorch: impls are made of the same arguments as tensors") {
  const auto floats = [](const TensorImplPtr& impl) {
    CHECK(impl->scalar_type() == ScalarType::Float);
    return static_cast<const float*>(impl->data());
  };
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  CHECK(floats(make_tensor_impl_ptr<float>({2, 3}, {1, 2, 3, 4, 5, 6}))[5] == 6);
  CHECK(floats(make_tensor_impl_ptr<float>({2, 3}, values))[5] == 6);
  CHECK(floats(make_tensor_impl_ptr<float>(values))[5] == 6);
  CHECK(floats(make_tensor_impl_ptr<float>(3))[0] == 3);
  CHECK(floats(make_tensor_impl_ptr<float, ScalarType::Float>({2}, {1, 2}))[1] == 2);
  CHECK(floats(make_tensor_impl_ptr({2, 3}, values.data())) == values.data());
  CHECK(make_tensor_impl_ptr<double>({1.5, 2.7}, ScalarType::Half)
            ->data<executorch::aten::Half>()[0] == 1.5f);
  CHECK(make_tensor_impl_ptr<int8_t>({1, -2}, ScalarType::Long)->data<int64_t>()[1] == -2);
  const auto doubles =
      make_tensor_impl_ptr<float>({2, 3}, {1, 2, 3, 4, 5, 6}, {0, 1}, {3, 1}, ScalarType::Double);
  CHECK(doubles->data<double>()[5] == 6);
  int released = 0;
  make_tensor_impl_ptr({2, 3}, values.data(), {1, 0}, {1, 2}, ScalarType::Float,
                       TensorShapeDynamism::STATIC, [&released](void*) { ++released; });
  CHECK(released == 1);
  RAISES(InvalidArgument, "make_tensor_impl_ptr: 1 values were given",
         make_tensor_impl_ptr({2}, {1.0f}));
}

TEST_CASE("executorch: bytes beside sizes are memory for impls too") {
  const float values[4] = {1, 2, 3, 4};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), values, 16);
  const auto impl = make_tensor_impl_ptr({2, 2}, bytes);
  CHECK(impl->scalar_type() == ScalarType::Float);
  CHECK(impl->data<float>()[3] == 4.0f);
  CHECK(make_tensor_impl_ptr({4}, bytes, ScalarType::Int)->data<int32_t>()[0] == 0x3f800000);
  RAISES(InvalidArgument, "16 bytes were given, sizes {16} need 64",
         make_tensor_impl_ptr({16}, bytes));
  CHECK(make_tensor_impl_ptr(bytes)->scalar_type() == ScalarType::Byte);
  // Other containers of bytes are as in tenon.
  const std::array<uint8_t, 4> others = {1, 1, 1, 1};
  CHECK(make_tensor_ptr({4}, others)->scalar_type() == ScalarType::Byte);
  CHECK(make_tensor_ptr({1}, others, ScalarType::Int)->const_data_ptr<int32_t>()[0] == 0x01010101);
  // With their type spelled out they are values, which a type casts.
  CHECK(make_tensor_ptr<uint8_t>({16}, bytes)->scalar_type() == ScalarType::Byte);
  const auto cast = make_tensor_ptr<uint8_t>({2, 8}, bytes, ScalarType::Int);
  CHECK(cast->dim() == 2);
  CHECK(cast->const_data_ptr<int32_t>()[3] == 0x3f);
}

TEST_CASE("executorch: floating values become UInt16, UInt32 and UInt64, but no other integers") {
  const auto unsigned_ints = make_tensor_ptr({3}, {1.0f, 2.9f, 3.0f}, {0}, {1}, ScalarType::UInt32);
  CHECK(unsigned_ints->const_data_ptr<uint32_t>()[1] == 2);
  CHECK(unsigned_ints->const_data_ptr<uint32_t>()[2] == 3);
  const std::vector<double> doubles = {65535, 2};
  const auto shorts =
      make_tensor_ptr({1, 2}, doubles, {}, {}, ScalarType::UInt16, TensorShapeDynamism::STATIC);
  CHECK(shorts->const_data_ptr<uint16_t>()[0] == 65535);
  CHECK(shorts->shape_dynamism() == TensorShapeDynamism::STATIC);
  CHECK(make_tensor_ptr(doubles, ScalarType::UInt64)->const_data_ptr<uint64_t>()[1] == 2);
  const auto source = make_tensor_ptr({2}, doubles);
  CHECK(clone_tensor_ptr(source, ScalarType::UInt32)->const_data_ptr<uint32_t>()[0] == 65535);
  RAISES(InvalidType, "clone_tensor_ptr: values of Double cannot be cast to Byte",
         clone_tensor_ptr(source, ScalarType::Byte));
  RAISES(InvalidType, "cannot be cast to Int", make_tensor_ptr(doubles, ScalarType::Int));
  RAISES(InvalidType, "to UInt32", tenon::make_tensor_ptr({2}, doubles, ScalarType::UInt32));
}

TEST_CASE("executorch: what has no data is cloned to any type, without data") {
  const auto source = make_tensor_ptr({2, 2}, nullptr);
  for (auto type : {ScalarType::Int, ScalarType::Bool, ScalarType::Float}) {
    const auto clone = clone_tensor_ptr(source, type);
    CHECK(clone->scalar_type() == type);
    CHECK(clone->const_data_ptr() == nullptr);
    CHECK(clone->size(1) == 2);
  }
  RAISES(InvalidType, "is not an element type", clone_tensor_ptr(source, ScalarType::Undefined));
  RAISES(InvalidState, "undefined", clone_tensor_ptr(TensorPtr(), ScalarType::Int));
}

TEST_CASE("executorch: tensors and impls say their device in two parts") {
  float data[2] = {};
  const auto there = from_blob(data, {2}, ScalarType::Float,
                               executorch::aten::Device(executorch::aten::DeviceType::CUDA, 1));
  CHECK(there->device_type() == executorch::aten::DeviceType::CUDA);
  CHECK(there->unsafeGetTensorImpl()->device_index() == 1);
  CHECK(make_tensor_ptr(1.0f)->device_index() == 0);
}

TEST_CASE("executorch: lists moved into a maker leave empty vectors") {
  float data[6] = {};
  Sizes sizes = {2, 3};
  Sizes strides = {3, 1};
  std::vector<executorch::aten::DimOrderType> dim_order = {0, 1};
  const auto tensor = for_blob(data, std::move(sizes))
                          .dim_order(std::move(dim_order))
                          .strides(std::move(strides))
                          .make_tensor_ptr();
  CHECK(tensor->size(1) == 3);
  CHECK((sizes.empty() && strides.empty() && dim_order.empty()));  // NOLINT
}

TEST_CASE("executorch: makers build in one chain or step by step") {
  double data[6] = {};
  auto chained = for_blob(data, {2, 3}, ScalarType::Double)
                     .strides({3, 1})
                     .dynamism(TensorShapeDynamism::STATIC)
                     .make_tensor_ptr();
  CHECK(chained->shape_dynamism() == TensorShapeDynamism::STATIC);
  auto maker = for_blob(data, {2, 3});
  maker.dim_order({0, 1});
  TensorPtr converted = std::move(maker);
  CHECK(converted->scalar_type() == ScalarType::Double);
}

TEST_CASE("executorch: an impl is shared, a Tensor and a TensorPtr are viewed and kept alive") {
  auto impl = make_tensor_impl_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  auto first = make_tensor_ptr(impl);
  auto second = make_tensor_ptr(first);
  CHECK(resize_tensor_ptr(first, {3, 2}) == Error::Ok);
  CHECK(impl->size(0) == 3);
  CHECK(second->size(0) == 2);
  CHECK(second->const_data_ptr() == first->const_data_ptr());

  int released = 0;
  auto view = make_tensor_ptr(*first, {6}, {}, {}, [&released](void*) { ++released; });
  impl.reset();
  first.reset();
  second.reset();
  CHECK(view->const_data_ptr<float>()[5] == 6.0f);
  view.reset();
  CHECK(released == 1);
}

TEST_CASE("executorch: an element type may be spelled out for a vector, and its ScalarType too") {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Sizes strides = {3, 1};
  const float* const address = values.data();
  for (const TensorPtr& t : {
           make_tensor_ptr<float>({2, 3}, values),
           make_tensor_ptr<float>({2, 3}, values, {}, strides),
           make_tensor_ptr<float, ScalarType::Float>({2, 3}, {1, 2, 3, 4, 5, 6}),
       }) {
    CHECK(t->scalar_type() == ScalarType::Float);
    CHECK(t->dim() == 2);
    CHECK(t->stride(0) == 3);
    CHECK(t->const_data_ptr<float>()[5] == 6);
  }
  const auto adopted = make_tensor_ptr<float>(Sizes{2, 3}, std::move(values));
  CHECK(adopted->const_data_ptr() == address);
  const auto longs = make_tensor_ptr<int64_t>({3}, std::vector<int64_t>{1, 2, 3});
  CHECK(longs->const_data_ptr<int64_t>()[2] == 3);
  const std::vector<float> two = {1, 2};
  CHECK(make_tensor_ptr<float>(two)->const_data_ptr<float>()[1] == 2);
  CHECK(make_tensor_ptr<float>(two, ScalarType::Double)->const_data_ptr<double>()[1] == 2);
  CHECK(make_tensor_ptr<float, ScalarType::Float>({1, 2})->const_data_ptr<float>()[1] == 2);
  CHECK(make_tensor_ptr<float>({2}, two, {}, {}, ScalarType::Double)->element_size() == 8);
  const auto columns = make_tensor_ptr<float>({2, 1}, two, {1, 0}, {1, 2}, ScalarType::Double,
                                              TensorShapeDynamism::STATIC);
  CHECK(columns->const_data_ptr<double>()[1] == 2);
  CHECK(columns->dim_order()[0] == 1);
  CHECK(columns->shape_dynamism() == TensorShapeDynamism::STATIC);
  CHECK(make_tensor_ptr<int>({3})->dim() == 1);
  CHECK(make_tensor_ptr<float>(3)->const_data_ptr<float>()[0] == 3);
}

}  // namespace executorch_tensor_test
