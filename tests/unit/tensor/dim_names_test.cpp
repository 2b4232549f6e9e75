// SPDX-License-Identifier: MIT
#include "tenon/tensor/dim_names.h"

#include "helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace dim_names_test {

using namespace tenon;
using namespace tests;
using Names = std::vector<std::string>;

TEST_CASE("make_template: every access to data is an error that says what it is") {
  const auto t = make_template({2, 3}, ScalarType::Float);
  const char* const words = "meta tensor, Float {2, 3}, which has no data";
  RAISES(NotSupported, words, const_data_ptr(t));
  RAISES(NotSupported, words, mutable_data_ptr(t));
  RAISES(NotSupported, words, (accessor<float, 2>(t)));
  RAISES(NotSupported, words, tenon::data<float>(t));
  RAISES(NotSupported, words, to_binary(*t));
  RETURNS(NotSupported, words, fill_(t, 1));
  RETURNS(NotSupported, words, copy_(t, zeros({2, 3})));
  RETURNS(NotSupported, words, copy_(zeros({2, 3}), t));
  RAISES(NotSupported, words, backend_copy(t, default_backend()));
}

TEST_CASE("dim_names: without names there are none, and views and other tensors have none") {
  CHECK(dim_names(make_template({2, 3}, ScalarType::Float)).empty());
  CHECK(dim_names(zeros({2, 3})).empty());
  const auto t = make_template({2, 3}, ScalarType::Float, {"rows", ""});
  CHECK(dim_names(t) == Names{"rows", ""});
  CHECK(dim_names(transpose(t, 0, 1)).empty());
  RAISES(InvalidState, "dim_names: the tensor is undefined", dim_names(Tensor()));
}

TEST_CASE("make_template: names are one for each dimension, each but the empty one once") {
  RAISES(InvalidArgument, "make_template: 1 names were given for sizes {2, 3}",
         make_template({2, 3}, ScalarType::Float, {"rows"}));
  RAISES(InvalidArgument, "dimensions 0 and 2 are both named \"x\"",
         make_template({2, 3, 4}, ScalarType::Float, {"x", "y", "x"}));
  CHECK(make_template({2, 3, 4}, ScalarType::Float, {"", "y", ""})->numel() == 24);
  CHECK(try_make_template({-1}, ScalarType::Float).error() == Error::InvalidArgument);
  CHECK(try_make_template({1}, ScalarType::Undefined).error() == Error::InvalidType);
}

TEST_CASE("make_template: what is like a meta tensor is one") {
  const auto t = make_template({2, 3}, ScalarType::Float);
  CHECK(device(empty_like(t)).type() == DeviceType::Meta);
  CHECK(device(clone_tensor_ptr(t)).type() == DeviceType::Meta);
  RAISES(NotSupported, "the tensor is a meta tensor, Float {2, 3}", const_data_ptr(empty_like(t)));
  RAISES(NotSupported, "the tensor is a meta tensor, Float {2, 3}",
         const_data_ptr(clone_tensor_ptr(t)));
  CHECK(values<float>(zeros_like(t, default_backend())) == std::vector<float>(6));
}

}  // namespace dim_names_test
