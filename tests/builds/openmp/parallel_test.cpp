// SPDX-License-Identifier: MIT
#include <set>

#include "openmp/helpers.h"
#include "openmp/piece_counter.h"
#include "tenon/tenon.h"

namespace parallel_test {

using tenon::detail::kParallelBytes;
using tenon::detail::parallel_for;
using namespace tests;

namespace {

struct Piece {
  int64_t begin;
  int64_t end;
  int thread;
};

// Sorted.
std::vector<Piece> pieces_of(int64_t count, int64_t grain, size_t nbytes = kParallelBytes) {
  std::vector<Piece> pieces;
  parallel_for(count, grain, nbytes, [&](int64_t begin, int64_t end) {
#pragma omp critical(tests_pieces)
    pieces.push_back({begin, end, omp_get_thread_num()});
  });
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return pieces;
}

bool is_partition(const std::vector<Piece>& pieces, int64_t count, int64_t grain) {
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin != at || piece.begin % grain != 0) return false;
    if (piece.end - piece.begin < std::min(grain, count)) return false;
    at = piece.end;
  }
  return at == count;
}

size_t count_threads(const std::vector<Piece>& pieces) {
  std::set<int> threads;
  for (const Piece& piece : pieces) threads.insert(piece.thread);
  return threads.size();
}

}  // namespace

TEST_CASE("parallel: all threads take part in large work, each with one piece of about a size") {
  for (int threads : {2, 3, 7}) {
    const ThreadsScope scope(threads);
    const std::vector<Piece> pieces = pieces_of(1000000, 64);
    INFO("threads: " << threads);
    CHECK(pieces.size() == static_cast<size_t>(threads));
    CHECK(count_threads(pieces) == static_cast<size_t>(threads));
    CHECK(is_partition(pieces, 1000000, 64));
    for (const Piece& piece : pieces) {
      CHECK(piece.end - piece.begin < 1000000 / threads + 64 * threads);
      CHECK(piece.end - piece.begin > 1000000 / threads - 64 * threads);
    }
  }
}

TEST_CASE("parallel: pieces begin at multiples of the grain and are no shorter, for any count") {
  int wrong = 0;
  for (int threads : {1, 2, 3, 7}) {
    const ThreadsScope scope(threads);
    for (int64_t grain : {1, 3, 64}) {
      for (int64_t count : {0, 1, 2, 3, 5, 63, 64, 65, 127, 128, 129, 200, 448, 449, 1000}) {
        if (!is_partition(pieces_of(count, grain), count, grain)) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("parallel: small work is one piece in the caller's thread") {
  const ThreadsScope scope(3);
  CHECK(pieces_of(1000, 1, kParallelBytes - 1).size() == 1);
  CHECK(pieces_of(1000, 1, kParallelBytes).size() == 3);
}

TEST_CASE("parallel: in a region of the caller's, other threads take part if OpenMP gives them") {
  const ThreadsScope scope(3);
  std::vector<Piece> pieces;
  call_in_region(1, [&] { pieces = pieces_of(1000, 1); });
  CHECK(pieces.size() == 1);
  CHECK(is_partition(pieces, 1000, 1));
  call_in_region(2, [&] { pieces = pieces_of(1000, 1); });
  CHECK(pieces.size() == 3);
  CHECK(is_partition(pieces, 1000, 1));
}

TEST_CASE("parallel: files compiled with and without OpenMP keep their own function") {
  const ThreadsScope scope(3);
  CHECK(tests::pieces_without_openmp() == 1);
  std::atomic<int> count{0};
  parallel_for(int64_t{1} << 30, 1, size_t{1} << 30, tests::PieceCounter{&count});
  CHECK(count == 3);
  CHECK(tests::pieces_without_openmp() == 1);
}

}  // namespace parallel_test
