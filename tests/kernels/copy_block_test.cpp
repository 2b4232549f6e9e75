// SPDX-License-Identifier: MIT
// Copies and conversions of blocks; tests/openmp has the large ones.
#include <cstdint>
#include <vector>

#include "kernels/helpers.h"
#include "tenon/kernels/convert.h"

using namespace tenon;
using tenon::detail::cast_block;
using tenon::detail::move_block;

TEST_CASE("copy: a block moves to where it overlaps itself, forwards and backwards") {
  std::vector<int> forwards = {1, 2, 3, 4, 5, 6};
  move_block(forwards.data() + 1, forwards.data(), 4 * sizeof(int));
  CHECK(forwards == std::vector<int>{1, 1, 2, 3, 4, 6});
  std::vector<int> backwards = {1, 2, 3, 4, 5, 6};
  move_block(backwards.data() + 1, backwards.data() + 2, 4 * sizeof(int));
  CHECK(backwards == std::vector<int>{1, 3, 4, 5, 6, 6});
  std::vector<int> apart = {1, 2, 3, 4};
  move_block(apart.data(), apart.data() + 2, 2 * sizeof(int));
  CHECK(apart == std::vector<int>{3, 4, 3, 4});
}

TEST_CASE("copy: a block is converted, in the mode asked for") {
  const float in[] = {1.5f, -2.0f, 300.0f};
  double wide[] = {0, 0, 0};
  cast_block(ScalarType::Double, wide, ScalarType::Float, in, 3);
  CHECK(std::vector<double>(wide, wide + 3) == std::vector<double>{1.5, -2.0, 300.0});
  uint8_t bytes[] = {9, 9, 9};
  cast_block(ScalarType::Byte, bytes, ScalarType::Float, in, 2, CastMode::Saturate);
  CHECK(bytes[0] == 2);
  CHECK(bytes[1] == 0);
  CHECK(bytes[2] == 9);
  cast_block(ScalarType::Byte, bytes, ScalarType::Float, in, 1, CastMode::Truncate);
  CHECK(bytes[0] == 1);
  cast_block(ScalarType::Byte, nullptr, ScalarType::Float, nullptr, 0, CastMode::Truncate);
}
