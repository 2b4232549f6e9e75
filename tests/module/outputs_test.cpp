// SPDX-License-Identifier: MIT
#include "tenon/module/outputs.h"

#include "support/catch.h"
#include "tenon/tenon.h"

using tenon::Error;
using tenon::EValue;
using tenon::Outputs;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::detail::StoredArray;

namespace {

// Two outputs, of which the second is set to a tensor.
struct Fixture {
  Fixture() {
    CHECK(values.resize(2) == Error::Ok);
    CHECK(set.resize(2) == Error::Ok);
    set[1] = tensor;
    values[1] = tensor;
  }
  Tensor tensor = *tenon::zeros({4});
  StoredArray<EValue> values;
  StoredArray<Tensor> set;
  Outputs outputs{values, set};
};

}  // namespace

TEST_CASE("Outputs: a target is the tensor that was set, null elsewhere") {
  Fixture f;
  CHECK(f.outputs.size() == 2);
  CHECK(f.outputs.target(0) == nullptr);
  REQUIRE(f.outputs.target(1) != nullptr);
  CHECK(f.outputs.target(1)->unsafeGetTensorImpl() == f.tensor.unsafeGetTensorImpl());
  CHECK(f.outputs.target(2) == nullptr);
}

TEST_CASE("Outputs: what is put where nothing was set is the output itself") {
  Fixture f;
  const Tensor made = *tenon::ones({3});
  CHECK(f.outputs.put(0, made) == Error::Ok);
  CHECK(f.values[0].toTensor().unsafeGetTensorImpl() == made.unsafeGetTensorImpl());
  CHECK(f.outputs.put(0, 5) == Error::Ok);
  CHECK(f.values[0].toInt() == 5);
  CHECK_RETURNS(Error::OutOfBounds, "output 2 of 2", f.outputs.put(2, 5));
}

TEST_CASE("Outputs: what is put where a tensor was set is copied there, and gives it its shape") {
  Fixture f;
  const void* data = tenon::const_data_ptr(f.tensor);
  CHECK(f.outputs.put(1, tenon::make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f})) == Error::Ok);
  CHECK(f.values[1].toTensor().unsafeGetTensorImpl() == f.tensor.unsafeGetTensorImpl());
  CHECK(tenon::const_data_ptr(f.tensor) == data);
  CHECK(f.tensor.dim() == 2);
  CHECK(tenon::const_data_ptr<float>(f.tensor)[2] == 3.0f);
}

TEST_CASE("Outputs: the tensor that was set, put itself, is not copied") {
  Fixture f;
  tenon::mutable_data_ptr<float>(f.tensor)[0] = 9;
  CHECK(f.outputs.put(1, f.tensor) == Error::Ok);
  CHECK(tenon::const_data_ptr<float>(f.tensor)[0] == 9);
}

TEST_CASE("Outputs: what does not fit a tensor that was set is an error") {
  Fixture f;
  CHECK_RETURNS(Error::InvalidType, "output 1: it is an Int, 5, and a tensor was set for it",
                f.outputs.put(1, 5));
  CHECK_RETURNS(Error::InvalidType,
                "output 1: it is Double, the tensor that was set for it is Float",
                f.outputs.put(1, tenon::zeros({4}, ScalarType::Double)));
  CHECK_RETURNS(Error::InvalidArgument,
                "output 1: resize_tensor: ", f.outputs.put(1, tenon::zeros({5})));
  CHECK_RETURNS(Error::InvalidState, "output 1: the output is undefined",
                f.outputs.put(1, Tensor()));
}

TEST_CASE("Outputs: their number changes, but not below one that was set") {
  Fixture f;
  CHECK(f.outputs.resize(3) == Error::Ok);
  CHECK(f.values.size() == 3);
  CHECK_RETURNS(Error::InvalidArgument, "output 1 was set, but there are only 1",
                f.outputs.resize(1));
  CHECK_RETURNS(Error::InvalidArgument, "5000 outputs are too many", f.outputs.resize(5000));
  CHECK(f.outputs.values().size() == 3);
}
