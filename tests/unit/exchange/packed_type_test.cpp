// SPDX-License-Identifier: MIT
#include "tenon/exchange/packed_type.h"

#include "support/catch.h"

namespace packed_type_test {

using namespace tenon;

TEST_CASE("packed type: names and bits") {
  const struct {
    PackedType type;
    const char* name;
    int bits;
  } rows[] = {
      {PackedType::Undefined, "Undefined", 0},
      {PackedType::Float4_e2m1fn, "Float4_e2m1fn", 4},
      {PackedType::Float6_e2m3fn, "Float6_e2m3fn", 6},
      {PackedType::Float6_e3m2fn, "Float6_e3m2fn", 6},
      {PackedType::Float8_e8m0fnu, "Float8_e8m0fnu", 8},
      {PackedType::Int4, "Int4", 4},
      {PackedType::UInt4, "UInt4", 4},
      {PackedType::Int2, "Int2", 2},
      {PackedType::UInt2, "UInt2", 2},
      {PackedType::Int1, "Int1", 1},
      {PackedType::UInt1, "UInt1", 1},
  };
  int number = 0;
  for (const auto& row : rows) {
    CHECK(static_cast<int>(row.type) == number++);
    CHECK(to_string(row.type) == row.name);
    CHECK(packed_bits(row.type) == row.bits);
  }
  for (const int other : {number, 255}) {
    CHECK(to_string(static_cast<PackedType>(other)) == "Undefined");
    CHECK(packed_bits(static_cast<PackedType>(other)) == 0);
  }
}

TEST_CASE("packed type: the bytes' sizes are rows of bytes where rows end at a byte, else a list") {
  const auto bytes = [](const tests::Longs& sizes, int64_t nbytes, PackedType type) {
    const Dims found = detail::packed_byte_sizes(sizes, nbytes, type);
    return tests::Longs(found.begin(), found.end());
  };
  CHECK(bytes({2, 4}, 4, PackedType::Float4_e2m1fn) == tests::Longs{2, 2});
  CHECK(bytes({2, 3}, 3, PackedType::Float4_e2m1fn) == tests::Longs{3});
  CHECK(bytes({4, 1}, 2, PackedType::UInt4) == tests::Longs{2});
  CHECK(bytes({}, 1, PackedType::Int4) == tests::Longs{1});
  CHECK(bytes({0, 3}, 0, PackedType::Int4) == tests::Longs{0});
  CHECK(bytes({3, 0}, 0, PackedType::Int4) == tests::Longs{3, 0});
  CHECK(bytes({5, 8}, 30, PackedType::Float6_e2m3fn) == tests::Longs{5, 6});
  CHECK(bytes({2, 2}, 3, PackedType::Float6_e3m2fn) == tests::Longs{3});
  CHECK(bytes({2, 16}, 8, PackedType::Int2) == tests::Longs{2, 4});
  CHECK(bytes({2, 16}, 4, PackedType::UInt1) == tests::Longs{2, 2});
  CHECK(bytes({}, 1, PackedType::Float8_e8m0fnu).empty());
  CHECK(bytes({2, 3}, 6, PackedType::Float8_e8m0fnu) == tests::Longs{2, 3});
  // The product would not fit.
  CHECK(bytes({0, INT64_MAX - 7}, 0, PackedType::Float6_e2m3fn) ==
        tests::Longs{0, (INT64_MAX - 7) / 8 * 6});
}

}  // namespace packed_type_test
