// SPDX-License-Identifier: MIT
// Copies, views, joins and growth with what they allocate, call and throw failing.
#include "allocation/failures.h"
#include "tenon/tensor/values.h"

namespace copy_failure_test {

using namespace tenon;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: copies leave the destination as it was") {
  const auto t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  const Tensor turned = transpose(t, 0, 1);
  check("staged copy_", [&] { return copy_(t, turned); });
  check("temporary views", [&] { return copy_(tenon::select(t, 0, 0), tenon::select(t, 1, 1)); });
  int32_t* const data = t->mutable_data_ptr<int32_t>();
  check("assign of its own memory", [&] { return assign(turned, data, 16); });
  check("assign of a blob of its own", [&] {
    return assign(t, {data + 3, {2, 2}, {-2, -1}, ScalarType::Int});
  });
  check("copy_to its own memory", [&] { return copy_to(turned, data, 16); });
  check("copy_to a blob of its own", [&] {
    return copy_to(t, {data, {2, 2}, {1, 2}, ScalarType::Int});
  });
}

TEST_CASE("out of memory: the lists and temporaries of normalising copies change nothing") {
  const auto t = make_tensor_ptr({5, 5}, std::vector<float>(25, 7));
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  check("lists", [&] { return copy_(t, t, {1, {1, 2, 3, 4, 5}, {}, 0}); });
  check("copied lists", [&] {
    const Normalize normalize{1, {}, {1, 2, 3, 4, 5}, 0};
    Normalize other;
    other = normalize;
    return copy_(t, t, other);
  });
  check("staged", [&] { return copy_(t, transpose(t, 0, 1), {1, {1}, {}, 0}); });
  const auto apart = make_tensor_ptr({5, 5}, std::vector<float>(25, 8));
  check("a plan's lists", [&]() -> Error {
    TENON_ASSIGN(const CopyPlan plan, try_plan_copy(t, apart, {1, {1, 2, 3, 4, 5}, {}, 0}));
    const CopyPlan copy = plan;
    return copy.run(t, apart);
  });
}

TEST_CASE("out of memory: lists of views and of values, and a plan's own lists") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6});
  const Tensor turned = transpose(deep, 0, 7);
  {
    const Unchanged given(t, deep);
    for (const TensorPtr& source : {std::cref(t), std::cref(deep)}) {
      FAIL_EACH(try_split(source, 1));
      FAIL_EACH(try_chunk(source, 2, -1));
      FAIL_EACH(try_unbind(source));
    }
    FAIL_EACH(movedim(deep, {0, 1}, {7, 6}));
    FAIL_EACH_OF("Summary::add", Summary().add(turned));
    FAIL_EACH_WITH(Foreign{1}, to_vector<float>(deep));
    FAIL_EACH(try_to_vector<float>(deep));
    FAIL_EACH_WITH(Foreign{100}, tenon::to_string(plan_copy(deep, deep)));
  }
  const auto apart = make_tensor_ptr(kDeepSizes, {5, 6, 7, 8, 9, 10});
  fail_each_write("CopyPlan::run", deep->const_data_ptr(), deep->nbytes(), [&]() -> Error {
    TENON_ASSIGN(const CopyPlan plan, try_plan_copy(deep, apart));
    const CopyPlan copy = plan;  // whose lists may not be there
    return copy.run(deep, apart);
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: growth leaves the tensor as it was, and it can grow afterwards") {
  // `grown`: how many elements there are then.
  const auto grow = [](int64_t grown, const auto& f) {
    return [grown, f]() -> Error {
      Tensor t = make_tensor({4}, {1, 2, 3, 4}, ScalarType::Int, kDynamic);
      const int32_t* const data = t.const_data_ptr<int32_t>();
      const Error error = f(t);
      if (error == Error::Ok) return t.numel() == grown ? error : Error::Internal;
      const bool is_same = t.numel() == 4 && t.dim() == 1 && t.const_data_ptr() == data &&
                           data[0] == 1 && data[3] == 4 && t.use_count() == 1;
      stop_failing();  // the same tensor can grow
      return is_same && resize_tensor(t, {5000}) == Error::Ok ? error : Error::Internal;
    };
  };
  fail_each("reserve", recovers(), grow(4, [](Tensor& t) { return reserve_nbytes(t, 20000); }));
  fail_each("reserve", recovers(), grow(4, [](Tensor& t) { return reserve_tensor(t, 20000); }));
  for (const Vector& shape : {Vector{5000}, Vector{2, 1, 1, 1, 1, 1, 1, 2500}}) {
    fail_each("resize", recovers(), grow(5000, [&](Tensor& t) { return resize_tensor(t, shape); }));
  }
  fail_each("deep", recovers(), grow(2, [](Tensor& t) {
              return resize_tensor(t, {2, 1, 1, 1, 1, 1, 1, 1});
            }));
  // What is adopted is released once.
  Calls calls;
  fail_each("resize_tensor_ptr", Expected(calls, 1), [&] {
    TensorPtr t = from_blob(blob, {4}, ScalarType::Float, calls.deleter(), kDynamic);
    return resize_tensor_ptr(t, {5000});
  });
}

}  // namespace copy_failure_test
