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
TEST_CASE("vector: stream touches a vector's bytes only") {
  alignas(16) unsigned char out[48] = {};
  Vector<uint8_t, 16> v;
  std::memset(&v, 7, sizeof v);
  stream<uint8_t>(out + 16, v);
  end_streaming();
  for (size_t i = 0; i < sizeof out; ++i) CHECK(out[i] == (i / 16 == 1 ? 7 : 0));
}

#endif

}  // namespace vector_test
