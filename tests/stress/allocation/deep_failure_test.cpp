// SPDX-License-Identifier: MIT
// Containers, outputs and lists of more dimensions than lists hold inline, so that they are allocated
// too: one that could not be is an error, never a shape without dimensions.
#include <list>

#include "allocation/failures.h"
#include "tenon/module/function_module.h"

namespace deep_failure_test {

using namespace tenon;
using namespace tests;

namespace {

template <class T>
using Nested = std::vector<std::vector<T>>;
template <class T>
using FourMore = Nested<Nested<T>>;

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

TEST_CASE("out of memory, deep: what is read of a Blob's lists and of a tensor's") {
  const Blob plain = Blob::of(blob, kDeepSizes, kTurned);
  FAIL_EACH_OF("Blob::as_view", plain.as_view());
  FAIL_EACH_OF("Blob::nbytes", (static_cast<void>(plain.nbytes()), Error::Ok));
  FAIL_EACH_OF("Blob::byte_strides", plain.byte_strides());
  FAIL_EACH((tenon::accessor<float, 8>(plain)).size(0) == 2 ? Error::Ok : Error::Internal);
  FAIL_EACH(tenon::dim_order(zeros(kDeepSizes)));
}

}  // namespace deep_failure_test
