// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_channels_last.h"

#include "support/catch.h"
#include "tenon/ostream.h"
#include "tenon/tenon.h"

namespace aoti_channels_last_test {

using namespace tenon;

TEST_CASE("aoti_channels_last: which strides c10 takes for channels last", "[aoti_channels_last]") {
  const auto has = [](const Dims& sizes, const Dims& strides) {
    detail::Layout layout;
    REQUIRE(detail::make_layout(sizes, {}, strides, 4, layout) == Error::Ok);
    return detail::has_channels_last(layout);
  };
  CHECK(has({2, 3, 4, 5}, {60, 1, 15, 3}));
  CHECK(has({2, 3, 4, 5}, {600, 1, 150, 30}));  // with gaps
  CHECK(has({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}));
  CHECK_FALSE(has({2, 3, 4, 5}, {60, 20, 5, 1}));
  CHECK_FALSE(has({2, 3, 4, 5, 6}, {360, 120, 30, 6, 1}));
  CHECK_FALSE(has({3, 4, 5}, {1, 15, 3}));
  CHECK_FALSE(has({2, 3, 0, 5}, {60, 1, 15, 3}));
  CHECK_FALSE(has({2, 3, 4, 5}, {60, 0, 15, 3}));
  // One channel, and images of one element, which have both orders.
  CHECK(has({2, 1, 4, 5}, {20, 1, 5, 1}));
  CHECK_FALSE(has({2, 1, 4, 5}, {20, 20, 5, 1}));
  CHECK_FALSE(has({1, 1, 1, 1}, {1, 1, 1, 1}));
}

TEST_CASE("aoti_channels_last: strides without gaps", "[aoti_channels_last]") {
  Dims strides;
  detail::set_channels_last({2, 3, 4, 5}, 1, strides);
  CHECK(strides == Dims{60, 1, 15, 3});
  detail::set_channels_last({3, 4, 5, 6}, 0, strides);
  CHECK(strides == Dims{1, 90, 18, 3});
  detail::set_channels_last({2, 3, 0, 5}, 1, strides);
  CHECK(strides == Dims{15, 1, 15, 3});
}

}  // namespace aoti_channels_last_test
