// SPDX-License-Identifier: MIT
// Built by interop/libraries/xtensor/CMakeLists.txt.
#include "tenon/interop/xtensor.h"

#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "allocation/count_allocations.h"
#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

TEST_CASE("as_xtensor: xtensor computes in the tensor's memory, and assigns to it") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  as_xtensor<double, 2>(t) *= 2.0;
  CHECK(tests::values<double>(t) == Doubles{2, 4, 6, 8, 10, 12});
  const Tensor second = select(t, 1, 1);
  auto column = as_xtensor<double, 1>(second);
  CHECK(xt::sum(column)() == 14);
  column = xt::xtensor<double, 1>({7, 8});
  CHECK(tests::values<double>(t) == Doubles{2, 7, 6, 8, 8, 12});
}

TEST_CASE("as_xtensor: 0-d, eight dimensions, empty") {
  CHECK(as_xtensor<int32_t>(make_tensor_ptr(7))() == 7);
  CHECK(as_xtensor<int32_t, 0>(make_tensor_ptr(8))() == 8);
  const TensorPtr eight = ones({2, 1, 2, 1, 2, 1, 2, 1}, ScalarType::Float);
  auto deep = as_xtensor<float>(eight);
  CHECK(xt::sum(deep)() == 16);
  CHECK(as_xtensor<float, 2>(zeros({0, 3}, ScalarType::Float)).size() == 0);
  float* const null = nullptr;
  CHECK(as_xtensor<float>(from_blob(null, {2, 0}, {-4, 9})).shape()[0] == 2);
}

TEST_CASE("as_xtensor: what an adaptor cannot have, by the name of each function") {
  const float constant[4] = {1, 2, 3, 4};
  float data[6] = {};
  const TensorPtr readonly = from_blob(constant, {2, 2});
  CHECK(as_xtensor<const float, 2>(readonly)(1, 0) == 3);
  RAISES(InvalidState, "as_xtensor: the tensor is read-only", (as_xtensor<float, 2>(readonly)));
  const TensorPtr repeated = from_blob(data, {2, 3}, {0, 1});
  CHECK(xt::sum(as_xtensor<const float>(repeated))() == 0);
  RAISES(NotSupported, "let elements share memory", as_xtensor<float>(repeated));
  RAISES(InvalidType, "as_xtensor: asked for Double, but the tensor's dtype is Float",
         as_xtensor<double>(readonly));
  RAISES(InvalidArgument, "asked for 3 dimensions, the tensor has 2",
         (as_xtensor<float, 3>(repeated)));
  RAISES(InvalidState, "as_xtensor: the tensor is undefined", as_xtensor<float>(TensorPtr()));
  RAISES(InvalidState, "as_xtensor: the tensor is undefined", (as_xtensor<float, 1>(TensorPtr())));
  FAILS(InvalidArgument, "try_as_xtensor: asked for 3 dimensions",
        (try_as_xtensor<const float, 3>(repeated)));
}

TEST_CASE("try_as_xtensor: the view, whose moves do not allocate") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr deep = from_blob(data, {1, 1, 1, 1, 2, 3});
  tests::start_counting();
  auto view = try_as_xtensor<float, 6>(deep);
  auto moved = std::move(view);
  tests::stop_counting();
  CHECK(tests::allocations() == 0);
  (*moved)(0, 0, 0, 0, 1, 1) = 7;
  CHECK(data[4] == 7);
}

TEST_CASE("from_xtensor: containers and their strides") {
  xt::xarray<double> array = {{1, 2, 3}, {4, 5, 6}};
  const TensorPtr t = from_xtensor(array);
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(t->const_data_ptr() == array.data());
  CHECK(ownership(*t) == Ownership::Borrowed);
  CHECK(tests::values<double>(t) == Doubles{1, 2, 3, 4, 5, 6});
  mutable_data_ptr<double>(*t)[1] = 9;
  CHECK(array(0, 1) == 9);
  CHECK_FALSE(t->is_readonly());
  CHECK(from_xtensor(std::as_const(array))->is_readonly());
  xt::xtensor<float, 2, xt::layout_type::column_major> columns({2, 3});
  CHECK(strides(from_xtensor(columns)) == Vector{1, 2});
  xt::xtensor_fixed<int32_t, xt::xshape<2, 2>> fixed = {{1, 2}, {3, 4}};
  CHECK(tests::values<int32_t>(from_xtensor(fixed)) == Ints{1, 2, 3, 4});
  xt::xarray<bool> flags = {true, false};
  CHECK(from_xtensor(flags)->scalar_type() == ScalarType::Bool);
  xt::xarray<std::complex<float>> complex({2, 1});
  CHECK(from_xtensor(complex)->scalar_type() == ScalarType::ComplexFloat);
  CHECK(from_xtensor(complex)->is_contiguous());
  xt::xarray<float> scalar(2.5f);
  CHECK(sizes(from_xtensor(scalar)) == Vector{});
  xt::xtensor<float, 2> no_rows({0, 3});
  CHECK(sizes(from_xtensor(no_rows)) == Vector{0, 3});
}

TEST_CASE("from_xtensor: views of views begin where they say") {
  xt::xarray<int32_t> array = xt::reshape_view(xt::arange<int32_t>(20), {4, 5});
  auto view = xt::view(array, xt::range(1, 4), xt::range(1, 5, 2));
  CHECK(tests::values<int32_t>(from_xtensor(view)) == Ints{6, 8, 11, 13, 16, 18});
  auto inner = xt::view(view, xt::all(), 1);
  CHECK(sizes(from_xtensor(inner)) == Vector{3});
  CHECK(tests::values<int32_t>(from_xtensor(inner)) == Ints{8, 13, 18});
  auto reversed = xt::view(array, 2, xt::range(4, xt::placeholders::_, -1));
  CHECK(tests::values<int32_t>(from_xtensor(reversed)) == Ints{14, 13, 12, 11, 10});
  auto strided = xt::strided_view(array, {xt::range(0, 4, 3), xt::all()});
  CHECK(strides(from_xtensor(strided)) == Vector{15, 1});
  CHECK(strides(from_xtensor(xt::transpose(array))) == Vector{1, 5});
  float memory[4] = {1, 2, 3, 4};
  auto adaptor = xt::adapt(memory, std::array<size_t, 1>{4});
  CHECK(tests::values<float>(from_xtensor(adaptor)) == Floats{1, 2, 3, 4});
  const TensorPtr backwards = from_blob(memory + 3, {2}, {-2});
  auto seen = as_xtensor<float, 1>(backwards);
  CHECK(tests::values<float>(from_xtensor(seen)) == Floats{4, 2});
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "from_xtensor: views, adaptors and shared expressions that are moved in have what they hold") {
  using Fixed = xt::xtensor_fixed<float, xt::xshape<2, 2>>;  // its elements are in the object
  using Array = xt::xarray<float>;
  const std::array<size_t, 2> shape = {2, 2};
  const auto fixed = [] { return Fixed({{1, 2}, {3, 4}}); };
  const auto array = [] { return Array({{1, 2}, {3, 4}}); };
  const Floats column = {2, 4}, all = {1, 2, 3, 4}, turned = {1, 3, 2, 4};
  CHECK(tests::values<float>(from_xtensor(xt::view(fixed(), xt::all(), 1))) == column);
  CHECK(tests::values<float>(from_xtensor(xt::strided_view(fixed(), {xt::all(), 1}))) == column);
  CHECK(tests::values<float>(from_xtensor(xt::strided_view(array(), {xt::all(), 1}))) == column);
  CHECK(tests::values<float>(from_xtensor(xt::transpose(fixed()))) == turned);
  CHECK(tests::values<float>(from_xtensor(xt::transpose(array()))) == turned);
  CHECK(tests::values<float>(from_xtensor(xt::view(xt::view(array(), xt::all(), xt::all()), 1))) ==
        Floats{3, 4});
  CHECK(tests::values<float>(from_xtensor(xt::expand_dims(array(), 0))) == all);
  CHECK(tests::values<float>(from_xtensor(xt::eval(fixed()))) == all);
  CHECK(tests::values<float>(from_xtensor(xt::make_xshared(array()))) == all);
  CHECK(tests::values<float>(from_xtensor(xt::adapt(Floats(all), shape))) == all);
  CHECK(tests::values<float>(from_xtensor(xt::adapt(std::array<float, 4>{1, 2, 3, 4}, shape))) ==
        all);
  float* owned = std::allocator<float>().allocate(4);
  std::copy(all.begin(), all.end(), owned);
  CHECK(tests::values<float>(
            from_xtensor(xt::adapt(std::move(owned), 4, xt::acquire_ownership(), shape))) == all);
  const auto shared = std::make_shared<Floats>(all);
  CHECK(tests::values<float>(from_xtensor(
            xt::adapt_smart_ptr(shared->data(), {2, 2}, std::shared_ptr<Floats>(shared)))) == all);
  const auto constant = xt::strided_view(fixed(), {xt::all(), 1});
  CHECK(tests::values<float>(from_xtensor(std::move(constant))) == column);
  const auto make = [&]() -> const Array { return array(); };  // of which a copy is kept
  CHECK(tests::values<float>(from_xtensor(make())) == all);
}

TEST_CASE("from_xtensor: one allocation, and errors when there is no memory") {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  xt::xtensor<float, 2> borrowed({4, 4});
  CHECK(count_allocations([&] { return try_from_xtensor(borrowed); }) == 1);
}
