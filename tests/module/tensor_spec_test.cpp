// SPDX-License-Identifier: MIT
#include "tenon/module/tensor_spec.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

TensorSpec images() { return {{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}; }

}  // namespace

TEST_CASE("TensorSpec: a tensor of its type and sizes passes, any size passes for -1") {
  CHECK(images().check(tenon::zeros({1, 8, 8})) == Error::Ok);
  CHECK(images().check(tenon::zeros({0, 8, 8})) == Error::Ok);
  CHECK(images().check(tenon::transpose(tenon::zeros({5, 8, 8}), 1, 2)) == Error::Ok);
  CHECK(TensorSpec{}.check(tenon::scalar_tensor(1)) == Error::Ok);
}

TEST_CASE("TensorSpec: a wrong size is an error that names the dimension") {
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 1 (rows) is 9, expected 8",
                images().check(tenon::zeros({1, 9, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 2 (columns) is 7, expected 8",
                images().check(tenon::zeros({1, 8, 7})));
  const TensorSpec unnamed{{2}};
  CHECK_RETURNS(Error::InvalidArgument, "check: dimension 0 is 3, expected 2",
                unnamed.check(tenon::zeros({3})));
}

TEST_CASE("TensorSpec: a wrong rank and a wrong type are errors that say both") {
  CHECK_RETURNS(Error::InvalidArgument,
                "check: it has 2 dimensions, {8, 8}, expected 3, {any, 8, 8}",
                images().check(tenon::zeros({8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "it has 1 dimension, {8}",
                images().check(tenon::zeros({8})));
  CHECK_RETURNS(Error::InvalidType, "check: it is Double, expected Float",
                images().check(tenon::zeros({1, 8, 8}, ScalarType::Double)));
  TensorSpec any = images();
  any.type = ScalarType::Undefined;
  CHECK(any.check(tenon::zeros({1, 8, 8}, ScalarType::Byte)) == Error::Ok);
}

TEST_CASE("TensorSpec: max_sizes bound what may be any size") {
  TensorSpec spec = images();
  spec.max_sizes = {64, -1, -1};
  CHECK(spec.check(tenon::zeros({64, 8, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "dimension 0 (batch) is 65, expected at most 64",
                spec.check(tenon::zeros({65, 8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "dimension 1 (rows) is 9, expected 8",
                spec.check(tenon::zeros({64, 9, 8})));
}

TEST_CASE("TensorSpec: a tensor elsewhere and one that is not there are errors") {
  TensorSpec gpu = images();
  gpu.device = Device(DeviceType::CUDA, 1);
  CHECK_RETURNS(Error::InvalidArgument, "check: it is on cpu, expected cuda:1",
                gpu.check(tenon::zeros({1, 8, 8})));
  CHECK_RETURNS(Error::InvalidArgument, "expected cpu",
                images().check(tenon::make_template({1, 8, 8}, ScalarType::Float)));
  CHECK_RETURNS(Error::InvalidState, "check: the tensor is undefined",
                images().check(tenon::Tensor()));
  CHECK_RETURNS(Error::InvalidState, "check: the tensor is undefined",
                images().check(tenon::TensorPtr()));
}

TEST_CASE("TensorSpec: one that cannot be met says so") {
  TensorSpec spec{{2, 3}, ScalarType::Float, {"rows"}};
  CHECK_RETURNS(Error::InvalidArgument, "check: the spec has 1 names for sizes {2, 3}",
                spec.check(tenon::zeros({2, 3})));
  spec.names = {};
  spec.max_sizes = {4};
  CHECK_RETURNS(Error::InvalidArgument, "the spec has max_sizes {4} for sizes {2, 3}",
                spec.check(tenon::zeros({2, 3})));
  spec.max_sizes = {};
  spec.sizes = std::vector<int>(65, 1);
  CHECK_RETURNS(Error::InvalidArgument, "the spec's sizes has more than 64 entries",
                spec.check(tenon::zeros({2, 3})));
  spec.sizes = {uint64_t{2} - 3, 3};  // not -1, which is any size
  CHECK_RETURNS(Error::InvalidArgument, "the spec's sizes has an unsigned value",
                spec.check(tenon::zeros({2, 3})));
}

TEST_CASE("TensorSpec: sizes that contradict themselves say so") {
  const auto check = [](const char* words, const tenon::Dims& sizes, const tenon::Dims& most) {
    TensorSpec spec{sizes};
    spec.max_sizes = most;
    CHECK_RETURNS(Error::InvalidArgument, words, spec.check(tenon::zeros({8, 1})));
  };
  check("the spec has size -7 for dimension 1", {-1, -7}, {});
  check("the spec has max_size -2 for dimension 0", {-1, -1}, {-2, -1});
  check("the spec's dimension 0 is 8, its max_sizes say at most 4", {8, -1}, {4, -1});
  const int64_t huge = int64_t{1} << 40;
  check("the spec's sizes {1099511627776, any, 1099511627776} of Float overflow", {huge, -1, huge},
        {});
  TensorSpec most{{8, -1}};
  most.max_sizes = {8, 1};
  CHECK(most.check(tenon::zeros({8, 1})) == Error::Ok);
}

TEST_CASE("ValueSpec: it tells kinds of values, and describes tensors if it was given a spec") {
  const ValueSpec image("image", images());
  CHECK(std::string(image.name()) == "image");
  CHECK(image.check(tenon::zeros({1, 8, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidArgument, "dimension 1 (rows) is 9",
                image.check(tenon::zeros({1, 9, 8})));
  CHECK_RETURNS(Error::InvalidType, "check: it is an Int, 5, expected a Tensor", image.check(5));
  const ValueSpec tensor = ValueKind::Tensor;
  CHECK(tensor.check(tenon::zeros({1, 9, 8})) == Error::Ok);
  CHECK_RETURNS(Error::InvalidState, "undefined", tensor.check(tenon::Tensor()));
  const ValueSpec count("count", ValueKind::Int);
  CHECK(count.check(5) == Error::Ok);
  CHECK_RETURNS(Error::InvalidType, "check: it is None, expected an Int", count.check(tenon::none));
}

TEST_CASE("ValueSpec: an optional one takes None too") {
  ValueSpec mask("mask", TensorSpec{{2}});
  CHECK(mask.check(tenon::none) == Error::InvalidType);
  mask.is_optional = true;
  CHECK(mask.check(tenon::none) == Error::Ok);
  CHECK(mask.check(tenon::zeros({3})) == Error::InvalidArgument);
}
