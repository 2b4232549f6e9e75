// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_creators.h"

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "support/catch.h"

// As ExecuTorch programs do; none of the names below may be ambiguous.
using namespace ::executorch::extension;
using namespace ::executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;

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
  CHECK_ERROR(Error::InvalidState, "randn_like: ", randn_like(TensorPtr()));
  CHECK_ERROR(Error::InvalidArgument, "randint: [3, 3) holds no integers", randint(3, 3, {2}));
}

TEST_CASE("executorch: random creators take their numbers from the thread's own generator") {
  const tenon::Generator before = tenon::default_generator();
  tenon::manual_seed(0);
  CHECK(rand({4})->const_data_ptr<float>()[0] == 0x6627e8 / 16777216.0f);
  tenon::manual_seed(0);
  CHECK(randint(0, 100, {4})->const_data_ptr<int32_t>()[1] == 88);
  CHECK(tenon::default_generator().offset() == 4);
  tenon::default_generator() = before;
}

TEST_CASE("executorch: rand does not hide the C library's") {
  CHECK(rand() >= 0);
  CHECK(rand({1})->numel() == 1);
}
