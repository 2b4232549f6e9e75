// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor_ptr.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

// The three forms of the collection, and their try_ twins.
template <class F>
void in_every_form(F&& f) {
  f(make_tensor_ptr);
  f(make_tensor_impl_ptr);
  f(make_tensor);
  f(try_make_tensor_ptr);
}

}  // namespace

// The lines of the tutorial.

TEST_CASE("make_tensor_ptr: sizes and a list of floats make an owned Float tensor") {
  auto t = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(strides(t) == Vector{3, 1});
  CHECK(dim_order(t) == Vector{0, 1});
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(values<float>(t) == Floats{1, 2, 3, 4, 5, 6});
}

TEST_CASE("make_tensor_ptr: a double makes a Double tensor of rank 0") {
  auto t = make_tensor_ptr(3.14);
  CHECK(t->dim() == 0);
  CHECK(t->numel() == 1);
  CHECK(t->scalar_type() == ScalarType::Double);
  CHECK(item<double>(t) == 3.14);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::STATIC);
}

TEST_CASE("make_tensor_ptr: moved bytes with a shape and a type are reinterpreted in place") {
  const Ints ints = {1, -2, 3, -4, 5, 1 << 30};
  const auto* first = reinterpret_cast<const uint8_t*>(ints.data());
  std::vector<uint8_t> bytes(first, first + sizeof(int32_t) * 6);
  const void* const memory = bytes.data();
  auto t = make_tensor_ptr({2, 3}, std::move(bytes), ScalarType::Int);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(values<int32_t>(t) == ints);
  CHECK(const_data_ptr(t) == memory);
  CHECK(ownership(t) == Ownership::Adopted);
}

TEST_CASE("make_tensor_ptr: a pointer is borrowed") {
  float data[6] = {1, 2, 3, 4, 5, 6};
  auto t = make_tensor_ptr({2, 3}, data, ScalarType::Float);
  CHECK(const_data_ptr(t) == data);
  CHECK(ownership(t) == Ownership::Borrowed);
  data[5] = 7;
  CHECK(values<float>(t) == Floats{1, 2, 3, 4, 5, 7});
}

TEST_CASE("make_tensor_ptr: a pointer with a deleter is adopted, and the deleter runs once") {
  double data[6] = {1, 2, 3, 4, 5, 6};
  Calls calls;
  auto t = make_tensor_ptr({2, 3}, data, ScalarType::Double, TensorShapeDynamism::DYNAMIC_BOUND,
                           calls.deleter());
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(values<double>(t) == Doubles{1, 2, 3, 4, 5, 6});
  auto second = make_tensor_ptr(t);
  t.reset();
  CHECK(calls.count == 0);
  second.reset();
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
}

TEST_CASE("make_tensor_impl_ptr: two tensors made of one impl share data and shape") {
  auto impl = make_tensor_impl_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  auto a = make_tensor_ptr(impl);
  auto b = make_tensor_ptr(impl);
  CHECK(a->unsafeGetTensorImpl() == b->unsafeGetTensorImpl());
  CHECK(impl.use_count() == 3);
  mutable_data_ptr<float>(a)[0] = 9;
  CHECK(const_data_ptr<float>(b)[0] == 9);
  REQUIRE(resize_tensor_ptr(a, {3, 2}) == Error::Ok);
  CHECK(sizes(b) == Vector{3, 2});
}

TEST_CASE("make_tensor_ptr: of a TensorPtr it shares the impl, a resize shows in both") {
  auto a = make_tensor_ptr({1.0f, 2.0f, 3.0f, 4.0f});
  auto b = make_tensor_ptr(a);
  CHECK(a->unsafeGetTensorImpl() == b->unsafeGetTensorImpl());
  CHECK(a->use_count() == 2);
  REQUIRE(resize_tensor_ptr(b, {2, 2}) == Error::Ok);
  CHECK(sizes(a) == Vector{2, 2});
}

TEST_CASE("make_tensor_ptr: a typed list of ints is six ints, resizable to all shapes within") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int,
                           TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(t->numel() == 6);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  const void* const memory = const_data_ptr(t);
  REQUIRE(resize_tensor_ptr(t, {2, 2}) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
  REQUIRE(resize_tensor_ptr(t, {1, 3}) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3});
  REQUIRE(resize_tensor_ptr(t, {3, 2}) == Error::Ok);
  CHECK(strides(t) == Vector{2, 1});
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  REQUIRE(resize_tensor_ptr(t, {6, 1}) == Error::Ok);
  CHECK(sizes(t) == Vector{6, 1});
  CHECK(const_data_ptr(t) == memory);
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

// All overloads, in every form.

TEST_CASE("make_tensor: every form takes a value, with and without a type") {
  in_every_form([](auto make) {
    const Tensor a = handle(make(int64_t{7}));
    CHECK(a.scalar_type() == ScalarType::Long);
    CHECK(a.dim() == 0);
    CHECK(a.template item<int64_t>() == 7);
    const Tensor b = handle(make(2.5f, ScalarType::Half));
    CHECK(b.scalar_type() == ScalarType::Half);
    CHECK(b.template item<float>() == 2.5f);
  });
}

TEST_CASE("make_tensor: every form takes a flat list, a type and a dynamism") {
  in_every_form([](auto make) {
    const Tensor a = handle(make({1.5, 2.5}));
    CHECK(values<double>(a) == Doubles{1.5, 2.5});
    const Tensor b = handle(make({1.5, 2.5}, ScalarType::Float));
    CHECK(values<float>(b) == Floats{1.5f, 2.5f});
    const Tensor c = handle(make({1.5, 2.5}, ScalarType::Float, TensorShapeDynamism::STATIC));
    CHECK(shape_dynamism(c) == TensorShapeDynamism::STATIC);
  });
}

TEST_CASE("make_tensor: every form takes a container, moved or not, a type and a dynamism") {
  in_every_form([](auto make) {
    Floats source = {1, 2, 3};
    const Tensor copied = handle(make(source));
    CHECK(ownership(copied) == Ownership::Owned);
    CHECK(values<float>(copied) == source);
    const Tensor cast = handle(make(source, ScalarType::Double, TensorShapeDynamism::DYNAMIC));
    CHECK(values<double>(cast) == Doubles{1, 2, 3});
    CHECK(shape_dynamism(cast) == TensorShapeDynamism::DYNAMIC_UNBOUND);
    const float* const memory = source.data();
    const Tensor moved = handle(make(std::move(source)));
    CHECK(const_data_ptr(moved) == memory);
  });
}

TEST_CASE("make_tensor: every form takes sizes with a list and both tails") {
  in_every_form([](auto make) {
    CHECK(values<int32_t>(handle(make({2, 2}, {1, 2, 3, 4}))) == Ints{1, 2, 3, 4});
    const Tensor t =
        handle(make({2, 2}, {1, 2, 3, 4}, ScalarType::Float, TensorShapeDynamism::STATIC));
    CHECK(values<float>(t) == Floats{1, 2, 3, 4});
    CHECK(shape_dynamism(t) == TensorShapeDynamism::STATIC);
    const Tensor ordered = handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}));
    CHECK(strides(ordered) == Vector{1, 2});
    CHECK(values<int32_t>(ordered) == Ints{1, 3, 5, 2, 4, 6});
    const Tensor all = handle(make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0}, {1, 2}, ScalarType::Double,
                                   TensorShapeDynamism::DYNAMIC));
    CHECK(values<double>(all) == Doubles{1, 3, 5, 2, 4, 6});
    CHECK(dim_order(all) == Vector{1, 0});
    CHECK(shape_dynamism(all) == TensorShapeDynamism::DYNAMIC_UNBOUND);
  });
}

TEST_CASE("make_tensor: every form takes sizes with a container and both tails") {
  in_every_form([](auto make) {
    const Ints source = {1, 2, 3, 4, 5, 6};
    CHECK(values<int32_t>(handle(make({3, 2}, source))) == source);
    CHECK(values<float>(handle(make({3, 2}, source, ScalarType::Float,
                                    TensorShapeDynamism::STATIC))) == Floats{1, 2, 3, 4, 5, 6});
    const Tensor t = handle(
        make({3, 2}, Ints(source), {1, 0}, {1, 3}, ScalarType::Int, TensorShapeDynamism::STATIC));
    CHECK(values<int32_t>(t) == Ints{1, 4, 2, 5, 3, 6});
    CHECK(ownership(t) == Ownership::Adopted);
  });
}

TEST_CASE("make_tensor: every form takes a pointer and both tails, with and without a deleter") {
  in_every_form([](auto make) {
    int32_t data[6] = {1, 2, 3, 4, 5, 6};
    CHECK(handle(make({6}, data)).scalar_type() == ScalarType::Int);
    CHECK(shape_dynamism(handle(make({6}, data, ScalarType::Int, TensorShapeDynamism::STATIC))) ==
          TensorShapeDynamism::STATIC);
    CHECK(values<int32_t>(handle(make({2, 3}, data, {1, 0}))) == Ints{1, 3, 5, 2, 4, 6});
    CHECK(values<int32_t>(handle(make({2, 2}, data, {}, {3, 1}))) == Ints{1, 2, 4, 5});
    CHECK(values<int32_t>(handle(make({2, 2}, data, {0, 1}, {3, 1}, ScalarType::Int,
                                      TensorShapeDynamism::DYNAMIC))) == Ints{1, 2, 4, 5});
    Calls calls;
    {
      const auto a =
          make({6}, data, ScalarType::Int, TensorShapeDynamism::DYNAMIC_BOUND, calls.deleter());
      const auto b = make({2, 3}, data, {0, 1}, {3, 1}, ScalarType::Int,
                          TensorShapeDynamism::DYNAMIC_BOUND, calls.deleter());
      CHECK(ownership(handle(b)) == Ownership::Adopted);
      CHECK(calls.count == 0);
    }
    CHECK(calls.count == 2);
    CHECK(calls.argument == data);
  });
}

TEST_CASE("make_tensor: every form shares an impl or a TensorPtr, and views a Tensor") {
  in_every_form([](auto make) {
    const TensorPtr source = make_tensor_ptr({4}, {1, 2, 3, 4});
    CHECK(handle(make(source)).unsafeGetTensorImpl() == source->unsafeGetTensorImpl());
    CHECK(handle(make(make_tensor_impl_ptr(source))).unsafeGetTensorImpl() ==
          source->unsafeGetTensorImpl());
    const Tensor view = handle(make(*source));
    CHECK(ownership(view) == Ownership::View);
    CHECK(view.unsafeGetTensorImpl() != source->unsafeGetTensorImpl());
    const Tensor part = handle(make(*source, {2}, {}, {2}, 1));
    CHECK(values<int32_t>(part) == Ints{2, 4});
    CHECK(values<int32_t>(handle(make(source, {2, 2}))) == Ints{1, 2, 3, 4});
  });
}

// Braces.

TEST_CASE("make_tensor_ptr: {0, 5} and an empty list make an empty Float tensor") {
  auto t = make_tensor_ptr({0, 5}, {});
  CHECK(sizes(t) == Vector{0, 5});
  CHECK(strides(t) == Vector{5, 1});
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(t->numel() == 0);
  CHECK(t->nbytes() == 0);
}

TEST_CASE("make_tensor_ptr: {} and one value make a tensor of rank 0") {
  auto t = make_tensor_ptr({}, {3.14f});
  CHECK(t->dim() == 0);
  CHECK(item<float>(t) == 3.14f);
}

TEST_CASE("make_tensor_ptr: {0} is one element, {0} with {} is a shape without elements") {
  auto value = make_tensor_ptr({0});
  CHECK(sizes(value) == Vector{1});
  CHECK(value->scalar_type() == ScalarType::Int);
  CHECK(item<int>(value) == 0);
  auto shape = make_tensor_ptr({0}, {});
  CHECK(sizes(shape) == Vector{0});
  CHECK(shape->scalar_type() == ScalarType::Float);
}

TEST_CASE("make_tensor_ptr: the literal nullptr with braces for order and strides compiles") {
  auto t = make_tensor_ptr({1}, nullptr, {}, {});
  CHECK(const_data_ptr(t) == nullptr);
  CHECK(t->scalar_type() == ScalarType::Float);
  CHECK(sizes(t) == Vector{1});
}

TEST_CASE("make_tensor_ptr: sizes may be variables of any integer type, vectors or spans") {
  const size_t n = 2;
  const int m = 3;
  const int64_t k = 1;
  CHECK(sizes(make_tensor_ptr({n, 3}, {1, 2, 3, 4, 5, 6})) == Vector{2, 3});
  CHECK(sizes(make_tensor_ptr({n, m, k}, {1, 2, 3, 4, 5, 6})) == Vector{2, 3, 1});
  const std::vector<size_t> lengths = {3, 2};
  CHECK(sizes(make_tensor_ptr(lengths, {1, 2, 3, 4, 5, 6})) == Vector{3, 2});
  const std::vector<int32_t> narrow = {6};
  CHECK(sizes(make_tensor_ptr(narrow, {1, 2, 3, 4, 5, 6})) == Vector{6});
  auto source = make_tensor_ptr({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(sizes(make_tensor_ptr(source->sizes(), {6, 5, 4, 3, 2, 1})) == Vector{3, 2});
  int32_t data[2] = {1, 2};
  CHECK(sizes(make_tensor_ptr({n}, data)) == Vector{2});
}

TEST_CASE("make_tensor_ptr: with gaps the data is as long as the elements reach") {
  auto t = make_tensor_ptr({2, 2}, {1, 2, 0, 3, 4}, {}, {3, 1});
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
  CHECK(ownership(t) == Ownership::Owned);
  CHECK_FALSE(t->is_contiguous());
  auto adopted = make_tensor_ptr({2, 2}, Ints{1, 2, 0, 3, 4}, {0, 1}, {3, 1});
  CHECK(values<int32_t>(adopted) == Ints{1, 2, 3, 4});
  RAISES(InvalidArgument, "4 values were given", make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {}, {3, 1}));
}

TEST_CASE("make_tensor_ptr: a dim order without strides nests the dimensions in that order") {
  auto t = make_tensor_ptr({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 0, 1});
  // Dimension 2 is outermost (stride 6), then 0 (3), then 1 (1).
  CHECK(strides(t) == Vector{3, 1, 6});
  CHECK(values<int32_t>(t) == Ints{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
}

TEST_CASE("make_tensor_ptr: strides alone imply the dim order") {
  float data[6] = {};
  CHECK(dim_order(make_tensor_ptr({2, 3}, data, {}, {1, 2})) == Vector{1, 0});
  CHECK(dim_order(make_tensor_ptr({2, 3}, data, {}, {3, 1})) == Vector{0, 1});
}

TEST_CASE("make_tensor_ptr: owned memory is aligned to 64 bytes, whatever its size") {
  bool aligned = true;
  for (int64_t n : {1, 3, 64, 100, 1000, 100000}) {
    aligned = aligned && is_aligned(empty({n}), 64) && is_aligned(zeros({n}), 64);
  }
  CHECK(aligned);
  CHECK(is_aligned(make_tensor_ptr(1.0), 64));
  CHECK(is_aligned(make_tensor_ptr({1, 2, 3}), 64));
}
