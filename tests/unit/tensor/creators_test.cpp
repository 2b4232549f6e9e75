// SPDX-License-Identifier: MIT
#include "tenon/tensor/creators.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
#include "tensor/helpers.h"

namespace creators_test {

using namespace tenon;
using namespace tests;

namespace {
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
  auto t = empty({2, 3});
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(strides(t) == Vector{3, 1});
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK_FALSE(is_readonly(t));
  auto u = empty({2}, ScalarType::Bool, kStatic);
  CHECK(u->scalar_type() == ScalarType::Bool);
  CHECK(shape_dynamism(u) == kStatic);
}

TEST_CASE("creators: strides and a dim order are options too") {
  check_tensor(*full({2, 3}, 7, Strides{1, 2}, ScalarType::Int), {2, 3}, {1, 2}, Ints(6, 7));
  CHECK(strides(zeros({2, 3}, DimOrder{1, 0})) == Vector{1, 2});
  CHECK(strides(ones_strided({2, 3}, {1, 2}, DimOrder{1, 0})) == Vector{1, 2});
  CHECK(strides(rand({2, 3}, ScalarType::Half, DimOrder{1, 0})) == Vector{1, 2});
  CHECK(strides(full_strided({2, 3}, Strides{1, 2}, 7)) == Vector{1, 2});
  CHECK(strides(rand_strided({2, 3}, Strides{1, 2})) == Vector{1, 2});
  CHECK(equal(randn({2, 3}, Strides{4, 1}, Generator(3)),
              randn_strided({2, 3}, {4, 1}, Generator(3))));
  RAISES(InvalidArgument, "zeros: strides {0, 1}", zeros({2, 3}, Strides{0, 1}));
}

// A promise of docs/guarantees.md.
TEST_CASE("full: a value that does not fit the type is refused, not wrapped") {
  RAISES(InvalidArgument, "full: the value 300 does not fit Byte",
         full({2}, 300, ScalarType::Byte));
  RAISES(InvalidArgument, "full: the value -1", full({2}, -1, ScalarType::UInt64));
  RAISES(InvalidType, "full: the floating value 1.5 cannot be cast to Int",
         full({2}, 1.5, ScalarType::Int));
  RAISES(InvalidType, "full: the complex value", full({2}, complex<double>(1, 2)));
  RAISES(InvalidArgument, "full_strided: ", full_strided({2}, {1}, 300, ScalarType::Byte));
  RAISES(InvalidArgument, "full_like: ", full_like(empty({2}, ScalarType::Byte), 300));
  RAISES(InvalidArgument, "scalar_tensor: ", scalar_tensor(300, ScalarType::Byte));
}

TEST_CASE("full: the default type is as Float given, for values that fit and for others") {
  for (const Scalar& value : {Scalar(1e300), Scalar(-1e39), Scalar(complex<double>(1, 0))}) {
    const Result<TensorPtr> unsaid = try_full({2}, value);
    const Result<TensorPtr> said = try_full({2}, value, ScalarType::Float);
    CHECK_FALSE(unsaid.ok());
    CHECK(unsaid.error() == said.error());
    CHECK(std::string(unsaid.message()) == said.message());
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Scalar kept[] = {0.1,       1e-50,      -0.0,
                         kInfinity, true,       int64_t{16777217},
                         INT64_MIN, UINT64_MAX, std::numeric_limits<double>::quiet_NaN()};
  for (const Scalar& value : kept) {
    const TensorPtr unsaid = full({1}, value);
    const TensorPtr said = full({1}, value, ScalarType::Float);
    CHECK(std::memcmp(const_data_ptr(unsaid), const_data_ptr(said), sizeof(float)) == 0);
  }
}

TEST_CASE("_like: sizes, type and dense strides are the source's") {
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0});
  for (const auto& t :
       {empty_like(source), zeros_like(*source), ones_like(source), full_like(*source, 9)}) {
    CHECK(sizes(t) == Vector{2, 3});
    CHECK(strides(t) == Vector{1, 2});
    CHECK(dim_order(t) == Vector{1, 0});
    CHECK(t->scalar_type() == ScalarType::Int);
    CHECK(ownership(t) == Ownership::Owned);
    CHECK(const_data_ptr(t) != const_data_ptr(source));
  }
  CHECK(values<int32_t>(zeros_like(source)) == Ints{0, 0, 0, 0, 0, 0});
  CHECK(values<int32_t>(ones_like(source)) == Ints{1, 1, 1, 1, 1, 1});
  CHECK(values<int32_t>(full_like(source, 9)) == Ints{9, 9, 9, 9, 9, 9});
  CHECK(zeros_like(source, ScalarType::Half, kStatic)->scalar_type() == ScalarType::Half);
  CHECK(values<int32_t>(ones_like(make_tensor_ptr({2}, nullptr, ScalarType::Int))) == Ints{1, 1});
}

TEST_CASE("_like: more bytes than there can be, of strides that are 0, are refused") {
  const Tensor many =
      expand(make_tensor_ptr({1, 1}, {uint8_t{7}}), {int64_t{1} << 20, (PTRDIFF_MAX >> 20) / 2});
  RAISES(InvalidArgument, "full_like: ", full_like(many, 1, ScalarType::Double));
  RAISES(InvalidArgument, "clone_tensor_ptr: ", clone_tensor_ptr(many, ScalarType::Double));
}

// A promise of docs/guarantees.md.
TEST_CASE("creators: the try_ forms give the value, or the error by their own names") {
  const auto source = make_tensor_ptr({2}, {1, 2});
  const Tensor undefined;
  const struct {
    const char* name;
    Result<TensorPtr> made, failed;
  } rows[] = {
      {"try_empty", try_empty({2}), try_empty({-1})},
      {"try_empty_strided", try_empty_strided({2}, {1}), try_empty_strided({2}, {0})},
      {"try_empty_like", try_empty_like(source), try_empty_like(undefined)},
      {"try_full", try_full({1}, 2), try_full({-1}, 1)},
      {"try_full_strided", try_full_strided({1}, {1}, 2), try_full_strided({2}, {0}, 1)},
      {"try_full_like", try_full_like(source, 2), try_full_like(undefined, 1)},
      {"try_zeros", try_zeros({2}), try_zeros({-1})},
      {"try_zeros_strided", try_zeros_strided({2}, {1}), try_zeros_strided({2}, {0})},
      {"try_zeros_like", try_zeros_like(source), try_zeros_like(undefined)},
      {"try_ones", try_ones({1}), try_ones({-1})},
      {"try_ones_strided", try_ones_strided({2}, {1}), try_ones_strided({2}, {0})},
      {"try_ones_like", try_ones_like(source), try_ones_like(undefined)},
      {"try_scalar_tensor", try_scalar_tensor(1), try_scalar_tensor(1, ScalarType::Undefined)},
  };
  for (const auto& row : rows) {
    INFO(row.name << ": " << row.failed.message());
    CHECK(row.made.ok());
    CHECK_FALSE(row.failed.ok());
    CHECK(std::string(row.failed.message()).rfind(row.name + std::string(": "), 0) == 0);
  }
}

TEST_CASE("creators: more than the address space is refused, more than the machine OutOfMemory") {
  constexpr int64_t kMost = PTRDIFF_MAX / 4;
  RAISES(OutOfMemory, "empty: out of memory for " + std::to_string(kMost * 4) + " bytes",
         empty({kMost}));
  RAISES(OutOfMemory, "zeros: ", zeros({kMost}));
  CHECK(try_empty({PTRDIFF_MAX}, ScalarType::Byte).error() == Error::OutOfMemory);
}

}  // namespace creators_test
