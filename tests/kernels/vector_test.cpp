// SPDX-License-Identifier: MIT
#include "tenon/kernels/vector.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/helpers.h"

using tenon::detail::load;
using tenon::detail::shuffle;
using tenon::detail::store;
using tenon::detail::UnsignedType;
using tenon::detail::Vector;
using tenon::detail::zip_high;
using tenon::detail::zip_low;

namespace {

// Lanes of the numbers from `first` on. As everywhere, a vector is no return value.
template <class V>
void count_from(V& v, int first) {
  using E = std::decay_t<decltype(v[0])>;
  for (size_t i = 0; i < sizeof v / sizeof(E); ++i)
    v[i] = static_cast<E>(static_cast<size_t>(first) + i);
}
template <class V>
std::vector<int> lanes(const V& v) {
  std::vector<int> values;
  for (size_t i = 0; i < sizeof v / sizeof v[0]; ++i) values.push_back(static_cast<int>(v[i]));
  return values;
}

template <class E, size_t kBytes>
struct Zipped {
  std::vector<int> low, high;
  Zipped() {
    Vector<E, kBytes> a;
    Vector<E, kBytes> b;
    Vector<E, kBytes> out;
    count_from(a, 0);
    count_from(b, 100);
    zip_low<E, kBytes>(out, a, b, std::make_index_sequence<kBytes / sizeof(E)>());
    low = lanes(out);
    zip_high<E, kBytes>(out, a, b, std::make_index_sequence<kBytes / sizeof(E)>());
    high = lanes(out);
  }
};

using Ints = std::vector<int>;

}  // namespace

TEST_CASE("vector: a vector has its bytes' worth of lanes") {
  CHECK(sizeof(Vector<uint8_t, 16>) == 16);
  CHECK(sizeof(Vector<double, 64>) == 64);
  Vector<uint16_t, 16> v;
  count_from(v, 5);
  CHECK(lanes(v) == Ints{5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(std::is_same_v<UnsignedType<1>::type, uint8_t>);
  CHECK(std::is_same_v<UnsignedType<2>::type, uint16_t>);
  CHECK(std::is_same_v<UnsignedType<4>::type, uint32_t>);
  CHECK(std::is_same_v<UnsignedType<8>::type, uint64_t>);
}

TEST_CASE("vector: load and store need no alignment and touch a vector's bytes only") {
  unsigned char in[34];
  for (size_t i = 0; i < sizeof in; ++i) in[i] = static_cast<unsigned char>(i);
  Vector<uint8_t, 32> v;
  load(v, in + 1);
  unsigned char out[34] = {};
  out[0] = out[33] = 0xa5;
  store(out + 1, v);
  CHECK(std::memcmp(out + 1, in + 1, 32) == 0);
  CHECK(out[0] == 0xa5);
  CHECK(out[33] == 0xa5);
}

TEST_CASE("vector: shuffle picks from the concatenation of two vectors") {
  Vector<uint32_t, 16> a;
  Vector<uint32_t, 16> b;
  Vector<uint32_t, 16> out;
  count_from(a, 0);
  count_from(b, 100);
  shuffle<uint32_t, 16, 16>(out, a, b, std::index_sequence<7, 0, 3, 4>());
  CHECK(lanes(out) == Ints{103, 0, 3, 100});
#if TENON_HAS_SHUFFLEVECTOR
  Vector<uint32_t, 32> wide;
  shuffle<uint32_t, 16, 32>(wide, a, b, std::make_index_sequence<8>());
  CHECK(lanes(wide) == Ints{0, 1, 2, 3, 100, 101, 102, 103});
#endif
}

TEST_CASE("vector: zips take halves of both vectors in turn") {
  const Zipped<uint32_t, 16> words;
  CHECK(words.low == Ints{0, 100, 1, 101});
  CHECK(words.high == Ints{2, 102, 3, 103});
  const Zipped<uint64_t, 16> longs;
  CHECK(longs.low == Ints{0, 100});
  CHECK(longs.high == Ints{1, 101});
  const Zipped<uint16_t, 16> shorts;
  CHECK(shorts.low == Ints{0, 100, 1, 101, 2, 102, 3, 103});
  CHECK(shorts.high == Ints{4, 104, 5, 105, 6, 106, 7, 107});
  const Zipped<uint8_t, 16> bytes;
  CHECK(bytes.low == Ints{0, 100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 105, 6, 106, 7, 107});
}

TEST_CASE("vector: zips of 32 bytes stay within each 16") {
  const Zipped<uint32_t, 32> words;
  CHECK(words.low == Ints{0, 100, 1, 101, 4, 104, 5, 105});
  CHECK(words.high == Ints{2, 102, 3, 103, 6, 106, 7, 107});
  const Zipped<uint64_t, 32> longs;
  CHECK(longs.low == Ints{0, 100, 2, 102});
  CHECK(longs.high == Ints{1, 101, 3, 103});
}

TEST_CASE("vector: what is streamed is there after end_streaming") {
  alignas(16) unsigned char out[48] = {};
  Vector<uint8_t, 16> v;
  count_from(v, 1);
  tenon::detail::stream<uint8_t>(out + 16, v);
  tenon::detail::end_streaming();
  for (size_t i = 0; i < sizeof out; ++i) {
    INFO("byte " << i);
    CHECK(out[i] == (i < 16 || i >= 32 ? 0 : i - 15));
  }
}
