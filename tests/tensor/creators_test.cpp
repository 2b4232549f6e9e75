// SPDX-License-Identifier: MIT
#include "tenon/tensor/creators.h"
#include "tenon/tensor/access.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
constexpr auto kStatic = TensorShapeDynamism::STATIC;
}  // namespace

// Sanitizers abort on allocations that are too large unless told to return null, as malloc does.
extern "C" {
const char* __asan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
}

TEST_CASE("empty: Float, row-major, owned and DYNAMIC_BOUND unless told otherwise") {
  auto t = tenon::empty({2, 3});
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(strides(t) == Vector{3, 1});
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(tenon::shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(tenon::ownership(t) == Ownership::Owned);
  CHECK_FALSE(tenon::is_readonly(t));
  auto u = tenon::empty({2}, ScalarType::Bool, kStatic);
  CHECK(u->scalar_type() == ScalarType::Bool);
  CHECK(tenon::shape_dynamism(u) == kStatic);
  CHECK(tenon::empty({})->dim() == 0);
  CHECK(tenon::empty({0, 3})->numel() == 0);
  CHECK(tenon::empty(std::vector<int>{2, 3})->numel() == 6);
}

TEST_CASE("empty: takes up to 64 dimensions") { CHECK(tenon::empty(Vector(64, 1))->dim() == 64); }

TEST_CASE("full: Float whatever the value, unless a type is given") {
  CHECK(tenon::full({2}, 42)->scalar_type() == ScalarType::Float);
  CHECK(tenon::full({2}, true)->scalar_type() == ScalarType::Float);
  CHECK(tenon::full({2}, 1.5)->scalar_type() == ScalarType::Float);
  CHECK(values<float>(tenon::full({2}, 42)) == Floats{42, 42});
  CHECK(values<int32_t>(tenon::full({3}, -7, ScalarType::Int)) == Ints{-7, -7, -7});
  CHECK(values<Half>(tenon::full({1}, 0.5, ScalarType::Half))[0] == Half(0.5f));
}

TEST_CASE("full: every element type holds 1 in every element, small and large tensors") {
  bool right = true;
  for (int number = 0; number < 40; ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (!tenon::isValidType(type)) continue;
    if (type == ScalarType::Bool) continue;
    for (int64_t count : {3, 3000}) {
      auto t = tenon::full({count}, 1, type);
      const auto* first = static_cast<const char*>(tenon::const_data_ptr(t));
      for (int64_t i = 0; i < count; ++i) {
        const auto size = static_cast<int64_t>(t->element_size());
        right = right && tenon::detail::load_scalar(tenon::detail::own_type(type), first + i * size)
                             .keeps(tenon::own::Scalar(1));
      }
    }
  }
  CHECK(right);
  CHECK(tenon::const_data_ptr<bool>(tenon::full({2}, true, ScalarType::Bool))[1]);
}

TEST_CASE("full: a value that does not fit the type is refused, not wrapped") {
  CHECK_ERROR(Error::InvalidArgument, "full: the value 300 does not fit Byte",
              tenon::full({2}, 300, ScalarType::Byte));
  CHECK_ERROR(Error::InvalidArgument, "full: the value -1",
              tenon::full({2}, -1, ScalarType::UInt64));
  CHECK_ERROR(Error::InvalidType, "full: the floating value 1.5 cannot be cast to Int",
              tenon::full({2}, 1.5, ScalarType::Int));
  CHECK_ERROR(Error::InvalidType, "full: the complex value",
              tenon::full({2}, tenon::complex<double>(1, 2)));
  CHECK_ERROR(Error::InvalidArgument,
              "full_strided: ", tenon::full_strided({2}, {1}, 300, ScalarType::Byte));
  CHECK_ERROR(Error::InvalidArgument,
              "full_like: ", tenon::full_like(tenon::empty({2}, ScalarType::Byte), 300));
  CHECK_ERROR(Error::InvalidArgument,
              "scalar_tensor: ", tenon::scalar_tensor(300, ScalarType::Byte));
}

TEST_CASE("full: negative zero keeps its sign") {
  const float value = tenon::const_data_ptr<float>(tenon::full({2}, -0.0))[1];
  const float negative_zero = -0.0f;
  CHECK(std::memcmp(&value, &negative_zero, sizeof value) == 0);
}

TEST_CASE("zeros and ones: small and large, of any type") {
  for (int64_t count : {5, 5000}) {
    Floats floats = values<float>(tenon::zeros({count}));
    CHECK((floats == Floats(static_cast<size_t>(count), 0.0f)));
    CHECK((values<float>(tenon::ones({count})) == Floats(static_cast<size_t>(count), 1.0f)));
  }
  CHECK(values<int32_t>(tenon::ones({2}, ScalarType::Int)) == Ints{1, 1});
  CHECK(tenon::const_data_ptr<bool>(tenon::ones({1}, ScalarType::Bool))[0] == true);
  CHECK(tenon::shape_dynamism(tenon::zeros({2}, ScalarType::Long, kStatic)) == kStatic);
  CHECK(tenon::shape_dynamism(tenon::ones({2}, ScalarType::Long, kStatic)) == kStatic);
}

TEST_CASE("strided creators: the strides given, gaps filled too") {
  auto t = tenon::full_strided({2, 2}, {3, 1}, 7, ScalarType::Int);
  CHECK(strides(t) == Vector{3, 1});
  const auto* data = tenon::const_data_ptr<int32_t>(t);
  CHECK(Ints(data, data + 5) == Ints{7, 7, 7, 7, 7});
  CHECK(strides(tenon::empty_strided({2, 3}, {1, 2})) == Vector{1, 2});
  CHECK(dim_order(tenon::empty_strided({2, 3}, {1, 2})) == Vector{1, 0});
  CHECK(values<float>(tenon::zeros_strided({2, 2}, {1, 2})) == Floats{0, 0, 0, 0});
  CHECK(values<float>(tenon::ones_strided({2, 2}, {1, 2})) == Floats{1, 1, 1, 1});
  CHECK(strides(tenon::ones_strided({2, 3}, {})) == Vector{3, 1});
  CHECK(strides(tenon::empty_strided({2, 0}, {7, 7})) == Vector{7, 7});
  CHECK(tenon::shape_dynamism(tenon::empty_strided({2}, {1}, ScalarType::Int, kStatic)) == kStatic);
}

TEST_CASE("_like: sizes, type and dense strides are the source's") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0});
  for (const auto& t : {tenon::empty_like(source), tenon::zeros_like(*source),
                        tenon::ones_like(source), tenon::full_like(*source, 9)}) {
    CHECK(sizes(t) == Vector{2, 3});
    CHECK(strides(t) == Vector{1, 2});
    CHECK(dim_order(t) == Vector{1, 0});
    CHECK(t->scalar_type() == ScalarType::Int);
    CHECK(tenon::ownership(t) == Ownership::Owned);
    CHECK(tenon::const_data_ptr(t) != tenon::const_data_ptr(source));
  }
  CHECK(values<int32_t>(tenon::zeros_like(source)) == Ints{0, 0, 0, 0, 0, 0});
  CHECK(values<int32_t>(tenon::ones_like(source)) == Ints{1, 1, 1, 1, 1, 1});
  CHECK(values<int32_t>(tenon::full_like(source, 9)) == Ints{9, 9, 9, 9, 9, 9});
  CHECK(values<float>(tenon::full_like(source, 0.5, ScalarType::Float))[5] == 0.5f);
  CHECK(tenon::zeros_like(source, ScalarType::Half, kStatic)->scalar_type() == ScalarType::Half);
  CHECK(tenon::shape_dynamism(tenon::zeros_like(source, ScalarType::Half, kStatic)) == kStatic);
}

TEST_CASE("_like: strides with gaps or overlap become dense in the same dim order") {
  float data[24] = {};
  CHECK(strides(tenon::empty_like(tenon::from_blob(data, {2, 3}, {8, 1}))) == Vector{3, 1});
  CHECK(strides(tenon::empty_like(tenon::from_blob(data, {2, 3}, {1, 8}))) == Vector{1, 2});
  CHECK(strides(tenon::empty_like(tenon::from_blob(data, {2, 3}, {0, 1}))) == Vector{1, 2});
}

TEST_CASE("_like: reversed strides become dense in the same dim order", "[plain]") {
  float data[6] = {};
  CHECK(strides(tenon::empty_like(tenon::from_blob(data + 5, {2, 3}, {-3, -1}))) == Vector{3, 1});
}

TEST_CASE("_like: of a placeholder and of device memory it is a host tensor with data") {
  auto placeholder = make_tensor_ptr({2}, nullptr, ScalarType::Int);
  CHECK(values<int32_t>(tenon::ones_like(placeholder)) == Ints{1, 1});
}

TEST_CASE("scalar_tensor: Float, rank 0, STATIC") {
  auto t = tenon::scalar_tensor(3);
  CHECK(t->dim() == 0);
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(tenon::shape_dynamism(t) == kStatic);
  CHECK(tenon::item<float>(t) == 3);
  CHECK(tenon::item<int64_t>(tenon::scalar_tensor(3, ScalarType::Long)) == 3);
}

TEST_CASE("creators: the try_ forms give the value, or the error by their own names") {
  auto source = make_tensor_ptr({2}, {1, 2});
  CHECK(tenon::try_empty({2}).ok());
  CHECK(tenon::try_empty_strided({2}, {1}).ok());
  CHECK(tenon::try_empty_like(source).ok());
  CHECK(values<float>(*tenon::try_full({1}, 2)) == Floats{2});
  CHECK(tenon::try_full_strided({1}, {1}, 2).ok());
  CHECK(tenon::try_full_like(source, 2).ok());
  CHECK(tenon::try_zeros({2}).ok());
  CHECK(tenon::try_zeros_strided({2}, {1}).ok());
  CHECK(tenon::try_zeros_like(source).ok());
  CHECK(values<float>(*tenon::try_ones({1})) == Floats{1});
  CHECK(tenon::try_ones_strided({2}, {1}).ok());
  CHECK(tenon::try_ones_like(source).ok());
  CHECK(tenon::try_scalar_tensor(1).ok());
  const auto begins = [](const auto& result, const char* words) {
    return !result.ok() && std::string(result.message()).rfind(words, 0) == 0;
  };
  CHECK(begins(tenon::try_empty({-1}), "try_empty: size -1"));
  CHECK(begins(tenon::try_empty_strided({2}, {0}), "try_empty_strided: strides {0}"));
  CHECK(begins(tenon::try_empty_like(tenon::Tensor()), "try_empty_like: "));
  CHECK(begins(tenon::try_full({-1}, 1), "try_full: "));
  CHECK(begins(tenon::try_full_strided({2}, {0}, 1), "try_full_strided: "));
  CHECK(begins(tenon::try_full_like(tenon::TensorPtr(), 1), "try_full_like: "));
  CHECK(begins(tenon::try_zeros({-1}), "try_zeros: "));
  CHECK(begins(tenon::try_zeros_strided({2}, {0}), "try_zeros_strided: "));
  CHECK(begins(tenon::try_zeros_like(tenon::Tensor()), "try_zeros_like: "));
  CHECK(begins(tenon::try_ones({-1}), "try_ones: "));
  CHECK(begins(tenon::try_ones_strided({2}, {0}), "try_ones_strided: "));
  CHECK(begins(tenon::try_ones_like(tenon::Tensor()), "try_ones_like: "));
  CHECK(begins(tenon::try_scalar_tensor(1, ScalarType::Undefined), "try_scalar_tensor: "));
}

TEST_CASE("creators: more than the address space is refused, more than the machine OutOfMemory") {
  CHECK_ERROR(Error::OutOfMemory, "empty: out of memory for 4611686018427387904 bytes",
              tenon::empty({int64_t{1} << 60}));
  CHECK_ERROR(Error::OutOfMemory, "zeros: ", tenon::zeros({int64_t{1} << 60}));
  CHECK(tenon::try_empty({INT64_MAX}, ScalarType::Byte).error() == Error::OutOfMemory);
}
