// SPDX-License-Identifier: MIT
// Code as written for ExecuTorch's tensor extension, built against tenon.
#include "tenon/compat/executorch.h"

#include "support/catch.h"

namespace executorch_test {

// As ExecuTorch programs do; none of the names below may be ambiguous.
using namespace ::executorch::extension;
using namespace ::executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;

// A promise of docs/guarantees.md.
TEST_CASE("executorch: the tutorial's creators do what their comments say") {
  auto list = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  CHECK(list->scalar_type() == ScalarType::Float);
  CHECK(list->const_data_ptr<float>()[5] == 6.0f);

  auto scalar = make_tensor_ptr(3.14);
  CHECK(scalar->scalar_type() == ScalarType::Double);
  CHECK(scalar->dim() == 0);
  CHECK(make_tensor_ptr(42, ScalarType::Float)->const_data_ptr<float>()[0] == 42.0f);

  auto cast = make_tensor_ptr({1, 2, 3, 4, 5, 6}, ScalarType::Double);
  CHECK(cast->dim() == 1);
  CHECK(cast->const_data_ptr<double>()[5] == 6.0);

  std::vector<uint8_t> bytes(24, 1);
  const uint8_t* address = bytes.data();
  auto raw = make_tensor_ptr({2, 3}, std::move(bytes), ScalarType::Int);
  CHECK(raw->const_data_ptr<int32_t>()[0] == 0x01010101);
  CHECK(raw->const_data_ptr() == address);

  float data[6] = {1, 2, 3, 4, 5, 6};
  auto borrowed = make_tensor_ptr({2, 3}, data, ScalarType::Float);
  CHECK(borrowed->mutable_data_ptr<float>() == data);

  CHECK(full({2, 3}, 42.0f)->const_data_ptr<float>()[5] == 42.0f);
  CHECK(empty_strided({2, 3}, {3, 1})->strides()[0] == 3);
  CHECK(zeros({2}, ScalarType::Int)->const_data_ptr<int32_t>()[1] == 0);
  CHECK(ones_like(list, ScalarType::Long)->const_data_ptr<int64_t>()[5] == 1);
  CHECK(ones_like(std::ref(list))->numel() == 6);
  CHECK(scalar_tensor(5, ScalarType::Int)->const_data_ptr<int32_t>()[0] == 5);
}

TEST_CASE("executorch: accessors are results") {
  auto tensor = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  auto accessor = make_tensor_accessor<float, 2>(*tensor);
  REQUIRE(accessor.ok());
  CHECK(accessor.get()[1][0] == 3.0f);
  CHECK(make_tensor_accessor<float, 3>(*tensor).error() == Error::InvalidArgument);
  CHECK(make_tensor_accessor<double, 2>(*tensor).error() == Error::InvalidArgument);
  static const float fixed[2] = {};
  const tenon::TensorPtr read_only = tenon::make_tensor_ptr({2}, fixed);
  CHECK(make_tensor_accessor<const float, 1>(*read_only).ok());
  CHECK_FALSE(make_tensor_accessor<float, 1>(*read_only).ok());
}

TEST_CASE("executorch: bits and bytes of elements, as its clients read them") {
  auto brain = make_tensor_ptr({2}, {1.0f, -2.0f}, ScalarType::BFloat16);
  CHECK(brain->const_data_ptr<uint16_t>()[0] == 0x3f80);
  brain->mutable_data_ptr<uint16_t>()[0] = 0x4000;
  CHECK(brain->const_data_ptr<executorch::aten::BFloat16>()[0] == 2.0f);
  std::vector<char> copy(brain->nbytes());
  std::memcpy(copy.data(), brain->const_data_ptr<char>(), copy.size());
  CHECK(static_cast<unsigned char>(copy[3]) == 0xc0);
  CHECK(brain->data_ptr<std::byte>() == static_cast<std::byte*>(brain->mutable_data_ptr()));
  // make_tensor_accessor() asks for the size alone.
  auto floats = make_tensor_ptr({1, 2}, {1.0f, -2.0f});
  auto words = make_tensor_accessor<const uint32_t, 2>(*floats);
  REQUIRE(words.ok());
  CHECK(words.get()[0][1] == 0xc0000000u);
  auto bits = make_tensor_accessor<uint16_t, 1>(*brain);
  REQUIRE(bits.ok());
  CHECK(bits.get()[1] == 0xc000);
  executorch::aten::Half sum(1.0f);
  sum += executorch::aten::Half(0.5f);
  sum *= 2;
  CHECK(float(sum) == 3.0f);
}

template <class T, ssize_t N>
T corner(TensorAccessor<T, N> accessor) {
  if constexpr (N == 1) {
    return accessor[accessor.size(0) - 1];
  } else {
    return corner(accessor[accessor.size(0) - 1]);
  }
}

namespace beside_std {
using namespace std;
TEST_CASE("executorch: creators can be called beside a using-directive for std") {
  const vector<executorch::aten::SizesType> sizes = {2, 3};
  CHECK(empty(sizes)->numel() == 6);
  CHECK(empty({2, 3}, ScalarType::Int)->numel() == 6);
  CHECK(empty(sizes, ScalarType::Int, TensorShapeDynamism::STATIC)->numel() == 6);
  // std::empty(std::initializer_list) is the better match, with ExecuTorch too.
  CHECK(is_same_v<decltype(empty({2, 3})), bool>);
}
}  // namespace beside_std

TEST_CASE("executorch: the older namespaces name the same things") {
  runtime_init();
  static_assert(std::is_same_v<exec_aten::Tensor, executorch::aten::Tensor>);
  static_assert(std::is_same_v<torch::executor::Tensor, executorch::aten::Tensor>);
  std::vector<exec_aten::SizesType> sizes = {2, 2};
  CHECK(make_tensor_ptr(std::move(sizes), std::vector<float>{1, 2, 3, 4})->size(1) == 2);
}

TEST_CASE("executorch: rand does not hide the C library's") {
  CHECK(rand() >= 0);
  CHECK(rand({1})->numel() == 1);
}

TEST_CASE("executorch: random creators have its types, dynamism and strides") {
  CHECK(rand({2, 3})->scalar_type() == ScalarType::Float);
  CHECK(rand({2, 3}, ScalarType::Half)->scalar_type() == ScalarType::Half);
  CHECK(rand(std::vector<executorch::aten::SizesType>{2, 3})->numel() == 6);
  CHECK(rand({2}, ScalarType::Float, TensorShapeDynamism::STATIC)->shape_dynamism() ==
        TensorShapeDynamism::STATIC);
  CHECK(randn({2, 3}, ScalarType::Double)->scalar_type() == ScalarType::Double);
  CHECK(randint(-5, 5, {2, 3})->scalar_type() == ScalarType::Int);
  CHECK(randint(0, 5, {2}, ScalarType::Long, TensorShapeDynamism::STATIC)->shape_dynamism() ==
        TensorShapeDynamism::STATIC);
  CHECK(rand_strided({2, 3}, {1, 2})->strides()[1] == 2);
  CHECK(randn_strided({2, 3}, {1, 2}, ScalarType::Half)->strides()[1] == 2);
  CHECK(randint_strided(0, 9, {2, 3}, {1, 2})->scalar_type() == ScalarType::Int);

  auto source = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0});
  for (const TensorPtr& like :
       {rand_like(source), randn_like(source), randint_like(source, 0, 9)}) {
    CHECK(like->scalar_type() == ScalarType::Int);
    CHECK(like->strides()[1] == 2);
    CHECK(like->const_data_ptr() != source->const_data_ptr());
  }
  CHECK(rand_like(source, ScalarType::Float)->scalar_type() == ScalarType::Float);
  CHECK(randint_like(source, 0, 9, ScalarType::Byte)->scalar_type() == ScalarType::Byte);
  RAISES(InvalidState, "randn_like: ", randn_like(TensorPtr()));
  RAISES(InvalidArgument, "randint: [3, 3) holds no integers", randint(3, 3, {2}));
}

}  // namespace executorch_test
