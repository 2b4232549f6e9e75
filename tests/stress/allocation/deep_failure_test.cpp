// SPDX-License-Identifier: MIT
// Each function that takes or makes a shape, with more dimensions than lists hold inline, so that the
// lists are allocated too: one that could not be is an error, never a shape without dimensions.
#include <list>

#include "allocation/failures.h"
#include "tenon/backend/pool.h"
#include "tenon/interop/npy.h"
#include "tenon/module/function_module.h"
#include "tenon/tensor/expr.h"
#include "tenon/tensor/values.h"

namespace deep_failure_test {

using namespace tenon;
using namespace tests;

namespace {

template <class T>
using Nested = std::vector<std::vector<T>>;
template <class T>
using FourMore = Nested<Nested<T>>;

const Vector kReversed{7, 6, 5, 4, 3, 2, 1, 0};
const Vector kDense{3, 3, 3, 3, 3, 3, 3, 1};
const Vector kTurned{1, 2, 2, 2, 2, 2, 2, 2};
constexpr auto kFloat = ScalarType::Float;

/// A list that allocates nothing.
struct List {
  List(const Vector& list) : values(list.data(), list.size()) {}
  List(std::initializer_list<int64_t> list) : values(list.begin(), list.size()) {}
  ArrayRef<int64_t> values;
};
/// Ok if the tensor has the sizes.
Error check_sizes(const Tensor& t, const List& wanted) {
  return t.sizes() == wanted.values ? Error::Ok : Error::Internal;
}
Error check_sizes(const Result<Tensor>& made, const List& wanted) {
  return made.ok() ? check_sizes(*made, wanted) : made.error();
}
Error check_sizes(const Result<TensorPtr>& made, const List& wanted) {
  return made.ok() ? check_sizes(**made, wanted) : made.error();
}

}  // namespace

TEST_CASE("out of memory, deep: containers in containers keep all their levels") {
  const FourMore<FourMore<float>> deep{{{{{{{{1, 2, 3}}}}}}}};
  const FourMore<FourMore<std::list<double>>> deeper{{{{{{{{{1}, {2}}}}}}}}};
  const FourMore<FourMore<float>> empty{{{{}}}};
  const Vector sizes{1, 1, 1, 1, 1, 1, 1, 3};
  fail_each("try_make_tensor_ptr", Expected(),
            [&] { return check_sizes(try_make_tensor_ptr(deep), sizes); });
  fail_each("try_make_tensor", Expected(), [&] {
    return check_sizes(try_make_tensor(deeper, kFloat), {1, 1, 1, 1, 1, 1, 1, 2, 1});
  });
  fail_each("without elements", Expected(), [&] {
    return check_sizes(try_make_tensor(empty), {1, 1, 1, 0, 0, 0, 0, 0});
  });
  fail_each("other sizes", Expected(), [&] {
    return check_sizes(try_make_tensor({3, 1}, deep), {3, 1});
  });
  FAIL_EACH(make_tensor_ptr(deep));
  FAIL_EACH(make_tensor_impl_ptr(deep, ScalarType::Half));
  const FourMore<FourMore<float>> uneven{{{{{{{{1, 2}, {3}}}}}}}};
  RAISES(InvalidArgument, "row {0, 0, 0, 0, 0, 0, 1} has 1 values, the first has 2",
         make_tensor_ptr(uneven));
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory, deep: creators, on the heap, in a backend's memory, on a device") {
  FailingBackend gpu;
  const auto metadata = std::make_unique<FailingMetadataBackend>();
  PoolBackend pool(host_backend());
  for (Backend* const where :
       {&host_backend(), static_cast<Backend*>(&gpu), static_cast<Backend*>(metadata.get()),
        static_cast<Backend*>(&pool)}) {
    INFO(where->name());
    Backend& b = *where;
    // A pool's list of kept blocks may not grow, and then gives the block back.
    const Expected expected = where == &pool ? recovers() : Expected();
    Expected keeps = expected;
    keeps.keeps = where == &pool;
    FAIL_EACH_WITH(keeps, check_sizes(try_empty(kDeepSizes, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_zeros(kDeepSizes, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_ones(kDeepSizes, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_full(kDeepSizes, 3, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_empty_strided(kDeepSizes, kDense, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_zeros_strided(kDeepSizes, kTurned, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_ones_strided(kDeepSizes, kTurned, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_full_strided(kDeepSizes, kTurned, 3, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_iota(kDeepSizes, 7, b), kDeepSizes));
    Generator g(1);
    FAIL_EACH_WITH(keeps, check_sizes(try_rand(kDeepSizes, g, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_randn(kDeepSizes, g, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_randint(0, 9, kDeepSizes, g, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_uniform(0, 1, kDeepSizes, g, b), kDeepSizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_normal(0, 1, kDeepSizes, g, b), kDeepSizes));
    const float values[6] = {1, 2, 3, 4, 5, 6};
    FAIL_EACH_WITH(keeps,
                   check_sizes(try_make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6}, b), kDeepSizes));
    FAIL_EACH_WITH(keeps,
                   check_sizes(try_from_binary(values, 24, kDeepSizes, kFloat, b), kDeepSizes));
    const auto deep = try_zeros(kDeepSizes, b).value();
    const Tensor turned = transpose(*deep, 0, 7);
    const Vector turned_sizes{3, 1, 1, 1, 1, 1, 1, 2};
    FAIL_EACH_WITH(keeps, check_sizes(try_empty_like(turned), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_zeros_like(turned), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_ones_like(turned), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_full_like(turned, 3), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_rand_like(turned, g), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_randn_like(turned, g), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_clone_tensor_ptr(turned), turned_sizes));
    FAIL_EACH_WITH(keeps,
                   check_sizes(try_clone_tensor_ptr(turned, ScalarType::Half), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_backend_copy(turned, host_backend()), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_backend_copy(turned, gpu), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_contiguous(turned), turned_sizes));
    FAIL_EACH_WITH(keeps, check_sizes(try_to(turned, ScalarType::Double), turned_sizes));
  }
}

TEST_CASE("out of memory, deep: views, in a backend's memory and on a device") {
  FailingBackend gpu;
  const auto metadata = std::make_unique<FailingMetadataBackend>();
  for (Backend* const where :
       {static_cast<Backend*>(&gpu), static_cast<Backend*>(metadata.get())}) {
    INFO(where->name());
    const auto t = zeros(kDeepSizes, *where);
    const Unchanged given(t);
    FAIL_EACH(check_sizes(try_make_tensor(*t), kDeepSizes));
    FAIL_EACH(check_sizes(try_make_tensor(*t, kDeepSizes, {}, kDense), kDeepSizes));
    FAIL_EACH(check_sizes(try_make_tensor(*t, {}, kReversed), kDeepSizes));
    FAIL_EACH(check_sizes(try_view(t, {1, 1, 1, 1, 1, 1, -1}), {1, 1, 1, 1, 1, 1, 6}));
    FAIL_EACH(check_sizes(try_reshape(t, {1, 1, 1, 1, 1, 1, 6}), {1, 1, 1, 1, 1, 1, 6}));
    FAIL_EACH(check_sizes(try_reshape(transpose(t, 0, 7), {2, 3, 1, 1, 1, 1, 1, 1}),
                          {2, 3, 1, 1, 1, 1, 1, 1}));
    FAIL_EACH(check_sizes(try_flatten(t, 0, 0), kDeepSizes));
    FAIL_EACH(check_sizes(try_flatten(t, 1, 2), {2, 1, 1, 1, 1, 1, 3}));
    FAIL_EACH(check_sizes(try_select(t, 1, 0), {2, 1, 1, 1, 1, 1, 3}));
    FAIL_EACH(check_sizes(try_slice(t, 7, 0, 3, 2), {2, 1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(check_sizes(try_narrow(t, 7, 0, 2), {2, 1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(check_sizes(try_transpose(t, 0, 7), {3, 1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(check_sizes(try_permute(t, kReversed), {3, 1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(check_sizes(try_movedim(t, 0, 7), {1, 1, 1, 1, 1, 1, 3, 2}));
    FAIL_EACH(check_sizes(try_diagonal(t, 0, 0, 7), {1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(check_sizes(try_squeeze(t, 1), {2, 1, 1, 1, 1, 1, 3}));
    FAIL_EACH(check_sizes(try_squeeze(t), {2, 3}));
    FAIL_EACH(check_sizes(try_unsqueeze(t, 3), {2, 1, 1, 1, 1, 1, 1, 1, 3}));
    FAIL_EACH(check_sizes(try_expand(t, {2, 4, 1, 1, 1, 1, 1, 3}), {2, 4, 1, 1, 1, 1, 1, 3}));
    FAIL_EACH(check_sizes(try_flip(t, kReversed), kDeepSizes));
    FAIL_EACH(check_sizes(try_as_strided(t, kDeepSizes, kDense), kDeepSizes));
    FAIL_EACH(check_sizes(try_view_as_type(t, ScalarType::Byte), {2, 1, 1, 1, 1, 1, 1, 12}));
    FAIL_EACH(split(t, 1, 7));
    FAIL_EACH(chunk(t, 2, 7));
    FAIL_EACH(unbind(t, 7));
    FAIL_EACH(check_sizes(try_cat({t, t}, 7), {2, 1, 1, 1, 1, 1, 1, 6}));
    FAIL_EACH(check_sizes(try_stack({t, t}, 3), {2, 1, 1, 2, 1, 1, 1, 1, 3}));
    FAIL_EACH(tenon::dim_order(t));
    CHECK(tenon::dim_order(t).size() == 8);
  }
}

TEST_CASE("out of memory, deep: copies between memories, of any strides") {
  FailingBackend gpu;
  FailingBackend plain(false, Device(DeviceType::ExtDev, 1));
  const auto host = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6}, kFloat);
  const auto turned = empty_strided(kDeepSizes, kTurned);
  const auto there = zeros(kDeepSizes, gpu);
  const auto slow = zeros(kDeepSizes, plain);
  const auto row = make_tensor_ptr({1.0f, 2.0f, 3.0f});
  const Tensor strided = tenon::slice(zeros({4, 1, 1, 1, 1, 1, 1, 3}, gpu), 0, 0, 4, 2);
  const Unchanged given(host, row);
  for (const Tensor& to : {*there, *slow, *turned, strided}) {
    const Output written(to);
    const auto is_to = [&](const TensorPtr& t) {
      return to.unsafeGetTensorImpl() == t->unsafeGetTensorImpl();
    };
    if (!tenon::device(to).is_cpu()) {  // what the host does needs no memory
      FAIL_EACH(copy_(to, host));
      FAIL_EACH(copy_(to, row));
      FAIL_EACH(copy_(to, row, Normalize{1, {1, 2, 3}, {1, 2, 3}, 7}));
      FAIL_EACH(fill_(to, 3));
      FAIL_EACH(zero_(to));
      FAIL_EACH(uniform_(to));
      FAIL_EACH(normal_(to));
      FAIL_EACH(random_(to, 0, 9));
    }
    if (!is_to(there)) FAIL_EACH(copy_(to, there));
    if (!is_to(slow)) FAIL_EACH(copy_(to, slow));
    FAIL_EACH(cat_out(to, {flip(host, {0})}));
    FAIL_EACH(index_select_out(to, host, 0, {1, 0}));
    FAIL_EACH(index_copy_(to, 0, {1, 0}, host));
    FAIL_EACH(assign(to, to_blob(host)));
    FAIL_EACH(assign(to, blob, 24));
    fail_each_write("copy_to", blob, 24, [&] { return copy_to(to, blob, 24); });
    fail_each_write("copy_to a Blob", blob, 24,
                    [&] { return copy_to(to, Blob::of(blob, kDeepSizes, kTurned)); });
    FAIL_EACH(try_equal(to, to));
    FAIL_EACH(try_allclose(to, to));
    FAIL_EACH(try_min_max(to));
    FAIL_EACH(try_mean_std(to));
    FAIL_EACH_WITH(Foreign{9}, to_binary(to));
  }
}

TEST_CASE("out of memory, deep: Blobs and DLPack structs, of any strides") {
  const auto t = empty_strided(kDeepSizes, kTurned);
  const Unchanged given(t);
  const Blob plain = Blob::of(blob, kDeepSizes, kTurned);
  FAIL_EACH_OF("Blob::as_view", plain.as_view());
  FAIL_EACH_OF("Blob::nbytes", (static_cast<void>(plain.nbytes()), Error::Ok));
  FAIL_EACH_OF("Blob::byte_strides", plain.byte_strides());
  FAIL_EACH(check_sizes(try_from_blob(plain), kDeepSizes));
  FAIL_EACH([&] {
    const Result<Blob> made = try_to_blob(t);
    TENON_TRY(made.error());
    const Result<TensorPtr> same = try_from_blob(*made);
    TENON_TRY(check_sizes(same, kDeepSizes));
    return same->get()->impl() == t->impl() ? Error::Ok : Error::Internal;
  }());
  FAIL_EACH([&] {
    const Result<Blob> made = try_to_blob(t);
    TENON_TRY(made.error());
    Blob part = *made;
    part.readonly = true;
    return check_sizes(try_from_blob(part), kDeepSizes);
  }());
  FAIL_EACH((tenon::accessor<float, 8>(plain)).size(0) == 2 ? Error::Ok : Error::Internal);
  FAIL_EACH(check_sizes(try_from_blob(blob, kDeepSizes, kTurned), kDeepSizes));
  FAIL_EACH(
      check_sizes(for_blob(blob, kDeepSizes).strides(kTurned).try_make_tensor_ptr(), kDeepSizes));
  FAIL_EACH([&] {
    const Result<dlpack::DLManagedTensorVersioned*> made = try_to_dlpack(t);
    TENON_TRY(made.error());
    const Result<TensorPtr> same = try_from_dlpack(*made);
    TENON_TRY(check_sizes(same, kDeepSizes));
    return same->get()->impl() == t->impl() ? Error::Ok : Error::Internal;
  }());
  FAIL_EACH([&] {
    const Result<dlpack::DLManagedTensorVersioned*> made = try_to_dlpack(t);
    TENON_TRY(made.error());
    return check_sizes(try_from_dlpack(*made, true), kDeepSizes);
  }());
}

TEST_CASE("out of memory, deep: growth and other shapes leave the tensor as it was") {
  const Vector larger{2, 1, 1, 1, 1, 1, 1, 3000};
  fail_each("resize_tensor", recovers(), [&] {
    const Result<Tensor> t = try_zeros(kDeepSizes, kDynamic).ok()
                                 ? try_make_tensor(kDeepSizes, {1, 2, 3, 4, 5, 6}, kFloat, kDynamic)
                                 : Result<Tensor>(Error::OutOfMemory);
    TENON_TRY(t.error());
    Tensor grown = *t;
    const Error error = resize_tensor(grown, larger);
    TENON_TRY(check_sizes(grown, error == Error::Ok ? larger : kDeepSizes));
    return error;
  });
  const auto t = zeros({6}, kDynamic);
  fail_each("another rank", Expected(), [&] {
    TENON_TRY(resize_tensor_ptr(t, {6}));
    const Error error = resize_tensor_ptr(t, kDeepSizes);
    TENON_TRY(check_sizes(*t, error == Error::Ok ? List(kDeepSizes) : List({6})));
    const Error back = resize_tensor_ptr(t, {6});
    return error == Error::Ok ? back : error;
  });
}

TEST_CASE("out of memory, deep: the outputs of modules keep their shapes") {
  TensorSpec open{{-1, 1, 1, 1, 1, 1, 1, 3}, kFloat};
  open.max_sizes = {2, 1, 1, 1, 1, 1, 1, 3};
  const TensorSpec fixed{kDeepSizes, kFloat};
  const auto x = ones(kDeepSizes);
  const auto f = [](Span<const EValue> in, Span<EValue> out) {
    return copy_(out[0].toTensor(), in[0].toTensor());
  };
  for (const TensorSpec& spec : {open, fixed}) {
    FunctionModule module(f, spec, spec);
    // The first run makes the output, the next ones take it again.
    fail_each("Module::run", Expected(), [&] {
      FunctionModule made(f, spec, spec);
      TENON_TRY(made.run("forward", *x));
      TENON_TRY(made.run("forward", *x));
      return check_sizes(made.get_output()->toTensor(), kDeepSizes);
    });
    Expected keeps;
    keeps.keeps = true;
    fail_each("Module::run, again", keeps, [&] {
      TENON_TRY(module.run("forward", *x));
      return check_sizes(module.get_output()->toTensor(), kDeepSizes);
    });
    fail_each("Module::set_output of the input", Expected(), [&] {
      const Result<TensorPtr> own = try_ones(kDeepSizes);
      TENON_TRY(own.error());
      FunctionModule made(f, spec, spec);
      TENON_TRY(made.set_output(*own));
      TENON_TRY(made.run("forward", **own));
      return check_sizes(**own, kDeepSizes);
    });
    fail_each("Module::describe_inputs", Expected(), [&] {
      FunctionModule made(f);
      return made.describe_inputs(spec);
    });
  }
}

TEST_CASE("out of memory, deep: expressions, texts and .npy images") {
  ExprBackend expr;
  {
    const auto t = full(kDeepSizes, 2, expr);
    const auto data = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6}, expr);
    const Tensor turned = transpose(data, 0, 7);
    Expected keeps;  // what was found, for the next time
    keeps.keeps = true;
    FAIL_EACH_WITH(keeps, check_sizes(try_materialize(t, host_backend()), kDeepSizes));
    FAIL_EACH(check_sizes(try_materialize(turned, host_backend()), {3, 1, 1, 1, 1, 1, 1, 2}));
    FAIL_EACH(expression(t)->sizes.size() == 8 ? Error::Ok : Error::Internal);
    FAIL_EACH(expression(turned)->sizes.size() == 8 ? Error::Ok : Error::Internal);
    FAIL_EACH_WITH(Foreign{100}, to_dot({*t, turned}));
    FAIL_EACH_WITH(recovers(Foreign{100}), tenon::to_string(turned));
  }
  FailingBackend gpu(false);
  const auto there = zeros(kDeepSizes, gpu);
  FAIL_EACH_WITH(recovers(Foreign{100}), tenon::to_string(there));
  FAIL_EACH_WITH(Foreign{100}, to_npy(there));
  const auto turned = empty_strided(kDeepSizes, kTurned);
  for (const auto& image : {to_npy(there), to_npy(turned), to_npy(transpose(there, 0, 7))}) {
    const auto made = from_npy(image.data(), image.size());
    const Vector expected = sizes(made);
    CHECK(expected.size() == 8);
    FAIL_EACH(check_sizes(try_from_npy(image.data(), image.size()), expected));
  }
}

}  // namespace deep_failure_test
