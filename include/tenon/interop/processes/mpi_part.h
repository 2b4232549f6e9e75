// SPDX-License-Identifier: MIT
// part: which slabs of a dimension belong to which rank.
#pragma once

#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// Consecutive indices of a dimension.
/// Threads: as a plain value.
struct Part {
  int64_t begin;
  int64_t size;
};

/// The part of `n` indices that `rank` of `ranks` has: all get n / ranks, the first n % ranks one
/// more. Ranks beyond the n-th have none.
/// Errors: InvalidArgument, raised, unless n >= 0 and 0 <= rank < ranks.
/// Source: numpy.array_split.
inline Part part(int64_t n, int ranks, int rank) {
  TENON_CHECK(n >= 0 && rank >= 0 && rank < ranks, Error::InvalidArgument, "part: rank ", rank,
              " of ", ranks, " has no part of ", n);
  const int64_t least = n / ranks;
  const int64_t more = n % ranks;
  return {rank * least + (rank < more ? rank : more), least + (rank < more ? 1 : 0)};
}

}  // namespace mpi
TENON_END_NAMESPACE
