// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_specs.h"

#include "support/catch.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace aoti_inputs_test {

using namespace tenon;
using namespace tests;

namespace {

ValueSpec spec_of(const Dims& strides, const Dims& dim_order = {}) {
  TensorSpec spec;
  spec.sizes = strides.empty() ? dim_order : strides;
  for (int64_t& size : spec.sizes) size = -1;
  spec.strides = strides;
  spec.dim_order = dim_order;
  ValueSpec made = spec;
  made.copies_strides = true;
  return made;
}

/// 0, 1, 2, … of these sizes.
Tensor counted(const Dims& sizes) {
  const TensorPtr made = empty(sizes);
  float next = 0;
  for (float& value : made->data<float>()) value = next++;
  return *made;
}

Tensor handed(const ValueSpec& spec, const Tensor& given, bool is_row_major = false) {
  Tensor made;
  REQUIRE(detail::hand_over(spec, is_row_major, given, made) == Error::Ok);
  REQUIRE(made.sizes() == given.sizes());
  CHECK(values<float>(made) == values<float>(given));
  return made;
}
Error refused(const ValueSpec& spec, const Tensor& given) {
  Tensor made;
  return detail::hand_over(spec, false, given, made);
}
bool is_itself(const Tensor& made, const Tensor& given) {
  return made.unsafeGetTensorImpl() == given.unsafeGetTensorImpl();
}

}  // namespace

TEST_CASE("aoti inputs: a tensor of the model's strides is handed over itself") {
  const Tensor rows = counted({2, 3, 4});
  CHECK(is_itself(handed(spec_of({12, 4, 1}), rows), rows));
  CHECK(is_itself(handed(spec_of({}, {0, 1, 2}), rows), rows));
  CHECK(is_itself(handed(ValueSpec(), rows, true), rows));
  const Tensor columns = transpose(rows, 1, 2);
  CHECK(is_itself(handed(spec_of({12, 1, 4}), columns), columns));
  CHECK(is_itself(handed(spec_of({}, {0, 2, 1}), columns), columns));
  const Tensor wide = narrow(counted({3, 9}), 1, 2, 4);
  CHECK(is_itself(handed(spec_of({-1, 1}), wide), wide));
  CHECK(is_itself(handed(spec_of({9, 1}), wide), wide));
  const Tensor same = expand(counted({1, 4}), {3, 4});
  CHECK(is_itself(handed(spec_of({0, 1}), same), same));
  const Tensor none = counted({0, 4});
  CHECK(is_itself(handed(spec_of({1, 9}), none), none));
  CHECK(is_itself(handed(ValueSpec(), none), none));
  const Tensor number = *scalar_tensor(3.0f);
  CHECK(is_itself(handed(ValueSpec(), number), number));
}

TEST_CASE("aoti inputs: another layout is copied to the model's") {
  const Tensor rows = counted({2, 3, 4});
  CHECK(handed(spec_of({12, 1, 3}), rows).strides() == Dims{12, 1, 3});
  CHECK(handed(spec_of({}, {2, 0, 1}), rows).strides() == Dims{3, 1, 6});
  CHECK(handed(spec_of({50, 1, 10}), rows).strides() == Dims{50, 1, 10});
  CHECK(handed(spec_of({-1, 1, 3}), rows).strides() == Dims{12, 1, 3});
  CHECK(handed(spec_of({1, -1, -1}), rows).strides() == Dims{1, 8, 2});
  CHECK(handed(spec_of({12, 3, 1}), transpose(rows, 1, 2)).strides() == Dims{12, 3, 1});
  const Tensor deep = counted({2, 1, 2, 1, 2, 1, 3, 2});
  CHECK(handed(spec_of({}, {7, 6, 5, 4, 3, 2, 1, 0}), deep).strides() ==
        Dims{1, 2, 2, 4, 4, 8, 8, 24});
  RETURNS(InvalidArgument, "", refused(spec_of({INT64_MAX, 1}), counted({3, 4})));
  RETURNS(InvalidArgument, "", refused(spec_of({-1, INT64_MAX / 4}), flip(counted({3, 2}), {0})));
  const Tensor back = flip(counted({3, 4}), {0});
  CHECK(handed(spec_of({4, 1}), back).strides() == Dims{4, 1});
  CHECK(handed(spec_of({-1, 1}), back).strides() == Dims{4, 1});
  CHECK(handed(spec_of({}, {0, 1}), expand(counted({1, 4}), {3, 4})).strides() == Dims{4, 1});
}

TEST_CASE("aoti inputs: a view has the strides that the model's own check expects of size 1") {
  const Tensor row = counted({1, 5});
  const Tensor made = handed(spec_of({77, 1}), row);
  CHECK(made.strides() == Dims{77, 1});
  CHECK(made.const_data_ptr() == row.const_data_ptr());
}

TEST_CASE("aoti inputs: where elements share memory, the tensor has to repeat them itself") {
  const Tensor rows = counted({3, 4});
  RETURNS(NotSupported,
          "its strides are {4, 1}, the model reads it by {0, 1}, where elements share",
          refused(spec_of({0, 1}), rows));
  RETURNS(NotSupported, "where elements share memory", refused(spec_of({2, 1}), rows));
  const Tensor repeated = expand(transpose(counted({4, 1, 2}), 0, 2), {2, 3, 4});
  const Tensor made = handed(spec_of({4, 0, 1}), repeated);
  CHECK(made.strides() == Dims{4, 0, 1});
}

TEST_CASE("aoti inputs: what is not known, or may not be copied, is refused") {
  const Tensor rows = counted({3, 4});
  RETURNS(NotSupported,
          "the strides by which the model reads it are unknown: neither the package nor its "
          "source has them; give them to describe_inputs() as TensorSpec::strides, or set "
          "AotiOptions::assume_row_major",
          refused(ValueSpec(), rows));
  CHECK(refused(ValueSpec(), counted({1, 1})) == Error::Ok);
  ValueSpec strict = spec_of({1, 3});
  strict.copies_strides = false;
  RETURNS(NotSupported, "its strides are {4, 1}, the model reads it by {1, 3}",
          refused(strict, rows));
  Tensor made;
  RETURNS(NotSupported, "its strides are {1, 4}, the model reads it by {3, 1}",
          detail::hand_over(ValueSpec(), true, transpose(rows, 0, 1), made));
  ValueSpec copied;
  copied.copies_strides = true;
  REQUIRE(detail::hand_over(copied, true, transpose(rows, 0, 1), made) == Error::Ok);
  CHECK(made.strides() == Dims{3, 1});
}

}  // namespace aoti_inputs_test
