// SPDX-License-Identifier: MIT
// What copy_, fill_ and zero_ write. Errors and overlaps, contiguous
// and to are in files of their own.
#include "tenon/tensor/copy.h"

#include "kernels/copy_reference.h"
#include "support/catch.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace copy_test {

using namespace tenon;
using namespace tests;

namespace {

/// A shape over a memory of ints.
struct Window {
  Vector sizes;
  Vector strides;
  int64_t first = 0;

  TensorPtr over(Ints& memory) const { return from_blob(memory.data() + first, sizes, strides); }
};
/// What a copy from 1, 2, 3, … makes of a memory of zeros.
struct Case {
  Window dst;
  Window src;
  Ints expected;
};

void check_copies(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.dst.sizes, c.dst.strides, c.src.sizes, c.src.strides);
    Ints from(260);
    std::iota(from.begin(), from.end(), 1);
    const Ints before = from;
    Ints to(c.expected.size());
    const TensorPtr dst = c.dst.over(to);
    const State state(*dst);
    CHECK(copy_(dst, c.src.over(from)) == Error::Ok);
    CHECK(to == c.expected);
    CHECK(from == before);
    CHECK(State(*dst) == state);
  }
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("copy_: any strides on both sides, broadcasting, and only elements change") {
  const Window matrix{{2, 3}, {3, 1}};
  const Window cube{{2, 2, 2}, {4, 2, 1}};
  check_copies({
      {matrix, matrix, {1, 2, 3, 4, 5, 6}},
      {{{3, 2}, {4, 2}}, {{3, 2}, {1, 3}}, {1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}},
      {{{2, 3}, {4, 1}, 1}, {{2, 3}, {5, 1}}, {0, 1, 2, 3, 0, 6, 7, 8, 0}},
      {matrix, {{2, 3}, {0, 1}, 3}, {4, 5, 6, 4, 5, 6}},
      {matrix, {{3}, {1}}, {1, 2, 3, 1, 2, 3}},
      {matrix, {{2, 1}, {1, 1}}, {1, 1, 1, 2, 2, 2}},
      {matrix, {{}, {}}, {1, 1, 1, 1, 1, 1}},
      {cube, {{2, 1, 2}, {2, 2, 1}}, {1, 2, 1, 2, 3, 4, 3, 4}},
      {{{}, {}}, {{}, {}}, {1}},
      // The stride of a dimension of size 1 means nothing.
      {{{2, 2}, {2, 1}}, {{1, 2}, {1000, 2}}, {1, 3, 1, 3}},
      {{{2, 2}, {2, 1}}, {{2, 1}, {3, -77}}, {1, 1, 4, 4}},
  });
}

TEST_CASE("fill_, zero_: write all elements, and no others") {
  Bytes rows(3 * 8, 0xEE);
  const TensorPtr padded = from_blob(rows.data(), {3, 5}, {8, 1});
  const auto check = [&](int even, int odd) {
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i] == (i % 8 >= 5 ? 0xEE : i % 2 == 0 ? even : odd));
    }
  };
  CHECK(fill_(padded, 9) == Error::Ok);
  check(9, 9);
  CHECK(zero_(transpose(padded, 0, 1)) == Error::Ok);
  check(0, 0);
  CHECK(fill_(slice(*padded, 1, 0, 5, 2), 1) == Error::Ok);
  check(1, 0);
  ATEN_LACKS(CHECK(zero_(flip(transpose(padded, 0, 1), {0, 1})) == Error::Ok); check(0, 0);)
}

}  // namespace copy_test
