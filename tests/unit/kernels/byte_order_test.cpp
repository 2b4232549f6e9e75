// SPDX-License-Identifier: MIT
#include "tenon/kernels/byte_order.h"

#include "support/catch.h"

namespace byte_order_test {

using namespace tenon;
using tests::Bytes;

TEST_CASE("swap_byte_order: reverses each number of 2, 4 or 8 bytes, and leaves single bytes") {
  const std::pair<size_t, Bytes> rows[] = {
      {1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
      {2, {2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15}},
      {4, {4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13}},
      {8, {8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9}}};
  for (const auto& [size, expected] : rows) {
    CAPTURE(size);
    Bytes bytes = rows[0].second;
    detail::swap_byte_order(bytes.data(), bytes.size(), size);
    CHECK(bytes == expected);
    detail::swap_byte_order(nullptr, 0, size);
  }
}

TEST_CASE("swap_byte_order: a number is an element, or half of a complex one") {
  const std::pair<ScalarType, size_t> rows[] = {
      {ScalarType::Bool, 1},        {ScalarType::Half, 2},         {ScalarType::Double, 8},
      {ScalarType::ComplexHalf, 2}, {ScalarType::ComplexFloat, 4}, {ScalarType::ComplexDouble, 8}};
  for (const auto& [type, size] : rows) {
    INFO(toString(type));
    CHECK(detail::number_size(type) == size);
  }
}

TEST_CASE("host_is_big_endian: it is what a number's first byte says") {
  const uint32_t number = 0x01020304;
  CHECK(detail::host_is_big_endian() == (*reinterpret_cast<const unsigned char*>(&number) == 1));
}

TEST_CASE("make_bools_0_or_1: every byte but 0 becomes 1") {
  Bytes bytes{0, 1, 2, 128, 255, 0};
  detail::make_bools_0_or_1(bytes.data(), bytes.size());
  CHECK(bytes == Bytes{0, 1, 1, 1, 1, 0});
  detail::make_bools_0_or_1(nullptr, 0);
}

}  // namespace byte_order_test
