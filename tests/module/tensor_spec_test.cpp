// SPDX-License-Identifier: MIT
#include "tenon/module/tensor_spec.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

TensorSpec images() { return {{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}; }

// What a runtime says of {at most 16, 3} floats.
ValueSpec batches() {
  TensorSpec own{{-1, 3}};
  own.max_sizes = {16, -1};
  return own;
}

size_t count(const EValues& values) { return values.size(); }
const EValue* first(const EValues& values) { return values.data(); }
ValueKind kind(const EValues& values) { return values[0].kind(); }

}  // namespace

TEST_CASE("TensorSpec: a tensor of its type and sizes passes, any size passes for -1") {
  CHECK(images().check(zeros({1, 8, 8})) == Error::Ok);
  CHECK(images().check(zeros({0, 8, 8})) == Error::Ok);
  CHECK(images().check(transpose(zeros({5, 8, 8}), 1, 2)) == Error::Ok);
  CHECK(TensorSpec{}.check(scalar_tensor(1)) == Error::Ok);
}

TEST_CASE("TensorSpec: a wrong size is an error that names the dimension") {
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 1 (rows) is 9, expected 8",
                images().check(zeros({1, 9, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 2 (columns) is 7, expected 8",
                images().check(zeros({1, 8, 7})));
  const TensorSpec unnamed{{2}};
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 0 is 3, expected 2",
                unnamed.check(zeros({3})));
}

TEST_CASE("TensorSpec: a wrong rank and a wrong type are errors that say both") {
  CHECK_RETURNS(Error::InvalidArgument,
                "check: it has 2 dimensions, {8, 8}, expected 3, {any, 8, 8}",
                images().check(zeros({8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "it has 1 dimension, {8}", images().check(zeros({8})));
  CHECK_RETURNS(Error::InvalidType, "check: it is Double, expected Float",
                images().check(zeros({1, 8, 8}, ScalarType::Double)));
  TensorSpec any = images();
  any.type = ScalarType::Undefined;
  CHECK(any.check(zeros({1, 8, 8}, ScalarType::Byte)) == Error::Ok);
}

TEST_CASE("TensorSpec: max_sizes bound what may be any size") {
  TensorSpec spec = images();
  spec.max_sizes = {64, -1, -1};
  CHECK(spec.check(zeros({64, 8, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "dimension 0 (batch) is 65, expected at most 64",
                spec.check(zeros({65, 8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "dimension 1 (rows) is 9, expected 8",
                spec.check(zeros({64, 9, 8})));
}

TEST_CASE("TensorSpec: a tensor elsewhere and one that is not there are errors") {
  TensorSpec gpu = images();
  gpu.device = Device(DeviceType::CUDA, 1);
  CHECK_RETURNS(Error::InvalidArgument, "check: it is on cpu, expected cuda:1",
                gpu.check(zeros({1, 8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "expected cpu",
                images().check(make_template({1, 8, 8}, ScalarType::Float)));
  CHECK_RETURNS(Error::InvalidState, "check: the tensor is undefined", images().check(Tensor()));
  CHECK_RETURNS(Error::InvalidState, "check: the tensor is undefined", images().check(TensorPtr()));
}

TEST_CASE("TensorSpec: one that cannot be met says so") {
  TensorSpec spec{{2, 3}, ScalarType::Float, {"rows"}};
  CHECK_RETURNS(Error::InvalidArgument, "check: the spec has 1 names for sizes {2, 3}",
                spec.check(zeros({2, 3})));
  spec.names = {};
  spec.max_sizes = {4};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has max_sizes {4} for sizes {2, 3}",
                spec.check(zeros({2, 3})));
  spec.max_sizes = {};
  spec.sizes = std::vector<int>(65, 1);
  CHECK_RETURNS(Error::InvalidArgument, "the spec's sizes has more than 64 entries",
                spec.check(zeros({2, 3})));
  spec.sizes = {uint64_t{2} - 3, 3};  // not -1, which is any size
  CHECK_RETURNS(Error::InvalidArgument, "the spec's sizes has an unsigned value",
                spec.check(zeros({2, 3})));
}

TEST_CASE("TensorSpec: sizes that contradict themselves say so") {
  const auto check = [](const char* words, const Dims& sizes, const Dims& most) {
    TensorSpec spec{sizes};
    spec.max_sizes = most;
    CHECK_RETURNS(Error::InvalidArgument, words, spec.check(zeros({8, 1})));
  };
  check("the spec has size -7 for dimension 1", {-1, -7}, {});
  check("the spec has max_size -2 for dimension 0", {-1, -1}, {-2, -1});
  check("the spec's dimension 0 is 8, its max_sizes say at most 4", {8, -1}, {4, -1});
  const int64_t huge = int64_t{1} << 40;
  check("the spec's sizes {1099511627776, any, 1099511627776} of Float overflow", {huge, -1, huge},
        {});
  TensorSpec most{{8, -1}};
  most.max_sizes = {8, 1};
  CHECK(most.check(zeros({8, 1})) == Error::Ok);
}

TEST_CASE("ValueSpec: it tells kinds of values, and describes tensors if it was given a spec") {
  const ValueSpec image("image", images());
  CHECK(std::string(image.name()) == "image");
  CHECK(image.check(zeros({1, 8, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "dimension 1 (rows) is 9", image.check(zeros({1, 9, 8})));
  CHECK_RETURNS(Error::InvalidType, "check: it is an Int, 5, expected a Tensor", image.check(5));
  const ValueSpec tensor = ValueKind::Tensor;
  CHECK(tensor.check(zeros({1, 9, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidState, "undefined", tensor.check(Tensor()));
  const ValueSpec count("count", ValueKind::Int);
  CHECK(count.check(5) == Error::Ok);
  CHECK_RETURNS(Error::InvalidType, "check: it is None, expected an Int", count.check(none));
}

TEST_CASE("ValueSpec: an optional one takes None too") {
  ValueSpec mask("mask", TensorSpec{{2}});
  CHECK(mask.check(none) == Error::InvalidType);
  mask.is_optional = true;
  CHECK(mask.check(none) == Error::Ok);
  CHECK(mask.check(zeros({3})) == Error::InvalidArgument);
}

TEST_CASE("narrow_spec: names are added, and what is left out stays as it was") {
  ValueSpec spec("image", TensorSpec{{-1, -1}, ScalarType::Undefined, {"batch", "pixels"}});
  REQUIRE(detail::narrow_spec(batches(), spec) == Error::Ok);
  CHECK(spec.name() == std::string("image"));
  CHECK(spec.tensor.names[1] == std::string("pixels"));
  CHECK(spec.tensor.type == ScalarType::Float);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  CHECK(spec.tensor.max_sizes == Dims{16, -1});
}

TEST_CASE("narrow_spec: a name or a kind alone is enough") {
  ValueSpec spec("image", ValueKind::Tensor);
  REQUIRE(detail::narrow_spec(batches(), spec) == Error::Ok);
  CHECK(spec.name() == std::string("image"));
  CHECK(spec.is_described);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  ValueSpec own("scale", ValueKind::Double);
  own.is_optional = true;
  ValueSpec unnamed(ValueKind::Double);
  REQUIRE(detail::narrow_spec(own, unnamed) == Error::Ok);
  CHECK(unnamed.name() == std::string("scale"));
  CHECK(unnamed.is_optional);
}

TEST_CASE("narrow_spec: open sizes become exact or get a lower bound") {
  ValueSpec exact = TensorSpec{{8, 3}};
  REQUIRE(detail::narrow_spec(batches(), exact) == Error::Ok);
  CHECK(exact.tensor.sizes == Dims{8, 3});
  TensorSpec lower{{-1, -1}};
  lower.max_sizes = {4, -1};
  ValueSpec bounded = lower;
  REQUIRE(detail::narrow_spec(batches(), bounded) == Error::Ok);
  CHECK(bounded.tensor.max_sizes == Dims{4, -1});
  lower.max_sizes = {40, -1};
  bounded = lower;
  REQUIRE(detail::narrow_spec(batches(), bounded) == Error::Ok);
  CHECK(bounded.tensor.max_sizes == Dims{16, -1});
}

TEST_CASE("narrow_spec: what can never pass both is refused") {
  ValueSpec spec = TensorSpec{{-1, 4}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec's dimension 1 is 4, the module's is 3",
                detail::narrow_spec(batches(), spec));
  spec = TensorSpec{{17, 3}, ScalarType::Float, {"batch", ""}};
  CHECK_RETURNS(Error::InvalidArgument,
                "the spec's dimension 0 (batch) is 17, the module's is at most 16",
                detail::narrow_spec(batches(), spec));
  spec = TensorSpec{{3}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has sizes {3}, the module's are {any, 3}",
                detail::narrow_spec(batches(), spec));
  spec = TensorSpec{{-1, 3}, ScalarType::Int};
  CHECK_RETURNS(Error::InvalidType, "the spec is for Int, the module takes Float",
                detail::narrow_spec(batches(), spec));
  spec = ValueSpec(ValueKind::Int);
  CHECK_RETURNS(Error::InvalidType, "the spec is for an Int, the module takes a Tensor",
                detail::narrow_spec(batches(), spec));
  spec = TensorSpec{{-1, 3}, ScalarType::Float, {"batch"}};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has 1 names for sizes {any, 3}",
                detail::narrow_spec(batches(), spec));
  TensorSpec device{{-1, 3}};
  device.device = Device("cuda:0");
  spec = device;
  CHECK_RETURNS(Error::InvalidArgument, "the spec is for cuda:0, the module takes cpu",
                detail::narrow_spec(batches(), spec));
}

TEST_CASE("narrow_spec: a bound below the module's exact size is refused, one above it passes") {
  const ValueSpec own = TensorSpec{{8}};
  TensorSpec bound{{-1}};
  bound.max_sizes = {4};
  ValueSpec spec = bound;
  CHECK_RETURNS(Error::InvalidArgument, "the spec's dimension 0 is 8, its max_sizes say at most 4",
                detail::narrow_spec(own, spec));
  bound.max_sizes = {16};
  spec = bound;
  REQUIRE(detail::narrow_spec(own, spec) == Error::Ok);
  CHECK(spec.tensor.sizes == Dims{8});
}

TEST_CASE("EValues: one value, braces, containers and nothing at all are all arguments") {
  TensorPtr x = make_tensor_ptr({1.0f});
  CHECK(count({}) == 0);
  CHECK(count(x) == 1);
  CHECK(count(*x) == 1);
  CHECK(count({x}) == 1);
  CHECK(count({x, 5, 0.5, "text", none}) == 5);
  const std::vector<EValue> vector{1, 2, 3};
  CHECK(count(vector) == 3);
  CHECK(count({vector[0], vector[1]}) == 2);
  CHECK(count(std::array<EValue, 2>{1, 2}) == 2);
  CHECK(count(Span<const EValue>(vector.data(), 2)) == 2);
  CHECK(count(5) == 1);
  CHECK(count(EValue()) == 1);
}

TEST_CASE("EValues: a list of tensors or numbers is one value") {
  CHECK(count(std::vector<int>{1, 2}) == 1);
  CHECK(kind(std::vector<int>{1, 2}) == ValueKind::IntList);
  const std::vector<Tensor> tensors(2);
  CHECK(kind(tensors) == ValueKind::TensorList);
}

TEST_CASE("EValues: EValues are referred to, not copied") {
  const std::vector<EValue> vector{1, 2};
  CHECK(first(vector) == vector.data());
  CHECK(first(vector[1]) == &vector[1]);
  EValue value(3);
  CHECK(first(value) == &value);
}

TEST_CASE("EValues: a moved TensorPtr is taken") {
  TensorPtr x = make_tensor_ptr({1.0f});
  CHECK(kind(std::move(x)) == ValueKind::Tensor);
  CHECK(x == nullptr);
}
