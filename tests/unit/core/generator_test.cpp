// SPDX-License-Identifier: MIT
#include "tenon/core/generator.h"

#include <set>
#include <thread>

#include "support/catch.h"

namespace generator_test {

using namespace tenon;

TEST_CASE("generator: it begins at element 0 of its seed, or where it is told, and goes on") {
  constexpr Generator later(UINT64_MAX, 7);
  STATIC_REQUIRE(later.seed() == UINT64_MAX);
  STATIC_REQUIRE(later.offset() == 7);
  Generator g(5);
  CHECK(g.seed() == 5);
  CHECK(g.advance(3) == 0);
  CHECK(g.advance(0) == 3);
  CHECK(g.advance(4) == 3);
  Generator copy = g;
  CHECK(copy.advance(10) == 7);
  CHECK(g.offset() == 7);
  g.set_offset(UINT64_MAX - 1);
  CHECK(g.advance(5) == UINT64_MAX - 1);  // after element 2^64 - 1 comes element 0
  CHECK(g.offset() == 3);
  CHECK(g.seed() == 5);
  g.manual_seed(2);
  CHECK(g.seed() == 2);
  CHECK(g.offset() == 0);
}

TEST_CASE("generator: a state holds all there is, and gives it back") {
  Generator g(8, 100);
  const Generator::State state = g.state();
  CHECK(state.seed == 8);
  CHECK(state.offset == 100);
  CHECK(state.version == Generator::kVersion);
  g.advance(50);
  g.manual_seed(3);
  CHECK(g.set_state(state) == Error::Ok);
  CHECK(g.seed() == 8);
  CHECK(g.offset() == 100);
  Generator other(0);
  CHECK(other.set_state({8, 100, Generator::kVersion}) == Error::Ok);
  CHECK(other.advance(1) == 100);
}

// A promise of docs/guarantees.md.
TEST_CASE("generator: a state of another version is refused by its number, and nothing changes") {
  Generator g(8, 100);
  CHECK(Generator::kVersion == 1);
  RETURNS(NotSupported, "Generator::set_state: the state has version 2, expected 1",
          g.set_state({1, 2, 2}));
  RETURNS(NotSupported, "version 0, expected 1", g.set_state({1, 2, 0}));
  CHECK(g.seed() == 8);
  CHECK(g.offset() == 100);
}

TEST_CASE("generator: each thread has one default generator of its own, with a seed of its own") {
  Generator& g = default_generator();
  const uint64_t offset = g.offset();
  g.advance(3);
  CHECK(default_generator().offset() == offset + 3);
  uint64_t seeds[2] = {};
  for (uint64_t& seed : seeds) {
    std::thread([&] {
      seed = default_generator().seed();
      if (&default_generator() == &g) seed = g.seed();
    }).join();
    CHECK(seed != g.seed());
  }
  CHECK(seeds[0] != seeds[1]);
}

TEST_CASE("generator: manual_seed acts on the calling thread alone") {
  const Generator before = default_generator();
  manual_seed(42);
  CHECK(default_generator().seed() == 42);
  CHECK(default_generator().offset() == 0);
  default_generator().advance(6);
  uint64_t unseeded = 42;
  uint64_t seeded = 0;
  std::thread([&] {
    unseeded = default_generator().seed();
    manual_seed(7);
    seeded = default_generator().seed();
  }).join();
  CHECK(unseeded != 42);
  CHECK(seeded == 7);
  CHECK(default_generator().seed() == 42);
  CHECK(default_generator().offset() == 6);
  default_generator() = before;
}

}  // namespace generator_test
