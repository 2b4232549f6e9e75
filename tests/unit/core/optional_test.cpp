// SPDX-License-Identifier: MIT
#include "tenon/core/result.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace optional_test {

using namespace tenon;
using tenon::detail::Optional;

TEST_CASE("OptionalIndex: none has no value, any integer is one, 0 and negative ones too") {
  constexpr OptionalIndex index = none;
  STATIC_REQUIRE_FALSE(index.has_value());
  STATIC_REQUIRE(index.value_or(7) == 7);
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    OptionalIndex copy = none;
    copy = OptionalIndex(value);
    CHECK(copy.has_value());
    CHECK(copy.value_or(7) == value);
  }
  // What int64_t cannot hold is the lowest, which is no size and no axis.
  constexpr OptionalIndex wrapped = uint64_t{2} - 3;
  CHECK(wrapped.value_or(0) == INT64_MIN);
  STATIC_REQUIRE(std::is_convertible_v<size_t, OptionalIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, OptionalIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<bool, OptionalIndex>);
}

TEST_CASE("Optional: of a bool takes a bool and nothing that converts to one") {
  using Flag = Optional<bool>;
  STATIC_REQUIRE(Flag(true).value_or(false));
  STATIC_REQUIRE_FALSE(Flag(false).value_or(true));
  STATIC_REQUIRE(Flag(false).has_value());
  STATIC_REQUIRE_FALSE(Flag(none).has_value());
  STATIC_REQUIRE(Flag(none).value_or(true));
  STATIC_REQUIRE(std::is_convertible_v<bool, Flag>);
  STATIC_REQUIRE(std::is_convertible_v<None, Flag>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, int>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, double>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, const char*>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, void*>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, std::nullptr_t>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Flag, Device>);
}

TEST_CASE("Optional: of a device takes whatever a Device is made of") {
  using Where = Optional<Device>;
  CHECK(Where("cuda:1").value_or(Device()) == Device(DeviceType::CUDA, 1));
  CHECK(Where(DeviceType::CUDAHost).value_or(Device()) == Device(DeviceType::CUDAHost));
  CHECK(Where(Device()).has_value());
  CHECK_FALSE(Where(none).has_value());
  CHECK(Where(none).value_or("cuda:2") == Device("cuda:2"));
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Where, bool>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Where, int>);
}

TEST_CASE("Optional: what its value cannot be made of is an error of the value's") {
  RAISES(InvalidArgument, "Device: \"moon\" is not a device", Optional<Device>("moon"));
}

}  // namespace optional_test
