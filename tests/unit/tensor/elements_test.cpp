// SPDX-License-Identifier: MIT
// What the members of Tensor and the functions of access.h share is tested through those; here,
// whose name an error has.
#include "tenon/tensor/accessor.h"

#include "support/catch.h"

namespace elements_test {

using namespace tenon;
using tenon::detail::make_layout;
using tenon::detail::TensorFields;

TEST_CASE("elements: errors name the function that was called") {
  int32_t data[2] = {1, 2};
  TensorFields fields;
  REQUIRE(make_layout({2}, {}, {}, sizeof(int32_t), fields.layout) == Error::Ok);
  fields.data = data;
  fields.type = detail::own_type(ScalarType::Int);
  RAISES(InvalidType, "here: asked for Float", detail::pointer_to<float>("here", fields));
  RAISES(InvalidArgument, "here: a tensor of sizes {2}", detail::item_of<int32_t>("here", fields));
  RAISES(InvalidArgument, "here: asked for 2 dimensions",
         (detail::accessor_of<int32_t, 2>("here", fields)));
  RAISES(InvalidArgument, "here: 0 is not", detail::is_aligned("here", fields, 0));
  fields.readonly = true;
  RAISES(InvalidState, "here: the tensor is read-only", detail::span_of<int32_t>("here", fields));
  CHECK(detail::span_of<const int32_t>("here", fields)[1] == 2);
}

}  // namespace elements_test
