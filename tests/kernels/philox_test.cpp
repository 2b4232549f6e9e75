// SPDX-License-Identifier: MIT
#include "tenon/kernels/philox.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/helpers.h"
#include "kernels/random_reference.h"

using tenon::detail::dispatch;
using tenon::detail::philox;
using tenon::detail::PhiloxKernel;
using tenon::detail::WordStream;
using tests::Bytes;

namespace {

using Words = std::vector<uint32_t>;

Words enciphered(const uint32_t (&counter)[4], const uint32_t (&key)[2]) {
  uint32_t words[4];
  philox(counter, key, words);
  return Words(words, words + 4);
}

// The words as they are, with the least of them.
struct LeastWordSink {
  using Value = uint32_t;

  TENON_ALWAYS_INLINE void block(const uint32_t (&words)[4], uint32_t (&values)[4],
                                 uint32_t& least) const noexcept {
    for (int i = 0; i < 4; ++i) {
      values[i] = words[i];
      least = words[i] < least ? words[i] : least;
    }
  }
  template <size_t kBytes>
  TENON_ALWAYS_INLINE void put(char* out, const tenon::detail::Vector<uint32_t, kBytes>& words,
                               tenon::detail::Vector<uint32_t, kBytes>& least) const noexcept {
    tenon::detail::store(out, words);
    for (size_t i = 0; i < kBytes / sizeof(uint32_t); ++i) {
      const size_t even = i & ~size_t{1};
      least[even] = words[i] < least[even] ? words[i] : least[even];
    }
  }
};

// How many ways of making [first, first + count) are wrong: a word, a byte beside them, the least.
// The least may be that of whole blocks, but of no others.
int count_wrong(const WordStream& stream, uint64_t first, uint64_t count, size_t misalignment) {
  constexpr size_t kGuard = 67;
  const size_t nbytes = 4 * static_cast<size_t>(count);
  Bytes memory(misalignment + kGuard + nbytes + kGuard, 0xa5);
  unsigned char* out = memory.data() + misalignment + kGuard;
  const LeastWordSink sink;
  uint32_t least = UINT32_MAX;
  dispatch<PhiloxKernel<LeastWordSink>>(&stream, first, count, static_cast<void*>(out), &sink,
                                        &least);
  int wrong = 0;
  uint32_t least_asked = UINT32_MAX;
  uint32_t least_touched = UINT32_MAX;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t e = first + i;
    uint32_t words[4];  // the block by the scalar function, which has a test of its own
    stream.block(e / 4, words);
    uint32_t word;
    std::memcpy(&word, out + 4 * i, sizeof word);
    if (word != words[e % 4]) ++wrong;
    least_asked = std::min(least_asked, words[e % 4]);
    least_touched = std::min(least_touched, *std::min_element(words, words + 4));
  }
  if (count > 0 && (least > least_asked || least < least_touched)) ++wrong;
  wrong += static_cast<int>(std::count_if(memory.data(), out, [](int b) { return b != 0xa5; }));
  wrong += static_cast<int>(
      std::count_if(out + nbytes, memory.data() + memory.size(), [](int b) { return b != 0xa5; }));
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

// No element has the other two, whose last counter word is not 0.
TEST_CASE("philox: the definition that the tests compare with gives a published one too") {
  CHECK(tests::random_word(0, 0, 0) == 0x6627e8d5);
  CHECK(tests::random_word(0, 1, 0) == 0xe169c58d);
  CHECK(tests::random_word(0, 2, 0) == 0xbc57ac4c);
  CHECK(tests::random_word(0, 3, 0) == 0x9b00dbd8);
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

TEST_CASE("philox: every start and count gives the words of the scalar function, and no others") {
  const WordStream stream{0x0123456789abcdefu, 0};
  const uint64_t counts = tests::kThorough ? 420 : 210;
  tests::for_each_isa([&] {
    int wrong = 0;
    for (uint64_t first = 0; first < 4; ++first) {
      for (uint64_t count = 0; count <= counts; ++count) {
        wrong += count_wrong(stream, 1000 + first, count, (first + count) % 64);
      }
      for (uint64_t count : {1000u, 4099u, 5000u}) wrong += count_wrong(stream, first, count, 4);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("philox: the words go on where the lower half of the block number wraps") {
  tests::for_each_isa([] {
    int wrong = 0;
    for (uint64_t wrap : {uint64_t{1} << 34, uint64_t{7} << 34, uint64_t{0x3fffffff} << 34}) {
      const WordStream stream{wrap, 3};
      for (uint64_t before = 0; before <= 450; before += tests::kThorough ? 1 : 7) {
        wrong += count_wrong(stream, wrap - before, 500, 0);
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("philox: element 0 comes after element 2^64 - 1") {
  tests::for_each_isa([] {
    int wrong = 0;
    for (uint64_t before = 0; before <= 450; before += tests::kThorough ? 1 : 7) {
      wrong += count_wrong({5, 1}, uint64_t{0} - before, 500, 0);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("philox: all bits of seed, draw and element number count") {
  tests::for_each_isa([] {
    int wrong = 0;
    const uint64_t seeds[] = {0, 1, 0xffffffffu, 0x100000000u, 0x8000000000000000u, UINT64_MAX};
    const uint64_t starts[] = {0,
                               5,
                               (uint64_t{1} << 31) + 2,
                               0xfffffff0u,
                               (uint64_t{1} << 33) + 1,
                               (uint64_t{1} << 40) - 60,
                               uint64_t{1} << 63};
    for (uint64_t seed : seeds) {
      for (uint32_t draw : {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
        for (uint64_t first : starts) wrong += count_wrong({seed, draw}, first, 200, 1);
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("philox: other seeds, draws and elements have other words") {
  Words words;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63}) {
    for (uint32_t draw : {0u, 1u, 0x80000000u}) {
      for (uint64_t first : {uint64_t{0}, uint64_t{1} << 34, uint64_t{1} << 62}) {
        uint32_t out[100];
        const LeastWordSink sink;
        uint32_t least = UINT32_MAX;
        const WordStream stream{seed, draw};
        dispatch<PhiloxKernel<LeastWordSink>>(&stream, first, uint64_t{100},
                                              static_cast<void*>(out), &sink, &least);
        words.insert(words.end(), out, out + 100);
      }
    }
  }
  // 3600 words of 32 bits: 0.0015 equal pairs are expected.
  std::sort(words.begin(), words.end());
  CHECK(std::adjacent_find(words.begin(), words.end()) == words.end());
}
