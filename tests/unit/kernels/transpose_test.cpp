// SPDX-License-Identifier: MIT
#include "tenon/kernels/transpose.h"

#include <tuple>

#include "kernels/helpers.h"

namespace transpose_test {

using namespace tenon::detail;
using namespace tests;

namespace {

// A plane over memory of exactly its extent. Gaps are what rows' starts are apart beyond a row's
// bytes; with `reversed` the rows lie from the last to the first.
struct Case {
  int64_t in_rows;
  int64_t out_rows;
  int64_t size;
  int64_t in_gap = 0;
  int64_t out_gap = 0;
  bool in_reversed = false;
  bool out_reversed = false;
};

struct Side {
  tests::Bytes bytes;
  int64_t stride;
  size_t first;

  Side(int64_t rows, int64_t row_bytes, int64_t gap, bool reversed)
      : bytes(static_cast<size_t>((rows - 1) * (row_bytes + gap) + row_bytes)),
        stride(reversed ? -(row_bytes + gap) : row_bytes + gap),
        first(reversed ? bytes.size() - static_cast<size_t>(row_bytes) : 0) {}
  char* data() { return reinterpret_cast<char*>(bytes.data() + first); }
};

// Whether transpose(plane, size) writes to all of the destination's memory what a loop writes.
template <class Transpose>
bool is_right(const Case& c, Transpose&& transpose) {
  Rng random{static_cast<uint64_t>(c.in_rows * 1000 + c.out_rows)};
  Side in(c.in_rows, c.out_rows * c.size, c.in_gap, c.in_reversed);
  Side out(c.out_rows, c.in_rows * c.size, c.out_gap, c.out_reversed);
  fill_with_noise(random, in.bytes);
  fill_with_noise(random, out.bytes);
  Side expected = out;
  for (int64_t i = 0; i < c.in_rows; ++i) {
    for (int64_t j = 0; j < c.out_rows; ++j) {
      std::memcpy(expected.data() + j * out.stride + i * c.size,
                  in.data() + i * in.stride + j * c.size, static_cast<size_t>(c.size));
    }
  }
  transpose(
      Plane{out.data(), in.data(), c.in_rows, c.out_rows, c.size, out.stride, in.stride, c.size},
      static_cast<size_t>(c.size));
  return out.bytes == expected.bytes;
}
void copy(const Plane& plane, size_t size) {
  PixelShuffle shuffle(true);
  copy_plane(plane, size, shuffle);
}
bool is_right(const Case& c) { return is_right(c, &copy); }

// Around the sizes of blocks and tiles.
const int64_t kLengths[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129};

// Calls is_wrong(size) for all element sizes and instruction sets: none of its cases may be wrong.
template <class CountWrong>
void check_sizes(CountWrong&& count_wrong) {
  for_each_isa([&] {
    for (int64_t size : {1, 2, 4, 8, 16}) {
      INFO("element size " << size);
      CHECK(count_wrong(size) == 0);
    }
  });
}

}  // namespace

TEST_CASE("transpose: matrices of all shapes around the blocks' sizes, dense, apart and reversed") {
  // In elements, and in bytes that are no whole elements; what lies between rows stays.
  const Case changes[] = {
      {0, 0, 0}, {0, 0, 0, 2, 1}, {0, 0, 0, 0, 0, true, false}, {0, 0, 0, 0, 1, false, true}};
  check_sizes([&](int64_t size) {
    int wrong = 0;
    for (int64_t in_rows : kLengths) {
      for (int64_t out_rows : kLengths) {
        if (!kThorough && (in_rows * 3 + out_rows) % 5 != 0) continue;
        for (Case c : changes) {
          c = {in_rows,          out_rows,      size,          c.in_gap * size,
               c.out_gap * size, c.in_reversed, c.out_reversed};
          if (!is_right(c)) ++wrong;
        }
        if (!is_right({in_rows, out_rows, size, 1, 3})) ++wrong;
      }
    }
    return wrong;
  });
}

TEST_CASE("transpose: a shuffle leaves planes that lie otherwise than its first") {
  for_each_isa([] {
    PixelShuffle shuffle(true);
    Rng random{4};
    tests::Bytes in(4000);
    fill_with_noise(random, in);
    int wrong = 0;
    // Mirrored rows; the same exchanged; of another size; other distances.
    for (const auto& [size, in_stride, in_step] :
         {std::tuple(1, -1, 40), {1, 40, -1}, {2, -2, 40}, {1, -2, 40}, {1, -1, 40}}) {
      tests::Bytes out(static_cast<size_t>(40 * 40 * size));
      const char* const from = reinterpret_cast<const char*>(in.data() + 2000);
      copy_plane(
          {reinterpret_cast<char*>(out.data()), from, 40, 40, size, 40 * size, in_stride, in_step},
          static_cast<size_t>(size), shuffle);
      for (int j = 0; j < 40; ++j) {
        for (int i = 0; i < 40; ++i) {
          wrong += std::memcmp(out.data() + (40 * j + i) * size, from + i * in_stride + j * in_step,
                               static_cast<size_t>(size)) != 0;
        }
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("transpose: element by element") {
  int wrong = 0;
  for (int64_t in_rows : kLengths) {
    for (int64_t out_rows : kLengths) {
      const Case c{in_rows, out_rows, 4, 3, 2, true, false};
      if (!is_right(c, &copy_by_element<>)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace transpose_test
