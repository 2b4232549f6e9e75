// SPDX-License-Identifier: MIT
#include "tenon/tensor/move_rows.h"

#include <cstring>
#include <vector>

#include "support/catch.h"
#include "support/shapes.h"

namespace move_rows_test {

using namespace tenon;
using namespace tests;

namespace {

/// Moves rows of {outer, size, inner} bytes, and compares with a loop over all of them.
void check_rows(Rng& random, int64_t outer, int64_t size, int64_t inner, int64_t count,
                bool scatters, bool is_int, bool is_aligned) {
  const Vector few = {outer, count, inner};
  const Vector all = {outer, size, inner};
  const Vector& to_shape = scatters ? all : few;
  const Vector& from_shape = scatters ? few : all;
  const auto bytes_of = [](const Vector& shape) {
    return static_cast<size_t>(shape[0] * shape[1] * shape[2]);
  };
  Bytes to(bytes_of(to_shape));
  Bytes from(bytes_of(from_shape));
  fill_with_noise(random, to);
  fill_with_noise(random, from);
  const size_t item = is_int ? 4 : 8;
  Bytes memory(static_cast<size_t>(count) * item + 1);
  char* const list = reinterpret_cast<char*>(memory.data()) + (is_aligned ? 0 : 1);
  Vector rows;
  for (int64_t k = 0; k < count; ++k) {
    rows.push_back(random.between(0, size - 1));
    const auto low = static_cast<int32_t>(rows.back());
    const size_t at = static_cast<size_t>(k) * item;
    if (is_int) {
      std::memcpy(list + at, &low, 4);
    } else {
      std::memcpy(list + at, &rows.back(), 8);
    }
  }
  Bytes expected = to;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t row = rows[static_cast<size_t>(k)];
      const int64_t to_row = o * to_shape[1] + (scatters ? row : k);
      const int64_t from_row = o * from_shape[1] + (scatters ? k : row);
      for (int64_t i = 0; i < inner; ++i) {
        expected[static_cast<size_t>(to_row * inner + i)] =
            from[static_cast<size_t>(from_row * inner + i)];
      }
    }
  }
  const Vector to_strides = dense_strides(to_shape, row_major(3));
  const Vector from_strides = dense_strides(from_shape, row_major(3));
  const auto byte = detail::public_type(detail::ScalarType::Byte);
  detail::RowMove move;
  move.scatters = scatters;
  move.indices = {list, static_cast<ptrdiff_t>(item), count, is_int};
  CAPTURE(outer, size, inner, count, scatters, is_int, is_aligned);
  CHECK(detail::move_rows(move, {to.data(), byte, Device(), to_shape, to_strides},
                          {from.data(), byte, Device(), from_shape, from_strides}, 1,
                          CastMode::Checked) == Error::Ok);
  if (to != expected) FAIL_CHECK("other bytes");
}

}  // namespace

TEST_CASE("move_rows: units of all sizes, few and many indices, of Long and Int") {
  Rng random{1};
  for (const int64_t inner : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 40, 256, 257, 5000}) {
    for (const int64_t count : {0, 1, 2, 5, 17, 300}) {
      for (const int64_t outer : {1, 3, 40}) {
        if (inner * count * outer > 200000) continue;
        for (int flags = 0; flags < 8; ++flags) {
          check_rows(random, outer, 1 + count % 19, inner, count, (flags & 1) != 0,
                     (flags & 2) != 0, (flags & 4) != 0);
        }
      }
    }
  }
}

}  // namespace move_rows_test
