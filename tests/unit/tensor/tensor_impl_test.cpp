// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor_impl.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_impl_test {

using namespace tenon;
using namespace tests;

static_assert(!std::is_copy_constructible_v<TensorImpl>);
static_assert(!std::is_move_constructible_v<TensorImpl>);
static_assert(!std::is_default_constructible_v<TensorImpl>);
static_assert(TensorShapeDynamism::DYNAMIC == TensorShapeDynamism::DYNAMIC_UNBOUND);
static_assert(static_cast<int>(TensorShapeDynamism::STATIC) == 0);
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_BOUND) == 1);
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_UNBOUND) == 2);

#if !TENON_ATEN_MODE  // where it is ATen's
TEST_CASE("tensor_impl: its accessors say what it was made with") {
  int32_t data[8] = {};
  const int64_t sizes[] = {2, 3};
  const int64_t strides[] = {1, 2};
  const DimOrderType order[] = {1, 0};
  TensorImpl impl(ScalarType::Int, 2, sizes, data, order, strides,
                  TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(impl.dim() == 2);
  CHECK(list(impl.sizes()) == Vector{2, 3});
  CHECK(list(impl.strides()) == Vector{1, 2});
  CHECK(list(impl.dim_order()) == Vector{1, 0});
  CHECK(impl.scalar_type() == ScalarType::Int);
  CHECK(impl.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(impl.ownership() == Ownership::Borrowed);
  CHECK(impl.has_data());
  CHECK(impl.data() == data);
  CHECK(impl.data<int32_t>() == data);
  RAISES(InvalidType, "data: asked for Float", impl.data<float>());
  RAISES(InvalidType, "mutable_data: asked for Float", impl.mutable_data<float>());
  RAISES(OutOfBounds, "size: dimension 2", impl.size(2));
}

// A promise of docs/guarantees.md.
TEST_CASE("tensor_impl: a typed pointer has the type given, raw bytes any") {
  int32_t ints[] = {1, 2};
  const int32_t constants[] = {1, 2};
  const int64_t sizes[] = {2};
  const DimOrderType order[] = {0};
  const std::string words = "TensorImpl: the data pointer is to Int, the type given is Float";
  RAISES(InvalidType, words, TensorImpl(ScalarType::Float, 1, sizes, ints));
  RAISES(InvalidType, words, TensorImpl(ScalarType::Float, 1, sizes, constants, order));
  void* const raw = ints;
  CHECK(TensorImpl(ScalarType::Float, 1, sizes, raw).data() == ints);
  CHECK(TensorImpl(ScalarType::Int, 1, sizes, constants, order).data<int32_t>() == constants);
}

TEST_CASE("tensor_impl: bad arguments are reported by its name") {
  const int64_t negative[] = {2, -1};
  const int64_t sizes[] = {2, 3};
  const int64_t strides[] = {3, 1};
  const DimOrderType twice[] = {1, 1};
  const DimOrderType swapped[] = {1, 0};
  const Vector many(65, 1);
  const struct {
    int64_t dim;
    const int64_t* sizes;
    const DimOrderType* dim_order;
    const int64_t* strides;
    const char* words;
  } rows[] = {
      {2, negative, nullptr, nullptr, "TensorImpl: size -1"},
      {2, sizes, twice, nullptr, "{1, 1}"},
      {2, sizes, swapped, strides, "{3, 1}"},
      {-1, sizes, nullptr, nullptr, "TensorImpl: -1 dimensions"},
      {2, nullptr, nullptr, nullptr, "TensorImpl: 2 dimensions were given, but no sizes"},
      {65, many.data(), nullptr, nullptr, "TensorImpl: sizes has more than 64"},
      {(int64_t{1} << 32) + 2, many.data(), nullptr, nullptr, "TensorImpl: sizes has more than 64"},
  };
  for (const auto& row : rows) {
    RAISES(InvalidArgument, row.words,
           TensorImpl(ScalarType::Float, row.dim, row.sizes, nullptr, row.dim_order, row.strides));
  }
  RAISES(InvalidType, "TensorImpl: Undefined", TensorImpl(ScalarType::Undefined, 2, sizes));
}

// Every part of the library on tensors over an impl that the caller keeps, on the stack.
namespace {

template <class T>
struct OnStack {
  OnStack(const Vector& shape, std::vector<T> values, const Vector& strides = {},
          TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC)
      : data(std::move(values)),
        impl(CppTypeToScalarType<T>::value, static_cast<int64_t>(shape.size()), shape.data(),
             data.data(), nullptr, strides.empty() ? nullptr : strides.data(), dynamism),
        t(&impl) {}
  std::vector<T> data;
  TensorImpl impl;
  Tensor t;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("stack: a handle borrows, and a blob has no owner") {
  OnStack<float> source({4}, {0, 0, 0, 0});
  CHECK(source.t.unsafeGetTensorImpl() == &source.impl);
  CHECK(source.t.use_count() == 0);
  CHECK(source.t.ownership() == Ownership::Borrowed);
  CHECK(Tensor(source.t).is_alias_of(source.t));
  const Blob blob = to_blob(source.t);
  CHECK(blob.data == source.data.data());
  CHECK(blob.owner == nullptr);
  CHECK(blob.owner.use_count() == 0);
}

TEST_CASE("stack: a view keeps nothing, a view of that one does") {
  OnStack<int32_t> source({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  for (const Tensor& view :
       {tenon::select(source.t, 0, 1), *make_tensor_ptr(source.t, {3}, {}, {}, 3)}) {
    CHECK(view.ownership() == Ownership::View);
    CHECK_FALSE(view.is_alias_of(source.t));
    const Tensor second = slice(view, -1, 1, 3);
    CHECK(values<int32_t>(second) == Ints{5, 6});
    CHECK(second.is_alias_of(view));
  }
}

#endif

TEST_CASE("stack: a TensorImpl takes no more bytes than it did") {
  CHECK(sizeof(Deleter) <= 6 * sizeof(void*));
  // 4 dimensions inline are bare metal's.
  CHECK(sizeof(tenon::detail::TensorImpl) <= (sizeof(void*) == 8       ? 272
                                              : TENON_INLINE_DIMS == 4 ? 160
                                                                       : 200));
}

}  // namespace tensor_impl_test
