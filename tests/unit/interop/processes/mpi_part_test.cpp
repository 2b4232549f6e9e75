// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_buffer.h"

#include "support/catch.h"

namespace mpi_part_test {

using namespace tenon;
using tests::Longs;

TEST_CASE("part: the first n % ranks ranks have one more, as in NumPy's array_split") {
  const Longs begins = {0, 3, 6, 8};
  const Longs sizes = {3, 3, 2, 2};
  for (int r = 0; r < 4; ++r) {
    CHECK(mpi::part(10, 4, r).begin == begins[static_cast<size_t>(r)]);
    CHECK(mpi::part(10, 4, r).size == sizes[static_cast<size_t>(r)]);
  }
}

TEST_CASE("part: parts follow one another and are all there is, of more ranks than indices too") {
  for (int64_t n = 0; n < 20; ++n) {
    for (int ranks = 1; ranks < 9; ++ranks) {
      int64_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        const mpi::Part p = mpi::part(n, ranks, r);
        CHECK(p.begin == next);
        CHECK((p.size == n / ranks || p.size == n / ranks + 1));
        next += p.size;
      }
      CHECK(next == n);
    }
  }
  CHECK(mpi::part(2, 4, 3).size == 0);
  CHECK(mpi::part(INT64_MAX, 2, 1).size == INT64_MAX / 2);
}

TEST_CASE("part: ranks that are not there, and negative counts, are errors") {
  RAISES(InvalidArgument, "part: rank 4 of 4 has no part of 10", mpi::part(10, 4, 4));
  RAISES(InvalidArgument, "rank -1", mpi::part(10, 4, -1));
  RAISES(InvalidArgument, "part of -1", mpi::part(-1, 4, 0));
  RAISES(InvalidArgument, "rank 0 of 0", mpi::part(1, 0, 0));
}

}  // namespace mpi_part_test
