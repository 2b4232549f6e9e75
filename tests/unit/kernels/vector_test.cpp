// SPDX-License-Identifier: MIT
#include "tenon/kernels/dispatch.h"

#include "kernels/helpers.h"

namespace vector_test {

using namespace tenon::detail;

TEST_CASE("vector: load and store touch a vector's bytes only") {
  constexpr size_t kBytes = Baseline::vector_bytes;
  unsigned char in[3 * kBytes];
  std::iota(std::begin(in), std::end(in), static_cast<unsigned char>(1));
  for (size_t at : {size_t{1}, kBytes}) {
    tenon::detail::Vector<uint64_t, kBytes> v;
    load(v, in + at);
    unsigned char out[3 * kBytes] = {};
    store(out + at, v);
    for (size_t i = 0; i < sizeof out; ++i) {
      CAPTURE(at, i);
      CHECK(out[i] == (i < at || i >= at + kBytes ? 0 : in[i]));
    }
  }
}

#if !TENON_PORTABLE
using Words = tenon::detail::Vector<uint32_t, 16>;
using Longs = tenon::detail::Vector<uint64_t, 16>;
using tests::Ints;

namespace {

// Lanes of the numbers from `first` on. As everywhere, a vector is no return value.
template <class V>
void count_from(V& v, size_t first) {
  using E = std::decay_t<decltype(v[0])>;
  for (size_t i = 0; i < sizeof v / sizeof(E); ++i) v[i] = static_cast<E>(first + i);
}
template <class V>
Ints lanes(const V& v) {
  Ints values;
  for (size_t i = 0; i < sizeof v / sizeof v[0]; ++i) values.push_back(static_cast<int>(v[i]));
  return values;
}

template <bool kHigh, class V>
Ints zipped() {
  V a;
  V b;
  V out;
  count_from(a, 0);
  count_from(b, 100);
  shuffle(out, a, b, kZip<kHigh, std::decay_t<decltype(a[0])>, sizeof(V) / sizeof(a[0])>);
  return lanes(out);
}

}  // namespace

TEST_CASE("vector: stream touches a vector's bytes only") {
  alignas(16) unsigned char out[48] = {};
  Vector<uint8_t, 16> v;
  std::memset(&v, 7, sizeof v);
  stream<uint8_t>(out + 16, v);
  end_streaming();
  for (size_t i = 0; i < sizeof out; ++i) CHECK(out[i] == (i / 16 == 1 ? 7 : 0));
}

TEST_CASE("vector: shuffle picks from the concatenation of two vectors") {
  Words a;
  Words b;
  Words out;
  count_from(a, 0);
  count_from(b, 100);
  shuffle(out, a, b, std::index_sequence<7, 0, 3, 4>());
  CHECK(lanes(out) == Ints{103, 0, 3, 100});
}

TEST_CASE("vector: zips take halves of both vectors in turn, within each 16 bytes") {
  CHECK(zipped<false, Words>() == Ints{0, 100, 1, 101});
  CHECK(zipped<true, Words>() == Ints{2, 102, 3, 103});
  CHECK(zipped<false, Longs>() == Ints{0, 100});
  CHECK(zipped<true, Longs>() == Ints{1, 101});
  CHECK(zipped<false, tenon::detail::Vector<uint16_t, 16>>() ==
        Ints{0, 100, 1, 101, 2, 102, 3, 103});
  CHECK(zipped<true, tenon::detail::Vector<uint16_t, 16>>() ==
        Ints{4, 104, 5, 105, 6, 106, 7, 107});
  CHECK(zipped<false, tenon::detail::Vector<uint8_t, 16>>() ==
        Ints{0, 100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 105, 6, 106, 7, 107});
  CHECK(zipped<false, tenon::detail::Vector<uint64_t, 32>>() == Ints{0, 100, 2, 102});
  CHECK(zipped<true, tenon::detail::Vector<uint64_t, 32>>() == Ints{1, 101, 3, 103});
}

#endif

}  // namespace vector_test
