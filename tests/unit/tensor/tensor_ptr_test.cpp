// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor_ptr.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_ptr_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kStatic = TensorShapeDynamism::STATIC;
constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

// The three forms of the collection, and a try_ twin.
template <class F>
void in_every_form(F&& f) {
  f(make_tensor_ptr);
  f(make_tensor_impl_ptr);
  f(make_tensor);
  f(try_make_tensor_ptr);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("make_tensor_impl_ptr: tensors made of one impl or TensorPtr share data and shape") {
  auto impl = make_tensor_impl_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  auto a = make_tensor_ptr(impl);
  auto b = make_tensor_ptr(a);
  CHECK(a->unsafeGetTensorImpl() == b->unsafeGetTensorImpl());
  CHECK(impl.use_count() == 3);
  mutable_data_ptr<float>(a)[0] = 9;
  CHECK(const_data_ptr<float>(b)[0] == 9);
  REQUIRE(resize_tensor_ptr(a, {3, 2}) == Error::Ok);
  CHECK(sizes(b) == Vector{3, 2});
}

TEST_CASE("make_tensor_ptr: floating to integral, complex to real, all else to Bool is refused") {
  RAISES(InvalidType, "make_tensor_ptr: values of Float cannot be cast to Int",
         make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Int));
  RAISES(InvalidType, "cannot be cast to Bool", make_tensor_ptr({1, 0}, ScalarType::Bool));
  RAISES(InvalidType, "cannot be cast to Bool", make_tensor_ptr(1, ScalarType::Bool));
  RAISES(InvalidType, "cannot be cast to Long", make_tensor_ptr(1.0, ScalarType::Long));
  RAISES(InvalidType, "cannot be cast to Float",
         make_tensor_ptr(complex<float>(1, 2), ScalarType::Float));
  RAISES(InvalidType, "cannot be cast to Char",
         make_tensor_ptr({2}, Doubles{1, 2}, ScalarType::Char));
  CHECK(make_tensor_ptr({true, false}, ScalarType::Bool)->scalar_type() == ScalarType::Bool);
  CHECK(values<float>(make_tensor_ptr({true, false}, ScalarType::Float)) == Floats{1, 0});
}

TEST_CASE("make_tensor: every form takes a value, a flat list or container, and options") {
  in_every_form([](auto make) {
    CHECK(item<int64_t>(handle(make(int64_t{7}))) == 7);
    const Tensor half = handle(make(2.5f, ScalarType::Half));
    CHECK(half.scalar_type() == ScalarType::Half);
    CHECK(item<float>(half) == 2.5f);
    CHECK(values<double>(handle(make({1.5, 2.5}))) == Doubles{1.5, 2.5});
    const Tensor list = handle(make({1.5, 2.5}, ScalarType::Float, kStatic));
    CHECK(values<float>(list) == Floats{1.5f, 2.5f});
    CHECK(shape_dynamism(list) == kStatic);
    Floats source = {1, 2, 3};
    const Tensor copied = handle(make(source));
    CHECK(ownership(copied) == Ownership::Owned);
    CHECK(values<float>(copied) == source);
    const float* const memory = source.data();
    CHECK(const_data_ptr(handle(make(std::move(source)))) == memory);
  });
}

TEST_CASE("make_tensor: every form takes sizes with a list or container, and both tails") {
  in_every_form([](auto make) {
    const Ints six = {1, 2, 3, 4, 5, 6};
    CHECK(values<int32_t>(handle(make({2, 2}, {1, 2, 3, 4}))) == Ints{1, 2, 3, 4});
    const Tensor t = handle(make({2, 2}, {1, 2, 3, 4}, ScalarType::Float, kStatic));
    CHECK(values<float>(t) == Floats{1, 2, 3, 4});
    CHECK(shape_dynamism(t) == kStatic);
    check_tensor(handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0})), {2, 3}, {1, 2},
                 {1, 3, 5, 2, 4, 6});
    const Tensor all =
        handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {1, 2}, ScalarType::Double, kDynamic));
    CHECK(values<double>(all) == Doubles{1, 3, 5, 2, 4, 6});
    CHECK(dim_order(all) == Vector{1, 0});
    CHECK(shape_dynamism(all) == TensorShapeDynamism::DYNAMIC_UNBOUND);
    const Tensor moved = handle(make({3, 2}, Ints(six), {1, 0}, {1, 3}, ScalarType::Int, kStatic));
    CHECK(values<int32_t>(moved) == Ints{1, 4, 2, 5, 3, 6});
    CHECK(ownership(moved) == Ownership::Adopted);
  });
}

TEST_CASE("make_tensor: every form takes a pointer and both tails, with and without a deleter") {
  in_every_form([](auto make) {
    int32_t data[6] = {1, 2, 3, 4, 5, 6};
    const Tensor borrowed = handle(make({6}, data));
    CHECK(borrowed.scalar_type() == ScalarType::Int);
    CHECK(const_data_ptr(borrowed) == data);
    CHECK(ownership(borrowed) == Ownership::Borrowed);
    CHECK(shape_dynamism(handle(make({6}, data, ScalarType::Int, kStatic))) == kStatic);
    CHECK(values<int32_t>(handle(make({2, 3}, data, {1, 0}))) == Ints{1, 3, 5, 2, 4, 6});
    Calls calls;
    {
      const auto a = make({6}, data, ScalarType::Int, kBound, calls.deleter());
      const auto b = make({2, 3}, data, {0, 1}, {3, 1}, ScalarType::Int, kBound, calls.deleter());
      CHECK(ownership(handle(b)) == Ownership::Adopted);
      CHECK(calls.count == 0);
    }
    CHECK(calls.count == 2);
    CHECK(calls.argument == data);
  });
}

TEST_CASE("make_tensor: every form takes strides and a dim order as options") {
  in_every_form([](auto make) {
    const Ints six = {1, 2, 3, 4, 5, 6};
    int32_t data[6] = {1, 2, 3, 4, 5, 6};
    Calls calls;
    {
      const Tensor made[] = {
          handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, Strides{1, 2})),
          handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, DimOrder{1, 0})),
          handle(make({2, 3}, six, ScalarType::Int, DimOrder{1, 0}, kStatic, Strides{1, 2})),
          handle(make({2, 3}, Ints(six), Strides{1, 2})),
          handle(make({2, 3}, six, {1, 0}, Strides{1, 2})),
          handle(make({2, 3}, std::vector<Ints>{{1, 2, 3}, {4, 5, 6}}, DimOrder{1, 0})),
          handle(make({2, 3}, data, Strides{1, 2}, host_backend())),
          handle(make({2, 3}, data, {1, 0}, Strides{1, 2})),
          handle(make({2, 3}, data, Device("cpu"), DimOrder{1, 0})),
          handle(make({2, 3}, data, ScalarType::Int, kBound, calls.deleter(), DimOrder{1, 0})),
          handle(make({2, 3}, data, Strides{1, 2}, ScalarType::Int, kBound, calls.deleter())),
          handle(make(handle(make({6}, data)), {2, 3}, Strides{1, 2})),
          handle(make(handle(make({6}, data)), {2, 3}, DimOrder{1, 0}, Strides{1, 2})),
          handle(make(handle(make({6}, data)), {2, 3}, DimOrder{1, 0}, {1, 2})),
          handle(make({2, 3}, data, DimOrder{1, 0}, {1, 2})),
      };
      for (const Tensor& t : made) {
        INFO("row " << &t - made);
        check_tensor(t, {2, 3}, {1, 2}, {1, 3, 5, 2, 4, 6});
      }
      CHECK(calls.count == 0);
    }
    CHECK(calls.count == 2);
    CHECK(values<int32_t>(handle(make({2, 2}, {1, 2, 0, 3, 4}, Strides{3, 1}))) ==
          Ints{1, 2, 3, 4});
  });
  RAISES(InvalidArgument, "make_tensor_ptr: dim_order has a value that is not a dimension",
         make_tensor_ptr({2, 1}, {1, 2}, DimOrder{-1, 0}));
  RAISES(InvalidArgument, "make_tensor_ptr: dim_order has a value that is not a dimension",
         make_tensor_ptr(zeros({2}), {2, 1}, DimOrder{-1, 0}));
  const TensorPtr bytes =
      from_bytes({2, 3}, std::string("abcdef"), ScalarType::Byte, Strides{1, 2});
  CHECK(strides(bytes) == Vector{1, 2});
}

TEST_CASE("make_tensor_ptr: what braces mean") {
  auto nothing = make_tensor_ptr({0, 5}, {});
  check_tensor(*nothing, {0, 5}, {5, 1});
  CHECK(nothing->scalar_type() == ScalarType::Float);
  CHECK(nothing->nbytes() == 0);
  auto scalar = make_tensor_ptr({}, {3.14f});
  CHECK(scalar->dim() == 0);
  CHECK(item<float>(scalar) == 3.14f);
}

// A promise of docs/guarantees.md.
TEST_CASE("make_tensor_ptr: owned memory is aligned to 64 bytes, whatever its size") {
  for (int64_t n : {1, 3, 64, 100, 1000, 100000}) {
    CAPTURE(n);
    CHECK(is_aligned(empty({n}), 64));
    CHECK(is_aligned(zeros({n}), 64));
  }
  CHECK(is_aligned(make_tensor_ptr(1.0), 64));
  CHECK(is_aligned(make_tensor_ptr({1, 2, 3}), 64));
}

}  // namespace tensor_ptr_test
