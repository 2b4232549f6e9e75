// SPDX-License-Identifier: MIT
// What the members of Tensor and the functions of access.h share is tested through those; here, whose
// name an error has.
#include "tenon/tensor/elements.h"

#include <cstdint>

#include "support/catch.h"

using namespace tenon;
using tenon::detail::TensorFields;

TEST_CASE("elements: errors name the function that was called") {
  int32_t data[2] = {1, 2};
  TensorFields fields;
  REQUIRE(tenon::make_layout({2}, {}, {}, sizeof(int32_t), fields.layout) == Error::Ok);
  fields.data = data;
  fields.type = tenon::detail::own_type(tenon::ScalarType::Int);
  CHECK_ERROR(Error::InvalidType, "here: asked for Float",
              tenon::detail::typed_data<float>("here", fields));
  CHECK_ERROR(Error::InvalidArgument, "here: a tensor of sizes {2}",
              tenon::detail::item_of<int32_t>("here", fields));
  CHECK_ERROR(Error::InvalidArgument, "here: asked for 2 dimensions",
              (tenon::detail::accessor_of<int32_t, 2>("here", fields)));
  CHECK_ERROR(Error::InvalidArgument, "here: 0 is not",
              tenon::detail::is_aligned("here", fields, 0));
  fields.readonly = true;
  CHECK_ERROR(Error::InvalidState, "here: the tensor is read-only",
              tenon::detail::span_of<int32_t>("here", fields));
  CHECK(tenon::detail::span_of<const int32_t>("here", fields)[1] == 2);
}
