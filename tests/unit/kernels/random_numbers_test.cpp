// SPDX-License-Identifier: MIT
#include "tenon/kernels/random_numbers.h"

#include "kernels/random_reference.h"

namespace random_numbers_test {

using namespace tenon::detail;

namespace {

using Words = std::vector<uint32_t>;

Words enciphered(const uint32_t (&counter)[4], const uint32_t (&key)[2]) {
  uint32_t words[4];
  philox(counter, key, words);
  return Words(words, words + 4);
}

// How many words of blocks [first, first + count) are not the scalar function's, which has a test
// of its own; or memory beside the room is written.
int count_wrong(const WordStream& stream, uint64_t first, uint64_t count) {
  const uint64_t room = (count + kPhiloxBlocks - 1) / kPhiloxBlocks * kPhiloxBlocks;
  Words words(static_cast<size_t>(4 * room + 8), 0xa5a5a5a5u);
  make_blocks(stream, first, count, words.data() + 4);
  int wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t expected[4];
    stream.block(first + i, expected);
    if (!std::equal(expected, expected + 4, words.data() + 4 + 4 * i)) ++wrong;
  }
  for (size_t i = 0; i < 4; ++i) {
    if (words[i] != 0xa5a5a5a5u || words[words.size() - 1 - i] != 0xa5a5a5a5u) ++wrong;
  }
  return wrong;
}

}  // namespace

// Random123's kat_vectors for philox4x32-10.
TEST_CASE("philox: the published vectors come out") {
  CHECK(enciphered({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(enciphered({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(enciphered({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: a stream's block is the cipher of its number and draw under its seed") {
  const uint64_t seed = 0x299f31d0a4093822u;
  const uint64_t block = 0x05a308d3243f6a88u;
  const uint32_t draw = 0x13198a2e;
  uint32_t words[4];
  WordStream{seed, draw}.block(block, words);
  CHECK(Words(words, words + 4) ==
        enciphered({0x243f6a88, 0x05a308d3, 0x13198a2e, 0}, {0xa4093822, 0x299f31d0}));
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK(tests::random_word(seed, 4 * block + i, draw) == words[i]);
  }
}

// g++ 12 gave vectors of the keys one another's values when they were made in another way.
// A promise of docs/guarantees.md.
TEST_CASE("philox: blocks by the thousand, at all instruction sets, are the scalar function's") {
  tests::for_each_isa([] {
    int wrong = 0;
    for (uint64_t count = 0; count <= 110; ++count) {
      wrong += count_wrong({0x0123456789abcdefu, 0}, 250 + count % 4, count);
    }
    wrong += count_wrong({0x0123456789abcdefu, 0}, 1, 1250);
    // All bits of seed, draw and number count.
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffffu}, uint64_t{1} << 32,
                          uint64_t{1} << 63, UINT64_MAX}) {
      for (uint32_t draw : {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
        for (uint64_t first : {uint64_t{0}, (uint64_t{1} << 31) + 1, (uint64_t{1} << 32) - 25,
                               (uint64_t{1} << 38) - 15, (uint64_t{1} << 62) - 25}) {
          wrong += count_wrong({seed, draw}, first, 50);
        }
      }
    }
    CHECK(wrong == 0);
  });
}

}  // namespace random_numbers_test
