// SPDX-License-Identifier: MIT
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace ownership_suite {

using namespace tenon;
using namespace tests;

TEST_CASE("ownership: a deleter runs once, with the pointer, after the last handle") {
  Calls calls;
  float data[2] = {1, 2};
  {
    const TensorPtr first = from_blob(data, {2}, ScalarType::Float, calls.deleter());
    const TensorPtr second = make_tensor_ptr(first);
    const Tensor third = *second;
    CHECK(third.use_count() == 3);
    CHECK(third.is_alias_of(*first));
    CHECK(third.const_data_ptr<float>() == data);
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
}

TEST_CASE("ownership: a refused tensor's deleter has run once") {
  Calls calls;
  float data[2] = {};
  CHECK(try_from_blob(data, {-1}, ScalarType::Float, calls.deleter()).error() ==
        Error::InvalidArgument);
  CHECK(calls.count == 1);
  CHECK(
      try_from_blob(data, {int64_t{1} << 40, int64_t{1} << 40}, ScalarType::Float, calls.deleter())
          .error() != Error::Ok);
  CHECK(calls.count == 2);
}

TEST_CASE("ownership: a view keeps the memory alive, without the source's handles") {
  Calls calls;
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  Tensor row;
  {
    const TensorPtr source = from_blob(data, {2, 3}, ScalarType::Int, calls.deleter());
    row = select(*source, 0, 1);
  }
  CHECK(calls.count == 0);
  check_tensor(row, {3}, {1}, {3, 4, 5});
  const Tensor part = slice(row, 0, 1, 3);
  row = Tensor();
  CHECK(calls.count == 0);
  check_tensor(part, {2}, {1}, {4, 5});
  CHECK(part.ownership() == Ownership::View);
}

TEST_CASE("ownership: a moved container is adopted and released once") {
  Calls calls;
  {
    Tracked given(calls, 4);
    const float* const at = given.data();
    const TensorPtr t = make_tensor_ptr({2, 2}, std::move(given));
    CHECK(t->const_data_ptr<float>() == at);
    CHECK(t->ownership() == Ownership::Adopted);
    CHECK(values<float>(t) == Floats{0, 1, 2, 3});
  }
  CHECK(calls.count == 1);
}

TEST_CASE("ownership: what large callables capture is destroyed once") {
  const auto counter = std::make_shared<int>(0);
  struct Large {
    std::shared_ptr<int> runs;
    char more[64];
    void operator()(void*) const { ++*runs; }
  };
  float data[1] = {};
  {
    const TensorPtr t = from_blob(data, {1}, ScalarType::Float, Large{counter, {}});
    CHECK(counter.use_count() == 2);
  }
  CHECK(*counter == 1);
  CHECK(counter.use_count() == 1);
}

TEST_CASE("ownership: owners are kept as long as the memory") {
  const auto owner = std::make_shared<Floats>(Floats{1, 2, 3});
  Tensor t = for_blob(owner->data(), {3}, ScalarType::Float).owner(owner).make_tensor();
  const Tensor view = flip(t, {0});
  t = Tensor();
  CHECK(owner.use_count() == 2);
  CHECK(values<float>(view) == Floats{3, 2, 1});
}

TEST_CASE("ownership: a clone outlives its source") {
  Calls calls;
  int32_t data[2] = {7, 8};
  TensorPtr t = from_blob(data, {2}, ScalarType::Int, calls.deleter());
  const TensorPtr copy = clone_tensor_ptr(t);
  t = nullptr;
  CHECK(calls.count == 1);
  data[0] = 0;
  check_tensor(*copy, {2}, {1}, {7, 8});
  CHECK(copy->ownership() == Ownership::Owned);
}

}  // namespace ownership_suite
