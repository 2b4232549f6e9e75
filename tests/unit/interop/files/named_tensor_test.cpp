// SPDX-License-Identifier: MIT
#include "tenon/interop/files/named_tensor.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace named_tensor_test {

using namespace tenon;
using namespace tests;
using tenon::detail::HostBytes;

TEST_CASE("NamedTensor: names are UTF-8, and once each") {
  const TensorPtr t = ones({1});
  CHECK(detail::check_names({}) == Error::Ok);
  CHECK(detail::check_names({{"a", t}, {"b", t}, {"", t}}) == Error::Ok);
  RETURNS(InvalidArgument, "two tensors are named \"a\"",
          detail::check_names({{"a", t}, {"b", t}, {"a", t}}));
  RETURNS(InvalidArgument, "the name \"x?\" is not UTF-8", detail::check_names({{"x\xff", t}}));
}

TEST_CASE("UTF-8: what encodes no character, or a longer one than needed, is refused") {
  for (const char* text :
       {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    INFO(text);
    CHECK(detail::is_utf8(text));
  }
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    INFO(text);
    CHECK_FALSE(detail::is_utf8(text));
  }
}

TEST_CASE("host bytes: a contiguous tensor's own, those of a copy for others") {
  const TensorPtr t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  HostBytes own;
  REQUIRE(detail::find_host_bytes(t, own) == Error::Ok);
  CHECK(own.data == const_data_ptr(t));
  CHECK(own.nbytes == 16);
  HostBytes asked;
  REQUIRE(detail::find_host_bytes(t, asked, true) == Error::Ok);
  CHECK(asked.data != const_data_ptr(t));
  CHECK(std::memcmp(asked.data, own.data, 16) == 0);
  HostBytes turned;
  REQUIRE(detail::find_host_bytes(transpose(t, 0, 1), turned) == Error::Ok);
  const int32_t expected[] = {1, 3, 2, 4};
  REQUIRE(turned.nbytes == sizeof expected);
  CHECK(std::memcmp(turned.data, expected, sizeof expected) == 0);
  HostBytes none;
  RETURNS(InvalidState, "the tensor is undefined", detail::find_host_bytes(TensorPtr(), none));
  RETURNS(InvalidState, "placeholder", detail::find_host_bytes(from_blob(nullptr, {2}), none));
}

TEST_CASE("host bytes: of a device's memory, those that its backend downloads") {
  CountingBackend gpu;
  const TensorPtr t = make_tensor_ptr({3}, {1, 2, 3}, gpu);
  HostBytes bytes;
  REQUIRE(detail::find_host_bytes(t, bytes) == Error::Ok);
  const int32_t expected[] = {1, 2, 3};
  CHECK(std::memcmp(bytes.data, expected, sizeof expected) == 0);
}

}  // namespace named_tensor_test
