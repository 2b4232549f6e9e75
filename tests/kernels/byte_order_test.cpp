// SPDX-License-Identifier: MIT

#include "tenon/kernels/byte_order.h"

#include <cstdint>
#include <vector>

#include "support/catch.h"

using namespace tenon;
using Bytes = std::vector<uint8_t>;

TEST_CASE("swap_byte_order: reverses each number of 2, 4 or 8 bytes, and leaves single bytes") {
  const auto swapped = [](size_t size) {
    Bytes bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    tenon::detail::swap_byte_order(bytes.data(), bytes.size(), size);
    return bytes;
  };
  CHECK(swapped(1) == Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  CHECK(swapped(2) == Bytes{2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15});
  CHECK(swapped(4) == Bytes{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13});
  CHECK(swapped(8) == Bytes{8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9});
  tenon::detail::swap_byte_order(nullptr, 0, 4);
}

TEST_CASE("swap_byte_order: a number is an element, or half of a complex one") {
  CHECK(tenon::detail::number_size(ScalarType::Bool) == 1);
  CHECK(tenon::detail::number_size(ScalarType::Half) == 2);
  CHECK(tenon::detail::number_size(ScalarType::Double) == 8);
  CHECK(tenon::detail::number_size(ScalarType::ComplexHalf) == 2);
  CHECK(tenon::detail::number_size(ScalarType::ComplexFloat) == 4);
  CHECK(tenon::detail::number_size(ScalarType::ComplexDouble) == 8);
}

TEST_CASE("host_is_big_endian: it is what a number's first byte says") {
  const uint32_t number = 0x01020304;
  CHECK(tenon::detail::host_is_big_endian() ==
        (*reinterpret_cast<const unsigned char*>(&number) == 1));
}

TEST_CASE("normalize_bools: every byte but 0 becomes 1") {
  std::vector<uint8_t> bytes{0, 1, 2, 128, 255, 0};
  tenon::detail::normalize_bools(bytes.data(), bytes.size());
  CHECK(bytes == std::vector<uint8_t>{0, 1, 1, 1, 1, 0});
  tenon::detail::normalize_bools(nullptr, 0);
}
