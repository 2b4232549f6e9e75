// SPDX-License-Identifier: MIT
#include "tenon/tensor/dim_names.h"

#include <string>
#include <vector>

#include "helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace tests {

using namespace tenon;
using Names = std::vector<std::string>;

TEST_CASE("make_template: type, shape and names, and no data") {
  const auto t = tenon::make_template({1, 8, 8}, ScalarType::Half, {"batch", "rows", "cols"});
  CHECK(t->scalar_type() == ScalarType::Half);
  CHECK(sizes(*t) == std::vector<int64_t>{1, 8, 8});
  CHECK(tenon::shape_dynamism(t) == tenon::TensorShapeDynamism::STATIC);
  CHECK(tenon::device(t).type() == tenon::DeviceType::Template);
  CHECK(tenon::dim_names(t) == Names{"batch", "rows", "cols"});
}

TEST_CASE("make_template: every access to data is an error that says what it is") {
  const auto t = tenon::make_template({2, 3}, ScalarType::Float);
  const char* const words = "template, Float {2, 3}, which has no data";
  CHECK_ERROR(Error::NotSupported, words, tenon::const_data_ptr(t));
  CHECK_ERROR(Error::NotSupported, words, tenon::mutable_data_ptr(t));
  CHECK_ERROR(Error::NotSupported, words, (tenon::accessor<float, 2>(t)));
  CHECK_ERROR(Error::NotSupported, words, tenon::data<float>(t));
  CHECK_ERROR(Error::NotSupported, words, tenon::to_binary(*t));
  CHECK_RETURNS(Error::NotSupported, words, tenon::fill_(t, 1));
  CHECK_RETURNS(Error::NotSupported, words, tenon::copy_(t, tenon::zeros({2, 3})));
  CHECK_RETURNS(Error::NotSupported, words, tenon::copy_(tenon::zeros({2, 3}), t));
  CHECK_ERROR(Error::NotSupported, words, tenon::backend_copy(t, tenon::default_backend()));
}

TEST_CASE("dim_names: without names there are none, and views and other tensors have none") {
  CHECK(tenon::dim_names(tenon::make_template({2, 3}, ScalarType::Float)).empty());
  CHECK(tenon::dim_names(tenon::zeros({2, 3})).empty());
  const auto t = tenon::make_template({2, 3}, ScalarType::Float, {"rows", ""});
  CHECK(tenon::dim_names(t) == Names{"rows", ""});
  CHECK(tenon::dim_names(tenon::transpose(t, 0, 1)).empty());
  CHECK_ERROR(Error::InvalidState, "dim_names: the tensor is undefined",
              tenon::dim_names(tenon::Tensor()));
}

TEST_CASE("make_template: names are one for each dimension, each but the empty one once") {
  CHECK_ERROR(Error::InvalidArgument, "make_template: 1 names were given for sizes {2, 3}",
              tenon::make_template({2, 3}, ScalarType::Float, {"rows"}));
  CHECK_ERROR(Error::InvalidArgument, "dimensions 0 and 2 are both named \"x\"",
              tenon::make_template({2, 3, 4}, ScalarType::Float, {"x", "y", "x"}));
  CHECK(tenon::make_template({2, 3, 4}, ScalarType::Float, {"", "y", ""})->numel() == 24);
  CHECK(tenon::try_make_template({-1}, ScalarType::Float).error() == Error::InvalidArgument);
  CHECK(tenon::try_make_template({1}, ScalarType::Undefined).error() == Error::InvalidType);
}

TEST_CASE("make_template: what is like a template is one") {
  const auto t = tenon::make_template({2, 3}, ScalarType::Float);
  CHECK(tenon::device(tenon::empty_like(t)).type() == tenon::DeviceType::Template);
  CHECK(tenon::device(tenon::clone_tensor_ptr(t)).type() == tenon::DeviceType::Template);
  CHECK(values<float>(tenon::zeros_like(t, tenon::default_backend())) == std::vector<float>(6));
}

}  // namespace tests
