// SPDX-License-Identifier: MIT
// Copies, views, joins and growth with what they allocate, call and throw failing.
#include "allocation/failures.h"
#include "tenon/exchange/packed.h"
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

TEST_CASE("out of memory: copies of more than 6 dimensions leave the destination as it was") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 2};
  const auto t = make_tensor_ptr(sizes, {1, 2, 3, 4});
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  const Tensor turned = transpose(t, 0, 7);
  int32_t data[6] = {5, 6, 0, 7, 8, 0};
  const Blob own{t->mutable_data_ptr<int32_t>() + 3, sizes, turned.strides(), ScalarType::Int};
  const Blob padded{data, sizes, {3, 1, 1, 1, 1, 1, 1, 1}, ScalarType::Int};
  check("staged", [&] { return copy_(t, turned); });
  check("staged broadcast", [&] { return copy_(t, tenon::select(turned, 0, 1)); });
  const auto apart = make_tensor_ptr(sizes, {5, 6, 7, 8});
  fail_each_write("CopyPlan::run", t->const_data_ptr(), t->nbytes(), [&]() -> Error {
    TENON_ASSIGN(const CopyPlan plan, try_plan_copy(t, apart));
    const CopyPlan copy = plan;  // whose lists may not be there
    return copy.run(t, apart);
  });
  check("a staged plan", [&]() -> Error {
    TENON_ASSIGN(const CopyPlan plan, try_plan_copy(t, turned));
    return plan.run(t, turned);
  });
  check("assign", [&] { return assign(turned, data, 16); });
  check("assign of a blob", [&] { return assign(t, padded); });
  fail_each_write("copy_to", data, sizeof data, [&] { return copy_to(t, data, 16); });
  fail_each_write("copy_to a blob", data, sizeof data, [&] { return copy_to(t, padded); });
}

TEST_CASE("out of memory: comparing and listing values leaves the tensors as they were") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6});
  const Tensor deep_turned = transpose(deep, 0, 7);
  const Unchanged given(t, deep);
  FAIL_EACH(equal(deep_turned, deep_turned));
  FAIL_EACH(allclose(deep_turned, deep_turned));
  FAIL_EACH(min_max(deep_turned));
  FAIL_EACH(mean_std(deep_turned));
  FAIL_EACH_OF("Summary::add", Summary().add(deep_turned));
  FAIL_EACH_WITH(Foreign{1}, to_vector<float>(deep));
  FAIL_EACH(try_to_vector<float>(deep));
  FAIL_EACH_WITH(Foreign{100}, tenon::to_string(plan_copy(deep, t)));
}

TEST_CASE("out of memory: contiguous, to and the views leave their source as it was") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 3};
  const auto flat = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6});
  for (const TensorPtr& t : {std::cref(flat), std::cref(deep)}) {
    const State before(*t);
    Tensor turned = transpose(t, 0, -1);
    FAIL_EACH(contiguous(turned));
    FAIL_EACH(to(t, ScalarType::Half));
    FAIL_EACH(to(flip(t, {0}), ScalarType::Half));
    FAIL_EACH(view(t, {1, 1, 1, 1, 1, 1, 6}));
    FAIL_EACH(view(t));
    FAIL_EACH(share(t));
    FAIL_EACH(clone(turned));
    FAIL_EACH(to(t, "cpu", ScalarType::Half));
    FAIL_EACH(reshape(t, {-1}));
    FAIL_EACH(reshape(turned, {6}));
    FAIL_EACH(flatten(t, 0, 1));
    FAIL_EACH(flatten(turned));
    FAIL_EACH(tenon::select(t, 0, 1));
    FAIL_EACH(slice(t, 0, 0, 1));
    FAIL_EACH(narrow(t, 0, 1, 1));
    FAIL_EACH(transpose(t, 0, 1));
    FAIL_EACH(movedim(t, 0, 1));
    FAIL_EACH(diagonal(t));
    FAIL_EACH(flip(t, {0, 1}));
    FAIL_EACH(squeeze(t));
    FAIL_EACH(unsqueeze(t, 0));
    FAIL_EACH(expand(t, t->sizes()));
    FAIL_EACH(as_strided(t, kDeep, kDeep));
    FAIL_EACH(view_as_type(t, ScalarType::Byte));
    CHECK(State(*t) == before);
    CHECK(values<int32_t>(t) == std::vector<int32_t>{1, 2, 3, 4, 5, 6});
    turned = Tensor();
    CHECK_FALSE(detail::fields(t).borrows.any());
  }
  FAIL_EACH(permute(deep, {7, 6, 5, 4, 3, 2, 1, 0}));
  FAIL_EACH(movedim(deep, {0, 1}, {7, 6}));
  FAIL_EACH(flatten(deep, 6, 7));
}

TEST_CASE("out of memory: joined tensors and lists of views leave nothing behind") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 3};
  const auto flat = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6});
  for (const TensorPtr& t : {std::cref(flat), std::cref(deep)}) {
    FAIL_EACH(cat({t, t}, -1));
    FAIL_EACH(stack({t, t}, 1));
    FAIL_EACH(split(t, 1));
    FAIL_EACH(chunk(t, 2, -1));
    FAIL_EACH(unbind(t));
    FAIL_EACH(try_split(t, 1));
    FAIL_EACH(try_chunk(t, 2));
    FAIL_EACH(try_unbind(t, -1));
    fail_each_write("overlap", t->const_data_ptr(), t->nbytes(),
                    [&] { return cat_out(t, {flip(t, {0})}); });
    FAIL_EACH(index_select(t, 0, {1, 0, 1}));
    FAIL_EACH(try_index_select(t, -1, {2}));
    FAIL_EACH(nonzero(t));
    FAIL_EACH(try_nonzero(t));
    {
      const Tensor bytes = view_as_type(t, ScalarType::Byte);
      FAIL_EACH(unpack(bytes, PackedType::Int4));
      const Tensor turned = transpose(bytes, 0, -1);
      FAIL_EACH(try_unpack(turned, PackedType::UInt2));
    }
    fail_each_write("index_select_out", t->const_data_ptr(), t->nbytes(), [&] {
      return index_select_out(t, t, 0, {1, 0});
    });
    fail_each_write("index_copy_", t->const_data_ptr(), t->nbytes(), [&] {
      return index_copy_(t, -1, {1, 0, 2}, t);
    });
    CHECK_FALSE(detail::fields(t).borrows.any());
  }
  const auto out = empty({2, 2, 1, 1, 1, 1, 1, 1, 3}, ScalarType::Int);
  fail_each_write("deep", out->const_data_ptr(), out->nbytes(), [&] {
    return stack_out(out, {deep, deep});
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
