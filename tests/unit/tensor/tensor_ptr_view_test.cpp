// SPDX-License-Identifier: MIT
// Views and placeholders made with make_tensor_ptr.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_ptr_view_test {

using namespace tenon;
using namespace tests;

TEST_CASE("share: a handle to the same impl, so a resize shows; make_tensor_ptr(t) is the same") {
  const TensorPtr t =
      make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  const Tensor handle = *t;
  const TensorPtr all[] = {share(t), share(handle), *try_share(t), make_tensor_ptr(t)};
  for (const TensorPtr& shared : all) {
    CHECK(shared->unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
    CHECK(shared.get() != t.get());
  }
  CHECK(resize_tensor(t, {40}) == Error::Ok);  // shared handles do not hinder growth
  for (const TensorPtr& shared : all) CHECK(sizes(shared) == Vector{40});
  RETURNS(InvalidState, "try_share: the tensor is undefined", try_share(Tensor()).error());
}

TEST_CASE("view: of all of a tensor, as make_tensor_ptr(*t): its shape is its own") {
  const TensorPtr t =
      make_tensor_ptr({2, 1}, {1, 2}, {1, 0}, {}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  for (const Tensor& same : {view(t), view(*t), *try_view(t), *make_tensor_ptr(*t)}) {
    CHECK(ownership(same) == Ownership::View);
    CHECK(const_data_ptr(same) == const_data_ptr(t));
    check_tensor(same, {2, 1}, strides(t), {1, 2});
    CHECK(dim_order(same) == dim_order(t));
    CHECK(resize_tensor(same, {1, 2}) == Error::Ok);
    CHECK(sizes(t) == Vector{2, 1});
    RETURNS(InUse, "a view or blob of the tensor is alive", resize_tensor(t, {40}));
  }
  CHECK(resize_tensor(t, {40}) == Error::Ok);
  RAISES(InvalidState, "view: the source tensor is undefined", view(TensorPtr()));
}

// A promise of docs/guarantees.md.
TEST_CASE("view: of a view keeps the first owner, not the view in between") {
  Calls calls;
  float data[4] = {1, 2, 3, 4};
  auto source = from_blob(data, {4}, ScalarType::Float, calls.deleter());
  auto middle = make_tensor_ptr(*source, {3}, {}, {}, 1);
  auto last = make_tensor_ptr(*middle, {2}, {}, {}, 1);
  CHECK(middle->use_count() == 1);
  source.reset();
  middle.reset();
  CHECK(calls.count == 0);
  CHECK(values<float>(last) == Floats{3, 4});
  last.reset();
  CHECK(calls.count == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("view: may not reach beyond the source's elements on either side") {
  const struct {
    Dims sizes, strides;
    int64_t offset;
    const char* words;
  } rows[] = {
      {{7}, {}, 0, "make_tensor_ptr: a view of sizes {7}"},
      {{6}, {}, 1, "offset 1"},
      {{2}, {6}, 0, "strides {6}"},
      {{2}, {-1}, 0, "strides {-1}"},
      {{2}, {-1}, INT64_MIN, "offset -9223372036854775808"},
      {{0}, {}, 7, "offset 7"},
  };
  auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const auto& row : rows) {
    RAISES(OutOfBounds, row.words,
           make_tensor_ptr(*source, row.sizes, {}, row.strides, row.offset));
  }
  CHECK(values<int32_t>(make_tensor_ptr(*source, {6})) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(values<int32_t>(make_tensor_ptr(*source, {2}, {}, {5})) == Ints{1, 6});
  // Of a strided source, beyond what it reaches itself.
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto strided = from_blob(data, {3}, {2});
  CHECK(values<int32_t>(make_tensor_ptr(*strided, {2}, {}, {3}, 1)) == Ints{1, 4});
  RAISES(OutOfBounds, "offset 5", make_tensor_ptr(*strided, {1}, {}, {}, 5));
}

TEST_CASE("view: bad arguments are refused, and the source can still grow afterwards") {
  auto source = make_tensor_ptr({2}, {1, 2}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  RAISES(InvalidArgument, "-1", make_tensor_ptr(*source, {-1}));
  RAISES(InvalidArgument, "strides {1, 1}", make_tensor_ptr(*source, {2}, {}, {1, 1}));
  RAISES(InvalidArgument, "dim_order {1}", make_tensor_ptr(*source, {2}, {1}));
  RAISES(InvalidArgument, "64", make_tensor_ptr(*source, Vector(65, 1)));
  RAISES(OutOfBounds, "{3}", make_tensor_ptr(*source, {3}));
  CHECK(source->use_count() == 1);
  CHECK(resize_tensor_ptr(source, {100}) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("view: of a read-only tensor is read-only") {
  const float data[2] = {1, 2};
  auto view = make_tensor_ptr(*from_blob(read_only(data), {2}));
  CHECK(is_readonly(view));
  RAISES(InvalidState, "read-only", mutable_data_ptr(view));
  CHECK(values<float>(view) == Floats{1, 2});
}

TEST_CASE("placeholder: the literal nullptr makes metadata without data") {
  for (const TensorPtr& t :
       {std::move(*try_make_tensor_ptr({2, 3}, nullptr)), from_blob(nullptr, {2, 3})}) {
    CHECK(t->scalar_type() == ScalarType::Float);
    CHECK(sizes(t) == Vector{2, 3});
    CHECK(t->nbytes() == 24);
    CHECK(ownership(t) == Ownership::Borrowed);
    CHECK(const_data_ptr(t) == nullptr);
    CHECK(mutable_data_ptr(t) == nullptr);
    CHECK(const_data_ptr<float>(t) == nullptr);
    CHECK(mutable_data_ptr<float>(t) == nullptr);
    RAISES(InvalidState, "item: ", item<float>(t));
    RAISES(InvalidState, "accessor: ", accessor<float, 2>(t));
    RAISES(InvalidState, "data: ", tenon::data<float>(t));
  }
  CHECK(make_tensor_ptr({2}, nullptr, ScalarType::Long)->scalar_type() == ScalarType::Long);
  CHECK(from_blob(nullptr, {2}, {3}, ScalarType::Byte)->stride(0) == 3);
}

}  // namespace tensor_ptr_view_test
