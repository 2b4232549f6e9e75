// SPDX-License-Identifier: MIT
#include "openmp/helpers.h"
#include "tenon/tenon.h"

namespace fill_test {

using tenon::detail::fill_rows;
using tenon::detail::kParallelBytes;
using tenon::detail::kStreamingBytes;
using namespace tests;

namespace {

// Memory to fill, which begins at an odd address.
struct Target {
  static constexpr size_t kLead = 3;
  static constexpr size_t kTail = 32;

  Bytes memory;
  size_t nbytes;

  explicit Target(size_t count) : memory(kLead + count + kTail, 0xa5), nbytes(count) {}

  unsigned char* data() { return memory.data() + kLead; }

  // The bytes that a loop writes.
  Bytes filled(const unsigned char* element, size_t element_size) const {
    Bytes bytes = memory;
    for (size_t i = 0; i < nbytes; ++i) bytes[kLead + i] = element[i % element_size];
    return bytes;
  }
};

const unsigned char kElement[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

}  // namespace

TEST_CASE("fill: elements of every size, with a rest of any length after the last whole page") {
  for (size_t size : tests::kElementSizes) {
    for (size_t nbytes : {kParallelBytes, kParallelBytes + 16, kParallelBytes + 4096 * 3 - 16}) {
      Target target(nbytes);
      const Bytes before = target.memory;
      const Bytes expected = target.filled(kElement, size);
      INFO("element size " << size << ", bytes: " << nbytes);
      CHECK(count_wrong(target.memory, before, expected, [&] {
              fill_rows({target.data(), kElement, nbytes, size});
            }) == 0);
    }
  }
}

TEST_CASE("fill: memory larger than the caches, in pieces that are not") {
  Target target(kStreamingBytes + 4096 + 8);
  const Bytes before = target.memory;
  const Bytes expected = target.filled(kElement, 8);
  tests::for_each_isa([&] {
    CHECK(count_wrong(target.memory, before, expected, [&] {
            fill_rows({target.data(), kElement, target.nbytes, 8});
          }) == 0);
  });
}

}  // namespace fill_test
