// SPDX-License-Identifier: MIT
#include "tenon/kernels/transpose.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/helpers.h"

using tenon::detail::Plane;
using tenon::detail::transpose_by_element;
using tenon::detail::transpose_plane;
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
  Bytes bytes;
  int64_t stride;
  size_t first;

  Side(int64_t rows, int64_t row_bytes, int64_t gap, bool reversed)
      : bytes(static_cast<size_t>((rows - 1) * (row_bytes + gap) + row_bytes)),
        stride(reversed ? -(row_bytes + gap) : row_bytes + gap),
        first(reversed ? bytes.size() - static_cast<size_t>(row_bytes) : 0) {}
  char* data() { return reinterpret_cast<char*>(bytes.data() + first); }
};

// Copies the plane with transpose(plane, size) and compares all of the destination's memory with
// what a loop writes.
template <class Transpose>
bool is_right(const Case& c, Transpose&& transpose) {
  Rng random{static_cast<uint64_t>(c.in_rows * 1000 + c.out_rows)};
  Side in(c.in_rows, c.out_rows * c.size, c.in_gap, c.in_reversed);
  Side out(c.out_rows, c.in_rows * c.size, c.out_gap, c.out_reversed);
  tests::fill_with_noise(random, in.bytes);
  tests::fill_with_noise(random, out.bytes);
  Side expected = out;
  for (int64_t i = 0; i < c.in_rows; ++i) {
    for (int64_t j = 0; j < c.out_rows; ++j) {
      std::memcpy(expected.data() + j * out.stride + i * c.size,
                  in.data() + i * in.stride + j * c.size, static_cast<size_t>(c.size));
    }
  }
  transpose(Plane{out.data(), in.data(), out.stride, in.stride, c.out_rows, c.in_rows},
            static_cast<size_t>(c.size));
  return out.bytes == expected.bytes;
}

bool is_right(const Case& c) {
  return is_right(c, [](const Plane& plane, size_t size) { transpose_plane(plane, size); });
}

// Around the sizes of blocks and tiles.
const int64_t kLengths[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129};

// Counts the wrong ones of the planes of all pairs of lengths, element sizes and instruction sets.
template <class Change>
void check_all(Change&& change) {
  tests::for_each_isa([&] {
    for (size_t size : tests::kElementSizes) {
      INFO("element size " << size);
      int wrong = 0;
      for (int64_t in_rows : kLengths) {
        for (int64_t out_rows : kLengths) {
          if (!tests::kThorough && (in_rows * 3 + out_rows) % 5 == 0) continue;
          Case c{in_rows, out_rows, static_cast<int64_t>(size)};
          change(c);
          if (!is_right(c)) ++wrong;
        }
      }
      CHECK(wrong == 0);
    }
  });
}

}  // namespace

TEST_CASE("transpose: dense matrices of all shapes around the blocks' sizes") {
  check_all([](Case&) {});
}

TEST_CASE("transpose: rows apart on both sides, and the bytes between them stay") {
  check_all([](Case& c) {
    c.in_gap = c.size * 2;
    c.out_gap = c.size;
  });
}

TEST_CASE("transpose: rows apart by bytes that are no whole elements") {
  check_all([](Case& c) {
    c.in_gap = 1;
    c.out_gap = 3;
  });
}

TEST_CASE("transpose: rows from the last to the first, on either side") {
  check_all([](Case& c) { c.in_reversed = true; });
  check_all([](Case& c) {
    c.out_reversed = true;
    c.out_gap = c.size;
  });
}

TEST_CASE("transpose: the first channels of pixels, read to the last wanted byte only") {
  tests::for_each_isa([] {
    for (int64_t size : {1, 2, 4, 8, 16}) {
      int wrong = 0;
      for (int64_t of = 1; of <= 5; ++of) {
        for (int64_t channels = 1; channels <= of; ++channels) {
          for (int64_t count = 1; count < 70; ++count) {
            Case c{count, channels, size, (of - channels) * size, 0};
            if (!is_right(c)) ++wrong;
            c.out_gap = 5;
            if (!is_right(c)) ++wrong;
          }
        }
      }
      INFO("element size " << size);
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("transpose: channels become pixels, with and without space between them") {
  tests::for_each_isa([] {
    for (int64_t size : {1, 2, 4, 8, 16}) {
      int wrong = 0;
      for (int64_t channels = 1; channels <= 5; ++channels) {
        for (int64_t count = 1; count < 70; ++count) {
          for (int64_t gap : {int64_t{0}, int64_t{7}}) {
            if (!is_right({channels, count, size, gap, 0})) ++wrong;
            if (!is_right({channels, count, size, gap, 0, true})) ++wrong;
            if (!is_right({channels, count, size, gap, size})) ++wrong;
          }
        }
      }
      INFO("element size " << size);
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("transpose: a source may repeat a row, and its rows may overlap") {
  tests::for_each_isa([] {
    for (int64_t stride : {0, 1, 3, -2}) {
      constexpr int64_t n = 67;
      constexpr int64_t m = 65;
      std::vector<uint16_t> in(1000);
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
      std::vector<uint16_t> out(n * m);
      transpose_plane({reinterpret_cast<char*>(out.data()),
                       reinterpret_cast<const char*>(in.data() + 200), n * 2, stride * 2, m, n},
                      2);
      int wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < m; ++j) {
          if (out[static_cast<size_t>(j * n + i)] != 200 + i * stride + j) ++wrong;
        }
      }
      INFO("stride " << stride);
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("transpose: element by element") {
  int wrong = 0;
  for (int64_t in_rows : kLengths) {
    for (int64_t out_rows : kLengths) {
      const Case c{in_rows, out_rows, 4, 3, 2, true, false};
      if (!is_right(c, [](const Plane& plane, size_t size) { transpose_by_element(plane, size); }))
        ++wrong;
    }
  }
  CHECK(wrong == 0);
}
